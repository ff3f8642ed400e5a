//! Outbound parts: queueing, moving the state, cards and their disarming.

use crate::clock::Timestamp;
use crate::protocol::artifact::SentFile;
use crate::protocol::channel::SendIdempotency;
use crate::protocol::chat::is_of_client;
use crate::protocol::enums::{OutboxClass, OutboxState};
use crate::protocol::ids::{ApprovalId, ContinuationId, OutboxId, SessionId};
use crate::store::command::WriteTx;
use crate::store::error::StoreError;
use crate::store::input::{EngineNotice, NewCard, NewNotice};
use crate::store::queries::waiting::card_message;
use crate::store::rows::to_json;
use crate::store::sql::{Json, Statements, columns, params};
use crate::store::transitions;
use crate::store::tx::approvals::ApprovalRow;

/// A part to queue.
#[derive(Debug)]
pub(crate) struct NewRow<'a> {
    pub(crate) channel: &'a str,
    pub(crate) conversation: &'a str,
    pub(crate) continuation_id: Option<ContinuationId>,
    pub(crate) approval_id: Option<ApprovalId>,
    pub(crate) class: OutboxClass,
    pub(crate) part: usize,
    pub(crate) parts: usize,
    pub(crate) text: &'a str,
    pub(crate) buttons: Option<String>,
    pub(crate) target_ref: Option<&'a str>,
    pub(crate) reply_to: Option<&'a str>,
    pub(crate) file: Option<&'a SentFile>,
}

impl<'a> NewRow<'a> {
    /// One part without a text, of no turn.
    pub(crate) fn of(channel: &'a str, conversation: &'a str, class: OutboxClass) -> Self {
        Self {
            channel,
            conversation,
            continuation_id: None,
            approval_id: None,
            class,
            part: 1,
            parts: 1,
            text: "",
            buttons: None,
            target_ref: None,
            reply_to: None,
            file: None,
        }
    }
}

/// The fields of a part that commands decide by.
#[allow(clippy::struct_field_names, reason = "`part` is the column")]
#[derive(Debug, Clone)]
pub(crate) struct Part {
    pub(crate) position: i64,
    pub(crate) id: OutboxId,
    pub(crate) channel: String,
    pub(crate) conversation: String,
    pub(crate) continuation_id: Option<ContinuationId>,
    pub(crate) approval_id: Option<ApprovalId>,
    pub(crate) class: OutboxClass,
    pub(crate) state: OutboxState,
    pub(crate) part: u32,
    pub(crate) epoch: u64,
    pub(crate) attempts: u32,
    pub(crate) created_at: Timestamp,
    /// What the adapter offered when the last send began.
    pub(crate) idempotency: SendIdempotency,
    /// When the first send began that may have arrived: this one, while it is being sent and none before may have.
    pub(crate) begun_at: Option<Timestamp>,
}

impl Part {
    /// Whether a send that may have arrived may simply be made again: showing it twice shows nothing twice, or the
    /// platform still knows the key of the first.
    pub(crate) fn repeats_safely(&self, now: Timestamp) -> bool {
        match (self.class, self.idempotency) {
            // An edit to a given text.
            (OutboxClass::CardUpdate, _) => true,
            (
                OutboxClass::Final
                | OutboxClass::ApprovalCard
                | OutboxClass::Progress
                | OutboxClass::Notice,
                SendIdempotency::NativeKey { window_ms },
            ) => window_ms.is_none_or(|window| {
                self.begun_at
                    .is_some_and(|begun| now.millis_since(begun) < window)
            }),
            (
                OutboxClass::Final
                | OutboxClass::ApprovalCard
                | OutboxClass::Progress
                | OutboxClass::Notice,
                SendIdempotency::Reconcile | SendIdempotency::None,
            ) => false,
        }
    }
}

/// The stored words of what an adapter offers against doubled sends.
pub(crate) fn idempotency_columns(given: SendIdempotency) -> (&'static str, Option<u64>) {
    match given {
        SendIdempotency::NativeKey { window_ms } => ("native_key", window_ms),
        SendIdempotency::Reconcile => ("reconcile", None),
        SendIdempotency::None => ("none", None),
    }
}

fn idempotency(word: &str, window_ms: Option<u64>) -> SendIdempotency {
    match word {
        "native_key" => SendIdempotency::NativeKey { window_ms },
        "reconcile" => SendIdempotency::Reconcile,
        // The column is checked: what is left is `none`.
        _ => SendIdempotency::None,
    }
}

