//! Writes the intent of a tool call before its effect, and consumes its approval.

use crate::clock::Timestamp;
use crate::protocol::enums::ToolCallState;
use crate::protocol::enums::{ApprovalState, Effect};
use crate::protocol::event::EventBody;
use crate::protocol::ids::ToolCallId;
use crate::protocol::ids::{ApprovalId, ToolAttemptId};
use crate::store::command::{WriteCommand, WriteTx};
use crate::store::error::StoreError;
use crate::store::input::{ActorRef, Basis};
use crate::store::sql::{Statements, columns, params};
use crate::store::tx::approvals::{ApprovalRow, Subject};
use crate::store::tx::calls::Call;
use crate::store::tx::continuations::ContinuationRow;
use crate::store::tx::questions::unknown_call;
use serde_json::json;

/// Starts a call. Durable: execute only after `Started`.
#[derive(Debug, Clone)]
pub struct StartTool {
    pub call_id: ToolCallId,
    /// Epoch of the caller.
    pub epoch: u64,
    /// Digest of the plan that would run now.
    pub digest: String,
    /// Oldest decision that may still be used, in milliseconds. Counted from the later of the decision and
    /// the moment nothing stood in the way any more (last gate of the turn decided, call before it ended).
    pub max_decision_age_ms: i64,
    /// Keyed calls: milliseconds the other side remembers the key from now on; none = for ever.
    pub key_lifetime_ms: Option<u64>,
    /// What lets it run by now without a person, where that can be taken back or used up.
    pub basis: Option<Basis>,
}

/// Whether the call may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartToolOutcome {
    /// Execute it now.
    Started {
        /// Number of the start, from 1.
        attempt: u32,
    },
    /// The plan is not the one that was evaluated or approved; nothing changed.
    DigestMismatch,
    /// The approval went back to pending under a new revision.
    DecisionTooOld,
    /// An earlier run may have happened and its key has run out: the call is indeterminate, a person is asked.
    KeyRanOut,
    /// What let it run without a person is not in force any more; nothing changed.
    NoLongerAllowed,
    /// It is in this state, which cannot start.
    NotStartable(ToolCallState),
}

/// When nothing stood in the way of a call any more: the last gate of its turn fell, or the call before it
/// ended. A decision does not grow old while its own turn is busy with what was decided together with it.
fn free_since(tx: &WriteTx<'_>, call: &Call) -> Result<Timestamp, StoreError> {
    tx.conn.value(
        "SELECT max(coalesce((SELECT gates_decided_at FROM continuations WHERE id = ?1), 0),
            coalesce((SELECT max(finished_at) FROM tool_calls WHERE continuation_id = ?1 AND step = ?2), 0))",
        params![call.continuation_id, call.step],
    )
}

/// What is left of a keyed run whose process died.
struct EarlierRun {
    attempt: u32,
    key_until: Option<Timestamp>,
}

impl EarlierRun {
    /// The newest run of a call, when recovery made the call ready again because of its key.
    fn of(tx: &WriteTx<'_>, call: &Call) -> Result<Option<Self>, StoreError> {
        let run = tx.conn.row_opt(
            "SELECT attempt, key_until FROM tool_attempts WHERE call_id = ?1 AND attempt = ?2 AND outcome = 'ready'",
            params![call.id, call.attempts],
            |row| Ok(columns!(row => Self { attempt, key_until })),
        )?;
        Ok(run.filter(|_| call.effect == Effect::Keyed))
    }

    /// Whether the key no longer makes another run the first one.
    fn key_ran_out(&self, now: Timestamp) -> bool {
        self.key_until.is_some_and(|until| until <= now)
    }
}

impl StartTool {
    /// A key that ran out between recovery and start (held, parked, waiting for a person): nobody knows whether the
    /// earlier run happened, and now a second one would count.
    fn ask_instead(
        tx: &mut WriteTx<'_>,
        head: &ContinuationRow,
        call: &Call,
        run: &EarlierRun,
    ) -> Result<(), StoreError> {
        const WHY: &str =
            "the process ended while it ran, and the key of that run has run out since";
        tx.conn.run(
            "UPDATE tool_attempts SET outcome = 'indeterminate', detail = ?3 WHERE call_id = ?1 AND attempt = ?2",
            params![call.id, run.attempt, WHY],
        )?;
        if call.state == ToolCallState::Approved
            && let Some(approval) = call.approval_id
        {
            tx.close_gate(approval, ApprovalState::Revoked)?;
        }
        tx.move_call(call.id, call.state, ToolCallState::Indeterminate)?;
        tx.finished_event(head, call, ToolCallState::Indeterminate, WHY, None)?;
        tx.ask(head, &unknown_call(call), &Subject::call(call.id))
    }

    /// Until when another run under the same key would be the first one. The other side counts from the run that
    /// reached it first, which may be the earlier one.
    fn key_until(&self, now: Timestamp, earlier: Option<&EarlierRun>) -> Option<Timestamp> {
        let own = self
            .key_lifetime_ms
            .map(|life| now.plus_millis(i64::try_from(life).unwrap_or(i64::MAX)));
        match (own, earlier.and_then(|run| run.key_until)) {
            (Some(own), Some(inherited)) => Some(own.min(inherited)),
            (own, inherited) => own.or(inherited),
        }
    }

