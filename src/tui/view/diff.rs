//! A unified diff as lines of a card: changed words are marked, and on a wide screen old and new stand side by side.
//! Every byte of the diff ends up in some line. The sign and colour of a line say whether it is removed or added; the
//! colours of code are only on words that have one.

use std::time::Duration;

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use similar::{ChangeTag, TextDiff};

use crate::tui::code_colors::{CodeLines, CodeSpan};
use crate::tui::sanitize;
use crate::tui::theme::roles::{Role, Theme};
use crate::tui::view::paint::{self, span};
use crate::tui::view::rich::{self, diff_role, styled_rows};

/// How a diff is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiffLayout {
    /// Removed lines, then added ones.
    Unified,
    /// Old on the left, new on the right.
    SideBySide,
}

/// Longest line, in bytes, whose words are compared.
const MAX_COMPARED: usize = 2_000;
/// Most pairs of lines whose words are compared.
const MAX_PAIRS: usize = 500;
/// Two lines that have less in common were not changed into one another.
const LEAST_ALIKE: f32 = 0.4;
/// How long two lines are compared at most.
const COMPARE_TIME: Duration = Duration::from_millis(20);
/// Columns of a line number and the blank behind it.
const NUMBER: usize = 5;
/// What stands between old and new.
const BETWEEN: &str = " │ ";

/// A piece of a line, and whether it is a word that changed.
type Piece = (String, bool);

/// A line of one side: its sign and its text.
struct SideLine {
    /// Its number in the diff.
    index: usize,
    pieces: Vec<Piece>,
    /// It says that the file ends without a line end: it has no number.
    is_hint: bool,
}

/// What follows each other in a diff.
enum Part<'d> {
    /// Over the whole width: the head of a hunk, or words that are no change.
    Whole(&'d str),
    /// A line that stays, and its number in the diff.
    Same(usize, &'d str),
    /// Lines that go, and lines that come in their place.
    Change(Vec<SideLine>, Vec<SideLine>),
}

/// What the lines of a diff are drawn with.
#[derive(Debug, Clone, Copy)]
pub struct DiffColors<'c> {
    pub theme: &'c Theme,
    /// The colours of its code; none = they are not known.
    pub code: Option<&'c CodeLines>,
}

impl DiffColors<'_> {
    fn code_of(&self, index: usize) -> &[CodeSpan] {
        let line = self.code.and_then(|lines| lines.get(index));
        line.map_or(&[], Vec::as_slice)
    }
}

/// The lines of a diff at this width.
pub fn lines(
    colors: DiffColors<'_>,
    unified: &str,
    width: usize,
    layout: DiffLayout,
) -> Vec<Line<'static>> {
    let parts = parts(unified);
    // A new file has no old side.
    let removes = |part: &Part<'_>| matches!(part, Part::Change(removed, _) if !removed.is_empty());
    match layout {
        DiffLayout::SideBySide if parts.iter().any(removes) => side_by_side(colors, &parts, width),
        DiffLayout::SideBySide | DiffLayout::Unified => (parts.iter())
            .flat_map(|part| match part {
                Part::Whole(line) => {
                    let role = diff_role(line, Role::Outside);
                    rows(colors.theme, &whole(line), &[], role, width)
                }
                Part::Same(index, line) => {
                    let code = colors.code_of(*index);
                    rows(colors.theme, &whole(line), code, Role::Outside, width)
                }
                Part::Change(removed, added) => {
                    let removed = removed.iter().map(|line| (line, Role::DiffRemove));
                    let added = added.iter().map(|line| (line, Role::DiffAdd));
                    let side = |(line, role): (&SideLine, Role)| {
                        let code = colors.code_of(line.index);
                        rows(colors.theme, &line.pieces, code, role, width)
                    };
                    removed.chain(added).flat_map(side).collect()
                }
            })
            .map(Line::from)
            .collect(),
    }
}

