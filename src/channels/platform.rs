//! What goes from the engine to a platform.
//!
//! Nothing here decides.

use std::time::Duration;

use async_trait::async_trait;

use crate::channels::http::CallError;
use crate::protocol::bridge::{FileRequest, Outbound, SendOutcome};

/// What an adapter can do at its platform. What is decorative never fails: nobody misses it.
#[async_trait]
pub trait Platform: Send + Sync {
    /// Whether a call for this conversation may leave now, taking its slot; else how long to wait. A conversation that is
    /// none of the platform's is let through, to be refused by [`Platform::deliver`].
    fn may_send(&self, conversation: &str) -> Result<(), Duration>;

    /// Sends one part. The intent is durable already. The outcome is exactly what is known.
    async fn deliver(&self, part: &Outbound) -> SendOutcome;

    /// Shows the typing indicator, if it is its time. Decorative.
    async fn typing(&self, _conversation: &str) {}

    /// Whether a progress message of this conversation may change now, taking its slot. Decorative.
    fn may_show_progress(&self, _conversation: &str) -> bool {
        false
    }

    /// Shows a progress message, as an edit of one that is there; its id at the platform, if it is there then. Decorative.
    async fn show_progress(
        &self,
        _conversation: &str,
        shown: Option<&str>,
        _text: &str,
    ) -> Option<String> {
        shown.map(str::to_owned)
    }

    /// Removes a progress message. Decorative.
    async fn remove_progress(&self, _conversation: &str, _message_ref: &str) {}

    /// Fetches a file of a message.
    ///
    /// # Errors
    /// How the call ended; a file that is too large is a refusal.
    async fn fetch(&self, request: &FileRequest) -> Result<Vec<u8>, CallError>;
}
