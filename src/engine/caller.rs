//! Who acts.

use crate::protocol::command::Actor;
use crate::protocol::enums::Surface;
use crate::protocol::trace_parent::TraceParent;
use crate::store::input::ActorRef;

/// Who acts and from where, as commands need it.
#[derive(Debug, Clone)]
pub struct Caller {
    pub actor: Actor,
    /// Where.
    pub surface: Surface,
    /// Idempotency key, scoped to the actor.
    pub key: Option<String>,
    /// The trace of theirs that the turn is a part of.
    pub trace: Option<TraceParent>,
}

impl Caller {
    /// The engine itself.
    pub fn engine() -> Self {
        Self {
            actor: Actor::Engine,
            surface: Surface::Engine,
            key: None,
            trace: None,
        }
    }

    /// As stored with what they do.
    pub fn reference(&self) -> ActorRef {
        ActorRef {
            label: self.actor.label(),
            id: self.actor.id(),
            surface: self.surface,
        }
    }
}
