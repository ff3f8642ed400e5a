//! `write_file`: creates, replaces or extends a text file.
//!
//! What is approved is the complete difference; no reader and no crash ever sees half a file.

use std::io::Read as _;
use std::time::Duration;

use async_trait::async_trait;
use rustix::fs::Mode as Permissions;
use serde_json::Value;

use crate::protocol::approval::{PlanFacts, Preview};
use crate::protocol::enums::{Access, Effect};
use crate::tools::atomic::{Replace, write_atomically};
use crate::tools::file_version::{ABSENT, FileVersion, NO_FILE, RESTORABLE, read, unified};
use crate::tools::guard::{Guard, GuardedPath, Kind};
use crate::tools::read_file::text;
use crate::tools::risk::RiskReason;
use crate::tools::tool::{
    EffectDisposition, Plan, PrepareError, Tool, ToolContext, ToolOutcome, ToolSpec, arguments,
};

/// Most bytes written by one call.
const MAX_CONTENT: usize = 4 << 20;
/// Largest file whose old content is part of the difference.
const MAX_DIFFED: u64 = 1 << 20;
/// Largest file that can be extended.
const MAX_EXTENDED: u64 = 64 << 20;
/// The tool.
pub struct WriteFile {
    spec: ToolSpec,
}

impl Default for WriteFile {
    fn default() -> Self {
        Self {
            spec: ToolSpec {
                name: "write_file".into(),
                description: "Write a whole text file; missing directories are made. To change parts of one use edit_file.".into(),
                input_schema: arguments!(["path", "content"], {
                    "path": {"type": "string", "minLength": 1, "description": "relative to the workspace"},
                    "content": {"type": "string", "description": "the text, complete"},
                    "mode": {"type": "string", "enum": ["create", "overwrite", "append"], "description": "default create: fails if the file exists"}
                }),
                access: Access::Write,
                // Appending twice is not appending once.
                effect: Effect::NonIdempotent,
                max_duration: Duration::from_secs(30),
                key_lifetime: None,
                cacheable: None,
            },
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Create,
    Overwrite,
    Append,
}

struct Request<'a> {
    path: GuardedPath,
    content: &'a str,
    mode: Mode,
}

fn check<'a>(guard: &Guard, args: &'a Value) -> Result<Request<'a>, PrepareError> {
    let path = guard.writable(text(args, "path").unwrap_or_default())?;
    let content = text(args, "content").unwrap_or_default();
    let mode = match text(args, "mode") {
        None | Some("create") => Mode::Create,
        Some("overwrite") => Mode::Overwrite,
        Some("append") => Mode::Append,
        Some(other) => {
            return Err(PrepareError::Invalid(format!(
                "mode: `{other}` is none of create, overwrite, append"
            )));
        }
    };
    if content.len() > MAX_CONTENT {
        return Err(PrepareError::Invalid(format!(
            "content: {} bytes, at most {MAX_CONTENT} can be written at once",
            content.len()
        )));
    }
    if mode == Mode::Create && path.kind == Kind::File {
        return Err(PrepareError::Invalid(format!(
            "`{}` exists already: use mode overwrite to replace it or append to extend it",
            path.relative()
        )));
    }
    Ok(Request {
        path,
        content,
        mode,
    })
}

/// Why a write has its risk. What git can bring back is not lost.
fn risk_reasons(mode: Mode, old: Option<&FileVersion>) -> Vec<RiskReason> {
    match (mode, old) {
        (Mode::Overwrite, Some(old)) => {
            let reversible = match old.restorable {
                Ok(()) => RiskReason::Reversible,
                Err(why) => RiskReason::Irreversible(why),
            };
            vec![RiskReason::Overwrites(old.size), reversible]
        }
        (Mode::Append, Some(_)) => vec![RiskReason::AddsToFile],
        (Mode::Create | Mode::Overwrite | Mode::Append, _) => vec![RiskReason::CreatesFile],
    }
}

#[async_trait]
impl Tool for WriteFile {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare(&self, context: &ToolContext<'_>, args: &Value) -> Result<Plan, PrepareError> {
        let guard = Guard::new(context);
        let request = check(&guard, args)?;
        let name = request.path.relative();
        let old = match request.path.kind {
            Kind::File => Some(read(&guard, &request.path, MAX_DIFFED).map_err(|error| {
                PrepareError::Invalid(format!("`{name}` cannot be read to compare it: {error}"))
            })?),
            Kind::Missing | Kind::Directory => None,
        };
        if request.mode == Mode::Append && old.as_ref().is_some_and(|old| old.size > MAX_EXTENDED) {
            return Err(PrepareError::Invalid(format!(
                "`{name}` is larger than {} MiB: it cannot be extended with write_file",
                MAX_EXTENDED >> 20
            )));
        }
        let access = match request.mode {
            Mode::Create | Mode::Append => Access::WriteAdditive,
            Mode::Overwrite => Access::Write,
        };
        let risk_reasons = risk_reasons(request.mode, old.as_ref());
        let unified = difference(&name, request.mode, request.content, old.as_ref());
        let is_restorable = old.as_ref().is_some_and(|old| old.restorable.is_ok());
        let digest = old.map_or_else(|| ABSENT.to_owned(), |old| old.digest);
        let mut operands = vec![(name.clone(), digest)];
        // Whoever allowed it was told so: without it the call is another one.
        if request.mode == Mode::Overwrite && is_restorable {
            operands.push((name.clone(), RESTORABLE.to_owned()));
        }
        Ok(Plan {
            access,
            risk_reasons,
            preview: Preview::Diff {
                path: name.clone(),
                unified,
            },
            facts: PlanFacts {
                path: Some(name),
                ..PlanFacts::default()
            },
            operands,
            always_asks: None,
        })
    }

