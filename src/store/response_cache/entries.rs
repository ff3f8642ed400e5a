//! The statements on cached responses. Whoever calls them has the file open and decides what an error means.

use rusqlite::{Connection, OptionalExtension, Row, params};
use sha2::{Digest, Sha256};

use crate::clock::Timestamp;
use crate::protocol::cache::CacheEntry;
use crate::protocol::enums::CacheScope;
use crate::protocol::hex::hex;
use crate::protocol::session::Usage;
use crate::store::response_cache::types::{Key, NewEntry, StoredAnswer};
use crate::store::rows::preview;

/// What a look reads.
pub(super) struct EntryRow {
    pub(super) row: i64,
    pub(super) found: StoredAnswer,
    pub(super) bytes: u64,
    pub(super) pinned: bool,
    /// Whether it reads back as it was written.
    pub(super) whole: bool,
    pub(super) channel: String,
    pub(super) scope: CacheScope,
}

/// What went.
#[derive(Debug, Clone)]
pub(super) struct Gone {
    pub(super) row: i64,
    pub(super) bytes: u64,
    pub(super) channel: String,
    pub(super) scope: CacheScope,
    pub(super) model: String,
}

fn sum(key: &[u8], answer: &str, model: &str, usage: &Usage, stored_at: i64) -> [u8; 8] {
    let mut hash = Sha256::new();
    hash.update(key);
    for text in [answer, model] {
        hash.update((text.len() as u64).to_be_bytes());
        hash.update(text.as_bytes());
    }
    for number in [
        usage.input_tokens,
        usage.output_tokens,
        usage.cached_input_tokens,
        usage.cache_write_tokens,
        stored_at as u64,
        usage.cost_usd.map_or(u64::MAX, f64::to_bits),
    ] {
        hash.update(number.to_be_bytes());
    }
    let whole: [u8; 32] = hash.finalize().into();
    let mut first = [0; 8];
    first.copy_from_slice(&whole[..8]);
    first
}

fn usage(row: &Row<'_>, at: usize) -> rusqlite::Result<Usage> {
    Ok(Usage {
        input_tokens: row.get(at)?,
        output_tokens: row.get(at + 1)?,
        cached_input_tokens: row.get(at + 2)?,
        cache_write_tokens: row.get(at + 3)?,
        cost_usd: row.get(at + 4)?,
    })
}

fn scope(row: &Row<'_>, at: usize) -> rusqlite::Result<CacheScope> {
    // A word of another version: nobody is given it.
    Ok(row.get::<_, String>(at)?.parse().unwrap_or(CacheScope::Off))
}

/// The entry with this key.
pub(super) fn find(conn: &Connection, key: &Key) -> rusqlite::Result<Option<EntryRow>> {
    conn.prepare_cached(
        "SELECT row, answer, model, input_tokens, output_tokens, cached_tokens, cache_write_tokens, cost_usd, stored_at,
            bytes, pinned, sum, channel, scope FROM entries WHERE key = ?1",
    )?
    .query_row([key.as_slice()], |row| {
        let found = StoredAnswer {
            answer: row.get(1)?,
            model: row.get(2)?,
            usage: usage(row, 3)?,
            stored_at: Timestamp(row.get(8)?),
        };
        let written: [u8; 8] = row.get(11)?;
        Ok(EntryRow {
            row: row.get(0)?,
            whole: written
                == sum(key, &found.answer, &found.model, &found.usage, found.stored_at.0),
            found,
            bytes: row.get(9)?,
            pinned: row.get(10)?,
            channel: row.get(12)?,
            scope: scope(row, 13)?,
        })
    })
    .optional()
}

/// Whether any answer to this question is kept.
pub(super) fn question_known(conn: &Connection, asked: &[u8; 16]) -> rusqlite::Result<bool> {
    conn.prepare_cached("SELECT EXISTS (SELECT 1 FROM entries WHERE asked = ?1)")?
        .query_row([asked.as_slice()], |row| row.get(0))
}

