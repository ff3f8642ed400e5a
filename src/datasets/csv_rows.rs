//! Rows of CSV, whatever stands between their cells.

use std::io::{BufRead as _, BufReader, Read};

use csv_core::{ReadRecordResult, Reader, ReaderBuilder};

use crate::datasets::column_guess::is_value;
use crate::datasets::error::DatasetError;
use crate::datasets::rows::{Cell, MAX_ROW, RowSink};
use crate::protocol::dataset::MAX_COLUMNS;

/// What can stand between cells.
const DELIMITERS: [u8; 4] = *b",;\t|";
/// Bytes of a file that its delimiter is found in.
const SAMPLE: u64 = 64 * 1024;
/// Rows that are looked at for that.
const SAMPLE_ROWS: usize = 50;

/// How the rows of a file are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CsvFormat {
    /// What stands between cells.
    pub delimiter: u8,
    /// The names of the first row; none = it is a row as the others.
    pub header: Option<Vec<String>>,
}

/// What was found in the rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CsvFacts {
    /// Rows with fewer cells than the first.
    pub short: u64,
    /// Rows with more.
    pub long: u64,
    /// Cells of the longest row.
    pub width: usize,
}

/// Reads record after record into one buffer.
struct Records<R> {
    reader: Reader,
    input: BufReader<R>,
    output: Vec<u8>,
    ends: Vec<usize>,
}

impl<R: Read> Records<R> {
    fn new(input: R, delimiter: u8) -> Self {
        Self {
            reader: ReaderBuilder::new().delimiter(delimiter).build(),
            input: BufReader::with_capacity(64 * 1024, input),
            output: vec![0; 16 * 1024],
            ends: vec![0; 64],
        }
    }

    /// The text of the next record, and where each cell ends; none = there is no more.
    fn next(&mut self) -> Result<Option<(&str, &[usize])>, DatasetError> {
        let (mut text, mut cells) = (0, 0);
        loop {
            let input = self.input.fill_buf()?;
            let (result, read, written, ended) =
                self.reader
                    .read_record(input, &mut self.output[text..], &mut self.ends[cells..]);
            self.input.consume(read);
            text += written;
            cells += ended;
            match result {
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::OutputFull if self.output.len() >= MAX_ROW => {
                    return Err(DatasetError::refused(format!(
                        "the row that ends near line {} has more than {} MiB: is a quote not closed?",
                        self.reader.line(),
                        MAX_ROW >> 20
                    )));
                }
                ReadRecordResult::OutputFull => self.output.resize(self.output.len() * 2, 0),
                ReadRecordResult::OutputEndsFull if self.ends.len() > MAX_COLUMNS => {
                    return Err(too_wide());
                }
                ReadRecordResult::OutputEndsFull => self.ends.resize(self.ends.len() * 2, 0),
                ReadRecordResult::Record => {
                    let text = std::str::from_utf8(&self.output[..text])
                        .map_err(|error| DatasetError::refused(error.to_string()))?;
                    return Ok(Some((text, &self.ends[..cells])));
                }
                ReadRecordResult::End => return Ok(None),
            }
        }
    }
}

pub(super) fn too_wide() -> DatasetError {
    DatasetError::refused(format!(
        "it has more than {MAX_COLUMNS} columns, and a dataset has at most {MAX_COLUMNS}"
    ))
}

/// The cells of a record.
fn cells<'a>(text: &'a str, ends: &'a [usize]) -> impl Iterator<Item = &'a str> {
    let mut from = 0;
    ends.iter().map(move |end| {
        let cell = text.get(from..*end).unwrap_or_default();
        from = *end;
        cell
    })
}

/// Finds how the rows are written. `input` gives the file from its beginning each time.
pub fn detect<R: Read>(
    name: &str,
    input: impl Fn() -> Result<R, DatasetError>,
) -> Result<CsvFormat, DatasetError> {
    let is_tabbed = name
        .rsplit_once('.')
        .is_some_and(|(_, end)| end.eq_ignore_ascii_case("tsv") || end.eq_ignore_ascii_case("tab"));
    let mut best = (0, 0, if is_tabbed { b'\t' } else { b',' });
    for delimiter in DELIMITERS {
        let mut records = Records::new(input()?.take(SAMPLE), delimiter);
        let mut widths: Vec<usize> = Vec::new();
        // What a delimiter makes of the rows may be too wide or too long: then it is another one.
        while let Ok(Some((_, ends))) = records.next() {
            widths.push(ends.len());
            if widths.len() == SAMPLE_ROWS {
                break;
            }
        }
        let width = widths.first().copied().unwrap_or(0);
        if width < 2 {
            continue;
        }
        let alike = widths.iter().filter(|one| **one == width).count();
        let bonus = usize::from(is_tabbed && delimiter == b'\t') * SAMPLE_ROWS;
        if (alike + bonus, width) > (best.0, best.1) {
            best = (alike + bonus, width, delimiter);
        }
    }
    let delimiter = best.2;
    let mut records = Records::new(input()?, delimiter);
    let Some((text, ends)) = records.next()? else {
        return Err(DatasetError::refused("the file is empty"));
    };
    let first: Vec<&str> = cells(text, ends).collect();
    let mut filled = first
        .iter()
        .filter(|cell| !cell.trim().is_empty())
        .peekable();
    let is_row = filled.peek().is_some() && filled.all(|cell| is_value(cell));
    let header = (!is_row).then(|| first.iter().map(|cell| (*cell).to_owned()).collect());
    Ok(CsvFormat { delimiter, header })
}

/// Reads every row.
pub fn read(
    input: impl Read,
    format: &CsvFormat,
    sink: &mut dyn RowSink,
) -> Result<CsvFacts, DatasetError> {
    let mut records = Records::new(input, format.delimiter);
    let mut facts = CsvFacts::default();
    if let Some(header) = &format.header {
        facts.width = header.len();
        records.next()?;
    }
    let mut expected = facts.width;
    while let Some((text, ends)) = records.next()? {
        if ends.len() > MAX_COLUMNS {
            return Err(too_wide());
        }
        if expected == 0 {
            expected = ends.len();
        }
        facts.short += u64::from(ends.len() < expected);
        facts.long += u64::from(ends.len() > expected);
        facts.width = facts.width.max(ends.len());
        for (column, cell) in cells(text, ends).enumerate() {
            if !cell.is_empty() {
                sink.cell(column, Cell::Plain(cell));
            }
        }
        sink.end_row()?;
    }
    if facts.width > MAX_COLUMNS {
        return Err(too_wide());
    }
    Ok(facts)
}
