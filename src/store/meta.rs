//! What the database knows of itself: the table `meta`, one value a key.

use crate::store::error::StoreError;
use crate::store::sql::{Connection, Statements};

/// A value of the `meta` table.
pub(crate) fn get(conn: &Connection, key: &str) -> Result<Option<String>, StoreError> {
    conn.value_opt("SELECT value FROM meta WHERE key = ?1", [key])
}

/// Sets a value of the `meta` table.
pub(crate) fn set(conn: &Connection, key: &str, value: &str) -> Result<(), StoreError> {
    conn.run(
        "INSERT INTO meta (key, value) VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        [key, value],
    )?;
    Ok(())
}

/// Removes a value of the `meta` table.
pub(crate) fn clear(conn: &Connection, key: &str) -> Result<(), StoreError> {
    conn.run("DELETE FROM meta WHERE key = ?1", [key])?;
    Ok(())
}

/// Gives a database a name of its own that no other has, once.
pub(crate) fn ensure_identity(conn: &Connection) -> Result<(), StoreError> {
    conn.run(
        "INSERT INTO meta (key, value) VALUES ('identity', lower(hex(randomblob(16)))) ON CONFLICT (key) DO NOTHING",
        [],
    )?;
    Ok(())
}

/// Whether the database is a restored copy that waits for release.
pub(crate) fn quarantined(conn: &Connection) -> Result<bool, StoreError> {
    Ok(get(conn, "quarantine")?.is_some())
}
