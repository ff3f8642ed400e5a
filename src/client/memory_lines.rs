//! Exports of memory as text: one JSON object a line. Reading is strict and says where it failed.

use crate::protocol::enums::MemoryScope;
use crate::protocol::memory::{Memory, MemoryImport, MemoryTarget};

/// Where a text is no export, and why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {what}")]
pub struct LineError {
    /// From 1.
    pub line: usize,
    /// From 1; in bytes.
    pub column: usize,
    /// What is wrong: may quote the text.
    pub what: String,
}

/// The line of an export for one that is remembered; none where it names no session that it is of.
pub fn item(memory: Memory) -> Option<MemoryImport> {
    let place = match memory.scope {
        MemoryScope::Session => MemoryTarget::Session {
            session_id: memory.session_id?,
        },
        MemoryScope::Channel => MemoryTarget::Channel {
            channel: memory.channel?,
        },
        MemoryScope::Global => MemoryTarget::Global,
    };
    Some(MemoryImport {
        place,
        text: memory.text,
        kind: Some(memory.kind),
        pinned: memory.pinned,
        author: Some(memory.author),
        author_id: Some(memory.author_id),
        person_id: memory.person_id,
        confidence: Some(memory.confidence),
        created_at: Some(memory.created_at),
        expires_at: memory.expires_at,
    })
}

/// Reads an export: one object a line, empty lines between them, or one list of objects.
pub fn parse(bytes: &[u8]) -> Result<Vec<MemoryImport>, LineError> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let before = bytes.get(..error.valid_up_to()).unwrap_or_default();
        let line_start = before.iter().rposition(|byte| *byte == b'\n');
        LineError {
            line: before.split(|byte| *byte == b'\n').count(),
            column: before.len() - line_start.map_or(0, |at| at + 1) + 1,
            what: "this is no text".to_owned(),
        }
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.trim_start().starts_with('[') {
        return serde_json::from_str(text).map_err(|error| fault(1, &error));
    }
    text.lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
        .map(|(n, line)| serde_json::from_str(line).map_err(|error| fault(n + 1, &error)))
        .collect()
}

fn fault(line: usize, error: &serde_json::Error) -> LineError {
    let whole = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    LineError {
        line: line + error.line().saturating_sub(1),
        column: error.column(),
        what: whole.strip_suffix(&place).unwrap_or(&whole).to_owned(),
    }
}
