//! `apply_patch`: changes, makes, moves and deletes several files as one.

use std::time::Duration;

use serde_json::Value;

use crate::protocol::enums::{Access, Effect};
use crate::tools::file_step::FileStep;
use crate::tools::file_tool::{FileTool, direct, file_to_leave, text_file};
use crate::tools::guard::{Guard, Kind};
use crate::tools::patch::{FilePatch, apply, parse};
use crate::tools::read_file::text;
use crate::tools::tool::{PrepareError, ToolSpec, arguments};

/// Most bytes of a patch.
const MAX_PATCH: usize = 4 << 20;
/// Most files of a patch.
const MAX_FILES: usize = 200;
/// Most bytes of the files of a patch, as they are.
const MAX_TOTAL: usize = 32 << 20;

/// The tool.
pub fn apply_patch() -> FileTool {
    let spec = ToolSpec {
        name: "apply_patch".into(),
        description: "Change several text files as one: all or none. The patch begins with `*** Begin Patch`, ends with \
                      `*** End Patch`; between: `*** Add File: PATH` and lines with `+`; `*** Delete File: PATH`; \
                      `*** Update File: PATH`, then perhaps `*** Move to: PATH`, then parts of ` ` kept, `-` old, `+` new lines, \
                      each part after `@@` or `@@ LINE ABOVE IT`.".into(),
        input_schema: arguments!(["patch"], {
            "patch": {"type": "string", "minLength": 1}
        }),
        access: Access::Write,
        effect: Effect::Reconcilable,
        max_duration: Duration::from_secs(60),
        key_lifetime: None,
        cacheable: None,
    };
    FileTool::new(spec, propose)
}

fn invalid(message: String) -> PrepareError {
    PrepareError::Invalid(message)
}

fn propose(guard: &Guard, args: &Value) -> Result<Vec<FileStep>, PrepareError> {
    let patch = text(args, "patch").unwrap_or_default();
    if patch.len() > MAX_PATCH {
        return Err(invalid(format!(
            "the patch has {} bytes: at most {} MiB are possible",
            patch.len(),
            MAX_PATCH >> 20
        )));
    }
    let files = parse(patch).map_err(invalid)?;
    if files.len() > MAX_FILES {
        return Err(invalid(format!(
            "the patch has {} sections: at most {MAX_FILES} are possible",
            files.len()
        )));
    }
    let mut steps = Vec::with_capacity(files.len());
    let mut total = 0;
    for file in files {
        steps.push(match file {
            FilePatch::Add { path: given, text } => {
                let path = direct(guard, given)?;
                if path.kind == Kind::File {
                    return Err(invalid(format!(
                        "`{given}` exists already: change it with `*** Update File: {given}`"
                    )));
                }
                FileStep::Write {
                    path,
                    before: None,
                    text,
                }
            }
            FilePatch::Delete { path } => {
                let (path, before) = file_to_leave(guard, path)?;
                FileStep::Delete { path, before }
            }
            FilePatch::Update {
                path: given,
                to,
                hunks,
            } => {
                let (path, before) = text_file(guard, given, direct(guard, given)?)?;
                total += before.bytes.as_ref().map_or(0, Vec::len);
                let old = before.text().unwrap_or_default();
                let text =
                    apply(old, &hunks).map_err(|why| invalid(format!("`{given}`: {why}")))?;
                let is_changed = text != old;
                match to {
                    None if !is_changed => {
                        return Err(invalid(format!("`{given}` would stay as it is")));
                    }
                    None => FileStep::Write {
                        path,
                        before: Some(before),
                        text,
                    },
                    Some(to) => {
                        let target = direct(guard, to)?;
                        if target.kind == Kind::File {
                            return Err(invalid(format!(
                                "`{to}` exists already: `{given}` is not moved over it"
                            )));
                        }
                        FileStep::Move {
                            from: path,
                            to: target,
                            before,
                            replaced: None,
                            text: is_changed.then_some(text),
                        }
                    }
                }
            }
        });
        if total > MAX_TOTAL {
            return Err(invalid(format!(
                "the files of the patch have more than {} MiB together: change them in several calls",
                MAX_TOTAL >> 20
            )));
        }
    }
    Ok(steps)
}
