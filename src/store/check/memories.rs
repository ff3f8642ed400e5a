//! M1: what is remembered is in a state that makes sense, in a place that is one, and equal texts are known as such.

use crate::protocol::ids::MemoryId;
use crate::store::check::rule::{Findings, Rule, Subject, code, query};
use crate::store::error::StoreError;
use crate::store::reader::Reader;
use crate::store::rows::digest;
use crate::store::sql::Statements;
use crate::store::vectors;

pub(crate) const RULES: &[Rule] = &[
    query(
        "M1",
        "memory that is replaced by nothing, or replaced and recalled all the same",
        "memories",
        Subject::Memory,
        "SELECT id, state AS note FROM memories
         WHERE (superseded_by IS NOT NULL) <> (state = 'superseded' OR archived_from IS 'superseded')
            OR superseded_by = id",
    ),
    query(
        "M1",
        "memory of a session that is not in its session's channel",
        "memories WHERE session_id IS NOT NULL",
        Subject::Memory,
        "SELECT m.id FROM memories m JOIN sessions s ON s.id = m.session_id WHERE m.channel IS NOT s.channel",
    ),
    query(
        "M1",
        "embedding of a memory that is gone, or of a text that its memory does not have",
        "memory_vectors",
        Subject::Memory,
        "SELECT v.memory_id FROM memory_vectors v LEFT JOIN memories m ON m.id = v.memory_id
         WHERE m.digest IS NOT v.digest",
    ),
    code("M1", "embedding that is not of length 1", lengths),
    code(
        "M1",
        "memory whose digest is not that of its text",
        digests,
    ),
];

/// A vector of another length would be nearer to everything, or to nothing, than it is.
fn lengths(reader: &Reader<'_>, found: &mut Findings) -> Result<(), StoreError> {
    reader
        .conn
        .each("SELECT memory_id, vector FROM memory_vectors", [], |row| {
            found.rows += 1;
            let vector = row.bytes("vector").unwrap_or_default();
            let square = vectors::square(vector);
            if !(0.99..=1.01).contains(&square) {
                let id: MemoryId = row.get("memory_id")?;
                found.add(|| id.to_string());
            }
            Ok(())
        })?;
    Ok(())
}

fn digests(reader: &Reader<'_>, found: &mut Findings) -> Result<(), StoreError> {
    reader
        .conn
        .each("SELECT id, text, digest FROM memories", [], |row| {
            found.rows += 1;
            let text: String = row.get("text")?;
            if digest(&text) != row.get::<[u8; 32]>("digest")? {
                let id: MemoryId = row.get("id")?;
                found.add(|| id.to_string());
            }
            Ok(())
        })?;
    Ok(())
}
