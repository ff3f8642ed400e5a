//! What hygiene decides about: read in pages, so that no transaction is long, and each page with everything that a
//! decision about its rows needs. Nothing here decides.

use crate::clock::{Day, Timestamp};
use crate::protocol::hygiene::{Growth, HygieneRun};
use crate::protocol::ids::HygieneRunId;
use crate::protocol::snapshot::{Page, PageRequest};
use crate::store::error::StoreError;
use crate::store::hygiene::{HygieneRules, MemoryFacts};
use crate::store::meta;
use crate::store::queries::page::{Batch, read_page};
use crate::store::reader::Reader;
use crate::store::sql::{Row, Statements, columns, params};
use crate::store::tx::hygiene::{RUN, load_run, run_of};

/// Rows looked at in one read transaction: it must not keep one of the few readers from a turn for long.
const PAGE: u32 = 1000;
/// Days that the chart goes back.
const CHART_DAYS: u32 = 400;

/// Everything that is decided by, of the memory `m`. `?1` = milliseconds until an archived one without a run goes.
pub(crate) const FACTS: &str = "SELECT m.position, m.id, m.scope, m.channel, m.state, m.pinned,
        m.session_id IS NOT NULL AND EXISTS (SELECT 1 FROM continuations c
            WHERE c.session_id = m.session_id AND c.ended_at IS NULL) AS in_use,
        m.session_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM sessions s WHERE s.id = m.session_id) AS orphan,
        m.confidence, m.uses,
        max(coalesce(m.last_used_at, m.updated_at), m.updated_at, m.created_at) AS touched_at, m.expires_at,
        CASE WHEN m.archived_by IS NULL THEN m.updated_at + ?1 ELSE (SELECT r.undo_until FROM hygiene_runs r
            WHERE r.id = m.archived_by AND r.state IN ('running', 'done', 'stopped')) END AS removable_from,
        octet_length(m.text) AS bytes
    FROM memories m";

/// A row of [`FACTS`].
pub(crate) fn facts_of(row: &Row<'_>) -> Result<MemoryFacts, StoreError> {
    Ok(columns!(row => MemoryFacts {
        position, id, scope, channel, state, pinned, in_use, orphan, confidence, uses, touched_at,
        expires_at, removable_from, bytes,
    }))
}

/// An embedding (`v`) that nothing needs: of another model, or of a text that no memory has. `?1` = the model that it
/// must be of, null = any.
pub(crate) const STALE_VECTOR: &str = "((?1 IS NOT NULL AND v.model <> ?1)
    OR NOT EXISTS (SELECT 1 FROM memories m WHERE m.id = v.memory_id AND m.digest = v.digest))";

/// A summary (`u`) of a session that is gone.
pub(crate) const STALE_SUMMARY: &str =
    "NOT EXISTS (SELECT 1 FROM sessions s WHERE s.id = u.session_id)";

/// The memory that an embedding was made of, and its bytes.
pub type StaleVector = ([u8; 16], u64);

