//! The Parquet file of a dataset: flat columns that may have no value, in groups of rows that fit into memory.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type,
};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::file::writer::{
    SerializedColumnWriter, SerializedFileWriter, SerializedRowGroupWriter,
};
use parquet::schema::types::{ColumnPath, Type, TypePtr};
use sha2::{Digest as _, Sha256};

use crate::datasets::cell;
use crate::datasets::datum::Datum;
use crate::datasets::error::DatasetError;
use crate::datasets::rows::Cell;
use crate::protocol::dataset::DatasetColumn;
use crate::protocol::enums::ColumnType;
use crate::protocol::hex::hex;

/// Most rows of a group.
const GROUP_ROWS: usize = 64 * 1024;
/// Bytes of a group in memory that are enough for one.
const GROUP_BYTES: usize = 6 * 1024 * 1024;
/// About how many bytes of memory a cell takes beside its text.
const CELL: usize = 10;

impl From<ParquetError> for DatasetError {
    fn from(error: ParquetError) -> Self {
        match error {
            ParquetError::External(inner) => match inner.downcast::<io::Error>() {
                Ok(error) => Self::File(*error),
                Err(other) => Self::Damaged(other.to_string()),
            },
            other => Self::Damaged(other.to_string()),
        }
    }
}

/// The values of a column that has a value in each defined row.
enum Values {
    Integer(Vec<i64>),
    Number(Vec<f64>),
    Boolean(Vec<bool>),
    Date(Vec<i32>),
    Datetime(Vec<i64>),
    Text { bytes: Vec<u8>, ends: Vec<usize> },
}

struct Column {
    values: Values,
    /// For each row, 1 where it has a value.
    defined: Vec<i16>,
}

/// The cells of the rows that are not written yet.
pub struct Columns {
    columns: Vec<Column>,
    rows: usize,
    bytes: usize,
}

impl Columns {
    /// None yet.
    pub fn new(columns: &[DatasetColumn]) -> Self {
        let empty = |column: &DatasetColumn| Column {
            values: match column.kind {
                ColumnType::Integer => Values::Integer(Vec::new()),
                ColumnType::Number => Values::Number(Vec::new()),
                ColumnType::Boolean => Values::Boolean(Vec::new()),
                ColumnType::Date => Values::Date(Vec::new()),
                ColumnType::Datetime | ColumnType::Timestamp => Values::Datetime(Vec::new()),
                ColumnType::Text => Values::Text {
                    bytes: Vec::new(),
                    ends: Vec::new(),
                },
            },
            defined: Vec::new(),
        };
        Self {
            columns: columns.iter().map(empty).collect(),
            rows: 0,
            bytes: 0,
        }
    }

    /// Takes a cell of the current row.
    pub fn put(&mut self, column: usize, cell: &Cell<'_>) {
        let Some(column) = self.columns.get_mut(column) else {
            return;
        };
        // Twice in a row: the first one stays.
        if column.defined.len() > self.rows {
            return;
        }
        let is_defined = match &mut column.values {
            Values::Integer(values) => push(
                values,
                match cell {
                    Cell::Integer(number) => Some(*number),
                    Cell::Plain(text) => cell::integer(text.trim()),
                    _ => None,
                },
            ),
            Values::Number(values) => push(
                values,
                match cell {
                    Cell::Integer(number) => Some(*number as f64),
                    Cell::Number(number) => Some(*number),
                    Cell::Plain(text) => {
                        let text = text.trim();
                        cell::number(text)
                            .or_else(|| cell::integer(text).map(|number| number as f64))
                    }
                    _ => None,
                },
            ),
            Values::Boolean(values) => push(
                values,
                match cell {
                    Cell::Boolean(is) => Some(*is),
                    Cell::Plain(text) => cell::boolean(text.trim()),
                    _ => None,
                },
            ),
            Values::Date(values) => push(
                values,
                match cell {
                    Cell::Plain(text) | Cell::Text(text) => cell::date(text.trim()),
                    _ => None,
                },
            ),
            Values::Datetime(values) => push(
                values,
                match cell {
                    Cell::Plain(text) | Cell::Text(text) => {
                        cell::datetime(text.trim()).map(|(micros, _)| micros)
                    }
                    _ => None,
                },
            ),
            Values::Text { bytes, ends } => {
                let before = bytes.len();
                let is_text = match cell {
                    Cell::Missing => false,
                    Cell::Plain(text) if text.trim().is_empty() => false,
                    Cell::Plain(text) | Cell::Text(text) | Cell::Nested(text) => {
                        bytes.extend_from_slice(text.as_bytes());
                        true
                    }
                    Cell::Integer(number) => write!(bytes, "{number}").is_ok(),
                    Cell::Number(number) => write!(bytes, "{number}").is_ok(),
                    Cell::Boolean(is) => write!(bytes, "{is}").is_ok(),
                };
                if is_text {
                    ends.push(bytes.len());
                }
                self.bytes += bytes.len() - before;
                is_text
            }
        };
        column.defined.push(i16::from(is_defined));
    }

