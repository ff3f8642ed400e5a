//! The release dialog: which conversations waited, and what happens to each.

use crate::clock::Timestamp;
use crate::console::world::{World, session_name};
use crate::protocol::command::Waiting;
use crate::protocol::enums::ContinuationState;
use crate::protocol::ids::SessionId;
use crate::protocol::request::{Command, ReleaseEmergencyStop};
use crate::protocol::uncertain::{ConversationChoice, RELEASE_ASKS_AFTER_MS};

/// A conversation in which something waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    pub session_id: SessionId,
    /// Channel and title: outside text.
    pub name: String,
    /// Turns that wait.
    pub count: usize,
    /// When the oldest of them was accepted.
    pub oldest: Timestamp,
    /// What was chosen for it; none = as for every conversation.
    pub own: Option<Waiting>,
}

/// What Enter does at a place of the dialog.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReleaseChoice {
    Cancel,
    /// Changes the choice for every conversation.
    Everywhere,
    /// Changes the choice of one.
    Row(usize),
    Release,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Release {
    /// Whether a quarantine is lifted.
    pub quarantine: bool,
    /// Since when everything is held.
    pub since: Timestamp,
    /// What waits, oldest first; empty where nothing has to be asked.
    pub rows: Vec<Row>,
    /// What happens where nothing else was chosen.
    pub everywhere: Waiting,
    /// Which place has the focus.
    pub chosen: usize,
}

impl Release {
    /// The dialog for the engine as it stands; none = nothing holds it.
    pub fn open(world: &World, now: Timestamp) -> Option<Self> {
        let engine = world.engine.as_ref()?;
        let since = engine.held_since?;
        let mut rows: Vec<Row> = Vec::new();
        for turn in world.continuations.values() {
            match turn.state {
                ContinuationState::Pending | ContinuationState::Interrupted => {}
                ContinuationState::Running
                | ContinuationState::Streaming
                | ContinuationState::AwaitingApproval
                | ContinuationState::Completed
                | ContinuationState::Failed
                | ContinuationState::Cancelled
                | ContinuationState::Expired => continue,
            }
            if let Some(row) = rows
                .iter_mut()
                .find(|row| row.session_id == turn.session_id)
            {
                row.count += 1;
                row.oldest = row.oldest.min(turn.created_at);
                continue;
            }
            let title = world.sessions.get(&turn.session_id).map(session_name);
            rows.push(Row {
                session_id: turn.session_id,
                name: format!("{} / {}", turn.channel, title.unwrap_or_default()),
                count: 1,
                oldest: turn.created_at,
                own: None,
            });
        }
        rows.sort_unstable_by_key(|row| (row.oldest, row.session_id));
        let old = |then: Timestamp| now.millis_since(then) >= RELEASE_ASKS_AFTER_MS;
        let asks = engine.quarantine || old(since) || rows.iter().any(|row| old(row.oldest));
        if !asks {
            rows.clear();
        }
        let everywhere = if rows.is_empty() {
            Waiting::All
        } else {
            Waiting::Newest
        };
        Some(Self {
            quarantine: engine.quarantine,
            since,
            rows,
            everywhere,
            chosen: 0,
        })
    }

    /// Whether it asks what happens to what waited.
    pub fn asks(&self) -> bool {
        !self.rows.is_empty()
    }

    /// How many places there are.
    pub fn places(&self) -> usize {
        if self.asks() { self.rows.len() + 3 } else { 2 }
    }

    /// The place at an index.
    pub fn place(&self, index: usize) -> ReleaseChoice {
        match index {
            0 => ReleaseChoice::Cancel,
            last if last + 1 >= self.places() => ReleaseChoice::Release,
            1 => ReleaseChoice::Everywhere,
            other => ReleaseChoice::Row(other - 2),
        }
    }

    /// Changes the choice that has the focus, when one has.
    pub fn turn(&mut self) {
        match self.place(self.chosen) {
            ReleaseChoice::Everywhere => self.everywhere = next(self.everywhere),
            ReleaseChoice::Row(index) => {
                let everywhere = self.everywhere;
                if let Some(row) = self.rows.get_mut(index) {
                    let chosen = next(row.own.unwrap_or(everywhere));
                    row.own = (chosen != everywhere).then_some(chosen);
                }
            }
            ReleaseChoice::Cancel | ReleaseChoice::Release => {}
        }
    }

    pub fn command(&self) -> Command {
        Command::ReleaseEmergencyStop(ReleaseEmergencyStop {
            waiting: self.everywhere,
            conversations: self
                .rows
                .iter()
                .filter_map(|row| {
                    row.own
                        .filter(|own| *own != self.everywhere)
                        .map(|waiting| ConversationChoice {
                            session_id: row.session_id,
                            waiting,
                        })
                })
                .collect(),
        })
    }
}

const fn next(waiting: Waiting) -> Waiting {
    match waiting {
        Waiting::Newest => Waiting::All,
        Waiting::All => Waiting::Drop,
        Waiting::Drop => Waiting::Newest,
    }
}
