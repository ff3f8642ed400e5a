//! The files themselves: pages and references of the database, and the content of artifacts.
//!
//! SQLite does not look at CHECK constraints through a connection that cannot write; those are kept by every write.

use std::path::Path;

use sha2::{Digest as _, Sha256};

use crate::store::artifact_files::{FOLDER, path_of};
use crate::store::backup::digest;
use crate::store::check::rule::{Findings, Rule, Violation, code};
use crate::store::error::StoreError;
use crate::store::reader::Reader;
use crate::store::sql::Statements;

/// The rule about references, which looks at what rows say.
pub(crate) const REFERENCES: &str = "row that refers to one that is not there";

pub(crate) const RULES: &[Rule] = &[
    code("file", "page that SQLite finds broken", quick_check),
    code("file", REFERENCES, foreign_keys),
    code(
        "I25",
        "artifact whose file is not there or has another content",
        artifacts,
    ),
    code(
        "I32",
        "dataset whose file is not there or has another content",
        datasets,
    ),
];

fn quick_check(reader: &Reader<'_>, found: &mut Findings) -> Result<(), StoreError> {
    found.rows = reader.conn.value("PRAGMA page_count", [])?;
    // A connection that looked at the search index before goes on with what it read then, and would find it broken where
    // only somebody wrote to it since. Opening the index for reading makes it look again.
    for index in ["memory_fts", "memory_pairs"] {
        let exists: bool = reader.conn.value(
            "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = ?1)",
            [index],
        )?;
        if exists {
            let again = format!("SELECT count(*) FROM (SELECT rowid FROM {index} LIMIT 1)");
            reader.conn.row(&again, [], |_| Ok(()))?;
        }
    }
    reader.conn.each("PRAGMA quick_check", [], |row| {
        let line: String = row.first()?;
        if line != "ok" {
            found.add(|| line);
        }
        Ok(())
    })?;
    Ok(())
}

/// The files lie beside the database, wherever that is.
fn artifacts(reader: &Reader<'_>, found: &mut Findings) -> Result<(), StoreError> {
    found.rows = reader.conn.value("SELECT count(*) FROM artifacts", [])?;
    let dir = reader.conn.path().map(Path::new).and_then(Path::parent);
    for wrong in check_artifacts(reader, dir.unwrap_or(Path::new(".")))? {
        found.add(|| wrong.detail);
    }
    Ok(())
}

/// I25: every row has its file below the data directory, with that size and that hash.
pub fn check_artifacts(reader: &Reader<'_>, data_dir: &Path) -> Result<Vec<Violation>, StoreError> {
    let root = data_dir.join(FOLDER);
    let mut found = Vec::new();
    reader.conn.each(
        "SELECT hash, size FROM artifacts ORDER BY hash",
        [],
        |row| {
            let hash = row.get("hash")?;
            let size: u64 = row.get("size")?;
            let wrong = match std::fs::read(path_of(&root, hash)) {
                Err(error) => Some(format!("its file cannot be read: {error}")),
                Ok(content) if content.len() as u64 != size => Some(format!(
                    "its file has {} bytes, the row says {size}",
                    content.len()
                )),
                Ok(content) if Sha256::digest(&content).as_slice() != hash.to_bytes() => {
                    Some("its file has another content".to_owned())
                }
                Ok(_) => None,
            };
            found.extend(wrong.map(|wrong| Violation {
                invariant: "I25",
                detail: format!("artifact {hash}: {wrong}"),
            }));
            Ok(())
        },
    )?;
    Ok(found)
}

/// I32: every row has its file below the data directory, with that size and that hash.
fn datasets(reader: &Reader<'_>, found: &mut Findings) -> Result<(), StoreError> {
    let dir = reader.conn.path().map(Path::new).and_then(Path::parent);
    let dir = dir.unwrap_or(Path::new(".")).to_owned();
    for dataset in reader.dataset_files()? {
        found.rows += 1;
        let content = std::fs::File::open(dir.join(&dataset.path));
        let wrong = match content.and_then(|mut file| digest(&mut file)) {
            Err(error) => Some(format!("its file cannot be read: {error}")),
            Ok((_, size)) if size != dataset.size => Some(format!(
                "its file has {size} bytes, the row says {}",
                dataset.size
            )),
            Ok((sha256, _)) if sha256 != dataset.sha256 => {
                Some("its file has another content".to_owned())
            }
            Ok(_) => None,
        };
        if let Some(wrong) = wrong {
            found.add(|| format!("{}: {wrong}", dataset.path));
        }
    }
    Ok(())
}

fn foreign_keys(reader: &Reader<'_>, found: &mut Findings) -> Result<(), StoreError> {
    let tables: Vec<String> = reader.conn.values(
        "SELECT DISTINCT m.name FROM sqlite_schema m JOIN pragma_foreign_key_list(m.name) WHERE m.type = 'table'",
        [],
    )?;
    for table in tables {
        let count = format!("SELECT count(*) FROM \"{table}\"");
        found.rows += reader.conn.value::<u64>(&count, [])?;
    }
    reader.conn.each("PRAGMA foreign_key_check", [], |row| {
        let table: String = row.get("table")?;
        let position: Option<i64> = row.get("rowid")?;
        let parent: String = row.get("parent")?;
        found.add(|| match position {
            Some(position) => format!("{table} row {position} refers to {parent}"),
            None => format!("{table} refers to {parent}"),
        });
        Ok(())
    })?;
    Ok(())
}
