//! Tool calls: proposing, moving the state, writing the one result the model reads.

use crate::protocol::artifact::ArtifactRef;
use crate::protocol::enums::{Effect, ToolCallState};
use crate::protocol::event::EventBody;
use crate::protocol::ids::{ApprovalId, ContinuationId, ToolCallId};
use crate::protocol::session::{CachedResult, StepBody};
use crate::store::command::WriteTx;
use crate::store::error::StoreError;
use crate::store::input::{Basis, NewCall, NewCallFacts, NewCallOutcome};
use crate::store::rows::preview;
use crate::store::sql::{Json, Statements, columns, params};
use crate::store::transitions;
use crate::store::tx::approvals::Subject;
use crate::store::tx::continuations::ContinuationRow;

/// The fields of a call that commands decide by.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) id: ToolCallId,
    pub(crate) continuation_id: ContinuationId,
    pub(crate) state: ToolCallState,
    pub(crate) name: String,
    pub(crate) provider_call_id: String,
    pub(crate) digest: String,
    pub(crate) args_digest: String,
    pub(crate) idempotency_key: String,
    pub(crate) effect: Effect,
    pub(crate) step: u32,
    pub(crate) attempts: u32,
    pub(crate) approval_id: Option<ApprovalId>,
    pub(crate) result_step: Option<u32>,
}

/// What the model reads of a call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallResult<'a> {
    pub(crate) content: &'a str,
    pub(crate) is_error: bool,
    pub(crate) duration_ms: Option<u64>,
    /// Where the whole is, when `content` is a part of it.
    pub(crate) artifact: Option<&'a ArtifactRef>,
    /// Set when it is a result that was kept.
    pub(crate) cached: Option<CachedResult>,
}

impl<'a> CallResult<'a> {
    /// A text that did not come from running the call.
    pub(crate) fn text(content: &'a str, is_error: bool) -> Self {
        Self {
            content,
            is_error,
            duration_ms: None,
            artifact: None,
            cached: None,
        }
    }
}

