//! Ends a continuation with an error.

use crate::protocol::ids::{ContinuationId, ModelAttemptId};
use crate::protocol::session::{ErrorBody, Usage};
use crate::store::input::NewNotice;

/// Fails a running continuation. Durable: error step; open calls cancelled, gates revoked.
#[derive(Debug, Clone)]
pub struct FailTurn {
    /// The continuation.
    pub continuation_id: ContinuationId,
    /// Epoch of the caller.
    pub epoch: u64,
    /// What ended it.
    pub error: ErrorBody,
    /// A model call to settle with it.
    pub model: Option<(ModelAttemptId, Usage)>,
    /// Words to the chat.
    pub notices: Vec<NewNotice>,
}
