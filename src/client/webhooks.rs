//! Requests that platforms and other systems send to a channel, on their way from the listener to its bridge.
//!
//! Nothing here looks at a request: whether it is genuine is for the bridge to say.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

/// Path of the requests for a channel, before its name.
pub const WEBHOOK_PATH: &str = "/webhooks/";
/// Longest body, in bytes.
pub const WEBHOOK_BODY_LIMIT: usize = 4 * 1024 * 1024;
/// Requests of one channel that can wait for its bridge.
const WAITING: usize = 64;

/// A request, as it came.
#[derive(Debug)]
pub struct WebhookRequest {
    /// Headers by their name in small letters; of several with one name, the last.
    pub headers: BTreeMap<String, String>,
    /// The body, whole.
    pub body: Vec<u8>,
    /// How long the caller waits for what becomes of it.
    pub wait: Option<Duration>,
    /// Where the answer goes. Dropping it tells the caller to try again.
    pub answer: oneshot::Sender<WebhookAnswer>,
}

/// What the caller gets.
#[derive(Debug, Clone, PartialEq)]
pub struct WebhookAnswer {
    /// HTTP status.
    pub status: u16,
    /// When it may try again.
    pub retry_after: Option<Duration>,
    /// JSON body.
    pub body: Value,
}

/// Why a request reached no bridge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WebhookRefusal {
    /// No bridge listens under that name.
    #[error("no channel takes requests under this name now")]
    NotListening,
    /// Too many requests wait.
    #[error("too many requests wait")]
    Busy,
}

/// Which bridges take requests.
#[derive(Debug, Clone, Default)]
pub struct Webhooks {
    open: Arc<Mutex<HashMap<String, mpsc::Sender<WebhookRequest>>>>,
}

impl Webhooks {
    /// Takes the requests of a channel from now on, until what is returned is dropped.
    pub fn open(&self, channel: &str) -> mpsc::Receiver<WebhookRequest> {
        let (sender, receiver) = mpsc::channel(WAITING);
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.insert(channel.to_owned(), sender);
        receiver
    }

    /// Hands a request to the bridge of a channel.
    ///
    /// # Errors
    /// Why no bridge has it.
    pub fn deliver(&self, channel: &str, request: WebhookRequest) -> Result<(), WebhookRefusal> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(sender) = open.get(channel) else {
            return Err(WebhookRefusal::NotListening);
        };
        match sender.try_send(request) {
            Ok(()) => Ok(()),
            Err(mpsc::error::TrySendError::Full(_)) => Err(WebhookRefusal::Busy),
            Err(mpsc::error::TrySendError::Closed(_)) => {
                open.remove(channel);
                Err(WebhookRefusal::NotListening)
            }
        }
    }
}
