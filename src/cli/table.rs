//! Lists: aligned tables for people, one JSON object a line for programs. Cells hold revealed text, one line each; the
//! last column is not padded.

use serde::Serialize;
use unicode_width::UnicodeWidthStr as _;

use crate::cli::exit::Failure;
use crate::cli::terminal::{Format, Terminal};
use crate::client::listing::TableRow;
use crate::protocol::snapshot::Page;

/// Writes items as a table or as JSON.
pub fn list<T: TableRow>(terminal: &mut Terminal<'_>, items: &[T]) -> Result<(), Failure> {
    rows(terminal, T::HEADS, T::NOTHING, items, TableRow::cells)
}

/// Writes items as a table of the cells that `cells` makes of each, or as JSON.
pub fn rows<T: Serialize>(
    terminal: &mut Terminal<'_>,
    heads: &[&str],
    nothing: &str,
    items: &[T],
    cells: impl Fn(&T) -> Vec<String>,
) -> Result<(), Failure> {
    match terminal.format {
        Format::Json => items.iter().try_for_each(|item| terminal.json(item)),
        Format::Human => {
            let rows: Vec<Vec<String>> = items.iter().map(cells).collect();
            print(terminal, heads, &rows, nothing)
        }
    }
}

/// Writes one row without its heads, in columns of these widths.
pub fn row<T: TableRow>(
    terminal: &mut Terminal<'_>,
    item: &T,
    widths: &[usize],
) -> Result<(), Failure> {
    terminal.show_line(item, || aligned(&item.cells(), widths))
}

/// The widths of the columns of these items.
pub fn widths<T: TableRow>(items: &[T]) -> Vec<usize> {
    let rows: Vec<Vec<String>> = items.iter().map(TableRow::cells).collect();
    widths_of(T::HEADS, &rows)
}

fn widths_of(heads: &[&str], rows: &[Vec<String>]) -> Vec<usize> {
    let column = |(column, head): (usize, &&str)| {
        rows.iter()
            .filter_map(|row| row.get(column))
            .map(|cell| cell.width())
            .fold(head.width(), usize::max)
    };
    heads.iter().enumerate().map(column).collect()
}

fn aligned(row: &[String], widths: &[usize]) -> String {
    let mut line = String::new();
    for (column, cell) in row.iter().enumerate() {
        line.push_str(cell);
        if column + 1 < row.len() {
            let width = widths.get(column).copied().unwrap_or(0);
            let gap = width.saturating_sub(cell.width()) + 2;
            line.extend(std::iter::repeat_n(' ', gap));
        }
    }
    line.trim_end().to_owned()
}

/// Writes one page; says where there are more.
pub fn page<T: TableRow>(terminal: &mut Terminal<'_>, page: &Page<T>) -> Result<(), Failure> {
    list(terminal, &page.items)?;
    match page.next_cursor {
        Some(_) => terminal.note(&format!(
            "there are more than these {}: --limit takes up to 500",
            page.items.len()
        )),
        None => Ok(()),
    }
}

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
    let widths = widths_of(heads, rows);
    let heads: Vec<String> = heads.iter().map(|head| (*head).to_owned()).collect();
    for row in std::iter::once(&heads).chain(rows) {
        terminal.line(&aligned(row, &widths))?;
    }
    Ok(())
}
