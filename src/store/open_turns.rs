//! When the message of each open turn came, and on which channel: the end of a turn does not say it.

use std::collections::HashMap;

use crate::clock::Timestamp;
use crate::protocol::event::{Event, EventBody};
use crate::protocol::ids::ContinuationId;

/// What is remembered of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenTurn {
    /// Channel of its message.
    pub channel: String,
    /// When that came.
    pub since: Timestamp,
}

/// The turns whose messages came in this process.
#[derive(Debug, Default)]
pub struct OpenTurns(HashMap<ContinuationId, OpenTurn>);

impl OpenTurns {
    /// Takes an event in. Gives the turn that it ends or interrupts; none of a turn that began before this process.
    pub fn note(&mut self, event: &Event) -> Option<OpenTurn> {
        let id = event.continuation_id?;
        match &event.body {
            EventBody::MessageReceived { channel, .. } => {
                let turn = OpenTurn {
                    channel: channel.clone(),
                    since: event.at,
                };
                self.0.insert(id, turn);
                None
            }
            // It can go on; its time counts from its message all the same.
            EventBody::ContinuationInterrupted { .. } => self.0.get(&id).cloned(),
            EventBody::ContinuationCompleted { .. }
            | EventBody::ContinuationFailed { .. }
            | EventBody::ContinuationCancelled { .. }
            | EventBody::ContinuationExpired { .. } => self.0.remove(&id),
            _ => None,
        }
    }
}
