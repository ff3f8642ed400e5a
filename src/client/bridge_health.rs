//! How a channel is, across the runs of its bridge.
//!
//! A bridge that starts anew knows nothing of the exchanges before; here they are kept, so a reconnect never makes the
//! last exchange look younger or older than it was.

use std::sync::{Mutex, PoisonError};

use tokio::sync::watch;

use crate::protocol::channel::ChannelHealth;
use crate::protocol::enums::ChannelState;

/// Who hears of every change: health, and the platform's name of the bot once known.
type Listener = Box<dyn Fn(ChannelHealth, Option<String>) + Send + Sync>;

/// What is known about a channel.
#[derive(Debug, Clone)]
struct HealthRecord {
    health: ChannelHealth,
    account: Option<String>,
    /// The bridge reported a good connection in this run.
    well: bool,
    /// The bridge's own reports change the state.
    accepting: bool,
}

/// The health of one channel: bridges report to it, the supervisor announces runs, one listener hears of all.
pub struct BridgeHealth {
    known: Mutex<HealthRecord>,
    connected: watch::Sender<bool>,
    listener: Listener,
}

impl BridgeHealth {
    /// Nothing is known yet.
    pub fn new(listener: impl Fn(ChannelHealth, Option<String>) + Send + Sync + 'static) -> Self {
        Self {
            connected: watch::Sender::new(false),
            listener: Box::new(listener),
            known: Mutex::new(HealthRecord {
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
                accepting: true,
            }),
        }
    }

    fn change<T>(&self, change: impl FnOnce(&mut HealthRecord) -> T) -> T {
        change(&mut self.known.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn tell(&self, known: HealthRecord) {
        (self.listener)(known.health, known.account);
    }

    /// The bridge reports how it is after an exchange. `account` is the platform's name of the bot, once known.
    pub fn report(&self, health: ChannelHealth, account: Option<String>) {
        let known = self.change(|known| {
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
            known.clone()
        });
        self.tell(known);
    }

    /// The supervisor says how the channel is (starting, degraded between runs, failed, paused).
    /// What an earlier run's bridge still reports afterwards no longer changes the state.
    pub fn announce(&self, state: ChannelState, detail: Option<String>) {
        let known = self.change(|known| {
            known.health.state = state;
            known.health.detail = detail;
            known.accepting = false;
            known.clone()
        });
        self.tell(known);
    }

    /// A run begins: from here on the bridge's own reports count. `again` = not the first run.
    pub fn begin_run(&self, again: bool) {
        self.change(|known| {
            known.well = false;
            self.connected.send_replace(false);
            known.accepting = true;
            if again {
                known.health.reconnects = known.health.reconnects.saturating_add(1);
            }
        });
    }

    /// Waits until the bridge reported a good connection since [`BridgeHealth::begin_run`]. Cancel-safe.
    pub async fn connected(&self) {
        let mut connected = self.connected.subscribe();
        if connected.wait_for(|connected| *connected).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Whether the bridge reported a good connection since [`BridgeHealth::begin_run`].
    pub fn was_well(&self) -> bool {
        self.change(|known| known.well)
    }
}
