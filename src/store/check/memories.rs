//! What is remembered: states that make sense, an index that holds exactly what the table does.

use crate::protocol::ids::MemoryId;
use crate::store::check::rule::{Found, Rule, Subject, code, query};
use crate::store::error::StoreError;
use crate::store::ops::memories::digest;
use crate::store::reader::Reader;

pub(crate) const RULES: &[Rule] = &[
    query(
        "memory",
        "a memory is replaced by nothing, or replaced and recalled all the same",
        "memories",
        Subject::Memory,
        "SELECT id, state FROM memories
         WHERE (superseded_by IS NOT NULL) <> (state = 'superseded' OR archived_from IS 'superseded')
            OR superseded_by = id",
    ),
    query(
        "memory",
        "a memory of a session is not in its session's channel",
        "memories WHERE session_id IS NOT NULL",
        Subject::Memory,
        "SELECT m.id FROM memories m JOIN sessions s ON s.id = m.session_id WHERE m.channel IS NOT s.channel",
    ),
    query(
        "memory",
        "a memory cannot be found, because the index lacks it",
        "memories",
        Subject::Memory,
        "SELECT id FROM memories WHERE position NOT IN (SELECT id FROM memory_fts_docsize)",
    ),
    query(
        "memory",
        "the index holds a memory that is gone",
        "memory_fts_docsize",
        Subject::Text,
        "SELECT CAST(id AS TEXT) FROM memory_fts_docsize WHERE id NOT IN (SELECT position FROM memories)",
    ),
    code(
        "memory",
        "a memory's digest is not that of its text",
        digests,
    ),
];

fn digests(reader: &Reader<'_>, found: &mut Found) -> Result<(), StoreError> {
    let mut statement = reader
        .conn
        .prepare("SELECT id, text, digest FROM memories")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        found.rows += 1;
        let text: String = row.get(1)?;
        if digest(&text) != row.get::<_, [u8; 32]>(2)? {
            let id = MemoryId::from_bytes(row.get(0)?);
            found.add(|| id.to_string());
        }
    }
    Ok(())
}
