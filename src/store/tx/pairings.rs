//! Settles who gets access: with the question about it, in its transaction.

use crate::protocol::enums::{OutboxClass, PairingState};
use crate::protocol::ids::ApprovalId;
use crate::store::command::WriteTx;
use crate::store::error::StoreError;
use crate::store::input::{ActorRef, NewNotice};
use crate::store::sql::{Statements, columns, params};
use serde_json::json;

/// What somebody reads who got access. What they wrote before was not kept.
const ACCESS_GRANTED: &str = "You have access: the bot answers from now on. \
                      What you wrote before was not kept; please send it again.";

impl WriteTx<'_> {
    /// Moves the pairing of a question on with it. None of it is left where somebody erased the user meanwhile.
    pub(crate) fn settle_pairing(
        &mut self,
        id: ApprovalId,
        to: PairingState,
        by: Option<&ActorRef>,
    ) -> Result<(), StoreError> {
        let found: Option<(String, String, String)> = self.conn.row_opt(
            "UPDATE pairings SET state = ?2, decided_at = ?3, by_label = ?4
             WHERE approval_id = ?1 AND state <> ?2
             RETURNING channel, conversation, sender_id",
            params![id, to, self.now, by.map(|by| &by.label)],
            columns!(channel, conversation, sender_id),
        )?;
        let Some((channel, conversation, sender)) = found else {
            return Ok(());
        };
        if let Some(by) = by {
            let action = format!("pairing.{to}");
            let detail = json!({ "sender": sender });
            self.audit(&action, by, Some(&channel), id, &detail)?;
        }
        if to == PairingState::Accepted {
            self.queue_notice(&NewNotice {
                channel,
                conversation,
                class: OutboxClass::Notice,
                text: ACCESS_GRANTED.to_owned(),
                reply_to: None,
                continuation_id: None,
            })?;
        }
        Ok(())
    }
}
