//! Records the emergency stop, or its release.

use crate::store::input::ActorRef;

/// Holds or releases the engine. Durable.
#[derive(Debug, Clone)]
pub struct SetHeld {
    /// The reason; none = released.
    pub held: Option<String>,
    /// Who.
    pub by: ActorRef,
    /// Whether every channel at `full` goes back to its earlier level (or supervised).
    pub drop_full: bool,
}
