//! `list_files`: what is in a directory.

use std::fmt::Write as _;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};

use crate::protocol::enums::{Access, Effect};
use crate::tools::guard::{Guard, GuardedPath};
use crate::tools::output;
use crate::tools::read_file::{blocking, number, read_outcome, reading_at, text};
use crate::tools::tool::{Plan, PrepareError, Tool, ToolContext, ToolOutcome, ToolSpec};
use crate::tools::walk::{self, End, Entry, EntryKind, Limits, Pattern, Step, WALK, walk};

/// Most entries listed.
const MAX_LISTED: usize = 1000;
/// Levels listed by default, without and with a glob.
const DEFAULT_DEPTH: u64 = 2;
const GLOB_DEPTH: u64 = 20;

/// The tool.
pub struct ListFiles {
    spec: ToolSpec,
}

impl Default for ListFiles {
    fn default() -> Self {
        Self {
            spec: ToolSpec {
                name: "list_files".into(),
                description: "List files and directories of the workspace, sorted, with sizes."
                    .into(),
                input_schema: json!({
                    "type": "object",
                    "properties": {
                        "path": {"type": "string", "minLength": 1, "description": "directory, default the workspace"},
                        "glob": {"type": "string", "minLength": 1, "description": "*.rs matches names, src/**/*.rs paths"},
                        "depth": {"type": "integer", "minimum": 1, "maximum": GLOB_DEPTH, "description": "levels, default 2, with glob 20"}
                    },
                    "additionalProperties": false
                }),
                access: Access::ReadLocal,
                effect: Effect::ReadOnly,
                max_duration: Duration::from_secs(30),
                key_lifetime: None,
                cacheable: Some(WALK),
            },
        }
    }
}

#[async_trait]
impl Tool for ListFiles {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare(&self, context: &ToolContext<'_>, args: &Value) -> Result<Plan, PrepareError> {
        let path = Guard::new(context).directory(text(args, "path").unwrap_or("."))?;
        text(args, "glob").map(Pattern::parse).transpose()?;
        Ok(reading_at(path.relative()))
    }

    async fn execute(&self, context: &ToolContext<'_>, args: &Value) -> ToolOutcome {
        let guard = Guard::new(context);
        let checked = guard
            .directory(text(args, "path").unwrap_or("."))
            .and_then(|start| Ok((start, text(args, "glob").map(Pattern::parse).transpose()?)));
        let (start, pattern) = match checked {
            Ok(checked) => checked,
            Err(error) => return read_outcome(Err(error.to_string())),
        };
        let depth = number(args, "depth")
            .unwrap_or(if pattern.is_some() {
                GLOB_DEPTH
            } else {
                DEFAULT_DEPTH
            })
            .clamp(1, GLOB_DEPTH);
        let limits = Limits {
            depth: usize::try_from(depth).unwrap_or(1),
            entries: 100_000,
            time: Duration::from_secs(10),
            cancel: context.cancel.clone(),
        };
        walk::outcome(blocking(move || list(&guard, &start, pattern.as_ref(), &limits)).await)
    }
}

fn list(
    guard: &Guard,
    start: &GuardedPath,
    pattern: Option<&Pattern>,
    limits: &Limits,
) -> Result<(String, End), String> {
    let mut listed = 0_usize;
    let mut out = String::new();
    let mut visit = |entry: &Entry<'_>| {
        if pattern.is_some_and(|pattern| !pattern.matches(entry)) {
            return Step::Next;
        }
        if listed == MAX_LISTED || out.len() > output::MAX_RESULT - 8192 {
            return Step::Stop;
        }
        listed += 1;
        let path = entry.below.to_string_lossy();
        let _ = match entry.kind {
            EntryKind::Directory => writeln!(out, "{path}/"),
            EntryKind::File => writeln!(out, "{path}  {} bytes", entry.size),
            EntryKind::Link => writeln!(out, "{path}  link"),
            EntryKind::Other => writeln!(out, "{path}  not a file"),
        };
        Step::Next
    };
    let end = walk(guard, start, limits, &mut visit)
        .map_err(|error| format!("`{}` cannot be listed: {error}", start.relative()))?;
    let narrow = "use path, glob or a smaller depth to see the rest";
    match end {
        End::Complete if listed == 0 => out.push_str("[nothing found]"),
        End::Complete => {}
        End::Stopped => {
            let _ = write!(
                out,
                "[only the first {listed} entries are listed: {narrow}]"
            );
        }
        End::TooMany => {
            let _ = write!(out, "[stopped after {} entries: {narrow}]", limits.entries);
        }
        End::TimedOut => {
            let _ = write!(out, "[stopped after {} s: {narrow}]", limits.time.as_secs());
        }
        End::Cancelled => return Err("cancelled".to_owned()),
    }
    Ok((out, end))
}
