//! Sockets: changed without a gap, given up when they are dead, and nothing is stormed.

use std::sync::Arc;
use std::time::{Duration, Instant};

use leverframe::channels::channel::ChannelError;
use leverframe::channels::supervisor::{Backoff, spawn};
use leverframe::client::channel_port::ChannelPort;
use leverframe::protocol::bridge::OutboundBody;
use leverframe::protocol::enums::{ChannelState, OutboxClass};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::slack::port::{
    all_acknowledged, bridge, bridge_with, connected, connected_with, ended, no_token_in, options,
    run,
};
use crate::support::fake_slack::socket::Order;
use crate::support::fake_slack::{
    ADA, ADA_DIRECT, APP_TOKEN, BOT_TOKEN, DEADLINE, FakeSlack, Fault, TEAM,
};
use crate::support::record;
use crate::telegram::port::{TestPort, approval, buttons};

#[tokio::test]
async fn the_next_socket_is_ready_before_the_old_one_goes_and_the_old_one_is_read_to_its_end() {
    for reason in ["warning", "refresh_requested"] {
        let (fake, port, running) = connected().await;
        let card = port.send(
            TEAM,
            OutboxClass::ApprovalCard,
            OutboundBody::Card {
                approval: Box::new(approval()),
                buttons: buttons(),
            },
        );
        port.outcome(card).await;
        let ts = fake.messages(TEAM)[0].ts.clone();
        // The next socket takes a while; what comes meanwhile comes through the old one.
        fake.fault(
            "apps.connections.open",
            Fault::Slow(Duration::from_millis(300)),
        );
        fake.disconnect(reason);
        fake.clicks(TEAM, &ts, "Deny", ADA);
        fake.says(ADA_DIRECT, ADA, "through the old one");
        port.wait_until("both", |ledger| ledger.inbox.len() == 2)
            .await;
        fake.wait_until("two sockets", |state| state.sockets.len() == 2)
            .await;
        fake.says(ADA_DIRECT, ADA, "through the new one");
        port.wait_until("all", |ledger| ledger.inbox.len() == 3)
            .await;
        all_acknowledged(&fake).await;
        // Two are ours: nobody else holds the token.
        let health = port.ledger().last_health().cloned().unwrap();
        assert_eq!(health.state, ChannelState::Connected, "{health:?}");
        running.stop().await;
        assert_eq!(fake.state().closed, [1000, 1000]);
        assert!(fake.state().violations.is_empty(), "{}", fake.story());
    }
}

#[tokio::test]
async fn a_next_socket_that_cannot_be_opened_is_tried_again_while_the_old_one_works() {
    let (fake, port, running) = connected().await;
    fake.fault("apps.connections.open", Fault::Server(503));
    fake.disconnect("warning");
    fake.says(ADA_DIRECT, ADA, "still heard");
    port.wait_until("stored", |ledger| ledger.texts() == ["still heard"])
        .await;
    fake.wait_until("the next socket", |state| state.sockets.len() == 2)
        .await;
    running.stop().await;
}

#[tokio::test]
async fn too_many_sockets_and_a_link_that_is_switched_off_are_told_apart() {
    let (fake, _port, running) = connected().await;
    fake.disconnect("too_many_websockets");
    let error = running.error().await;
    assert!(
        matches!(&error, ChannelError::Transient { retry_after: Some(rest), .. }
        if *rest >= Duration::from_secs(10)),
        "{error:?}"
    );

    let (fake, _port, running) = connected().await;
    fake.disconnect("link_disabled");
    let error = running.error().await;
    let ChannelError::Fatal { fix, .. } = &error else {
        panic!("{error:?}");
    };
    assert!(
        fix.contains("api.slack.com/apps") && fix.contains("Socket Mode"),
        "{fix}"
    );
    assert_eq!(fake.calls("apps.connections.open").len(), 1);
}

