//! Summaries and compactions: what they say, and what a compaction is decided by.

use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::clock::Timestamp;
use crate::protocol::approval::Requester;
use crate::protocol::ids::{CompactionId, ContinuationId, SessionId};
use crate::protocol::memory::{Compaction, SessionMemory, Summary};
use crate::protocol::snapshot::{Page, PageRequest};
use crate::protocol::words::SessionState;
use crate::store::error::StoreError;
use crate::store::queries::continuations::load_steps;
use crate::store::queries::history::Exchange;
use crate::store::queries::page::{page_limit, page_of, page_start};
use crate::store::queries::turn::load_calls;
use crate::store::reader::Reader;
use crate::store::rows::{json, json_opt, word};

/// A turn that can be put away.
#[derive(Debug, Clone, PartialEq)]
pub struct OldTurn {
    /// Who asked.
    pub requester: Requester,
    /// What was said and done.
    pub exchange: Exchange,
}

/// What a compaction of a session is decided by and made from, as of one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Compactable {
    /// Channel name.
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
    /// Its summary.
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

fn compaction_row(row: &Row<'_>) -> rusqlite::Result<(i64, Compaction)> {
    let compaction = Compaction {
        id: CompactionId::from_bytes(row.get(0)?),
        session_id: SessionId::from_bytes(row.get(1)?),
        state: word(row, 2)?,
        model: row.get(3)?,
        turns: row.get(4)?,
        facts: row.get(5)?,
        tokens_before: row.get(6)?,
        tokens_after: row.get(7)?,
        error: row.get(8)?,
        started_at: Timestamp(row.get(9)?),
        ended_at: row.get::<_, Option<i64>>(10)?.map(Timestamp),
    };
    Ok((row.get(11)?, compaction))
}

