//! Datasets: tables that people sent, queries on them, and results.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::clock::Timestamp;
use crate::protocol::enums::{AggregateFunction, ColumnType, Comparison};
use crate::protocol::ids::{DatasetId, DatasetUploadId};
use crate::protocol::schema;

/// Most bytes of one part of an upload or export.
pub const MAX_PART: usize = 4 * 1024 * 1024;
/// Most columns of a dataset.
pub const MAX_COLUMNS: usize = 2000;
/// Default number of rows in a result.
pub const DEFAULT_ROWS: u32 = 50;
/// Most rows in a result.
pub const MAX_ROWS: u32 = 1000;
/// Number of sample rows in a description.
pub const SAMPLE_ROWS: u32 = 5;

/// A column of a dataset.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DatasetColumn {
    /// Column name, unique in its dataset: untrusted text.
    pub name: String,
    /// Type of its cells.
    #[serde(rename = "type")]
    pub kind: ColumnType,
}

/// A dataset of a channel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Dataset {
    /// Dataset id.
    pub id: DatasetId,
    /// Channel whose agents can query it.
    pub channel: String,
    /// Dataset name, unique in its channel: 1 to 64 of a-z, 0-9 and _.
    pub name: String,
    /// Name of the original file: untrusted text.
    pub source: String,
    /// Number of rows.
    pub rows: u64,
    /// Columns in order.
    pub columns: Vec<DatasetColumn>,
    /// Size of its Parquet file in bytes.
    pub bytes: u64,
    /// SHA-256 of its Parquet file, 64 hexadecimal digits.
    pub sha256: String,
    /// What the import found and changed, in words: untrusted text.
    pub notes: Vec<String>,
    /// When it was created.
    pub created_at: Timestamp,
    /// When the engine removes it; none = it stays.
    pub expires_at: Option<Timestamp>,
    /// Label of who sent it.
    pub uploaded_by: String,
    /// Origin of its content when it is untrusted; none = an operator sent it.
    pub taint: Option<String>,
}

/// Summary of the cells of a column.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ColumnSummary {
    /// Column name: untrusted text.
    pub name: String,
    /// Type of its cells.
    #[serde(rename = "type")]
    pub kind: ColumnType,
    /// Number of cells without a value.
    pub missing: u64,
    /// The smallest value; none = the column has no values.
    pub min: Option<Value>,
    /// The largest value; none = the column has no values.
    pub max: Option<Value>,
    /// Approximate number of distinct values.
    pub distinct: u64,
}

/// A dataset with a summary of its columns and its first rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DatasetDescription {
    /// The dataset.
    pub dataset: Dataset,
    /// Summaries of its columns, in order.
    pub columns: Vec<ColumnSummary>,
    /// The first rows, at most 5, with a value for each column.
    pub sample: Vec<Vec<Value>>,
}

/// A condition that a row must meet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Condition {
    /// Name of the column.
    pub column: String,
    /// The comparison. A cell without a value only matches `is_null`.
    pub op: Comparison,
    /// Value to compare with: a list for `in`; true or false for `is_null` (default true).
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub value: Value,
}

/// A value computed over all rows of a group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Aggregate {
    /// The function to compute.
    #[serde(rename = "fn")]
    pub function: AggregateFunction,
    /// The column; `count` without a column counts rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<String>,
    /// Name of the result column; default `FN_COLUMN`.
    #[serde(default, rename = "as", skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// The tool that loads a dataset into a variable of a session's Python. It exists where Python
/// does.
pub const LOAD_DATASET: &str = "load_dataset";

