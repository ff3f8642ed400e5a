//! One value of a table as it is compared, counted and shown.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use parquet::data_type::ByteArray;
use serde_json::Value;

use crate::datasets::cell;

/// A value. Values of one column are of one kind, or missing.
#[derive(Debug, Clone)]
pub enum Datum {
    /// There is none.
    Missing,
    /// A whole number.
    Integer(i64),
    /// A finite number.
    Number(f64),
    /// True or false.
    Boolean(bool),
    /// Days since 1970.
    Date(i32),
    /// Microseconds since 1970 without a zone.
    Datetime(i64),
    /// Microseconds since 1970 in UTC.
    Timestamp(i64),
    /// UTF-8.
    Text(ByteArray),
}

impl Datum {
    /// Whether there is no value.
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Missing)
    }

    /// The text of a text.
    pub fn text(bytes: &ByteArray) -> &str {
        bytes.as_utf8().unwrap_or_default()
    }

    /// The same without the page that it was read from, which it would keep in memory.
    pub fn detached(&self) -> Self {
        match self {
            Self::Text(bytes) => Self::Text(ByteArray::from(bytes.data())),
            other => other.clone(),
        }
    }

    /// The number of a number.
    pub fn as_number(&self) -> Option<f64> {
        match self {
            Self::Integer(number) => Some(*number as f64),
            Self::Number(number) => Some(*number),
            Self::Missing
            | Self::Boolean(_)
            | Self::Date(_)
            | Self::Datetime(_)
            | Self::Timestamp(_)
            | Self::Text(_) => None,
        }
    }

    /// As JSON; days and moments as ISO texts.
    pub fn to_json(&self) -> Value {
        match self {
            Self::Missing => Value::Null,
            Self::Integer(number) => Value::from(*number),
            Self::Number(number) => Value::from(*number),
            Self::Boolean(is) => Value::Bool(*is),
            Self::Date(days) => Value::String(cell::date_text(*days)),
            Self::Datetime(micros) => Value::String(cell::datetime_text(*micros)),
            Self::Timestamp(micros) => Value::String(format!("{}Z", cell::datetime_text(*micros))),
            Self::Text(bytes) => Value::String(Self::text(bytes).to_owned()),
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Integer(_) | Self::Number(_) => 0,
            Self::Boolean(_) => 1,
            Self::Date(_) => 2,
            Self::Datetime(_) => 3,
            Self::Timestamp(_) => 4,
            Self::Text(_) => 5,
            Self::Missing => 6,
        }
    }
}

/// Compares a whole number with one that may have a fraction, without losing a digit of either.
fn integer_with_number(integer: i64, number: f64) -> Ordering {
    // Every whole number below these is one of 64 bits.
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if number >= LIMIT {
        return Ordering::Less;
    }
    if number < -LIMIT {
        return Ordering::Greater;
    }
    let whole = number.trunc() as i64;
    let fraction = number - number.trunc();
    integer
        .cmp(&whole)
        .then_with(|| 0.0.partial_cmp(&fraction).unwrap_or(Ordering::Equal))
}

impl Ord for Datum {
    /// What is missing comes last.
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Integer(left), Self::Integer(right))
            | (Self::Datetime(left), Self::Datetime(right))
            | (Self::Timestamp(left), Self::Timestamp(right)) => left.cmp(right),
            (Self::Number(left), Self::Number(right)) => {
                // A zero has no sign here.
                (left + 0.0).total_cmp(&(right + 0.0))
            }
            (Self::Integer(left), Self::Number(right)) => integer_with_number(*left, *right),
            (Self::Number(left), Self::Integer(right)) => {
                integer_with_number(*right, *left).reverse()
            }
            (Self::Boolean(left), Self::Boolean(right)) => left.cmp(right),
            (Self::Date(left), Self::Date(right)) => left.cmp(right),
            (Self::Text(left), Self::Text(right)) => left.data().cmp(right.data()),
            (Self::Missing, Self::Missing) => Ordering::Equal,
            (left, right) => left.rank().cmp(&right.rank()),
        }
    }
}

impl PartialOrd for Datum {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Datum {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Datum {}

impl Hash for Datum {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            Self::Missing => state.write_u8(0),
            Self::Integer(number) | Self::Datetime(number) | Self::Timestamp(number) => {
                state.write_i64(*number);
            }
            Self::Number(number) => state.write_u64((number + 0.0).to_bits()),
            Self::Boolean(is) => state.write_u8(1 + u8::from(*is)),
            Self::Date(days) => state.write_i32(*days),
            Self::Text(bytes) => {
                state.write(bytes.data());
                state.write_u8(0xff);
            }
        }
    }
}
