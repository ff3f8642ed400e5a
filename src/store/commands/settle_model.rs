//! Settles a model call that failed.

use crate::protocol::ids::ModelAttemptId;
use crate::protocol::session::Usage;

/// Settles a failed try. Durable. Settling twice is refused.
#[derive(Debug, Clone)]
pub struct SettleModel {
    /// The try.
    pub attempt_id: ModelAttemptId,
    /// What it really used.
    pub usage: Usage,
    /// What went wrong, redacted.
    pub error: Option<String>,
    /// Milliseconds of model and engine time.
    pub active_ms: u64,
}
