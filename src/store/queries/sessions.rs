//! Sessions and their transcripts.

use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::clock::Timestamp;
use crate::protocol::ids::{ContinuationId, SessionId};
use crate::protocol::session::{
    ContinuationSummary, ErrorBody, Session, StepBody, TranscriptBody, TranscriptEntry,
};
use crate::protocol::snapshot::{Page, PageRequest};
use crate::protocol::words::{ContinuationState, SessionState};
use crate::store::error::StoreError;
use crate::store::queries::continuations::load_steps;
use crate::store::queries::page::page_limit;
use crate::store::queries::take_overs::take_over;
use crate::store::queries::turn::load_calls_of_step;
use crate::store::reader::Reader;
use crate::store::rows::{json_opt, usage, word};

/// Which sessions.
#[derive(Debug, Clone, Default)]
pub struct SessionFilter {
    /// Only this state.
    pub state: Option<SessionState>,
    /// Only this channel.
    pub channel: Option<String>,
}

const SESSION: &str = "SELECT s.id, s.channel, s.conversation, s.title, s.state, s.paused, s.model, s.last_line,
        s.last_sender, s.turns, s.input_tokens, s.output_tokens, s.cached_tokens, s.cache_write_tokens, s.cost_usd,
        s.created_at, s.updated_at, s.position,
        (SELECT count(*) FROM approvals a WHERE a.session_id = s.id AND a.state = 'pending'),
        (SELECT count(*) FROM continuations c WHERE c.session_id = s.id AND c.ended_at IS NULL),
        (SELECT count(*) FROM continuations c WHERE c.session_id = s.id AND c.ended_at IS NULL AND c.state = 'pending'),
        t.id, t.by_label, t.by_id, t.surface, t.at
     FROM sessions s LEFT JOIN take_overs t
        ON t.channel = s.channel AND t.conversation = s.conversation AND s.state = 'active'";

/// A session without its open continuation, its position, and how many continuations are open.
fn session_row(row: &Row<'_>) -> rusqlite::Result<(i64, Session, u32)> {
    let taken_over = match row.get::<_, Option<[u8; 16]>>(21)? {
        Some(_) => Some(take_over(row, 21)?),
        None => None,
    };
    let session = Session {
        id: SessionId::from_bytes(row.get(0)?),
        channel: row.get(1)?,
        conversation: row.get(2)?,
        title: row.get(3)?,
        state: word(row, 4)?,
        paused: row.get(5)?,
        model: row.get(6)?,
        open_continuation: None,
        queued: row.get(20)?,
        pending_approvals: row.get(18)?,
        last_line: row.get(7)?,
        last_sender: row.get(8)?,
        usage: usage(row, 10)?,
        turns: row.get(9)?,
        memory: None,
        taken_over,
        created_at: Timestamp(row.get(15)?),
        updated_at: Timestamp(row.get(16)?),
    };
    Ok((row.get(17)?, session, row.get(19)?))
}

