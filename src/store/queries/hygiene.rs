//! What hygiene decides about: read in pages, so that no transaction is long, and each page with everything that a
//! decision about its rows needs. Nothing here decides.

use rusqlite::{OptionalExtension, Row, params};

use crate::clock::{Day, Timestamp};
use crate::protocol::hygiene::{Growth, HygieneRun};
use crate::protocol::ids::{HygieneRunId, MemoryId};
use crate::protocol::snapshot::{Page, PageRequest};
use crate::store::error::StoreError;
use crate::store::hygiene::{HygieneRules, MemoryFacts};
use crate::store::ops::hygiene::{RUN, load_run, run_of};
use crate::store::queries::page::{page_limit, page_of, page_start};
use crate::store::reader::Reader;
use crate::store::rows::word;
use crate::store::schema;

/// Rows looked at in one read transaction: it must not keep one of the few readers from a turn for long.
const PAGE: u32 = 1000;
/// Days that the chart goes back.
const CHART_DAYS: u32 = 400;

/// Everything that is decided by, of the memory `m`. `?1` = milliseconds until an archived one without a run goes.
pub(crate) const FACTS: &str = "SELECT m.position, m.id, m.scope, m.channel, m.state, m.pinned,
        m.session_id IS NOT NULL AND EXISTS (SELECT 1 FROM continuations c
            WHERE c.session_id = m.session_id AND c.ended_at IS NULL),
        m.session_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM sessions s WHERE s.id = m.session_id),
        m.confidence, m.uses, max(coalesce(m.last_used_at, m.updated_at), m.updated_at, m.created_at), m.expires_at,
        CASE WHEN m.archived_by IS NULL THEN m.updated_at + ?1 ELSE (SELECT r.undo_until FROM hygiene_runs r
            WHERE r.id = m.archived_by AND r.state IN ('running', 'done', 'stopped')) END,
        octet_length(m.text)
    FROM memories m";

/// A row of [`FACTS`].
pub(crate) fn facts_of(row: &Row<'_>) -> rusqlite::Result<MemoryFacts> {
    Ok(MemoryFacts {
        position: row.get(0)?,
        id: MemoryId::from_bytes(row.get(1)?),
        scope: word(row, 2)?,
        channel: row.get(3)?,
        state: word(row, 4)?,
        pinned: row.get(5)?,
        in_use: row.get(6)?,
        orphan: row.get(7)?,
        confidence: row.get(8)?,
        uses: row.get(9)?,
        touched_at: Timestamp(row.get(10)?),
        expires_at: row.get::<_, Option<i64>>(11)?.map(Timestamp),
        removable_from: row.get::<_, Option<i64>>(12)?.map(Timestamp),
        bytes: row.get(13)?,
    })
}

/// An embedding (`v`) that nothing needs: of another model, or of a text that no memory has. `?1` = the model that it
/// must be of, null = any.
pub(crate) const STALE_VECTOR: &str = "((?1 IS NOT NULL AND v.model <> ?1)
    OR NOT EXISTS (SELECT 1 FROM memories m WHERE m.id = v.memory_id AND m.digest = v.digest))";

/// A summary (`u`) of a session that is gone.
pub(crate) const STALE_SUMMARY: &str =
    "NOT EXISTS (SELECT 1 FROM sessions s WHERE s.id = u.session_id)";

/// A page of things that may go and where the next one begins; none = there is no more.
#[derive(Debug, Clone)]
pub struct HygienePage<T, K> {
    /// What was found.
    pub found: Vec<T>,
    /// The last key looked at.
    pub next: Option<K>,
}

/// The memory that an embedding was made of, and its bytes.
pub type StaleVector = ([u8; 16], u64);

