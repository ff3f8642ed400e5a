//! The SQL interface: how commands and queries ask the database.
//!
//! Ids, words, times and JSON are bound and read as they are; rows are read by the names of their columns. No text
//! that is bound holds U+0000: not every database stores it.

use std::cell::Cell;

use rusqlite::types::{FromSqlError, ToSqlOutput, ValueRef};
use rusqlite::{CachedStatement, Statement};
use serde::de::DeserializeOwned;

pub(crate) use rusqlite::types::{FromSql, ToSql, Value};
pub(crate) use rusqlite::{Connection, params, version};

pub(crate) use crate::store::sql::error::{agrees, is_fsync_failure};
pub(crate) use crate::store::sql::values::Json;

use crate::store::error::StoreError;

mod error;
mod values;

/// Statements by their text. They stay prepared.
pub(crate) trait Statements {
    /// Changes rows and says how many.
    fn run(&self, sql: &str, params: impl Params) -> Result<usize, StoreError>;

    /// What `read` makes of each row, in order.
    fn rows<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnMut(&Row<'_>) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError>;

    /// What `read` makes of the first row; none = there is no row.
    fn row_opt<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError>;

    /// What `read` makes of the first row, which must be there.
    fn row<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.row_opt(sql, params, read)?.ok_or_else(no_row)
    }

    /// Hands `read` each row, in order, as long as it answers true.
    fn each_while(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnMut(&Row<'_>) -> Result<bool, StoreError>,
    ) -> Result<(), StoreError>;

    /// Hands `read` each row, in order.
    fn each(
        &self,
        sql: &str,
        params: impl Params,
        mut read: impl FnMut(&Row<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.each_while(sql, params, |row| read(row).map(|()| true))
    }

    /// The first column of the first row, which must be there.
    fn value<T: FromSql>(&self, sql: &str, params: impl Params) -> Result<T, StoreError> {
        self.row(sql, params, |row| row.first())
    }

    /// The first column of the first row; none = there is no row.
    fn value_opt<T: FromSql>(
        &self,
        sql: &str,
        params: impl Params,
    ) -> Result<Option<T>, StoreError> {
        self.row_opt(sql, params, |row| row.first())
    }

    /// The first column of each row, in order.
    fn values<T: FromSql>(&self, sql: &str, params: impl Params) -> Result<Vec<T>, StoreError> {
        self.rows(sql, params, |row| row.first())
    }
}

fn no_row() -> StoreError {
    rusqlite::Error::QueryReturnedNoRows.into()
}

/// A statement whose parameters are bound.
fn bound<'a>(
    conn: &'a Connection,
    sql: &str,
    params: &impl Params,
) -> Result<CachedStatement<'a>, StoreError> {
    let mut statement = conn.prepare_cached(sql)?;
    let (given, expected) = (params.count(), statement.parameter_count());
    if given != expected {
        return Err(rusqlite::Error::InvalidParameterCount(given, expected).into());
    }
    params.bind(&mut statement)?;
    Ok(statement)
}

impl Statements for Connection {
    fn run(&self, sql: &str, params: impl Params) -> Result<usize, StoreError> {
        Ok(bound(self, sql, &params)?.raw_execute()?)
    }

    fn rows<T>(
        &self,
        sql: &str,
        params: impl Params,
        mut read: impl FnMut(&Row<'_>) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        let mut found = Vec::new();
        self.each(sql, params, |row| {
            found.push(read(row)?);
            Ok(())
        })?;
        Ok(found)
    }

    fn each_while(
        &self,
        sql: &str,
        params: impl Params,
        mut read: impl FnMut(&Row<'_>) -> Result<bool, StoreError>,
    ) -> Result<(), StoreError> {
        let mut statement = bound(self, sql, &params)?;
        let mut rows = statement.raw_query();
        let next = Cell::new(0);
        while let Some(row) = rows.next()? {
            if !read(&Row { row, next: &next })? {
                break;
            }
        }
        Ok(())
    }

    fn row_opt<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        let mut statement = bound(self, sql, &params)?;
        let mut rows = statement.raw_query();
        let next = Cell::new(0);
        match rows.next()? {
            Some(row) => read(&Row { row, next: &next }).map(Some),
            None => Ok(None),
        }
    }
}

/// What stands for `?1`, `?2` and so on: `[a, b]` of one type, `params![…]`, or a slice.
pub(crate) trait Params {
    /// How many there are.
    fn count(&self) -> usize;
    /// Hands them to a statement.
    fn bind(&self, statement: &mut Statement<'_>) -> rusqlite::Result<()>;
}

impl<T: ToSql> Params for &[T] {
    fn count(&self) -> usize {
        self.len()
    }

    fn bind(&self, statement: &mut Statement<'_>) -> rusqlite::Result<()> {
        for (index, value) in self.iter().enumerate() {
            statement.raw_bind_parameter(index + 1, without_nul(value.to_sql()?))?;
        }
        Ok(())
    }
}

impl Params for [&dyn ToSql; 0] {
    fn count(&self) -> usize {
        0
    }

