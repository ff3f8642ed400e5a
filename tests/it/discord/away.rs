//! The gateway is away and the REST interface is not: what is sent goes on, and what people press is lost for good.

use std::sync::Arc;
use std::time::Duration;

use leverframe::channels::supervisor::{Backoff, spawn};
use leverframe::client::channel_port::ChannelPort;
use leverframe::protocol::bridge::SendOutcome;
use leverframe::protocol::enums::ChannelState;
use tokio_util::sync::CancellationToken;

use crate::discord::world::{CHANNEL, DIRECT, ada, bridge_at, start, supervised};
use crate::support::fake_discord::{FakeDiscord, Fault, Message, Order, TOKEN};
use crate::telegram::port::TestPort;

/// A bridge that connects again so late that no test sees it.
fn patient(fake: &FakeDiscord, port: &Arc<TestPort>) -> CancellationToken {
    let stop = CancellationToken::new();
    let backoff = Backoff {
        floor: Duration::from_hours(1),
        ceiling: Duration::from_hours(1),
        stable_after: Duration::from_mins(1),
        stop_grace: Duration::from_secs(2),
    };
    let bridge = Box::new(bridge_at(fake, TOKEN));
    let port = Arc::clone(port) as Arc<dyn ChannelPort>;
    drop(spawn(bridge, port, backoff, stop.clone()));
    stop
}

/// Waits until the bridge waits for its next try.
async fn away(port: &TestPort) {
    port.wait_until("away", |ledger| {
        let health = ledger.last_health();
        let detail = health.and_then(|health| health.detail.clone());
        detail.is_some_and(|detail| detail.contains("trying again in"))
    })
    .await;
}

#[tokio::test]
async fn answers_arrive_while_the_gateway_is_away_and_health_says_that_it_is() {
    let fake = start();
    let port = TestPort::new();
    fake.change(|state| state.closes_with = Some(4_000));
    let early = port.say(&DIRECT.to_string(), "while it tries to connect");
    let stop = patient(&fake, &port);
    away(&port).await;
    port.outcome(early).await;
    let sent = port.say(&DIRECT.to_string(), "by REST");
    let outcome = port.outcome(sent).await;
    assert!(matches!(outcome, SendOutcome::Sent { .. }), "{outcome:?}");
    assert_eq!(fake.messages(DIRECT).len(), 2);
    port.wait_until("the send is known", |ledger| {
        ledger
            .last_health()
            .is_some_and(|health| health.last_outbound_at.is_some())
    })
    .await;
    let health = port.ledger().last_health().cloned().unwrap();
    assert_eq!(health.state, ChannelState::Degraded, "{health:?}");
    let states: Vec<ChannelState> = port
        .ledger()
        .health
        .iter()
        .map(|(health, _)| health.state)
        .collect();
    assert!(!states.contains(&ChannelState::Connected), "{states:?}");
    assert_eq!(fake.state().connections.len(), 1);

    // An operator's pause ends it, and the next run goes on with what waits.
    port.pause(true);
    port.wait_until("paused", |ledger| {
        let health = ledger.last_health();
        health.is_some_and(|health| health.state == ChannelState::Paused)
    })
    .await;
    let held = port.say(&DIRECT.to_string(), "held");
    fake.change(|state| state.closes_with = None);
    port.pause(false);
    port.outcome(held).await;
    fake.wait_until("a session", |state| state.identified == 1)
        .await;
    stop.cancel();
    assert_eq!(fake.messages(DIRECT).len(), 3);
    assert_eq!(fake.state().violations, Vec::<String>::new());
}

#[tokio::test]
async fn a_token_refused_while_the_gateway_is_away_fails_no_message() {
    let fake = start();
    let port = TestPort::new();
    fake.change(|state| state.closes_with = Some(4_000));
    let stop = patient(&fake, &port);
    away(&port).await;
    fake.change(|state| "other".clone_into(&mut state.token));
    let part = port.say(&DIRECT.to_string(), "not yet");
    let outcome = port.outcome(part).await;
    assert!(matches!(outcome, SendOutcome::Retry { .. }), "{outcome:?}");
    stop.cancel();
}

#[tokio::test]
async fn a_gateway_that_comes_and_goes_loses_and_doubles_no_answer() {
    let fake = start();
    fake.change(|state| (0..4).for_each(|n| state.know_channel(CHANNEL + n, "general")));
    let port = TestPort::new();
    let stop = supervised(&fake, &port);
    let mut parts = Vec::new();
    for n in 0..40_u64 {
        // Sends are under way when the one way of sending hands over to the other.
        fake.fault("send", Fault::Slow(Duration::from_millis(20)));
        parts.push(port.say(&(CHANNEL + n % 4).to_string(), &format!("answer{n}")));
        match n % 8 {
            0 => fake.change(|state| state.closes_with = Some(4_000)),
            4 => fake.change(|state| state.closes_with = None),
            _ => fake.order(Order::Drop),
        }
        port.outcome(parts[parts.len() / 2]).await;
    }
    for part in &parts {
        let outcome = port.outcome(*part).await;
        assert!(matches!(outcome, SendOutcome::Sent { .. }), "{outcome:?}");
    }
    stop.cancel();
    // Counted as calls: Discord itself would hide a second one with the same key.
    assert_eq!(fake.calls("send").len(), parts.len(), "{}", fake.story());
    for channel in 0..4 {
        let said: Vec<String> = fake
            .messages(CHANNEL + channel)
            .iter()
            .map(Message::text)
            .collect();
        let expected: Vec<String> = (0..40)
            .filter(|n| n % 4 == channel)
            .map(|n| format!("answer{n}"))
            .collect();
        assert_eq!(said, expected, "in order");
    }
}

#[tokio::test]
async fn a_bot_in_too_many_servers_stops_with_what_to_do_and_connects_once() {
    let fake = start();
    let port = TestPort::new();
    fake.change(|state| state.closes_with = Some(4_011));
    let stop = supervised(&fake, &port);
    port.wait_until("failed for good", |ledger| {
        ledger.last_health().is_some_and(|health| {
            let detail = health.detail.as_deref().unwrap_or_default();
            health.state == ChannelState::Failed
                && detail
                    .contains("more servers than one connection may serve (2500; close code 4011)")
                && detail.contains("remove the bot from some servers")
        })
    })
    .await;
    assert_eq!(fake.state().connections.len(), 1);
    // Only a person goes on from there.
    fake.change(|state| state.closes_with = None);
    port.pause(true);
    port.pause(false);
    fake.wait_until("a session", |state| state.identified == 1)
        .await;
    fake.user_says(DIRECT, &ada(), "back");
    port.wait_until("back", |ledger| ledger.texts() == ["back"])
        .await;
    assert_eq!(fake.state().connections.len(), 2);
    stop.cancel();
}
