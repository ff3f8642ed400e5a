//! Who acts.

use crate::engine::people;
use crate::protocol::command::Actor;
use crate::protocol::enums::Surface;
use crate::store::input::ActorRef;

/// Who acts and from where, as commands need it.
#[derive(Debug, Clone)]
pub struct Caller {
    pub actor: Actor,
    /// Where.
    pub surface: Surface,
    /// Idempotency key, scoped to the actor.
    pub key: Option<String>,
}

impl Caller {
    /// As stored with what they do.
    pub fn reference(&self) -> ActorRef {
        ActorRef {
            label: self.actor.label(),
            id: people::actor_id(&self.actor),
            surface: self.surface,
        }
    }
}