#[tokio::test]
async fn a_socket_that_is_silent_counts_as_lost_and_a_broken_one_at_once() {
    let (fake, port, running) = connected().await;
    let began = Instant::now();
    fake.freeze_sockets();
    fake.says(ADA_DIRECT, ADA, "into the void");
    let error = running.error().await;
    assert!(error.to_string().contains("silent"), "{error}");
    assert!(began.elapsed() < Duration::from_secs(10));
    // Slack sees the end of the frozen one when it writes; what it held comes again.
    fake.break_sockets();
    let running = run(bridge(&fake), &port);
    port.wait_until("stored", |ledger| ledger.texts() == ["into the void"])
        .await;
    fake.break_sockets();
    let error = running.error().await;
    assert!(matches!(error, ChannelError::Transient { .. }), "{error:?}");
    record::fault(
        "slack-socket-half-open",
        "the socket stays open and delivers nothing any more",
        "the bridge gives up after silence; unacknowledged events come again",
    );
}

#[tokio::test]
async fn a_quiet_socket_proves_itself() {
    let (fake, port, running) = connected().await;
    let first = port.ledger().last_health().unwrap().last_exchange_at;
    fake.wait_until("pings", |state| state.pings >= 3).await;
    port.wait_until("a later exchange", |ledger| {
        let health = ledger.last_health().unwrap();
        health.last_exchange_at > first && health.state == ChannelState::Connected
    })
    .await;
    assert_eq!(port.ledger().last_health().unwrap().last_inbound_at, None);
    running.stop().await;
}

#[tokio::test]
async fn others_who_hold_the_token_are_counted_and_shown() {
    let fake = FakeSlack::start();
    fake.change(|state| state.ghosts = 9);
    let port = TestPort::new();
    let running = run(bridge(&fake), &port);
    port.wait_until("the remark", |ledger| {
        let detail = ledger
            .last_health()
            .and_then(|health| health.detail.clone());
        detail.is_some_and(|detail| {
            detail.contains(
                "9 other connections hold this app token: another instance, or ghost sockets",
            )
        })
    })
    .await;
    // Gone with the next socket.
    fake.change(|state| state.ghosts = 0);
    fake.disconnect("warning");
    port.wait_until("no remark", |ledger| {
        ledger
            .last_health()
            .is_some_and(|health| health.detail.is_none())
    })
    .await;
    running.stop().await;
}

#[tokio::test]
async fn wrong_tokens_and_missing_scopes_are_fatal_and_say_where_to_look() {
    let fake = FakeSlack::start();
    for (bot, app, words) in [
        ("", APP_TOKEN, "Bot User OAuth Token"),
        (BOT_TOKEN, "", "App-Level Tokens"),
        (APP_TOKEN, BOT_TOKEN, "xoxb-"),
        ("xoxb-wrong-MustNeverShow", APP_TOKEN, "OAuth & Permissions"),
        (BOT_TOKEN, "xapp-wrong-MustNeverShow", "App-Level Tokens"),
        ("xoxb-\nMustNeverShow", APP_TOKEN, "characters"),
    ] {
        let port = TestPort::new();
        let error = run(bridge_with(&fake, (bot, app), options()), &port)
            .error()
            .await;
        let ChannelError::Fatal { detail, fix } = &error else {
            panic!("{error:?}");
        };
        assert!(format!("{detail} {fix}").contains(words), "{detail}: {fix}");
        no_token_in(&format!("{error} {error:?} {:?}", port.ledger().health));
    }
    fake.change(|state| state.app_scopes.clear());
    let error = run(bridge(&fake), &TestPort::new()).error().await;
    assert!(
        matches!(&error, ChannelError::Fatal { fix, .. } if fix.contains("connections:write")),
        "{error:?}"
    );
}

#[tokio::test]
async fn a_token_that_is_revoked_while_running_stops_the_channel_with_the_fix_and_loses_nothing() {
    for word in ["token_revoked", "account_inactive", "invalid_auth"] {
        let (fake, port, running) = connected().await;
        fake.fault("chat.postMessage", Fault::Word(word.to_owned()));
        let id = port.say(TEAM, "later");
        assert_eq!(ended(&port, id).await.0, "retry", "{word}");
        let error = running.error().await;
        assert!(
            matches!(&error, ChannelError::Fatal { detail, fix }
            if detail.contains(word) && fix.contains("api.slack.com/apps")),
            "{error:?}"
        );
        fake.wait_until("the socket ends", |state| state.closed == [1000])
            .await;
    }
    let (fake, _port, running) = connected().await;
    fake.event(json!({ "type": "app_uninstalled" }));
    let error = running.error().await;
    assert!(
        matches!(&error, ChannelError::Fatal { fix, .. } if fix.contains("install it again")),
        "{error:?}"
    );
}

