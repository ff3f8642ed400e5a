//! What goes from the engine to a platform, and the loops that carry it.
//!
//! Nothing here knows a platform, and nothing here decides.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

use crate::channels::http::CallError;
use crate::channels::outbound::{self, Outbox};
use crate::channels::{files, progress};
use crate::client::channel_port::ChannelPort;
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

/// Sends, types, shows progress and fetches files until `stop`, then finishes what was begun.
pub async fn serve(
    port: Arc<dyn ChannelPort>,
    platform: Arc<dyn Platform>,
    stop: CancellationToken,
) {
    let outbox = Arc::new(Outbox {
        port: Arc::clone(&port),
        platform: Arc::clone(&platform),
    });
    tokio::join!(
        outbound::run(outbox, stop.clone()),
        type_until(port.as_ref(), platform.as_ref(), &stop),
        progress::run(Arc::clone(&port), Arc::clone(&platform), stop.clone()),
        files::run(Arc::clone(&port), Arc::clone(&platform), stop.clone()),
    );
}

async fn type_until(port: &dyn ChannelPort, platform: &dyn Platform, stop: &CancellationToken) {
    let typing = async {
        loop {
            let conversation = port.next_typing().await;
            platform.typing(&conversation).await;
        }
    };
    tokio::select! {
        biased;
        () = stop.cancelled() => {}
        () = typing => {}
    }
}
