//! Results of this console's rehearsals. A result belongs to exactly what was rehearsed: a card that changed since
//! shows none.

use std::collections::BTreeMap;

use crate::console::labels::problem_text;
use crate::protocol::approval::Approval;
use crate::protocol::ids::ApprovalId;
use crate::protocol::problem::Problem;
use crate::protocol::rehearsal::Rehearsal;
use crate::protocol::request::Outcome;

/// Approvals whose rehearsals are kept; the one asked for longest ago goes first.
const KEPT: usize = 20;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RehearsalState {
    Running,
    /// What it showed.
    Done(Box<Rehearsal>),
    /// Why there is none.
    Refused(String),
}

/// The rehearsals, by approval.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rehearsals {
    known: BTreeMap<ApprovalId, RehearsalState>,
    /// The newest at the end.
    order: Vec<ApprovalId>,
}

impl Rehearsals {
    /// One is asked for; false = it runs already.
    pub fn begin(&mut self, id: ApprovalId) -> bool {
        if self.known.get(&id) == Some(&RehearsalState::Running) {
            return false;
        }
        self.order.retain(|known| *known != id);
        self.order.push(id);
        if self.order.len() > KEPT {
            let oldest = self.order.remove(0);
            self.known.remove(&oldest);
        }
        self.known.insert(id, RehearsalState::Running);
        true
    }

    /// One has ended.
    pub fn ended(&mut self, id: ApprovalId, result: &Result<Box<Outcome>, Box<Problem>>) {
        let state = match result {
            Ok(outcome) => match &**outcome {
                Outcome::RehearseCall(rehearsal) => {
                    RehearsalState::Done(Box::new(rehearsal.clone()))
                }
                _ => RehearsalState::Refused("an answer to something else".to_owned()),
            },
            Err(problem) => RehearsalState::Refused(problem_text(problem)),
        };
        self.known.insert(id, state);
    }

    /// The one of exactly this approval; none = there is none.
    pub fn of(&self, approval: &Approval) -> Option<&RehearsalState> {
        let state = self.known.get(&approval.id)?;
        let is_same = match state {
            RehearsalState::Done(rehearsal) => rehearsal.digest == approval.digest,
            RehearsalState::Running | RehearsalState::Refused(_) => true,
        };
        is_same.then_some(state)
    }
}