/// The open continuation people care about: what runs, else what waits for them, else what is next.
fn open_continuation(
    conn: &Connection,
    session: SessionId,
) -> Result<Option<ContinuationSummary>, StoreError> {
    let found = conn
        .prepare_cached(
            "SELECT id, state, created_at, updated_at FROM continuations
             WHERE session_id = ?1 AND ended_at IS NULL
             ORDER BY CASE state WHEN 'running' THEN 0 WHEN 'awaiting_approval' THEN 1 WHEN 'interrupted' THEN 2 ELSE 3 END,
                position
             LIMIT 1",
        )?
        .query_row([session.to_bytes()], |row| {
            Ok(ContinuationSummary {
                id: ContinuationId::from_bytes(row.get(0)?),
                state: word(row, 1)?,
                tools_in_flight: Vec::new(),
                created_at: Timestamp(row.get(2)?),
                updated_at: Timestamp(row.get(3)?),
            })
        })
        .optional()?;
    let Some(mut summary) = found else {
        return Ok(None);
    };
    summary.tools_in_flight = conn
        .prepare_cached(
            "SELECT name FROM tool_calls WHERE continuation_id = ?1 AND state = 'started' ORDER BY step, idx",
        )?
        .query_map([summary.id.to_bytes()], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    Ok(Some(summary))
}

/// Sessions with a condition of ours, in order.
pub(crate) fn load_sessions(
    conn: &Connection,
    tail: &str,
    params: impl rusqlite::Params,
) -> Result<Vec<(i64, Session)>, StoreError> {
    let rows = conn
        .prepare_cached(&format!("{SESSION} {tail}"))?
        .query_map(params, session_row)?
        .collect::<rusqlite::Result<Vec<_>>>()?;
    let mut sessions = Vec::with_capacity(rows.len());
    for (position, mut session, open) in rows {
        if open > 0 {
            session.open_continuation = open_continuation(conn, session.id)?;
            if let Some(summary) = &session.open_continuation
                && summary.state == ContinuationState::Pending
            {
                session.queued = session.queued.saturating_sub(1);
            }
        }
        sessions.push((position, session));
    }
    Ok(sessions)
}

/// One session.
pub(crate) fn load_session(conn: &Connection, id: SessionId) -> Result<Session, StoreError> {
    load_sessions(conn, "WHERE s.id = ?1", [id.to_bytes()])?
        .pop()
        .map(|(_, session)| session)
        .ok_or_else(|| StoreError::not_found("session", id))
}

/// A session cursor: the time of the last change, then the position among equals.
fn session_cursor(page: &PageRequest) -> Result<(i64, i64), StoreError> {
    let Some(text) = &page.cursor else {
        return Ok((i64::MAX, i64::MAX));
    };
    text.split_once('.')
        .and_then(|(at, position)| Some((at.parse().ok()?, position.parse().ok()?)))
        .ok_or_else(|| StoreError::not_found("page", text.chars().take(64).collect::<String>()))
}

/// Bits of a transcript position that number the lines of one continuation.
const LINE_BITS: u32 = 20;
/// The line after the last step.
const STATE_LINE: u64 = (1 << LINE_BITS) - 1 - MOST_COMPACTED;
/// Most compactions that are told behind one turn.
const MOST_COMPACTED: u64 = 64;

struct TurnHead {
    position: u64,
    id: ContinuationId,
    state: ContinuationState,
    sender: String,
    text: String,
    error: Option<ErrorBody>,
    created_at: Timestamp,
    updated_at: Timestamp,
}

/// What [`turn_head`] reads.
const TURN_HEADS: &str =
    "SELECT position, id, state, requester_display, text, error, created_at, updated_at FROM continuations
     WHERE session_id = ?1";

/// The lines of compactions that began after a turn and before the next one came; newest first, as they are given.
fn behind(turn: &TurnHead, compacted: Vec<(Timestamp, TranscriptBody)>) -> Vec<TranscriptEntry> {
    let most = (compacted.len() as u64).min(MOST_COMPACTED);
    let last = (turn.position << LINE_BITS) + STATE_LINE + most;
    compacted
        .into_iter()
        .zip(0..most)
        .map(|((at, body), newer)| TranscriptEntry {
            position: last - newer,
            continuation_id: turn.id,
            at,
            body,
        })
        .collect()
}

fn turn_head(row: &Row<'_>) -> Result<TurnHead, StoreError> {
    Ok(TurnHead {
        position: row.get(0)?,
        id: ContinuationId::from_bytes(row.get(1)?),
        state: word(row, 2)?,
        sender: row.get(3)?,
        text: row.get(4)?,
        error: json_opt(row, 5)?,
        created_at: Timestamp(row.get(6)?),
        updated_at: Timestamp(row.get(7)?),
    })
}

impl Reader<'_> {
    /// Sessions, newest change first.
    pub fn sessions(
        &self,
        filter: &SessionFilter,
        page: &PageRequest,
    ) -> Result<Page<Session>, StoreError> {
        const AFTER: &str = "(s.updated_at, s.position) < (?1, ?2) ORDER BY s.updated_at DESC, s.position DESC LIMIT ?3";
        let limit = page_limit(page);
        let (at, position) = session_cursor(page)?;
        let state = filter.state.map(SessionState::as_str);
        let mut rows = match (filter.channel.as_deref(), state) {
            (None, None) => load_sessions(
                self.conn,
                &format!("WHERE {AFTER}"),
                params![at, position, limit + 1],
            )?,
            (None, Some(state)) => load_sessions(
                self.conn,
                &format!("WHERE s.state = ?4 AND {AFTER}"),
                params![at, position, limit + 1, state],
            )?,
            (Some(channel), None) => load_sessions(
                self.conn,
                &format!("WHERE s.channel = ?4 AND {AFTER}"),
                params![at, position, limit + 1, channel],
            )?,
            (Some(channel), Some(state)) => load_sessions(
                self.conn,
                &format!("WHERE s.channel = ?4 AND +s.state = ?5 AND {AFTER}"),
                params![at, position, limit + 1, channel, state],
            )?,
        };
        let more = rows.len() > limit as usize;
        rows.truncate(limit as usize);
        let next_cursor = if more {
            rows.last()
                .map(|(position, session)| format!("{}.{position}", session.updated_at.as_millis()))
        } else {
            None
        };
        Ok(Page {
            items: rows.into_iter().map(|(_, session)| session).collect(),
            next_cursor,
        })
    }

    /// One session.
    pub fn session(&self, id: SessionId) -> Result<Session, StoreError> {
        load_session(self.conn, id)
    }

    /// The newest `limit` (1–500, default 100) entries before a position, oldest first; `next_cursor` is the
    /// position to pass as `before` for older ones.
    pub fn transcript(
        &self,
        session: SessionId,
        before: Option<u64>,
        limit: Option<u32>,
    ) -> Result<Page<TranscriptEntry>, StoreError> {
        load_session(self.conn, session)?;
        let limit = page_limit(&PageRequest {
            limit,
            cursor: None,
        }) as usize;
        let before = before.unwrap_or(u64::MAX >> 1);
        let mut statement = self.conn.prepare_cached(&format!(
            "{TURN_HEADS} AND position <= ?2 ORDER BY position DESC"
        ))?;
        let mut rows = statement.query(params![session.to_bytes(), before >> LINE_BITS])?;
        let mut compacted = self.compacted(session)?;
        let mut entries = Vec::new();
        while entries.len() <= limit
            && let Some(row) = rows.next()?
        {
            let turn = turn_head(row)?;
            // Newest first, each behind the last turn that had come when it began.
            let count = compacted
                .iter()
                .take_while(|(at, _)| *at >= turn.created_at)
                .count();
            let lines = behind(&turn, compacted.drain(..count).collect());
            entries.extend(lines.into_iter().filter(|line| line.position < before));
            self.push_turn(turn, before, &mut entries)?;
        }
        let more = entries.len() > limit;
        entries.truncate(limit);
        let next_cursor = if more {
            entries.last().map(|entry| entry.position.to_string())
        } else {
            None
        };
        entries.reverse();
        Ok(Page {
            items: entries,
            next_cursor,
        })
    }

    /// When compactions that ended well began, and what they did, newest first.
    fn compacted(
        &self,
        session: SessionId,
    ) -> Result<Vec<(Timestamp, TranscriptBody)>, StoreError> {
        Ok(self
            .conn
            .prepare_cached(
                "SELECT started_at, turns, facts, tokens_before, tokens_after FROM compactions
                 WHERE session_id = ?1 AND state = 'done' ORDER BY position DESC",
            )?
            .query_map([session.to_bytes()], |row| {
                let body = TranscriptBody::Compacted {
                    turns: row.get(1)?,
                    facts: row.get(2)?,
                    tokens_before: row.get(3)?,
                    tokens_after: row.get(4)?,
                };
                Ok((Timestamp(row.get(0)?), body))
            })?
            .collect::<rusqlite::Result<_>>()?)
    }

    /// The oldest `limit` (1–500, default 100) entries from a position on, oldest first; `next_cursor` is the
    /// position to pass as `from` for newer ones.
    pub fn transcript_from(
        &self,
        session: SessionId,
        from: u64,
        limit: Option<u32>,
    ) -> Result<Page<TranscriptEntry>, StoreError> {
        load_session(self.conn, session)?;
        let limit = page_limit(&PageRequest {
            limit,
            cursor: None,
        }) as usize;
        let mut statement = self.conn.prepare_cached(&format!(
            "{TURN_HEADS} AND position >= ?2 ORDER BY position"
        ))?;
        let first = i64::try_from(from >> LINE_BITS).unwrap_or(i64::MAX);
        let mut rows = statement.query(params![session.to_bytes(), first])?;
        let compacted = self.compacted(session)?;
        let mut entries = Vec::new();
        let mut ahead = rows.next()?.map(turn_head).transpose()?;
        while entries.len() <= limit
            && let Some(head) = ahead.take()
        {
            ahead = rows.next()?.map(turn_head).transpose()?;
            let next = ahead.as_ref().map(|turn| turn.created_at);
            let after = compacted
                .iter()
                .filter(|(at, _)| *at >= head.created_at && next.is_none_or(|next| *at < next));
            let mut turn = behind(&head, after.cloned().collect());
            self.push_turn(head, u64::MAX, &mut turn)?;
            entries.extend(turn.into_iter().rev().filter(|e| e.position >= from));
        }
        let next_cursor = entries.get(limit).map(|entry| entry.position.to_string());
        entries.truncate(limit);
        Ok(Page {
            items: entries,
            next_cursor,
        })
    }

    /// Appends the lines of one turn that lie before a position, newest first.
    fn push_turn(
        &self,
        turn: TurnHead,
        before: u64,
        entries: &mut Vec<TranscriptEntry>,
    ) -> Result<(), StoreError> {
        let base = turn.position << LINE_BITS;
        let mut push = |line: u64, at: Timestamp, body: TranscriptBody| {
            if base + line < before {
                entries.push(TranscriptEntry {
                    position: base + line,
                    continuation_id: turn.id,
                    at,
                    body,
                });
            }
        };
        if turn.state != ContinuationState::Completed {
            push(
                STATE_LINE,
                turn.updated_at,
                TranscriptBody::State {
                    state: turn.state,
                    error: turn.error,
                },
            );
        }
        for step in load_steps(self.conn, turn.id)?.into_iter().rev() {
            let tool_calls = match &step.body {
                StepBody::Model { tool_calls, .. } if !tool_calls.is_empty() => {
                    load_calls_of_step(self.conn, turn.id, step.n)?
                        .into_iter()
                        .map(|row| row.call)
                        .collect()
                }
                StepBody::Model { .. }
                | StepBody::ToolResult { .. }
                | StepBody::OperatorNote { .. }
                | StepBody::Final { .. }
                | StepBody::Error { .. } => Vec::new(),
            };
            push(
                u64::from(step.n).min(STATE_LINE - 1),
                step.at,
                TranscriptBody::Step { step, tool_calls },
            );
        }
        push(
            0,
            turn.created_at,
            TranscriptBody::User {
                sender: turn.sender,
                text: turn.text,
            },
        );
        Ok(())
    }

    /// The newest sessions of a conversation in which this person asked, newest first: for `/sessions`.
    pub fn conversation_sessions(
        &self,
        channel: &str,
        conversation: &str,
        requester_id: &str,
        limit: u32,
    ) -> Result<Vec<Session>, StoreError> {
        let rows = load_sessions(
            self.conn,
            "WHERE s.channel = ?1 AND s.conversation = ?2 AND s.temporary = 0 AND EXISTS (
                SELECT 1 FROM continuations c WHERE c.session_id = s.id AND c.requester_id = ?3)
             ORDER BY s.updated_at DESC, s.position DESC LIMIT ?4",
            params![channel, conversation, requester_id, limit],
        )?;
        Ok(rows.into_iter().map(|(_, session)| session).collect())
    }

    /// The active session of a conversation.
    pub fn active_session(
        &self,
        channel: &str,
        conversation: &str,
    ) -> Result<Option<SessionId>, StoreError> {
        Ok(self
            .conn
            .prepare_cached(
                "SELECT id FROM sessions WHERE channel = ?1 AND conversation = ?2 AND state = 'active' AND temporary = 0",
            )?
            .query_row([channel, conversation], |row| {
                row.get(0).map(SessionId::from_bytes)
            })
            .optional()?)
    }

    /// A conversation of a channel that somebody wrote in: this one, or the one with the newest change.
    pub fn known_conversation(
        &self,
        channel: &str,
        conversation: Option<&str>,
    ) -> Result<Option<String>, StoreError> {
        Ok(self
            .conn
            .prepare_cached(
                "SELECT conversation FROM sessions WHERE channel = ?1 AND temporary = 0
                    AND (?2 IS NULL OR conversation = ?2) ORDER BY updated_at DESC LIMIT 1",
            )?
            .query_row(params![channel, conversation], |row| row.get(0))
            .optional()?)
    }

    /// Continuations that were interrupted and wait for somebody, each with its channel.
    pub fn interrupted(&self) -> Result<Vec<(ContinuationId, String)>, StoreError> {
        Ok(self
            .conn
            .prepare_cached(
                "SELECT c.id, s.channel FROM continuations c JOIN sessions s ON s.id = c.session_id
                 WHERE c.ended_at IS NULL AND c.state = 'interrupted' ORDER BY +c.position",
            )?
            .query_map([], |row| {
                Ok((ContinuationId::from_bytes(row.get(0)?), row.get(1)?))
            })?
            .collect::<rusqlite::Result<_>>()?)
    }

    /// Sessions that have a pending continuation.
    pub fn sessions_with_pending(&self) -> Result<Vec<SessionId>, StoreError> {
        Ok(self
            .conn
            .prepare_cached(
                "SELECT DISTINCT session_id FROM continuations WHERE ended_at IS NULL AND state = 'pending'",
            )?
            .query_map([], |row| row.get(0).map(SessionId::from_bytes))?
            .collect::<rusqlite::Result<_>>()?)
    }
}
