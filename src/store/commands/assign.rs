//! Assigns a question to somebody, and says who is on call. Neither decides anything or changes who may.

use crate::clock::Timestamp;
use crate::protocol::enums::ApprovalState;
use crate::protocol::event::EventBody;
use crate::protocol::ids::ApprovalId;
use crate::protocol::on_call::{Assignment, OnCall};
use crate::store::command::{WriteCommand, WriteTx};
use crate::store::commands::decide::DecideOutcome;
use crate::store::error::StoreError;
use crate::store::input::{ActorRef, NewCard};
use crate::store::meta;
use crate::store::queries::approvals::load_approval;
use crate::store::queries::on_call::{ON_CALL, load_on_call};
use crate::store::queries::waiting::has_card;
use crate::store::rows::to_json;
use crate::store::sql::{Json, Statements, params};
use serde_json::json;

/// Lets a pending question wait for somebody. Durable. Bound to what was shown, like a decision; answers like one.
#[derive(Debug, Clone)]
pub struct Assign {
    pub approval_id: ApprovalId,
    /// Digest that was shown.
    pub digest: String,
    /// Revision that was shown.
    pub revision: Option<u32>,
    /// To whom; none = for nobody in particular any more.
    pub to: Option<String>,
    /// A note for them.
    pub note: Option<String>,
    /// Cards for them; where they have an armed one already, none is sent.
    pub cards: Vec<NewCard>,
    pub by: ActorRef,
}

impl WriteCommand for Assign {
    type Output = DecideOutcome;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<DecideOutcome, StoreError> {
        let gate = tx.gate(self.approval_id)?;
        let before = load_approval(tx.conn, gate.id)?;
        if gate.state != ApprovalState::Pending {
            return Ok(DecideOutcome::late(&gate, before));
        }
        let outdated = DecideOutcome::outdated(&gate, &self.digest, self.revision, tx.now);
        if let Some(outcome) = outdated {
            return Ok(outcome);
        }
        let waits = before.assignment.as_deref();
        let same = match (waits, &self.to) {
            (Some(one), Some(to)) => {
                one.to == *to && one.by == self.by.label && one.note == self.note
            }
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        };
        if same {
            return Ok(DecideOutcome::Same(before));
        }
        let waiting_for = self.to.as_ref().map(|to| {
            Json(Assignment {
                to: to.clone(),
                by: self.by.label.clone(),
                at: tx.now,
                note: self.note.clone(),
            })
        });
        tx.conn.run(
            "UPDATE approvals SET waiting_for = ?2, updated_at = ?3 WHERE id = ?1",
            params![gate.id, waiting_for, tx.now],
        )?;
        let mut cards = Vec::new();
        for card in &self.cards {
            if !has_card(tx.conn, gate.id, &card.channel, &card.conversation)? {
                cards.push(card.clone());
            }
        }
        tx.queue_cards(&gate, &cards)?;
        tx.audit(
            "approval.assigned",
            &self.by,
            Some(&gate.channel),
            gate.id,
            &json!({
                "to": self.to,
                "from": waits.map(|one| &one.to),
                "note": self.note,
                "code": before.short_code,
                "revision": gate.revision,
            }),
        )?;
        let approval = load_approval(tx.conn, gate.id)?;
        tx.emit(
            approval.session_id,
            approval.continuation_id,
            EventBody::ApprovalAssigned {
                approval: Box::new(approval.clone()),
            },
        )?;
        crate::crash_point!("decide.pre_commit");
        Ok(DecideOutcome::Decided(approval))
    }

    fn committed(&self) {
        crate::crash_point!("decide.post");
    }
}

/// Says who is on call. Durable. It ends by itself: whoever reads it compares with the clock.
#[derive(Debug, Clone)]
pub struct SetOnCall {
    /// Who; none = nobody.
    pub name: Option<String>,
    /// Until when; none = until somebody else is.
    pub until: Option<Timestamp>,
    pub note: Option<String>,
    pub by: ActorRef,
}

impl WriteCommand for SetOnCall {
    type Output = ();

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<(), StoreError> {
        let before = load_on_call(tx.conn)?;
        let on_call = self.name.as_ref().map(|name| OnCall {
            name: name.clone(),
            by: self.by.label.clone(),
            since: tx.now,
            until: self.until,
            note: self.note.clone(),
        });
        match &on_call {
            Some(one) => meta::set(tx.conn, ON_CALL, &to_json(one)?)?,
            None if before.is_none() => return Ok(()),
            None => meta::clear(tx.conn, ON_CALL)?,
        }
        tx.audit(
            "oncall.set",
            &self.by,
            None,
            self.name.as_deref().unwrap_or("nobody"),
            &json!({
                "to": self.name,
                "from": before.map(|one| one.name),
                "until": self.until,
                "note": self.note,
            }),
        )?;
        tx.emit(
            None,
            None,
            EventBody::OnCallChanged {
                on_call: on_call.map(Box::new),
            },
        )
    }
}
