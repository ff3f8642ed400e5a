//! Tables that people send: made into Parquet files, and asked.
//!
//! Nothing here knows whose a table is. Bytes from outside come in and are never trusted: no input makes this panic, and
//! memory stays bounded whatever its size. Without the feature `datasets` every function says that it is left out.

use std::path::Path;

use crate::protocol::dataset::DatasetColumn;

#[cfg(feature = "datasets")]
mod cell;
#[cfg(feature = "datasets")]
mod column_guess;
#[cfg(feature = "datasets")]
mod convert;
#[cfg(feature = "datasets")]
mod csv_rows;
#[cfg(feature = "datasets")]
mod datum;
#[cfg(feature = "datasets")]
mod describe;
#[cfg(feature = "datasets")]
mod encoding;
#[cfg(feature = "datasets")]
mod export;
#[cfg(feature = "datasets")]
mod filter;
#[cfg(feature = "datasets")]
mod groups;
#[cfg(feature = "datasets")]
mod json_rows;
#[cfg(feature = "datasets")]
mod parquet_file;
#[cfg(feature = "datasets")]
mod query;
#[cfg(feature = "datasets")]
mod rows;

#[cfg(not(feature = "datasets"))]
mod left_out;
#[cfg(not(feature = "datasets"))]
pub use left_out::{convert, describe, export, query};

#[cfg(feature = "datasets")]
pub use convert::convert;
#[cfg(feature = "datasets")]
pub use describe::describe;
#[cfg(feature = "datasets")]
pub use export::export;
#[cfg(feature = "datasets")]
pub use query::query;

/// Why there is no table, or no answer.
#[derive(Debug, thiserror::Error)]
pub enum DatasetError {
    /// What is given cannot be used. The message is for whoever gave it.
    #[error("{0}")]
    Refused(String),
    /// A file cannot be read or written.
    #[error(transparent)]
    File(#[from] std::io::Error),
    /// A file of ours is not as it was written.
    #[error("the file of the dataset is damaged: {0}")]
    Damaged(String),
}

impl DatasetError {
    /// What is given cannot be used.
    pub fn refused(why: impl Into<String>) -> Self {
        Self::Refused(why.into())
    }
}

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

/// Whether this program makes and asks datasets.
pub const fn is_built_in() -> bool {
    cfg!(feature = "datasets")
}
