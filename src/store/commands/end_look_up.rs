//! Records what a look at the platform said about a part whose send nobody knows the end of.

use crate::protocol::enums::{ApprovalState, DecisionKind, OutboxClass, OutboxState};
use crate::protocol::ids::OutboxId;
use crate::store::command::{WriteCommand, WriteTx};
use crate::store::commands::end_send::EndSend;
use crate::store::commands::recover::OLD_ANSWER_MS;
use crate::store::error::StoreError;
use crate::store::input::ActorRef;
use crate::store::tx::outbox::Part;

/// What a look said. Durable. Does nothing when somebody settled the part meanwhile, or it was sent again.
#[derive(Debug, Clone)]
pub struct EndLookUp {
    pub outbox_id: OutboxId,
    /// Number of the send that was looked up.
    pub attempt: u32,
    /// What the look said.
    pub found: LookUpResult,
}

/// What a look said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LookUpResult {
    /// It arrived.
    Sent {
        /// Platform ids of the messages made, in order.
        refs: Vec<String>,
    },
    /// It did not arrive and cannot any more.
    NotSent,
    /// The look does not tell.
    Unclear {
        /// Why, redacted.
        why: String,
    },
}

impl EndLookUp {
    fn note(tx: &mut WriteTx<'_>, part: &Part, text: &str) -> Result<(), StoreError> {
        match tx.resend_question(part)? {
            Some(question) => tx.note_question(question, text),
            None => Ok(()),
        }
    }
}

impl WriteCommand for EndLookUp {
    type Output = ();

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<(), StoreError> {
        let mut part = tx.part(self.outbox_id)?;
        if part.state != OutboxState::Unknown || part.attempts != self.attempt {
            return Ok(());
        }
        let engine = ActorRef::engine();
        match &self.found {
            LookUpResult::Sent { refs } => {
                EndSend::sent(tx, &mut part, refs, None)?;
                tx.answer_resend(
                    &part,
                    DecisionKind::Sent,
                    ApprovalState::Consumed,
                    &engine,
                    Some("looked up: it arrived"),
                )
            }
            LookUpResult::NotSent => {
                let age = tx.now.millis_since(part.created_at);
                if part.class == OutboxClass::Final && age > OLD_ANSWER_MS.unsigned_abs() {
                    // Certain now, but too old to be delivered without a person's word.
                    return Self::note(
                        tx,
                        &part,
                        &format!(
                            "Looked up: it did not arrive; it is {} h old.",
                            age / 3_600_000
                        ),
                    );
                }
                tx.settle_delivery(&mut part, OutboxState::Pending)?;
                tx.send_later(&part)?;
                tx.answer_resend(
                    &part,
                    DecisionKind::SendAgain,
                    ApprovalState::Consumed,
                    &engine,
                    Some("looked up: it did not arrive"),
                )
            }
            LookUpResult::Unclear { why } => Self::note(tx, &part, &format!("Looked up: {why}.")),
        }
    }
}
