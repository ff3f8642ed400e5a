//! The boundary between outside text and the screen. Every string of the protocol that quotes somebody
//! outside goes through here; no view uses such a string raw.

use crate::text::{untrusted, width, wrap};

/// One line, everything hidden made visible, cut to `cells` with an ellipsis.
pub fn line(text: &str, cells: usize) -> String {
    // Shortening before revealing keeps a megabyte argument from being walked for a 30 cell column:
    // no revealed character is narrower than zero cells, so a generous prefix is always enough.
    let enough = text
        .char_indices()
        .nth(cells.saturating_mul(8).max(64))
        .map_or(text, |(end, _)| text.get(..end).unwrap_or(text));
    untrusted::limit_line(enough, cells)
}

/// One line in full.
pub fn whole_line(text: &str) -> String {
    untrusted::reveal_line(text).into_owned()
}

/// Everything hidden made visible; lines stay lines.
pub fn revealed(text: &str) -> String {
    untrusted::reveal(text).into_owned()
}

/// Several lines, wrapped to `cells`.
pub fn block(text: &str, cells: usize) -> Vec<String> {
    wrap::wrap(&untrusted::reveal(text), cells.max(1))
}

/// Columns a shown text takes.
pub fn width(text: &str) -> usize {
    width::display_width(text)
}

/// `text` cut or filled with spaces to exactly `cells` columns.
pub fn column(text: &str, cells: usize) -> String {
    let mut out = line(text, cells);
    let used = width(&out);
    out.extend(std::iter::repeat_n(' ', cells.saturating_sub(used)));
    out
}