/// A query on a dataset.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DatasetQuery {
    /// Columns of the result; empty = all. Not with `group_by` or `aggregate`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub select: Vec<String>,
    /// Conditions that a row must meet, all of them.
    #[serde(default, rename = "where", skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// Columns to group by: one result row for each distinct set of their values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub group_by: Vec<String>,
    /// Values to compute for each group, or for all rows. `group_by` alone counts rows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aggregate: Vec<Aggregate>,
    /// Result column to sort by. Cells without a value come last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order_by: Option<String>,
    /// Whether the largest value comes first.
    #[serde(default)]
    pub descending: bool,
    /// Most rows in the result (1 to 1000, default 50).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    pub limit: Option<u32>,
}

/// The result of a query.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DatasetRows {
    /// Columns of the result.
    pub columns: Vec<DatasetColumn>,
    /// Rows of the result, with a value for each column: untrusted text.
    pub rows: Vec<Vec<Value>>,
    /// Number of result rows without the limit.
    pub total: u64,
    /// Number of dataset rows that meet every condition.
    pub matched: u64,
    /// Number of dataset rows.
    pub scanned: u64,
}

/// A file upload that becomes a dataset.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DatasetUpload {
    /// Upload id.
    pub id: DatasetUploadId,
    /// Bytes received so far.
    pub received: u64,
    /// Most bytes of a file.
    pub max_bytes: u64,
}

/// One part of a dataset export.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DatasetPart {
    /// The dataset.
    pub dataset: Dataset,
    /// The bytes. All parts in order make the file.
    pub data: Base64Bytes,
    /// Number of the next part; none = this is the last one.
    pub next: Option<u64>,
}

/// Bytes; base64 in JSON.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Base64Bytes(pub Vec<u8>);

impl Serialize for Base64Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&BASE64.encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for Base64Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        BASE64
            .decode(text.as_bytes())
            .map(Self)
            .map_err(|error| serde::de::Error::custom(format!("not base64: {error}")))
    }
}

impl JsonSchema for Base64Bytes {
    fn schema_name() -> Cow<'static, str> {
        "Base64Bytes".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schema::text("Bytes in base64.", "^[0-9A-Za-z+/]*={0,2}$")
    }
}

/// Whether a file that came with a message can become a dataset, judged by the ending of its name.
pub fn is_table(name: &str) -> bool {
    let Some((_, end)) = name.rsplit_once('.') else {
        return false;
    };
    ["csv", "tsv", "tab", "json", "jsonl", "ndjson"].contains(&end.to_ascii_lowercase().as_str())
}

/// Longest name of a dataset, in bytes.
const NAME_BYTES: usize = 64;

/// A valid dataset name: characters other than ASCII letters and digits become `_`.
pub fn slug(text: &str) -> String {
    let mut slug = String::new();
    for c in text.chars() {
        if slug.len() == NAME_BYTES {
            break;
        }
        if c.is_ascii_alphanumeric() {
            slug.push(c.to_ascii_lowercase());
        } else if !slug.is_empty() && !slug.ends_with('_') {
            slug.push('_');
        }
    }
    match slug.trim_end_matches('_') {
        "" => "data".to_owned(),
        plain => plain.to_owned(),
    }
}

/// The dataset name that follows from a file name.
pub fn name_of_file(file: &str) -> String {
    let last = file.rsplit(['/', '\\']).next().unwrap_or_default();
    slug(last.rsplit_once('.').map_or(last, |(stem, _)| stem))
}

/// A number with spaces between its thousands.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// A count with its noun, in words.
fn counted(number: u64, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {what}{plural}", grouped(number))
}

impl Dataset {
    /// Name, rows and columns in one line, for models and people: the names are untrusted text.
    pub fn line(&self) -> String {
        const SHOWN: usize = 20;
        let columns: Vec<String> = self
            .columns
            .iter()
            .take(SHOWN)
            .map(|column| format!("{} {}", column.name, column.kind))
            .collect();
        let more = match self.columns.len().saturating_sub(SHOWN) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        format!(
            "dataset {}: {}, {} ({}{more})",
            self.name,
            counted(self.rows, "row"),
            counted(self.columns.len() as u64, "column"),
            columns.join(", ")
        )
    }
}
