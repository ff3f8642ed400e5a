//! `read_file`: lines of a text file.
//!
//! Nothing is read before the call runs, and never more than is shown plus what is skipped.

use std::fs::File;
use std::io::Read as _;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::protocol::approval::PlanFacts;
use crate::protocol::artifact::{ARTIFACT_PREFIX, ArtifactHash, ArtifactHashError};
use crate::protocol::enums::{Access, Effect};
use crate::tools::guard::{Guard, GuardedPath};
use crate::tools::output;
use crate::tools::risk::RiskReason;
use crate::tools::tool::{Plan, PrepareError, Tool, ToolContext, ToolOutcome, ToolSpec, arguments};

/// Lines returned when the call gives no limit, and the most it can give.
const DEFAULT_LINES: u64 = 2000;
/// Most bytes of lines returned; the rest of the result's 64 KiB is for notes.
const MAX_BYTES: usize = output::MAX_RESULT - 512;
/// How much of the beginning is looked at to tell text from other files.
const SNIFF: usize = 8192;

/// Longest line of an artifact; longer ones are broken.
const LONGEST_LINE: usize = 4000;

/// The tool.
pub struct ReadFile {
    spec: ToolSpec,
}

impl Default for ReadFile {
    fn default() -> Self {
        Self {
            spec: ToolSpec {
                name: "read_file".into(),
                description: "Read a text file of the workspace, or an artifact. Long files: continue with offset.".into(),
                input_schema: arguments!(["path"], {
                    "path": {"type": "string", "minLength": 1, "description": "relative to the workspace, or artifact:HASH"},
                    "offset": {"type": "integer", "minimum": 1, "description": "first line, from 1"},
                    "limit": {"type": "integer", "minimum": 1, "maximum": DEFAULT_LINES, "description": "lines, default 2000"}
                }),
                access: Access::ReadLocal,
                effect: Effect::ReadOnly,
                max_duration: Duration::from_secs(30),
                key_lifetime: None,
                // Reading it again costs no more than proving that it did not change.
                cacheable: None,
            },
        }
    }
}

/// The plan of a call that only reads a file, or the files of a directory.
pub(crate) fn reading_at(path: String) -> Plan {
    Plan {
        facts: PlanFacts {
            path: Some(path),
            ..PlanFacts::default()
        },
        ..reading()
    }
}

/// The plan of a call that only reads.
pub(crate) fn reading() -> Plan {
    Plan::new(Access::ReadLocal, vec![RiskReason::ReadsWorkspace])
}

/// The end of a call without an effect.
pub(crate) fn read_outcome(result: Result<String, String>) -> ToolOutcome {
    match result {
        Ok(content) => ToolOutcome::done(output::fit(content)),
        Err(content) => ToolOutcome::not_done(output::fit(content)),
    }
}

/// Runs file work away from the threads that serve everything else.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => Err(format!("the tool stopped unexpectedly: {error}")),
    }
}

/// An optional string argument.
pub(crate) fn text<'a>(args: &'a Value, name: &str) -> Option<&'a str> {
    args.get(name).and_then(Value::as_str)
}

/// An optional whole number argument.
pub(crate) fn number(args: &Value, name: &str) -> Option<u64> {
    let value = args.get(name)?;
    // JSON Schema counts 2.0 as an integer.
    value.as_u64().or_else(|| {
        value
            .as_f64()
            .filter(|float| *float >= 0.0)
            .map(|float| float as u64)
    })
}

#[async_trait]
impl Tool for ReadFile {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare(&self, context: &ToolContext<'_>, args: &Value) -> Result<Plan, PrepareError> {
        let path = text(args, "path").unwrap_or_default();
        if path.starts_with(ARTIFACT_PREFIX) {
            artifact_hash(path).map_err(PrepareError::Invalid)?;
            return Ok(Plan {
                risk_reasons: vec![RiskReason::ReadsResult],
                ..reading_at(path.to_owned())
            });
        }
        let path = Guard::new(context).file(path)?;
        Ok(reading_at(path.relative()))
    }

    fn reads_windows(&self) -> bool {
        true
    }

    async fn execute(&self, context: &ToolContext<'_>, args: &Value) -> ToolOutcome {
        let given = text(args, "path").unwrap_or_default();
        let first = number(args, "offset").unwrap_or(1).max(1);
        let limit = number(args, "limit")
            .unwrap_or(DEFAULT_LINES)
            .clamp(1, DEFAULT_LINES);
        if given.starts_with(ARTIFACT_PREFIX) {
            let found = match artifact_hash(given) {
                Ok(hash) => context.host.artifact(hash).await,
                Err(error) => Err(error),
            };
            return read_outcome(found.map(|whole| window(given, &whole, first, limit)));
        }
        let guard = Guard::new(context);
        let path = match guard.file(given) {
            Ok(path) => path,
            Err(error) => return read_outcome(Err(error.to_string())),
        };
        let cancel = context.cancel.clone();
        read_outcome(blocking(move || read(&guard, &path, first, limit, &cancel)).await)
    }
}

fn artifact_hash(path: &str) -> Result<ArtifactHash, String> {
    path.parse()
        .map_err(|error: ArtifactHashError| error.to_string())
}