/// One compaction.
pub(crate) fn load_compaction(
    conn: &Connection,
    id: CompactionId,
) -> Result<Compaction, StoreError> {
    conn.prepare_cached(&format!("{COMPACTION} WHERE id = ?1"))?
        .query_row([id.to_bytes()], compaction_row)
        .optional()?
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
        Ok(self
            .conn
            .prepare_cached(
                "SELECT version, text, turns, model, taint, at, covers_to FROM summaries WHERE session_id = ?1",
            )?
            .query_row([session.to_bytes()], |row| {
                let summary = Summary {
                    session_id: session,
                    version: row.get(0)?,
                    text: row.get(1)?,
                    turns: row.get(2)?,
                    model: row.get(3)?,
                    taint: json(row, 4)?,
                    at: Timestamp(row.get(5)?),
                };
                Ok((row.get(6)?, summary))
            })
            .optional()?)
    }

    /// Compactions, newest first.
    pub fn compactions(
        &self,
        session: Option<SessionId>,
        page: &PageRequest,
    ) -> Result<Page<Compaction>, StoreError> {
        let limit = page_limit(page);
        let before = page_start(page, i64::MAX)?;
        let rows = self
            .conn
            .prepare_cached(&format!(
                "{COMPACTION} WHERE position < ?1 AND (?2 IS NULL OR session_id = ?2) ORDER BY position DESC LIMIT ?3"
            ))?
            .query_map(
                params![before, session.map(SessionId::to_bytes), limit + 1],
                compaction_row,
            )?
            .collect::<rusqlite::Result<Vec<_>>>()?;
        Ok(page_of(rows, limit))
    }

    /// What a session remembers, in numbers.
    pub fn session_memory(&self, session: SessionId) -> Result<SessionMemory, StoreError> {
        Ok(self
            .conn
            .prepare_cached(
                "SELECT coalesce(s.version, 0), coalesce(length(CAST(s.text AS BLOB)), 0), coalesce(s.turns, 0),
                    (SELECT count(*) FROM memories m WHERE m.session_id = ?1 AND m.state = 'active'),
                    (SELECT count(*) FROM memories m WHERE m.session_id = ?1 AND m.state = 'proposed'),
                    (SELECT count(*) FROM compactions k WHERE k.session_id = ?1 AND k.state = 'done'),
                    (SELECT count(*) FROM compactions k WHERE k.session_id = ?1 AND k.state = 'failed')
                 FROM (SELECT ?1 AS id) LEFT JOIN summaries s ON s.session_id = id",
            )?
            .query_row([session.to_bytes()], |row| {
                Ok(SessionMemory {
                    summary_version: row.get(0)?,
                    summary_bytes: row.get(1)?,
                    covered_turns: row.get(2)?,
                    facts: row.get(3)?,
                    proposed: row.get(4)?,
                    compactions: row.get(5)?,
                    failed_compactions: row.get(6)?,
                })
            })?)
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
            .prepare_cached(&format!(
                "SELECT count(*) FROM (SELECT 1 FROM continuations c WHERE {UNCOVERED} LIMIT ?3)"
            ))?
            .query_row(params![session.to_bytes(), covered, limit], |row| {
                row.get::<_, i64>(0)
            })?
            .unsigned_abs() as usize)
    }

    fn old_turns(
        &self,
        session: SessionId,
        covered: i64,
        order: &str,
        limit: usize,
    ) -> Result<Vec<OldTurn>, StoreError> {
        let heads = self
            .conn
            .prepare_cached(&format!(
                "SELECT c.id, coalesce(c.sent_text, c.text), c.requester_id, c.requester_display, c.requester_person,
                    c.speaker FROM continuations c
                 WHERE {UNCOVERED} ORDER BY c.position {order} LIMIT ?3"
            ))?
            .query_map(params![session.to_bytes(), covered, limit], |row| {
                Ok((
                    ContinuationId::from_bytes(row.get(0)?),
                    row.get::<_, String>(1)?,
                    Requester {
                        id: row.get(2)?,
                        display: row.get(3)?,
                        person: row.get(4)?,
                    },
                    json_opt(row, 5)?,
                ))
            })?
            .collect::<rusqlite::Result<Vec<_>>>()?;
        heads
            .into_iter()
            .map(|(continuation_id, text, requester, speaker)| {
                Ok(OldTurn {
                    exchange: Exchange {
                        continuation_id,
                        requester: requester.display.clone(),
                        speaker,
                        text,
                        steps: load_steps(self.conn, continuation_id)?,
                        calls: load_calls(self.conn, continuation_id)?,
                    },
                    requester,
                })
            })
            .collect()
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
            .prepare_cached(
                "SELECT channel, model, estimate_ratio, state, temporary FROM sessions WHERE id = ?1",
            )?
            .query_row([session.to_bytes()], |row| {
                let state: SessionState = word(row, 3)?;
                let temporary: bool = row.get(4)?;
                let lives = state == SessionState::Active && !temporary;
                Ok((row.get(0)?, row.get(1)?, row.get(2)?, lives))
            })
            .optional()?
            .ok_or_else(|| StoreError::not_found("session", session))?;
        let (running, failed, last_failed) = self
            .conn
            .prepare_cached(
                "SELECT EXISTS (SELECT 1 FROM compactions WHERE session_id = ?1 AND state = 'running'),
                    count(*), max(ended_at)
                 FROM compactions WHERE session_id = ?1 AND state = 'failed' AND epoch = ?2 AND position > coalesce(
                    (SELECT max(position) FROM compactions WHERE session_id = ?1 AND state = 'done'), 0)",
            )?
            .query_row(params![session.to_bytes(), epoch], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get::<_, Option<i64>>(2)?))
            })?;
        let found = self.summary_to(session)?;
        let covered = found.as_ref().map_or(0, |(to, _)| *to);
        let mut newest = self.old_turns(session, covered, "DESC", reach.newest)?;
        newest.reverse();
        Ok(Compactable {
            channel,
            model,
            estimate_ratio,
            lives,
            running,
            failed: (failed, last_failed.map(Timestamp)),
            uncovered: self.count_uncovered(session, covered, reach.counted)?,
            oldest: self.old_turns(session, covered, "ASC", reach.oldest)?,
            newest: newest.into_iter().map(|turn| turn.exchange).collect(),
            summary: found.map(|(_, summary)| summary),
        })
    }
}
