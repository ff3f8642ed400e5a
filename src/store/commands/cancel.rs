//! Ends a continuation on a person's word.

use crate::protocol::ids::{ContinuationId, ToolCallId};
use crate::protocol::words::ContinuationState;
use crate::store::input::{ActorRef, NewNotice};

/// Cancels a continuation that is not terminal. Durable.
#[derive(Debug, Clone)]
pub struct Cancel {
    /// Which one.
    pub continuation_id: ContinuationId,
    /// Who.
    pub by: ActorRef,
    /// Why.
    pub reason: Option<String>,
    /// Words to the chat.
    pub notices: Vec<NewNotice>,
}

/// What a cancel found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cancelled {
    /// State before.
    pub was: ContinuationState,
    /// Calls in flight, to be killed; `FinishTool` still settles them.
    pub started_calls: Vec<ToolCallId>,
}
