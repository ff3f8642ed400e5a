//! Who wrote a message and when, as a model reads it before the message. Pure.
//!
//! Of the message, not of the moment: an exchange is sent with the same bytes at each later turn.

use serde_json::Value;

use crate::engine::context::block;
use crate::protocol::approval::Speaker;
use crate::text::untrusted::{is_hidden, limit_line};

/// Name of the block.
const NAME: &str = "from";
/// The system text says more.
const NOTE: &str = "by this program";
/// Names of the other blocks that stand before a message. Some are names in HTML as well, and so they are only these
/// blocks where a note follows.
const OTHERS: [&str; 6] = [
    "hints",
    "pinned",
    "facts",
    "summary",
    "memory",
    "earlier_conversation",
];
/// Longest name that is shown, in cells.
const NAME_CELLS: usize = 40;

/// The block before a message; empty where nothing is known.
pub fn header(display: &str, speaker: Option<&Speaker>) -> String {
    let Some(Speaker { id, role, at }) = speaker else {
        return String::new();
    };
    let line = block::line(&[
        ("id", Value::from(id.as_str())),
        ("name", Value::from(limit_line(display, NAME_CELLS))),
        ("role", Value::from(role.as_str())),
        ("at", Value::from(at.as_str())),
    ]);
    block::block(NAME, NOTE, &[line])
}

/// A message as a model reads it.
pub fn message(asked_by: &str, speaker: Option<&Speaker>, said: &str) -> String {
    let mut text = header(asked_by, speaker);
    text.push_str(&without_headers(said));
    text
}

/// A text in which nothing can be taken for a block that this program puts before a message.
pub fn without_headers(text: &str) -> String {
    let mut left = text;
    let mut clean = String::with_capacity(text.len());
    while let Some(at) = left.find(is_bracket) {
        let (before, rest) = left.split_at(at);
        clean.push_str(before);
        let mut chars = rest.chars();
        let bracket = chars.next();
        left = chars.as_str();
        if is_block(left) {
            clean.push_str("&lt;");
        } else {
            clean.extend(bracket);
        }
    }
    clean.push_str(left);
    clean
}

/// `<`, and what looks like it.
fn is_bracket(c: char) -> bool {
    matches!(c, '<' | '\u{fe64}' | '\u{ff1c}')
}

/// Whether a character is not to be seen between letters.
fn is_unseen(c: char) -> bool {
    (is_hidden(c) && !c.is_whitespace()) || matches!(c, '\u{200d}' | '\u{fe0e}' | '\u{fe0f}')
}

/// Whether what follows a bracket begins or ends a block of this program. Looks no further than the next bracket.
fn is_block(text: &str) -> bool {
    let mut seen = text
        .chars()
        .filter(|c| !is_unseen(*c))
        .skip_while(|c| c.is_whitespace() || *c == '/')
        .flat_map(char::to_lowercase)
        .peekable();
    let mut name = String::new();
    while let Some(c) = seen.next_if(|c| c.is_alphanumeric() || *c == '_') {
        name.push(c);
    }
    let note = || {
        seen.skip_while(|c| c.is_whitespace())
            .take(4)
            .eq("note".chars())
    };
    name == NAME || (OTHERS.contains(&name.as_str()) && note())
}
