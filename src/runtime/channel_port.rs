//! The engine as a bridge sees it.

use std::collections::HashMap;

use async_trait::async_trait;
use tokio::sync::Mutex;
use tokio::sync::broadcast::{self, error::RecvError};

use crate::client::channel_port::ChannelPort;
use crate::engine::core::Engine;
use crate::engine::outbound::platform_conversation;
use crate::engine::problem::from_store;
use crate::protocol::bridge::{AccountState, Delivery, Inbound, Ingested, Outbound, SendOutcome};
use crate::protocol::channel::{ChannelCapabilities, ChannelHealth};
use crate::protocol::ids::OutboxId;
use crate::protocol::problem::Problem;

/// The port of one channel.
pub struct EnginePort {
    engine: Engine,
    channel: String,
    typing: Mutex<broadcast::Receiver<(String, String)>>,
    pauses: Mutex<broadcast::Receiver<(String, bool)>>,
}

impl EnginePort {
    /// The port of a channel.
    pub fn new(engine: Engine, channel: String) -> Self {
        let typing = Mutex::new(engine.typing.subscribe());
        let pauses = Mutex::new(engine.pauses.subscribe());
        Self {
            engine,
            channel,
            typing,
            pauses,
        }
    }
}

#[async_trait]
impl ChannelPort for EnginePort {
    fn channel(&self) -> &str {
        &self.channel
    }

    fn set_capabilities(&self, capabilities: ChannelCapabilities) {
        self.engine.set_capabilities(&self.channel, capabilities);
    }

    async fn account_state(&self) -> Result<AccountState, Problem> {
        let channel = self.channel.clone();
        let (cursor, paused) = self
            .engine
            .store
            .read(move |reader| reader.account(&channel))
            .await
            .map_err(from_store)?;
        Ok(AccountState { cursor, paused })
    }

    async fn ingest(&self, inbound: Inbound) -> Result<Ingested, Problem> {
        self.engine.ingest(&self.channel, inbound).await
    }

    async fn next_outbox(&self) -> Result<Outbound, Problem> {
        self.engine.next_outbox(&self.channel).await
    }

    async fn begin_send(&self, id: OutboxId) -> Result<(), Problem> {
        self.engine.begin_send(&self.channel, id).await
    }

    async fn end_send(&self, id: OutboxId, outcome: SendOutcome) -> Result<(), Problem> {
        self.engine.end_send(id, outcome).await
    }

    async fn next_look_up(&self, asked: &HashMap<OutboxId, u32>) -> Result<Outbound, Problem> {
        self.engine.next_look_up(&self.channel, asked).await
    }

    async fn end_look_up(
        &self,
        id: OutboxId,
        attempt: u32,
        delivery: Delivery,
    ) -> Result<(), Problem> {
        self.engine.end_look_up(id, attempt, delivery).await
    }

    fn report_health(&self, health: ChannelHealth, account: Option<String>) {
        self.engine.report_health(&self.channel, health, account);
    }

    async fn next_typing(&self) -> String {
        let mut typing = self.typing.lock().await;
        loop {
            match typing.recv().await {
                Ok((channel, conversation)) if channel == self.channel => {
                    return platform_conversation(&conversation).to_owned();
                }
                Ok(_) | Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => std::future::pending::<()>().await,
            }
        }
    }

    async fn pause_changed(&self) -> bool {
        let mut pauses = self.pauses.lock().await;
        loop {
            match pauses.recv().await {
                Ok((channel, paused)) if channel == self.channel => return paused,
                Ok(_) => {}
                // A missed change is read from where it is stored.
                Err(RecvError::Lagged(_)) => {
                    if let Ok(state) = self.account_state().await {
                        return state.paused;
                    }
                }
                Err(RecvError::Closed) => std::future::pending::<()>().await,
            }
        }
    }
}
