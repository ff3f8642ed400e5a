//! What a daemon says to the console.

use std::sync::Arc;

use crate::protocol::enums::Scope;
use crate::protocol::event::Event;
use crate::protocol::problem::Problem;
use crate::protocol::request::{Answer, Command, Outcome, Query};
use crate::protocol::snapshot::Snapshot;

/// One thing that a daemon, or the connection to it, says.
#[derive(Debug, Clone)]
pub enum DaemonMessage {
    /// The connection stands and this is the state it starts from.
    Snapshot(Box<Snapshot>),
    /// Something happened in the engine.
    Event(Arc<Event>),
    /// The connection is gone; it is being made again.
    Disconnected { why: String },
    /// What answers at the daemon's place is not taken for it; no connection is made until somebody asks for one.
    Refused { why: String },
    /// A command was carried out or refused.
    Submitted {
        command: Box<Command>,
        result: Result<Box<Outcome>, Box<Problem>>,
    },
    Answered {
        query: Box<Query>,
        result: Result<Box<Answer>, Box<Problem>>,
    },
    /// What the credential may do; none = everything.
    Scopes(Option<Vec<Scope>>),
}
