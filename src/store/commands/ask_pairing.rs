//! Takes in what an unknown sender wrote in a direct message, and asks whether they get access.

use crate::clock::Timestamp;
use crate::protocol::enums::PairingState;
use crate::store::command::{WriteCommand, WriteTx};
use crate::store::commands::ingest_record::IngestRecord;
use crate::store::commands::ingest_turn::{IngestOutcome, seen_before};
use crate::store::error::StoreError;
use crate::store::input::NewApproval;
use crate::store::queries::pairings::standing;
use crate::store::sql::{Statements, params};
use crate::store::tx::approvals::{ApprovalSite, Subject};

/// How many may wait on one channel at a time.
pub const MOST_PENDING: u32 = 3;

/// A direct message of somebody who is not on the list. Durable; answers the item's row and whether it asked.
///
/// It asks unless the sender asks already, has access or was refused, or as many wait as may. Only with a question is
/// anything said to the sender: however many unknown senders write, the channel says no more to them than operators are asked.
#[derive(Debug, Clone)]
pub struct AskPairing {
    /// The item. Its notices go out only with the question.
    pub record: IngestRecord,
    /// The question, with its deadline and the code that the notice names.
    pub approval: NewApproval,
    /// When the code ends, which is the question's deadline.
    pub expires_at: Timestamp,
}

impl AskPairing {
    fn asks(&self, tx: &WriteTx<'_>) -> Result<bool, StoreError> {
        let origin = &self.record.origin;
        Ok(
            match standing(tx.conn, &origin.channel, &origin.requester.id)? {
                Some(PairingState::Pending | PairingState::Accepted | PairingState::Refused) => {
                    false
                }
                Some(PairingState::Expired | PairingState::Revoked) | None => {
                    let waiting: u32 = tx.conn.value(
                        "SELECT count(*) FROM pairings WHERE channel = ?1 AND state = 'pending'",
                        [&origin.channel],
                    )?;
                    waiting < MOST_PENDING
                }
            },
        )
    }
}

impl WriteCommand for AskPairing {
    type Output = (IngestOutcome, bool);

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<Self::Output, StoreError> {
        let origin = &self.record.origin;
        let asks = seen_before(tx, origin)?.is_none() && self.asks(tx)?;
        if !asks {
            let silent = IngestRecord {
                notices: Vec::new(),
                ..self.record.clone()
            };
            return Ok((silent.apply(tx)?, false));
        }
        let outcome = self.record.apply(tx)?;
        tx.conn.run(
            "INSERT INTO pairings (channel, sender_id, display, conversation, code, approval_id, state, asked_at,
                expires_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'pending', ?7, ?8)
             ON CONFLICT (channel, sender_id) DO UPDATE SET display = excluded.display,
                conversation = excluded.conversation, code = excluded.code, approval_id = excluded.approval_id,
                state = excluded.state, asked_at = excluded.asked_at, expires_at = excluded.expires_at,
                decided_at = NULL, by_label = NULL",
            params![
                origin.channel,
                origin.requester.id,
                origin.requester.display,
                origin.conversation,
                self.approval.short_code.to_uppercase(),
                self.approval.id,
                tx.now,
                self.expires_at
            ],
        )?;
        tx.ask_at(
            &ApprovalSite {
                channel: &origin.channel,
                conversation: &origin.conversation,
                session_id: None,
                continuation_id: None,
                requester: &origin.requester,
            },
            &self.approval,
            &Subject::default(),
        )?;
        crate::crash_point!("pairing.pre_commit");
        Ok((outcome, true))
    }

    fn committed(&self) {
        self.record.committed();
        crate::crash_point!("pairing.post");
    }
}
