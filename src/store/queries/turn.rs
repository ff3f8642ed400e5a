//! Everything the turn machine folds to go on with one continuation.

use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::clock::Timestamp;
use crate::protocol::approval::{Requester, Speaker};
use crate::protocol::ids::{ApprovalId, ContinuationId, RuleId, SessionId, ToolCallId};
use crate::protocol::policy::Verdict;
use crate::protocol::session::{Step, ToolCall};
use crate::protocol::words::{ApprovalState, ContinuationState, Surface};
use crate::store::error::StoreError;
use crate::store::input::{TurnBounds, TurnCache, TurnLimits, TurnUsed};
use crate::store::queries::continuations::load_steps;
use crate::store::reader::Reader;
use crate::store::rows::{json, json_opt, word, word_opt};

/// A tool call with what only the engine needs.
#[derive(Debug, Clone, PartialEq)]
pub struct CallRow {
    /// The call as surfaces see it.
    pub call: ToolCall,
    /// The provider's id.
    pub provider_call_id: String,
    /// One line of its arguments.
    pub preview: String,
    /// Digest of the plan that was judged or approved.
    pub digest: String,
    /// Digest of the canonical arguments.
    pub args_digest: String,
    /// Stable across attempts.
    pub idempotency_key: String,
    /// State of [`ToolCall::approval_id`].
    pub approval_state: Option<ApprovalState>,
    /// Which untrusted content was in context when it asked.
    pub taint: Vec<String>,
    /// The rule that decided it.
    pub rule_id: Option<RuleId>,
}

/// A continuation with its steps and calls.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnRows {
    /// Id.
    pub id: ContinuationId,
    /// Where it stands.
    pub state: ContinuationState,
    /// Epoch that claimed it last; 0 = never.
    pub epoch: u64,
    /// How often it was claimed.
    pub attempt: u32,
    /// Its session.
    pub session_id: SessionId,
    /// Channel name.
    pub channel: String,
    /// Conversation key.
    pub conversation: String,
    /// Who asked.
    pub requester: Requester,
    /// What models are told of them; none in messages of earlier versions.
    pub speaker: Option<Speaker>,
    /// Through which surface.
    pub surface: Surface,
    /// The user's message: outside text.
    pub text: String,
    /// What models read instead, where a hook changed it.
    pub sent_text: Option<String>,
    /// Model of this turn, else of its session.
    pub model: Option<String>,
    /// Real input tokens per estimated one, as its session has learned; none = nothing yet.
    pub estimate_ratio: Option<f64>,
    /// Budgets, extended by decisions.
    pub limits: TurnLimits,
    /// What it used.
    pub used: TurnUsed,
    /// Platform id of the user's message.
    pub message_ref: Option<String>,
    /// Turns of its session that its summary does not cover, at most: this one, and failed ones too.
    pub uncovered: u64,
    /// Whether its session ends with it.
    pub temporary: bool,
    /// The continuation it repeats.
    pub retry_of: Option<ContinuationId>,
    /// What the response cache may do for it.
    pub cache: TurnCache,
    /// What bounds it.
    pub bounds: TurnBounds,
    /// Its steps in order.
    pub steps: Vec<Step>,
    /// Its calls in order.
    pub calls: Vec<CallRow>,
}

/// Where a continuation stands, and where it is told of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// Its state.
    pub state: ContinuationState,
    /// Epoch that claimed it last; 0 = never.
    pub epoch: u64,
    /// Channel name.
    pub channel: String,
    /// Conversation key.
    pub conversation: String,
    /// Platform id of the user's message.
    pub message_ref: Option<String>,
}

const CALL: &str =
    "SELECT t.id, t.continuation_id, t.step, t.idx, t.name, t.args, t.access, t.effect, t.risk,
        t.risk_reasons, t.plan, t.state, t.verdict, t.rule, t.policy_version, t.approval_id,
        json_extract(s.body, '$.content'),
        t.duration_ms, t.attempts, t.created_at, t.started_at,
        t.provider_call_id, t.preview, t.digest, t.args_digest, t.idempotency_key, a.state, a.taint,
        json_extract(s.body, '$.artifact'), json_extract(s.body, '$.cached'), t.rule_id
     FROM tool_calls t LEFT JOIN approvals a ON a.id = t.approval_id
        LEFT JOIN steps s ON s.continuation_id = t.continuation_id AND s.n = t.result_step";

fn call_row(row: &Row<'_>) -> rusqlite::Result<CallRow> {
    Ok(CallRow {
        call: ToolCall {
            id: ToolCallId::from_bytes(row.get(0)?),
            continuation_id: ContinuationId::from_bytes(row.get(1)?),
            step: row.get(2)?,
            index: row.get(3)?,
            name: row.get(4)?,
            args: json(row, 5)?,
            access: word(row, 6)?,
            effect: word(row, 7)?,
            risk: word(row, 8)?,
            risk_reasons: json(row, 9)?,
            plan: json(row, 10)?,
            state: word(row, 11)?,
            verdict: Verdict {
                decision: word(row, 12)?,
                rule: row.get(13)?,
                policy_version: row.get(14)?,
            },
            approval_id: row
                .get::<_, Option<[u8; 16]>>(15)?
                .map(ApprovalId::from_bytes),
            result: row.get(16)?,
            artifact: json_opt(row, 28)?,
            cached: json_opt(row, 29)?,
            duration_ms: row.get(17)?,
            attempts: row.get(18)?,
            created_at: Timestamp(row.get(19)?),
            started_at: row.get::<_, Option<i64>>(20)?.map(Timestamp),
            shortened: false,
        },
        provider_call_id: row.get(21)?,
        preview: row.get(22)?,
        digest: row.get(23)?,
        args_digest: row.get(24)?,
        idempotency_key: row.get(25)?,
        approval_state: word_opt(row, 26)?,
        taint: json_opt(row, 27)?.unwrap_or_default(),
        rule_id: row.get::<_, Option<[u8; 16]>>(30)?.map(RuleId::from_bytes),
    })
}

