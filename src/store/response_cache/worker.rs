//! What the cache's thread does. Every fault of the file ends here: it is made anew or left alone, and said.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use rusqlite::Connection;

use crate::clock::Timestamp;
use crate::protocol::cache::{CacheEntry, CachePurge, CachePurgeResult};
use crate::protocol::enums::CacheEviction;
use crate::protocol::hex::from_hex;
use crate::protocol::snapshot::{Page, PageRequest};
use crate::store::response_cache::counters::{
    self, CounterKey, CounterKind, Delta, Row, local_day,
};
use crate::store::response_cache::entries::{self, Gone};
use crate::store::response_cache::file::{self, CacheFile, Fault};
use crate::store::response_cache::result_rows;
use crate::store::response_cache::types::{
    CacheError, CacheState, Key, NewEntry, Options, Picture, Problem, unpoisoned,
};

/// Uses that are collected before they are written.
const TOUCHES: usize = 64;
/// Between two looks for entries that are too old.
const SWEEP_EVERY: Duration = Duration::from_secs(60);
/// After a file could not be opened, until it is tried again.
const TRY_AGAIN_AFTER: Duration = Duration::from_millis(500);

#[derive(Debug, Clone, Copy)]
struct Touch {
    used: i64,
    hits: u64,
    at: Timestamp,
}

pub(super) struct Worker {
    pub(super) options: Options,
    file: Option<CacheFile>,
    count: u64,
    bytes: u64,
    /// Highest order of use so far.
    used: i64,
    touched: HashMap<i64, Touch>,
    pending: HashMap<CounterKey, Delta>,
    /// Why the file cannot be used; set before anybody is answered.
    problem: Problem,
    failed: Option<Instant>,
    swept: Option<Instant>,
}

impl Worker {
    pub(super) fn new(options: Options, problem: Problem) -> Self {
        Self {
            options,
            file: None,
            count: 0,
            bytes: 0,
            used: 0,
            touched: HashMap::new(),
            pending: HashMap::new(),
            problem,
            failed: None,
            swept: None,
        }
    }

    fn set_problem(&self, problem: Option<String>) {
        *unpoisoned(&self.problem) = problem;
    }

    /// Whether something is only in memory that a file could take.
    pub(super) fn is_dirty(&self) -> bool {
        unpoisoned(&self.problem).is_none() && !(self.touched.is_empty() && self.pending.is_empty())
    }

    /// The open file, opened (or made) now when it has to be.
    fn open(&mut self) -> Result<(), Fault> {
        if self
            .file
            .as_ref()
            .is_some_and(|file| !file.is_at(&self.options.path))
        {
            tracing::info!("the response cache was deleted; it begins anew");
            self.let_go();
        }
        if self.file.is_some() {
            return Ok(());
        }
        if self
            .failed
            .is_some_and(|failed| failed.elapsed() < TRY_AGAIN_AFTER)
        {
            let why = unpoisoned(&self.problem).clone();
            return Err(Fault::Unusable(why.unwrap_or_default()));
        }
        let opened = match CacheFile::open(&self.options.path) {
            Err(Fault::Worthless(why)) => {
                tracing::warn!(%why, "the response cache is made anew");
                file::delete(&self.options.path)
                    .map_err(|error| Fault::Unusable(format!("it cannot be deleted: {error}")))?;
                CacheFile::open(&self.options.path)
            }
            other => other,
        };
        let opened = match opened {
            Ok(opened) => opened,
            Err(fault) => {
                self.failed = Some(Instant::now());
                return Err(fault);
            }
        };
        let (count, bytes, used) = entries::totals(&opened.conn)?;
        (self.count, self.bytes, self.used) = (count, bytes, used);
        self.file = Some(opened);
        self.failed = None;
        Ok(())
    }

    fn let_go(&mut self) {
        self.file = None;
        self.touched.clear();
        (self.count, self.bytes, self.used) = (0, 0, 0);
    }

