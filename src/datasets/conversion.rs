//! What a conversion takes and gives.

use std::path::Path;

use crate::protocol::dataset::DatasetColumn;

/// What a file became.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Converted {
    /// Number of rows.
    pub rows: u64,
    /// Columns in order.
    pub columns: Vec<DatasetColumn>,
    /// What was found and changed, in words.
    pub notes: Vec<String>,
    /// Bytes of the Parquet file.
    pub bytes: u64,
    /// SHA-256 of the Parquet file, in hexadecimal digits.
    pub sha256: String,
}

/// A file that is to become a dataset.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    /// Where it is.
    pub path: &'a Path,
    /// Its name as its sender gave it: the end says what it is.
    pub name: &'a str,
    /// Most bytes.
    pub max_bytes: u64,
}
