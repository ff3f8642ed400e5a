//! Continuations and their steps.

use crate::clock::Timestamp;
use crate::protocol::bridge::ShownProgress;
use crate::protocol::citation::Citations;
use crate::protocol::enums::ContinuationState;
use crate::protocol::ids::{ApprovalId, ContinuationId, SessionId};
use crate::protocol::rule::PYTHON;
use crate::protocol::session::{Continuation, Step, StepBody, TextBody};
use crate::protocol::snapshot::{Page, PageRequest};
use crate::store::error::StoreError;
use crate::store::queries::files::load_outbound_files;
use crate::store::queries::page::read_page;
use crate::store::queries::steps::load_steps;
use crate::store::queries::turn::load_calls;
use crate::store::reader::Reader;
use crate::store::rows::{requester, usage};
use crate::store::sql::{Connection, Params, Row, Statements, columns, params};

/// The tool whose calls send files.
const SEND_FILE: &str = "send_file";

/// Which continuations.
#[derive(Debug, Clone, Default)]
pub struct ContinuationFilter {
    /// Only this state.
    pub state: Option<ContinuationState>,
    /// Only this session.
    pub session_id: Option<SessionId>,
}

const CONTINUATION: &str = "SELECT c.id, c.session_id, s.channel, s.conversation, c.state, c.requester_id,
        c.requester_display, c.requester_person, c.surface, c.text, c.attachments,
        CASE c.state WHEN 'completed' THEN
            (SELECT f.body FROM steps f WHERE f.continuation_id = c.id AND f.kind = 'final')
        END AS answer, c.options,
        c.input_tokens, c.output_tokens, c.cached_tokens, c.cache_write_tokens, c.cost_usd,
        (SELECT max(n) FROM steps m WHERE m.continuation_id = c.id) AS steps, c.error, c.retry_of, c.attempt, c.model,
        (SELECT count(*) FROM inbound_files w WHERE w.continuation_id = c.id) AS waiting_files,
        c.created_at, c.updated_at, c.position
     FROM continuations c JOIN sessions s ON s.id = c.session_id";

fn continuation_row(row: &Row<'_>) -> Result<(i64, Continuation), StoreError> {
    let (response, citations) = match row.json_opt("answer")? {
        Some(StepBody::Final {
            text, citations, ..
        }) => (Some(TextBody { text }), citations),
        Some(
            StepBody::Model { .. }
            | StepBody::ToolResult { .. }
            | StepBody::OperatorNote { .. }
            | StepBody::Error { .. },
        )
        | None => (None, Citations::default()),
    };
    let continuation = columns!(row => Continuation {
        id, session_id, channel, conversation, state, surface, retry_of, attempt, model,
        waiting_files, created_at, updated_at;
        response, citations,
        requester: requester(row)?,
        request: TextBody {
            text: row.get("text")?,
        },
        attachments: row.json_opt("attachments")?.unwrap_or_default(),
        options: row.json_opt("options")?,
        files: Vec::new(),
        usage: usage(row)?,
        steps: row.get::<Option<u32>>("steps")?.unwrap_or(0),
        tool_calls: Vec::new(),
        approvals: Vec::new(),
        error: row.json_opt("error")?,
    });
    Ok((row.get("position")?, continuation))
}

/// Continuations with a condition of ours, in order, with their calls and approvals.
pub(crate) fn load_continuations(
    conn: &Connection,
    tail: &str,
    params: impl Params,
) -> Result<Vec<(i64, Continuation)>, StoreError> {
    let mut rows = conn.rows(&format!("{CONTINUATION} {tail}"), params, continuation_row)?;
    for (_, continuation) in &mut rows {
        continuation.tool_calls = load_calls(conn, continuation.id)?
            .into_iter()
            .map(|row| row.call)
            .collect();
        if continuation
            .tool_calls
            .iter()
            .any(|call| [SEND_FILE, PYTHON].contains(&call.name.as_str()))
        {
            continuation.files = load_outbound_files(conn, continuation.id)?;
        }
        continuation.approvals = conn.values::<ApprovalId>(
            "SELECT id FROM approvals WHERE continuation_id = ?1 ORDER BY position",
            [continuation.id],
        )?;
    }
    Ok(rows)
}

/// An open turn of a chat that was not told that work goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UntoldTurn {
    pub id: ContinuationId,
    pub channel: String,
    pub conversation: String,
    /// When its message came.
    pub created_at: Timestamp,
    /// Whether its session is paused.
    pub paused: bool,
}

impl Reader<'_> {
    /// Progress messages that chats of a channel have.
    pub fn shown_progress(&self, channel: &str) -> Result<Vec<ShownProgress>, StoreError> {
        self.conn.rows(
            "SELECT c.id, s.conversation, c.progress_ref
             FROM continuations c JOIN sessions s ON s.id = c.session_id
             WHERE c.progress_ref IS NOT NULL AND s.channel = ?1",
            [channel],
            |row| {
                Ok(columns!(row => ShownProgress {
                    continuation_id = "id", conversation, message_ref = "progress_ref",
                }))
            },
        )
    }

    /// Turns of chats that wait or run, and whose chat was not told that work goes on.
    pub fn untold_turns(&self) -> Result<Vec<UntoldTurn>, StoreError> {
        self.conn.rows(
            "SELECT c.id, s.channel, s.conversation, c.created_at, s.paused
             FROM continuations c JOIN sessions s ON s.id = c.session_id
             WHERE c.ended_at IS NULL AND c.state IN ('pending', 'running') AND c.surface = 'chat'
                AND c.progress_told_at IS NULL",
            [],
            |row| Ok(columns!(row => UntoldTurn { id, channel, conversation, created_at, paused })),
        )
    }

    /// Continuations, shortened, newest first.
    pub fn continuations(
        &self,
        filter: &ContinuationFilter,
        page: &PageRequest,
    ) -> Result<Page<Continuation>, StoreError> {
        // A stored row is never `streaming`: an open stream is a running continuation.
        let state = filter.state.map(|state| match state {
            ContinuationState::Streaming => ContinuationState::Running.as_str(),
            other => other.as_str(),
        });
        let session = filter.session_id.map(SessionId::to_bytes);
        let mut page = read_page(page, i64::MAX, |before, most| match (session, state) {
            (None, None) => load_continuations(
                self.conn,
                "WHERE c.position < ?1 ORDER BY c.position DESC LIMIT ?2",
                params![before, most],
            ),
            (None, Some(state)) => load_continuations(
                self.conn,
                "WHERE c.state = ?3 AND c.position < ?1 ORDER BY c.position DESC LIMIT ?2",
                params![before, most, state],
            ),
            (Some(session), None) => load_continuations(
                self.conn,
                "WHERE c.session_id = ?3 AND c.position < ?1 ORDER BY c.position DESC LIMIT ?2",
                params![before, most, session],
            ),
            (Some(session), Some(state)) => load_continuations(
                self.conn,
                "WHERE c.session_id = ?3 AND +c.state = ?4 AND c.position < ?1 ORDER BY c.position DESC LIMIT ?2",
                params![before, most, session, state],
            ),
        })?;
        page.items.iter_mut().for_each(Continuation::shorten);
        Ok(page)
    }

    /// One continuation.
    pub fn continuation(&self, id: ContinuationId) -> Result<Continuation, StoreError> {
        load_continuations(self.conn, "WHERE c.id = ?1", [id])?
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
                .value_opt("SELECT position FROM continuations WHERE id = ?1", [id])?;
            known.ok_or_else(|| StoreError::not_found("continuation", id))?;
        }
        Ok(steps)
    }
}
