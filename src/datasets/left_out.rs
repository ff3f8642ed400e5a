//! What a program without the feature `datasets` says.

use std::path::Path;

use serde_json::Value;

use crate::datasets::conversion::{Converted, Input};
use crate::datasets::error::DatasetError;
use crate::protocol::dataset::{ColumnSummary, DatasetColumn, DatasetQuery, DatasetRows};
use crate::protocol::enums::DatasetFormat;

fn left_out<T>() -> Result<T, DatasetError> {
    Err(DatasetError::refused(
        "this program is built without datasets: build it with the feature `datasets`",
    ))
}

/// Makes no dataset.
pub fn convert(_: Input<'_>, _: &Path) -> Result<Converted, DatasetError> {
    left_out()
}

/// Describes none.
pub fn describe(
    _: &Path,
    _: &[DatasetColumn],
) -> Result<(Vec<ColumnSummary>, Vec<Vec<Value>>), DatasetError> {
    left_out()
}

/// Writes none.
pub fn export(_: &Path, _: DatasetFormat, _: u64) -> Result<(Vec<u8>, Option<u64>), DatasetError> {
    left_out()
}

/// Asks none.
pub fn query(_: &Path, _: &DatasetQuery) -> Result<DatasetRows, DatasetError> {
    left_out()
}
