//! Everything the turn machine folds to go on with one continuation.

use crate::protocol::approval::{Requester, Speaker};
use crate::protocol::artifact::Attachment;
use crate::protocol::budget::{TurnLimits, TurnUsage};
use crate::protocol::enums::{ApprovalState, ContinuationState, Surface};
use crate::protocol::gate::CallReport;
use crate::protocol::ids::{ContinuationId, RuleId, SessionId, ToolCallId};
use crate::protocol::options::TurnOptions;
use crate::protocol::policy::Verdict;
use crate::protocol::session::{Step, ToolCall};
use crate::store::error::StoreError;
use crate::store::input::{TurnBounds, TurnCache};
use crate::store::queries::steps::load_steps;
use crate::store::reader::Reader;
use crate::store::rows::requester;
use crate::store::sql::{Connection, Row, Statements, columns, params};

/// A tool call with what only the engine needs.
#[derive(Debug, Clone, PartialEq)]
pub struct CallRow {
    /// The call as surfaces see it.
    pub call: ToolCall,
    /// The provider's id.
    pub provider_call_id: String,
    /// One line of its arguments.
    pub preview: String,
    /// Digest of the plan that was evaluated or approved.
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
    pub id: ContinuationId,
    pub state: ContinuationState,
    /// Epoch that claimed it last; 0 = never.
    pub epoch: u64,
    /// How often it was claimed.
    pub attempt: u32,
    pub session_id: SessionId,
    pub channel: String,
    pub conversation: String,
    pub requester: Requester,
    /// What models are told of them; none in messages of earlier versions.
    pub speaker: Option<Speaker>,
    /// Through which surface.
    pub surface: Surface,
    /// The user's message: outside text.
    pub text: String,
    /// What models read instead, where a hook changed it.
    pub sent_text: Option<String>,
    /// The files that came with the message.
    pub attachments: Vec<Attachment>,
    /// Model of this turn, else of its session.
    pub model: Option<String>,
    /// What models are told in every turn of its session.
    pub preferences: Option<String>,
    /// Real input tokens per estimated one, as its session has learned; none = nothing yet.
    pub estimate_ratio: Option<f64>,
    /// Budgets, extended by decisions.
    pub limits: TurnLimits,
    /// What it used.
    pub used: TurnUsage,
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
    /// What its message asks for beside its text.
    pub options: TurnOptions,
    pub bounds: TurnBounds,
    /// Its steps in order.
    pub steps: Vec<Step>,
    /// Its calls in order.
    pub calls: Vec<CallRow>,
}

/// Where a continuation stands, and where it is told of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    pub state: ContinuationState,
    /// Epoch that claimed it last; 0 = never.
    pub epoch: u64,
    pub channel: String,
    pub conversation: String,
    /// Platform id of the user's message.
    pub message_ref: Option<String>,
}

const CALL: &str =
    "SELECT t.id, t.continuation_id, t.step, t.idx, t.name, t.args, t.access, t.effect, t.risk,
        t.risk_reasons, t.plan, t.state, t.verdict, t.rule, t.policy_version, t.approval_id,
        json_extract(s.body, '$.content') AS result,
        t.duration_ms, t.attempts, t.created_at, t.started_at,
        t.provider_call_id, t.preview, t.digest, t.args_digest, t.idempotency_key, a.state AS approval_state, a.taint, a.decision_body,
        json_extract(s.body, '$.artifact') AS artifact, json_extract(s.body, '$.cached') AS cached, t.rule_id,
        p.outcome AS report_outcome, p.result AS report_result, p.created_at AS reported_at
     FROM tool_calls t LEFT JOIN approvals a ON a.id = t.approval_id
        LEFT JOIN call_reports p ON p.tool_call_id = t.id
        LEFT JOIN steps s ON s.continuation_id = t.continuation_id AND s.n = t.result_step";

fn call_row(row: &Row<'_>) -> Result<CallRow, StoreError> {
    Ok(columns!(row => CallRow {
        provider_call_id, preview, digest, args_digest, idempotency_key, approval_state, rule_id;
        call: columns!(row => ToolCall {
            id, continuation_id, step, index = "idx", name, access, effect, risk, state,
            approval_id, result, duration_ms, attempts, created_at, started_at;
            args: row.json("args")?,
            risk_reasons: row.json("risk_reasons")?,
            plan: row.json("plan")?,
            verdict: columns!(row => Verdict { decision = "verdict", rule, policy_version }),
            decision: row.json_opt("decision_body")?,
            artifact: row.json_opt("artifact")?,
            cached: row.json_opt("cached")?,
            report: match row.get("report_outcome")? {
                Some(outcome) => Some(columns!(row => CallReport {
                    result = "report_result", at = "reported_at";
                    outcome,
                })),
                None => None,
            },
            shortened: false,
        }),
        taint: row.json_opt("taint")?.unwrap_or_default(),
    }))
}

