//! A command with who sends it and from where.

use crate::protocol::command::Actor;
use crate::protocol::enums::Surface;
use crate::protocol::request::commands::Command;
use crate::protocol::trace_parent::TraceParent;

/// A command with its origin.
#[derive(Debug, Clone, PartialEq)]
pub struct Envelope<C = Command> {
    /// What to do.
    pub command: C,
    /// Who asks.
    pub actor: Actor,
    /// Where it came from.
    pub surface: Surface,
    /// Makes a repeated submission return the first one's result. Scoped to the actor.
    pub idempotency_key: Option<String>,
    /// The trace of the caller that the turn is a part of, where a request named one.
    pub trace: Option<TraceParent>,
}

impl<C: Into<Command>> Envelope<C> {
    /// The same with the command as it goes over the wire.
    pub fn wire(self) -> Envelope {
        Envelope {
            command: self.command.into(),
            actor: self.actor,
            surface: self.surface,
            idempotency_key: self.idempotency_key,
            trace: self.trace,
        }
    }
}
