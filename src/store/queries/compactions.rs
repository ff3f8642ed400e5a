//! Summaries and compactions: what they say, and what a compaction is decided by.

use crate::clock::Timestamp;
use crate::protocol::enums::SessionState;
use crate::protocol::ids::{CompactionId, SessionId};
use crate::protocol::memory::{Compaction, SessionMemory, Summary};
use crate::protocol::snapshot::{Page, PageRequest};
use crate::store::error::StoreError;
use crate::store::queries::history::{Exchange, OldTurn, ReadFrom, at_most, read_turns};
use crate::store::queries::page::read_page;
use crate::store::reader::Reader;
use crate::store::sql::{Connection, Row, Statements, columns, params};

/// What a compaction of a session is decided by and made from, as of one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Compactable {
    pub channel: String,
    /// The session's model, where it has one of its own.
    pub model: Option<String>,
    /// Real input tokens per estimated one, as it has learned.
    pub estimate_ratio: Option<f64>,
    /// Whether turns may begin in it: it is active, and no one-shot.
    pub lives: bool,
    /// Whether a compaction is under way.
    pub running: bool,
    /// Compactions of this boot that failed since the last one that did not, and when the last of them ended.
    pub failed: (u32, Option<Timestamp>),
    pub summary: Option<Summary>,
    /// Turns that are sent along as long as there is room: completed ones before the first open one that no summary
    /// covers. Counted up to a limit.
    pub uncovered: usize,
    /// The oldest of them, oldest first.
    pub oldest: Vec<OldTurn>,
    /// The newest of them, oldest first; they may be among the oldest too.
    pub newest: Vec<Exchange>,
}

/// How much to read of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reach {
    /// Turns that are counted.
    pub counted: usize,
    /// Oldest turns.
    pub oldest: usize,
    /// Newest turns.
    pub newest: usize,
}

const COMPACTION: &str =
    "SELECT id, session_id, state, model, turns, facts, tokens_before, tokens_after, error,
        started_at, ended_at, position
     FROM compactions";

fn compaction_row(row: &Row<'_>) -> Result<(i64, Compaction), StoreError> {
    let compaction = columns!(row => Compaction {
        id, session_id, state, model, turns, facts, tokens_before, tokens_after, error, started_at,
        ended_at,
    });
    Ok((row.get("position")?, compaction))
}

/// One compaction.
pub(crate) fn load_compaction(
    conn: &Connection,
    id: CompactionId,
) -> Result<Compaction, StoreError> {
    conn.row_opt(&format!("{COMPACTION} WHERE id = ?1"), [id], compaction_row)?
        .map(|(_, compaction)| compaction)
        .ok_or_else(|| StoreError::not_found("compaction", id))
}

/// Completed turns that no summary covers, before the first open one. `?1` = session, `?2` = covered to.
const UNCOVERED: &str =
    "c.session_id = ?1 AND c.position > ?2 AND +c.state = 'completed' AND c.archived_at IS NULL
    AND c.position < coalesce((SELECT min(o.position) FROM continuations o INDEXED BY continuations_open
        WHERE o.session_id = ?1 AND o.ended_at IS NULL), 9223372036854775807)";

