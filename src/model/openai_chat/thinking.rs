//! Reasoning that a server writes into the text, between `<think>` and `</think>`: never shown, never kept. Pure.
//!
//! Only the very beginning of an answer is looked at, so an answer about these words loses nothing. Cutting the text
//! elsewhere gives the same visible text.

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";

/// Where the text stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Thinking {
    /// So far it could be the beginning of reasoning; nothing of it was shown.
    Undecided(String),
    /// Inside; the end of what came, in which the close may have begun.
    Inside(String),
    /// Behind it; blank lines up to the answer are dropped.
    Behind,
    /// In the answer.
    Answer,
}

impl Default for Thinking {
    fn default() -> Self {
        Self::Undecided(String::new())
    }
}

impl Thinking {
    /// What of `text` is part of the answer.
    pub fn visible(&mut self, text: &str) -> String {
        match self {
            Self::Answer => text.to_owned(),
            Self::Behind => {
                let rest = text.trim_start();
                if !rest.is_empty() {
                    *self = Self::Answer;
                }
                rest.to_owned()
            }
            Self::Inside(tail) => {
                tail.push_str(text);
                if let Some(at) = tail.find(CLOSE) {
                    let rest = tail.split_off(at + CLOSE.len());
                    *self = Self::Behind;
                    return self.visible(&rest);
                }
                let mut keep = tail.len().saturating_sub(CLOSE.len());
                while !tail.is_char_boundary(keep) {
                    keep += 1;
                }
                tail.drain(..keep);
                String::new()
            }
            Self::Undecided(held) => {
                held.push_str(text);
                let begun = held.trim_start();
                if let Some(inside) = begun.strip_prefix(OPEN) {
                    let inside = inside.to_owned();
                    *self = Self::Inside(String::new());
                    return self.visible(&inside);
                }
                if OPEN.starts_with(begun) {
                    return String::new();
                }
                let all = std::mem::take(held);
                *self = Self::Answer;
                all
            }
        }
    }

    /// What was held back, once no more text comes.
    pub fn end(&mut self) -> String {
        match self {
            Self::Undecided(held) => std::mem::take(held),
            Self::Inside(_) | Self::Behind | Self::Answer => String::new(),
        }
    }
}
