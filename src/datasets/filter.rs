//! Which rows count.

use serde_json::Value;

use crate::datasets::cell;
use crate::datasets::datum::Datum;
use crate::datasets::error::DatasetError;
use crate::protocol::dataset::{Condition, DatasetColumn};
use crate::protocol::enums::{ColumnType, Comparison};

use parquet::data_type::ByteArray;

/// A condition on a column.
pub struct Filter {
    /// Place of the column.
    pub column: usize,
    test: Test,
}

enum Test {
    Compare(Comparison, Datum),
    In(Vec<Datum>),
    /// The text, in small letters.
    Contains(String),
    IsMissing(bool),
}

impl Filter {
    /// A condition whose column and value are checked.
    pub fn new(condition: &Condition, columns: &[DatasetColumn]) -> Result<Self, DatasetError> {
        let place = place(&condition.column, columns)?;
        let column = &columns[place];
        let value = &condition.value;
        let test = match condition.op {
            Comparison::IsNull => match value {
                Value::Null => Test::IsMissing(true),
                Value::Bool(is) => Test::IsMissing(*is),
                _ => return Err(DatasetError::refused("`is_null` takes true or false")),
            },
            Comparison::Contains => match value {
                Value::String(part) => Test::Contains(part.to_lowercase()),
                _ => return Err(DatasetError::refused("`contains` takes a text")),
            },
            Comparison::In => match value {
                Value::Array(values) => {
                    let values = values.iter().map(|value| constant(value, column));
                    Test::In(values.collect::<Result<_, _>>()?)
                }
                _ => return Err(DatasetError::refused("`in` takes a list of values")),
            },
            op @ (Comparison::Equal
            | Comparison::NotEqual
            | Comparison::Less
            | Comparison::LessOrEqual
            | Comparison::Greater
            | Comparison::GreaterOrEqual) => {
                if value.is_null() {
                    return Err(DatasetError::refused(format!(
                        "`{op}` needs a value: `is_null` finds cells without one"
                    )));
                }
                Test::Compare(op, constant(value, column)?)
            }
        };
        Ok(Self {
            column: place,
            test,
        })
    }

    /// Whether a value fits.
    pub fn fits(&self, value: &Datum) -> bool {
        if value.is_missing() {
            return matches!(self.test, Test::IsMissing(true));
        }
        match &self.test {
            Test::IsMissing(is) => !is,
            Test::In(values) => values.contains(value),
            Test::Contains(part) => match value {
                Datum::Text(bytes) => Datum::text(bytes).to_lowercase().contains(part),
                other => match other.to_json() {
                    Value::String(text) => text.to_lowercase().contains(part),
                    plain => plain.to_string().contains(part),
                },
            },
            Test::Compare(op, other) => {
                let order = value.cmp(other);
                match op {
                    Comparison::Equal => order.is_eq(),
                    Comparison::NotEqual => order.is_ne(),
                    Comparison::Less => order.is_lt(),
                    Comparison::LessOrEqual => order.is_le(),
                    Comparison::Greater => order.is_gt(),
                    Comparison::GreaterOrEqual => order.is_ge(),
                    Comparison::Contains | Comparison::In | Comparison::IsNull => false,
                }
            }
        }
    }
}

/// Place of a column; the error names the nearest one.
pub fn place(name: &str, columns: &[DatasetColumn]) -> Result<usize, DatasetError> {
    const SHOWN: usize = 30;
    if let Some(place) = columns.iter().position(|column| column.name == name) {
        return Ok(place);
    }
    let alike = |column: &&DatasetColumn| column.name.eq_ignore_ascii_case(name);
    let near = columns.iter().find(alike).or_else(|| {
        columns
            .iter()
            .map(|column| (strsim::jaro_winkler(&column.name, name), column))
            .max_by(|left, right| left.0.total_cmp(&right.0))
            .filter(|(similarity, _)| *similarity > 0.75)
            .map(|(_, column)| column)
    });
    let near = near.map_or_else(String::new, |column| {
        format!("; did you mean `{}`?", column.name)
    });
    let names: Vec<&str> = columns
        .iter()
        .take(SHOWN)
        .map(|column| column.name.as_str())
        .collect();
    let more = if columns.len() > SHOWN { " …" } else { "" };
    let name: String = name.chars().take(100).collect();
    Err(DatasetError::refused(format!(
        "there is no column `{name}`{near} Columns: {}{more}",
        names.join(", ")
    )))
}

/// A value to compare the cells of a column with.
fn constant(value: &Value, column: &DatasetColumn) -> Result<Datum, DatasetError> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(_) | Value::Bool(_) => value.to_string(),
        Value::Null | Value::Array(_) | Value::Object(_) => {
            return Err(DatasetError::refused(format!(
                "`{}` is compared with a text, a number, true or false",
                column.name
            )));
        }
    };
    let plain = text.trim();
    let (found, expected) = match column.kind {
        ColumnType::Text => (Some(Datum::Text(ByteArray::from(text.as_str()))), "a text"),
        ColumnType::Integer | ColumnType::Number => {
            let whole = cell::integer(plain).map(Datum::Integer);
            let real = || plain.parse().ok().filter(|number: &f64| number.is_finite());
            (whole.or_else(|| real().map(Datum::Number)), "a number")
        }
        ColumnType::Boolean => (cell::boolean(plain).map(Datum::Boolean), "true or false"),
        ColumnType::Date => {
            let day = plain.split(['T', ' ']).next().unwrap_or_default();
            (cell::date(day).map(Datum::Date), "a day, YYYY-MM-DD")
        }
        ColumnType::Datetime => (
            moment(plain).map(Datum::Datetime),
            "a time, YYYY-MM-DDTHH:MM:SS",
        ),
        ColumnType::Timestamp => (
            moment(plain).map(Datum::Timestamp),
            "a time, YYYY-MM-DDTHH:MM:SSZ",
        ),
    };
    found.ok_or_else(|| {
        let given: String = plain.chars().take(60).collect();
        DatasetError::refused(format!(
            "`{}` holds values of the type {}: `{given}` is not {expected}",
            column.name, column.kind
        ))
    })
}

/// Microseconds of a time, or of the beginning of a day.
fn moment(text: &str) -> Option<i64> {
    const DAY_MICROS: i64 = 24 * 3600 * 1_000_000;
    let of_day = || cell::date(text).map(|days| i64::from(days) * DAY_MICROS);
    cell::datetime(text)
        .map(|(micros, _)| micros)
        .or_else(of_day)
}
