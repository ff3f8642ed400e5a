//! Records how a send ended.

use crate::clock::Timestamp;
use crate::protocol::approval::Requester;
use crate::protocol::enums::{ApprovalKind, ApprovalState, DecisionKind, OutboxClass, OutboxState};
use crate::protocol::event::EventBody;
use crate::protocol::hex::hex;
use crate::protocol::ids::OutboxId;
use crate::store::command::{WriteCommand, WriteTx};
use crate::store::error::StoreError;
use crate::store::input::NewApproval;
use crate::store::sql::{Json, Statements, params};
use crate::store::tx::approvals::{ApprovalSite, Subject};
use crate::store::tx::outbox::Part;
use crate::store::tx::questions::question;
use sha2::{Digest, Sha256};

/// The outcome of a send. Durable.
#[derive(Debug, Clone)]
pub struct EndSend {
    pub outbox_id: OutboxId,
    /// Epoch of the caller.
    pub epoch: u64,
    /// How it ended.
    pub outcome: SendOutcome,
    /// The question to ask (kind `resend`), with `Unknown`; a plain one is made where there is none.
    pub resend: Option<NewApproval>,
}

/// How a send ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SendOutcome {
    /// Accepted.
    Sent {
        /// Platform ids of the messages made, in order.
        refs: Vec<String>,
    },
    /// Accepted, but the message does not show all of the card.
    Shortened {
        /// Platform ids of the messages made, in order.
        refs: Vec<String>,
    },
    /// Certainly not sent; try again later.
    Retry {
        /// Earliest next try.
        not_before: Timestamp,
        /// Why, redacted.
        error: String,
    },
    /// Certainly not sent, for good.
    Failed {
        /// Why, redacted.
        error: String,
    },
    /// Nobody knows.
    Unknown {
        /// What is known, redacted.
        detail: String,
    },
    /// Whoever sent it is gone: settled as after a crash.
    Lost {
        /// What happened to them.
        detail: String,
    },
}

/// Settles a part whose sender died while sending; whether nobody knows if it arrived.
pub(crate) fn settle_lost(
    tx: &mut WriteTx<'_>,
    part: &mut Part,
    detail: &str,
) -> Result<bool, StoreError> {
    if part.class == OutboxClass::Progress {
        tx.move_part(part, OutboxState::Superseded)?;
        return Ok(false);
    }
    if crate::mutant!("blind_resend") {
        tx.move_part(part, OutboxState::Pending)?;
        return Ok(false);
    }
    if part.repeats_safely(tx.now) {
        tx.repeat_part(part)?;
        return Ok(false);
    }
    ask_unknown(tx, part, detail)?;
    Ok(true)
}

/// Asks a person whether a part arrived.
pub(crate) fn ask_resend(
    tx: &mut WriteTx<'_>,
    part: &Part,
    question: &NewApproval,
) -> Result<(), StoreError> {
    let head = part.continuation_id.map(|id| tx.head(id)).transpose()?;
    let nobody = Requester {
        id: "engine".to_owned(),
        display: "engine".to_owned(),
        person: None,
    };
    tx.ask_at(
        &ApprovalSite {
            channel: &part.channel,
            conversation: &part.conversation,
            session_id: head.as_ref().map(|head| head.session_id),
            continuation_id: part.continuation_id,
            requester: head.as_ref().map_or(&nobody, |head| &head.requester),
        },
        question,
        &Subject::outbox(part.id),
    )
}

/// Nobody knows whether a part arrived: says so and asks a person.
pub(crate) fn ask_unknown(
    tx: &mut WriteTx<'_>,
    part: &mut Part,
    detail: &str,
) -> Result<(), StoreError> {
    let question = unknown_delivery(part, detail);
    set_unknown(tx, part, detail, Some(&question))
}

/// The question about a part that nobody knows the end of.
pub(crate) fn unknown_delivery(part: &Part, detail: &str) -> NewApproval {
    question(
        ApprovalKind::Resend,
        hex(&Sha256::digest(part.id.to_bytes())),
        vec![
            DecisionKind::Sent,
            DecisionKind::SendAgain,
            DecisionKind::Drop,
        ],
        format!(
            "A message to `{}` on `{}` may have been delivered: {detail}. Did it arrive?",
            part.conversation, part.channel
        ),
    )
}

/// An answer that waited too long: asks a person whether it should still be delivered.
pub(crate) fn ask_old(tx: &mut WriteTx<'_>, part: &mut Part) -> Result<(), StoreError> {
    let hours = tx.now.millis_since(part.created_at) / 3_600_000;
    let mut asked = unknown_delivery(part, "");
    let detail = if part.begun_at.is_some() {
        format!("it waited {hours} h, and an earlier send may have arrived")
    } else {
        // It never left: whether it arrived is no question.
        asked.offered.retain(|word| *word != DecisionKind::Sent);
        format!("it waited {hours} h and was not sent")
    };
    asked.question = Some(format!(
        "An answer to `{}` on `{}` is old: {detail}. Should it still be sent?",
        part.conversation, part.channel
    ));
    set_unknown(tx, part, &detail, Some(&asked))
}

