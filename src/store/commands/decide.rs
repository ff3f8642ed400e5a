//! Answers an approval: compare-and-set, and everything that follows from it.

use crate::clock::Timestamp;
use crate::protocol::approval::{Approval, Decision, MAX_SNOOZE_MINUTES, only_once, snooze_end};
use crate::protocol::enums::{
    ApprovalKind, ContinuationState, Effect, OutboxClass, OutboxState, PairingState, Risk,
    ToolCallState,
};
use crate::protocol::enums::{ApprovalState, DecisionKind, DecisionScope};
use crate::protocol::ids::{ApprovalId, ContinuationId, RuleId, SessionId};
use crate::protocol::session::ErrorBody;
use crate::store::command::{WriteCommand, WriteTx};
use crate::store::commands::ensure_channel::Baseline;
use crate::store::commands::put_rule::{PutRule, RuleFields};
use crate::store::error::StoreError;
use crate::store::input::{ActorRef, BudgetKind};
use crate::store::queries::approvals::load_approval;
use crate::store::sql::{Statements, params};
use crate::store::tx::approvals::ApprovalRow;
use crate::store::tx::calls::{Call, CallResult};
use crate::store::tx::continuations::ContinuationRow;
use serde_json::json;

/// A decision. Durable. The first one wins; an identical repeat is a success.
#[derive(Debug, Clone)]
pub struct Decide {
    pub approval_id: ApprovalId,
    /// Digest that was shown.
    pub digest: String,
    /// Revision that was shown.
    pub revision: Option<u32>,
    /// What; `edit` is [`crate::store::commands::revise_approval::ReviseApproval`].
    pub decision: DecisionKind,
    /// How far an `approve` reaches.
    pub scope: Option<DecisionScope>,
    pub by: ActorRef,
    pub reason: Option<String>,
    /// The answer given in place of the tool's.
    pub answer: Option<String>,
    /// Amount added to the exhausted limit (budget): a count, tokens, seconds or US dollars; none = what was offered.
    pub extra: Option<f64>,
    /// Minutes (snooze).
    pub minutes: Option<u32>,
    /// Milliseconds the card was on screen.
    pub seen_ms: Option<u64>,
    /// The text the model reads for `deny`, `answer`, `happened`, `give_up` and `revoke`.
    pub result_content: String,
    /// Told to the chat when more of a budget is refused.
    pub refusal_notice: Option<String>,
    /// When a grant ends, if not with its turn or session.
    pub grant_expires_at: Option<Timestamp>,
    /// Whether cards already sent are updated.
    pub card_update: bool,
    /// A rule that is made with it.
    pub rule: Option<(RuleId, RuleFields)>,
    /// Seconds by which an approved call starts later, while it can be taken back.
    pub grace_seconds: u32,
}

/// What became of a decision.
#[derive(Debug, Clone, PartialEq)]
pub enum DecideOutcome {
    /// It counts.
    Decided(Approval),
    /// The identical decision was recorded before; nothing changed.
    Same(Approval),
    /// Another decision was recorded before.
    Lost {
        /// That decision.
        winner: Decision,
        /// The approval as it stands.
        approval: Approval,
    },
    /// Something else was shown than what waits now.
    Stale {
        /// Digest now.
        current_digest: String,
        /// Revision now.
        current_revision: u32,
    },
    /// Its time is over.
    Expired,
    /// It is in this state, which takes no such decision.
    NotPending(ApprovalState),
}

impl DecideOutcome {
    /// For whoever comes after the decision, or after the end without one.
    pub(super) fn late(gate: &ApprovalRow, approval: Approval) -> Self {
        match (&gate.decision, gate.state) {
            (Some(winner), _) => Self::Lost {
                winner: winner.clone(),
                approval,
            },
            (None, ApprovalState::Expired) => Self::Expired,
            (
                None,
                state @ (ApprovalState::Pending
                | ApprovalState::Approved
                | ApprovalState::Denied
                | ApprovalState::Revoked
                | ApprovalState::Consumed),
            ) => Self::NotPending(state),
        }
    }

