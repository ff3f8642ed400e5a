//! Aligned tables. Cells hold revealed text, one line each; the last column is not padded.

use unicode_width::UnicodeWidthStr as _;

use crate::cli::exit::Failure;
use crate::cli::terminal::Terminal;

/// Writes a table; with no rows, the word for "nothing".
pub fn print(
    terminal: &mut Terminal<'_>,
    heads: &[&str],
    rows: &[Vec<String>],
    nothing: &str,
) -> Result<(), Failure> {
    if rows.is_empty() {
        return terminal.note(nothing);
    }
    let widths: Vec<usize> = heads
        .iter()
        .enumerate()
        .map(|(column, head)| {
            rows.iter()
                .filter_map(|row| row.get(column))
                .map(|cell| cell.width())
                .fold(head.width(), usize::max)
        })
        .collect();
    let heads: Vec<String> = heads.iter().map(|head| (*head).to_owned()).collect();
    for row in std::iter::once(&heads).chain(rows) {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            line.push_str(cell);
            if column + 1 < row.len() {
                let width = widths.get(column).copied().unwrap_or(0);
                line.extend(std::iter::repeat_n(
                    ' ',
                    width.saturating_sub(cell.width()) + 2,
                ));
            }
        }
        terminal.line(line.trim_end())?;
    }
    Ok(())
}