/// Lines of a text. A line that is too long is broken, so that every byte can be reached by an offset.
fn window(name: &str, whole: &str, first: u64, limit: u64) -> String {
    let size = whole.len() as u64;
    let mut lines = String::with_capacity(whole.len() + 64);
    let mut broken = false;
    for line in whole.split_inclusive('\n') {
        let mut rest = line;
        while rest.len() > LONGEST_LINE {
            let piece = output::first(rest, LONGEST_LINE);
            lines.push_str(piece);
            lines.push('\n');
            rest = &rest[piece.len()..];
            broken = true;
        }
        lines.push_str(rest);
    }
    let mut found = Lines::from(first, limit);
    found.take(lines.as_bytes());
    let mut text = found.describe(name, size);
    if broken {
        text.push_str(&format!(
            "\n[lines longer than {LONGEST_LINE} bytes are broken there and count as several]"
        ));
    }
    text
}

fn read(
    guard: &Guard,
    path: &GuardedPath,
    first: u64,
    limit: u64,
    cancel: &CancellationToken,
) -> Result<String, String> {
    let name = path.relative();
    let cannot = |error: std::io::Error| format!("`{name}` cannot be read: {error}");
    let mut file = guard.open_file(path).map_err(cannot)?;
    let size = file.metadata().map_err(cannot)?.len();
    let mut found = Lines::from(first, limit);
    let mut chunk = vec![0_u8; 64 * 1024];
    let mut start = true;
    loop {
        if cancel.is_cancelled() {
            return Err("cancelled".to_owned());
        }
        let count = fill(&mut file, &mut chunk).map_err(cannot)?;
        if std::mem::take(&mut start) && chunk[..count.min(SNIFF)].contains(&0) {
            return Err(format!(
                "`{name}` is a binary file ({size} bytes), not text: use execute_command with a program \
                 that understands it (file, xxd, tar tf, …)"
            ));
        }
        if count == 0 || !found.take(&chunk[..count]) {
            break;
        }
    }
    Ok(found.describe(&name, size))
}

/// Reads until the buffer is full or the file ends.
fn fill(file: &mut File, buffer: &mut [u8]) -> std::io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReadEnd {
    OfFile,
    AtLimit,
    InLine,
}

struct Lines {
    first: u64,
    limit: u64,
    /// Number of the line that is being read.
    line: u64,
    /// Complete lines taken.
    taken: u64,
    bytes: Vec<u8>,
    ended: ReadEnd,
}

impl Lines {
    fn from(first: u64, limit: u64) -> Self {
        Self {
            first,
            limit,
            line: 1,
            taken: 0,
            bytes: Vec::new(),
            ended: ReadEnd::OfFile,
        }
    }

    /// Takes what belongs to the answer; false when it is complete.
    fn take(&mut self, chunk: &[u8]) -> bool {
        for piece in chunk.split_inclusive(|byte| *byte == b'\n') {
            if self.taken == self.limit {
                self.ended = ReadEnd::AtLimit;
                return false;
            }
            let whole = piece.ends_with(b"\n");
            if self.line >= self.first {
                if self.bytes.len() + piece.len() > MAX_BYTES {
                    let line_start = self
                        .bytes
                        .iter()
                        .rposition(|byte| *byte == b'\n')
                        .map_or(0, |at| at + 1);
                    if self.taken > 0 {
                        self.bytes.truncate(line_start);
                        self.ended = ReadEnd::AtLimit;
                    } else {
                        self.bytes
                            .extend_from_slice(&piece[..MAX_BYTES - self.bytes.len()]);
                        self.ended = ReadEnd::InLine;
                    }
                    return false;
                }
                self.bytes.extend_from_slice(piece);
                self.taken += u64::from(whole);
            }
            self.line += u64::from(whole);
        }
        true
    }

    fn describe(self, name: &str, size: u64) -> String {
        if self.bytes.is_empty() {
            return if size == 0 {
                format!("[`{name}` is empty]")
            } else {
                format!("[`{name}` has fewer than {} lines]", self.first)
            };
        }
        let text = String::from_utf8_lossy(&self.bytes);
        let lossy = matches!(text, std::borrow::Cow::Owned(_)) && self.ended != ReadEnd::InLine
            || std::str::from_utf8(&self.bytes).is_err_and(|error| error.error_len().is_some());
        let mut content = output::first(&text, MAX_BYTES).to_owned();
        if content.len() < text.len() {
            content.push_str("\n[… cut: the replaced bytes made it too long …]");
        }
        let mut note = |words: &str| {
            if !content.ends_with('\n') {
                content.push('\n');
            }
            content.push_str(words);
        };
        match self.ended {
            ReadEnd::OfFile => {}
            ReadEnd::AtLimit => note(&format!(
                "[lines {}–{} of a file of {size} bytes; continue with offset {}]",
                self.first,
                self.first + self.taken - 1,
                self.first + self.taken
            )),
            ReadEnd::InLine => note(&format!(
                "[line {} is longer than {MAX_BYTES} bytes and cut here; continue with offset {}]",
                self.first,
                self.first + 1
            )),
        }
        if lossy {
            note("[not UTF-8: bytes that do not fit are shown as \u{fffd}]");
        }
        content
    }
}
