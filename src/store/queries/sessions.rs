//! Sessions and their transcripts.

use crate::clock::Timestamp;
use crate::protocol::enums::{ContinuationState, FloodKind, SessionState};
use crate::protocol::gate::ExternalSession;
use crate::protocol::ids::{ContinuationId, SessionId, TakeOverId};
use crate::protocol::options::TurnOptions;
use crate::protocol::session::{
    ContinuationSummary, ErrorBody, Flood, RefusedCall, RefusedCalls, Session, StepBody,
    TOO_MANY_WAIT, TranscriptBody, TranscriptEntry,
};
use crate::protocol::snapshot::{Page, PageRequest};
use crate::store::error::StoreError;
use crate::store::queries::page::{change_page, change_start, page_limit};
use crate::store::queries::steps::load_steps;
use crate::store::queries::take_overs::take_over;
use crate::store::queries::turn::load_calls_of_step;
use crate::store::reader::Reader;
use crate::store::rows::usage;
use crate::store::sql::{Connection, Params, Row, Statements, columns, params};

/// Which sessions.
#[derive(Debug, Clone, Default)]
pub struct SessionFilter {
    /// Only this state.
    pub state: Option<SessionState>,
    /// Only this channel.
    pub channel: Option<String>,
    /// Only conversations whose key begins so. Nothing without a channel.
    pub prefix: Option<String>,
}

const SESSION: &str = "SELECT s.id, s.channel, s.conversation, s.title, s.state, s.paused, s.model, s.preferences, s.last_line,
        s.last_sender, s.turns, s.input_tokens, s.output_tokens, s.cached_tokens, s.cache_write_tokens, s.cost_usd,
        s.created_at, s.updated_at, s.position, s.refused_calls, s.refused_at,
        s.flood, s.flood_count, s.flood_at,
        CASE s.channel WHEN 'gate' THEN (SELECT e.options FROM continuations e
            WHERE e.session_id = s.id ORDER BY e.position DESC LIMIT 1) END AS newest_options,
        CASE s.channel WHEN 'gate' THEN (SELECT count(*) FROM call_reports r
            WHERE r.session_id = s.id AND r.tool_call_id IS NULL) END AS unasked,
        (SELECT count(*) FROM approvals a WHERE a.session_id = s.id AND a.state = 'pending') AS pending_approvals,
        (SELECT count(*) FROM continuations c WHERE c.session_id = s.id AND c.ended_at IS NULL) AS open,
        (SELECT count(*) FROM continuations c
            WHERE c.session_id = s.id AND c.ended_at IS NULL AND c.state = 'pending') AS queued,
        t.id AS take_over_id, t.by_label, t.by_id, t.surface, t.at
     FROM sessions s LEFT JOIN take_overs t
        ON t.channel = s.channel AND t.conversation = s.conversation AND s.state = 'active'";

/// The external agent whose session it is: the first part of its conversation key names the program.
fn external(row: &Row<'_>) -> Result<Option<ExternalSession>, StoreError> {
    let Some(unasked) = row.get("unasked")? else {
        return Ok(None);
    };
    let conversation: String = row.get("conversation")?;
    let agent = conversation.split('/').next().unwrap_or_default();
    let Ok(agent) = agent.parse() else {
        return Ok(None);
    };
    let options: Option<TurnOptions> = row.json_opt("newest_options")?;
    let newest = options.and_then(|options| options.call?.external);
    let (directory, mode, host) = match newest {
        Some(newest) => (Some(newest.directory), newest.mode, newest.host),
        None => (None, None, None),
    };
    Ok(Some(ExternalSession {
        agent,
        directory,
        mode,
        host,
        unasked,
    }))
}

