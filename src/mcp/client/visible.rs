//! Takes out of a server's text for models what a person who reads it does not see. Pure.
//!
//! No output holds a control character but line breaks, nor a character that reorders, hides or draws nothing.

use std::borrow::Cow;

/// The text without what nobody sees. A tab and a space of another width become a space.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(|c| is_invisible(c) || is_blank(c)) {
        return Cow::Borrowed(text);
    }
    let kept = text.chars().filter(|c| !is_invisible(*c));
    Cow::Owned(kept.map(|c| if is_blank(c) { ' ' } else { c }).collect())
}

/// Whether a text holds what nobody sees.
pub fn hides(text: &str) -> bool {
    // A carriage return before a line break is how some systems end lines.
    text.replace("\r\n", "\n").contains(is_invisible)
}

fn is_blank(c: char) -> bool {
    matches!(
        c,
        '\t' | '\u{a0}' | '\u{1680}' | '\u{2000}'
            ..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}'
    )
}

fn is_invisible(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        _ if c.is_control() => true,
        // Soft hyphen, joiners, fillers, marks of direction, separators, embeddings, isolates, operators.
        '\u{ad}'
        | '\u{34f}'
        | '\u{61c}'
        | '\u{115f}'..='\u{1160}'
        | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{2800}'
        | '\u{3164}' => true,
        // Private use, variation selectors but 15 and 16, marks of byte order, annotations.
        '\u{e000}'..='\u{f8ff}'
        | '\u{fe00}'..='\u{fe0d}'
        | '\u{feff}'
        | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffc}' => true,
        // Shorthand and musical controls, tags and all of that block, private use.
        '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}'
        | '\u{f0000}'..='\u{10ffff}' => true,
        _ => false,
    }
}