impl Reader<'_> {
    /// The summary of a session.
    pub fn summary(&self, session: SessionId) -> Result<Option<Summary>, StoreError> {
        Ok(self.summary_to(session)?.map(|(_, summary)| summary))
    }

    /// The summary of a session with the last position it covers.
    fn summary_to(&self, session: SessionId) -> Result<Option<(i64, Summary)>, StoreError> {
        self.conn.row_opt(
            "SELECT version, text, turns, model, taint, at, covers_to FROM summaries WHERE session_id = ?1",
            [session],
            |row| {
                let summary = columns!(row => Summary {
                    version, text, turns, model, at;
                    session_id: session,
                    taint: row.json("taint")?,
                });
                Ok((row.get("covers_to")?, summary))
            },
        )
    }

    /// Compactions, newest first.
    pub fn compactions(
        &self,
        session: Option<SessionId>,
        page: &PageRequest,
    ) -> Result<Page<Compaction>, StoreError> {
        let found = format!(
            "{COMPACTION} WHERE position < ?1 AND (?2 IS NULL OR session_id = ?2) ORDER BY position DESC LIMIT ?3"
        );
        read_page(page, i64::MAX, |before, most| {
            let params = params![before, session, most];
            self.conn.rows(&found, params, compaction_row)
        })
    }

    /// What a session remembers, in numbers.
    pub fn session_memory(&self, session: SessionId) -> Result<SessionMemory, StoreError> {
        self.conn.row(
            "SELECT coalesce(s.version, 0) AS summary_version,
                coalesce(length(CAST(s.text AS BLOB)), 0) AS summary_bytes, coalesce(s.turns, 0) AS covered_turns,
                (SELECT count(*) FROM memories m WHERE m.session_id = ?1 AND m.state = 'active') AS facts,
                (SELECT count(*) FROM memories m WHERE m.session_id = ?1 AND m.state = 'proposed') AS proposed,
                (SELECT count(*) FROM compactions k WHERE k.session_id = ?1 AND k.state = 'done') AS compactions,
                (SELECT count(*) FROM compactions k
                    WHERE k.session_id = ?1 AND k.state = 'failed') AS failed_compactions
             FROM (SELECT ?1 AS id) LEFT JOIN summaries s ON s.session_id = id",
            [session],
            |row| Ok(columns!(row => SessionMemory {
                summary_version, summary_bytes, covered_turns, facts, proposed, compactions,
                failed_compactions,
            })),
        )
    }

    /// How many turns could be put away, counted up to a limit.
    pub fn uncovered(&self, session: SessionId, limit: usize) -> Result<usize, StoreError> {
        let covered = self.summary_to(session)?.map_or(0, |(to, _)| to);
        self.count_uncovered(session, covered, limit)
    }

    fn count_uncovered(
        &self,
        session: SessionId,
        covered: i64,
        limit: usize,
    ) -> Result<usize, StoreError> {
        Ok(self
            .conn
            .value::<i64>(
                &format!(
                    "SELECT count(*) FROM (SELECT 1 FROM continuations c WHERE {UNCOVERED} LIMIT ?3)"
                ),
                params![session, covered, limit],
            )?
            .unsigned_abs() as usize)
    }

    fn old_turns(
        &self,
        session: SessionId,
        covered: i64,
        from: ReadFrom,
        limit: usize,
    ) -> Result<Vec<OldTurn>, StoreError> {
        let params = params![session, covered];
        Ok(read_turns(self.conn, UNCOVERED, from, params, at_most(limit))?.0)
    }

    /// Everything that a compaction of a session is decided by.
    pub fn compactable(
        &self,
        session: SessionId,
        epoch: u64,
        reach: Reach,
    ) -> Result<Compactable, StoreError> {
        let (channel, model, estimate_ratio, lives) = self
            .conn
            .row_opt(
                "SELECT channel, model, estimate_ratio, state, temporary FROM sessions WHERE id = ?1",
                [session],
                |row| {
                    let state: SessionState = row.get("state")?;
                    let temporary: bool = row.get("temporary")?;
                    let lives = state == SessionState::Active && !temporary;
                    Ok((
                        row.get("channel")?,
                        row.get("model")?,
                        row.get("estimate_ratio")?,
                        lives,
                    ))
                },
            )?
            .ok_or_else(|| StoreError::not_found("session", session))?;
        let (running, failed, last_failed) = self.conn.row(
            "SELECT EXISTS (SELECT 1 FROM compactions WHERE session_id = ?1 AND state = 'running') AS running,
                count(*) AS failed, max(ended_at) AS last_failed
             FROM compactions WHERE session_id = ?1 AND state = 'failed' AND epoch = ?2 AND position > coalesce(
                (SELECT max(position) FROM compactions WHERE session_id = ?1 AND state = 'done'), 0)",
            params![session, epoch],
            columns!(running, failed, last_failed: Option<i64>),
        )?;
        let found = self.summary_to(session)?;
        let covered = found.as_ref().map_or(0, |(to, _)| *to);
        let mut newest = self.old_turns(session, covered, ReadFrom::Newest, reach.newest)?;
        newest.reverse();
        Ok(Compactable {
            channel,
            model,
            estimate_ratio,
            lives,
            running,
            failed: (failed, last_failed.map(Timestamp)),
            uncovered: self.count_uncovered(session, covered, reach.counted)?,
            oldest: self.old_turns(session, covered, ReadFrom::Oldest, reach.oldest)?,
            newest: newest.into_iter().map(|turn| turn.exchange).collect(),
            summary: found.map(|(_, summary)| summary),
        })
    }
}