/// A session without its open continuation, its position, and how many continuations are open.
fn session_row(row: &Row<'_>) -> Result<(i64, Session, u32), StoreError> {
    let taken_over = match row.get::<Option<TakeOverId>>("take_over_id")? {
        Some(_) => Some(take_over(row)?),
        None => None,
    };
    let refused_calls = match row.get::<Option<Timestamp>>("refused_at")? {
        Some(last_at) => Some(RefusedCalls {
            count: row.get("refused_calls")?,
            last_at,
            newest: Vec::new(),
        }),
        None => None,
    };
    let flood = match row.get::<Option<FloodKind>>("flood")? {
        Some(of) => Some(columns!(row => Flood {
            count = "flood_count", at = "flood_at";
            of,
        })),
        None => None,
    };
    let external = external(row)?;
    let session = columns!(row => Session {
        id, channel, conversation, title, state, paused, model, preferences, queued,
        pending_approvals, last_line, last_sender, turns, created_at, updated_at;
        taken_over, external, flood, refused_calls,
        open_continuation: None,
        usage: usage(row)?,
        memory: None,
    });
    Ok((row.get("position")?, session, row.get("open")?))
}

/// The open continuation people care about: what runs, else what waits for them, else what is next.
fn open_continuation(
    conn: &Connection,
    session: SessionId,
) -> Result<Option<ContinuationSummary>, StoreError> {
    let found = conn.row_opt(
        "SELECT id, state, created_at, updated_at,
            (SELECT count(*) FROM inbound_files f WHERE f.continuation_id = continuations.id) AS waiting_files
         FROM continuations
         WHERE session_id = ?1 AND ended_at IS NULL
         ORDER BY CASE state WHEN 'running' THEN 0 WHEN 'awaiting_approval' THEN 1 WHEN 'interrupted' THEN 2 ELSE 3 END,
            position
         LIMIT 1",
        [session],
        |row| Ok(columns!(row => ContinuationSummary {
            id, state, waiting_files, created_at, updated_at;
            tools_in_flight: Vec::new(),
        })),
    )?;
    let Some(mut summary) = found else {
        return Ok(None);
    };
    summary.tools_in_flight = conn.values(
        "SELECT name FROM tool_calls WHERE continuation_id = ?1 AND state = 'started' ORDER BY step, idx",
        [summary.id],
    )?;
    Ok(Some(summary))
}

/// The newest calls of a session that were refused because too many approvals waited.
fn newest_refused(conn: &Connection, session: SessionId) -> Result<Vec<RefusedCall>, StoreError> {
    conn.rows(
        "SELECT t.continuation_id, t.name, t.preview, t.rule
         FROM tool_calls t JOIN continuations c ON c.id = t.continuation_id
         WHERE c.session_id = ?1 AND t.state = 'denied' AND substr(t.rule, 1, ?2) = ?3
         ORDER BY c.position DESC, t.step DESC, t.idx DESC LIMIT 10",
        params![session, TOO_MANY_WAIT.len(), TOO_MANY_WAIT],
        |row| Ok(columns!(row => RefusedCall { continuation_id, tool = "name", preview, rule })),
    )
}

