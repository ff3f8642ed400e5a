//! Makes everything in outside text visible. No output of this module can move a cursor, reorder, hide
//! or join onto text that is not its own.
//!
//! What a terminal or a drawing library would execute, drop or draw as nothing is shown as `<U+XXXX>`,
//! one for each character: controls (C0, C1, DEL), format characters (general category Cf), everything
//! of Default_Ignorable_Code_Point, separators other than the plain space, blanks that look like a space,
//! private use and noncharacters. Ordinary text is returned as it was, borrowed. Text that spells out
//! `<U+202E>` in plain letters looks the same as a revealed one; that direction is harmless.
//!
//! Sources: Unicode 16 `UnicodeData.txt` (Cc, Cf, Zs, Zl, Zp, Co), `DerivedCoreProperties.txt`
//! (Default_Ignorable_Code_Point), `emoji-data.txt` (Extended_Pictographic, by block).

use std::borrow::Cow;
use std::fmt::Write as _;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthChar;

use crate::text::{ascii, width};

/// Combining marks shown on one base; the rest of the run is counted, not drawn.
pub const MAX_MARKS: usize = 8;

/// Cells of a tab.
const TAB: &str = "    ";

const ZERO_WIDTH_JOINER: char = '\u{200d}';
const ENCLOSING_KEYCAP: char = '\u{20e3}';

/// What becomes of a line break.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Newlines {
    Keep,
    Show,
}

/// Text of several lines: `\n` stays, a tab becomes four spaces.
pub fn reveal(text: &str) -> Cow<'_, str> {
    reveal_with(text, Newlines::Keep)
}

/// Text for one line: `\n` is shown as `␊`, a tab becomes four spaces.
pub fn reveal_line(text: &str) -> Cow<'_, str> {
    reveal_with(text, Newlines::Show)
}

/// Text for one line of at most `max_cells`, revealed, cut with `…` where it is longer.
///
/// Costs time for what is shown, not for what was given. A run of marks that reaches past the cut is
/// counted only as far as it was looked at.
pub fn limit_line(text: &str, max_cells: usize) -> String {
    if max_cells == 0 {
        return String::new();
    }
    let bound = max_cells.saturating_mul(32).saturating_add(256);
    let (head, whole) = match text.char_indices().nth(bound) {
        Some((at, _)) => (text.get(..at).unwrap_or_default(), false),
        None => (text, true),
    };
    let shown = reveal_line(head);
    if whole && width::display_width(&shown) <= max_cells {
        return shown.into_owned();
    }
    let mut line = width::prefix_that_fits(&shown, max_cells - 1).to_owned();
    line.push('…');
    line
}

/// Text on one line. An escape `\uXXXX` stands for each character that a terminal would execute, drop or reorder. JSON stays
/// JSON of the same value.
pub fn escape_line(text: &str) -> Cow<'_, str> {
    let escapes = |c: char| c == '\n' || c == ZERO_WIDTH_JOINER || is_hidden(c);
    if !text.contains(escapes) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if escapes(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// Whether this character is never shown as itself, wherever it stands.
///
/// Zero width joiner and the variation selectors 15 and 16 are not in this set: they are shown as
/// themselves inside an emoji sequence, and revealed everywhere else.
pub fn is_hidden(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_control() && c != '\n';
    }
    if ascii::only() && c != ascii::BETWEEN {
        return true;
    }
    match c as u32 {
        // C1, no-break space, soft hyphen.
        0x80..=0xa0 | 0xad
        // Combining grapheme joiner.
        | 0x34f
        // Arabic number signs and marks, Syriac abbreviation mark (Cf).
        | 0x600..=0x605 | 0x61c | 0x6dd | 0x70f | 0x890..=0x891 | 0x8e2
        // Hangul fillers, Ogham space, Khmer inherent vowels, Mongolian selectors and vowel separator.
        | 0x115f..=0x1160 | 0x1680 | 0x17b4..=0x17b5 | 0x180b..=0x180f
        // Spaces of other widths, zero width space and non-joiner, direction marks.
        | 0x2000..=0x200c | 0x200e..=0x200f
        // Line and paragraph separator, embeddings and overrides, narrow no-break space.
        | 0x2028..=0x202f
        // Mathematical space, word joiner, invisible operators, isolates, deprecated format characters.
        | 0x205f..=0x206f
        // Braille blank, ideographic space, Hangul filler.
        | 0x2800 | 0x3000 | 0x3164
        // Private use, variation selectors but 15 and 16.
        | 0xe000..=0xf8ff | 0xfe00..=0xfe0d
        // Noncharacters, byte order mark, halfwidth filler, interlinear annotation, object replacement.
        | 0xfdd0..=0xfdef | 0xfeff | 0xffa0 | 0xfff0..=0xfffc
        // Kaithi number signs, Egyptian format controls, shorthand and musical controls, null notehead.
        | 0x110bd | 0x110cd | 0x13430..=0x1343f | 0x1bca0..=0x1bca3 | 0x1d159 | 0x1d173..=0x1d17a
        // Tags, the remaining variation selectors, the rest of that ignorable block.
        | 0xe0000..=0xe0fff
        // Supplementary private use.
        | 0xf_0000..=0x10_ffff => true,
        code => code & 0xfffe == 0xfffe,
    }
}

