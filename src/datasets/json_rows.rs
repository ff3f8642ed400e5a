//! Rows of JSON: a list of objects, or an object after the other.

use std::cell::Cell as Shared;
use std::collections::HashMap;
use std::fmt;
use std::io::{self, BufReader, Read};
use std::rc::Rc;

use serde::de::{Deserializer as _, SeqAccess, Visitor};
use serde_json::{Deserializer, Value};

use crate::datasets::csv_rows::too_wide;
use crate::datasets::error::DatasetError;
use crate::datasets::rows::{Cell, MAX_ROW, RowSink};
use crate::protocol::dataset::MAX_COLUMNS;

/// Name of the column of values that are no objects.
const BARE: &str = "value";
/// What a reader says that came to the end of what a row may have.
const TOO_LONG: &str = "a row is too long";

/// The names of the columns, in the order in which they came.
#[derive(Debug, Default)]
pub struct JsonColumns {
    /// As they stand in the file.
    pub names: Vec<String>,
    places: HashMap<String, usize>,
}

impl JsonColumns {
    fn place(&mut self, name: &str) -> Result<usize, DatasetError> {
        if let Some(place) = self.places.get(name) {
            return Ok(*place);
        }
        let place = self.names.len();
        if place == MAX_COLUMNS {
            return Err(too_wide());
        }
        self.names.push(name.to_owned());
        self.places.insert(name.to_owned(), place);
        Ok(place)
    }
}

/// Reads no more than a row may have, until it is told that a row is over.
struct Bounded<R> {
    inner: R,
    left: Rc<Shared<usize>>,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left.get() == 0 {
            return Err(io::Error::other(TOO_LONG));
        }
        let read = self.inner.read(buffer)?;
        self.left.set(self.left.get().saturating_sub(read));
        Ok(read)
    }
}

/// Reads every row.
pub fn read(
    mut input: impl Read,
    columns: &mut JsonColumns,
    sink: &mut dyn RowSink,
) -> Result<(), DatasetError> {
    // The first pieces, up to the first character that is no space: it says what the whole is.
    let mut head = Vec::new();
    let mut piece = [0; 4096];
    let is_list = loop {
        let read = input.read(&mut piece)?;
        head.extend_from_slice(&piece[..read]);
        match head.trim_ascii_start().first() {
            Some(first) => break *first == b'[',
            None if read == 0 => return Err(DatasetError::refused("the file is empty")),
            None if head.len() > MAX_ROW => {
                return Err(DatasetError::refused("it begins with nothing but spaces"));
            }
            None => {}
        }
    };
    let left = Rc::new(Shared::new(MAX_ROW));
    let bounded = Bounded {
        inner: head.as_slice().chain(input),
        left: left.clone(),
    };
    let mut rows = Rows {
        columns,
        sink,
        left,
        row: 0,
        failed: None,
    };
    let mut json = Deserializer::from_reader(BufReader::with_capacity(64 * 1024, bounded));
    let ended = if is_list {
        json.deserialize_seq(&mut rows).and_then(|()| json.end())
    } else {
        let mut ended = Ok(());
        for value in json.into_iter::<Value>() {
            match value {
                Ok(value) => {
                    if let Err(error) = rows.take(value) {
                        rows.failed = Some(error);
                        break;
                    }
                }
                Err(error) => {
                    ended = Err(error);
                    break;
                }
            }
        }
        ended
    };
    match (rows.failed, ended) {
        (Some(failed), _) => Err(failed),
        (None, Ok(())) => Ok(()),
        (None, Err(error)) if error.is_io() && error.to_string().contains(TOO_LONG) => {
            Err(DatasetError::refused(format!(
                "row {} has more than {} MiB: a list of objects, or an object a line, is expected",
                rows.row + 1,
                MAX_ROW >> 20
            )))
        }
        (None, Err(error)) if error.is_io() => Err(DatasetError::File(error.into())),
        (None, Err(error)) => Err(DatasetError::refused(format!(
            "it is no JSON in row {}: {error}",
            rows.row + 1
        ))),
    }
}

struct Rows<'a> {
    columns: &'a mut JsonColumns,
    sink: &'a mut dyn RowSink,
    left: Rc<Shared<usize>>,
    row: u64,
    failed: Option<DatasetError>,
}

impl Rows<'_> {
    fn take(&mut self, value: Value) -> Result<(), DatasetError> {
        self.left.set(MAX_ROW);
        self.row += 1;
        match value {
            Value::Object(fields) => {
                for (name, value) in fields {
                    let place = self.columns.place(&name)?;
                    self.cell(place, &value);
                }
            }
            other => {
                let place = self.columns.place(BARE)?;
                self.cell(place, &other);
            }
        }
        self.sink.end_row()
    }

    fn cell(&mut self, place: usize, value: &Value) {
        match value {
            Value::Null => self.sink.cell(place, Cell::Missing),
            Value::Bool(is) => self.sink.cell(place, Cell::Boolean(*is)),
            Value::String(text) => self.sink.cell(place, Cell::Text(text)),
            Value::Number(number) => match (number.as_i64(), number.as_f64()) {
                (Some(integer), _) => self.sink.cell(place, Cell::Integer(integer)),
                // What has more than 64 bits keeps its digits as text.
                (None, Some(real)) if number.is_f64() => self.sink.cell(place, Cell::Number(real)),
                (None, _) => self.sink.cell(place, Cell::Nested(&number.to_string())),
            },
            Value::Array(_) | Value::Object(_) => {
                self.sink.cell(place, Cell::Nested(&value.to_string()));
            }
        }
    }
}

impl<'de> Visitor<'de> for &mut Rows<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list of objects")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while let Some(value) = list.next_element::<Value>()? {
            if let Err(error) = self.take(value) {
                self.failed = Some(error);
                return Err(serde::de::Error::custom("stopped"));
            }
        }
        Ok(())
    }
}
