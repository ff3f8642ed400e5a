//! Settles a failed or unknown delivery on a person's word.

use crate::protocol::approval::Decision;
use crate::protocol::enums::{ApprovalState, DecisionKind, OutboxState};
use crate::protocol::event::EventBody;
use crate::protocol::ids::ApprovalId;
use crate::protocol::ids::OutboxId;
use crate::store::command::{WriteCommand, WriteTx};
use crate::store::error::StoreError;
use crate::store::input::ActorRef;
use crate::store::sql::Statements;
use crate::store::tx::outbox::Part;
use serde_json::json;

/// What a person says about a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settlement {
    /// It arrived.
    Sent,
    /// Send it again.
    SendAgain,
    /// Give it up.
    Drop,
}

/// Settles a delivery that is `unknown` or `failed`. Durable. A pending `resend` approval of an unknown
/// one is answered with the same word.
#[derive(Debug, Clone)]
pub struct ResolveDelivery {
    pub outbox_id: OutboxId,
    /// How.
    pub settlement: Settlement,
    pub by: ActorRef,
    /// Why, redacted.
    pub reason: Option<String>,
}

impl WriteTx<'_> {
    /// Carries out a person's word on a delivery and announces it.
    pub(crate) fn settle_delivery(
        &mut self,
        part: &mut Part,
        to: OutboxState,
    ) -> Result<(), StoreError> {
        self.move_part(part, to)?;
        self.forget_sends(part.id)?;
        let session = self.session_of(part)?;
        let body = match to {
            OutboxState::Sent => EventBody::ReplySent {
                outbox_id: part.id,
                class: part.class,
                channel: part.channel.clone(),
                part: part.part,
            },
            OutboxState::Pending => EventBody::ReplyQueued {
                parts: 1,
                channel: part.channel.clone(),
            },
            OutboxState::Sending
            | OutboxState::Failed
            | OutboxState::Unknown
            | OutboxState::Superseded
            | OutboxState::Abandoned => EventBody::ReplyFailed {
                outbox_id: part.id,
                channel: part.channel.clone(),
                error: "given up by a person".to_owned(),
                state: to,
            },
        };
        self.emit(session, part.continuation_id, body)
    }
}

impl WriteTx<'_> {
    /// The pending question about a delivery.
    pub(crate) fn resend_question(&self, part: &Part) -> Result<Option<ApprovalId>, StoreError> {
        self.conn.value_opt::<ApprovalId>(
            "SELECT id FROM approvals WHERE outbox_id = ?1 AND +state = 'pending'",
            [part.id],
        )
    }

    /// Answers the pending question about a delivery, if there is one, and audits the settlement.
    pub(crate) fn answer_resend(
        &mut self,
        part: &Part,
        word: DecisionKind,
        gate_state: ApprovalState,
        by: &ActorRef,
        reason: Option<&str>,
    ) -> Result<(), StoreError> {
        let question = self.resend_question(part)?;
        if let Some(id) = question {
            let mut gate = self.gate(id)?;
            let decision = Decision {
                starts_at: None,
                answer: None,
                until: None,
                decision: word,
                scope: None,
                by: by.label.clone(),
                surface: by.surface,
                at: self.now,
                reason: reason.map(str::to_owned),
            };
            self.record_decision(&mut gate, gate_state, &decision)?;
            self.disarm_cards(id, true)?;
            self.decided_event(id)?;
        }
        self.audit(
            "delivery.resolved",
            by,
            Some(&part.channel),
            part.id,
            &json!({ "decision": word, "approval": question, "reason": reason }),
        )
    }
}

impl WriteCommand for ResolveDelivery {
    type Output = ();

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<(), StoreError> {
        let mut part = tx.part(self.outbox_id)?;
        let (to, word, gate_state) = match self.settlement {
            Settlement::Sent => (
                OutboxState::Sent,
                DecisionKind::Sent,
                ApprovalState::Consumed,
            ),
            Settlement::SendAgain => (
                OutboxState::Pending,
                DecisionKind::SendAgain,
                ApprovalState::Consumed,
            ),
            Settlement::Drop => (
                OutboxState::Abandoned,
                DecisionKind::Drop,
                ApprovalState::Denied,
            ),
        };
        if !matches!(part.state, OutboxState::Unknown | OutboxState::Failed) {
            return Err(StoreError::rejected(format!(
                "delivery {} is {}: only a failed or unknown one can be settled",
                part.id, part.state
            )));
        }
        tx.settle_delivery(&mut part, to)?;
        tx.answer_resend(&part, word, gate_state, &self.by, self.reason.as_deref())?;
        crate::crash_point!("settle.pre_commit");
        Ok(())
    }

    fn committed(&self) {
        crate::crash_point!("settle.post");
    }
}
