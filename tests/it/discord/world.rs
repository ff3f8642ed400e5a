//! A bridge between the fake and a port in memory.

use std::sync::Arc;
use std::time::Duration;

use leverframe::channels::channel::Bridge as _;
use leverframe::channels::discord::bridge::{DiscordBridge, DiscordOptions};
use leverframe::channels::http::HttpTimes;
use leverframe::channels::pacing::PacingLimits;
use leverframe::channels::supervisor::{Backoff, spawn};
use leverframe::client::channel_port::ChannelPort;
use leverframe::clock::Clock;
use leverframe::config::secret::Secret;
use leverframe::protocol::bridge::{Inbound, InboundBody};
use tokio_util::sync::CancellationToken;

use crate::support::fake_discord::{FakeDiscord, TOKEN, User};
use crate::telegram::port::{Running, TestPort};

/// A channel of the server, and a direct one.
pub const CHANNEL: u64 = 1_000_000_000_000_000_001;
pub const DIRECT: u64 = 2_000_000_000_000_000_001;

pub fn ada() -> User {
    User::new(4_242, "Ada")
}

/// Fast times, no pacing.
pub fn options() -> DiscordOptions {
    DiscordOptions {
        http: HttpTimes {
            connect: Duration::from_secs(2),
            request: Duration::from_secs(2),
            ..HttpTimes::default()
        },
        interval: Duration::ZERO,
        pacing: PacingLimits {
            typing: Duration::from_secs(4),
            progress: 2,
            overall: Duration::ZERO,
            burst: 10,
        },
    }
}

pub fn start() -> FakeDiscord {
    let fake = FakeDiscord::start();
    fake.change(|state| {
        state.know_channel(CHANNEL, "general");
        state.know_direct(DIRECT);
    });
    fake
}

pub fn bridge_at(fake: &FakeDiscord, token: &str) -> DiscordBridge {
    let token = Some(Secret::new(token));
    DiscordBridge::new("dc", &fake.api_base(), token, Clock::System, options())
}

pub fn run(bridge: DiscordBridge, port: &Arc<TestPort>) -> Running {
    let stop = CancellationToken::new();
    let (port, token) = (Arc::clone(port) as Arc<dyn ChannelPort>, stop.clone());
    Running {
        stop,
        task: tokio::spawn(async move { bridge.run(port, token).await }),
    }
}

/// A fake, a port, and a bridge whose session has begun.
pub async fn connected() -> (FakeDiscord, Arc<TestPort>, Running) {
    let fake = start();
    let port = TestPort::new();
    let running = run(bridge_at(&fake, TOKEN), &port);
    port.wait_until("a session", |ledger| !ledger.inbox.is_empty())
        .await;
    (fake, port, running)
}

/// A bridge that connects again by itself, at once.
pub fn supervised(fake: &FakeDiscord, port: &Arc<TestPort>) -> CancellationToken {
    let stop = CancellationToken::new();
    let backoff = Backoff {
        floor: Duration::from_millis(20),
        ceiling: Duration::from_millis(100),
        stable_after: Duration::from_mins(1),
        stop_grace: Duration::from_secs(2),
    };
    let bridge = Box::new(bridge_at(fake, TOKEN));
    let port = Arc::clone(port) as Arc<dyn ChannelPort>;
    drop(spawn(bridge, port, backoff, stop.clone()));
    stop
}

/// What came in, but for sessions that began.
pub fn came_in(port: &TestPort) -> Vec<Inbound> {
    let mut inbox = port.ledger().inbox.clone();
    inbox.retain(|inbound| !inbound.dedupe_key.contains(":session:"));
    inbox
}

/// What was recorded of things that nobody reads.
pub fn recorded(port: &TestPort) -> Vec<String> {
    let what = |inbound: Inbound| match inbound.body {
        InboundBody::Other { what } => Some(what),
        InboundBody::Text { .. } | InboundBody::Click { .. } | InboundBody::Media { .. } => None,
    };
    came_in(port).into_iter().filter_map(what).collect()
}
