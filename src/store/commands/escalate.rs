//! Steps of the escalation of a question: what comes next, a step that is taken, and what became of it.
//!
//! No step is recorded without its delivery, and none twice: both are one transaction that counts the steps before it.

use serde_json::json;

use crate::protocol::enums::ApprovalState;
use crate::protocol::escalation::{Escalation, EscalationStep, NextEscalationStep, StepOutcome};
use crate::protocol::event::EventBody;
use crate::protocol::ids::ApprovalId;
use crate::store::command::{Durability, WriteCommand, WriteTx};
use crate::store::error::StoreError;
use crate::store::input::{ActorRef, NewCard};
use crate::store::queries::approvals::load_approval;
use crate::store::queries::waiting::has_card;
use crate::store::sql::{Json, Statements, params};

impl WriteTx<'_> {
    /// The escalation of a question that still waits under this revision; none = nothing escalates any more.
    fn escalation_of(
        &self,
        id: ApprovalId,
        revision: u32,
    ) -> Result<Option<Escalation>, StoreError> {
        let gate = self.gate(id)?;
        if gate.state != ApprovalState::Pending || gate.revision != revision {
            return Ok(None);
        }
        let approval = load_approval(self.conn, id)?;
        Ok(Some(
            approval.escalation.map(|one| *one).unwrap_or_default(),
        ))
    }

    fn put_escalation(
        &mut self,
        id: ApprovalId,
        escalation: &Escalation,
    ) -> Result<(), StoreError> {
        self.conn.run(
            "UPDATE approvals SET escalation = ?2 WHERE id = ?1",
            params![id, Json(escalation)],
        )?;
        self.approval_event(id, |approval| EventBody::ApprovalEscalation { approval })
            .map(drop)
    }
}

/// Keeps which step comes next, and says so. Relaxed: it follows from the configuration and the time again.
///
/// Does nothing where the question was answered or changed, or a step was taken meanwhile.
#[derive(Debug, Clone)]
pub struct PlanEscalation {
    pub approval_id: ApprovalId,
    pub revision: u32,
    pub policy: String,
    /// How many steps were taken before.
    pub taken: usize,
    /// What comes next.
    pub next: Option<NextEscalationStep>,
}

impl WriteCommand for PlanEscalation {
    type Output = ();
    const DURABILITY: Durability = Durability::Relaxed;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<(), StoreError> {
        let Some(mut escalation) = tx.escalation_of(self.approval_id, self.revision)? else {
            return Ok(());
        };
        if escalation.steps.len() != self.taken {
            return Ok(());
        }
        escalation.policy.clone_from(&self.policy);
        escalation.next.clone_from(&self.next);
        tx.put_escalation(self.approval_id, &escalation)
    }
}

/// Takes a step: records it and queues what delivers it. Durable.
///
/// Does nothing where the question was answered or changed, or this step was taken meanwhile.
#[derive(Debug, Clone)]
pub struct Escalate {
    pub approval_id: ApprovalId,
    pub revision: u32,
    pub policy: String,
    /// The step. Its deliveries are filled in here.
    pub step: EscalationStep,
    /// A card for each conversation in which it is delivered.
    pub cards: Vec<NewCard>,
    /// What is said where the card is already: Markdown.
    pub text: String,
    /// What comes next.
    pub next: Option<NextEscalationStep>,
}

impl WriteCommand for Escalate {
    /// Whether it was taken.
    type Output = bool;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<bool, StoreError> {
        let id = self.approval_id;
        let Some(mut escalation) = tx.escalation_of(id, self.revision)? else {
            return Ok(false);
        };
        if escalation.steps.len() + 1 != self.step.step as usize {
            return Ok(false);
        }
        let gate = tx.gate(id)?;
        let mut step = self.step.clone();
        step.settled_at = (step.outcome != StepOutcome::Queued).then_some(tx.now);
        for card in &self.cards {
            let delivery = if has_card(tx.conn, id, &card.channel, &card.conversation)? {
                tx.queue_reminder(&gate, card, &self.text)?
            } else {
                tx.queue_card(&gate, card)?
            };
            step.deliveries.push(delivery);
        }
        tx.audit(
            "approval.escalated",
            &ActorRef::engine(),
            Some(&gate.channel),
            id,
            &json!({
                "policy": self.policy, "step": step.step, "to": step.to, "person": step.person,
                "outcome": step.outcome, "why": step.detail, "tool": gate.tool, "revision": gate.revision,
            }),
        )?;
        escalation.policy.clone_from(&self.policy);
        escalation.steps.push(step);
        escalation.next.clone_from(&self.next);
        tx.put_escalation(id, &escalation)?;
        crate::crash_point!("escalate.pre_commit");
        Ok(true)
    }

    fn committed(&self) {
        crate::crash_point!("escalate.post");
    }
}

/// Keeps what became of a step that was on its way. Durable. Does nothing where that is known, or the question is over.
#[derive(Debug, Clone)]
pub struct SettleEscalation {
    pub approval_id: ApprovalId,
    pub revision: u32,
    /// Number of the step, from 1.
    pub step: u32,
    /// What became of it.
    pub outcome: StepOutcome,
    /// Why it failed.
    pub detail: Option<String>,
}

impl WriteCommand for SettleEscalation {
    type Output = ();

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<(), StoreError> {
        let id = self.approval_id;
        let Some(mut escalation) = tx.escalation_of(id, self.revision)? else {
            return Ok(());
        };
        let is_it =
            |one: &&mut EscalationStep| one.step == self.step && one.outcome == StepOutcome::Queued;
        let Some(step) = escalation.steps.iter_mut().find(is_it) else {
            return Ok(());
        };
        step.outcome = self.outcome;
        step.detail.clone_from(&self.detail);
        step.settled_at = Some(tx.now);
        if self.outcome == StepOutcome::Failed {
            let gate = tx.gate(id)?;
            let detail = json!({
                "policy": escalation.policy, "step": self.step, "to": step.to, "person": step.person,
                "why": self.detail, "tool": gate.tool, "revision": gate.revision,
            });
            let channel = Some(gate.channel.as_str());
            tx.audit(
                "approval.escalation_failed",
                &ActorRef::engine(),
                channel,
                id,
                &detail,
            )?;
        }
        tx.put_escalation(id, &escalation)
    }
}
