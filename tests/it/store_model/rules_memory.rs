//! Rules of compactions: one a session, all or nothing, and money that counts for everything but the turn.

use std::collections::BTreeSet;

use leverframe::protocol::enums::{CompactionState, ContinuationState, SessionState};

use crate::store_model::model::{Compaction, Model, No, Outcome, Ruled, Try};

impl Model {
    /// The newest compaction of a session.
    pub(crate) fn compaction_of(&self, session: usize) -> Option<usize> {
        self.compactions
            .iter()
            .rposition(|row| row.session == session)
    }

    /// The same, where it is under way.
    fn running_compaction(&self, session: usize) -> Ruled<usize> {
        self.compaction_of(session)
            .filter(|at| self.compactions[*at].state == CompactionState::Running)
            .ok_or(No::Illegal)
    }

    /// Completed turns up to the newest that a compaction is for, which no summary stands for.
    pub(crate) fn to_cover(&self, compaction: usize) -> Vec<usize> {
        let Compaction {
            session, newest, ..
        } = self.compactions[compaction];
        (0..=newest)
            .filter(|turn| {
                let turn = &self.turns[*turn];
                turn.session == session
                    && turn.state == ContinuationState::Completed
                    && !turn.put_away
            })
            .collect()
    }

    fn reserve_for_session(&mut self, turn: usize, tokens: u32) -> Ruled<Outcome> {
        if self.quarantine || self.turns[turn].state != ContinuationState::Completed {
            return Err(No::Illegal);
        }
        if let Some(budget) = self.used_up(turn, u64::from(tokens), false) {
            return Ok(Outcome::Exhausted(budget));
        }
        self.tries.push(Try {
            turn,
            epoch: self.epoch,
            estimate: tokens,
            used: None,
            failed: false,
            of_turn: false,
        });
        Ok(Outcome::Done)
    }

    /// What is left of each session: its newest, what is under way, and the newest that ended well.
    pub(crate) fn sweep_compactions(&mut self) {
        let mut left = Vec::new();
        let (mut seen, mut summarised) = (BTreeSet::new(), BTreeSet::new());
        for row in std::mem::take(&mut self.compactions).into_iter().rev() {
            let newest = seen.insert(row.session);
            let wrote = row.state == CompactionState::Done && summarised.insert(row.session);
            if newest || wrote || row.state == CompactionState::Running {
                left.push(row);
            }
        }
        left.reverse();
        self.compactions = left;
    }

    pub(crate) fn begin_compaction(&mut self, turn: usize, tokens: u32) -> Ruled<Outcome> {
        let session = self.turns[turn].session;
        if self.sessions[session].state != SessionState::Active
            || self.running_compaction(session).is_ok()
        {
            return Err(No::Illegal);
        }
        let outcome = self.reserve_for_session(turn, tokens)?;
        if outcome == Outcome::Done {
            self.compactions.push(Compaction {
                session,
                state: CompactionState::Running,
                epoch: self.epoch,
                newest: turn,
                attempt: self.tries.len() - 1,
            });
        }
        Ok(outcome)
    }

    pub(crate) fn commit_compaction(&mut self, session: usize, tokens: u32) -> Ruled<Outcome> {
        let at = self.running_compaction(session)?;
        let covers = self.to_cover(at);
        let last = *covers.last().ok_or(No::Illegal)?;
        let open = self.turns[..=last]
            .iter()
            .any(|turn| turn.session == session && !turn.state.is_terminal());
        if open || self.sessions[session].state != SessionState::Active {
            return Err(No::Illegal);
        }
        self.settle_try(self.compactions[at].attempt, tokens, false)?;
        for turn in covers {
            self.turns[turn].put_away = true;
        }
        self.sessions[session].summary += 1;
        self.compactions[at].state = CompactionState::Done;
        Ok(Outcome::Done)
    }

    pub(crate) fn fail_compaction(&mut self, session: usize, tokens: u32) -> Ruled<Outcome> {
        let at = self.compaction_of(session).ok_or(No::Illegal)?;
        let attempt = self.compactions[at].attempt;
        if self.tries[attempt].used.is_none() {
            self.settle_try(attempt, tokens, true)?;
        }
        // One that ended already stays as it ended.
        if self.compactions[at].state == CompactionState::Running {
            self.compactions[at].state = CompactionState::Failed;
        }
        Ok(Outcome::Done)
    }

    pub(crate) fn retry_compaction(&mut self, session: usize, tokens: u32) -> Ruled<Outcome> {
        let at = self.running_compaction(session)?;
        self.settle_try(self.compactions[at].attempt, tokens, true)?;
        let outcome = self.reserve_for_session(self.compactions[at].newest, tokens)?;
        if outcome == Outcome::Done {
            self.compactions[at].attempt = self.tries.len() - 1;
        }
        Ok(outcome)
    }
}
