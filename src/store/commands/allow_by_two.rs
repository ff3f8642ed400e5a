//! A decision on what two people must allow: the first approval is kept, and the second one decides.
//!
//! No first approval counts for another revision than the one that was shown, and none twice for one person.

use serde_json::json;

use crate::protocol::approval::FirstApproval;
use crate::protocol::enums::ApprovalState;
use crate::protocol::event::EventBody;
use crate::store::command::{WriteCommand, WriteTx};
use crate::store::commands::decide::{Decide, DecideOutcome, DecideReport};
use crate::store::error::StoreError;
use crate::store::input::NewCard;
use crate::store::queries::approvals::load_approval;
use crate::store::queries::waiting::{has_card, shown_cards};
use crate::store::sql::{Json, Statements, params};
use crate::store::tx::approvals::ApprovalRow;

/// Whoever allows it now, and how the others hear of it.
#[derive(Debug, Clone)]
pub struct TwoPeople {
    /// Name under `[people]`.
    pub person: String,
    /// A card for each conversation of the others who may decide.
    pub cards: Vec<NewCard>,
}

/// Decides, or keeps the first of two approvals. Durable.
#[derive(Debug, Clone)]
pub struct AllowByTwo {
    /// The decision.
    pub decide: Decide,
    /// Set where it is an approval and two people must allow.
    pub two_people: Option<TwoPeople>,
}

impl AllowByTwo {
    fn keep(
        &self,
        tx: &mut WriteTx<'_>,
        two: &TwoPeople,
        gate: &ApprovalRow,
    ) -> Result<(), StoreError> {
        let id = gate.id;
        let by = &self.decide.by;
        let first = FirstApproval {
            person: two.person.clone(),
            surface: by.surface,
            at: tx.now,
            revision: gate.revision,
        };
        tx.conn.run(
            "UPDATE approvals SET allowed_by = ?2, updated_at = ?3 WHERE id = ?1",
            params![id, Json(&first), tx.now],
        )?;
        tx.audit(
            "approval.first_allowed",
            by,
            Some(&gate.channel),
            gate.id,
            &json!({
                "kind": gate.kind, "person": first.person, "digest": gate.digest, "revision": gate.revision,
                "call": gate.call_id, "reason": self.decide.reason, "seen_ms": self.decide.seen_ms,
            }),
        )?;
        let mut new = Vec::new();
        for card in &two.cards {
            if has_card(tx.conn, id, &card.channel, &card.conversation)? {
                let text = format!("{}. It needs one more.", first.in_words());
                tx.queue_reminder(gate, card, &text)?;
            } else {
                new.push(card.clone());
            }
        }
        // Whoever allowed it has nothing more to press, so their card says how far it is.
        for (card, place, refs) in shown_cards(tx.conn, id)? {
            let is_there =
                |one: &NewCard| (&one.channel, &one.conversation) == (&place.0, &place.1);
            if !two.cards.iter().any(is_there) {
                let part = tx.part(card)?;
                tx.queue_card_updates(&part, id, &refs)?;
            }
        }
        tx.queue_cards(gate, &new)
    }
}

impl WriteCommand for AllowByTwo {
    type Output = DecideReport;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<DecideReport, StoreError> {
        let Some(two) = &self.two_people else {
            return self.decide.apply(tx);
        };
        let gate = tx.gate(self.decide.approval_id)?;
        // What takes no approval by now says so itself.
        if gate.state != ApprovalState::Pending || self.decide.refused(tx, &gate).is_some() {
            return self.decide.apply(tx);
        }
        let before = load_approval(tx.conn, gate.id)?;
        let outcome = match &before.allowed_by {
            Some(first) if first.person != two.person => return self.decide.apply(tx),
            Some(_) => DecideOutcome::Same(before),
            None => {
                self.keep(tx, two, &gate)?;
                let approval = tx.approval_event(gate.id, |approval| {
                    EventBody::ApprovalFirstAllowed { approval }
                })?;
                crate::crash_point!("decide.pre_commit");
                DecideOutcome::Decided(approval)
            }
        };
        Ok(DecideReport::of(&gate, outcome))
    }

    fn committed(&self) {
        self.decide.committed();
    }
}