/// Keeps an answer; the bytes of the one it replaces, if there was one.
pub(super) fn put(
    conn: &Connection,
    entry: &NewEntry,
    bytes: u64,
    used: i64,
) -> rusqlite::Result<Option<u64>> {
    let before = conn
        .prepare_cached("SELECT bytes FROM entries WHERE key = ?1")?
        .query_row([entry.key.as_slice()], |row| row.get(0))
        .optional()?;
    let stored_at = entry.stored_at.as_millis();
    let sum = sum(
        &entry.key,
        &entry.answer,
        &entry.model,
        &entry.usage,
        stored_at,
    );
    conn.prepare_cached(
        "INSERT INTO entries (key, asked, channel, scope, requester, model, question, answer, input_tokens, output_tokens,
            cached_tokens, cache_write_tokens, cost_usd, bytes, stored_at, used, sum)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)
         ON CONFLICT (key) DO UPDATE SET requester = excluded.requester, model = excluded.model,
            question = excluded.question, answer = excluded.answer, input_tokens = excluded.input_tokens,
            output_tokens = excluded.output_tokens, cached_tokens = excluded.cached_tokens,
            cache_write_tokens = excluded.cache_write_tokens, cost_usd = excluded.cost_usd, bytes = excluded.bytes,
            stored_at = excluded.stored_at, used = excluded.used, sum = excluded.sum",
    )?
    .execute(params![
        entry.key.as_slice(),
        entry.asked.as_slice(),
        entry.channel,
        entry.scope.as_str(),
        entry.requester,
        entry.model,
        entry.question,
        entry.answer,
        entry.usage.input_tokens,
        entry.usage.output_tokens,
        entry.usage.cached_input_tokens,
        entry.usage.cache_write_tokens,
        entry.usage.cost_usd,
        bytes,
        stored_at,
        used,
        sum.as_slice()
    ])?;
    Ok(before)
}

/// Notes uses that were collected in memory.
pub(super) fn touch(
    conn: &Connection,
    row: i64,
    used: i64,
    hits: u64,
    at: Timestamp,
) -> rusqlite::Result<()> {
    conn.prepare_cached(
        "UPDATE entries SET used = ?2, hits = hits + ?3, used_at = ?4 WHERE row = ?1",
    )?
    .execute(params![row, used, hits, at.as_millis()])?;
    Ok(())
}

/// Removes one entry.
pub(super) fn remove(conn: &Connection, row: i64) -> rusqlite::Result<()> {
    conn.prepare_cached("DELETE FROM entries WHERE row = ?1")?
        .execute([row])?;
    Ok(())
}

const GONE: &str = "SELECT row, bytes, channel, scope, model FROM entries";

fn gone(row: &Row<'_>) -> rusqlite::Result<Gone> {
    Ok(Gone {
        row: row.get(0)?,
        bytes: row.get(1)?,
        channel: row.get(2)?,
        scope: scope(row, 3)?,
        model: row.get(4)?,
    })
}

/// The entry that was used longest ago and may go.
pub(super) fn oldest(conn: &Connection) -> rusqlite::Result<Option<Gone>> {
    conn.prepare_cached(&format!("{GONE} WHERE pinned = 0 ORDER BY used LIMIT 1"))?
        .query_row([], gone)
        .optional()
}

/// At most 256 entries that are too old, or from a future that a clock has been set back from.
pub(super) fn too_old(
    conn: &Connection,
    before: Timestamp,
    now: Timestamp,
) -> rusqlite::Result<Vec<Gone>> {
    conn.prepare_cached(&format!(
        "{GONE} WHERE pinned = 0 AND (stored_at <= ?1 OR stored_at > ?2) LIMIT 256"
    ))?
    .query_map([before.as_millis(), now.as_millis()], gone)?
    .collect()
}

/// Entries of a channel, or all.
pub(super) fn of_channel(conn: &Connection, channel: Option<&str>) -> rusqlite::Result<Vec<Gone>> {
    conn.prepare_cached(&format!("{GONE} WHERE ?1 IS NULL OR channel = ?1"))?
        .query_map([channel], gone)?
        .collect()
}

