//! Cancels what waited while the engine was held.

use crate::store::input::ActorRef;

/// Cancels pending and interrupted continuations. Durable; answers which.
#[derive(Debug, Clone)]
pub struct DropWaiting {
    /// Keep the newest of each session.
    pub keep_newest: bool,
    /// Who.
    pub by: ActorRef,
    /// Sent to each conversation concerned.
    pub notice: String,
}
