//! Wraps text to a width in cells. Never splits a grapheme cluster and never loses a visible character.

use unicode_segmentation::UnicodeSegmentation;

use crate::text::width::{cluster_width, display_width};

/// The lines of `text` at a width of `width` cells (0 counts as 1).
///
/// Lines break at spaces; a word wider than the line breaks between clusters. Further lines of a wrapped
/// line start with its indentation, unless that would take more than half of the width. Spaces at a break
/// are dropped. A cluster wider than the width stands on a line of its own. Takes time linear in `text`.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let width = width.max(1);
    let mut lines = Vec::new();
    for line in text.split('\n') {
        wrap_line(line, width, &mut lines);
    }
    lines
}

fn wrap_line(line: &str, width: usize, lines: &mut Vec<String>) {
    if line.len() <= width && line.is_ascii() {
        lines.push(line.to_owned());
        return;
    }
    let content = line.trim_start_matches(' ');
    let leading = line.len() - content.len();
    let indent = if leading > width / 2 { 0 } else { leading };
    let mut open = Line::new(leading.min(width), indent, width);
    for piece in content.split_inclusive(' ') {
        let word = piece.trim_end_matches(' ');
        let spaces = piece.len() - word.len();
        let cells = display_width(word);
        if !word.is_empty() && open.cells + open.spaces + cells > width && open.has_words {
            lines.push(open.next());
        }
        open.add_spaces();
        if open.cells + cells > width {
            for cluster in word.graphemes(true) {
                let cells = cluster_width(cluster);
                if open.cells + cells > width && (open.has_words || open.cells > 0) {
                    lines.push(open.next());
                }
                open.push(cluster, cells);
            }
        } else if !word.is_empty() {
            open.push(word, cells);
        }
        open.spaces += spaces;
    }
    lines.push(open.text);
}

/// The line being filled.
struct Line {
    text: String,
    cells: usize,
    /// Spaces read but not written: they belong to the line only when a word follows on it.
    spaces: usize,
    has_words: bool,
    indent: usize,
    width: usize,
}

impl Line {
    fn new(leading: usize, indent: usize, width: usize) -> Self {
        Self {
            text: " ".repeat(leading),
            cells: leading,
            spaces: 0,
            has_words: false,
            indent,
            width,
        }
    }

    /// Writes the spaces that wait, as far as they fit.
    fn add_spaces(&mut self) {
        let spaces = if self.has_words {
            self.spaces.min(self.width.saturating_sub(self.cells))
        } else {
            0
        };
        self.text.extend(std::iter::repeat_n(' ', spaces));
        self.cells += spaces;
        self.spaces = 0;
    }

    fn push(&mut self, text: &str, cells: usize) {
        self.text.push_str(text);
        self.cells += cells;
        self.has_words = true;
    }

    /// Starts a new line and returns the full one.
    fn next(&mut self) -> String {
        let fresh = Line::new(self.indent, self.indent, self.width);
        std::mem::replace(self, fresh).text
    }
}
