//! The files themselves: pages and references of the database, and the content of artifacts.
//!
//! SQLite does not look at CHECK constraints through a connection that cannot write; those are kept by every write.

use std::path::Path;

use crate::store::artifacts::check_artifacts;
use crate::store::check::rule::{Found, Rule, code};
use crate::store::error::StoreError;
use crate::store::reader::Reader;

pub(crate) const RULES: &[Rule] = &[
    code("file", "page that SQLite finds broken", quick_check),
    code(
        "file",
        "row that refers to one that is not there",
        foreign_keys,
    ),
    code(
        "I25",
        "artifact whose file is not there or has another content",
        artifacts,
    ),
];

fn quick_check(reader: &Reader<'_>, found: &mut Found) -> Result<(), StoreError> {
    found.rows = reader
        .conn
        .query_row("PRAGMA page_count", [], |row| row.get(0))?;
    // A connection that looked at the search index before goes on with what it read then, and would find it broken where
    // only somebody wrote to it since. Opening the index for reading makes it look again.
    for index in ["memory_fts", "memory_pairs"] {
        let exists: bool = reader.conn.query_row(
            "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = ?1)",
            [index],
            |row| row.get(0),
        )?;
        if exists {
            let again = format!("SELECT count(*) FROM (SELECT rowid FROM {index} LIMIT 1)");
            reader.conn.query_row(&again, [], |_| Ok(()))?;
        }
    }
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

/// The files lie beside the database, wherever that is.
fn artifacts(reader: &Reader<'_>, found: &mut Found) -> Result<(), StoreError> {
    found.rows = reader
        .conn
        .query_row("SELECT count(*) FROM artifacts", [], |row| row.get(0))?;
    let dir = reader.conn.path().map(Path::new).and_then(Path::parent);
    for wrong in check_artifacts(reader, dir.unwrap_or(Path::new(".")))? {
        found.add(|| wrong.detail);
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
