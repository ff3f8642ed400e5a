//! The file itself: pages, indexes, constraints and references.

use crate::store::check::rule::{Found, Rule, code};
use crate::store::error::StoreError;
use crate::store::reader::Reader;

pub(crate) const RULES: &[Rule] = &[
    code(
        "file",
        "page, index or constraint that SQLite finds broken",
        quick_check,
    ),
    code(
        "file",
        "row that refers to one that is not there",
        foreign_keys,
    ),
];

fn quick_check(reader: &Reader<'_>, found: &mut Found) -> Result<(), StoreError> {
    found.rows = reader
        .conn
        .query_row("PRAGMA page_count", [], |row| row.get(0))?;
    let mut statement = reader.conn.prepare("PRAGMA quick_check")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let line: String = row.get(0)?;
        if line != "ok" {
            found.add(|| line);
        }
    }
    Ok(())
}

fn foreign_keys(reader: &Reader<'_>, found: &mut Found) -> Result<(), StoreError> {
    let tables = reader
        .conn
        .prepare("SELECT DISTINCT m.name FROM sqlite_schema m JOIN pragma_foreign_key_list(m.name) WHERE m.type = 'table'")?
        .query_map([], |row| row.get(0))?
        .collect::<rusqlite::Result<Vec<String>>>()?;
    for table in tables {
        let count = format!("SELECT count(*) FROM \"{table}\"");
        found.rows += reader
            .conn
            .query_row(&count, [], |row| row.get::<_, u64>(0))?;
    }
    let mut statement = reader.conn.prepare("PRAGMA foreign_key_check")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let table: String = row.get(0)?;
        let position: Option<i64> = row.get(1)?;
        let parent: String = row.get(2)?;
        found.add(|| match position {
            Some(position) => format!("{table} row {position} refers to {parent}"),
            None => format!("{table} refers to {parent}"),
        });
    }
    Ok(())
}
