//! `search_files`: lines that match a regular expression.
//!
//! No pattern can take more than linear time (the `regex` crate has no backtracking), and no search more
//! than its bounds of files, bytes and seconds.

use std::fmt::Write as _;
use std::io::Read as _;
use std::time::Duration;

use async_trait::async_trait;
use regex::bytes::{Regex, RegexBuilder};
use serde_json::Value;

use crate::protocol::enums::{Access, Effect};
use crate::tools::guard::{Guard, GuardedPath, Kind, open_regular};
use crate::tools::output;
use crate::tools::read_file::{blocking, number, read_outcome, reading_at, text};
use crate::tools::tool::{Plan, PrepareError, Tool, ToolContext, ToolOutcome, ToolSpec, arguments};
use crate::tools::walk::{self, End, Entry, EntryKind, Limits, Pattern, Step, WALK, walk};

/// Matches returned when the call gives no limit, and the most it can give.
const DEFAULT_MATCHES: u64 = 100;
const MAX_MATCHES: u64 = 1000;
/// Largest file searched, in bytes; larger ones are counted in a note.
const MAX_FILE: u64 = 8 * 1024 * 1024;
/// Most bytes searched by one call.
const MAX_TOTAL: u64 = 256 * 1024 * 1024;
/// Longest piece of a matching line that is shown, in bytes.
const MAX_LINE: usize = 400;

/// The tool.
pub struct SearchFiles {
    spec: ToolSpec,
}