    /// For whoever was shown something else than what waits now, or comes too late; none = neither.
    pub(super) fn outdated(
        gate: &ApprovalRow,
        digest: &str,
        revision: Option<u32>,
        now: Timestamp,
    ) -> Option<Self> {
        if digest != gate.digest || revision.is_some_and(|shown| shown != gate.revision) {
            return Some(Self::Stale {
                current_digest: gate.digest.clone(),
                current_revision: gate.revision,
            });
        }
        let ended = gate.expires_at.is_some_and(|at| at <= now);
        ended.then_some(Self::Expired)
    }
}

/// A decision's outcome and what it moved.
#[derive(Debug, Clone, PartialEq)]
pub struct DecideReport {
    /// What became of it.
    pub outcome: DecideOutcome,
    /// The continuation concerned.
    pub continuation_id: Option<ContinuationId>,
    /// The session concerned.
    pub session_id: Option<SessionId>,
    /// The last gate fell: the continuation is pending again.
    pub resumed: bool,
    /// The continuation ended with this decision (`deny_and_stop`, a refused budget).
    pub ended: bool,
}

impl DecideReport {
    /// Nothing moved.
    pub(super) fn of(gate: &ApprovalRow, outcome: DecideOutcome) -> Self {
        Self {
            outcome,
            continuation_id: gate.continuation_id,
            session_id: gate.session_id,
            resumed: false,
            ended: false,
        }
    }
}

/// What a decision does to the tool call that it is about.
#[derive(Debug, Clone, Copy)]
enum CallAction {
    Allow,
    Deny,
    Answer,
    /// An unused approval is taken back: the call does not run.
    Revoke,
    Happened,
    RunAgain,
    GiveUp,
}

/// What a decision does to an approval of its kind.
#[derive(Debug, Clone, Copy)]
enum Action {
    Call(CallAction),
    RaiseBudget,
    RefuseBudget,
    Delivery(OutboxState),
    Accept(bool),
    /// The answer to a question of a call that runs; none = it gets no answer.
    Reply(bool),
}

impl Action {
    /// The only list of decisions per kind that this command carries out; none = the kind does not take the decision.
    /// `edit` and `snooze` are not in it: neither decides the approval.
    fn of(kind: ApprovalKind, decision: DecisionKind) -> Option<Self> {
        use ApprovalKind as K;
        use DecisionKind as D;
        let on = |of: K, action: Self| (kind == of).then_some(action);
        match decision {
            D::Approve => match kind {
                K::Execute | K::Memory => Some(Self::Call(CallAction::Allow)),
                K::Budget => Some(Self::RaiseBudget),
                K::Pairing | K::ServerPin | K::PolicyRaise => Some(Self::Accept(true)),
                // Nothing would run: a question is answered or refused.
                K::Question | K::ResolveUnknown | K::Resend => None,
            },
            D::Deny | D::DenyAndStop => match kind {
                K::Execute | K::Question | K::Memory => Some(Self::Call(CallAction::Deny)),
                K::Budget => Some(Self::RefuseBudget),
                // There is no turn that could stop.
                K::Pairing | K::ServerPin | K::PolicyRaise => {
                    (decision == D::Deny).then_some(Self::Accept(false))
                }
                K::ResolveUnknown | K::Resend => None,
            },
            D::Answer => match kind {
                K::Execute | K::Question | K::Memory => Some(Self::Call(CallAction::Answer)),
                K::Budget
                | K::Pairing
                | K::ServerPin
                | K::PolicyRaise
                | K::ResolveUnknown
                | K::Resend => None,
            },
            D::Revoke => match kind {
                K::Execute | K::Question | K::Memory | K::ResolveUnknown => {
                    Some(Self::Call(CallAction::Revoke))
                }
                K::Budget | K::Pairing | K::ServerPin | K::PolicyRaise | K::Resend => None,
            },
            D::Happened => on(K::ResolveUnknown, Self::Call(CallAction::Happened)),
            D::RunAgain => on(K::ResolveUnknown, Self::Call(CallAction::RunAgain)),
            D::GiveUp => on(K::ResolveUnknown, Self::Call(CallAction::GiveUp)),
            D::Sent => on(K::Resend, Self::Delivery(OutboxState::Sent)),
            D::SendAgain => on(K::Resend, Self::Delivery(OutboxState::Pending)),
            D::Drop => on(K::Resend, Self::Delivery(OutboxState::Abandoned)),
            D::Edit | D::Snooze => None,
        }
    }
}