/// Entries of one who asked.
pub(super) fn of_requester(conn: &Connection, requester: &str) -> rusqlite::Result<Vec<Gone>> {
    conn.prepare_cached(&format!("{GONE} WHERE requester = ?1"))?
        .query_map([requester], gone)?
        .collect()
}

/// Number of entries, their bytes, the pinned ones, and the highest order of use.
pub(super) fn totals(conn: &Connection) -> rusqlite::Result<(u64, u64, i64)> {
    conn.query_row(
        "SELECT count(*), coalesce(sum(bytes), 0), coalesce(max(used), 0) FROM entries",
        [],
        |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
    )
}

/// Number of pinned entries.
pub(super) fn pinned(conn: &Connection) -> rusqlite::Result<u64> {
    conn.query_row("SELECT count(*) FROM entries WHERE pinned = 1", [], |row| {
        row.get(0)
    })
}

/// Pins, or no longer.
pub(super) fn set_pinned(conn: &Connection, row: i64, pinned: bool) -> rusqlite::Result<()> {
    conn.prepare_cached("UPDATE entries SET pinned = ?2 WHERE row = ?1")?
        .execute(params![row, pinned])?;
    Ok(())
}

const SHOWN: &str = "SELECT row, key, channel, scope, requester, model, question, answer, input_tokens, output_tokens,
    cached_tokens, cache_write_tokens, cost_usd, bytes, hits, pinned, stored_at, used_at FROM entries";

fn shown(row: &Row<'_>, ttl_ms: u64) -> rusqlite::Result<(i64, CacheEntry)> {
    let key: [u8; 32] = row.get(1)?;
    let pinned: bool = row.get(15)?;
    let stored_at = Timestamp(row.get(16)?);
    let ttl = i64::try_from(ttl_ms).unwrap_or(i64::MAX);
    Ok((
        row.get(0)?,
        CacheEntry {
            id: id_of(&key),
            channel: row.get(2)?,
            scope: scope(row, 3)?,
            requester: row.get(4)?,
            model: row.get(5)?,
            question: row.get(6)?,
            answer: row.get(7)?,
            usage: usage(row, 8)?,
            bytes: row.get(13)?,
            hits: row.get(14)?,
            pinned,
            stored_at,
            used_at: row.get::<_, Option<i64>>(17)?.map(Timestamp),
            expires_at: (!pinned).then(|| stored_at.plus_millis(ttl)),
        },
    ))
}

/// What people call an entry.
pub(super) fn id_of(key: &[u8; 32]) -> String {
    let mut id = hex(key);
    id.truncate(16);
    id
}

/// At most `limit` entries below a row, newest first, with shortened texts.
pub(super) fn list(
    conn: &Connection,
    channel: Option<&str>,
    below: i64,
    limit: u32,
    ttl_ms: u64,
) -> rusqlite::Result<Vec<(i64, CacheEntry)>> {
    conn.prepare_cached(&format!(
        "{SHOWN} WHERE row < ?1 AND (?2 IS NULL OR channel = ?2) ORDER BY row DESC LIMIT ?3"
    ))?
    .query_map(params![below, channel, limit], |row| {
        let (at, mut entry) = shown(row, ttl_ms)?;
        entry.question = preview(&entry.question);
        entry.answer = preview(&entry.answer);
        Ok((at, entry))
    })?
    .collect()
}

/// At most two entries whose key begins like this.
pub(super) fn starting(
    conn: &Connection,
    from: &[u8; 32],
    to: &[u8; 32],
    ttl_ms: u64,
) -> rusqlite::Result<Vec<(i64, CacheEntry)>> {
    conn.prepare_cached(&format!("{SHOWN} WHERE key BETWEEN ?1 AND ?2 LIMIT 2"))?
        .query_map([from.as_slice(), to.as_slice()], |row| shown(row, ttl_ms))?
        .collect()
}
