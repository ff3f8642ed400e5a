//! A new database is filled in one piece, and is what the migrations would make of it.

use std::path::{Path, PathBuf};

use leverframe::store::schema::{NEW_DATABASE, NEW_DATABASE_VERSION, SCHEMA_VERSION};
use rusqlite::Connection;
use rusqlite::types::Value;

use crate::support::world::World;

/// Files of the migrations, in order.
fn migrations() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/store/migrations");
    let files = std::fs::read_dir(folder).unwrap();
    let mut files: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
    files.sort();
    files
}

/// A database that was made by the first migrations, as many as this.
fn migrated(version: i64) -> Connection {
    let conn = Connection::open_in_memory().unwrap();
    conn.pragma_update(None, "foreign_keys", true).unwrap();
    for file in &migrations()[..usize::try_from(version).unwrap()] {
        let statements = std::fs::read_to_string(file).unwrap();
        conn.execute_batch(&format!("BEGIN; {statements}\n COMMIT;"))
            .unwrap();
    }
    conn
}

/// Kind, name and statement of everything in a schema, in the order in which it was made.
fn schema(conn: &Connection) -> Vec<(String, String, Option<String>)> {
    conn.prepare("SELECT type, name, sql FROM sqlite_schema ORDER BY rowid")
        .unwrap()
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap()
}

fn sorted<T: Ord>(mut all: Vec<T>) -> Vec<T> {
    all.sort();
    all
}

/// Every row of every table that has one.
fn rows(conn: &Connection) -> Vec<(String, Vec<Vec<Value>>)> {
    let tables = sorted(schema(conn));
    let tables = tables.into_iter().filter(|(kind, _, _)| kind == "table");
    let rows = |name: &str| -> Vec<Vec<Value>> {
        let mut statement = conn.prepare(&format!("SELECT * FROM \"{name}\"")).unwrap();
        let columns = statement.column_count();
        statement
            .query_map([], |row| (0..columns).map(|n| row.get(n)).collect())
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap()
    };
    tables
        .map(|(_, name, _)| (rows(&name), name))
        .filter(|(rows, _)| !rows.is_empty())
        .map(|(rows, name)| (name, rows))
        .collect()
}

/// Statements that make such a database. SQLite makes the tables behind a full-text index itself.
fn statements(conn: &Connection) -> String {
    let schema = schema(conn);
    let indexes: Vec<&str> = schema
        .iter()
        .filter(|(_, _, sql)| sql.as_ref().is_some_and(|sql| sql.contains("USING fts5")))
        .map(|(_, name, _)| name.as_str())
        .collect();
    let parts = ["data", "idx", "content", "docsize", "config"];
    let own = |name: &str| {
        name == "sqlite_sequence"
            || indexes.iter().any(|index| {
                let rest = name.strip_prefix(index);
                let part = rest.and_then(|rest| rest.strip_prefix('_'));
                part.is_some_and(|part| parts.contains(&part))
            })
    };
    let mut text = format!(
        "-- Schema version {NEW_DATABASE_VERSION} in one piece: what the migrations up to it make of a new file. \
         Later migrations come after it.\n-- `tests/it/store/new_database.rs` compares it with them, and writes it.\n"
    );
    for (kind, name, sql) in &schema {
        let Some(sql) = sql else { continue };
        if kind == "table" && own(name) {
            continue;
        }
        text.push_str(&format!("{sql};\n"));
        if !indexes.contains(&name.as_str()) {
            continue;
        }
        text.push_str(&format!(
            "INSERT INTO {name} ({name}, rank) VALUES ('secure-delete', 1);\n"
        ));
        let totals = format!("SELECT length(block) > 0 FROM {name}_data WHERE id = 1");
        if conn.query_row(&totals, [], |row| row.get(0)).unwrap() {
            text.push_str(&format!(
                "INSERT INTO {name} ({name}) VALUES ('rebuild');\n"
            ));
        }
    }
    text
}

#[test]
fn it_has_the_tables_and_the_rows_that_the_migrations_make() {
    let slow = migrated(NEW_DATABASE_VERSION);
    assert!(
        statements(&slow) == NEW_DATABASE,
        "src/store/new_database.sql is not what the migrations make: run \
         cargo test --test it store::new_database::write_the_statements -- --ignored --exact"
    );
    let fast = Connection::open_in_memory().unwrap();
    fast.execute_batch(NEW_DATABASE).unwrap();
    assert_eq!(sorted(schema(&fast)), sorted(schema(&slow)));
    assert_eq!(rows(&fast), rows(&slow));
}

#[tokio::test]
async fn a_store_that_is_opened_for_the_first_time_has_the_newest_schema() {
    let world = World::new().await;
    let conn = Connection::open(world.dir.join("leverframe.db")).unwrap();
    let version: i64 = conn
        .query_row("PRAGMA user_version", [], |row| row.get(0))
        .unwrap();
    assert_eq!(version, SCHEMA_VERSION);
    assert_eq!(
        sorted(schema(&conn)),
        sorted(schema(&migrated(SCHEMA_VERSION)))
    );
}

#[test]
#[ignore = "writes src/store/new_database.sql"]
fn write_the_statements() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/store/new_database.sql");
    std::fs::write(file, statements(&migrated(NEW_DATABASE_VERSION))).unwrap();
}
