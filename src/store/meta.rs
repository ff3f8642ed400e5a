//! What the database knows of itself: the table `meta`, one value a key.

use std::str::FromStr;

use crate::clock::Timestamp;
use crate::store::error::StoreError;
use crate::store::sql::{Connection, Statements};

/// A value of the `meta` table.
pub(crate) fn get(conn: &Connection, key: &str) -> Result<Option<String>, StoreError> {
    conn.value_opt("SELECT value FROM meta WHERE key = ?1", [key])
}

/// A number of the `meta` table; none where it is no number.
pub(crate) fn number<T: FromStr>(conn: &Connection, key: &str) -> Result<Option<T>, StoreError> {
    Ok(get(conn, key)?.and_then(|text| text.parse().ok()))
}

/// A time of the `meta` table.
pub(crate) fn time(conn: &Connection, key: &str) -> Result<Option<Timestamp>, StoreError> {
    Ok(number(conn, key)?.map(Timestamp))
}

/// Sets a time of the `meta` table.
pub(crate) fn set_time(conn: &Connection, key: &str, at: Timestamp) -> Result<(), StoreError> {
    set(conn, key, &at.as_millis().to_string())
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