    /// Does something with the file. What is worthless is deleted, so that the next use begins anew; every fault is
    /// noted, and success clears the note.
    pub(super) fn with<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, Fault>,
    ) -> Result<T, String> {
        let done = self.open().and_then(|()| work(self));
        if done.is_err()
            && let Some(file) = &self.file
            && !file.conn.is_autocommit()
        {
            // Half of a change is taken back, and what was counted in memory is read anew.
            let _ = file.conn.execute_batch("ROLLBACK");
            self.let_go();
        }
        match done {
            Ok(value) => {
                self.set_problem(None);
                Ok(value)
            }
            Err(Fault::Worthless(why)) => {
                tracing::warn!(%why, "the response cache is damaged and made anew");
                self.let_go();
                let why = match file::delete(&self.options.path) {
                    Ok(()) => {
                        self.set_problem(None);
                        why
                    }
                    Err(error) => {
                        self.failed = Some(Instant::now());
                        let why = format!("{why}, and it cannot be deleted: {error}");
                        self.set_problem(Some(why.clone()));
                        why
                    }
                };
                Err(why)
            }
            Err(Fault::Unusable(why)) => {
                if unpoisoned(&self.problem).as_ref() != Some(&why) {
                    tracing::warn!(%why, "the response cache cannot be used");
                }
                self.set_problem(Some(why.clone()));
                Err(why)
            }
        }
    }

    pub(super) fn conn(&self) -> Result<&Connection, Fault> {
        match &self.file {
            Some(file) => Ok(&file.conn),
            None => Err(Fault::Unusable("it is not open".to_owned())),
        }
    }

    pub(super) fn look(&mut self, key: &Key, asked: &[u8; 16], now: Timestamp) -> CacheState {
        self.with(|worker| worker.look_in_file(key, asked, now))
            .unwrap_or(CacheState::Unusable)
    }

    fn look_in_file(
        &mut self,
        key: &Key,
        asked: &[u8; 16],
        now: Timestamp,
    ) -> Result<CacheState, Fault> {
        let Some(kept) = entries::find(self.conn()?, key)? else {
            return Ok(if entries::question_known(self.conn()?, asked)? {
                CacheState::Changed
            } else {
                CacheState::Nothing
            });
        };
        let age = now.millis_since(kept.found.stored_at);
        // An entry from the future was written before the clock was set back: nobody can say how old it is.
        let fresh = kept.found.stored_at <= now && age < self.options.ttl_ms;
        let cause = if !kept.whole {
            Some(CacheEviction::Damaged)
        } else if !fresh && !kept.pinned {
            Some(CacheEviction::Expired)
        } else {
            None
        };
        let Some(cause) = cause else {
            self.used += 1;
            let touch = self.touched.entry(kept.row).or_insert(Touch {
                used: 0,
                hits: 0,
                at: now,
            });
            touch.used = self.used;
            touch.hits += 1;
            touch.at = now;
            if self.touched.len() >= TOUCHES {
                self.write_out()?;
            }
            return Ok(CacheState::Found(kept.found));
        };
        let gone = Gone {
            row: kept.row,
            bytes: kept.bytes,
            channel: kept.channel,
            scope: kept.scope,
            model: kept.found.model,
        };
        self.drop_entry(&gone, cause, &local_day(now))?;
        Ok(match cause {
            CacheEviction::Expired => CacheState::Expired,
            CacheEviction::Damaged
            | CacheEviction::Count
            | CacheEviction::Size
            | CacheEviction::Purged => CacheState::Nothing,
        })
    }

    fn drop_entry(&mut self, gone: &Gone, cause: CacheEviction, day: &str) -> Result<(), Fault> {
        entries::remove(self.conn()?, gone.row)?;
        self.touched.remove(&gone.row);
        self.count = self.count.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(gone.bytes);
        self.count(
            CounterKey {
                day: day.to_owned(),
                channel: gone.channel.clone(),
                model: gone.model.clone(),
                scope: gone.scope,
                counted: CounterKind::Evicted(cause),
            },
            Delta::ONCE,
        );
        Ok(())
    }

    pub(super) fn knows_question(&mut self, asked: &[u8; 16]) -> bool {
        self.with(|worker| Ok(entries::question_known(worker.conn()?, asked)?))
            .unwrap_or(false)
    }

    pub(super) fn keep(&mut self, entry: &NewEntry) {
        let kept = self.with(|worker| {
            worker.conn()?.execute_batch("BEGIN IMMEDIATE")?;
            worker.keep_in_file(entry)?;
            Ok(worker.conn()?.execute_batch("COMMIT")?)
        });
        if kept.is_ok() {
            self.count(
                CounterKey {
                    day: local_day(entry.stored_at),
                    channel: entry.channel.clone(),
                    model: entry.model.clone(),
                    scope: entry.scope,
                    counted: CounterKind::Store,
                },
                Delta::ONCE,
            );
        }
    }

    fn keep_in_file(&mut self, entry: &NewEntry) -> Result<(), Fault> {
        let bytes = (entry.question.len() + entry.answer.len()) as u64;
        self.used += 1;
        match entries::put(self.conn()?, entry, bytes, self.used)? {
            Some(before) => self.bytes = self.bytes.saturating_sub(before) + bytes,
            None => {
                self.count += 1;
                self.bytes += bytes;
            }
        }
        self.make_room(entry.stored_at)
    }

    /// Drops what is too old, now and then, and whatever is beyond the limits: used longest ago first.
    fn make_room(&mut self, now: Timestamp) -> Result<(), Fault> {
        let over = |worker: &Self| {
            worker.count > worker.options.max_entries || worker.bytes > worker.options.max_bytes
        };
        let day = local_day(now);
        if over(self) || self.swept.is_none_or(|at| at.elapsed() > SWEEP_EVERY) {
            self.swept = Some(Instant::now());
            let ttl = i64::try_from(self.options.ttl_ms).unwrap_or(i64::MAX);
            for gone in entries::too_old(self.conn()?, now.plus_millis(-ttl), now)? {
                self.drop_entry(&gone, CacheEviction::Expired, &day)?;
            }
        }
        if over(self) {
            // So that the order of use is the true one.
            self.write_touches()?;
        }
        while over(self) {
            let cause = if self.count > self.options.max_entries {
                CacheEviction::Count
            } else {
                CacheEviction::Size
            };
            let Some(gone) = entries::oldest(self.conn()?)? else {
                // Everything is pinned: the operator wanted it so.
                break;
            };
            self.drop_entry(&gone, cause, &day)?;
        }
        Ok(())
    }

    pub(super) fn count(&mut self, key: CounterKey, delta: Delta) {
        self.pending.entry(key).or_default().add(delta);
    }

    fn write_touches(&mut self) -> Result<(), Fault> {
        let conn = self.conn()?;
        for (row, touch) in &self.touched {
            entries::touch(conn, *row, touch.used, touch.hits, touch.at)?;
        }
        self.touched.clear();
        Ok(())
    }

    /// Writes uses and counters in one transaction.
    fn write_out(&mut self) -> Result<(), Fault> {
        let conn = self.conn()?;
        conn.execute_batch("BEGIN IMMEDIATE")?;
        for (row, touch) in &self.touched {
            entries::touch(conn, *row, touch.used, touch.hits, touch.at)?;
        }
        counters::write(conn, &self.pending)?;
        conn.execute_batch("COMMIT")?;
        self.touched.clear();
        self.pending.clear();
        Ok(())
    }

    /// Writes what is only in memory.
    pub(super) fn flush(&mut self) {
        if !(self.touched.is_empty() && self.pending.is_empty()) {
            // A fault was noted; what could not be written stays for the next time.
            let _ = self.with(Self::write_out);
        }
    }

    pub(super) fn picture(&mut self) -> Picture {
        let read = self.with(|worker| {
            worker.write_out()?;
            let conn = worker.conn()?;
            let (results, result_bytes) = result_rows::totals(conn)?;
            Ok(Picture {
                entries: worker.count,
                pinned: entries::pinned(conn)?,
                bytes: worker.bytes,
                results,
                result_bytes,
                rows: counters::read(conn)?,
                problem: None,
            })
        });
        read.unwrap_or_else(|why| Picture {
            rows: self
                .pending
                .iter()
                .map(|(key, sum)| Row {
                    key: key.clone(),
                    sum: *sum,
                })
                .collect(),
            problem: Some(why),
            ..Picture::default()
        })
    }

    pub(super) fn list(
        &mut self,
        channel: Option<&str>,
        page: &PageRequest,
    ) -> Result<Page<CacheEntry>, CacheError> {
        let limit = page.limit.unwrap_or(100).clamp(1, 500);
        let below = page
            .cursor
            .as_ref()
            .and_then(|cursor| cursor.parse().ok())
            .unwrap_or(i64::MAX);
        let ttl = self.options.ttl_ms;
        let mut found = self
            .with(|worker| {
                worker.write_touches()?;
                Ok(entries::list(
                    worker.conn()?,
                    channel,
                    below,
                    limit + 1,
                    ttl,
                )?)
            })
            .map_err(CacheError::Unusable)?;
        let more = found.len() > limit as usize;
        found.truncate(limit as usize);
        Ok(Page {
            next_cursor: found
                .last()
                .filter(|_| more)
                .map(|(row, _)| row.to_string()),
            items: found.into_iter().map(|(_, entry)| entry).collect(),
        })
    }

    fn one(&mut self, id: &str) -> Result<(i64, CacheEntry), CacheError> {
        let Some((from, to)) = range(id) else {
            return Err(CacheError::NotFound(id.to_owned()));
        };
        let ttl = self.options.ttl_ms;
        let mut found = self
            .with(|worker| {
                worker.write_touches()?;
                Ok(entries::starting(worker.conn()?, &from, &to, ttl)?)
            })
            .map_err(CacheError::Unusable)?;
        match (found.pop(), found.pop()) {
            (Some(entry), None) => Ok(entry),
            (None, _) => Err(CacheError::NotFound(id.to_owned())),
            (Some(_), Some(_)) => Err(CacheError::Ambiguous(id.to_owned())),
        }
    }

    pub(super) fn show(&mut self, id: &str) -> Result<CacheEntry, CacheError> {
        Ok(self.one(id)?.1)
    }

    pub(super) fn pin(&mut self, id: &str, pinned: bool) -> Result<CacheEntry, CacheError> {
        let (row, _) = self.one(id)?;
        self.with(|worker| Ok(entries::set_pinned(worker.conn()?, row, pinned)?))
            .map_err(CacheError::Unusable)?;
        self.show(id)
    }

    /// Counts the answers to one who asked, and removes them unless it is only a preview.
    pub(super) fn of_requester(
        &mut self,
        requester: &str,
        purge: Option<&str>,
    ) -> Result<u64, CacheError> {
        self.with(|worker| {
            let gone = entries::of_requester(worker.conn()?, requester)?;
            if let Some(day) = purge {
                // Results of tools do not say who asked: what they saved is made again.
                result_rows::purge(worker.conn()?, None)?;
                worker.remove_for_good(&gone, day)?;
            }
            Ok(gone.len() as u64)
        })
        .map_err(CacheError::Unusable)
    }

    fn remove_for_good(&mut self, gone: &[Gone], day: &str) -> Result<(), Fault> {
        self.conn()?.execute_batch("BEGIN IMMEDIATE")?;
        for entry in gone {
            self.drop_entry(entry, CacheEviction::Purged, day)?;
        }
        self.conn()?.execute_batch("COMMIT")?;
        // So that the text is not in the log either.
        self.conn()?
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
        Ok(())
    }

    pub(super) fn purge(
        &mut self,
        what: &CachePurge,
        day: &str,
    ) -> Result<CachePurgeResult, CacheError> {
        let one = match what {
            CachePurge::Entry(id) => Some(self.one(id)?.0),
            CachePurge::Channel(_) | CachePurge::All => None,
        };
        self.with(|worker| {
            let channel = match what {
                CachePurge::Channel(channel) => Some(channel.as_str()),
                CachePurge::Entry(_) | CachePurge::All => None,
            };
            let mut gone = entries::of_channel(worker.conn()?, channel)?;
            gone.retain(|entry| one.is_none_or(|row| entry.row == row));
            let (results, result_bytes) = match one {
                Some(_) => (0, 0),
                None => result_rows::purge(worker.conn()?, channel)?,
            };
            worker.remove_for_good(&gone, day)?;
            Ok(CachePurgeResult {
                entries: gone.len() as u64,
                bytes: gone.iter().map(|entry| entry.bytes).sum::<u64>() + result_bytes,
                results,
            })
        })
        .map_err(CacheError::Unusable)
    }
}

/// The keys that begin with these hex digits, at least four of them.
fn range(id: &str) -> Option<([u8; 32], [u8; 32])> {
    let id = id.trim();
    if !(4..=64).contains(&id.len()) {
        return None;
    }
    let end = |fill: &str| from_hex(&format!("{id}{}", fill.repeat(64 - id.len())));
    Some((end("0")?, end("f")?))
}
