//! What tools did to files: listing it, and undoing it.

use std::str::FromStr as _;

use serde_json::json;

use crate::engine::caller::Caller;
use crate::engine::core::Engine;
use crate::protocol::file_change::{FileChange, FileFate, FileOfChange};
use crate::protocol::ids::{SessionId, ToolCallId};
use crate::protocol::problem::Problem;
use crate::protocol::snapshot::Page;
use crate::store::commands::record_audit::RecordAudit;
use crate::tools::change_journal::{ChangeRecord, JournalEntry, done_entries};
use crate::tools::change_recovery;

/// Most changes of a list.
const MAX_LISTED: usize = 200;

/// What the record of a change says; none = it is none of a call.
fn change(entry: &JournalEntry, record: &ChangeRecord) -> Option<FileChange> {
    let fate = |file: &crate::tools::change_journal::ChangedFile| match (&file.before, &file.after)
    {
        (None, _) => FileFate::Created,
        (Some(_), Some(_)) => FileFate::Changed,
        (Some(_), None) => FileFate::Deleted,
    };
    let written = entry.written().ok()?;
    Some(FileChange {
        tool_call_id: ToolCallId::from_str(entry.key()).ok()?,
        session_id: SessionId::from_str(&record.session).ok()?,
        tool: record.tool.clone(),
        at: record.happened_at.unwrap_or(written),
        workspace: record.workspace.to_string_lossy().into_owned(),
        files: record
            .files
            .iter()
            .map(|file| FileOfChange {
                path: file.path.clone(),
                fate: fate(file),
            })
            .collect(),
        undone_at: record.undone.then_some(written),
    })
}

/// Runs what looks at files off the async threads.
pub async fn look_at_files<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Problem> {
    let task = tokio::task::spawn_blocking(work);
    task.await
        .map_err(|error| Problem::internal(format!("cannot read the files: {error}")))
}

/// What tools did to files, the newest first.
pub async fn list(engine: &Engine) -> Result<Page<FileChange>, Problem> {
    let journal = engine.file_changes();
    let found = look_at_files(move || -> std::io::Result<Vec<FileChange>> {
        let entries = done_entries(&journal, MAX_LISTED)?;
        let read = entries.iter().filter_map(|entry| {
            let record = entry.read().ok()??;
            change(entry, &record)
        });
        let mut read: Vec<FileChange> = read.collect();
        read.sort_by_key(|change| std::cmp::Reverse(change.at));
        Ok(read)
    });
    let items = found.await?.map_err(|error| {
        Problem::internal(format!("the changes of files cannot be listed: {error}"))
    })?;
    Ok(items.into())
}

/// Puts the files back as they were before a call.
pub async fn undo(
    engine: &Engine,
    caller: &Caller,
    call_id: ToolCallId,
) -> Result<FileChange, Problem> {
    let refuse = |why: String| {
        Problem::conflict("the change of files cannot be undone", why)
            .hint("`leverframe files list` shows the changes that are kept")
    };
    let entry = JournalEntry::new(&engine.file_changes(), &call_id.to_string());
    let looked = entry.clone();
    let record = look_at_files(move || looked.read()).await?;
    let record = record
        .map_err(|error| refuse(format!("its record cannot be read: {error}")))?
        .ok_or_else(|| Problem::not_found("kept change of files", call_id))?;
    let files = record
        .files
        .iter()
        .map(|file| engine.redactor.redact(&file.path).into_owned());
    let audit = RecordAudit {
        action: "file_change.undo",
        by: caller.reference(),
        channel: None,
        subject: call_id.to_string(),
        detail: json!({ "files": files.collect::<Vec<_>>() }),
    };
    engine.write(audit.clone()).await?;
    let (own, key) = (engine.clone(), call_id.to_string());
    let undone = look_at_files(move || {
        change_recovery::undo(&own.file_changes(), &key, |workspace| {
            own.hidden_directories(workspace)
        })
    });
    match undone.await? {
        Ok(_) => {}
        Err(why) => {
            let mut refused = RecordAudit {
                action: "file_change.undo_refused",
                ..audit
            };
            refused.detail["why"] = engine.redactor.redact(&why).into();
            engine.write(refused).await?;
            return Err(refuse(why));
        }
    }
    let written = look_at_files(move || {
        let record = entry.read().ok()??;
        change(&entry, &record)
    });
    written
        .await?
        .ok_or_else(|| Problem::internal("it is undone, but its record cannot be read".to_owned()))
}