fn lacks(gate: &ApprovalRow, what: &str) -> StoreError {
    StoreError::Corrupt(format!("approval {} names no {what}", gate.id))
}

impl Decide {
    fn decision(&self, tx: &WriteTx<'_>) -> Decision {
        Decision {
            decision: self.decision,
            scope: self.scope,
            until: self.scope.and_then(|scope| match scope {
                DecisionScope::Once => None,
                DecisionScope::Turn | DecisionScope::Session => self.grant_expires_at,
            }),
            by: self.by.label.clone(),
            surface: self.by.surface,
            at: tx.now,
            reason: self.reason.clone(),
            answer: None,
            starts_at: None,
        }
    }

    /// What a decision on something that is no longer pending means.
    fn late(&self, tx: &WriteTx<'_>, gate: &ApprovalRow) -> Result<DecideOutcome, StoreError> {
        let approval = load_approval(tx.conn, gate.id)?;
        Ok(match &gate.decision {
            Some(winner) if winner.decision == self.decision && winner.scope == self.scope => {
                DecideOutcome::Same(approval)
            }
            Some(_) | None => DecideOutcome::late(gate, approval),
        })
    }

    /// Why a pending approval does not take this decision now.
    pub(super) fn refused(&self, tx: &WriteTx<'_>, gate: &ApprovalRow) -> Option<DecideOutcome> {
        DecideOutcome::outdated(gate, &self.digest, self.revision, tx.now)
    }

    fn snooze(&self, tx: &WriteTx<'_>, gate: &ApprovalRow) -> Result<DecideOutcome, StoreError> {
        let minutes = self.minutes.unwrap_or(60).clamp(1, MAX_SNOOZE_MINUTES);
        let until = snooze_end(tx.now, minutes, gate.expires_at).ok_or_else(|| {
            StoreError::rejected(format!(
                "the deadline of {} is within ten minutes: it is too late to put it off",
                gate.id
            ))
        })?;
        tx.conn.run(
            "INSERT INTO approval_snoozes (approval_id, person_id, until) VALUES (?1, ?2, ?3)
             ON CONFLICT (approval_id, person_id) DO UPDATE SET until = excluded.until",
            params![gate.id, self.by.id, until],
        )?;
        Ok(DecideOutcome::Decided(load_approval(tx.conn, gate.id)?))
    }

    fn not_possible(&self, gate: &ApprovalRow) -> StoreError {
        StoreError::rejected(format!(
            "approval {} of kind {} takes no decision `{}`; it offers {}",
            gate.id, gate.kind, self.decision, gate.offered
        ))
    }

