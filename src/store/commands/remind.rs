//! Asks people who were not asked so far, and reminds the others.

use std::collections::BTreeSet;

use crate::protocol::enums::ApprovalState;
use crate::protocol::event::EventBody;
use crate::protocol::ids::ApprovalId;
use crate::store::command::{WriteCommand, WriteTx};
use crate::store::error::StoreError;
use crate::store::input::NewCard;
use crate::store::queries::approvals::load_approval;
use crate::store::queries::waiting::has_card;
use crate::store::sql::{Statements, params};

/// Sends these cards where there is none, and a reminder where there is one. Durable.
///
/// Does nothing where the approval was answered or changed meanwhile.
#[derive(Debug, Clone)]
pub struct Remind {
    pub approval_id: ApprovalId,
    /// The revision that the cards show.
    pub revision: u32,
    /// A card for each conversation of the people.
    pub cards: Vec<NewCard>,
    /// How many reminders are due by now.
    pub due: u32,
    /// What a reminder says: Markdown.
    pub text: String,
}

impl WriteCommand for Remind {
    type Output = ();

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<(), StoreError> {
        let gate = tx.gate(self.approval_id)?;
        if gate.state != ApprovalState::Pending || gate.revision != self.revision {
            return Ok(());
        }
        let mut cards = Vec::new();
        let mut people = BTreeSet::new();
        let mut reminded = false;
        for card in &self.cards {
            let known: Option<u32> = tx.conn.row_opt(
                "SELECT count FROM reminders WHERE approval_id = ?1 AND person = ?2",
                params![gate.id, card.person],
                |row| row.get("count"),
            )?;
            people.insert(&card.person);
            if !has_card(tx.conn, gate.id, &card.channel, &card.conversation)? {
                cards.push(card.clone());
            } else if known.unwrap_or(0) < self.due {
                tx.queue_reminder(&gate, card, &self.text)?;
                reminded = true;
            }
        }
        tx.queue_cards(&gate, &cards)?;
        if self.due == 0 {
            return Ok(());
        }
        // Whoever gets a card now is not reminded of it at once.
        for person in people {
            tx.conn.run(
                "INSERT INTO reminders (approval_id, person, count, sent_at) VALUES (?1, ?2, ?3, ?4)
                 ON CONFLICT (approval_id, person) DO UPDATE
                 SET count = max(count, excluded.count), sent_at = excluded.sent_at",
                params![gate.id, person, self.due, tx.now],
            )?;
        }
        if reminded {
            let approval = load_approval(tx.conn, gate.id)?;
            tx.emit(
                approval.session_id,
                approval.continuation_id,
                EventBody::ApprovalReminded {
                    approval: Box::new(approval),
                },
            )?;
        }
        Ok(())
    }
}