    fn bind(&self, _statement: &mut Statement<'_>) -> rusqlite::Result<()> {
        Ok(())
    }
}

/// Arrays of this many values.
macro_rules! arrays {
    ($($count:literal),+) => { $(
        impl<T: ToSql> Params for [T; $count] {
            fn count(&self) -> usize {
                $count
            }

            fn bind(&self, statement: &mut Statement<'_>) -> rusqlite::Result<()> {
                self.as_slice().bind(statement)
            }
        }
    )+ };
}

arrays!(1, 2, 3, 4, 5, 6);

/// Text as it is stored, with U+FFFD for each U+0000.
pub(crate) fn stored(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

/// A value that is bound; text without U+0000.
fn without_nul(value: ToSqlOutput<'_>) -> ToSqlOutput<'_> {
    let text = match &value {
        ToSqlOutput::Borrowed(ValueRef::Text(text)) => text,
        ToSqlOutput::Owned(Value::Text(text)) => text.as_bytes(),
        _ => return value,
    };
    if !text.contains(&0) {
        return value;
    }
    ToSqlOutput::Owned(Value::Text(stored(&String::from_utf8_lossy(text))))
}

/// Reads the columns of a row, each into the type that is wanted of it.
///
/// `columns!(id, state: OutboxState)` is a function from a row to a tuple.
/// `columns!(row => Part { id, by = "by_label"; text })` is a struct: first the fields that are columns, of their own name
/// or of the one behind `=`, and after `;` its other fields as usual.
macro_rules! columns {
    ($($column:ident $(: $type:ty)?),+) => {
        |row: &$crate::store::sql::Row<'_>| Ok(($(row.get$(::<$type>)?(stringify!($column))?,)+))
    };
    ($row:ident => $($type:ident)::+ {
        $($field:ident $(= $column:literal)?),+ $(,)? $(; $($others:tt)+)?
    }) => {
        $($type)::+ { $($field: $crate::store::sql::columns!(@ $row $field $($column)?),)+ $($($others)+)? }
    };
    (@ $row:ident $field:ident) => {
        $row.get(stringify!($field))?
    };
    (@ $row:ident $field:ident $column:literal) => {
        $row.get($column)?
    };
}

pub(crate) use columns;

/// A row of an answer.
pub(crate) struct Row<'a> {
    row: &'a rusqlite::Row<'a>,
    /// The column after the one that was read last: most rows are read in the order of their columns.
    next: &'a Cell<usize>,
}

impl Row<'_> {
    /// The value of a column. An error names the column.
    pub(crate) fn get<T: FromSql>(&self, name: &str) -> Result<T, StoreError> {
        self.at(self.column(name)?)
    }

    /// A column of JSON.
    pub(crate) fn json<T: DeserializeOwned>(&self, name: &str) -> Result<T, StoreError> {
        self.get::<Json<T>>(name).map(|json| json.0)
    }

    /// A column of JSON, or none.
    pub(crate) fn json_opt<T: DeserializeOwned>(
        &self,
        name: &str,
    ) -> Result<Option<T>, StoreError> {
        Ok(self.get::<Option<Json<T>>>(name)?.map(|json| json.0))
    }

    /// A column of text, which lives as long as the row.
    pub(crate) fn text(&self, name: &str) -> Result<&str, StoreError> {
        let at = self.column(name)?;
        let text = self.row.get_ref(at)?.as_str();
        text.map_err(|error| self.unexpected(at, &error))
    }

    /// A column of bytes, which live as long as the row.
    pub(crate) fn bytes(&self, name: &str) -> Result<&[u8], StoreError> {
        let at = self.column(name)?;
        let bytes = self.row.get_ref(at)?.as_blob();
        bytes.map_err(|error| self.unexpected(at, &error))
    }

    /// A column of text, which lives as long as the row; none = it holds no text.
    pub(crate) fn text_opt(&self, name: &str) -> Result<Option<&str>, StoreError> {
        let at = self.column(name)?;
        Ok(match self.row.get_ref(at)? {
            ValueRef::Text(text) => std::str::from_utf8(text).ok(),
            _ => None,
        })
    }

    /// Whether there is a column of this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.column(name).is_ok()
    }

    /// The first column, where a statement answers one value.
    pub(crate) fn first<T: FromSql>(&self) -> Result<T, StoreError> {
        self.at(0)
    }

    /// Where the column of this name stands.
    fn column(&self, name: &str) -> Result<usize, StoreError> {
        let statement: &Statement<'_> = self.row.as_ref();
        let count = statement.column_count();
        let next = self.next.get();
        let at = (next..count)
            .chain(0..next.min(count))
            .find(|at| statement.column_name(*at).is_ok_and(|named| named == name))
            .ok_or_else(|| rusqlite::Error::InvalidColumnName(name.to_owned()))?;
        self.next.set(at + 1);
        Ok(at)
    }

    /// The value of the column that stands here.
    fn at<T: FromSql>(&self, at: usize) -> Result<T, StoreError> {
        T::column_result(self.row.get_ref(at)?).map_err(|error| self.unexpected(at, &error))
    }

    fn unexpected(&self, at: usize, error: &FromSqlError) -> StoreError {
        let statement: &Statement<'_> = self.row.as_ref();
        let name = statement.column_name(at).unwrap_or("?");
        StoreError::Corrupt(format!("column `{name}`: {error}"))
    }
}
