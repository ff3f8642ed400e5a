//! The tools that change files as one: what they would do, shown as one difference, and doing exactly that.
//!
//! What a call does follows from its arguments and from what the files hold. It is found again when the call starts, and
//! nothing is changed where it is not what was allowed.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::{Component, Path};

use async_trait::async_trait;
use serde_json::Value;

use crate::protocol::approval::{PlanFacts, Preview};
use crate::protocol::enums::Access;
use crate::tools::change_journal::{ChangeRecord, JournalEntry};
use crate::tools::change_recovery::{look, settle};
use crate::tools::file_change::{ChangeFailure, apply};
use crate::tools::file_step::{FileStep, operands, reasons};
use crate::tools::file_version::{FileVersion, read};
use crate::tools::guard::{Guard, GuardedPath, Kind};
use crate::tools::text_edits::MAX_TEXT;
use crate::tools::tool::{
    EffectDisposition, Plan, PrepareError, Probe, Tool, ToolContext, ToolOutcome, ToolSpec,
};

/// Largest file that is kept when it goes, in bytes.
pub const MAX_KEPT: u64 = 256 << 20;
/// Largest file that is shown whole when it goes, in bytes.
const MAX_SHOWN: u64 = 1 << 20;
/// Files that the title of a difference names.
const MAX_NAMED: usize = 3;

/// What a call asks for, or why it cannot be done.
type Propose = fn(&Guard, &Value) -> Result<Vec<FileStep>, PrepareError>;

/// A tool that changes files as one.
pub struct FileTool {
    spec: ToolSpec,
    propose: Propose,
}

impl FileTool {
    /// A tool of these declarations.
    pub fn new(spec: ToolSpec, propose: Propose) -> Self {
        Self { spec, propose }
    }

    /// What a call would do, checked as a whole.
    fn steps(&self, guard: &Guard, args: &Value) -> Result<Vec<FileStep>, PrepareError> {
        let steps = (self.propose)(guard, args)?;
        let mut seen = BTreeSet::new();
        for path in steps.iter().flat_map(FileStep::paths) {
            if !seen.insert(path.components().to_vec()) {
                return Err(PrepareError::Invalid(format!(
                    "`{}` comes twice in the call: say all that becomes of it once",
                    path.relative()
                )));
            }
        }
        let mut last: Option<&[OsString]> = None;
        for path in &seen {
            if let Some(above) = last.filter(|above| path.starts_with(above)) {
                let above = above.join(OsStr::new("/"));
                return Err(PrepareError::Invalid(format!(
                    "`{}` cannot be a file and the directory of another one",
                    above.to_string_lossy()
                )));
            }
            last = Some(path);
        }
        Ok(steps)
    }
}

fn title(names: &[String]) -> String {
    let first = names.iter().take(MAX_NAMED).cloned().collect::<Vec<_>>();
    let more = match names.len().saturating_sub(MAX_NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    first.join(", ") + &more
}

#[async_trait]
impl Tool for FileTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare(&self, context: &ToolContext<'_>, args: &Value) -> Result<Plan, PrepareError> {
        let guard = Guard::new(context);
        let steps = self.steps(&guard, args)?;
        let names: Vec<String> = steps
            .iter()
            .flat_map(FileStep::paths)
            .map(GuardedPath::relative)
            .collect();
        let adds = |step: &FileStep| matches!(step, FileStep::Write { before: None, .. });
        let (path, paths) = match names.as_slice() {
            [only] => (Some(only.clone()), Vec::new()),
            _ => (None, names.clone()),
        };
        Ok(Plan {
            access: if steps.iter().all(adds) {
                Access::WriteAdditive
            } else {
                Access::Write
            },
            risk_reasons: reasons(&steps),
            preview: Preview::Diff {
                path: title(&names),
                unified: steps.iter().map(FileStep::difference).collect(),
            },
            facts: PlanFacts {
                path,
                paths,
                ..PlanFacts::default()
            },
            operands: operands(&steps),
            always_asks: None,
        })
    }

    async fn execute(&self, context: &ToolContext<'_>, args: &Value) -> ToolOutcome {
        let run = Run {
            guard: Guard::new(context),
            entry: JournalEntry::new(&context.changes, &context.call_id.to_string()),
            allowed: context.operands.clone(),
            tool: self.spec.name.to_string(),
            session: context.session_id.to_string(),
        };
        let again = run.clone();
        let (args, propose) = (args.clone(), Self::new(self.spec.clone(), self.propose));
        let done = tokio::task::spawn_blocking(move || run.carry_out(&propose, &args)).await;
        let failure = match done {
            Ok(Ok(said)) => {
                return ToolOutcome::done(said);
            }
            Ok(Err(failure)) => failure,
            // A task that never began did nothing; one that panicked may have. The look that follows tells.
            Err(error) => {
                if error.is_panic() {
                    let _ = tokio::task::spawn_blocking(move || again.settle()).await;
                }
                ChangeFailure {
                    message: format!("the tool stopped unexpectedly: {error}"),
                    disposition: if error.is_cancelled() {
                        EffectDisposition::ConfirmedNoEffect
                    } else {
                        EffectDisposition::Unknown
                    },
                }
            }
        };
        ToolOutcome::failed(failure.message, failure.disposition)
    }

    async fn probe(&self, context: &ToolContext<'_>, _args: &Value) -> Probe {
        look(&JournalEntry::new(
            &context.changes,
            &context.call_id.to_string(),
        ))
    }
}