impl WriteTx<'_> {
    /// A call.
    pub(crate) fn call(&self, id: ToolCallId) -> Result<Call, StoreError> {
        self.conn
            .row_opt(
                "SELECT continuation_id, state, name, provider_call_id, digest, args_digest, idempotency_key, effect,
                    step, attempts, approval_id, result_step
                 FROM tool_calls WHERE id = ?1",
                [id],
                |row| Ok(columns!(row => Call {
                    continuation_id, state, name, provider_call_id, digest, args_digest,
                    idempotency_key, effect, step, attempts, approval_id, result_step;
                    id,
                })),
            )?
            .ok_or_else(|| StoreError::not_found("tool call", id))
    }

    /// Moves a call.
    pub(crate) fn move_call(
        &mut self,
        id: ToolCallId,
        from: ToolCallState,
        to: ToolCallState,
    ) -> Result<(), StoreError> {
        if !transitions::tool_call(from, to) {
            return Err(StoreError::conflict(format!(
                "tool call {id} cannot go from {from} to {to}"
            )));
        }
        let finished_at = to.is_settled().then_some(self.now);
        self.conn.run(
            "UPDATE tool_calls SET state = ?2, finished_at = ?3 WHERE id = ?1",
            params![id, to, finished_at],
        )?;
        Ok(())
    }

    /// Moves a call to a settled state and writes the result the model reads, exactly once.
    pub(crate) fn settle_call(
        &mut self,
        head: &ContinuationRow,
        call: &mut Call,
        to: ToolCallState,
        result: CallResult<'_>,
    ) -> Result<(), StoreError> {
        if call.result_step.is_some() {
            return Err(StoreError::conflict(format!(
                "tool call {} has its result already",
                call.id
            )));
        }
        self.move_call(call.id, call.state, to)?;
        crate::mutant!("result_for_every_call" => if call.state != ToolCallState::Started {
            call.state = to;
            return self.finished_event(head, call, to, result.content, result.duration_ms);
        });
        let n = self.push_step(
            head,
            &StepBody::ToolResult {
                call_id: call.id,
                provider_call_id: call.provider_call_id.clone(),
                name: call.name.clone(),
                state: to,
                content: result.content.to_owned(),
                is_error: result.is_error,
                duration_ms: result.duration_ms,
                artifact: result.artifact.cloned(),
                cached: result.cached,
            },
        )?;
        self.conn.run(
            "UPDATE tool_calls SET result_step = ?2, duration_ms = ?3 WHERE id = ?1",
            params![call.id, n, result.duration_ms],
        )?;
        call.state = to;
        call.result_step = Some(n);
        self.ended_event(head, call, to, &result)
    }

    /// Announces where a call ended.
    pub(crate) fn finished_event(
        &mut self,
        head: &ContinuationRow,
        call: &Call,
        state: ToolCallState,
        content: &str,
        duration_ms: Option<u64>,
    ) -> Result<(), StoreError> {
        let result = CallResult {
            duration_ms,
            ..CallResult::text(content, false)
        };
        self.ended_event(head, call, state, &result)
    }

    fn ended_event(
        &mut self,
        head: &ContinuationRow,
        call: &Call,
        state: ToolCallState,
        result: &CallResult<'_>,
    ) -> Result<(), StoreError> {
        self.emit_turn(
            head,
            EventBody::ToolFinished {
                call_id: call.id,
                name: call.name.clone(),
                state,
                preview: preview(result.content),
                duration_ms: result.duration_ms,
                cached: result.cached,
            },
        )
    }

    /// Stores a proposed call with what follows from its verdict. Answers which of its outcomes held.
    pub(crate) fn propose_call<'c>(
        &mut self,
        head: &ContinuationRow,
        step: u32,
        index: usize,
        new: &'c NewCall,
    ) -> Result<&'c NewCallOutcome, StoreError> {
        let (mut verdict, mut outcome) = (&new.verdict, &new.outcome);
        let mut basis = new.basis;
        if let Some(held) = basis
            && !self.count_use(held)?
        {
            basis = None;
            if let Some(fallback) = &new.fallback {
                (verdict, outcome) = (&fallback.verdict, &fallback.outcome);
            }
        }
        self.conn.run(
            "INSERT INTO tool_calls (id, continuation_id, channel, step, idx, provider_call_id, name, args, preview,
                access, effect, risk, risk_reasons, plan, digest, args_digest, idempotency_key, verdict, rule,
                policy_version, state, created_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20,
                'proposed', ?21)",
            params![
                new.id,
                head.id,
                head.channel,
                step,
                index,
                new.provider_call_id,
                new.name,
                Json(&new.args),
                preview(&new.preview),
                new.access,
                new.effect,
                new.risk,
                Json(&new.risk_reasons),
                Json(&new.plan),
                new.digest,
                new.args_digest,
                new.idempotency_key,
                verdict.decision,
                verdict.rule,
                verdict.policy_version,
                self.now
            ],
        )?;
        if let Some(Basis::Rule(rule)) = basis {
            self.decided_by(new.id, rule)?;
        }
        let mut call = self.call(new.id)?;
        let state = match outcome {
            NewCallOutcome::Ready => ToolCallState::Ready,
            NewCallOutcome::Ask(_) => ToolCallState::Awaiting,
            NewCallOutcome::TooManyWait { .. } => ToolCallState::Denied,
            NewCallOutcome::Refused { state, .. } => match state {
                ToolCallState::Blocked | ToolCallState::Denied | ToolCallState::Failed => *state,
                ToolCallState::Proposed
                | ToolCallState::Ready
                | ToolCallState::Awaiting
                | ToolCallState::Approved
                | ToolCallState::Started
                | ToolCallState::Succeeded
                | ToolCallState::Indeterminate
                | ToolCallState::SucceededByNote
                | ToolCallState::Abandoned
                | ToolCallState::Cancelled
                | ToolCallState::Expired => {
                    return Err(StoreError::bug(format!(
                        "tool call {} cannot be refused as {state}",
                        new.id
                    )));
                }
            },
        };
        self.emit_turn(
            head,
            EventBody::ToolProposed {
                call_id: new.id,
                name: new.name.clone(),
                preview: preview(&new.preview),
                access: new.access,
                effect: new.effect,
                risk: new.risk,
                state,
                verdict: verdict.clone(),
            },
        )?;
        match outcome {
            NewCallOutcome::Ready => self.move_call(call.id, call.state, state),
            NewCallOutcome::Ask(approval) => {
                self.move_call(call.id, call.state, state)?;
                crate::mutant!("approval_before_ask" => self.tear("propose.post")?);
                self.ask(head, approval, &Subject::call(call.id))
            }
            NewCallOutcome::Refused { content, .. } | NewCallOutcome::TooManyWait { content } => {
                self.settle_call(head, &mut call, state, CallResult::text(content, true))
            }
        }?;
        Ok(outcome)
    }

    /// Counts calls that were refused because too many approvals wait, and tells readers.
    pub(crate) fn count_refused_calls(
        &mut self,
        head: &ContinuationRow,
        calls: u32,
    ) -> Result<(), StoreError> {
        self.conn.run(
            "UPDATE sessions SET refused_calls = refused_calls + ?2, refused_at = ?3 WHERE id = ?1",
            params![head.session_id, calls, self.now],
        )?;
        self.session_updated(head.session_id).map(drop)
    }

    /// Replaces the facts of a call that has not started.
    pub(crate) fn replace_facts(
        &mut self,
        id: ToolCallId,
        facts: &NewCallFacts,
    ) -> Result<(), StoreError> {
        self.conn.run(
            "UPDATE tool_calls SET args = ?2, preview = ?3, access = ?4, risk = ?5, risk_reasons = ?6, plan = ?7,
                digest = ?8, args_digest = ?9, verdict = ?10, rule = ?11, policy_version = ?12, effect = ?13
             WHERE id = ?1",
            params![
                id,
                Json(&facts.args),
                preview(&facts.preview),
                facts.access,
                facts.risk,
                Json(&facts.risk_reasons),
                Json(&facts.plan),
                facts.digest,
                facts.args_digest,
                facts.verdict.decision,
                facts.verdict.rule,
                facts.verdict.policy_version,
                facts.effect
            ],
        )?;
        Ok(())
    }
}
