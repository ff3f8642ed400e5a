//! `list_datasets`, `describe_dataset` and `query_dataset`: tables that people sent, without a program.
//!
//! The tools know no store: the engine says which datasets a conversation has. They only read.

use std::fmt::Write as _;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};

use crate::protocol::dataset::{
    Dataset, DatasetDescription, DatasetQuery, DatasetRows, MAX_ROWS, grouped,
};
use crate::protocol::enums::{Access, Effect};
use crate::tools::output::{MAX_RESULT, first};
use crate::tools::read_file::{read_outcome, reading, text};
use crate::tools::tool::{
    Plan, PrepareError, Tool, ToolContext, ToolHost, ToolOutcome, ToolSpec, arguments,
};

/// Longest cell that a model reads, in characters.
const CELL_CHARS: usize = 200;
/// Most columns of a description.
const MAX_DESCRIBED: usize = 200;
/// Most columns of its first rows.
const MAX_SAMPLED: usize = 30;

/// What a tool asks of the tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Question {
    List,
    Describe,
    Query,
}

/// A tool that reads tables.
pub struct DatasetTool {
    spec: ToolSpec,
    question: Question,
}

impl DatasetTool {
    fn new(name: &'static str, question: Question, about: &'static str, schema: Value) -> Self {
        Self {
            spec: ToolSpec {
                name: name.into(),
                description: about.into(),
                input_schema: schema,
                access: Access::ReadLocal,
                effect: Effect::ReadOnly,
                max_duration: Duration::from_secs(60),
                key_lifetime: None,
                cacheable: None,
            },
            question,
        }
    }

    /// All of them.
    pub fn all() -> [Self; 3] {
        let name = json!({"type": "string", "minLength": 1});
        let names = json!({"type": "array", "items": {"type": "string"}});
        [
            Self::new(
                "list_datasets",
                Question::List,
                "List the tables that people sent here.",
                json!({"type": "object", "properties": {}, "additionalProperties": false}),
            ),
            Self::new(
                "describe_dataset",
                Question::Describe,
                "Columns, types, ranges and first rows of a table.",
                arguments!(["name"], {
                    "name": name
                }),
            ),
            Self::new(
                "query_dataset",
                Question::Query,
                "Filter, group and aggregate a table.",
                arguments!(["name"], {
                    "name": name,
                    "select": names,
                    "where": {"type": "array", "description": "all must hold", "items": {
                        "type": "object",
                        "properties": {
                            "column": {"type": "string"},
                            "op": {"type": "string", "enum": ["=", "!=", "<", "<=", ">", ">=", "contains", "in", "is_null"]},
                            "value": {"description": "dates as ISO text, a list for in"}
                        },
                        "required": ["column", "op"],
                        "additionalProperties": false
                    }},
                    "group_by": names,
                    "aggregate": {"type": "array", "items": {
                        "type": "object",
                        "properties": {
                            "fn": {"type": "string", "enum": ["count", "sum", "min", "max", "avg", "median", "count_distinct"]},
                            "column": {"type": "string"},
                            "as": {"type": "string"}
                        },
                        "required": ["fn"],
                        "additionalProperties": false
                    }},
                    "order_by": {"type": "string", "description": "a column of the answer"},
                    "descending": {"type": "boolean"},
                    "limit": {"type": "integer", "minimum": 1, "maximum": MAX_ROWS, "description": "default 50"}
                }),
            ),
        ]
    }

    async fn answer(&self, host: &dyn ToolHost, args: &Value) -> Result<String, String> {
        let name = text(args, "name").unwrap_or_default();
        match self.question {
            Question::List => Ok(listed(&host.datasets().await?)),
            Question::Describe => Ok(described(&host.describe_dataset(name).await?)),
            Question::Query => {
                let rows = host.query_dataset(name, query(args)?).await?;
                Ok(answered(&rows))
            }
        }
    }
}

/// The question that the arguments ask.
fn query(args: &Value) -> Result<DatasetQuery, String> {
    let mut fields = args.clone();
    if let Some(fields) = fields.as_object_mut() {
        fields.remove("name");
        // JSON Schema counts 20.0 as an integer.
        if let Some(limit) = fields.get("limit").and_then(Value::as_f64) {
            fields.insert("limit".to_owned(), Value::from(limit as u32));
        }
    }
    serde_json::from_value(fields).map_err(|error| format!("the question makes no sense: {error}"))
}

