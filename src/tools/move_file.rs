//! `move_file` and `delete_file`: give a file another place, or none. What goes is kept for a time.

use std::time::Duration;

use serde_json::Value;

use crate::protocol::enums::{Access, Effect};
use crate::tools::file_step::FileStep;
use crate::tools::file_tool::{FileTool, direct, file_to_leave, replaced};
use crate::tools::guard::{Guard, Kind};
use crate::tools::read_file::text;
use crate::tools::tool::{PrepareError, ToolSpec, arguments};

fn spec(name: &'static str, description: &'static str, input_schema: Value) -> ToolSpec {
    ToolSpec {
        name: name.into(),
        description: description.into(),
        input_schema,
        access: Access::Write,
        effect: Effect::Reconcilable,
        max_duration: Duration::from_secs(60),
        key_lifetime: None,
        cacheable: None,
    }
}

/// The tool that moves a file.
pub fn move_file() -> FileTool {
    let schema = arguments!(["from", "to"], {
        "from": {"type": "string", "minLength": 1},
        "to": {"type": "string", "minLength": 1, "description": "the new path of the file, not a directory"},
        "overwrite": {"type": "boolean", "description": "default false: fails if `to` exists"}
    });
    FileTool::new(
        spec("move_file", "Move or rename a file.", schema),
        propose_move,
    )
}

/// The tool that deletes a file.
pub fn delete_file() -> FileTool {
    let schema = arguments!(["path"], {
        "path": {"type": "string", "minLength": 1}
    });
    let description = "Delete a file. The operator can restore it for some time.";
    FileTool::new(spec("delete_file", description, schema), propose_delete)
}

fn propose_delete(guard: &Guard, args: &Value) -> Result<Vec<FileStep>, PrepareError> {
    let (path, before) = file_to_leave(guard, text(args, "path").unwrap_or_default())?;
    Ok(vec![FileStep::Delete { path, before }])
}

fn propose_move(guard: &Guard, args: &Value) -> Result<Vec<FileStep>, PrepareError> {
    let (given, target) = (
        text(args, "from").unwrap_or_default(),
        text(args, "to").unwrap_or_default(),
    );
    let (from, before) = file_to_leave(guard, given)?;
    let to = direct(guard, target)?;
    let replaced = match to.kind {
        Kind::Missing | Kind::Directory => None,
        Kind::File => {
            let there = replaced(guard, &to)?;
            if there.stamp.is_same_file(&before.stamp) {
                return Err(PrepareError::Invalid(format!(
                    "`{given}` and `{target}` are one file here: move it to a third name first"
                )));
            }
            let overwrite = args.get("overwrite").and_then(Value::as_bool);
            if overwrite != Some(true) {
                return Err(PrepareError::Invalid(format!(
                    "`{target}` exists already: set overwrite to true to replace it"
                )));
            }
            Some(there)
        }
    };
    Ok(vec![FileStep::Move {
        from,
        to,
        before,
        replaced,
        text: None,
    }])
}
