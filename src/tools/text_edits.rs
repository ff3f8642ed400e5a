//! Replacing exact parts of a text. Pure.
//!
//! Each part is searched in the text as it is before all edits. A part that is not there exactly, or more often than the
//! edit says, changes nothing. Line ends that the text has are kept: an edit that is written with `\n` fits a text of
//! `\r\n`.

use std::borrow::Cow;
use std::ops::Range;

use memchr::memchr_iter;
use memchr::memmem::{Finder, find_iter};

use crate::tools::nearest_lines::nearest;

/// Most bytes of a text that edits make.
pub const MAX_TEXT: usize = 8 << 20;
/// Lines that a message names at most.
const MAX_NAMED: usize = 8;

/// One replacement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Edit<'a> {
    /// What is there now; not empty.
    pub old: &'a str,
    /// What comes in its place.
    pub new: &'a str,
    /// Whether every one is replaced; else there must be exactly one.
    pub all: bool,
}

/// The text with all edits made. The error is for the model: it names the edit, counted from 1, and the nearest lines.
pub fn edited(text: &str, edits: &[Edit<'_>]) -> Result<String, String> {
    let mut parts: Vec<(Range<usize>, Cow<'_, str>, usize)> = Vec::new();
    let mut size = text.len();
    for (index, edit) in edits.iter().enumerate() {
        let number = index + 1;
        if edit.old == edit.new {
            return Err(format!(
                "edit {number} changes nothing: old and new are the same"
            ));
        }
        let (old, new, found) = search(text, edit);
        match found.as_slice() {
            [] => return Err(format!("edit {number}: {}", not_there(text, edit.old))),
            [_] => {}
            several if !edit.all => {
                return Err(format!(
                    "edit {number}: old is there more than once ({}). Nothing is changed: give more lines around it, \
                     or set all to true",
                    lines_of(text, several)
                ));
            }
            _ => {}
        }
        for at in found {
            size = size.saturating_sub(old.len()).saturating_add(new.len());
            parts.push((at..at + old.len(), new.clone(), number));
        }
        if size > MAX_TEXT {
            return Err(format!(
                "edit {number}: the file would have more than {} MiB",
                MAX_TEXT >> 20
            ));
        }
    }
    parts.sort_by_key(|(range, ..)| (range.start, range.end));
    let mut out = String::with_capacity(size);
    let mut done = 0;
    let mut last = 0;
    for (range, new, number) in &parts {
        if range.start < done {
            return Err(format!(
                "edits {last} and {number} overlap in line {}. Nothing is changed: make them one edit",
                line_at(text, range.start)
            ));
        }
        out.push_str(&text[done..range.start]);
        out.push_str(new);
        done = range.end;
        last = *number;
    }
    out.push_str(&text[done..]);
    Ok(out)
}

/// What an edit says in the line ends of the text, and where its old part begins.
fn search<'a>(text: &str, edit: &Edit<'a>) -> (Cow<'a, str>, Cow<'a, str>, Vec<usize>) {
    let plain = || {
        let found = occurrences(text, edit.old, edit.all);
        (Cow::Borrowed(edit.old), Cow::Borrowed(edit.new), found)
    };
    let crlf = || {
        let (old, new) = (with_crlf(edit.old), with_crlf(edit.new));
        let found = occurrences(text, &old, edit.all);
        (Cow::Owned(old), Cow::Owned(new), found)
    };
    match line_ends(text) {
        LineEnds::Lf => plain(),
        LineEnds::CrLf => crlf(),
        LineEnds::Mixed => {
            let exact = plain();
            if exact.2.is_empty() { crlf() } else { exact }
        }
    }
}

/// Where a part begins; of more than one that overlap only those that can all be replaced, where `all` is said.
fn occurrences(text: &str, part: &str, all: bool) -> Vec<usize> {
    let finder = Finder::new(part);
    if all {
        return finder.find_iter(text.as_bytes()).collect();
    }
    let step = part.chars().next().map_or(1, char::len_utf8);
    let mut found = Vec::new();
    let mut from = 0;
    while found.len() <= MAX_NAMED
        && let Some(at) = finder.find(text.as_bytes().get(from..).unwrap_or_default())
    {
        found.push(from + at);
        from += at + step;
    }
    found
}

/// How the lines of a text end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineEnds {
    /// With `\n`, or there is one line.
    Lf,
    /// With `\r\n`.
    CrLf,
    /// Some this way, some that way.
    Mixed,
}

/// How the lines of a text end.
pub fn line_ends(text: &str) -> LineEnds {
    let all = memchr_iter(b'\n', text.as_bytes()).count();
    let long = find_iter(text.as_bytes(), "\r\n").count();
    if long == 0 {
        LineEnds::Lf
    } else if long == all {
        LineEnds::CrLf
    } else {
        LineEnds::Mixed
    }
}

fn with_crlf(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\n', "\r\n")
}

fn not_there(text: &str, old: &str) -> String {
    format!(
        "old is not in the file exactly so. Nothing is changed. {}",
        nearest(text, &old.lines().collect::<Vec<_>>())
    )
}

/// The number of the line that a position is in.
fn line_at(text: &str, at: usize) -> usize {
    memchr_iter(b'\n', &text.as_bytes()[..at]).count() + 1
}

fn lines_of(text: &str, found: &[usize]) -> String {
    let mut named: Vec<String> = found
        .iter()
        .take(MAX_NAMED)
        .map(|at| line_at(text, *at).to_string())
        .collect();
    if found.len() > MAX_NAMED {
        named.push("and more".to_owned());
    }
    format!("lines {}", named.join(", "))
}
