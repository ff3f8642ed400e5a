//! Drills of an escalation: what a drill has come to, with the messages of its newest step. No question is touched.

use serde_json::json;

use crate::protocol::escalation::{EscalationDrill, EscalationStep};
use crate::store::command::{WriteCommand, WriteTx};
use crate::store::error::StoreError;
use crate::store::input::{ActorRef, NewNotice};
use crate::store::meta;
use crate::store::queries::drills::{DRILLS, drills};
use crate::store::rows::to_json;

impl WriteTx<'_> {
    fn put_drill(&mut self, drill: &EscalationDrill) -> Result<(), StoreError> {
        let mut all = drills(self.conn)?;
        all.retain(|one| one.channel != drill.channel);
        all.push(drill.clone());
        meta::set(self.conn, DRILLS, &to_json(&all)?)
    }
}

/// Begins a drill in place of the last one of its channel. Durable.
#[derive(Debug, Clone)]
pub struct BeginDrill {
    pub drill: EscalationDrill,
    pub by: ActorRef,
}

impl WriteCommand for BeginDrill {
    /// The drill that runs already, if one does.
    type Output = Option<EscalationDrill>;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<Self::Output, StoreError> {
        let runs =
            |one: &EscalationDrill| one.channel == self.drill.channel && one.ended_at.is_none();
        if let Some(running) = drills(tx.conn)?.into_iter().find(runs) {
            return Ok(Some(running));
        }
        tx.put_drill(&self.drill)?;
        tx.audit(
            "escalation.drill_started",
            &self.by,
            Some(&self.drill.channel),
            &self.drill.channel,
            &json!({ "policy": self.drill.escalation.policy, "fast": self.drill.fast }),
        )?;
        Ok(None)
    }
}

/// Keeps what a drill has come to. Durable. Queues the messages of its newest step in the same transaction.
///
/// Does nothing where another drill took its place, or it has other steps by now.
#[derive(Debug, Clone)]
pub struct PutDrill {
    /// The drill as it is now. The deliveries of its newest step are filled in here where it has messages.
    pub drill: EscalationDrill,
    /// How many steps it had before.
    pub taken: usize,
    /// The messages of the newest step.
    pub notices: Vec<NewNotice>,
}

impl WriteCommand for PutDrill {
    /// Whether it was kept.
    type Output = bool;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<bool, StoreError> {
        let is_it = |one: &EscalationDrill| {
            one.channel == self.drill.channel && one.started_at == self.drill.started_at
        };
        let stored = drills(tx.conn)?.into_iter().find(is_it);
        if !stored
            .is_some_and(|one| one.ended_at.is_none() && one.escalation.steps.len() == self.taken)
        {
            return Ok(false);
        }
        let mut drill = self.drill.clone();
        for notice in &self.notices {
            let delivery = tx.queue_notice(notice)?;
            if let Some(step) = drill.escalation.steps.last_mut() {
                step.deliveries.extend(delivery);
            }
        }
        tx.put_drill(&drill)?;
        if drill.ended_at.is_some() {
            let steps = drill.escalation.steps.iter().map(EscalationStep::in_words);
            tx.audit(
                "escalation.drilled",
                &ActorRef::engine(),
                Some(&drill.channel),
                &drill.channel,
                &json!({
                    "policy": drill.escalation.policy,
                    "why": drill.problem(),
                    "steps": steps.collect::<Vec<_>>(),
                }),
            )?;
        }
        Ok(true)
    }
}