/// Sessions with a condition of ours, in order.
pub(crate) fn load_sessions(
    conn: &Connection,
    tail: &str,
    params: impl Params,
) -> Result<Vec<(i64, Session)>, StoreError> {
    let rows = conn.rows(&format!("{SESSION} {tail}"), params, session_row)?;
    let mut sessions = Vec::with_capacity(rows.len());
    for (position, mut session, open) in rows {
        if let Some(refused) = &mut session.refused_calls {
            refused.newest = newest_refused(conn, session.id)?;
        }
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
    load_sessions(conn, "WHERE s.id = ?1", [id])?
        .pop()
        .map(|(_, session)| session)
        .ok_or_else(|| StoreError::not_found("session", id))
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
    Ok(columns!(row => TurnHead {
        position, id, state, sender = "requester_display", text, created_at, updated_at;
        error: row.json_opt("error")?,
    }))
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
        let (at, position) = change_start(page)?.unwrap_or((i64::MAX, i64::MAX));
        let state = filter.state.map(SessionState::as_str);
        let prefix = filter.prefix.as_deref().unwrap_or_default();
        let rows = match (filter.channel.as_deref(), state) {
            (Some(channel), state) if !prefix.is_empty() => load_sessions(
                self.conn,
                &format!(
                    "WHERE s.channel = ?4 AND substr(s.conversation, 1, length(?5)) = ?5
                        AND (?6 IS NULL OR +s.state = ?6) AND {AFTER}"
                ),
                params![at, position, limit + 1, channel, prefix, state],
            )?,
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
        Ok(change_page(rows, limit, |session| session.updated_at))
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
        let mut compacted = self.compacted(session)?;
        let mut entries = Vec::new();
        let heads = format!("{TURN_HEADS} AND position <= ?2 ORDER BY position DESC");
        let before_turn = params![session, before >> LINE_BITS];
        self.conn.each_while(&heads, before_turn, |row| {
            let turn = turn_head(row)?;
            // Newest first, each behind the last turn that had come when it began.
            let count = compacted
                .iter()
                .take_while(|(at, _)| *at >= turn.created_at)
                .count();
            let lines = behind(&turn, compacted.drain(..count).collect());
            entries.extend(lines.into_iter().filter(|line| line.position < before));
            self.push_turn(turn, before, &mut entries)?;
            Ok(entries.len() <= limit)
        })?;
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
        self.conn.rows(
            "SELECT started_at, turns, facts, tokens_before, tokens_after FROM compactions
             WHERE session_id = ?1 AND state = 'done' ORDER BY position DESC",
            [session],
            |row| {
                let body = columns!(row => TranscriptBody::Compacted {
                    turns, facts, tokens_before, tokens_after,
                });
                Ok((row.get("started_at")?, body))
            },
        )
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
        let first = i64::try_from(from >> LINE_BITS).unwrap_or(i64::MAX);
        let compacted = self.compacted(session)?;
        let mut entries = Vec::new();
        let mut push = |head: TurnHead, next: Option<Timestamp>| -> Result<bool, StoreError> {
            let after = compacted
                .iter()
                .filter(|(at, _)| *at >= head.created_at && next.is_none_or(|next| *at < next));
            let mut turn = behind(&head, after.cloned().collect());
            self.push_turn(head, u64::MAX, &mut turn)?;
            entries.extend(turn.into_iter().rev().filter(|e| e.position >= from));
            Ok(entries.len() <= limit)
        };
        // A turn's lines end where the next turn begins.
        let mut last: Option<TurnHead> = None;
        let heads = format!("{TURN_HEADS} AND position >= ?2 ORDER BY position");
        self.conn
            .each_while(&heads, params![session, first], |row| {
                let next = turn_head(row)?;
                let next_at = next.created_at;
                let Some(head) = last.replace(next) else {
                    return Ok(true);
                };
                let more = push(head, Some(next_at))?;
                if !more {
                    last = None;
                }
                Ok(more)
            })?;
        if let Some(head) = last {
            push(head, None)?;
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
        self.conn.value_opt::<SessionId>(
            "SELECT id FROM sessions WHERE channel = ?1 AND conversation = ?2 AND state = 'active' AND temporary = 0",
            [channel, conversation],
        )
    }

    /// A conversation of a channel that somebody wrote in: this one, or the one with the newest change.
    pub fn known_conversation(
        &self,
        channel: &str,
        conversation: Option<&str>,
    ) -> Result<Option<String>, StoreError> {
        self.conn.value_opt(
            "SELECT conversation FROM sessions WHERE channel = ?1 AND temporary = 0
                AND (?2 IS NULL OR conversation = ?2) ORDER BY updated_at DESC LIMIT 1",
            params![channel, conversation],
        )
    }

    /// Continuations that were interrupted and wait for somebody, each with its channel.
    pub fn interrupted(&self) -> Result<Vec<(ContinuationId, String)>, StoreError> {
        self.conn.rows(
            "SELECT c.id, s.channel FROM continuations c JOIN sessions s ON s.id = c.session_id
             WHERE c.ended_at IS NULL AND c.state = 'interrupted' ORDER BY +c.position",
            [],
            columns!(id, channel),
        )
    }

    /// Sessions that have a pending continuation.
    pub fn sessions_with_pending(&self) -> Result<Vec<SessionId>, StoreError> {
        self.conn.values::<SessionId>(
            "SELECT DISTINCT session_id FROM continuations WHERE ended_at IS NULL AND state = 'pending'",
            [],
        )
    }
}
