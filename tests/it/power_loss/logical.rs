//! What a database says, whatever its pages look like: compared between the process that wrote it and what a loss of
//! power left of it.

use std::hash::{Hash as _, Hasher as _};

use rusqlite::Connection;
use rusqlite::types::ValueRef;

use crate::support::content_hash::ContentHasher;

/// Sums over a database.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Logical {
    /// Over every row of every table; 0 = nothing in any of them yet.
    pub state: u64,
    /// Over what people and the engine go on with after a start: everything but the marks of starts.
    pub work: u64,
    /// (number, sum over all events up to it).
    pub events: Vec<(u64, u64)>,
    /// (number, sum over all audit rows up to it).
    pub audit: Vec<(u64, u64)>,
    /// Rows of tool attempts, which are never removed.
    pub attempts: u64,
}

fn hash_row(
    row: &rusqlite::Row<'_>,
    columns: usize,
    hasher: &mut ContentHasher,
) -> rusqlite::Result<()> {
    for column in 0..columns {
        match row.get_ref(column)? {
            ValueRef::Null => 0_u8.hash(hasher),
            ValueRef::Integer(value) => value.hash(hasher),
            ValueRef::Real(value) => value.to_bits().hash(hasher),
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes.hash(hasher),
        }
    }
    Ok(())
}

/// Sums up to each row of a table that only grows.
fn growing(conn: &Connection, query: &str) -> rusqlite::Result<Vec<(u64, u64)>> {
    let mut hasher = ContentHasher::default();
    let mut statement = conn.prepare_cached(query)?;
    let columns = statement.column_count();
    let mut rows = statement.query([])?;
    let mut sums = Vec::new();
    while let Some(row) = rows.next()? {
        hash_row(row, columns, &mut hasher)?;
        sums.push((row.get(0)?, hasher.finish()));
    }
    Ok(sums)
}

impl Logical {
    /// Reads a whole database in whatever transaction is open.
    pub fn read(conn: &Connection) -> rusqlite::Result<Self> {
        let tables: Vec<String> = conn
            .prepare_cached(
                "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name",
            )?
            .query_map([], |row| row.get(0))?
            .collect::<rusqlite::Result<_>>()?;
        let (mut state, mut work) = (ContentHasher::default(), ContentHasher::default());
        let mut rows_found = 0_u64;
        for table in &tables {
            let query = match table.as_str() {
                // Set and cleared around a clean end.
                "meta" => "SELECT * FROM meta WHERE key <> 'clean'".to_owned(),
                name => format!("SELECT * FROM \"{name}\""),
            };
            let mut statement = conn.prepare_cached(&query)?;
            let columns = statement.column_count();
            let mut rows = statement.query([])?;
            table.hash(&mut state);
            while let Some(row) = rows.next()? {
                // An index of words has rows of its own from the beginning.
                rows_found += u64::from(
                    !table.starts_with("memory_fts_") && !table.starts_with("memory_pairs_"),
                );
                hash_row(row, columns, &mut state)?;
                if !matches!(table.as_str(), "meta" | "audit" | "audit_segments") {
                    hash_row(row, columns, &mut work)?;
                }
            }
        }
        let has = |name: &str| tables.iter().any(|table| table == name);
        if !has("events") || !has("audit") {
            return Ok(Self::default());
        }
        Ok(Self {
            state: if rows_found == 0 { 0 } else { state.finish() },
            work: work.finish(),
            events: growing(
                conn,
                "SELECT seq, at, session_id, continuation_id, body FROM events ORDER BY seq",
            )?,
            audit: growing(conn, "SELECT seq, hash FROM audit ORDER BY seq")?,
            attempts: conn.query_row("SELECT count(*) FROM tool_attempts", [], |row| row.get(0))?,
        })
    }
}
