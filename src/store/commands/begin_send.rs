//! Writes the intent of a send before the platform sees it.

use crate::protocol::channel::SendIdempotency;
use crate::protocol::enums::OutboxState;
use crate::protocol::ids::OutboxId;
use crate::store::command::{WriteCommand, WriteTx};
use crate::store::commands::end_send::ask_unknown;
use crate::store::error::StoreError;
use crate::store::sql::{Statements, params};
use crate::store::tx::outbox::{Part, idempotency_columns};

/// Marks a part as being sent. Durable: send only after this.
#[derive(Debug, Clone)]
pub struct BeginSend {
    pub outbox_id: OutboxId,
    /// Epoch of the caller.
    pub epoch: u64,
    /// What the adapter offers against doubled sends. Stored: recovery runs before any adapter does.
    pub idempotency: SendIdempotency,
}

/// Whether the part may be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BeginSendOutcome {
    /// Send it now.
    Begun,
    /// An earlier send may have arrived and its key has run out: the delivery is unknown, a person is asked.
    KeyRanOut,
}

impl BeginSend {
    fn mark(&self, tx: &mut WriteTx<'_>, part: &mut Part) -> Result<BeginSendOutcome, StoreError> {
        // What the adapter offers now decides; how long the key lives counts from the send that may have arrived.
        let part_now = Part {
            idempotency: self.idempotency,
            ..part.clone()
        };
        if part.begun_at.is_some() && !part_now.repeats_safely(tx.now) {
            ask_unknown(
                tx,
                part,
                "an earlier send may have arrived, and the platform no longer knows its key",
            )?;
            return Ok(BeginSendOutcome::KeyRanOut);
        }
        tx.move_part(part, OutboxState::Sending)?;
        let (word, window_ms) = idempotency_columns(self.idempotency);
        // A change of the approval takes an unsent card back: what is sent now shows the current revision.
        tx.conn.run(
            "UPDATE outbox SET attempts = attempts + 1, epoch = ?2, not_before = NULL, idempotency = ?3,
                key_window_ms = ?4, revision = CASE WHEN class = 'approval_card'
                    THEN (SELECT revision FROM approvals WHERE id = approval_id) END
             WHERE id = ?1",
            params![part.id, self.epoch, word, window_ms],
        )?;
        Ok(BeginSendOutcome::Begun)
    }
}

impl WriteCommand for BeginSend {
    type Output = BeginSendOutcome;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<BeginSendOutcome, StoreError> {
        tx.same_epoch(self.epoch)?;
        tx.refuse_quarantined("delivery", self.outbox_id, "nothing is sent")?;
        let mut part = tx.part(self.outbox_id)?;
        // During an emergency stop nothing leaves but what the engine says about itself: that waits behind nothing.
        // An earlier part that itself waits for an answer about the part before it holds up nothing but the parts of
        // its own answer: least of all the card that asks.
        let earlier: bool = tx.conn.value(
            "SELECT NOT EXISTS (SELECT 1 FROM outbox JOIN meta ON key = 'held_reason' WHERE id = ?6 AND own IS NOT NULL)
             AND (EXISTS (SELECT 1 FROM outbox AS earlier
                WHERE channel = ?1 AND settled_at IS NULL AND position < ?2 AND conversation = ?3
                    AND ((continuation_id IS ?4 AND ?5 = 'final') OR NOT EXISTS (
                        SELECT 1 FROM outbox AS before
                        WHERE before.state = 'unknown' AND before.class = 'final' AND earlier.class = 'final'
                            AND before.continuation_id = earlier.continuation_id
                            AND before.position < earlier.position)))
             OR (?5 = 'final' AND EXISTS (SELECT 1 FROM outbox
                WHERE state = 'unknown' AND class = 'final' AND continuation_id = ?4 AND position < ?2)))",
            params![
                part.channel,
                part.position,
                part.conversation,
                part.continuation_id,
                part.class,
                part.id
            ],
        )?;
        if earlier {
            return Err(StoreError::conflict(format!(
                "delivery {} cannot go from {} to sending: an earlier part of its conversation is not out of the way",
                part.id, part.state
            )));
        }
        if part.state != OutboxState::Pending {
            return Err(StoreError::conflict(format!(
                "delivery {} cannot go from {} to sending",
                part.id, part.state
            )));
        }
        self.mark(tx, &mut part)
    }

    fn committed(&self) {
        crate::crash_point!("send.started");
    }
}
