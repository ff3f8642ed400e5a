//! What the cells of a column are, after all of them were seen: no cell that comes late is of another type.

use crate::datasets::cell;
use crate::datasets::rows::Cell;
use crate::protocol::enums::ColumnType;

const INTEGER: u8 = 1;
/// A whole number that a number with a fraction cannot hold exactly.
const LARGE: u8 = 2;
const NUMBER: u8 = 4;
const BOOLEAN: u8 = 8;
const DATE: u8 = 16;
const DATETIME: u8 = 32;
const TIMESTAMP: u8 = 64;
const TEXT: u8 = 128;

/// Whole numbers up to this are exact with a fraction too.
const EXACT: u64 = 1 << 53;

/// What was seen of a column.
#[derive(Debug, Clone, Copy, Default)]
pub struct ColumnGuess {
    seen: u8,
}

impl ColumnGuess {
    /// Looks at a cell.
    pub fn see(&mut self, cell: &Cell<'_>) {
        if self.seen & TEXT != 0 {
            return;
        }
        self.seen |= match cell {
            Cell::Missing => 0,
            Cell::Plain(text) => look(text.trim()),
            Cell::Text(text) => look_of_text(text),
            Cell::Integer(number) => of_integer(*number),
            Cell::Number(_) => NUMBER,
            Cell::Boolean(_) => BOOLEAN,
            Cell::Nested(_) => TEXT,
        };
    }

    /// What its cells are.
    pub fn kind(self) -> ColumnType {
        match self.seen {
            0 => ColumnType::Text,
            seen if seen & !(INTEGER | LARGE) == 0 => ColumnType::Integer,
            seen if seen & !(INTEGER | NUMBER) == 0 => ColumnType::Number,
            BOOLEAN => ColumnType::Boolean,
            DATE => ColumnType::Date,
            DATETIME => ColumnType::Datetime,
            TIMESTAMP => ColumnType::Timestamp,
            _ => ColumnType::Text,
        }
    }
}

fn of_integer(number: i64) -> u8 {
    if number.unsigned_abs() > EXACT {
        LARGE
    } else {
        INTEGER
    }
}

fn look(text: &str) -> u8 {
    match text.as_bytes() {
        [] => 0,
        [b'0'..=b'9' | b'-' | b'.', ..] => {
            if let Some(number) = cell::integer(text) {
                of_integer(number)
            } else if cell::number(text).is_some() {
                NUMBER
            } else {
                look_of_text(text)
            }
        }
        [b't' | b'T' | b'f' | b'F', ..] if cell::boolean(text).is_some() => BOOLEAN,
        [..] => TEXT,
    }
}

/// A text that was written as one: only what has no other way to be written is more.
fn look_of_text(text: &str) -> u8 {
    if cell::date(text).is_some() {
        return DATE;
    }
    match cell::datetime(text) {
        Some((_, false)) => DATETIME,
        Some((_, true)) => TIMESTAMP,
        None => TEXT,
    }
}

/// Whether a cell is a value, so that its row is no row of names.
pub fn is_value(text: &str) -> bool {
    look(text.trim()) & !(TEXT | BOOLEAN) != 0
}