/// The calls of a continuation in order.
pub(crate) fn load_calls(
    conn: &Connection,
    id: ContinuationId,
) -> Result<Vec<CallRow>, StoreError> {
    Ok(conn
        .prepare_cached(&format!(
            "{CALL} WHERE t.continuation_id = ?1 ORDER BY t.step, t.idx"
        ))?
        .query_map([id.to_bytes()], call_row)?
        .collect::<rusqlite::Result<_>>()?)
}

/// The calls one step proposed, in order.
pub(crate) fn load_calls_of_step(
    conn: &Connection,
    id: ContinuationId,
    step: u32,
) -> Result<Vec<CallRow>, StoreError> {
    Ok(conn
        .prepare_cached(&format!(
            "{CALL} WHERE t.continuation_id = ?1 AND t.step = ?2 ORDER BY t.idx"
        ))?
        .query_map(params![id.to_bytes(), step], call_row)?
        .collect::<rusqlite::Result<_>>()?)
}

/// One call.
pub(crate) fn load_call(conn: &Connection, id: ToolCallId) -> Result<CallRow, StoreError> {
    conn.prepare_cached(&format!("{CALL} WHERE t.id = ?1"))?
        .query_row([id.to_bytes()], call_row)
        .optional()?
        .ok_or_else(|| StoreError::not_found("tool call", id))
}

impl Reader<'_> {
    /// Where a continuation stands.
    pub fn standing(&self, id: ContinuationId) -> Result<Standing, StoreError> {
        self.conn
            .prepare_cached(
                "SELECT c.state, c.epoch, s.channel, s.conversation, c.message_ref
                 FROM continuations c JOIN sessions s ON s.id = c.session_id WHERE c.id = ?1",
            )?
            .query_row([id.to_bytes()], |row| {
                Ok(Standing {
                    state: word(row, 0)?,
                    epoch: row.get(1)?,
                    channel: row.get(2)?,
                    conversation: row.get(3)?,
                    message_ref: row.get(4)?,
                })
            })
            .optional()?
            .ok_or_else(|| StoreError::not_found("continuation", id))
    }

    /// One continuation, whole.
    pub fn turn(&self, id: ContinuationId) -> Result<TurnRows, StoreError> {
        let mut turn = self
            .conn
            .prepare_cached(
                "SELECT c.state, c.epoch, c.attempt, c.session_id, s.channel, s.conversation, c.requester_id,
                    c.requester_display, c.requester_person, c.surface, c.text, coalesce(c.model, s.model),
                    c.max_steps, c.max_tool_calls, c.max_active_ms, c.max_tokens,
                    c.used_steps, c.used_tool_calls, c.used_active_ms, c.input_tokens + c.output_tokens,
                    c.message_ref, s.temporary, c.retry_of, s.estimate_ratio, c.fresh, c.private, c.max_cost_usd,
                    s.turns - coalesce((SELECT m.turns FROM summaries m WHERE m.session_id = s.id), 0),
                    c.unattended, c.autonomy_ceiling, c.sent_text, c.speaker
                 FROM continuations c JOIN sessions s ON s.id = c.session_id WHERE c.id = ?1",
            )?
            .query_row([id.to_bytes()], |row| {
                Ok(TurnRows {
                    id,
                    state: word(row, 0)?,
                    epoch: row.get(1)?,
                    attempt: row.get(2)?,
                    session_id: SessionId::from_bytes(row.get(3)?),
                    channel: row.get(4)?,
                    conversation: row.get(5)?,
                    requester: Requester {
                        id: row.get(6)?,
                        display: row.get(7)?,
                        person: row.get(8)?,
                    },
                    speaker: json_opt(row, 31)?,
                    surface: word(row, 9)?,
                    text: row.get(10)?,
                    sent_text: row.get(30)?,
                    model: row.get(11)?,
                    estimate_ratio: row.get(23)?,
                    limits: TurnLimits {
                        max_steps: row.get(12)?,
                        max_tool_calls: row.get(13)?,
                        max_active_ms: row.get(14)?,
                        max_tokens: row.get(15)?,
                        max_cost_usd: row.get(26)?,
                    },
                    used: TurnUsed {
                        steps: row.get(16)?,
                        tool_calls: row.get(17)?,
                        active_ms: row.get(18)?,
                        tokens: row.get(19)?,
                    },
                    message_ref: row.get(20)?,
                    uncovered: row.get::<_, i64>(27)?.max(0).unsigned_abs(),
                    temporary: row.get(21)?,
                    retry_of: row.get::<_, Option<[u8; 16]>>(22)?.map(ContinuationId::from_bytes),
                    cache: TurnCache {
                        fresh: row.get(24)?,
                        private: row.get(25)?,
                    },
                    bounds: TurnBounds {
                        unattended: word_opt(row, 28)?,
                        autonomy_ceiling: word_opt(row, 29)?,
                    },
                    steps: Vec::new(),
                    calls: Vec::new(),
                })
            })
            .optional()?
            .ok_or_else(|| StoreError::not_found("continuation", id))?;
        turn.steps = load_steps(self.conn, id)?;
        turn.calls = load_calls(self.conn, id)?;
        Ok(turn)
    }
}