impl Default for SearchFiles {
    fn default() -> Self {
        Self {
            spec: ToolSpec {
                name: "search_files".into(),
                description: "Search text files of the workspace for a regular expression. Answers path:line: text.".into(),
                input_schema: arguments!(["pattern"], {
                    "pattern": {"type": "string", "minLength": 1, "description": "Rust regex; (?i) ignores case"},
                    "path": {"type": "string", "minLength": 1, "description": "file or directory, default the workspace"},
                    "glob": {"type": "string", "minLength": 1, "description": "only these files, e.g. *.rs"},
                    "limit": {"type": "integer", "minimum": 1, "maximum": MAX_MATCHES, "description": "matches, default 100"}
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

struct Search {
    start: GuardedPath,
    regex: Regex,
    pattern: Option<Pattern>,
}

fn check(guard: &Guard, args: &Value) -> Result<Search, PrepareError> {
    let given = text(args, "path").unwrap_or(".");
    let start = guard.resolve(given)?;
    if start.kind == Kind::Missing {
        guard.directory(given)?;
    }
    let pattern = text(args, "pattern").unwrap_or_default();
    if pattern.len() > 4096 {
        return Err(PrepareError::Invalid(
            "pattern: longer than 4096 bytes".to_owned(),
        ));
    }
    let regex = RegexBuilder::new(pattern)
        .size_limit(1 << 20)
        .dfa_size_limit(4 << 20)
        .build()
        .map_err(|error| PrepareError::Invalid(format!("pattern: {error}")))?;
    Ok(Search {
        start,
        regex,
        pattern: text(args, "glob").map(Pattern::parse).transpose()?,
    })
}

#[async_trait]
impl Tool for SearchFiles {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare(&self, context: &ToolContext<'_>, args: &Value) -> Result<Plan, PrepareError> {
        let search = check(&Guard::new(context), args)?;
        Ok(reading_at(search.start.relative()))
    }

    async fn execute(&self, context: &ToolContext<'_>, args: &Value) -> ToolOutcome {
        let guard = Guard::new(context);
        let search = match check(&guard, args) {
            Ok(search) => search,
            Err(error) => return read_outcome(Err(error.to_string())),
        };
        let limit = number(args, "limit")
            .unwrap_or(DEFAULT_MATCHES)
            .clamp(1, MAX_MATCHES);
        let limits = Limits {
            depth: 64,
            entries: 100_000,
            time: Duration::from_secs(15),
            cancel: context.cancel.clone(),
        };
        walk::outcome(blocking(move || run(&guard, &search, limit, &limits)).await)
    }
}

#[derive(Default)]
struct SearchMatch {
    out: String,
    matches: u64,
    searched: u64,
    large: u64,
    full: bool,
}

fn run(
    guard: &Guard,
    search: &Search,
    limit: u64,
    limits: &Limits,
) -> Result<(String, End), String> {
    let cannot = |error: std::io::Error| {
        format!("`{}` cannot be searched: {error}", search.start.relative())
    };
    let mut found = SearchMatch::default();
    let end = if search.start.kind == Kind::File {
        let file = guard.open_file(&search.start).map_err(cannot)?;
        lines(
            file,
            &search.start.relative(),
            &search.regex,
            limit,
            &mut found,
        );
        if found.full {
            End::Stopped
        } else {
            End::Complete
        }
    } else {
        let prefix = search.start.relative();
        let mut visit = |entry: &Entry<'_>| {
            match entry.kind {
                EntryKind::Directory if entry.name == ".git" => return Step::Skip,
                EntryKind::Directory | EntryKind::Link | EntryKind::Other => return Step::Next,
                EntryKind::File => {}
            }
            if search
                .pattern
                .as_ref()
                .is_some_and(|pattern| !pattern.matches(entry))
            {
                return Step::Next;
            }
            if entry.size > MAX_FILE {
                found.large += 1;
                return Step::Next;
            }
            if let Ok(file) = open_regular(entry.parent, entry.name) {
                let path = match prefix.as_str() {
                    "." => entry.below.to_string_lossy().into_owned(),
                    prefix => format!("{prefix}/{}", entry.below.to_string_lossy()),
                };
                lines(file, &path, &search.regex, limit, &mut found);
            }
            found.full |= found.searched > MAX_TOTAL;
            if found.full { Step::Stop } else { Step::Next }
        };
        walk(guard, &search.start, limits, &mut visit).map_err(cannot)?
    };
    let mut out = found.out;
    if found.matches == 0 {
        out.push_str("[no match]\n");
    }
    match end {
        End::Complete => {}
        End::Stopped if found.searched > MAX_TOTAL => {
            let _ = writeln!(
                out,
                "[stopped after {} MiB: narrow it with path or glob]",
                MAX_TOTAL >> 20
            );
        }
        End::Stopped => {
            let _ = writeln!(
                out,
                "[stopped after {} matches: there may be more]",
                found.matches
            );
        }
        End::TooMany | End::TimedOut => {
            out.push_str("[stopped early: too many files; narrow it with path or glob]\n");
        }
        End::Cancelled => return Err("cancelled".to_owned()),
    }
    if found.large > 0 {
        let _ = writeln!(
            out,
            "[{} files over {} MiB were not searched]",
            found.large,
            MAX_FILE >> 20
        );
    }
    Ok((out, end))
}

fn lines(file: std::fs::File, path: &str, regex: &Regex, limit: u64, found: &mut SearchMatch) {
    let mut content = Vec::new();
    if file.take(MAX_FILE).read_to_end(&mut content).is_err() {
        return;
    }
    found.searched += content.len() as u64;
    if content[..content.len().min(8192)].contains(&0) {
        return;
    }
    for (index, line) in content.split(|byte| *byte == b'\n').enumerate() {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let Some(at) = regex.find(line) else { continue };
        if found.matches == limit || found.out.len() > output::MAX_RESULT - 8192 {
            found.full = true;
            return;
        }
        found.matches += 1;
        // Long lines are shown around the match.
        let from = if line.len() <= MAX_LINE {
            0
        } else {
            at.start().saturating_sub(MAX_LINE / 4)
        };
        let to = line.len().min(from + MAX_LINE);
        let piece = String::from_utf8_lossy(&line[from..to]);
        let (before, after) = (
            if from > 0 { "…" } else { "" },
            if to < line.len() { "…" } else { "" },
        );
        let _ = writeln!(found.out, "{path}:{}: {before}{piece}{after}", index + 1);
    }
}
