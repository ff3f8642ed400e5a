//! Records how a send ended.

use crate::clock::Timestamp;
use crate::protocol::ids::OutboxId;
use crate::store::input::NewApproval;

/// The outcome of a send. Durable.
#[derive(Debug, Clone)]
pub struct EndSend {
    /// Which part.
    pub outbox_id: OutboxId,
    /// Epoch of the caller.
    pub epoch: u64,
    /// How it ended.
    pub outcome: SendOutcome,
    /// The question to ask (kind `resend`), with `Unknown`.
    pub resend: Option<NewApproval>,
}

/// How a send ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SendOutcome {
    /// Accepted.
    Sent {
        /// Platform ids of the messages made, in order.
        refs: Vec<String>,
    },
    /// Certainly not sent; try again later.
    Retry {
        /// Earliest next try.
        not_before: Timestamp,
        /// Why, redacted.
        error: String,
    },
    /// Certainly not sent, for good.
    Failed {
        /// Why, redacted.
        error: String,
    },
    /// Nobody knows.
    Unknown {
        /// What is known, redacted.
        detail: String,
    },
}
