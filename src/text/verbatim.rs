//! Outside text inside a Markdown document of ours. However it is written, it stays text: it cannot become a
//! heading, leave its block or hide anything.

use std::fmt::Write as _;

use crate::text::untrusted::{reveal, reveal_line};

/// Text for one line: everything that Markdown could take for markup is escaped.
pub fn inline(text: &str) -> String {
    let shown = reveal_line(text);
    let mut out = String::with_capacity(shown.len() + 8);
    for c in shown.chars() {
        // CommonMark § 2.4: a backslash before any ASCII punctuation makes it that character and nothing else.
        if c.is_ascii_punctuation() {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// Text of several lines as a fenced block. The fence is longer than every run of backticks in the text, so
/// nothing in the text can close it. `info` names the language.
pub fn block(text: &str, info: &str) -> String {
    let shown = reveal(text);
    let longest = shown
        .split(|c| c != '`')
        .map(str::len)
        .max()
        .unwrap_or_default();
    let fence = "`".repeat((longest + 1).max(3));
    let mut out = String::with_capacity(shown.len() + 2 * fence.len() + info.len() + 4);
    // Writing to a String cannot fail.
    let _ = write!(out, "{fence}{info}\n{shown}\n{fence}\n");
    out
}
