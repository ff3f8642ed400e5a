//! Questions of datasets as people write them, and answers as they read them.

use serde_json::Value;

use crate::protocol::dataset::{
    Aggregate, Condition, DatasetDescription, DatasetQuery, DatasetRows, grouped,
};
use crate::protocol::enums::{AggregateFunction, Comparison};
use crate::text::untrusted::limit_line;

/// Columns of a cell.
const CELL: usize = 40;

/// `COLUMN OP VALUE`, as in `amount >= 10` or `city is_null`.
pub fn condition(text: &str) -> Result<Condition, String> {
    let wrong = || {
        format!(
            "`{text}` is no condition: expected COLUMN OP VALUE, with OP one of {}",
            Comparison::ALL
                .iter()
                .map(|op| op.as_str())
                .collect::<Vec<_>>()
                .join(" ")
        )
    };
    let words: Vec<&str> = text.split_whitespace().collect();
    let at = words
        .iter()
        .skip(1)
        .position(|word| word.parse::<Comparison>().is_ok())
        .ok_or_else(wrong)?
        + 1;
    let op: Comparison = words[at].parse().map_err(|_| wrong())?;
    let column = words[..at].join(" ");
    let rest = words[at + 1..].join(" ");
    let value = match op {
        Comparison::IsNull => match rest.as_str() {
            "" | "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            _ => return Err(wrong()),
        },
        Comparison::In => Value::Array(rest.split(',').map(|one| one.trim().into()).collect()),
        _ if rest.is_empty() => return Err(wrong()),
        _ => Value::String(rest),
    };
    Ok(Condition { column, op, value })
}

/// `FN [COLUMN] [as NAME]`, as in `count` or `sum amount as total`.
pub fn aggregate(text: &str) -> Result<Aggregate, String> {
    let (function, rest) = text
        .trim()
        .split_once(char::is_whitespace)
        .unwrap_or((text.trim(), ""));
    let function: AggregateFunction = function
        .parse()
        .map_err(|error| format!("`{text}`: {error}"))?;
    let rest = rest.trim();
    let (column, name) = match rest.split_once(" as ") {
        Some((column, name)) => (column, Some(name.trim().to_owned())),
        None => match rest.strip_prefix("as ") {
            Some(name) => ("", Some(name.trim().to_owned())),
            None => (rest, None),
        },
    };
    Ok(Aggregate {
        function,
        column: Some(column.trim().to_owned()).filter(|column| !column.is_empty()),
        name,
    })
}

/// A question in one line, its parts with `;` between them: `select A, B`, `where A > 1`, `group A, B`, `order A [desc]`,
/// `limit 20`, and what is computed, as in `sum A as total`.
pub fn question(line: &str) -> Result<DatasetQuery, String> {
    let names = |list: &str| list.split(',').map(|name| name.trim().to_owned()).collect();
    let mut query = DatasetQuery::default();
    for part in line
        .split(';')
        .map(str::trim)
        .filter(|part| !part.is_empty())
    {
        let (word, rest) = part.split_once(char::is_whitespace).unwrap_or((part, ""));
        let rest = rest.trim();
        match word {
            "select" => query.select = names(rest),
            "where" => query.conditions.push(condition(rest)?),
            "group" => query.group_by = names(rest.strip_prefix("by ").unwrap_or(rest)),
            "order" => {
                let rest = rest.strip_prefix("by ").unwrap_or(rest);
                let column = rest.strip_suffix(" desc");
                query.descending = column.is_some();
                query.order_by = Some(column.unwrap_or(rest).to_owned());
            }
            "limit" => {
                let limit = rest
                    .parse()
                    .map_err(|_| format!("`{rest}` is no number of rows"))?;
                query.limit = Some(limit);
            }
            _ => query.aggregate.push(aggregate(part)?),
        }
    }
    Ok(query)
}

/// A value in one line.
pub fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => limit_line(text, CELL),
        plain => plain.to_string(),
    }
}

/// Heads and rows of an answer.
pub fn table(rows: &DatasetRows) -> (Vec<String>, Vec<Vec<String>>) {
    let heads = rows
        .columns
        .iter()
        .map(|column| limit_line(&column.name, CELL));
    let cells = rows.rows.iter().map(|row| row.iter().map(cell).collect());
    (heads.collect(), cells.collect())
}

/// How much of everything an answer shows.
pub fn counts(rows: &DatasetRows) -> String {
    format!(
        "{} of {} rows; {} of {} rows of the dataset fit",
        rows.rows.len(),
        grouped(rows.total),
        grouped(rows.matched),
        grouped(rows.scanned)
    )
}

/// Heads of the columns of a description.
pub const COLUMN_HEADS: [&str; 6] = ["COLUMN", "TYPE", "MISSING", "DISTINCT", "MIN", "MAX"];

/// The columns of a description, a row each.
pub fn columns(description: &DatasetDescription) -> Vec<Vec<String>> {
    let end = |value: &Option<Value>| value.as_ref().map_or_else(String::new, cell);
    let row = |column: &crate::protocol::dataset::ColumnSummary| {
        vec![
            limit_line(&column.name, CELL),
            column.kind.to_string(),
            grouped(column.missing),
            grouped(column.distinct),
            end(&column.min),
            end(&column.max),
        ]
    };
    description.columns.iter().map(row).collect()
}

/// Heads and rows of the first rows.
pub fn sample(description: &DatasetDescription) -> (Vec<String>, Vec<Vec<String>>) {
    let heads = description.columns.iter();
    let heads = heads.map(|column| limit_line(&column.name, CELL));
    let rows = description.sample.iter();
    let rows = rows.map(|row| row.iter().map(cell).collect());
    (heads.collect(), rows.collect())
}
