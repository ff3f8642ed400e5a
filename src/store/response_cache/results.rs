//! Kept results of tools that only read. They live for seconds, in this process only, and nobody misses one: each
//! names the process that made it and how often its workspace had changed by then, and is worth nothing once either
//! differs.

use rusqlite::{Connection, OptionalExtension, params};
use sha2::{Digest, Sha256};

use crate::clock::Timestamp;
use crate::store::response_cache::file::Fault;
use crate::store::response_cache::worker::Worker;
use crate::store::response_cache::{Key, ResponseCache};

/// Under what a result was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Made {
    /// Epoch of the process.
    pub epoch: u64,
    /// How often its workspace had changed in that process.
    pub changes: u64,
}

/// A result to keep.
#[derive(Debug, Clone, PartialEq)]
pub struct NewResult {
    /// Its key.
    pub key: Key,
    /// The key without the versions of policies: tells a call that is known under another policy.
    pub asked: Key,
    /// Channel name.
    pub channel: String,
    /// What the model read, redacted: outside text.
    pub content: String,
    /// Milliseconds the run took.
    pub ran_ms: u64,
    /// Under what it was made.
    pub made: Made,
    /// When.
    pub stored_at: Timestamp,
}

/// A result that was kept.
#[derive(Debug, Clone, PartialEq)]
pub struct KeptResult {
    /// What the model read: outside text.
    pub content: String,
    /// Milliseconds the run took.
    pub ran_ms: u64,
    /// When it ran.
    pub stored_at: Timestamp,
}

/// What a look for a result found.
#[derive(Debug, Clone, PartialEq)]
pub enum ResultLook {
    /// One that may be given.
    Found(KeptResult),
    /// One that was too old; it is gone now.
    Expired,
    /// One from before something changed; it is gone now.
    Stale,
    /// None, but the same call is kept under another policy.
    OtherPolicy,
    /// None.
    Nothing,
    /// The file cannot be used, or did not answer in time.
    Unusable,
}

impl ResponseCache {
    /// Looks for the result of a call, made under the same circumstances and not older than `ttl_ms`.
    pub async fn look_for_result(
        &self,
        key: Key,
        asked: Key,
        made: Made,
        ttl_ms: u64,
        now: Timestamp,
    ) -> ResultLook {
        self.look_with(
            move |worker| worker.look_for_result(&key, &asked, made, ttl_ms, now),
            ResultLook::Unusable,
        )
        .await
    }

    /// Keeps the result of a call, in place of one with the same key. Whoever looks from now on finds it.
    pub fn keep_result(&self, result: NewResult) {
        self.tell(move |worker| worker.keep_result(&result));
    }
}

impl Worker {
    fn look_for_result(
        &mut self,
        key: &Key,
        asked: &Key,
        made: Made,
        ttl_ms: u64,
        now: Timestamp,
    ) -> ResultLook {
        self.with(|worker| Ok(look(worker.conn()?, key, asked, made, ttl_ms, now)?))
            .unwrap_or(ResultLook::Unusable)
    }

    fn keep_result(&mut self, result: &NewResult) {
        let (most, most_bytes) = (self.options.max_results, self.options.max_result_bytes);
        // A fault was noted, and the result is kept nowhere.
        let _ = self.with(|worker| {
            worker.conn()?.execute_batch("BEGIN IMMEDIATE")?;
            put(worker.conn()?, result)?;
            make_room(worker.conn()?, most, most_bytes)?;
            Ok::<(), Fault>(worker.conn()?.execute_batch("COMMIT")?)
        });
    }
}

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

fn look(
    conn: &Connection,
    key: &Key,
    asked: &Key,
    made: Made,
    ttl_ms: u64,
    now: Timestamp,
) -> rusqlite::Result<ResultLook> {
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
            ResultLook::OtherPolicy
        } else {
            ResultLook::Nothing
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
        return Ok(ResultLook::Found(kept));
    }
    conn.prepare_cached("DELETE FROM results WHERE key = ?1")?
        .execute([key.as_slice()])?;
    Ok(if !whole {
        ResultLook::Nothing
    } else if under != made {
        ResultLook::Stale
    } else {
        ResultLook::Expired
    })
}

fn put(conn: &Connection, result: &NewResult) -> rusqlite::Result<()> {
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
fn make_room(conn: &Connection, most: u64, most_bytes: u64) -> rusqlite::Result<()> {
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

/// Forgets the results of a channel, or all: how many, and their bytes.
pub(super) fn forget(conn: &Connection, channel: Option<&str>) -> rusqlite::Result<(u64, u64)> {
    let gone = conn
        .prepare_cached(
            "SELECT count(*), coalesce(sum(bytes), 0) FROM results WHERE ?1 IS NULL OR channel = ?1",
        )?
        .query_row([channel], |row| Ok((row.get(0)?, row.get(1)?)))?;
    conn.prepare_cached("DELETE FROM results WHERE ?1 IS NULL OR channel = ?1")?
        .execute([channel])?;
    Ok(gone)
}
