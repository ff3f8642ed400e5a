//! What channel bridges talk to, in process only.
//!
//! The order of calls is the promise: `ingest` returns after the message is durable, and only then may
//! an adapter acknowledge it to the platform; `begin_send` returns after the intent is durable, and only
//! then may it send.

use std::collections::HashMap;

use async_trait::async_trait;

use crate::protocol::bridge::{AccountState, Delivery, Inbound, Ingested, Outbound, SendOutcome};
use crate::protocol::channel::{ChannelCapabilities, ChannelHealth};
use crate::protocol::ids::OutboxId;
use crate::protocol::problem::Problem;

/// The engine as a bridge sees it. One port per configured channel.
#[async_trait]
pub trait ChannelPort: Send + Sync {
    /// Name of the channel this port belongs to.
    fn channel(&self) -> &str;

    /// Tells the engine how to split text and what the platform can do. Before anything else.
    fn set_capabilities(&self, capabilities: ChannelCapabilities);

    /// The durable state to start from.
    async fn account_state(&self) -> Result<AccountState, Problem>;

    /// Stores an inbound item (and the cursor) durably, then routes it.
    async fn ingest(&self, inbound: Inbound) -> Result<Ingested, Problem>;

    /// Waits for the next part that may be sent now. Cancel-safe.
    async fn next_outbox(&self) -> Result<Outbound, Problem>;

    /// Records durably that the part is about to be handed to the platform. An error means: do not send.
    async fn begin_send(&self, id: OutboxId) -> Result<(), Problem>;

    /// Records how the send ended.
    async fn end_send(&self, id: OutboxId, outcome: SendOutcome) -> Result<(), Problem>;

    /// Waits for a part whose send nobody knows the end of and that the platform can be asked about, beside those
    /// asked already: part and number of its last send. Cancel-safe. The supervisor asks, once the bridge is connected.
    async fn next_look_up(&self, _asked: &HashMap<OutboxId, u32>) -> Result<Outbound, Problem> {
        std::future::pending().await
    }

    /// Records what a look at the platform said about send number `attempt` of a part.
    async fn end_look_up(
        &self,
        _id: OutboxId,
        _attempt: u32,
        _delivery: Delivery,
    ) -> Result<(), Problem> {
        Ok(())
    }

    /// Reports health after exchanges. `account` is the platform's name of the bot, once known.
    fn report_health(&self, health: ChannelHealth, account: Option<String>);

    /// Resolves when a typing indicator should be shown in a conversation, with that conversation's key.
    /// Cancel-safe. Decorative: may be missed.
    async fn next_typing(&self) -> String;

    /// Resolves when an operator paused (`true`) or resumed (`false`) the channel. Cancel-safe.
    async fn pause_changed(&self) -> bool;
}