/// The parts of a diff, with the words of lines that were changed into one another compared.
fn parts(unified: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let (mut removed, mut added): (Vec<SideLine>, Vec<SideLine>) = (Vec::new(), Vec::new());
    let mut pairs = MAX_PAIRS;
    let mut in_hunk = false;
    // A carriage return at the end of a line is content too.
    let lines = unified.strip_suffix('\n').unwrap_or(unified).split('\n');
    for (index, line) in lines.enumerate() {
        let side = |is_hint| SideLine {
            index,
            pieces: whole(line),
            is_hint,
        };
        match line.as_bytes().first() {
            Some(b'-') if in_hunk && added.is_empty() => removed.push(side(false)),
            Some(b'+') if in_hunk => added.push(side(false)),
            Some(b'\\') if !added.is_empty() => added.push(side(true)),
            Some(b'\\') if !removed.is_empty() => removed.push(side(true)),
            sign => {
                end_change(&mut removed, &mut added, &mut pairs, &mut parts);
                in_hunk |= line.starts_with("@@");
                match sign {
                    Some(b'-') if in_hunk => removed.push(side(false)),
                    Some(b' ') if in_hunk => parts.push(Part::Same(index, line)),
                    _ => parts.push(Part::Whole(line)),
                }
            }
        }
    }
    end_change(&mut removed, &mut added, &mut pairs, &mut parts);
    parts
}

fn whole(line: &str) -> Vec<Piece> {
    vec![(line.to_owned(), false)]
}

/// The change that was read ends: its lines are compared, first with first.
fn end_change(
    removed: &mut Vec<SideLine>,
    added: &mut Vec<SideLine>,
    pairs: &mut usize,
    parts: &mut Vec<Part<'_>>,
) {
    let (mut removed, mut added) = (std::mem::take(removed), std::mem::take(added));
    if removed.is_empty() && added.is_empty() {
        return;
    }
    let old = removed.iter_mut().filter(|line| !line.is_hint);
    let new = added.iter_mut().filter(|line| !line.is_hint);
    for (old, new) in old.zip(new).take(*pairs) {
        *pairs -= 1;
        if let Some((before, after)) = compare(&old.pieces, &new.pieces) {
            old.pieces = before;
            new.pieces = after;
        }
    }
    parts.push(Part::Change(removed, added));
}

/// Two lines with the words that differ marked; none = they have too little in common, or are too long.
fn compare(old: &[Piece], new: &[Piece]) -> Option<(Vec<Piece>, Vec<Piece>)> {
    let ([(old, _)], [(new, _)]) = (old, new) else {
        return None;
    };
    if old.len() > MAX_COMPARED || new.len() > MAX_COMPARED {
        return None;
    }
    let (minus, old) = old.split_at_checked(1)?;
    let (plus, new) = new.split_at_checked(1)?;
    let diff = TextDiff::configure()
        .timeout(COMPARE_TIME)
        .diff_unicode_words(old, new);
    if diff.ratio() < LEAST_ALIKE {
        return None;
    }
    let (mut before, mut after) = (whole(minus), whole(plus));
    for change in diff.iter_all_changes() {
        let word = change.value();
        match change.tag() {
            ChangeTag::Equal => {
                push(&mut before, word, false);
                push(&mut after, word, false);
            }
            ChangeTag::Delete => push(&mut before, word, true),
            ChangeTag::Insert => push(&mut after, word, true),
        }
    }
    Some((before, after))
}

fn push(pieces: &mut Vec<Piece>, word: &str, is_changed: bool) {
    match pieces.last_mut() {
        Some((text, changed)) if *changed == is_changed => text.push_str(word),
        Some(_) | None => pieces.push((word.to_owned(), is_changed)),
    }
}

/// A line wrapped to a width.
fn rows(
    theme: &Theme,
    pieces: &[Piece],
    code: &[CodeSpan],
    role: Role,
    width: usize,
) -> Vec<Vec<Span<'static>>> {
    let plain = theme.style(role);
    let changed = paint::marked(theme, role);
    let mut at = 0;
    let mut styled: Vec<(Style, String)> = Vec::new();
    for (text, is_changed) in pieces {
        let style = if *is_changed { changed } else { plain };
        styled.extend(rich::colored(theme, text, at, style, code));
        at += text.len();
    }
    styled_rows(&styled, plain, width)
}

