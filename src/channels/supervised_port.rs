//! The port as a supervised bridge sees it: the same port, with health that spans reconnects.
//!
//! A bridge that starts anew knows nothing of the exchanges before; here they are kept, so a
//! reconnect never makes the last exchange look younger or older than it was.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use tokio::sync::watch;

use crate::client::channel_port::ChannelPort;
use crate::protocol::bridge::{AccountState, Delivery, Inbound, Ingested, Outbound, SendOutcome};
use crate::protocol::channel::{ChannelCapabilities, ChannelHealth};
use crate::protocol::ids::OutboxId;
use crate::protocol::problem::Problem;
use crate::protocol::words::ChannelState;

/// What is known about a channel across the runs of its bridge.
#[derive(Debug, Clone)]
struct Known {
    health: ChannelHealth,
    account: Option<String>,
    well: bool,
    accepting: bool,
}

/// A port that remembers health across reconnects. Everything but health goes straight through.
pub struct SupervisedPort {
    inner: Arc<dyn ChannelPort>,
    known: Mutex<Known>,
    connected: watch::Sender<bool>,
}

impl SupervisedPort {
    /// Wraps a port; nothing is known yet.
    pub fn new(inner: Arc<dyn ChannelPort>) -> Self {
        Self {
            inner,
            connected: watch::Sender::new(false),
            known: Mutex::new(Known {
                health: ChannelHealth {
                    state: ChannelState::Starting,
                    detail: None,
                    last_exchange_at: None,
                    last_inbound_at: None,
                    last_outbound_at: None,
                    reconnects: 0,
                    rate_limited_until: None,
                },
                account: None,
                well: false,
                accepting: false,
            }),
        }
    }

    /// Reports a state of the supervisor's own (starting, degraded between runs, failed, paused).
    /// What an earlier run's bridge still reports afterwards no longer changes the state.
    pub fn announce(&self, state: ChannelState, detail: Option<String>) {
        let (health, account) = {
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            known.health.state = state;
            known.health.detail = detail;
            known.accepting = false;
            (known.health.clone(), known.account.clone())
        };
        self.inner.report_health(health, account);
    }

    /// Begins a run: from here on the bridge's own reports count. `again` = not the first run.
    pub fn begin_run(&self, again: bool) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.well = false;
        self.connected.send_replace(false);
        known.accepting = true;
        if again {
            known.health.reconnects = known.health.reconnects.saturating_add(1);
        }
    }

    /// Waits until the bridge reported a good connection since [`SupervisedPort::begin_run`]. Cancel-safe.
    pub async fn connected(&self) {
        let mut connected = self.connected.subscribe();
        if connected.wait_for(|connected| *connected).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Whether the bridge reported a good connection since [`SupervisedPort::begin_run`].
    pub fn was_well(&self) -> bool {
        self.known
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .well
    }
}

#[async_trait]
impl ChannelPort for SupervisedPort {
    fn channel(&self) -> &str {
        self.inner.channel()
    }

    fn set_capabilities(&self, capabilities: ChannelCapabilities) {
        self.inner.set_capabilities(capabilities);
    }

    async fn account_state(&self) -> Result<AccountState, Problem> {
        self.inner.account_state().await
    }

    async fn ingest(&self, inbound: Inbound) -> Result<Ingested, Problem> {
        self.inner.ingest(inbound).await
    }

    async fn next_outbox(&self) -> Result<Outbound, Problem> {
        self.inner.next_outbox().await
    }

    async fn begin_send(&self, id: OutboxId) -> Result<(), Problem> {
        self.inner.begin_send(id).await
    }

    async fn end_send(&self, id: OutboxId, outcome: SendOutcome) -> Result<(), Problem> {
        self.inner.end_send(id, outcome).await
    }

    async fn next_look_up(&self, asked: &HashMap<OutboxId, u32>) -> Result<Outbound, Problem> {
        self.inner.next_look_up(asked).await
    }

    async fn end_look_up(
        &self,
        id: OutboxId,
        attempt: u32,
        delivery: Delivery,
    ) -> Result<(), Problem> {
        self.inner.end_look_up(id, attempt, delivery).await
    }

    fn report_health(&self, health: ChannelHealth, account: Option<String>) {
        let (merged, account) = {
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            if health.state == ChannelState::Connected {
                known.well = true;
                self.connected
                    .send_if_modified(|connected| !std::mem::replace(connected, true));
            }
            if known.accepting {
                known.health.state = health.state;
                known.health.detail = health.detail;
            }
            let kept = &mut known.health;
            kept.last_exchange_at = kept.last_exchange_at.max(health.last_exchange_at);
            kept.last_inbound_at = kept.last_inbound_at.max(health.last_inbound_at);
            kept.last_outbound_at = kept.last_outbound_at.max(health.last_outbound_at);
            kept.rate_limited_until = health.rate_limited_until;
            if account.is_some() {
                known.account = account;
            }
            (known.health.clone(), known.account.clone())
        };
        self.inner.report_health(merged, account);
    }

    async fn next_typing(&self) -> String {
        self.inner.next_typing().await
    }

    async fn pause_changed(&self) -> bool {
        self.inner.pause_changed().await
    }
}
