//! Continuations and their steps.

use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::clock::Timestamp;
use crate::protocol::approval::Requester;
use crate::protocol::ids::{ApprovalId, ContinuationId, SessionId};
use crate::protocol::session::{Continuation, Step, TextBody};
use crate::protocol::snapshot::{Page, PageRequest};
use crate::protocol::words::ContinuationState;
use crate::store::error::StoreError;
use crate::store::queries::page::{page_limit, page_of, page_start};
use crate::store::queries::turn::load_calls;
use crate::store::reader::Reader;
use crate::store::rows::{json, json_opt, usage, word};

/// Which continuations.
#[derive(Debug, Clone, Default)]
pub struct ContinuationFilter {
    /// Only this state.
    pub state: Option<ContinuationState>,
    /// Only this session.
    pub session_id: Option<SessionId>,
}

const CONTINUATION: &str = "SELECT c.id, c.session_id, s.channel, s.conversation, c.state, c.requester_id,
        c.requester_display, c.requester_person, c.surface, c.text,
        CASE c.state WHEN 'completed' THEN
            (SELECT json_extract(f.body, '$.text') FROM steps f WHERE f.continuation_id = c.id AND f.kind = 'final')
        END,
        c.input_tokens, c.output_tokens, c.cached_tokens, c.cache_write_tokens, c.cost_usd,
        (SELECT max(n) FROM steps m WHERE m.continuation_id = c.id), c.error, c.retry_of, c.attempt, c.model,
        c.created_at, c.updated_at, c.position
     FROM continuations c JOIN sessions s ON s.id = c.session_id";

fn continuation_row(row: &Row<'_>) -> rusqlite::Result<(i64, Continuation)> {
    let continuation = Continuation {
        id: ContinuationId::from_bytes(row.get(0)?),
        session_id: SessionId::from_bytes(row.get(1)?),
        channel: row.get(2)?,
        conversation: row.get(3)?,
        state: word(row, 4)?,
        requester: Requester {
            id: row.get(5)?,
            display: row.get(6)?,
            person: row.get(7)?,
        },
        surface: word(row, 8)?,
        request: TextBody { text: row.get(9)? },
        response: row
            .get::<_, Option<String>>(10)?
            .map(|text| TextBody { text }),
        usage: usage(row, 11)?,
        steps: row.get::<_, Option<u32>>(16)?.unwrap_or(0),
        tool_calls: Vec::new(),
        approvals: Vec::new(),
        error: json_opt(row, 17)?,
        retry_of: row
            .get::<_, Option<[u8; 16]>>(18)?
            .map(ContinuationId::from_bytes),
        attempt: row.get(19)?,
        model: row.get(20)?,
        created_at: Timestamp(row.get(21)?),
        updated_at: Timestamp(row.get(22)?),
    };
    Ok((row.get(23)?, continuation))
}

/// Continuations with a condition of ours, in order, with their calls and approvals.
pub(crate) fn load_continuations(
    conn: &Connection,
    tail: &str,
    params: impl rusqlite::Params,
) -> Result<Vec<(i64, Continuation)>, StoreError> {
    let mut rows = conn
        .prepare_cached(&format!("{CONTINUATION} {tail}"))?
        .query_map(params, continuation_row)?
        .collect::<rusqlite::Result<Vec<_>>>()?;
    for (_, continuation) in &mut rows {
        continuation.tool_calls = load_calls(conn, continuation.id)?
            .into_iter()
            .map(|row| row.call)
            .collect();
        continuation.approvals = conn
            .prepare_cached(
                "SELECT id FROM approvals WHERE continuation_id = ?1 ORDER BY position",
            )?
            .query_map([continuation.id.to_bytes()], |row| {
                row.get(0).map(ApprovalId::from_bytes)
            })?
            .collect::<rusqlite::Result<_>>()?;
    }
    Ok(rows)
}

/// A continuation's steps in order.
pub(crate) fn load_steps(conn: &Connection, id: ContinuationId) -> Result<Vec<Step>, StoreError> {
    Ok(conn
        .prepare_cached(
            "SELECT n, kind, body, at FROM steps WHERE continuation_id = ?1 ORDER BY n",
        )?
        .query_map([id.to_bytes()], |row| {
            Ok(Step {
                continuation_id: id,
                n: row.get(0)?,
                kind: word(row, 1)?,
                body: json(row, 2)?,
                at: Timestamp(row.get(3)?),
            })
        })?
        .collect::<rusqlite::Result<_>>()?)
}

impl Reader<'_> {
    /// Continuations, shortened, newest first.
    pub fn continuations(
        &self,
        filter: &ContinuationFilter,
        page: &PageRequest,
    ) -> Result<Page<Continuation>, StoreError> {
        let limit = page_limit(page);
        let before = page_start(page, i64::MAX)?;
        // A stored row is never `streaming`: an open stream is a running continuation.
        let state = filter.state.map(|state| match state {
            ContinuationState::Streaming => ContinuationState::Running.as_str(),
            other => other.as_str(),
        });
        let session = filter.session_id.map(SessionId::to_bytes);
        let rows = match (session, state) {
            (None, None) => load_continuations(
                self.conn,
                "WHERE c.position < ?1 ORDER BY c.position DESC LIMIT ?2",
                params![before, limit + 1],
            )?,
            (None, Some(state)) => load_continuations(
                self.conn,
                "WHERE c.state = ?3 AND c.position < ?1 ORDER BY c.position DESC LIMIT ?2",
                params![before, limit + 1, state],
            )?,
            (Some(session), None) => load_continuations(
                self.conn,
                "WHERE c.session_id = ?3 AND c.position < ?1 ORDER BY c.position DESC LIMIT ?2",
                params![before, limit + 1, session],
            )?,
            (Some(session), Some(state)) => load_continuations(
                self.conn,
                "WHERE c.session_id = ?3 AND +c.state = ?4 AND c.position < ?1 ORDER BY c.position DESC LIMIT ?2",
                params![before, limit + 1, session, state],
            )?,
        };
        let mut page = page_of(rows, limit);
        page.items.iter_mut().for_each(Continuation::shorten);
        Ok(page)
    }

    /// One continuation.
    pub fn continuation(&self, id: ContinuationId) -> Result<Continuation, StoreError> {
        load_continuations(self.conn, "WHERE c.id = ?1", [id.to_bytes()])?
            .pop()
            .map(|(_, continuation)| continuation)
            .ok_or_else(|| StoreError::not_found("continuation", id))
    }

    /// Its steps in order.
    pub fn steps(&self, id: ContinuationId) -> Result<Vec<Step>, StoreError> {
        let steps = load_steps(self.conn, id)?;
        if steps.is_empty() {
            let known: Option<i64> = self
                .conn
                .prepare_cached("SELECT position FROM continuations WHERE id = ?1")?
                .query_row([id.to_bytes()], |row| row.get(0))
                .optional()?;
            known.ok_or_else(|| StoreError::not_found("continuation", id))?;
        }
        Ok(steps)
    }
}