    fn result(&self, is_error: bool) -> CallResult<'_> {
        CallResult::text(&self.result_content, is_error)
    }

    /// Answers a question of a call that runs, which goes on by itself.
    fn reply(
        &self,
        tx: &mut WriteTx<'_>,
        gate: &mut ApprovalRow,
        answers: bool,
    ) -> Result<(), StoreError> {
        let mut decision = self.decision(tx);
        if answers {
            decision.answer.clone_from(&self.answer);
            tx.record_decision(gate, ApprovalState::Consumed, &decision)
        } else {
            tx.record_decision(gate, ApprovalState::Denied, &decision)
        }
    }

    /// Carries out a decision on a call that asks to run, or whose outcome nobody knows.
    fn on_call(
        &self,
        tx: &mut WriteTx<'_>,
        gate: &mut ApprovalRow,
        head: &ContinuationRow,
        call: &mut Call,
        action: CallAction,
    ) -> Result<(), StoreError> {
        let mut decision = self.decision(tx);
        match action {
            CallAction::Allow => {
                let grace = i64::from(self.grace_seconds);
                decision.starts_at = (grace > 0).then(|| tx.now.plus_seconds(grace));
                tx.record_decision(gate, ApprovalState::Approved, &decision)?;
                tx.move_call(call.id, call.state, ToolCallState::Approved)?;
                match self.scope {
                    Some(DecisionScope::Session) => self.grant(tx, gate, call, None),
                    Some(DecisionScope::Turn) => self.grant(tx, gate, call, Some(head.id)),
                    Some(DecisionScope::Once) | None => Ok(()),
                }
            }
            CallAction::Deny => {
                tx.record_decision(gate, ApprovalState::Denied, &decision)?;
                tx.settle_call(head, call, ToolCallState::Denied, self.result(true))
            }
            CallAction::Answer => {
                tx.record_decision(gate, ApprovalState::Consumed, &decision)?;
                let note = if gate.kind == ApprovalKind::Question {
                    "answered the question".to_owned()
                } else {
                    format!("answered in place of {}", call.name)
                };
                tx.note(head, &self.by.label, note)?;
                tx.settle_call(head, call, ToolCallState::Succeeded, self.result(false))
            }
            CallAction::Revoke => {
                tx.record_decision(gate, ApprovalState::Revoked, &decision)?;
                tx.conn.run(
                    "DELETE FROM session_grants WHERE approval_id = ?1",
                    [gate.id],
                )?;
                tx.take_back_rule_of(gate.id, &self.by)?;
                tx.settle_call(head, call, ToolCallState::Denied, self.result(true))
            }
            CallAction::Happened => {
                tx.record_decision(gate, ApprovalState::Consumed, &decision)?;
                tx.note(head, &self.by.label, format!("{} did happen", call.name))?;
                tx.settle_call(
                    head,
                    call,
                    ToolCallState::SucceededByNote,
                    self.result(false),
                )
            }
            CallAction::RunAgain => {
                // The engine may answer for what can be looked up; for the rest only a person may.
                if self.by.id == ActorRef::engine().id && call.effect == Effect::NonIdempotent {
                    return Err(StoreError::rejected(format!(
                        "tool call {} is not repeatable: only a person may let it run again",
                        call.id
                    )));
                }
                tx.record_decision(gate, ApprovalState::Consumed, &decision)?;
                tx.note(head, &self.by.label, format!("run {} again", call.name))?;
                tx.move_call(call.id, call.state, ToolCallState::Ready)
            }
            CallAction::GiveUp => {
                tx.record_decision(gate, ApprovalState::Denied, &decision)?;
                tx.note(head, &self.by.label, format!("gave up on {}", call.name))?;
                tx.settle_call(head, call, ToolCallState::Abandoned, self.result(true))
            }
        }
    }

    /// Allows the shape of a call until `turn` ends, or the session. It replaces what was allowed of this shape before.
    fn grant(
        &self,
        tx: &WriteTx<'_>,
        gate: &ApprovalRow,
        call: &Call,
        turn: Option<ContinuationId>,
    ) -> Result<(), StoreError> {
        let session = gate
            .session_id
            .ok_or_else(|| StoreError::Corrupt(format!("approval {} has no session", gate.id)))?;
        let (risk, taint, always_asks): (Risk, Vec<String>, Option<String>) = tx.conn.row(
            "SELECT c.risk, p.taint, p.once_only
             FROM approvals p JOIN tool_calls c ON c.id = p.tool_call_id WHERE p.id = ?1",
            [gate.id],
            |row| Ok((row.get("risk")?, row.json("taint")?, row.get("once_only")?)),
        )?;
        if let Some(why) = only_once(risk, &taint, always_asks.as_deref()) {
            return Err(StoreError::rejected(format!(
                "approval {} cannot be allowed for the session: {why}",
                gate.id
            )));
        }
        tx.conn.run(
            "INSERT INTO session_grants (session_id, tool, args_digest, requester_id, approval_id, by_label, created_at,
                expires_at, continuation_id)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
             ON CONFLICT DO UPDATE SET approval_id = excluded.approval_id, by_label = excluded.by_label,
                created_at = excluded.created_at, expires_at = excluded.expires_at,
                continuation_id = excluded.continuation_id",
            params![
                session,
                call.name,
                call.args_digest,
                gate.requester_id,
                gate.id,
                self.by.label,
                tx.now,
                self.grant_expires_at,
                turn
            ],
        )?;
        Ok(())
    }

    fn raise_budget(
        &self,
        tx: &mut WriteTx<'_>,
        gate: &mut ApprovalRow,
        head: &mut ContinuationRow,
    ) -> Result<(), StoreError> {
        let budget = gate.budget.ok_or_else(|| lacks(gate, "budget"))?;
        tx.record_decision(gate, ApprovalState::Consumed, &self.decision(tx))?;
        let extra = self.extra.or(gate.budget_extra);
        match budget {
            // Time is asked for and given in seconds, stored in milliseconds.
            BudgetKind::Steps => tx.raise_turn(head, "max_steps", 1, extra),
            BudgetKind::ToolCalls => tx.raise_turn(head, "max_tool_calls", 1, extra),
            BudgetKind::ActiveMs => tx.raise_turn(head, "max_active_ms", 1000, extra),
            BudgetKind::Tokens => tx.raise_turn(head, "max_tokens", 1, extra),
            BudgetKind::Cost => tx.raise_turn_cost(head, extra),
            BudgetKind::SessionTokens
            | BudgetKind::SessionCost
            | BudgetKind::ChannelTokens
            | BudgetKind::ChannelCost
            | BudgetKind::DayTokens
            | BudgetKind::DayCost => tx.add_grant(gate, head, budget, extra),
        }
    }

    fn refuse_budget(
        &self,
        tx: &mut WriteTx<'_>,
        gate: &mut ApprovalRow,
        head: &mut ContinuationRow,
    ) -> Result<(), StoreError> {
        tx.record_decision(gate, ApprovalState::Denied, &self.decision(tx))?;
        let error = ErrorBody {
            code: "budget".to_owned(),
            message: self.result_content.clone(),
        };
        tx.fail_continuation(head, &error)?;
        if let Some(text) = &self.refusal_notice {
            tx.queue_notice(&head.notice(OutboxClass::Notice, text))?;
        }
        tx.end_if_temporary(head)
    }

    fn settle_delivery(
        &self,
        tx: &mut WriteTx<'_>,
        gate: &mut ApprovalRow,
        to: OutboxState,
    ) -> Result<(), StoreError> {
        let id = gate.outbox_id.ok_or_else(|| lacks(gate, "delivery"))?;
        let state = if to == OutboxState::Abandoned {
            ApprovalState::Denied
        } else {
            ApprovalState::Consumed
        };
        tx.record_decision(gate, state, &self.decision(tx))?;
        let mut part = tx.part(id)?;
        tx.settle_delivery(&mut part, to)
    }

    /// Decides about something that is neither call nor delivery: a raised baseline or somebody new.
    fn accept(
        &self,
        tx: &mut WriteTx<'_>,
        gate: &mut ApprovalRow,
        accepted: bool,
    ) -> Result<(), StoreError> {
        let state = if accepted {
            ApprovalState::Consumed
        } else {
            ApprovalState::Denied
        };
        tx.record_decision(gate, state, &self.decision(tx))?;
        if gate.kind == ApprovalKind::Pairing {
            let to = if accepted {
                PairingState::Accepted
            } else {
                PairingState::Refused
            };
            tx.settle_pairing(gate.id, to, Some(&self.by))?;
        }
        if gate.kind == ApprovalKind::ServerPin {
            tx.settle_server_question(gate.id, &gate.digest, accepted, &self.by)?;
        }
        if gate.kind == ApprovalKind::PolicyRaise {
            let text = gate
                .baseline
                .as_deref()
                .ok_or_else(|| lacks(gate, "baseline"))?;
            let baseline: Baseline = serde_json::from_str(text)?;
            crate::store::commands::ensure_channel::settle_raise(
                tx,
                &gate.channel,
                &baseline,
                accepted,
                &self.by,
            )?;
        }
        Ok(())
    }

    fn carry_out(
        &self,
        tx: &mut WriteTx<'_>,
        gate: &mut ApprovalRow,
        head: Option<&mut ContinuationRow>,
    ) -> Result<(), StoreError> {
        let action = Action::of(gate.kind, self.decision).ok_or_else(|| self.not_possible(gate))?;
        let action = match action {
            Action::Call(what) if gate.kind == ApprovalKind::Question && gate.call_id.is_none() => {
                Action::Reply(matches!(what, CallAction::Answer))
            }
            other => other,
        };
        let head = || head.ok_or_else(|| lacks(gate, "continuation"));
        match action {
            Action::Delivery(to) => self.settle_delivery(tx, gate, to),
            Action::Accept(accepted) => self.accept(tx, gate, accepted),
            Action::Reply(answers) => self.reply(tx, gate, answers),
            Action::RaiseBudget => {
                let head = head()?;
                self.raise_budget(tx, gate, head)
            }
            Action::RefuseBudget => {
                let head = head()?;
                self.refuse_budget(tx, gate, head)
            }
            Action::Call(action) => {
                let head = head()?;
                let id = gate.call_id.ok_or_else(|| lacks(gate, "call"))?;
                let mut call = tx.call(id)?;
                self.on_call(tx, gate, head, &mut call, action)
            }
        }
    }
}

