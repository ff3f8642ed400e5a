//! `edit_file`: replaces exact parts of one text file.

use std::time::Duration;

use serde_json::Value;

use crate::protocol::enums::{Access, Effect};
use crate::tools::file_step::FileStep;
use crate::tools::file_tool::{FileTool, text_file};
use crate::tools::guard::Guard;
use crate::tools::read_file::text;
use crate::tools::text_edits::{Edit, edited};
use crate::tools::tool::{PrepareError, ToolSpec, arguments};

/// Most edits of one call.
const MAX_EDITS: u32 = 100;

/// The tool.
pub fn edit_file() -> FileTool {
    let spec = ToolSpec {
        name: "edit_file".into(),
        description:
            "Replace exact parts of a text file. Prefer it to writing the whole file again.".into(),
        input_schema: arguments!(["path", "edits"], {
            "path": {"type": "string", "minLength": 1},
            "edits": {"type": "array", "minItems": 1, "maxItems": MAX_EDITS, "items": {
                "type": "object",
                "properties": {
                    "old": {"type": "string", "minLength": 1, "description": "copied exactly from the file, with enough lines to be there once"},
                    "new": {"type": "string"},
                    "all": {"type": "boolean", "description": "replace every one"}
                },
                "required": ["old", "new"],
                "additionalProperties": false
            }}
        }),
        access: Access::Write,
        effect: Effect::Reconcilable,
        max_duration: Duration::from_secs(30),
        key_lifetime: None,
        cacheable: None,
    };
    FileTool::new(spec, propose)
}

/// The edits that the arguments of a call name.
pub fn edits_of(args: &Value) -> Vec<Edit<'_>> {
    let edits = args.get("edits").and_then(Value::as_array);
    let edit = |edit| Edit {
        old: text(edit, "old").unwrap_or_default(),
        new: text(edit, "new").unwrap_or_default(),
        all: edit.get("all").and_then(Value::as_bool).unwrap_or(false),
    };
    edits.into_iter().flatten().map(edit).collect()
}

fn propose(guard: &Guard, args: &Value) -> Result<Vec<FileStep>, PrepareError> {
    let given = text(args, "path").unwrap_or_default();
    let (path, before) = text_file(guard, given, guard.writable(given)?)?;
    let text = edited(before.text().unwrap_or_default(), &edits_of(args))
        .map_err(|why| PrepareError::Invalid(format!("`{}`: {why}", path.relative())))?;
    if before.text() == Some(text.as_str()) {
        return Err(PrepareError::Invalid(format!(
            "`{}` would stay as it is",
            path.relative()
        )));
    }
    Ok(vec![FileStep::Write {
        path,
        before: Some(before),
        text,
    }])
}