/// Moves a part to `unknown`, tells everybody, and asks.
pub(crate) fn set_unknown(
    tx: &mut WriteTx<'_>,
    part: &mut Part,
    detail: &str,
    question: Option<&NewApproval>,
) -> Result<(), StoreError> {
    tx.move_part(part, OutboxState::Unknown)?;
    tx.keep_begin(part)?;
    EndSend::set_error(tx, part, detail, None)?;
    let session = tx.session_of(part)?;
    tx.emit(
        session,
        part.continuation_id,
        EventBody::ReplyUnknown {
            outbox_id: part.id,
            channel: part.channel.clone(),
            detail: detail.to_owned(),
        },
    )?;
    match question {
        Some(question) => ask_resend(tx, part, question),
        None => Ok(()),
    }
}

impl EndSend {
    /// A send that repeats safely is made again by itself, later and later.
    fn repeat(tx: &mut WriteTx<'_>, part: &mut Part, detail: &str) -> Result<(), StoreError> {
        tx.repeat_part(part)?;
        Self::set_error(tx, part, detail, None)?;
        tx.send_later(part)
    }

    pub(crate) fn sent(
        tx: &mut WriteTx<'_>,
        part: &mut Part,
        refs: &[String],
        whole: Option<bool>,
    ) -> Result<(), StoreError> {
        tx.move_part(part, OutboxState::Sent)?;
        tx.conn.run(
            "UPDATE outbox SET external_refs = ?2, last_error = NULL, whole = ?3 WHERE id = ?1",
            params![part.id, Json(&refs), whole],
        )?;
        if part.class == OutboxClass::ApprovalCard
            && let Some(approval) = part.approval_id
        {
            tx.conn.run(
                "UPDATE approvals SET notified = 1 WHERE id = ?1",
                [approval],
            )?;
            // Decided or changed while the card was on its way: it must not stay armed on the screen.
            let gate = tx.gate(approval)?;
            let outdated: bool = tx.conn.value(
                "SELECT coalesce((SELECT revision <> ?2 FROM outbox WHERE id = ?1), 0)
                    OR EXISTS (SELECT 1 FROM card_tokens WHERE outbox_id = ?1 AND spent_at IS NOT NULL)",
                params![part.id, gate.revision],
            )?;
            if outdated || gate.state != ApprovalState::Pending {
                tx.queue_card_updates(part, approval, refs)?;
            }
        }
        let session = tx.session_of(part)?;
        tx.emit(
            session,
            part.continuation_id,
            EventBody::ReplySent {
                outbox_id: part.id,
                class: part.class,
                channel: part.channel.clone(),
                part: part.part,
            },
        )
    }

    fn set_error(
        tx: &WriteTx<'_>,
        part: &Part,
        error: &str,
        not_before: Option<Timestamp>,
    ) -> Result<(), StoreError> {
        tx.conn.run(
            "UPDATE outbox SET last_error = ?2, not_before = ?3 WHERE id = ?1",
            params![part.id, error, not_before],
        )?;
        Ok(())
    }
}

impl WriteCommand for EndSend {
    type Output = ();

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<(), StoreError> {
        tx.same_epoch(self.epoch)?;
        let mut part = tx.part(self.outbox_id)?;
        if part.state == OutboxState::Sending && part.epoch != self.epoch {
            return Err(StoreError::fenced(format!(
                "stale epoch: delivery {} was begun in epoch {}",
                part.id, part.epoch
            )));
        }
        if part.state != OutboxState::Sending {
            return Err(StoreError::conflict(format!(
                "delivery {} is {}, not sending",
                part.id, part.state
            )));
        }
        let session = tx.session_of(&part)?;
        match &self.outcome {
            SendOutcome::Sent { refs } => Self::sent(tx, &mut part, refs, Some(true)),
            SendOutcome::Shortened { refs } => Self::sent(tx, &mut part, refs, Some(false)),
            SendOutcome::Retry { not_before, error } => {
                tx.move_part(&mut part, OutboxState::Pending)?;
                Self::set_error(tx, &part, error, Some(*not_before))
            }
            SendOutcome::Failed { error } => {
                tx.move_part(&mut part, OutboxState::Failed)?;
                Self::set_error(tx, &part, error, None)?;
                tx.emit(
                    session,
                    part.continuation_id,
                    EventBody::ReplyFailed {
                        outbox_id: part.id,
                        channel: part.channel.clone(),
                        error: error.clone(),
                        state: OutboxState::Failed,
                    },
                )
            }
            // Nobody needs it any more, and nobody is asked whether it arrived.
            SendOutcome::Unknown { detail } if part.class == OutboxClass::Progress => {
                settle_lost(tx, &mut part, detail).map(drop)
            }
            SendOutcome::Unknown { detail } if part.repeats_safely(tx.now) => {
                Self::repeat(tx, &mut part, detail)
            }
            SendOutcome::Lost { detail } => settle_lost(tx, &mut part, detail).map(drop),
            // An unknown delivery is always asked about, by a plain question where the caller brought none.
            SendOutcome::Unknown { detail } => match &self.resend {
                Some(question) => set_unknown(tx, &mut part, detail, Some(question)),
                None => ask_unknown(tx, &mut part, detail),
            },
        }
    }

    fn committed(&self) {
        crate::crash_point!("send.post");
    }
}