/// After the last gate fell, a parked continuation goes on. Whether it does.
pub(crate) fn go_on(
    tx: &mut WriteTx<'_>,
    head: &mut ContinuationRow,
    by: &str,
) -> Result<bool, StoreError> {
    if head.state.is_terminal() || tx.pending_gates(head.id)? > 0 {
        return Ok(false);
    }
    tx.conn.run(
        "UPDATE continuations SET gates_decided_at = ?2 WHERE id = ?1",
        params![head.id, tx.now],
    )?;
    if head.state != ContinuationState::AwaitingApproval {
        return Ok(false);
    }
    tx.requeue(head, by)?;
    Ok(true)
}

impl WriteCommand for Decide {
    type Output = DecideReport;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<DecideReport, StoreError> {
        let mut gate = tx.gate(self.approval_id)?;
        let mut report = DecideReport::of(&gate, DecideOutcome::NotPending(gate.state));
        let revoking =
            self.decision == DecisionKind::Revoke && gate.state == ApprovalState::Approved;
        if gate.state != ApprovalState::Pending && !revoking {
            report.outcome = self.late(tx, &gate)?;
            return Ok(report);
        }
        if self.decision == DecisionKind::Revoke && !revoking {
            return Ok(report);
        }
        // A return to pending cannot happen between approval and revocation, so the same check serves both.
        if let Some(outcome) = self.refused(tx, &gate)
            && !(revoking && outcome == DecideOutcome::Expired)
        {
            report.outcome = outcome;
            return Ok(report);
        }
        if self.decision == DecisionKind::Snooze {
            report.outcome = self.snooze(tx, &gate)?;
            return Ok(report);
        }
        if !revoking && (self.decision == DecisionKind::Edit || !gate.offers(self.decision)) {
            return Err(self.not_possible(&gate));
        }
        let mut head = gate.continuation_id.map(|id| tx.head(id)).transpose()?;
        self.carry_out(tx, &mut gate, head.as_mut())?;
        if let Some((id, fields)) = &self.rule {
            let rule = PutRule {
                id: *id,
                version: 0,
                fields: fields.clone(),
                approval_id: Some(gate.id),
                by: self.by.clone(),
            };
            rule.apply(tx)?;
        }
        tx.audit(
            "approval.decided",
            &self.by,
            Some(&gate.channel),
            gate.id,
            &json!({
                "kind": gate.kind, "decision": self.decision, "scope": self.scope, "until": self.decision(tx).until, "digest": gate.digest,
                "revision": gate.revision, "call": gate.call_id, "tool": gate.tool, "reason": self.reason, "extra": self.extra,
                "seen_ms": self.seen_ms, "rule": self.rule.as_ref().map(|(id, _)| id),
            }),
        )?;
        tx.disarm_cards(gate.id, self.card_update)?;
        let approval = tx.decided_event(gate.id)?;
        // A delivery is not a gate of its turn.
        if let Some(head) = head.as_mut()
            && gate.kind != ApprovalKind::Resend
        {
            if self.decision == DecisionKind::DenyAndStop && !head.state.is_terminal() {
                tx.cancel_continuation(head, &self.by, self.reason.as_deref(), &[])?;
            }
            report.ended = head.state.is_terminal();
            report.resumed = go_on(tx, head, &self.by.label)?;
        }
        report.outcome = DecideOutcome::Decided(approval);
        crate::crash_point!("decide.pre_commit");
        Ok(report)
    }

    fn committed(&self) {
        crate::crash_point!("decide.post");
    }
}
