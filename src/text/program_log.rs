//! The newest lines of what a program of somebody else writes for people.
//!
//! No line holds a secret that is known here, or a character that a terminal would execute.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use crate::text::redact::Redactor;
use crate::text::untrusted::limit_line;

/// Lines that are kept.
const LINES: usize = 200;
/// Cells of one line.
const CELLS: usize = 400;
/// Bytes of a line that are looked at.
const LOOKED_AT: usize = 4 * 1024;

/// The newest lines of a log, at most 200. Clones share them.
#[derive(Clone)]
pub struct ProgramLog {
    redactor: Redactor,
    lines: Arc<Mutex<VecDeque<String>>>,
}

impl ProgramLog {
    /// An empty log; `redactor` takes the secrets out.
    pub fn new(redactor: Redactor) -> Self {
        Self {
            redactor,
            lines: Arc::default(),
        }
    }

    /// Takes a text of the program; each of its lines is one. The lines as they are kept.
    pub fn push(&self, text: &str) -> Vec<String> {
        let text = &text[..text.floor_char_boundary(LOOKED_AT)];
        let lines = text.lines().filter(|line| !line.trim().is_empty());
        let new: Vec<String> = lines
            .map(|line| limit_line(&self.redactor.redact(line), CELLS))
            .collect();
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        for line in &new {
            if lines.len() == LINES {
                lines.pop_front();
            }
            lines.push_back(line.clone());
        }
        new
    }

    /// Every line that is kept, the oldest first.
    pub fn lines(&self) -> Vec<String> {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().cloned().collect()
    }

    /// The newest line; none = there is none.
    pub fn last(&self) -> Option<String> {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.back().cloned()
    }
}