fn listed(all: &[Dataset]) -> String {
    if all.is_empty() {
        return "there are no datasets here".to_owned();
    }
    let lines = all.iter().map(|dataset| {
        let notes = match dataset.notes.as_slice() {
            [] => String::new(),
            notes => format!(" ({})", notes.join(", ")),
        };
        format!("{}; from {}{notes}", dataset.line(), dataset.source)
    });
    bounded(lines.collect::<Vec<_>>().join("\n"))
}

fn described(description: &DatasetDescription) -> String {
    let DatasetDescription {
        dataset,
        columns,
        sample,
    } = description;
    let mut out = format!(
        "{}: {} rows, {} columns; from {}\n",
        dataset.name,
        grouped(dataset.rows),
        columns.len(),
        dataset.source
    );
    for note in &dataset.notes {
        let _ = writeln!(out, "{note}");
    }
    let heads = ["column", "type", "missing", "distinct", "min", "max"];
    head(&mut out, &heads.map(str::to_owned));
    for column in columns.iter().take(MAX_DESCRIBED) {
        let end = |value: &Option<Value>| value.as_ref().map_or_else(String::new, cell);
        row(
            &mut out,
            &[
                cell(&Value::String(column.name.clone())),
                column.kind.to_string(),
                column.missing.to_string(),
                column.distinct.to_string(),
                end(&column.min),
                end(&column.max),
            ],
        );
    }
    if columns.len() > MAX_DESCRIBED {
        let _ = writeln!(out, "… {} more columns", columns.len() - MAX_DESCRIBED);
    }
    if !sample.is_empty() {
        out.push_str("\nFirst rows:\n");
        let names = columns.iter().take(MAX_SAMPLED);
        let names = names.map(|column| cell(&Value::String(column.name.clone())));
        head(&mut out, &names.collect::<Vec<_>>());
        for values in sample {
            let cells: Vec<String> = values.iter().take(MAX_SAMPLED).map(cell).collect();
            row(&mut out, &cells);
        }
    }
    bounded(out)
}

fn answered(rows: &DatasetRows) -> String {
    let mut out = String::new();
    let names = rows.columns.iter();
    let names = names.map(|column| cell(&Value::String(column.name.clone())));
    head(&mut out, &names.collect::<Vec<_>>());
    let mut shown = 0;
    for values in &rows.rows {
        let cells: Vec<String> = values.iter().map(cell).collect();
        row(&mut out, &cells);
        shown += 1;
        if out.len() > MAX_RESULT - 2048 {
            break;
        }
    }
    let _ = write!(
        out,
        "\n{shown} of {} rows shown; {} of {} rows of the table fit",
        grouped(rows.total),
        grouped(rows.matched),
        grouped(rows.scanned)
    );
    bounded(out)
}

fn head(out: &mut String, names: &[String]) {
    row(out, names);
    row(out, &vec!["---".to_owned(); names.len()]);
}

fn row(out: &mut String, cells: &[String]) {
    let _ = writeln!(out, "| {} |", cells.join(" | "));
}

/// A value as a cell of a Markdown table: one line, no bar that ends it.
fn cell(value: &Value) -> String {
    let text = match value {
        Value::Null => return String::new(),
        Value::String(text) => text.clone(),
        plain => plain.to_string(),
    };
    let mut cell = String::new();
    for (at, c) in text.chars().enumerate() {
        match c {
            _ if at == CELL_CHARS => {
                cell.push('…');
                break;
            }
            '|' => cell.push_str("\\|"),
            c if c.is_control() => cell.push(' '),
            c => cell.push(c),
        }
    }
    cell
}

fn bounded(text: String) -> String {
    let kept = first(&text, MAX_RESULT);
    if kept.len() == text.len() {
        return text;
    }
    format!("{kept}\n[… {} bytes left out …]", text.len() - kept.len())
}

#[async_trait]
impl Tool for DatasetTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn is_offered(&self, has_datasets: bool) -> bool {
        has_datasets
    }

    fn prepare(&self, _context: &ToolContext<'_>, args: &Value) -> Result<Plan, PrepareError> {
        if self.question == Question::Query {
            query(args).map_err(PrepareError::Invalid)?;
        }
        Ok(reading())
    }

    async fn execute(&self, context: &ToolContext<'_>, args: &Value) -> ToolOutcome {
        read_outcome(self.answer(context.host, args).await)
    }
}