/// The first lines of both sides that the head of a hunk names.
fn numbers(head: &str) -> Option<(usize, usize)> {
    let mut words = head.strip_prefix("@@ -")?.split(' ');
    let first = |word: &str| word.split(',').next()?.parse().ok();
    let old = first(words.next()?)?;
    let new = first(words.next()?.strip_prefix('+')?)?;
    Some((old, new))
}

/// One side of a line, with its number in front of its first row; `number` goes on to the next line.
fn cell(
    theme: &Theme,
    (pieces, code): (&[Piece], &[CodeSpan]),
    role: Role,
    number: Option<&mut usize>,
    width: usize,
) -> Vec<Vec<Span<'static>>> {
    let mut label = number.map_or_else(String::new, |number| {
        *number += 1;
        (*number - 1).to_string()
    });
    let mut rows = rows(theme, pieces, code, role, width.saturating_sub(NUMBER));
    for row in &mut rows {
        row.insert(0, span(theme, Role::TextMuted, format!("{label:>4} ")));
        label.clear();
    }
    rows
}

fn side_by_side(colors: DiffColors<'_>, parts: &[Part<'_>], width: usize) -> Vec<Line<'static>> {
    let theme = colors.theme;
    let half = width.saturating_sub(sanitize::width(BETWEEN)) / 2;
    let (mut old, mut new) = (1, 1);
    let mut out = Vec::new();
    for part in parts {
        match part {
            Part::Whole(line) => {
                if let Some(first) = numbers(line) {
                    (old, new) = first;
                }
                let role = diff_role(line, Role::Outside);
                out.extend(
                    rows(theme, &whole(line), &[], role, width)
                        .into_iter()
                        .map(Line::from),
                );
            }
            Part::Same(index, line) => {
                let (pieces, code) = (whole(line), colors.code_of(*index));
                let line = (pieces.as_slice(), code);
                let left = cell(theme, line, Role::Outside, Some(&mut old), half);
                let right = cell(theme, line, Role::Outside, Some(&mut new), half);
                beside(theme, left, right, half, &mut out);
            }
            Part::Change(removed, added) => {
                let mut left = removed.iter();
                let mut right = added.iter();
                loop {
                    let (before, after) = (left.next(), right.next());
                    if before.is_none() && after.is_none() {
                        break;
                    }
                    let before = before.map(|line| {
                        let number = (!line.is_hint).then_some(&mut old);
                        let line = (line.pieces.as_slice(), colors.code_of(line.index));
                        cell(theme, line, Role::DiffRemove, number, half)
                    });
                    let after = after.map(|line| {
                        let number = (!line.is_hint).then_some(&mut new);
                        let line = (line.pieces.as_slice(), colors.code_of(line.index));
                        cell(theme, line, Role::DiffAdd, number, half)
                    });
                    beside(
                        theme,
                        before.unwrap_or_default(),
                        after.unwrap_or_default(),
                        half,
                        &mut out,
                    );
                }
            }
        }
    }
    out
}

/// Puts the rows of old and new beside each other.
fn beside(
    theme: &Theme,
    old: Vec<Vec<Span<'static>>>,
    new: Vec<Vec<Span<'static>>>,
    half: usize,
    out: &mut Vec<Line<'static>>,
) {
    let (mut old, mut new) = (old.into_iter(), new.into_iter());
    loop {
        let (before, after) = (old.next(), new.next());
        if before.is_none() && after.is_none() {
            return;
        }
        let mut spans = before.unwrap_or_default();
        let used: usize = spans.iter().map(|one| sanitize::width(&one.content)).sum();
        spans.push(Span::raw(" ".repeat(half.saturating_sub(used))));
        spans.push(span(theme, Role::Border, BETWEEN));
        spans.extend(after.unwrap_or_default());
        out.push(Line::from(spans));
    }
}
