//! A dataset as a file again, a piece at a time.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use serde_json::Value;

use crate::datasets::datum::Datum;
use crate::datasets::error::DatasetError;
use crate::datasets::parquet_file::DatasetFile;
use crate::protocol::dataset::MAX_PART;
use crate::protocol::enums::DatasetFormat;

/// The bytes of a piece, counted from zero, and the number of the next one; none = it was the last.
pub fn export(
    path: &Path,
    format: DatasetFormat,
    piece: u64,
) -> Result<(Vec<u8>, Option<u64>), DatasetError> {
    match format {
        DatasetFormat::Parquet => {
            let mut file = File::open(path)?;
            let from = piece.saturating_mul(MAX_PART as u64);
            let size = file.metadata()?.len();
            file.seek(SeekFrom::Start(from))?;
            let mut bytes = Vec::new();
            file.take(MAX_PART as u64).read_to_end(&mut bytes)?;
            let is_last = from.saturating_add(MAX_PART as u64) >= size;
            Ok((bytes, (!is_last).then_some(piece + 1)))
        }
        DatasetFormat::Csv => {
            let file = DatasetFile::open(path)?;
            let group = usize::try_from(piece).unwrap_or(usize::MAX);
            let text = csv(&file, group)?;
            let is_last = group.saturating_add(1) >= file.groups();
            Ok((text, (!is_last).then_some(piece + 1)))
        }
    }
}

/// A group of rows as CSV; the first one has the names before it.
fn csv(file: &DatasetFile, group: usize) -> Result<Vec<u8>, DatasetError> {
    let mut out = Vec::new();
    if group == 0 {
        for (at, column) in file.columns.iter().enumerate() {
            if at > 0 {
                out.push(b',');
            }
            put(&mut out, &column.name);
        }
        out.push(b'\n');
    }
    if group >= file.groups() {
        return Ok(out);
    }
    let columns: Result<Vec<Vec<Datum>>, DatasetError> = (0..file.columns.len())
        .map(|column| file.read(group, column))
        .collect();
    let columns = columns?;
    for row in 0..file.group_rows(group) {
        let start = out.len();
        for (at, column) in columns.iter().enumerate() {
            if at > 0 {
                out.push(b',');
            }
            match &column[row] {
                Datum::Text(bytes) => put(&mut out, Datum::text(bytes)),
                other => match other.to_json() {
                    Value::Null => {}
                    Value::String(text) => out.extend_from_slice(text.as_bytes()),
                    plain => write!(out, "{plain}")?,
                },
            }
        }
        // A line without anything is no row to whoever reads it.
        if out.len() == start {
            out.extend_from_slice(b"\"\"");
        }
        out.push(b'\n');
    }
    Ok(out)
}

/// Writes a text, between quotes where it needs them.
fn put(out: &mut Vec<u8>, text: &str) {
    let needs = text.bytes().any(|byte| b",\"\r\n".contains(&byte))
        || text.starts_with(' ')
        || text.ends_with(' ');
    if !needs {
        out.extend_from_slice(text.as_bytes());
        return;
    }
    out.push(b'"');
    out.extend_from_slice(text.replace('"', "\"\"").as_bytes());
    out.push(b'"');
}