#[tokio::test]
async fn an_outage_is_not_stormed() {
    let fake = FakeSlack::start();
    for _ in 0..30 {
        fake.fault("auth.test", Fault::Server(503));
    }
    let port = TestPort::new();
    let stop = CancellationToken::new();
    let quick = Backoff {
        floor: Duration::from_millis(20),
        ceiling: Duration::from_millis(1_200),
        ..Backoff::default()
    };
    // A fiftieth of the time: what is at most 8 in the first minute is at most 8 in 1.2 seconds.
    let began = Instant::now();
    let bridge = Box::new(bridge(&fake));
    let task = spawn(
        bridge,
        Arc::clone(&port) as Arc<dyn ChannelPort>,
        quick,
        stop.clone(),
    );
    fake.wait_until("some tries", |state| state.ledger.len() >= 5)
        .await;
    let calls = fake.ledger();
    let early = calls
        .iter()
        .filter(|call| call.at - began <= Duration::from_millis(1_200))
        .count();
    assert!(early <= 8, "{early} calls");
    assert!(
        calls.iter().all(|call| call.method == "auth.test"),
        "{}",
        fake.story()
    );
    stop.cancel();
    tokio::time::timeout(DEADLINE, task).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_rate_limit_on_the_way_in_is_obeyed() {
    let fake = FakeSlack::start();
    fake.fault("apps.connections.open", Fault::TooMany(7));
    let error = run(bridge(&fake), &TestPort::new()).error().await;
    assert!(
        matches!(&error, ChannelError::Transient { retry_after: Some(rest), .. }
        if *rest == Duration::from_secs(7)),
        "{error:?}"
    );
}

#[tokio::test]
async fn fifty_messages_a_second_are_all_taken_in() {
    let (fake, port, running) = connected_with(options()).await;
    for n in 0..300 {
        fake.says(ADA_DIRECT, ADA, &format!("message {n}"));
    }
    port.wait_until("all", |ledger| ledger.inbox.len() == 300)
        .await;
    all_acknowledged(&fake).await;
    let expected: Vec<String> = (0..300).map(|n| format!("message {n}")).collect();
    assert_eq!(port.ledger().texts(), expected);
    running.stop().await;
}

#[tokio::test]
async fn an_old_socket_that_takes_no_acknowledgement_ends_alone() {
    let (fake, port, running) = connected().await;
    let old = fake.state().sockets[0];
    fake.disconnect("warning");
    fake.wait_until("two sockets", |state| state.sockets.len() == 2)
        .await;
    let event = json!({
        "type": "message", "user": ADA, "ts": "1700000000.000100", "event_ts": "1700000000.000100",
        "text": "through the old one", "channel": ADA_DIRECT, "channel_type": "im",
    });
    let envelope = json!({
        "envelope_id": "envelope-old", "type": "events_api", "accepts_response_payload": false,
        "payload": {
            "token": "x", "team_id": "T0001", "api_app_id": "A0001", "event": event, "type": "event_callback",
            "event_id": "EvOld", "event_time": 1,
        },
    });
    // While the name of the sender is looked up, the socket ends.
    fake.fault("users.info", Fault::Slow(Duration::from_millis(300)));
    fake.change(|state| state.order(old, Order::Text(envelope.to_string())));
    fake.wait_until("the look-up", |state| {
        let faults = state.faults.get("users.info");
        faults.is_some_and(|faults| faults.is_empty())
    })
    .await;
    fake.change(|state| state.order(old, Order::Break));
    port.wait_until("the message", |ledger| ledger.inbox.len() == 1)
        .await;
    // What was not acknowledged comes again, and then something new.
    fake.event(event);
    fake.says(ADA_DIRECT, ADA, "through the new one");
    port.wait_until("both", |ledger| ledger.texts().len() == 2)
        .await;
    all_acknowledged(&fake).await;
    running.stop().await;
    assert_eq!(
        port.ledger().texts(),
        ["through the old one", "through the new one"]
    );
    assert_eq!(fake.calls("apps.connections.open").len(), 2);
}