impl Reader<'_> {
    /// Memories after a position, in the order in which they were written.
    pub fn memory_facts(
        &self,
        rules: &HygieneRules,
        after: i64,
    ) -> Result<HygienePage<MemoryFacts, i64>, StoreError> {
        let found = self
            .conn
            .prepare_cached(&format!(
                "{FACTS} WHERE m.position > ?2 ORDER BY m.position LIMIT ?3"
            ))?
            .query_map(params![rules.undo_ms, after, PAGE], facts_of)?
            .collect::<rusqlite::Result<Vec<_>>>()?;
        let next = found
            .last()
            .map(|last| last.position)
            .filter(|_| found.len() == PAGE as usize);
        Ok(HygienePage { found, next })
    }

    /// Embeddings that nothing needs.
    pub fn stale_vectors(
        &self,
        rules: &HygieneRules,
        after: Option<[u8; 16]>,
    ) -> Result<HygienePage<StaleVector, [u8; 16]>, StoreError> {
        let after = after.as_ref().map_or(&[][..], |id| &id[..]);
        let rows = self
            .conn
            .prepare_cached(&format!(
                "SELECT v.memory_id, 4 * v.dimension, {STALE_VECTOR} FROM memory_vectors v
                 WHERE v.memory_id > ?2 ORDER BY v.memory_id LIMIT ?3"
            ))?
            .query_map(params![rules.embeddings, after, PAGE], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?))
            })?
            .collect::<rusqlite::Result<Vec<([u8; 16], u64, bool)>>>()?;
        let next = rows
            .last()
            .map(|row| row.0)
            .filter(|_| rows.len() == PAGE as usize);
        let found = rows
            .into_iter()
            .filter(|row| row.2)
            .map(|(id, bytes, _)| (id, bytes))
            .collect();
        Ok(HygienePage { found, next })
    }

    /// Summaries of sessions that are gone: how many, and their bytes.
    pub fn stale_summaries(&self) -> Result<(u64, u64), StoreError> {
        Ok(self
            .conn
            .prepare_cached(&format!(
                "SELECT count(*), coalesce(sum(octet_length(u.text)), 0) FROM summaries u WHERE {STALE_SUMMARY}"
            ))?
            .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))?)
    }

    /// Positions of memories that the index does not have.
    pub fn not_indexed(&self, after: i64) -> Result<HygienePage<i64, i64>, StoreError> {
        self.disagreeing(
            "SELECT m.position, NOT EXISTS (SELECT 1 FROM memory_fts_docsize d WHERE d.id = m.position)
             FROM memories m WHERE m.position > ?1 ORDER BY m.position LIMIT ?2",
            after,
        )
    }

    /// Positions in the index that no memory has.
    pub fn indexed_in_vain(&self, after: i64) -> Result<HygienePage<i64, i64>, StoreError> {
        self.disagreeing(
            "SELECT d.id, NOT EXISTS (SELECT 1 FROM memories m WHERE m.position = d.id)
             FROM memory_fts_docsize d WHERE d.id > ?1 ORDER BY d.id LIMIT ?2",
            after,
        )
    }

    fn disagreeing(&self, query: &str, after: i64) -> Result<HygienePage<i64, i64>, StoreError> {
        let rows = self
            .conn
            .prepare_cached(query)?
            .query_map(params![after, PAGE], |row| Ok((row.get(0)?, row.get(1)?)))?
            .collect::<rusqlite::Result<Vec<(i64, bool)>>>()?;
        let next = rows
            .last()
            .map(|row| row.0)
            .filter(|_| rows.len() == PAGE as usize);
        let wrong = rows.into_iter().filter(|row| row.1).map(|row| row.0);
        Ok(HygienePage {
            found: wrong.collect(),
            next,
        })
    }

    /// How many memories there are, archived ones too.
    pub fn remembered(&self) -> Result<u64, StoreError> {
        Ok(self
            .conn
            .query_row("SELECT count(*) FROM memories", [], |row| row.get(0))?)
    }

    /// One run.
    pub fn hygiene_run(&self, id: HygieneRunId) -> Result<HygieneRun, StoreError> {
        load_run(self.conn, id)
    }

    /// Runs, newest first.
    pub fn hygiene_runs(&self, page: &PageRequest) -> Result<Page<HygieneRun>, StoreError> {
        let limit = page_limit(page);
        let rows = self
            .conn
            .prepare_cached(&format!(
                "{RUN} WHERE position < ?1 ORDER BY position DESC LIMIT ?2"
            ))?
            .query_map(params![page_start(page, i64::MAX)?, limit + 1], |row| {
                Ok((row.get(0)?, run_of(row)?))
            })?
            .collect::<rusqlite::Result<Vec<(i64, HygieneRun)>>>()?;
        Ok(page_of(rows, limit))
    }

    /// Runs that were being taken back when the process ended.
    pub fn unfinished_undos(&self) -> Result<Vec<HygieneRunId>, StoreError> {
        Ok(self
            .conn
            .prepare_cached(
                "SELECT id FROM hygiene_runs WHERE ended_at IS NULL AND state = 'undone' ORDER BY position",
            )?
            .query_map([], |row| row.get(0).map(HygieneRunId::from_bytes))?
            .collect::<rusqlite::Result<_>>()?)
    }

    /// When the last run ended that was not cut short, and when the oldest thing remembered was written.
    pub fn hygiene_times(&self) -> Result<(Option<Timestamp>, Option<Timestamp>), StoreError> {
        let last = schema::meta(self.conn, "last_hygiene")?
            .and_then(|text| text.parse().ok())
            .map(Timestamp);
        let oldest = self
            .conn
            .prepare_cached("SELECT created_at FROM memories ORDER BY position LIMIT 1")?
            .query_row([], |row| row.get(0).map(Timestamp))
            .optional()?;
        Ok((last, oldest))
    }

    /// Sizes now, without those of files beside the database. Reads indices whole; off the hot path.
    pub fn sizes(&self, day: Day) -> Result<Growth, StoreError> {
        let count = |query: &str| -> Result<u64, StoreError> {
            Ok(self
                .conn
                .prepare_cached(query)?
                .query_row([], |row| row.get(0))?)
        };
        let (pages, _) = self.pages()?;
        let page_size: u64 = self
            .conn
            .query_row("PRAGMA page_size", [], |row| row.get(0))?;
        Ok(Growth {
            day,
            memories: count("SELECT count(*) FROM memories WHERE state <> 'archived'")?,
            archived: count("SELECT count(*) FROM memories WHERE state = 'archived'")?,
            vectors: count("SELECT count(*) FROM memory_vectors")?,
            sessions: count("SELECT count(*) FROM sessions")?,
            continuations: count("SELECT count(*) FROM continuations")?,
            database_bytes: pages * page_size,
            log_bytes: 0,
            artifact_bytes: count("SELECT coalesce(sum(size), 0) FROM artifacts")?,
        })
    }

    /// The newest day whose sizes were noted.
    pub fn newest_growth(&self) -> Result<Option<Day>, StoreError> {
        Ok(self
            .conn
            .prepare_cached("SELECT max(day) FROM growth")?
            .query_row([], |row| row.get::<_, Option<i64>>(0))?
            .map(Day))
    }

    /// Sizes by local day, oldest first.
    pub fn growth(&self) -> Result<Vec<Growth>, StoreError> {
        let mut days = self
            .conn
            .prepare_cached(
                "SELECT day, memories, archived, vectors, sessions, continuations, database_bytes, log_bytes,
                    artifact_bytes FROM growth ORDER BY day DESC LIMIT ?1",
            )?
            .query_map([CHART_DAYS], |row| {
                Ok(Growth {
                    day: Day(row.get(0)?),
                    memories: row.get(1)?,
                    archived: row.get(2)?,
                    vectors: row.get(3)?,
                    sessions: row.get(4)?,
                    continuations: row.get(5)?,
                    database_bytes: row.get(6)?,
                    log_bytes: row.get(7)?,
                    artifact_bytes: row.get(8)?,
                })
            })?
            .collect::<rusqlite::Result<Vec<_>>>()?;
        days.reverse();
        Ok(days)
    }
}
