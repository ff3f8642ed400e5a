//! What one call did to the files of its workspace: what was allowed, what is kept, or what the arguments say. What the
//! record does not hold is named, never guessed.

use std::path::Path;

use crate::engine::core::Engine;
use crate::protocol::approval::Preview;
use crate::protocol::enums::{Access, ApprovalKind, ApprovalState, ToolCallState};
use crate::protocol::file_change::{CallDiff, DiffSource, FILE_TOOLS};
use crate::protocol::ids::ToolCallId;
use crate::protocol::problem::Problem;
use crate::protocol::shorten::shorten_text;
use crate::store::queries::why::WhyRows;
use crate::text::redact::Redactor;
use crate::tools::change_diff::{PastDiff, of_arguments, of_record};
use crate::tools::change_journal::{ChangeRecord, JournalEntry, done_entries};

/// Longest difference, in bytes.
const MAX_DIFF: usize = 512 * 1024;
/// Later changes that are looked at for what a file became.
const MAX_LATER: usize = 200;

/// What a call did to files.
pub async fn call_diff(engine: &Engine, id: ToolCallId) -> Result<CallDiff, Problem> {
    let (journal, redactor) = (engine.file_changes(), engine.redactor.clone());
    engine
        .read(move |reader| Ok(of_rows(&reader.why_rows(id)?, &journal, &redactor)))
        .await
}

/// The same from the rows of a call and the directory in which changes are kept.
pub fn of_rows(rows: &WhyRows, journal: &Path, redactor: &Redactor) -> CallDiff {
    let call = &rows.call;
    let entry = JournalEntry::new(journal, &call.id.to_string());
    let record = entry.read().ok().flatten().map(|record| (entry, record));
    let (source, mut diff) = if call.cached.is_some() {
        (None, missing("nothing ran: the result was cached"))
    } else if let Some(why) = did_not_run(call.state) {
        (None, missing(why))
    } else if let Some(unified) = allowed(rows) {
        let diff = PastDiff {
            unified,
            missing: Vec::new(),
        };
        (Some(DiffSource::Approval), diff)
    } else if let Some(diff) = record
        .as_ref()
        .map(|(entry, record)| kept(rows, entry, record))
    {
        (Some(DiffSource::KeptFiles), diff)
    } else if call.name == "write_file" || FILE_TOOLS.contains(&call.name.as_str()) {
        (
            Some(DiffSource::Arguments),
            of_arguments(&call.name, &call.args),
        )
    } else {
        (None, missing(says_nothing(call.access)))
    };
    diff.unified = redactor.redact(&diff.unified).into_owned();
    let whole = diff.unified.len();
    if shorten_text(&mut diff.unified, &mut MAX_DIFF.clone()) {
        diff.missing.push(format!(
            "the difference has {whole} bytes; this is its beginning"
        ));
    }
    let said = diff.missing.iter();
    CallDiff {
        tool_call_id: call.id,
        tool: call.name.clone(),
        state: call.state,
        source,
        unified: diff.unified,
        missing: said
            .map(|text| redactor.redact(text).into_owned())
            .collect(),
        undone: record.is_some_and(|(_, record)| record.undone),
    }
}

fn missing(why: &str) -> PastDiff {
    PastDiff {
        unified: String::new(),
        missing: vec![why.to_owned()],
    }
}

/// Why a call in this state has changed nothing; none = it may have.
const fn did_not_run(state: ToolCallState) -> Option<&'static str> {
    match state {
        ToolCallState::Proposed
        | ToolCallState::Ready
        | ToolCallState::Awaiting
        | ToolCallState::Approved => Some("the call has not run yet"),
        ToolCallState::Blocked
        | ToolCallState::Denied
        | ToolCallState::Cancelled
        | ToolCallState::Expired => Some("the call did not run"),
        ToolCallState::Failed => Some("the call failed; it says itself what became of the files"),
        ToolCallState::Started
        | ToolCallState::Succeeded
        | ToolCallState::Indeterminate
        | ToolCallState::SucceededByNote
        | ToolCallState::Abandoned => None,
    }
}

/// What the record says of a call that keeps none.
const fn says_nothing(access: Access) -> &'static str {
    match access {
        Access::ReadLocal | Access::ReadOpen | Access::Send => "this call changes no file",
        Access::WriteAdditive | Access::Write | Access::Exec | Access::Unknown => {
            "the record does not say which files this call changed"
        }
    }
}

/// The difference of the files that are kept.
fn kept(rows: &WhyRows, entry: &JournalEntry, record: &ChangeRecord) -> PastDiff {
    let all = done_entries(entry.journal(), MAX_LATER).unwrap_or_default();
    let newer = all.into_iter().take_while(|one| one.key() != entry.key());
    let read = newer.filter_map(|one| Some((one.read().ok()??, one)));
    let mut later: Vec<_> = read.map(|(record, one)| (one, record)).collect();
    later.reverse();
    of_record(entry, record, &rows.call.args, &later)
}

/// What a person was shown and allowed. The digest says that it is what ran.
fn allowed(rows: &WhyRows) -> Option<String> {
    let mut approvals = rows.approvals.iter().rev();
    approvals.find_map(|approval| match &approval.preview {
        Preview::Diff { unified, .. }
            if approval.kind == ApprovalKind::Execute
                && matches!(
                    approval.state,
                    ApprovalState::Approved | ApprovalState::Consumed
                ) =>
        {
            Some(unified.clone())
        }
        Preview::Diff { .. } | Preview::None | Preview::Exec { .. } | Preview::Text { .. } => None,
    })
}
