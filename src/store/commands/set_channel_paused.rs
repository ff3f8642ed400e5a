//! Pauses or resumes a channel.

use crate::store::input::ActorRef;

/// Pauses or resumes a channel. Durable.
#[derive(Debug, Clone)]
pub struct SetChannelPaused {
    /// Channel name.
    pub channel: String,
    /// Whether it is paused.
    pub paused: bool,
    /// Who.
    pub by: ActorRef,
}
