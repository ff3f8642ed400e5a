//! How many terminal cells text takes. Nothing here looks at a terminal.
//!
//! The numbers are those the drawing library arrives at: per grapheme cluster, by `unicode-width`, one
//! more for each halfwidth voiced sound mark (terminals give those a cell), and zero for clusters with
//! control characters, which it drops.

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr};

/// Cells that one grapheme cluster takes.
pub fn cluster_width(cluster: &str) -> usize {
    if cluster.chars().any(char::is_control) {
        0
    } else {
        cluster.width() + cluster.chars().filter(|c| is_sound_mark(*c)).count()
    }
}

/// The most cells that some terminal gives a cluster of several characters, where terminals disagree: one that knows
/// no joined emoji, flag or variation selector draws each character by itself. None = they agree.
pub fn disputed_width(cluster: &str) -> Option<usize> {
    let mut chars = cluster.chars();
    if cluster.is_ascii() || chars.next().is_none() || chars.next().is_none() {
        return None;
    }
    let is_flag_half = |c: char| ('\u{1f1e6}'..='\u{1f1ff}').contains(&c);
    let apart: usize = cluster
        .chars()
        .map(|c| match c {
            c if is_flag_half(c) => 2,
            c => c.width().unwrap_or(0),
        })
        .sum();
    let together = cluster_width(cluster);
    (apart != together || cluster.chars().any(is_flag_half)).then(|| apart.max(together))
}

/// Halfwidth katakana voiced and semi-voiced sound marks: zero by `unicode-width`, one cell in terminals.
pub fn is_sound_mark(c: char) -> bool {
    matches!(c, '\u{ff9e}' | '\u{ff9f}')
}

/// Cells that a line takes. Line breaks count nothing, so measure lines, not paragraphs.
pub fn display_width(text: &str) -> usize {
    if text.is_ascii() {
        return text.bytes().filter(|byte| !byte.is_ascii_control()).count();
    }
    text.graphemes(true).map(cluster_width).sum()
}

/// The longest prefix of whole grapheme clusters that takes at most `max_cells`.
pub fn prefix_that_fits(text: &str, max_cells: usize) -> &str {
    let mut used = 0;
    for (at, cluster) in text.grapheme_indices(true) {
        used += cluster_width(cluster);
        if used > max_cells {
            return text.get(..at).unwrap_or_default();
        }
    }
    text
}