    /// The current row is over.
    pub fn end_row(&mut self) {
        self.rows += 1;
        for column in &mut self.columns {
            column.defined.resize(self.rows, 0);
        }
        self.bytes += self.columns.len() * CELL;
    }

    /// Whether they are to be written.
    pub fn is_full(&self) -> bool {
        self.rows >= GROUP_ROWS || self.bytes >= GROUP_BYTES
    }
}

fn push<T>(values: &mut Vec<T>, value: Option<T>) -> bool {
    let is_some = value.is_some();
    values.extend(value);
    is_some
}

/// Hashes and counts what is written through it.
struct Hashing {
    file: File,
    hasher: Sha256,
    bytes: u64,
}

impl Write for Hashing {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let written = self.file.write(buffer)?;
        self.hasher
            .update(buffer.get(..written).unwrap_or_default());
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// A file that was written.
pub struct Written {
    pub bytes: u64,
    /// Its SHA-256, in hexadecimal digits.
    pub sha256: String,
}

/// Writes a Parquet file.
pub struct DatasetWriter {
    writer: SerializedFileWriter<Hashing>,
}

impl DatasetWriter {
    /// Into a new file.
    pub fn new(file: File, columns: &[DatasetColumn]) -> Result<Self, DatasetError> {
        let mut properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_dictionary_enabled(false)
            .set_statistics_enabled(EnabledStatistics::None)
            .set_offset_index_disabled(true)
            .set_created_by("leverframe".to_owned());
        // Texts often come again; numbers seldom do.
        for column in columns
            .iter()
            .filter(|column| column.kind == ColumnType::Text)
        {
            let path = ColumnPath::new(vec![column.name.clone()]);
            properties = properties.set_column_dictionary_enabled(path, true);
        }
        let out = Hashing {
            file,
            hasher: Sha256::new(),
            bytes: 0,
        };
        let schema = schema(columns)?;
        let writer = SerializedFileWriter::new(out, schema, Arc::new(properties.build()))?;
        Ok(Self { writer })
    }

    /// Writes the rows, if there are any; `columns` has none then.
    pub fn write(&mut self, columns: &mut Columns) -> Result<(), DatasetError> {
        if columns.rows == 0 {
            return Ok(());
        }
        let mut group = self.writer.next_row_group()?;
        for column in &mut columns.columns {
            let mut writer = next(&mut group)?;
            let defined = &column.defined;
            match &mut column.values {
                Values::Integer(values) | Values::Datetime(values) => {
                    put::<Int64Type>(&mut writer, values, defined)?;
                    values.clear();
                }
                Values::Number(values) => {
                    put::<DoubleType>(&mut writer, values, defined)?;
                    values.clear();
                }
                Values::Boolean(values) => {
                    put::<BoolType>(&mut writer, values, defined)?;
                    values.clear();
                }
                Values::Date(values) => {
                    put::<Int32Type>(&mut writer, values, defined)?;
                    values.clear();
                }
                Values::Text { bytes, ends } => {
                    let whole = ByteArray::from(std::mem::take(bytes));
                    let mut from = 0;
                    let texts: Vec<ByteArray> = ends
                        .drain(..)
                        .map(|end| {
                            let text = whole.slice(from, end - from);
                            from = end;
                            text
                        })
                        .collect();
                    put::<ByteArrayType>(&mut writer, &texts, defined)?;
                }
            }
            writer.close()?;
            column.defined.clear();
        }
        group.close()?;
        columns.rows = 0;
        columns.bytes = 0;
        Ok(())
    }

    /// Ends the file and makes it durable.
    pub fn finish(self) -> Result<Written, DatasetError> {
        let out = self.writer.into_inner()?;
        out.file.sync_all()?;
        Ok(Written {
            bytes: out.bytes,
            sha256: hex(&out.hasher.finalize()),
        })
    }
}

fn next<'a>(
    group: &'a mut SerializedRowGroupWriter<'_, Hashing>,
) -> Result<SerializedColumnWriter<'a>, DatasetError> {
    group
        .next_column()?
        .ok_or_else(|| DatasetError::Damaged("a column is missing".to_owned()))
}

fn put<T: DataType>(
    writer: &mut SerializedColumnWriter<'_>,
    values: &[T::T],
    defined: &[i16],
) -> Result<(), DatasetError> {
    writer
        .typed::<T>()
        .write_batch(values, Some(defined), None)?;
    Ok(())
}

