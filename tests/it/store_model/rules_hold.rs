//! Rules of conversations that people hold in place of the agent.

use leverframe::protocol::enums::{ApprovalState, ContinuationState, OutboxClass, SessionState};

use crate::store_model::model::{Model, No, Outcome, Part, Ruled, plain_part};
use crate::store_model::step::{Item, Shown};

/// What somebody who writes comes from, as an item.
pub(crate) fn item(channel: usize, chat: u8) -> Item {
    Item {
        channel,
        principal: "console",
        key: None,
        body: 0,
        chat,
        cursor: false,
    }
}

impl Model {
    /// Who holds the conversation of a session.
    pub(crate) fn holder(&self, session: usize) -> Option<u8> {
        let row = &self.sessions[session];
        self.holds
            .iter()
            .find(|(channel, chat, _)| (*channel, *chat) == (row.channel, row.chat))
            .map(|(_, _, person)| *person)
    }

    pub(crate) fn take_over(&mut self, session: usize, person: u8, force: bool) -> Ruled<Outcome> {
        let row = &self.sessions[session];
        let (channel, chat) = (row.channel, row.chat);
        if row.temporary || row.state != SessionState::Active {
            return Err(No::Illegal);
        }
        if self.holder(session).is_some_and(|by| by != person) && !force {
            return Err(No::Illegal);
        }
        self.holds
            .retain(|(of, at, _)| (*of, *at) != (channel, chat));
        self.holds.push((channel, chat, person));
        self.audit.push("session.taken_over");
        Ok(Outcome::Claimed(self.turns.iter().position(|turn| {
            turn.session == session && turn.state == ContinuationState::Running
        })))
    }

    pub(crate) fn say(&mut self, session: usize, person: u8, right_hold: bool) -> Ruled<Outcome> {
        if self.holder(session) != Some(person) || !right_hold {
            return Err(No::Illegal);
        }
        let (channel, chat) = (self.sessions[session].channel, self.sessions[session].chat);
        let open = self.session_of(channel, chat);
        let mut waiting: Vec<usize> = (0..self.turns.len())
            .filter(|turn| {
                let row = &self.turns[*turn];
                row.session == open && row.state == ContinuationState::Pending
            })
            .collect();
        let broken =
            |model: &Self, turn: usize| model.unanswered(turn) || model.waiting_gates(turn) > 0;
        for turn in waiting.clone() {
            if broken(self, turn) {
                self.cancel(turn, false)?;
                waiting.retain(|other| *other != turn);
            }
        }
        if waiting.is_empty() {
            self.queue_turn(&item(channel, chat), open, None);
            waiting.push(self.turns.len() - 1);
        }
        for turn in &waiting {
            self.move_turn(*turn, ContinuationState::Running)?;
            self.turns[*turn].epoch = self.epoch;
            self.turns[*turn].attempt += 1;
            self.push_step(*turn, "operator_note")?;
            self.push_step(*turn, "final")?;
            self.move_turn(*turn, ContinuationState::Completed)?;
        }
        let last = waiting.last().copied();
        let new = plain_part(channel, format!("chat-{chat}"), OutboxClass::Final);
        self.queue(Part { turn: last, ..new });
        self.audit.push("session.spoken");
        Ok(Outcome::Turns(last.into_iter().collect()))
    }

    pub(crate) fn give_back(&mut self, session: usize, person: u8, force: bool) -> Ruled<Outcome> {
        let Some(by) = self.holder(session) else {
            return Err(No::Illegal);
        };
        if by != person && !force {
            return Err(No::Illegal);
        }
        let (channel, chat) = (self.sessions[session].channel, self.sessions[session].chat);
        self.holds
            .retain(|(of, at, _)| (*of, *at) != (channel, chat));
        self.audit.push("session.given_back");
        Ok(Outcome::Done)
    }

    pub(crate) fn assign(
        &mut self,
        gate: usize,
        shown: Shown,
        to: Option<u8>,
        person: u8,
    ) -> Outcome {
        let row = &mut self.gates[gate];
        if row.state != ApprovalState::Pending {
            return match row.decision {
                Some((word, _)) => Outcome::Lost(word),
                None if row.state == ApprovalState::Expired => Outcome::TooLate,
                None => Outcome::NotPending(row.state),
            };
        }
        if matches!(shown, Shown::WrongDigest | Shown::WrongRevision) {
            return Outcome::Stale;
        }
        if row.expires.is_some_and(|at| at <= self.now) {
            return Outcome::TooLate;
        }
        let waits = to.map(|to| (to, person));
        if row.waits == waits {
            return Outcome::Same;
        }
        row.waits = waits;
        self.audit.push("approval.assigned");
        Outcome::Decided
    }
}
