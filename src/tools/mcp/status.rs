//! How a server is, and the newest lines of its log.
//!
//! No line of a log holds a secret that is known here, or a character that a terminal would execute.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use crate::clock::Timestamp;
use crate::protocol::enums::{McpEra, McpServerState};
use crate::protocol::mcp::McpIdentity;
use crate::text::redact::Redactor;
use crate::text::untrusted::limit_line;

/// Lines that are kept.
const LINES: usize = 200;
/// Cells of one line.
const CELLS: usize = 400;
/// Bytes of a line that are looked at.
const LOOKED_AT: usize = 4 * 1024;

/// How a server is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerStatus {
    /// What it does now.
    pub state: McpServerState,
    /// Why it failed, or what it waits for; none = nothing.
    pub problem: Option<String>,
    /// Which generation of the protocol it speaks; none = it was never connected.
    pub era: Option<McpEra>,
    /// Version of the protocol; none = it was never connected.
    pub protocol_version: Option<String>,
    /// Who it says it is; none = it was never connected.
    pub identity: Option<McpIdentity>,
    /// When it was connected; none = it is not.
    pub connected_at: Option<Timestamp>,
    /// How often it was connected again.
    pub restarts: u64,
    /// Process id above its program; none = none runs.
    pub pid: Option<u32>,
    /// The newest lines of its log, the oldest first; at most 200. Without secrets, and revealed.
    pub log: Vec<String>,
    /// Where its program runs: the level of the sandbox, or `unsandboxed`; none = it is no program.
    pub sandbox: Option<String>,
}

/// The newest lines of a log. Clones share them.
#[derive(Clone)]
pub(super) struct ServerLog {
    redactor: Redactor,
    lines: Arc<Mutex<VecDeque<String>>>,
}

impl ServerLog {
    pub(super) fn new(redactor: Redactor) -> Self {
        Self {
            redactor,
            lines: Arc::default(),
        }
    }

    /// Takes a text of a server; each of its lines is one.
    pub(super) fn push(&self, text: &str) {
        let text = &text[..text.floor_char_boundary(LOOKED_AT)];
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            let line = limit_line(&self.redactor.redact(line), CELLS);
            let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
            if lines.len() == LINES {
                lines.pop_front();
            }
            lines.push_back(line);
        }
    }

    pub(super) fn lines(&self) -> Vec<String> {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().cloned().collect()
    }

    /// The newest line; none = there is none.
    pub(super) fn last(&self) -> Option<String> {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.back().cloned()
    }
}
