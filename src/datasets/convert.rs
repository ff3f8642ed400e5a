//! A file of rows becomes a Parquet file: read once to find what its columns are, and once to write them.

use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use crate::datasets::column_guess::ColumnGuess;
use crate::datasets::conversion::{Converted, Input};
use crate::datasets::csv_rows::{self, CsvFacts, CsvFormat};
use crate::datasets::encoding::{self, TextFormat, TextReader};
use crate::datasets::error::DatasetError;
use crate::datasets::json_rows::{self, JsonColumns};
use crate::datasets::parquet_file::{Columns, DatasetWriter};
use crate::datasets::rows::{Cell, RowSink, column_names};
use crate::protocol::dataset::{DatasetColumn, grouped};

/// Bytes of a MiB.
const MIB: u64 = 1024 * 1024;

/// Makes a Parquet file of a file; `output` must not exist. It is durable when this returns; where this fails, what is
/// there is the caller's to remove.
pub fn convert(input: Input<'_>, output: &Path) -> Result<Converted, DatasetError> {
    let mut file = File::open(input.path)?;
    let size = file.metadata()?.len();
    if size == 0 {
        return Err(DatasetError::refused("the file is empty"));
    }
    if size > input.max_bytes {
        return Err(DatasetError::refused(format!(
            "the file has {} MiB, and at most {} MiB become a dataset: send a part of it, or raise `[datasets] max_mib`",
            size.div_ceil(MIB),
            input.max_bytes / MIB
        )));
    }
    let text = encoding::detect(&mut file)?;
    let source = Source {
        file,
        text,
        name: input.name,
    };
    let shape = source.shape()?;
    let mut guesses = Guesses::default();
    let first = source.read(&shape, &mut guesses)?;
    let raw = match &shape {
        Shape::Csv(format) => {
            let mut raw = format.header.clone().unwrap_or_default();
            raw.resize(raw.len().max(first.csv.width), String::new());
            raw
        }
        Shape::Json => first.names.clone(),
    };
    if raw.is_empty() {
        return Err(DatasetError::refused("it has no columns"));
    }
    let (names, renamed) = column_names(&raw);
    guesses.columns.resize(names.len(), ColumnGuess::default());
    let columns: Vec<DatasetColumn> = names
        .into_iter()
        .zip(&guesses.columns)
        .map(|(name, guess)| DatasetColumn {
            name,
            kind: guess.kind(),
        })
        .collect();
    let out = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(output)?;
    let mut writer = Writer {
        columns: Columns::new(&columns),
        file: DatasetWriter::new(out, &columns)?,
    };
    source.read(&shape, &mut writer)?;
    writer.flush()?;
    let written = writer.file.finish()?;
    Ok(Converted {
        rows: guesses.rows,
        notes: notes(text, &shape, &first, renamed, guesses.rows),
        columns,
        bytes: written.bytes,
        sha256: written.sha256,
    })
}

/// How rows are written.
enum Shape {
    Csv(CsvFormat),
    Json,
}

/// What reading found.
#[derive(Default)]
struct Found {
    csv: CsvFacts,
    names: Vec<String>,
    nuls: u64,
    replaced: bool,
}

struct Source<'a> {
    file: File,
    text: TextFormat,
    name: &'a str,
}

impl Source<'_> {
    fn reader(&self) -> Result<TextReader, DatasetError> {
        Ok(TextReader::new(&self.file, self.text)?)
    }

    fn shape(&self) -> Result<Shape, DatasetError> {
        let end = self
            .name
            .rsplit_once('.')
            .map(|(_, end)| end.to_ascii_lowercase());
        let by_name = match end.as_deref() {
            Some("json" | "jsonl" | "ndjson") => Some(true),
            Some("csv" | "tsv" | "tab") => Some(false),
            Some(_) | None => None,
        };
        let is_json = match by_name {
            Some(is_json) => is_json,
            None => {
                let mut head = Vec::new();
                self.reader()?.take(4096).read_to_end(&mut head)?;
                matches!(head.trim_ascii_start().first(), Some(b'[' | b'{'))
            }
        };
        if is_json {
            return Ok(Shape::Json);
        }
        csv_rows::detect(self.name, || self.reader()).map(Shape::Csv)
    }

    fn read(&self, shape: &Shape, sink: &mut dyn RowSink) -> Result<Found, DatasetError> {
        let mut reader = self.reader()?;
        let mut found = Found::default();
        match shape {
            Shape::Csv(format) => found.csv = csv_rows::read(&mut reader, format, sink)?,
            Shape::Json => {
                let mut columns = JsonColumns::default();
                json_rows::read(&mut reader, &mut columns, sink)?;
                found.names = columns.names;
            }
        }
        found.nuls = reader.nuls;
        found.replaced = reader.replaced;
        Ok(found)
    }
}

/// Finds what the columns are.
#[derive(Default)]
struct Guesses {
    columns: Vec<ColumnGuess>,
    rows: u64,
}

impl RowSink for Guesses {
    fn cell(&mut self, column: usize, cell: Cell<'_>) {
        if column >= self.columns.len() {
            self.columns.resize(column + 1, ColumnGuess::default());
        }
        self.columns[column].see(&cell);
    }

    fn end_row(&mut self) -> Result<(), DatasetError> {
        self.rows += 1;
        Ok(())
    }
}

/// Writes the rows.
struct Writer {
    columns: Columns,
    file: DatasetWriter,
}

impl Writer {
    fn flush(&mut self) -> Result<(), DatasetError> {
        self.file.write(&mut self.columns)
    }
}

impl RowSink for Writer {
    fn cell(&mut self, column: usize, cell: Cell<'_>) {
        self.columns.put(column, &cell);
    }

    fn end_row(&mut self) -> Result<(), DatasetError> {
        self.columns.end_row();
        if self.columns.is_full() {
            self.flush()?;
        }
        Ok(())
    }
}

/// What was found and changed, in words.
fn notes(text: TextFormat, shape: &Shape, found: &Found, renamed: bool, rows: u64) -> Vec<String> {
    let mut notes = Vec::new();
    if !text.is_utf8() {
        notes.push(format!("encoding {}", text.name()));
    }
    if let Shape::Csv(format) = shape {
        match format.delimiter {
            b',' => {}
            b'\t' => notes.push("delimiter tab".to_owned()),
            other => notes.push(format!("delimiter {}", char::from(other))),
        }
        if format.header.is_none() {
            notes.push("no names in the first row".to_owned());
        }
        let count = |number: u64, what: &str| {
            let plural = if number == 1 { "row" } else { "rows" };
            format!("{} {what} {plural}", grouped(number))
        };
        if found.csv.short > 0 {
            notes.push(format!("{} filled", count(found.csv.short, "short")));
        }
        if found.csv.long > 0 {
            let width = format.header.as_ref().map_or(0, Vec::len);
            let more = found.csv.width.saturating_sub(width);
            let columns = if more == 1 { "column" } else { "columns" };
            let long = count(found.csv.long, "long");
            notes.push(if format.header.is_some() {
                format!("{long}: {more} {columns} added")
            } else {
                long
            });
        }
    }
    if renamed {
        notes.push("names of columns made unique and plain".to_owned());
    }
    if found.nuls > 0 {
        notes.push(format!("{} NUL characters left out", grouped(found.nuls)));
    }
    if found.replaced {
        notes.push("broken characters replaced".to_owned());
    }
    if rows == 0 {
        notes.push("names only, no rows".to_owned());
    }
    notes
}