    /// Checks and consumes the approval; none = it may not start, with the reason.
    fn use_approval(
        &self,
        tx: &mut WriteTx<'_>,
        head: &ContinuationRow,
        call: &Call,
        gate: &mut ApprovalRow,
    ) -> Result<Option<StartToolOutcome>, StoreError> {
        if gate.state != ApprovalState::Approved {
            return Err(StoreError::conflict(format!(
                "tool call {} is approved but its approval {} is {}",
                call.id, gate.id, gate.state
            )));
        }
        if gate.digest != self.digest && !crate::mutant!("digest_checked") {
            return Ok(Some(StartToolOutcome::DigestMismatch));
        }
        let decided = gate.decided_at.unwrap_or_default();
        let age = tx.now.millis_since(decided.max(free_since(tx, call)?));
        if i64::try_from(age).unwrap_or(i64::MAX) > self.max_decision_age_ms {
            let digest = gate.digest.clone();
            tx.next_revision(gate, &digest)?;
            tx.move_call(call.id, call.state, ToolCallState::Awaiting)?;
            tx.audit(
                "approval.returned",
                &ActorRef::engine(),
                Some(&head.channel),
                gate.id,
                &json!({ "why": "not used in time", "age_ms": age, "revision": gate.revision }),
            )?;
            tx.requested_event(gate.id)?;
            return Ok(Some(StartToolOutcome::DecisionTooOld));
        }
        tx.move_gate(gate, ApprovalState::Consumed)?;
        crate::mutant!("approval_consumed_with_start" => tx.tear("tool.started")?);
        Ok(None)
    }
}

impl WriteCommand for StartTool {
    type Output = StartToolOutcome;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<StartToolOutcome, StoreError> {
        tx.same_epoch(self.epoch)?;
        let call = tx.call(self.call_id)?;
        let head = tx.running(call.continuation_id, self.epoch)?;
        tx.refuse_quarantined("tool call", call.id, "nothing starts")?;
        let earlier = EarlierRun::of(tx, &call)?;
        if let Some(run) = &earlier
            && matches!(call.state, ToolCallState::Ready | ToolCallState::Approved)
            && run.key_ran_out(tx.now)
        {
            Self::ask_instead(tx, &head, &call, run)?;
            return Ok(StartToolOutcome::KeyRanOut);
        }
        let mut used: Option<ApprovalId> = None;
        match call.state {
            ToolCallState::Ready => {
                if call.digest != self.digest {
                    return Ok(StartToolOutcome::DigestMismatch);
                }
                if let Some(basis) = self.basis
                    && !tx.still_holds(call.id, basis)?
                {
                    return Ok(StartToolOutcome::NoLongerAllowed);
                }
            }
            ToolCallState::Approved => {
                let id = call.approval_id.ok_or_else(|| {
                    StoreError::Corrupt(format!(
                        "tool call {} is approved without approval",
                        call.id
                    ))
                })?;
                let mut gate = tx.gate(id)?;
                if let Some(outcome) = self.use_approval(tx, &head, &call, &mut gate)? {
                    return Ok(outcome);
                }
                used = Some(id);
            }
            state @ (ToolCallState::Proposed
            | ToolCallState::Blocked
            | ToolCallState::Denied
            | ToolCallState::Awaiting
            | ToolCallState::Started
            | ToolCallState::Succeeded
            | ToolCallState::Failed
            | ToolCallState::Indeterminate
            | ToolCallState::SucceededByNote
            | ToolCallState::Abandoned
            | ToolCallState::Cancelled
            | ToolCallState::Expired) => return Ok(StartToolOutcome::NotStartable(state)),
        }
        let key_until = self.key_until(tx.now, earlier.as_ref());
        let attempt = call.attempts + 1;
        tx.move_call(call.id, call.state, ToolCallState::Started)?;
        tx.conn.run(
            "UPDATE tool_calls SET attempts = ?2, started_at = ?3 WHERE id = ?1",
            params![call.id, attempt, tx.now],
        )?;
        tx.conn.run(
            "INSERT INTO tool_attempts (id, call_id, attempt, epoch, idempotency_key, approval_id, started_at,
                key_until)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            params![
                ToolAttemptId::generate(),
                call.id,
                attempt,
                self.epoch,
                call.idempotency_key,
                used,
                tx.now,
                key_until
            ],
        )?;
        tx.audit(
            "tool.started",
            &ActorRef::engine(),
            Some(&head.channel),
            call.id,
            &json!({
                "tool": call.name, "attempt": attempt, "digest": self.digest, "args_digest": call.args_digest,
                "approval": used, "continuation": head.id,
            }),
        )?;
        tx.emit_turn(
            &head,
            EventBody::ToolStarted {
                call_id: call.id,
                name: call.name,
                attempt,
            },
        )?;
        Ok(StartToolOutcome::Started { attempt })
    }

    fn committed(&self) {
        crate::crash_point!("tool.started");
    }
}