/// One run of a call.
#[derive(Clone)]
struct Run {
    guard: Guard,
    entry: JournalEntry,
    allowed: Vec<(String, String)>,
    tool: String,
    session: String,
}

impl Run {
    /// Changes the files; what the model reads then.
    fn carry_out(&self, tool: &FileTool, args: &Value) -> Result<String, ChangeFailure> {
        // An earlier run of this call: what it did is done, what it left over is taken back first.
        if let Probe::Done { content } = look(&self.entry) {
            return Ok(content);
        }
        self.settle().map_err(|error| {
            ChangeFailure::before_effect(format!("nothing is changed: {error}"))
        })?;
        let steps = tool
            .steps(&self.guard, args)
            .map_err(|error| ChangeFailure::before_effect(error.to_string()))?;
        let found = operands(&steps);
        if let Some((name, _)) = found
            .iter()
            .find(|operand| !self.allowed.contains(operand))
            .or_else(|| self.allowed.iter().find(|operand| !found.contains(operand)))
        {
            return Err(ChangeFailure::before_effect(format!(
                "`{name}` changed after this call was allowed, so nothing is changed: read it again"
            )));
        }
        let said: Vec<String> = steps.iter().map(FileStep::said).collect();
        let said = said.join(", ");
        let mut targets = Vec::new();
        for step in steps {
            let more = step.into_targets(&self.guard);
            targets.extend(more.map_err(ChangeFailure::before_effect)?);
        }
        let record = ChangeRecord {
            workspace: self.guard.workspace().to_path_buf(),
            session: self.session.clone(),
            tool: self.tool.clone(),
            said: said.clone(),
            files: Vec::new(),
            made: Vec::new(),
            done: false,
            undone: false,
            happened_at: None,
            problem: None,
        };
        apply(&self.entry, &self.guard, record, targets)?;
        Ok(said)
    }

    /// Takes back what an earlier run left half done. One that a person knows the outcome of is forgotten.
    fn settle(&self) -> std::io::Result<()> {
        match self.entry.read()? {
            Some(record) if record.problem.is_none() => settle(&self.entry, &self.guard, record),
            Some(_) | None => self.entry.remove(),
        }
    }
}

/// A file that is there, with what it holds if it is text; else why it cannot be changed.
pub fn text_file(
    guard: &Guard,
    given: &str,
    path: GuardedPath,
) -> Result<(GuardedPath, FileVersion), PrepareError> {
    let name = path.relative();
    if path.kind != Kind::File {
        // Says what is there instead.
        guard.file(given)?;
    }
    let version = open(guard, &path, MAX_TEXT as u64)?;
    if version.bytes.is_none() {
        return Err(PrepareError::Invalid(format!(
            "`{name}` has {} bytes: at most {} MiB can be edited",
            version.size,
            MAX_TEXT >> 20
        )));
    }
    if version.text().is_none() {
        return Err(PrepareError::Invalid(format!(
            "`{name}` is not UTF-8 text: it cannot be edited"
        )));
    }
    Ok((path, version))
}

/// A file that goes from where it is, with what it holds.
pub fn file_to_leave(
    guard: &Guard,
    given: &str,
) -> Result<(GuardedPath, FileVersion), PrepareError> {
    let found = guard.resolve(given)?;
    if found.kind == Kind::Directory {
        let what = if found.components().is_empty() {
            "the workspace itself"
        } else {
            "a directory"
        };
        return Err(PrepareError::Invalid(format!(
            "`{given}` is {what}: only files can be moved and deleted, each by its path"
        )));
    }
    let path = direct(guard, given)?;
    guard.file(given)?;
    let version = open(guard, &path, MAX_SHOWN)?;
    if version.size > MAX_KEPT {
        return Err(PrepareError::Invalid(format!(
            "`{given}` has {} bytes: at most {} MiB can be moved or deleted",
            version.size,
            MAX_KEPT >> 20
        )));
    }
    Ok((path, version))
}

/// What a file holds that would be replaced.
pub fn replaced(guard: &Guard, path: &GuardedPath) -> Result<FileVersion, PrepareError> {
    open(guard, path, MAX_SHOWN)
}

fn open(guard: &Guard, path: &GuardedPath, max_kept: u64) -> Result<FileVersion, PrepareError> {
    read(guard, path, max_kept).map_err(|error| {
        PrepareError::Invalid(format!("`{}` cannot be read: {error}", path.relative()))
    })
}

/// A file that may be written, given by its own name. Rules look at the paths of such a call as they are given, and a
/// link would go while people think that the file does.
pub fn direct(guard: &Guard, given: &str) -> Result<GuardedPath, PrepareError> {
    let path = guard.writable(given)?;
    let below = Path::new(given);
    let below = below.strip_prefix(guard.workspace()).unwrap_or(below);
    let mut names: Vec<OsString> = Vec::new();
    for component in below.components() {
        match component {
            Component::Normal(name) => names.push(name.to_owned()),
            Component::ParentDir => {
                names.pop();
            }
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    if names == path.components() {
        return Ok(path);
    }
    Err(PrepareError::Invalid(format!(
        "`{given}` goes through a link: give `{}`",
        path.relative()
    )))
}
