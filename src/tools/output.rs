//! Keeping what a model reads within bounds.
//!
//! Nothing here grows with the length of what it is fed.

use std::collections::VecDeque;
use std::fmt::Write as _;

/// Most bytes of a window or a list that a tool makes up.
pub const MAX_RESULT: usize = 64 * 1024;
/// Most bytes of a program's output that are kept.
pub const MAX_OUTPUT: usize = 1024 * 1024;
/// Room kept for notes about what was left out and how a call ended.
const NOTES: usize = 1024;
/// Bytes kept from the beginning, and as many from the end.
const KEPT: usize = (MAX_OUTPUT - NOTES) / 2;

/// The beginning and the end of a stream of bytes of any length.
#[derive(Debug, Default)]
pub struct BoundedOutput {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
    nuls: bool,
}

impl BoundedOutput {
    /// Takes the next bytes.
    pub fn push(&mut self, mut bytes: &[u8]) {
        self.total += bytes.len() as u64;
        self.nuls |= bytes.contains(&0);
        let room = KEPT.saturating_sub(self.head.len()).min(bytes.len());
        self.head.extend_from_slice(&bytes[..room]);
        bytes = &bytes[room..];
        if bytes.len() >= KEPT {
            self.tail.clear();
            bytes = &bytes[bytes.len() - KEPT..];
        }
        let excess = (self.tail.len() + bytes.len()).saturating_sub(KEPT);
        self.tail.drain(..excess);
        self.tail.extend(bytes);
    }

    /// Bytes seen.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// What was kept, as text of at most [`MAX_OUTPUT`] less 1 KiB, with a note where something is missing.
    /// Bytes that are not UTF-8 are replaced and noted; output with NUL bytes is binary and only described.
    pub fn text(&self) -> String {
        if self.nuls {
            return format!(
                "[binary output, {} bytes, not shown: write it to a file instead]\n",
                self.total
            );
        }
        let tail: Vec<u8> = self.tail.iter().copied().collect();
        let dropped = self.total - (self.head.len() + tail.len()) as u64;
        if dropped == 0 {
            let mut whole = self.head.clone();
            whole.extend_from_slice(&tail);
            let text = String::from_utf8_lossy(&whole);
            let note = replaced(std::str::from_utf8(&whole).is_err());
            if text.len() <= MAX_OUTPUT - NOTES {
                return format!("{text}{note}");
            }
            let (head, tail) = (first(&text, KEPT), last(&text, KEPT));
            let cut = text.len() - head.len() - tail.len();
            return format!("{head}\n[… {cut} bytes left out …]\n{tail}{note}");
        }
        let head_text = String::from_utf8_lossy(&self.head);
        let tail_text = String::from_utf8_lossy(&tail);
        // A character cut in two at the seam is our doing, not the program's.
        let broken = |bytes: &[u8]| {
            std::str::from_utf8(bytes)
                .is_err_and(|error| error.error_len().is_some() && error.valid_up_to() > 3)
        };
        let note = replaced(broken(&self.head) || broken(&tail));
        let head = first(&head_text, KEPT);
        let tail = last(&tail_text, KEPT);
        let kept_all =
            dropped + (head_text.len() - head.len() + tail_text.len() - tail.len()) as u64;
        format!(
            "{head}\n[… {kept_all} of {} bytes left out: only the beginning and the end are kept …]\n{tail}{note}",
            self.total
        )
    }

    /// The same, with a note where nothing was written.
    pub fn text_or_none(&self) -> String {
        Some(self.text())
            .filter(|text| !text.is_empty())
            .unwrap_or_else(|| "[no output]".to_owned())
    }
}

fn replaced(broken: bool) -> &'static str {
    if broken {
        "\n[bytes that are not UTF-8 are shown as \u{fffd}]\n"
    } else {
        ""
    }
}

/// The longest beginning of at most `limit` bytes that ends between characters.
pub fn first(text: &str, limit: usize) -> &str {
    &text[..text.floor_char_boundary(limit)]
}

/// The longest end of at most `limit` bytes that begins between characters.
pub fn last(text: &str, limit: usize) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(limit))..]
}

/// A result cut to [`MAX_OUTPUT`], with a note where it was cut.
pub fn fit(mut text: String) -> String {
    if text.len() > MAX_OUTPUT {
        let cut = text.len() - first(&text, MAX_OUTPUT - NOTES).len();
        text.truncate(text.len() - cut);
        let _ = write!(text, "\n[… {cut} bytes left out …]");
    }
    text
}