impl Reader<'_> {
    /// Memories after a position, in the order in which they were written.
    pub fn memory_facts(
        &self,
        rules: &HygieneRules,
        after: Option<i64>,
    ) -> Result<Batch<MemoryFacts, i64>, StoreError> {
        let rows = self.conn.rows(
            &format!("{FACTS} WHERE m.position > ?2 ORDER BY m.position LIMIT ?3"),
            params![rules.undo_ms, after.unwrap_or(0), PAGE],
            |row| facts_of(row).map(|facts| (facts.position, Some(facts))),
        )?;
        Ok(Batch::of(rows, PAGE))
    }

    /// Embeddings that nothing needs.
    pub fn stale_vectors(
        &self,
        rules: &HygieneRules,
        after: Option<[u8; 16]>,
    ) -> Result<Batch<StaleVector, [u8; 16]>, StoreError> {
        let after = after.as_ref().map_or(&[][..], |id| &id[..]);
        let rows = self.conn.rows(
            &format!(
                "SELECT v.memory_id, 4 * v.dimension AS bytes, {STALE_VECTOR} AS stale FROM memory_vectors v
                 WHERE v.memory_id > ?2 ORDER BY v.memory_id LIMIT ?3"
            ),
            params![rules.embeddings, after, PAGE],
            |row| {
                let (id, stale): ([u8; 16], bool) = (row.get("memory_id")?, row.get("stale")?);
                let bytes = row.get("bytes")?;
                Ok((id, stale.then_some((id, bytes))))
            },
        )?;
        Ok(Batch::of(rows, PAGE))
    }

    /// Summaries of sessions that are gone: how many, and their bytes.
    pub fn stale_summaries(&self) -> Result<(u64, u64), StoreError> {
        self.conn.row(
            &format!(
                "SELECT count(*) AS count, coalesce(sum(octet_length(u.text)), 0) AS bytes
                 FROM summaries u WHERE {STALE_SUMMARY}"
            ),
            [],
            columns!(count, bytes),
        )
    }

    /// Positions of memories that the index does not have.
    pub fn not_indexed(&self, after: Option<i64>) -> Result<Batch<i64, i64>, StoreError> {
        self.disagreeing(
            "SELECT m.position, NOT EXISTS (SELECT 1 FROM memory_fts_docsize d WHERE d.id = m.position) AS wrong
             FROM memories m WHERE m.position > ?1 ORDER BY m.position LIMIT ?2",
            after,
        )
    }

    /// Positions in the index that no memory has.
    pub fn indexed_in_vain(&self, after: Option<i64>) -> Result<Batch<i64, i64>, StoreError> {
        self.disagreeing(
            "SELECT d.id AS position, NOT EXISTS (SELECT 1 FROM memories m WHERE m.position = d.id) AS wrong
             FROM memory_fts_docsize d WHERE d.id > ?1 ORDER BY d.id LIMIT ?2",
            after,
        )
    }

    fn disagreeing(&self, query: &str, after: Option<i64>) -> Result<Batch<i64, i64>, StoreError> {
        let rows = self
            .conn
            .rows(query, params![after.unwrap_or(0), PAGE], |row| {
                let (position, wrong): (i64, bool) = (row.get("position")?, row.get("wrong")?);
                Ok((position, wrong.then_some(position)))
            })?;
        Ok(Batch::of(rows, PAGE))
    }

    /// How many memories there are, archived ones too.
    pub fn remembered(&self) -> Result<u64, StoreError> {
        self.conn.value("SELECT count(*) FROM memories", [])
    }

    /// One run.
    pub fn hygiene_run(&self, id: HygieneRunId) -> Result<HygieneRun, StoreError> {
        load_run(self.conn, id)
    }

    /// Runs, newest first.
    pub fn hygiene_runs(&self, page: &PageRequest) -> Result<Page<HygieneRun>, StoreError> {
        let runs = format!("{RUN} WHERE position < ?1 ORDER BY position DESC LIMIT ?2");
        read_page(page, i64::MAX, |before, most| {
            let run = |row: &Row<'_>| Ok((row.get("position")?, run_of(row)?));
            self.conn.rows(&runs, params![before, most], run)
        })
    }

    /// Runs that were being taken back when the process ended.
    pub fn unfinished_undos(&self) -> Result<Vec<HygieneRunId>, StoreError> {
        self.conn.values::<HygieneRunId>(
            "SELECT id FROM hygiene_runs WHERE ended_at IS NULL AND state = 'undone' ORDER BY position",
            [],
        )
    }

    /// When the last run ended that was not cut short, and when the oldest thing remembered was written.
    pub fn hygiene_times(&self) -> Result<(Option<Timestamp>, Option<Timestamp>), StoreError> {
        let last = meta::time(self.conn, "last_hygiene")?;
        let oldest = self.conn.value_opt::<Timestamp>(
            "SELECT created_at FROM memories ORDER BY position LIMIT 1",
            [],
        )?;
        Ok((last, oldest))
    }

    /// Sizes now, without those of files beside the database. Reads indices whole; off the hot path.
    pub fn sizes(&self, day: Day) -> Result<Growth, StoreError> {
        let count = |query: &str| -> Result<u64, StoreError> { self.conn.value(query, []) };
        let (pages, _) = self.pages()?;
        let page_size: u64 = self.conn.value("PRAGMA page_size", [])?;
        Ok(Growth {
            day,
            memories: count("SELECT count(*) FROM memories WHERE state <> 'archived'")?,
            archived: count("SELECT count(*) FROM memories WHERE state = 'archived'")?,
            vectors: count("SELECT count(*) FROM memory_vectors")?,
            sessions: count("SELECT count(*) FROM sessions")?,
            continuations: count("SELECT count(*) FROM continuations")?,
            database_bytes: pages * page_size,
            log_bytes: 0,
            artifact_bytes: count(
                "SELECT (SELECT coalesce(sum(size), 0) FROM artifacts)
                    + (SELECT coalesce(sum(bytes), 0) FROM datasets)",
            )?,
        })
    }

    /// The newest day whose sizes were noted.
    pub fn newest_growth(&self) -> Result<Option<Day>, StoreError> {
        self.conn.value("SELECT max(day) FROM growth", [])
    }

    /// Sizes by local day, oldest first.
    pub fn growth(&self) -> Result<Vec<Growth>, StoreError> {
        let mut days = self.conn.rows(
            "SELECT day, memories, archived, vectors, sessions, continuations, database_bytes, log_bytes,
                artifact_bytes FROM growth ORDER BY day DESC LIMIT ?1",
            [CHART_DAYS],
            |row| Ok(columns!(row => Growth {
                day, memories, archived, vectors, sessions, continuations, database_bytes,
                log_bytes, artifact_bytes,
            })),
        )?;
        days.reverse();
        Ok(days)
    }
}