fn schema(columns: &[DatasetColumn]) -> Result<TypePtr, DatasetError> {
    let field = |column: &DatasetColumn| {
        let moment = |utc| Some(LogicalType::timestamp(utc, TimeUnit::MICROS));
        let (physical, logical) = match column.kind {
            ColumnType::Integer => (Physical::INT64, None),
            ColumnType::Number => (Physical::DOUBLE, None),
            ColumnType::Boolean => (Physical::BOOLEAN, None),
            ColumnType::Date => (Physical::INT32, Some(LogicalType::Date)),
            ColumnType::Datetime => (Physical::INT64, moment(false)),
            ColumnType::Timestamp => (Physical::INT64, moment(true)),
            ColumnType::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        };
        let built = Type::primitive_type_builder(&column.name, physical)
            .with_repetition(Repetition::OPTIONAL)
            .with_logical_type(logical)
            .build()?;
        Ok(Arc::new(built))
    };
    let fields: Result<Vec<TypePtr>, ParquetError> = columns.iter().map(field).collect();
    let root = Type::group_type_builder("dataset").with_fields(fields?);
    Ok(Arc::new(root.build()?))
}

/// Reads the Parquet file of a dataset.
pub struct DatasetFile {
    reader: SerializedFileReader<File>,
    /// Its columns, in order.
    pub columns: Vec<DatasetColumn>,
    /// Number of its rows.
    pub rows: u64,
}

impl DatasetFile {
    /// Opens one.
    pub fn open(path: &Path) -> Result<Self, DatasetError> {
        let reader = SerializedFileReader::new(File::open(path)?)?;
        let meta = reader.metadata().file_metadata();
        let rows = u64::try_from(meta.num_rows()).unwrap_or(0);
        let kind = |column: &parquet::schema::types::ColumnDescriptor| match (
            column.physical_type(),
            column.logical_type_ref(),
        ) {
            (Physical::INT64, Some(LogicalType::Timestamp(time))) => {
                if time.is_adjusted_to_u_t_c {
                    ColumnType::Timestamp
                } else {
                    ColumnType::Datetime
                }
            }
            (Physical::INT64, _) => ColumnType::Integer,
            (Physical::INT32, _) => ColumnType::Date,
            (Physical::DOUBLE, _) => ColumnType::Number,
            (Physical::BOOLEAN, _) => ColumnType::Boolean,
            _ => ColumnType::Text,
        };
        let columns = meta
            .schema_descr()
            .columns()
            .iter()
            .map(|column| DatasetColumn {
                name: column.name().to_owned(),
                kind: kind(column),
            })
            .collect();
        Ok(Self {
            reader,
            columns,
            rows,
        })
    }

    /// Number of groups of rows.
    pub fn groups(&self) -> usize {
        self.reader.num_row_groups()
    }

    /// Rows of a group.
    pub fn group_rows(&self, group: usize) -> usize {
        let groups = self.reader.metadata().row_groups();
        let rows = groups.get(group).map_or(0, |group| group.num_rows());
        usize::try_from(rows).unwrap_or(0)
    }

    /// The values of a column in a group, one for each row.
    pub fn read(&self, group: usize, column: usize) -> Result<Vec<Datum>, DatasetError> {
        let rows = self.group_rows(group);
        let group = self.reader.get_row_group(group)?;
        let kind = self.columns.get(column).map(|column| column.kind);
        match group.get_column_reader(column)? {
            ColumnReader::BoolColumnReader(reader) => values(reader, rows, Datum::Boolean),
            ColumnReader::Int32ColumnReader(reader) => values(reader, rows, Datum::Date),
            ColumnReader::Int64ColumnReader(reader) => match kind {
                Some(ColumnType::Datetime) => values(reader, rows, Datum::Datetime),
                Some(ColumnType::Timestamp) => values(reader, rows, Datum::Timestamp),
                Some(_) | None => values(reader, rows, Datum::Integer),
            },
            ColumnReader::DoubleColumnReader(reader) => values(reader, rows, Datum::Number),
            ColumnReader::ByteArrayColumnReader(reader) => values(reader, rows, Datum::Text),
            ColumnReader::FloatColumnReader(_)
            | ColumnReader::Int96ColumnReader(_)
            | ColumnReader::FixedLenByteArrayColumnReader(_) => Err(DatasetError::Damaged(
                "a column of another program".to_owned(),
            )),
        }
    }
}

fn values<T: DataType>(
    mut reader: ColumnReaderImpl<T>,
    rows: usize,
    datum: fn(T::T) -> Datum,
) -> Result<Vec<Datum>, DatasetError> {
    let mut found = Vec::new();
    let mut defined: Vec<i16> = Vec::new();
    while defined.len() < rows {
        let left = rows - defined.len();
        let (records, ..) = reader.read_records(left, Some(&mut defined), None, &mut found)?;
        if records == 0 {
            return Err(DatasetError::Damaged("a column ends too early".to_owned()));
        }
    }
    let mut found = found.into_iter();
    let value = |defined: &i16| match defined {
        0 => Some(Datum::Missing),
        _ => found.next().map(datum),
    };
    defined
        .iter()
        .map(value)
        .collect::<Option<Vec<Datum>>>()
        .ok_or_else(|| DatasetError::Damaged("a value is missing".to_owned()))
}
