//! Kept results of tools in the file of the response cache.

use rusqlite::{Connection, OptionalExtension, params};
use sha2::{Digest, Sha256};

use crate::clock::Timestamp;
use crate::store::response_cache::types::{KeptResult, Key, Made, NewResult, ResultLookup};

fn sum(key: &Key, content: &str, ran_ms: u64, made: Made, stored_at: i64) -> [u8; 8] {
    let mut hash = Sha256::new();
    hash.update(key);
    hash.update((content.len() as u64).to_be_bytes());
    hash.update(content);
    for number in [ran_ms, made.epoch, made.changes, stored_at as u64] {
        hash.update(number.to_be_bytes());
    }
    let whole: [u8; 32] = hash.finalize().into();
    let mut first = [0; 8];
    first.copy_from_slice(&whole[..8]);
    first
}

pub(super) fn look(
    conn: &Connection,
    key: &Key,
    asked: &Key,
    made: Made,
    ttl_ms: u64,
    now: Timestamp,
) -> rusqlite::Result<ResultLookup> {
    let row = conn
        .prepare_cached(
            "SELECT content, ran_ms, stored_at, epoch, changes, sum FROM results WHERE key = ?1",
        )?
        .query_row([key.as_slice()], |row| {
            let kept = KeptResult {
                content: row.get(0)?,
                ran_ms: row.get(1)?,
                stored_at: Timestamp(row.get(2)?),
            };
            let under = Made {
                epoch: row.get(3)?,
                changes: row.get(4)?,
            };
            Ok((kept, under, row.get::<_, [u8; 8]>(5)?))
        })
        .optional()?;
    let Some((kept, under, written)) = row else {
        let known = conn
            .prepare_cached("SELECT EXISTS (SELECT 1 FROM results WHERE asked = ?1)")?
            .query_row([asked.as_slice()], |row| row.get(0))?;
        return Ok(if known {
            ResultLookup::OtherPolicy
        } else {
            ResultLookup::Nothing
        });
    };
    let whole = written == sum(key, &kept.content, kept.ran_ms, under, kept.stored_at.0);
    // One from the future was written before the clock was set back: nobody can say how old it is.
    let fresh = kept.stored_at <= now && now.millis_since(kept.stored_at) < ttl_ms;
    if whole && under == made && fresh {
        conn.prepare_cached(
            "UPDATE results SET used = (SELECT coalesce(max(used), 0) + 1 FROM results) WHERE key = ?1",
        )?
        .execute([key.as_slice()])?;
        return Ok(ResultLookup::Found(kept));
    }
    conn.prepare_cached("DELETE FROM results WHERE key = ?1")?
        .execute([key.as_slice()])?;
    Ok(if !whole {
        ResultLookup::Nothing
    } else if under != made {
        ResultLookup::Stale
    } else {
        ResultLookup::Expired
    })
}

pub(super) fn put(conn: &Connection, result: &NewResult) -> rusqlite::Result<()> {
    let NewResult {
        key,
        asked,
        channel,
        content,
        ran_ms,
        made,
        stored_at,
    } = result;
    let sum = sum(key, content, *ran_ms, *made, stored_at.0);
    conn.prepare_cached(
        "INSERT OR REPLACE INTO results (key, asked, channel, ran_ms, epoch, changes, bytes, stored_at, used, sum, content)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, (SELECT coalesce(max(used), 0) + 1 FROM results), ?9, ?10)",
    )?
    .execute(params![
        key.as_slice(),
        asked.as_slice(),
        channel,
        ran_ms,
        made.epoch,
        made.changes,
        content.len() as u64,
        stored_at.0,
        sum.as_slice(),
        content
    ])?;
    Ok(())
}

/// Drops what is beyond the limits: used longest ago first.
pub(super) fn make_room(conn: &Connection, most: u64, most_bytes: u64) -> rusqlite::Result<()> {
    loop {
        let (count, bytes) = totals(conn)?;
        if count <= most && bytes <= most_bytes {
            return Ok(());
        }
        conn.prepare_cached(
            "DELETE FROM results WHERE key = (SELECT key FROM results ORDER BY used LIMIT 1)",
        )?
        .execute([])?;
    }
}

/// Number of results and their bytes.
pub(super) fn totals(conn: &Connection) -> rusqlite::Result<(u64, u64)> {
    conn.prepare_cached("SELECT count(*), coalesce(sum(bytes), 0) FROM results")?
        .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))
}

/// Removes the results of a channel, or all: how many, and their bytes.
pub(super) fn purge(conn: &Connection, channel: Option<&str>) -> rusqlite::Result<(u64, u64)> {
    let gone = conn
        .prepare_cached(
            "SELECT count(*), coalesce(sum(bytes), 0) FROM results WHERE ?1 IS NULL OR channel = ?1",
        )?
        .query_row([channel], |row| Ok((row.get(0)?, row.get(1)?)))?;
    conn.prepare_cached("DELETE FROM results WHERE ?1 IS NULL OR channel = ?1")?
        .execute([channel])?;
    Ok(gone)
}
