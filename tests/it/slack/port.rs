//! A bridge running against the fake, with an engine side in memory.

use std::sync::Arc;
use std::time::Duration;

use leverframe::channels::channel::Bridge as _;
use leverframe::channels::http::HttpTimes;
use leverframe::channels::pacing::PacingLimits;
use leverframe::channels::slack::bridge::{SlackBridge, SlackOptions};
use leverframe::channels::slack::deliver::Rates;
use leverframe::channels::slack::receive::SocketTimes;
use leverframe::client::channel_port::ChannelPort;
use leverframe::clock::Clock;
use leverframe::config::secret::Secret;
use leverframe::protocol::bridge::{InboundBody, SendOutcome};
use leverframe::protocol::ids::OutboxId;
use tokio_util::sync::CancellationToken;

use crate::support::fake_slack::{APP_TOKEN, BOT_TOKEN, FakeSlack};
use crate::telegram::port::{Ledger, Running, TestPort};

/// Fast times, no pacing.
pub fn options() -> SlackOptions {
    SlackOptions {
        http: HttpTimes {
            connect: Duration::from_secs(2),
            request: Duration::from_secs(2),
            ..HttpTimes::default()
        },
        socket: SocketTimes {
            connect: Duration::from_secs(3),
            ping: Duration::from_millis(200),
            stale: Duration::from_secs(2),
        },
        catch_up: Duration::from_millis(2),
        catch_up_rest: Duration::from_millis(20),
        settle: Duration::from_millis(300),
        rates: Rates {
            channel: Duration::ZERO,
            updates: Duration::ZERO,
        },
        pacing: PacingLimits {
            typing: Duration::from_secs(4),
            progress: 2,
            overall: Duration::ZERO,
            burst: 10,
        },
    }
}

pub fn bridge_with(fake: &FakeSlack, tokens: (&str, &str), options: SlackOptions) -> SlackBridge {
    let secret = |token: &str| Some(Secret::new(token));
    SlackBridge::new(
        "team",
        &fake.api_base(),
        (secret(tokens.0), secret(tokens.1)),
        Clock::System,
        options,
    )
}

pub fn bridge(fake: &FakeSlack) -> SlackBridge {
    bridge_with(fake, (BOT_TOKEN, APP_TOKEN), options())
}

pub fn run(bridge: SlackBridge, port: &Arc<TestPort>) -> Running {
    run_shared(&Arc::new(bridge), port)
}

pub fn run_shared(bridge: &Arc<SlackBridge>, port: &Arc<TestPort>) -> Running {
    let stop = CancellationToken::new();
    let (port, token) = (Arc::clone(port) as Arc<dyn ChannelPort>, stop.clone());
    let bridge = Arc::clone(bridge);
    Running {
        stop,
        task: tokio::spawn(async move { bridge.run(port, token).await }),
    }
}

/// A fake, a port, and a bridge between them.
pub async fn connected() -> (FakeSlack, Arc<TestPort>, Running) {
    connected_with(options()).await
}

pub async fn connected_with(options: SlackOptions) -> (FakeSlack, Arc<TestPort>, Running) {
    let fake = FakeSlack::start();
    let port = TestPort::new();
    let bridge = bridge_with(&fake, (BOT_TOKEN, APP_TOKEN), options);
    let running = run(bridge, &port);
    fake.wait_until("a socket", |state| !state.sockets.is_empty())
        .await;
    (fake, port, running)
}

/// Waits until everything that was delivered is acknowledged.
pub async fn all_acknowledged(fake: &FakeSlack) {
    fake.wait_until("everything is acknowledged", |state| {
        state.waiting().is_empty()
    })
    .await;
}

/// Texts that came in, with whether they are addressed to us.
pub fn addressed(ledger: &Ledger) -> Vec<(String, bool)> {
    ledger
        .inbox
        .iter()
        .filter_map(|inbound| match &inbound.body {
            InboundBody::Text {
                text, addressed, ..
            } => Some((text.clone(), *addressed)),
            InboundBody::Click { .. } | InboundBody::Media { .. } | InboundBody::Other { .. } => {
                None
            }
        })
        .collect()
}

/// What is known of how a part ended: its word, and why.
pub async fn ended(port: &TestPort, id: OutboxId) -> (&'static str, String) {
    match port.outcome(id).await {
        SendOutcome::Sent { external_refs } => ("sent", external_refs.join(" ")),
        SendOutcome::Shortened { external_refs } => ("shortened", external_refs.join(" ")),
        SendOutcome::Retry { error, .. } => ("retry", error),
        SendOutcome::Failed { error } => ("failed", error),
        SendOutcome::Unknown { detail } => ("unknown", detail),
    }
}

/// Fails when a token shows.
pub fn no_token_in(text: &str) {
    assert!(!text.contains("MustNeverShow"), "{text}");
    assert!(!text.contains("ticket-"), "{text}");
}
