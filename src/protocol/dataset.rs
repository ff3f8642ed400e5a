//! Tables that people sent: what there is of them, what can be asked of one, and what comes back.

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

/// Most bytes of a part of an upload or an export.
pub const MAX_PART: usize = 4 * 1024 * 1024;
/// Most columns of a dataset.
pub const MAX_COLUMNS: usize = 2000;
/// Rows of an answer where nothing else is said.
pub const DEFAULT_ROWS: u32 = 50;
/// Most rows of an answer.
pub const MAX_ROWS: u32 = 1000;
/// Rows that a description shows.
pub const SAMPLE_ROWS: u32 = 5;

/// A column.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DatasetColumn {
    /// Its name, unique in its dataset: outside text.
    pub name: String,
    /// What its cells are.
    #[serde(rename = "type")]
    pub kind: ColumnType,
}

/// A table of a channel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Dataset {
    /// Its id.
    pub id: DatasetId,
    /// Whose agents can ask it.
    pub channel: String,
    /// Its name, unique in its channel: 1 to 64 of a-z, 0-9 and _.
    pub name: String,
    /// The name of the file that it was made of: outside text.
    pub source: String,
    /// Number of rows.
    pub rows: u64,
    /// Its columns, in order.
    pub columns: Vec<DatasetColumn>,
    /// Bytes of its Parquet file.
    pub bytes: u64,
    /// SHA-256 of its Parquet file, 64 hexadecimal digits.
    pub sha256: String,
    /// What was found and changed while it was made, in words: outside text.
    pub notes: Vec<String>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it goes; none = it stays.
    pub expires_at: Option<Timestamp>,
    /// Who sent it.
    pub uploaded_by: String,
    /// Whose text it holds when nobody here vouches for it; none = an operator sent it.
    pub taint: Option<String>,
}

/// What the cells of a column are like.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ColumnSummary {
    /// Its name: outside text.
    pub name: String,
    /// What its cells are.
    #[serde(rename = "type")]
    pub kind: ColumnType,
    /// Cells without a value.
    pub missing: u64,
    /// The smallest value; none = it has no value.
    pub min: Option<Value>,
    /// The largest value; none = it has no value.
    pub max: Option<Value>,
    /// Different values, about.
    pub distinct: u64,
}

/// A dataset, what is in its columns, and its first rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DatasetDescription {
    /// The dataset.
    pub dataset: Dataset,
    /// Its columns, in order.
    pub columns: Vec<ColumnSummary>,
    /// Its first rows, at most 5, a value for each column.
    pub sample: Vec<Vec<Value>>,
}

/// What a cell must be for its row to count.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Condition {
    /// Which column.
    pub column: String,
    /// How the cell is compared. A cell without a value fits nothing but `is_null`.
    pub op: Comparison,
    /// With what: a list for `in`; true or false for `is_null`, true where it is left out.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub value: Value,
}

/// One value for all rows of a group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Aggregate {
    /// What is computed.
    #[serde(rename = "fn")]
    pub function: AggregateFunction,
    /// Of which column; `count` counts rows without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<String>,
    /// Name of the column of the answer; default `FN_COLUMN`.
    #[serde(default, rename = "as", skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// The tool that makes a dataset a variable of a session's Python. It exists where Python does.
pub const LOAD_DATASET: &str = "load_dataset";

/// A question of a dataset.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DatasetQuery {
    /// Columns of the answer; none = all. Not with `group_by` or `aggregate`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub select: Vec<String>,
    /// All of them must hold.
    #[serde(default, rename = "where", skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// One row of the answer for each different set of values of these columns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub group_by: Vec<String>,
    /// What is computed of each group, or of all rows. `group_by` alone counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aggregate: Vec<Aggregate>,
    /// A column of the answer that it is sorted by; cells without a value come last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order_by: Option<String>,
    /// The largest first.
    #[serde(default)]
    pub descending: bool,
    /// Most rows of the answer (1 to 1000, default 50).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    pub limit: Option<u32>,
}

/// An answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DatasetRows {
    /// Its columns.
    pub columns: Vec<DatasetColumn>,
    /// Its rows, a value for each column: outside text.
    pub rows: Vec<Vec<Value>>,
    /// Rows of the answer without a limit.
    pub total: u64,
    /// Rows of the dataset that fit every condition.
    pub matched: u64,
    /// Rows of the dataset.
    pub scanned: u64,
}

/// A file on its way to become a dataset.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DatasetUpload {
    /// Its id.
    pub id: DatasetUploadId,
    /// Bytes that are here.
    pub received: u64,
    /// Most bytes of a file.
    pub max_bytes: u64,
}

/// A piece of a dataset on its way out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DatasetPart {
    /// The dataset.
    pub dataset: Dataset,
    /// The bytes; the pieces in order make the file.
    pub data: Base64Bytes,
    /// The number of the next piece; none = this was the last one.
    pub next: Option<u64>,
}

/// Bytes, as base64 where they are JSON.
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

/// What a file that came with a message can become a dataset by: the ends of names of tables.
pub fn is_table(name: &str) -> bool {
    let Some((_, end)) = name.rsplit_once('.') else {
        return false;
    };
    ["csv", "tsv", "tab", "json", "jsonl", "ndjson"].contains(&end.to_ascii_lowercase().as_str())
}

/// Longest name of a dataset, in bytes.
const NAME_BYTES: usize = 64;

/// A name as datasets have them: what is no letter or digit of ASCII becomes `_`.
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

/// The name that a dataset gets from the name of its file.
pub fn name_of_file(file: &str) -> String {
    let last = file.rsplit(['/', '\\']).next().unwrap_or_default();
    slug(last.rsplit_once('.').map_or(last, |(stem, _)| stem))
}

/// A number with its thousands apart.
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

/// So many of something, in words.
fn counted(number: u64, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {what}{plural}", grouped(number))
}

impl Dataset {
    /// Rows and columns in one line, as models and people read it: the names are outside text.
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