/// The calls of a continuation in order.
pub(crate) fn load_calls(
    conn: &Connection,
    id: ContinuationId,
) -> Result<Vec<CallRow>, StoreError> {
    conn.rows(
        &format!("{CALL} WHERE t.continuation_id = ?1 ORDER BY t.step, t.idx"),
        [id],
        call_row,
    )
}

/// The calls one step proposed, in order.
pub(crate) fn load_calls_of_step(
    conn: &Connection,
    id: ContinuationId,
    step: u32,
) -> Result<Vec<CallRow>, StoreError> {
    conn.rows(
        &format!("{CALL} WHERE t.continuation_id = ?1 AND t.step = ?2 ORDER BY t.idx"),
        params![id, step],
        call_row,
    )
}

/// One call.
pub(crate) fn load_call(conn: &Connection, id: ToolCallId) -> Result<CallRow, StoreError> {
    conn.row_opt(&format!("{CALL} WHERE t.id = ?1"), [id], call_row)?
        .ok_or_else(|| StoreError::not_found("tool call", id))
}

impl Reader<'_> {
    /// Where a continuation stands.
    pub fn standing(&self, id: ContinuationId) -> Result<Standing, StoreError> {
        self.conn
            .row_opt(
                "SELECT c.state, c.epoch, s.channel, s.conversation, c.message_ref
                 FROM continuations c JOIN sessions s ON s.id = c.session_id WHERE c.id = ?1",
                [id],
                |row| {
                    Ok(columns!(row => Standing {
                        state, epoch, channel, conversation, message_ref,
                    }))
                },
            )?
            .ok_or_else(|| StoreError::not_found("continuation", id))
    }

    /// One continuation, whole.
    pub fn turn(&self, id: ContinuationId) -> Result<TurnRows, StoreError> {
        let mut turn = self
            .conn
            .row_opt(
                "SELECT c.state, c.epoch, c.attempt, c.session_id, s.channel, s.conversation, c.requester_id,
                    c.requester_display, c.requester_person, c.surface, c.text, coalesce(c.model, s.model) AS model,
                    c.max_steps, c.max_tool_calls, c.max_active_ms, c.max_tokens,
                    c.used_steps, c.used_tool_calls, c.used_active_ms, c.input_tokens + c.output_tokens AS tokens,
                    c.message_ref, s.temporary, c.retry_of, s.estimate_ratio, s.preferences, c.fresh, c.private, c.max_cost_usd,
                    s.turns - coalesce((SELECT m.turns FROM summaries m WHERE m.session_id = s.id), 0) AS uncovered,
                    c.unattended, c.autonomy_ceiling, c.sent_text, c.speaker, c.attachments, c.options
                 FROM continuations c JOIN sessions s ON s.id = c.session_id WHERE c.id = ?1",
                [id],
                |row| Ok(columns!(row => TurnRows {
                    state, epoch, attempt, session_id, channel, conversation, surface, text,
                    sent_text, model, preferences, estimate_ratio, message_ref, temporary,
                    retry_of;
                    id,
                    requester: requester(row)?,
                    speaker: row.json_opt("speaker")?,
                    attachments: row.json_opt("attachments")?.unwrap_or_default(),
                    limits: columns!(row => TurnLimits {
                        max_steps, max_tool_calls, max_active_ms, max_tokens, max_cost_usd,
                    }),
                    used: columns!(row => TurnUsage {
                        steps = "used_steps", tool_calls = "used_tool_calls",
                        active_ms = "used_active_ms", tokens,
                    }),
                    uncovered: row.get::<i64>("uncovered")?.max(0).unsigned_abs(),
                    cache: columns!(row => TurnCache { fresh, private }),
                    options: row.json_opt("options")?.unwrap_or_default(),
                    bounds: columns!(row => TurnBounds {
                        unattended, autonomy_ceiling;
                        alone: false,
                    }),
                    steps: Vec::new(),
                    calls: Vec::new(),
                })),
            )?
            .ok_or_else(|| StoreError::not_found("continuation", id))?;
        turn.steps = load_steps(self.conn, id)?;
        turn.calls = load_calls(self.conn, id)?;
        Ok(turn)
    }
}