/// Characters that emoji sequences are made of, by block: a superset that holds only visible symbols.
fn is_pictographic(c: char) -> bool {
    matches!(c as u32,
        0xa9 | 0xae | 0x203c | 0x2049 | 0x2122 | 0x2139 | 0x2194..=0x21aa | 0x231a..=0x23ff | 0x24c2
        | 0x25aa..=0x25fe | 0x2600..=0x27bf | 0x2934..=0x2935 | 0x2b05..=0x2b55 | 0x3030 | 0x303d
        | 0x3297 | 0x3299 | 0x1f000..=0x1faff)
}

/// What the next character would attach to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    /// Nothing of this text: its start, a line break, or a code we put there.
    Nothing,
    /// An ordinary character.
    Base(char),
    /// A pictograph followed by variation selector 16.
    Presented,
    /// A pictograph followed by a joiner.
    Joined,
}

impl Before {
    fn joins(self) -> bool {
        match self {
            Before::Nothing | Before::Joined => false,
            Before::Base(c) => is_pictographic(c),
            Before::Presented => true,
        }
    }
}

fn needs_no_work(text: &str) -> bool {
    text.bytes()
        .all(|byte| byte == b'\n' || (byte.is_ascii() && !byte.is_ascii_control()))
}

fn reveal_with(text: &str, newlines: Newlines) -> Cow<'_, str> {
    if needs_no_work(text) && (newlines == Newlines::Keep || !text.contains('\n')) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    let mut before = Before::Nothing;
    let mut marks = 0_usize;
    let mut left_out = 0_usize;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let next = chars.peek().copied();
        let combining = UnicodeWidthChar::width(c) == Some(0) && !width::is_sound_mark(c);
        if left_out > 0 && (!combining || is_hidden(c)) {
            close_marks(&mut out, &mut left_out);
            before = Before::Nothing;
        }
        if c == '\n' {
            out.push(match newlines {
                Newlines::Keep => '\n',
                Newlines::Show if ascii::only() => '|',
                Newlines::Show => '␊',
            });
            (before, marks) = (Before::Nothing, 0);
        } else if c == '\t' {
            out.push_str(TAB);
            (before, marks) = (Before::Base(' '), 0);
        } else if is_hidden(c) {
            code(&mut out, c);
            (before, marks) = (Before::Nothing, 0);
        } else if c == ZERO_WIDTH_JOINER {
            if before.joins() && next.is_some_and(is_pictographic) {
                out.push(c);
                before = Before::Joined;
            } else {
                code(&mut out, c);
                (before, marks) = (Before::Nothing, 0);
            }
        } else if matches!(c, '\u{fe0e}' | '\u{fe0f}') {
            if selects(before, next) {
                out.push(c);
                before = Before::Presented;
            } else {
                code(&mut out, c);
                (before, marks) = (Before::Nothing, 0);
            }
        } else if combining {
            if before == Before::Nothing || !attaches(&out, c) {
                code(&mut out, c);
                (before, marks) = (Before::Nothing, 0);
            } else if marks < MAX_MARKS {
                out.push(c);
                marks += 1;
            } else {
                left_out += 1;
            }
        } else {
            out.push(c);
            (before, marks) = (Before::Base(c), 0);
        }
    }
    close_marks(&mut out, &mut left_out);
    if out == text {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(out)
    }
}

/// Whether a variation selector 15 or 16 does something here: after a pictograph or in a keycap.
fn selects(before: Before, next: Option<char>) -> bool {
    match before {
        Before::Nothing | Before::Presented | Before::Joined => false,
        Before::Base(c) => {
            is_pictographic(c)
                || (matches!(c, '0'..='9' | '#' | '*') && next == Some(ENCLOSING_KEYCAP))
        }
    }
}

/// Whether a character without a width of its own becomes part of the last cluster. One that does not
/// (a lone Hangul vowel) would be a cluster of no width, and vanish.
fn attaches(out: &str, c: char) -> bool {
    let Some(last) = out.chars().next_back() else {
        return false;
    };
    let pair: String = [last, c].into_iter().collect();
    pair.graphemes(true).count() == 1
}

fn code(out: &mut String, c: char) {
    // Writing to a string cannot fail.
    let _ = write!(out, "<U+{:04X}>", c as u32);
}

fn close_marks(out: &mut String, left_out: &mut usize) {
    if *left_out > 0 {
        let _ = write!(out, "<+{left_out} marks>");
        *left_out = 0;
    }
}
