//! No socket can be opened, and the Web API works: what is sent goes on.

use std::sync::Arc;
use std::time::Duration;

use leverframe::channels::supervisor::{Backoff, spawn};
use leverframe::client::channel_port::ChannelPort;
use leverframe::protocol::bridge::SendOutcome;
use leverframe::protocol::channel::ChannelHealth;
use leverframe::protocol::enums::ChannelState;
use tokio_util::sync::CancellationToken;

use crate::slack::port::bridge;
use crate::support::fake_slack::{ADA_DIRECT, FakeSlack, Fault};
use crate::telegram::port::TestPort;

/// A bridge whose first socket is refused, and that tries again so late that no test sees it.
async fn away() -> (FakeSlack, Arc<TestPort>, CancellationToken) {
    let fake = FakeSlack::start();
    let port = TestPort::new();
    fake.fault("apps.connections.open", Fault::Server(503));
    let stop = CancellationToken::new();
    let backoff = Backoff {
        floor: Duration::from_hours(1),
        ceiling: Duration::from_hours(1),
        stable_after: Duration::from_mins(1),
        stop_grace: Duration::from_secs(2),
    };
    let handle = Arc::clone(&port) as Arc<dyn ChannelPort>;
    drop(spawn(
        Box::new(bridge(&fake)),
        handle,
        backoff,
        stop.clone(),
    ));
    port.wait_until("away", |ledger| {
        let health = ledger.last_health();
        let detail = health.and_then(|health| health.detail.clone());
        detail.is_some_and(|detail| detail.contains("trying again in"))
    })
    .await;
    (fake, port, stop)
}

#[tokio::test]
async fn messages_are_sent_while_no_socket_is_open() {
    let (fake, port, stop) = away().await;
    let part = port.say(ADA_DIRECT, "without a socket");
    let outcome = port.outcome(part).await;
    assert!(matches!(outcome, SendOutcome::Sent { .. }), "{outcome:?}");
    assert_eq!(fake.messages(ADA_DIRECT).len(), 1);
    assert_eq!(fake.calls("apps.connections.open").len(), 1);
    let state = port.ledger().last_health().unwrap().state;
    assert_eq!(state, ChannelState::Degraded);
    let well = |(health, _): &(ChannelHealth, _)| health.state == ChannelState::Connected;
    assert!(
        !port.ledger().health.iter().any(well),
        "it never was connected"
    );
    stop.cancel();
    assert!(fake.state().violations.is_empty(), "{}", fake.story());
}

#[tokio::test]
async fn a_token_refused_meanwhile_fails_the_channel_and_no_message() {
    let (fake, port, stop) = away().await;
    fake.change(|state| "xoxb-other".clone_into(&mut state.bot_token));
    let part = port.say(ADA_DIRECT, "not yet");
    let outcome = port.outcome(part).await;
    assert!(matches!(outcome, SendOutcome::Retry { .. }), "{outcome:?}");
    port.wait_until("failed", |ledger| {
        let health = ledger.last_health();
        health.is_some_and(|health| health.state == ChannelState::Failed)
    })
    .await;
    stop.cancel();
}
