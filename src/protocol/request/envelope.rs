//! A command with its sender and surface.

use crate::protocol::command::Actor;
use crate::protocol::enums::Surface;
use crate::protocol::request::commands::Command;
use crate::protocol::trace_parent::TraceParent;

/// A command with its origin.
#[derive(Debug, Clone, PartialEq)]
pub struct Envelope<C = Command> {
    /// The command.
    pub command: C,
    /// Who sends it.
    pub actor: Actor,
    /// Where it came from.
    pub surface: Surface,
    /// Key that makes a repeated request return the first result. Each actor has its own keys.
    pub idempotency_key: Option<String>,
    /// The caller's trace that the turn belongs to; none = the request named none.
    pub trace: Option<TraceParent>,
}

impl<C: Into<Command>> Envelope<C> {
    /// The envelope with the command in its wire form.
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