    async fn execute(&self, context: &ToolContext<'_>, args: &Value) -> ToolOutcome {
        let guard = Guard::new(context);
        let (args, allowed) = (args.clone(), context.operands.clone());
        let run = tokio::task::spawn_blocking(move || write(&guard, &args, &allowed)).await;
        run.unwrap_or_else(|error| ToolOutcome {
            content: format!("the tool stopped unexpectedly: {error}"),
            is_error: true,
            // A task that never began wrote nothing; one that panicked may have.
            disposition: if error.is_cancelled() {
                EffectDisposition::ConfirmedNoEffect
            } else {
                EffectDisposition::Unknown
            },
            partial: false,
        })
    }
}

/// The complete difference as a unified diff. Where the old content is not text, or too long to compare,
/// a first line says so and the whole new text follows.
fn difference(name: &str, mode: Mode, content: &str, old: Option<&FileVersion>) -> String {
    let (from, to) = (format!("a/{name}"), format!("b/{name}"));
    let Some(old) = old else {
        return unified("", content, NO_FILE, &to);
    };
    match (old.text(), mode) {
        (Some(text), Mode::Append) => unified(text, &format!("{text}{content}"), &from, &to),
        (Some(text), Mode::Create | Mode::Overwrite) => unified(text, content, &from, &to),
        (None, mode) => {
            let what = if old.size > MAX_DIFFED {
                "large"
            } else {
                "binary"
            };
            let verb = match mode {
                Mode::Append => "extends",
                Mode::Create | Mode::Overwrite => "replaces",
            };
            format!(
                "{verb} a {what} file of {} bytes, which is not shown (sha256 {})\n{}",
                old.size,
                old.digest,
                unified("", content, &from, &to)
            )
        }
    }
}

/// Writes it, where the file is still what it was when the call was allowed.
fn write(guard: &Guard, args: &Value, allowed: &[(String, String)]) -> ToolOutcome {
    let request = match check(guard, args) {
        Ok(request) => request,
        Err(error) => return ToolOutcome::not_done(error.to_string()),
    };
    let name = request.path.relative();
    let cannot = |error: &std::io::Error| format!("`{name}` cannot be written: {error}");
    let found = match request.path.kind {
        Kind::File => read(guard, &request.path, 0).map(|version| version.digest),
        Kind::Missing | Kind::Directory => Ok(ABSENT.to_owned()),
    };
    match found {
        Ok(digest) if allowed.contains(&(name.clone(), digest.clone())) => {}
        Ok(_) => {
            let why = format!(
                "`{name}` changed after this call was allowed, so nothing is written: read it again"
            );
            return ToolOutcome::not_done(why);
        }
        Err(error) => return ToolOutcome::not_done(cannot(&error)),
    }
    let mut old = Vec::new();
    let mut mode = Permissions::from_raw_mode(0o666);
    let mut replace = Replace::Never;
    if request.path.kind == Kind::File {
        let read = guard.open_file(&request.path).and_then(|file| {
            mode = Permissions::from_raw_mode(rustix::fs::fstat(&file)?.st_mode)
                & Permissions::from_raw_mode(0o777);
            if request.mode == Mode::Append {
                file.take(MAX_EXTENDED + 1).read_to_end(&mut old)?;
            }
            Ok(())
        });
        if let Err(error) = read {
            return ToolOutcome::not_done(cannot(&error));
        }
        if old.len() as u64 > MAX_EXTENDED {
            return ToolOutcome::not_done(format!("`{name}` is too large to be extended"));
        }
        replace = Replace::Existing;
    }
    let (parent, file) = match guard.open_parent(&request.path) {
        Ok(found) => found,
        Err(error) => return ToolOutcome::not_done(cannot(&error)),
    };
    match write_atomically(
        &parent,
        file,
        &[&old, request.content.as_bytes()],
        mode,
        replace,
    ) {
        Ok(()) => ToolOutcome {
            content: match (request.mode, replace) {
                (Mode::Append, Replace::Existing) => {
                    format!("added {} bytes to `{name}`", request.content.len())
                }
                (Mode::Create | Mode::Overwrite, Replace::Existing) => {
                    format!("replaced `{name}` with {} bytes", request.content.len())
                }
                (_, Replace::Never) => {
                    format!("created `{name}` with {} bytes", request.content.len())
                }
            },
            is_error: false,
            disposition: EffectDisposition::Done,
            partial: false,
        },
        Err(failure) if failure.named => ToolOutcome::failed(
            format!(
                "`{name}` was written, but the disk did not confirm it: {}",
                failure.error
            ),
            EffectDisposition::Unknown,
        ),
        Err(failure) => ToolOutcome::not_done(cannot(&failure.error)),
    }
}
