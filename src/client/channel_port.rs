//! What channel bridges talk to, in process only.
//!
//! The order of calls is the promise: `ingest` returns after the message is durable, and only then may
//! an adapter acknowledge it to the platform; [`Lease::begin`] returns after the intent is durable, and only
//! then may it send.

use std::collections::HashMap;

use async_trait::async_trait;
use tokio::sync::oneshot;

use crate::client::bridge_health::BridgeHealth;
use crate::protocol::artifact::ArtifactHash;
use crate::protocol::bridge::{
    AccountState, Delivery, FetchedFile, FileRequest, Inbound, Ingestion, Invitation, Outbound,
    ProgressMessage, SendOutcome, ShownProgress,
};
use crate::protocol::channel::ChannelCapabilities;
use crate::protocol::doctor::Finding;
use crate::protocol::ids::{ContinuationId, OutboxId};
use crate::protocol::problem::Problem;

/// One part that only its holder may send. Dropping it gives the part back:
///
/// - one that was not begun is handed out again at once;
/// - one that was begun and not finished is settled as after a crash: it is sent again by itself where the platform
///   keeps keys, else nobody knows whether it arrived, and the platform or a person is asked.
#[async_trait]
pub trait Lease: Send {
    /// What is to be sent.
    fn part(&self) -> &Outbound;

    /// Records durably that the part is about to be handed to the platform. An error means: do not send.
    async fn begin(&mut self) -> Result<(), Problem>;

    /// Records how the send ended. After an error it may be called again.
    async fn finish(&mut self, outcome: SendOutcome) -> Result<(), Problem>;
}

/// Where what a bridge finds out about its account goes.
pub type CheckRequest = oneshot::Sender<Vec<Finding>>;

/// The engine as a bridge sees it. One port per configured channel.
#[async_trait]
pub trait ChannelPort: Send + Sync {
    /// Name of the channel this port belongs to.
    fn channel(&self) -> &str;

    /// Tells the engine how to split text and what the platform can do. Before anything else.
    fn set_capabilities(&self, capabilities: ChannelCapabilities);

    /// The durable state to start from.
    async fn account_state(&self) -> Result<AccountState, Problem>;

    /// What becomes of an invitation into a conversation. `direct`: it is meant for direct messages.
    async fn invitation(
        &self,
        _user: &str,
        _conversation: &str,
        _direct: bool,
    ) -> Result<Invitation, Problem> {
        Ok(Invitation::Ignore)
    }

    /// Stores an inbound item (and the cursor) durably, then routes it.
    async fn ingest(&self, inbound: Inbound) -> Result<Ingestion, Problem>;

    /// What was sent in answer to a message that came before, in order; none while more can come.
    async fn settled_answer(
        &self,
        _turn: Option<ContinuationId>,
        _message_ref: &str,
    ) -> Result<Option<Vec<Outbound>>, Problem> {
        Ok(None)
    }

    /// Waits for the next part that may be sent now. Cancel-safe.
    async fn next(&self) -> Result<Box<dyn Lease>, Problem>;

    /// Waits for a part whose send nobody knows the end of and that the platform can be asked about, beside those
    /// asked already: part and number of its last send. Cancel-safe. The supervisor asks, once the bridge is connected.
    async fn next_look_up(&self, asked: &HashMap<OutboxId, u32>) -> Result<Outbound, Problem>;

    /// Records what a look at the platform said about send number `attempt` of a part.
    async fn end_look_up(
        &self,
        id: OutboxId,
        attempt: u32,
        delivery: Delivery,
    ) -> Result<(), Problem>;

    /// Waits for a file of a message that is to be fetched. The same one is given until it was put. Cancel-safe.
    async fn next_file(&self) -> Result<FileRequest, Problem>;

    /// Stores how the fetch of a file ended. The turn of its message starts once all its files were put.
    async fn put_file(&self, id: i64, file: FetchedFile) -> Result<(), Problem>;

    /// The content of a file that is to be sent.
    async fn file_content(&self, hash: ArtifactHash) -> Result<Vec<u8>, Problem>;

    /// Where the bridge reports how it is after exchanges, and the supervisor how it is between runs.
    fn health(&self) -> &BridgeHealth;

    /// Resolves when a typing indicator should be shown in a conversation, with that conversation's key.
    /// Cancel-safe. Decorative: may be missed.
    async fn next_typing(&self) -> String;

    /// Resolves when the progress message of a turn says something else, or is to go. Only the newest text of each is
    /// given. Cancel-safe. Decorative: may be missed.
    async fn next_progress(&self) -> ProgressMessage;

    /// Records the platform's id of a turn's progress message, so that it can go after a crash; none = it went.
    async fn record_progress(
        &self,
        id: ContinuationId,
        message_ref: Option<String>,
    ) -> Result<(), Problem>;

    /// Progress messages that are recorded: an earlier process left them.
    async fn shown_progress(&self) -> Result<Vec<ShownProgress>, Problem>;

    /// Resolves when somebody asks whether the account is set up as it must be. Cancel-safe. The supervisor answers.
    async fn next_check(&self) -> CheckRequest {
        std::future::pending().await
    }

    /// Resolves when an operator paused (`true`) or resumed (`false`) the channel. Cancel-safe.
    async fn pause_changed(&self) -> bool;
}
