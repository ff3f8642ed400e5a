//! Changes title, model or pause of a session.

use crate::protocol::ids::SessionId;
use crate::store::input::ActorRef;

/// Changes a session that is active. Durable. Absent fields stay.
#[derive(Debug, Clone)]
pub struct UpdateSession {
    /// Which one.
    pub session_id: SessionId,
    /// New title.
    pub title: Option<String>,
    /// New model.
    pub model: Option<String>,
    /// Whether new continuations are held back.
    pub paused: Option<bool>,
    /// Who.
    pub by: ActorRef,
}