impl WriteTx<'_> {
    /// Queues a part.
    pub(crate) fn queue(&mut self, row: &NewRow<'_>) -> Result<OutboxId, StoreError> {
        let id = OutboxId::generate();
        self.conn.run(
            "INSERT INTO outbox (id, channel, conversation, continuation_id, approval_id, class, state, part, parts,
                text, buttons, target_ref, reply_to, file, created_at, updated_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'pending', ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?14)",
            params![
                id,
                row.channel,
                row.conversation,
                row.continuation_id,
                row.approval_id,
                row.class,
                row.part,
                row.parts,
                row.text,
                row.buttons,
                row.target_ref,
                row.reply_to,
                row.file.map(Json),
                self.now
            ],
        )?;
        Ok(id)
    }

    /// Queues a word of ours; none = nobody hears it there: a chat client fetches its answers.
    pub(crate) fn queue_notice(
        &mut self,
        notice: &NewNotice,
    ) -> Result<Option<OutboxId>, StoreError> {
        if is_of_client(&notice.conversation) {
            return Ok(None);
        }
        let row = NewRow {
            continuation_id: notice.continuation_id,
            text: &notice.text,
            reply_to: notice.reply_to.as_deref(),
            ..NewRow::of(&notice.channel, &notice.conversation, notice.class)
        };
        self.queue(&row).map(Some)
    }

    /// Queues words of ours, in order.
    pub(crate) fn queue_notices(&mut self, notices: &[NewNotice]) -> Result<(), StoreError> {
        notices
            .iter()
            .try_for_each(|notice| self.queue_notice(notice).map(drop))
    }

    /// Queues a reminder of an approval, as an answer to the message with its card.
    pub(crate) fn queue_reminder(
        &mut self,
        gate: &ApprovalRow,
        card: &NewCard,
        text: &str,
    ) -> Result<OutboxId, StoreError> {
        let message = card_message(self.conn, gate.id, &card.channel, &card.conversation)?;
        self.queue(&NewRow {
            continuation_id: gate.continuation_id,
            approval_id: Some(gate.id),
            text,
            reply_to: message.as_deref(),
            ..NewRow::of(&card.channel, &card.conversation, OutboxClass::Notice)
        })
    }

    /// Queues what the engine says about itself.
    pub(crate) fn queue_own(
        &mut self,
        notice: &NewNotice,
        says: EngineNotice,
    ) -> Result<(), StoreError> {
        let id = self.queue_notice(notice)?;
        self.conn.run(
            "UPDATE outbox SET own = ?2 WHERE id = ?1",
            params![id, says],
        )?;
        Ok(())
    }

    /// Takes back what was not said yet about an emergency stop that is over.
    pub(crate) fn drop_held_words(&mut self) -> Result<(), StoreError> {
        let waiting = self.conn.values::<OutboxId>(
            "SELECT id FROM outbox INDEXED BY outbox_of_the_engine WHERE own = 'held' AND +state = 'pending'",
            [],
        )?;
        for id in waiting {
            let mut part = self.part(id)?;
            self.move_part(&mut part, OutboxState::Superseded)?;
        }
        Ok(())
    }

    /// The session of the turn that a part belongs to; none = it belongs to no turn.
    pub(crate) fn session_of(&self, part: &Part) -> Result<Option<SessionId>, StoreError> {
        let turn = part.continuation_id.map(|id| self.head(id)).transpose()?;
        Ok(turn.map(|turn| turn.session_id))
    }

    /// A part.
    pub(crate) fn part(&self, id: OutboxId) -> Result<Part, StoreError> {
        self.conn
            .row_opt(
                "SELECT position, channel, conversation, continuation_id, approval_id, class, state, part, epoch,
                    attempts, created_at, idempotency, key_window_ms,
                    coalesce(begun_at, CASE WHEN state = 'sending' THEN updated_at END) AS begun_at
                 FROM outbox WHERE id = ?1",
                [id],
                |row| Ok(columns!(row => Part {
                    position, channel, conversation, continuation_id, approval_id, class, state,
                    part, epoch, attempts, created_at, begun_at;
                    id,
                    idempotency: idempotency(
                        row.text("idempotency")?,
                        row.get("key_window_ms")?,
                    ),
                })),
            )?
            .ok_or_else(|| StoreError::not_found("delivery", id))
    }

    /// A part that may have arrived is to be sent again under its key.
    pub(crate) fn repeat_part(&mut self, part: &mut Part) -> Result<(), StoreError> {
        self.move_part(part, OutboxState::Pending)?;
        self.keep_begin(part)
    }

    /// Keeps when the send began that may have arrived.
    pub(crate) fn keep_begin(&mut self, part: &Part) -> Result<(), StoreError> {
        self.conn.run(
            "UPDATE outbox SET begun_at = ?2 WHERE id = ?1",
            params![part.id, part.begun_at],
        )?;
        Ok(())
    }

    /// A part that failed to be delivered is tried again by itself, later and later: after 1 s, up to 64 s.
    pub(crate) fn send_later(&mut self, part: &Part) -> Result<(), StoreError> {
        let wait = 1_i64 << part.attempts.saturating_sub(1).min(6);
        self.conn.run(
            "UPDATE outbox SET not_before = ?2 WHERE id = ?1",
            params![part.id, self.now.plus_seconds(wait)],
        )?;
        Ok(())
    }

    /// No send of a part so far counts any more: a person, or a look at the platform, said so.
    pub(crate) fn forget_sends(&mut self, id: OutboxId) -> Result<(), StoreError> {
        self.conn.run(
            "UPDATE outbox SET begun_at = NULL, not_before = NULL WHERE id = ?1",
            [id],
        )?;
        Ok(())
    }

    /// Moves a part.
    pub(crate) fn move_part(&mut self, part: &mut Part, to: OutboxState) -> Result<(), StoreError> {
        if !transitions::outbox(part.state, to) {
            return Err(StoreError::conflict(format!(
                "delivery {} cannot go from {} to {to}",
                part.id, part.state
            )));
        }
        let settled = match to {
            OutboxState::Pending | OutboxState::Sending => None,
            OutboxState::Sent
            | OutboxState::Failed
            | OutboxState::Unknown
            | OutboxState::Superseded
            | OutboxState::Abandoned => Some(self.now),
        };
        self.conn.run(
            "UPDATE outbox SET state = ?2, updated_at = ?3, settled_at = ?4 WHERE id = ?1",
            params![part.id, to, self.now, settled],
        )?;
        part.state = to;
        Ok(())
    }

    /// Queues the cards of an approval and makes their tokens.
    pub(crate) fn queue_cards(
        &mut self,
        gate: &ApprovalRow,
        cards: &[NewCard],
    ) -> Result<(), StoreError> {
        for card in cards {
            self.queue_card(gate, card)?;
        }
        Ok(())
    }

    /// Queues a card of an approval and makes its tokens.
    pub(crate) fn queue_card(
        &mut self,
        gate: &ApprovalRow,
        card: &NewCard,
    ) -> Result<OutboxId, StoreError> {
        let buttons: Vec<(&str, &str)> = card
            .buttons
            .iter()
            .map(|(_, label, token)| (label.as_str(), token.as_str()))
            .collect();
        let outbox = self.queue(&NewRow {
            continuation_id: gate.continuation_id,
            approval_id: Some(gate.id),
            buttons: Some(to_json(&buttons)?),
            reply_to: card.reply_to.as_deref(),
            ..NewRow::of(&card.channel, &card.conversation, OutboxClass::ApprovalCard)
        })?;
        for (decision, _, token) in &card.buttons {
            self.conn.run(
                "INSERT INTO card_tokens (token, approval_id, outbox_id, revision, digest, decision)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                params![token, gate.id, outbox, gate.revision, gate.digest, decision],
            )?;
        }
        Ok(outbox)
    }

    /// Disarms every copy of an approval's cards: tokens are spent, unsent cards and reminders superseded, and (when
    /// wanted) an update queued for each message that shows one.
    pub(crate) fn disarm_cards(
        &mut self,
        approval: ApprovalId,
        update: bool,
    ) -> Result<(), StoreError> {
        self.conn.run(
            "UPDATE card_tokens SET spent_at = ?2 WHERE approval_id = ?1 AND spent_at IS NULL",
            params![approval, self.now],
        )?;
        let cards = self.conn.rows(
            "SELECT id, class, state, external_refs FROM outbox
             WHERE approval_id = ?1 AND class IN ('approval_card', 'notice') AND +state IN ('pending', 'sent')
             ORDER BY position",
            [approval],
            |row| {
                Ok((
                    row.get("id")?,
                    row.get::<OutboxClass>("class")?,
                    row.get::<OutboxState>("state")?,
                    row.json_opt::<Vec<String>>("external_refs")?
                        .unwrap_or_default(),
                ))
            },
        )?;
        for (id, class, state, refs) in cards {
            let mut part = self.part(id)?;
            if state == OutboxState::Pending {
                self.move_part(&mut part, OutboxState::Superseded)?;
            } else if update && class == OutboxClass::ApprovalCard {
                self.queue_card_updates(&part, approval, &refs)?;
            }
        }
        Ok(())
    }

    /// Queues one update for each message that shows a card.
    pub(crate) fn queue_card_updates(
        &mut self,
        card: &Part,
        approval: ApprovalId,
        refs: &[String],
    ) -> Result<(), StoreError> {
        for target in refs {
            self.queue(&NewRow {
                continuation_id: card.continuation_id,
                approval_id: Some(approval),
                target_ref: Some(target),
                ..NewRow::of(&card.channel, &card.conversation, OutboxClass::CardUpdate)
            })?;
        }
        Ok(())
    }
}
