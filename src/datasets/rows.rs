//! What reads a table hands on: cell after cell, row after row.

use crate::datasets::error::DatasetError;

/// Most bytes of a row.
pub const MAX_ROW: usize = 1024 * 1024;

/// A cell as it stands in the file.
#[derive(Debug, Clone, Copy)]
pub enum Cell<'a> {
    /// It has no value.
    Missing,
    /// Written without saying what it is.
    Plain(&'a str),
    /// Written as a text.
    Text(&'a str),
    /// Written as a whole number.
    Integer(i64),
    /// Written as a number with a fraction.
    Number(f64),
    /// Written as true or false.
    Boolean(bool),
    /// A list or an object, as JSON.
    Nested(&'a str),
}

/// Who takes the cells of a table.
pub trait RowSink {
    /// The next cell of the row, of this column. A column comes at most once in a row.
    fn cell(&mut self, column: usize, cell: Cell<'_>);

    /// The row is over; columns that did not come have no value.
    fn end_row(&mut self) -> Result<(), DatasetError>;
}

/// Names as columns have them: one line, not empty, each once.
pub fn column_names(raw: &[String]) -> (Vec<String>, bool) {
    const LONGEST: usize = 100;
    let mut changed = false;
    let mut taken = std::collections::HashSet::new();
    let mut names = Vec::with_capacity(raw.len());
    for (at, raw) in raw.iter().enumerate() {
        let words: Vec<&str> = raw
            .split(|c: char| c.is_whitespace() || c.is_control())
            .filter(|word| !word.is_empty())
            .collect();
        let mut plain: String = words.join(" ").chars().take(LONGEST).collect();
        if plain.is_empty() {
            plain = format!("column_{}", at + 1);
        }
        let mut name = plain.clone();
        let mut copy = 1;
        while !taken.insert(name.clone()) {
            copy += 1;
            name = format!("{plain}_{copy}");
        }
        changed |= name != raw.trim();
        names.push(name);
    }
    (names, changed)
}
