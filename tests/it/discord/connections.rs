//! Connections end in every way there is; nothing is lost, nothing is doubled, and nothing is tried too often.

use std::time::Duration;

use leverframe::channels::channel::ChannelError;
use leverframe::channels::supervisor::Backoff;
use leverframe::protocol::enums::ChannelState;
use serde_json::json;

use crate::discord::world::{CHANNEL, DIRECT, ada, bridge_at, connected, run, start, supervised};
use crate::support::fake_discord::{FakeDiscord, Fault, Order, TOKEN};
use crate::telegram::port::TestPort;

async fn heard(port: &TestPort, texts: &[&str]) {
    port.wait_until(&format!("{texts:?}"), |ledger| ledger.texts() == texts)
        .await;
}

fn fatal(error: &ChannelError) -> (String, String) {
    match error {
        ChannelError::Fatal { detail, fix } => (detail.clone(), fix.clone()),
        ChannelError::Transient { detail, .. } => panic!("it may be tried again: {detail}"),
    }
}

#[tokio::test]
async fn a_session_goes_on_after_every_end_that_leaves_it() {
    let fake = start();
    let port = TestPort::new();
    let stop = supervised(&fake, &port);
    let mut texts = Vec::new();
    let ends = [
        Order::Say(json!({ "op": 7, "d": null })),
        Order::Say(json!({ "op": 9, "d": true })),
        Order::Close(4_000),
        Order::Close(4_008),
        Order::Drop,
    ];
    for (at, end) in ends.into_iter().enumerate() {
        fake.wait_until("a connection", |state| !state.sessions.is_empty())
            .await;
        let before = format!("before{at}");
        fake.user_says(DIRECT, &ada(), &before);
        texts.push(before);
        port.wait_until("what came before", |ledger| ledger.texts() == texts)
            .await;
        fake.order(end);
        fake.user_says(DIRECT, &ada(), &format!("meanwhile{at}"));
        texts.push(format!("meanwhile{at}"));
        port.wait_until("what came meanwhile", |ledger| ledger.texts() == texts)
            .await;
        fake.wait_until("it went on", |state| state.resumed.len() > at)
            .await;
    }
    stop.cancel();
    let state = fake.state();
    assert_eq!(state.identified, 1, "always the same session");
    assert!(state.violations.is_empty(), "{:?}", state.violations);
}

#[tokio::test]
async fn a_dead_connection_is_noticed_by_its_heartbeats() {
    let fake = start();
    fake.change(|state| state.heartbeat_ms = 150);
    let port = TestPort::new();
    let stop = supervised(&fake, &port);
    fake.wait_until("heartbeats", |state| state.heartbeats >= 3)
        .await;
    assert_eq!(fake.state().connections.len(), 1, "a living one stays");
    fake.change(|state| state.answers_heartbeats = false);
    fake.wait_until("another connection", |state| !state.resumed.is_empty())
        .await;
    fake.change(|state| state.answers_heartbeats = true);
    fake.user_says(DIRECT, &ada(), "alive");
    heard(&port, &["alive"]).await;
    stop.cancel();
    assert_eq!(fake.state().identified, 1);
}

#[tokio::test]
async fn a_lost_session_is_replaced_and_what_it_missed_is_asked_for() {
    const MISSED: usize = 1_300;
    let fake = start();
    let port = TestPort::new();
    let running = run(bridge_at(&fake, TOKEN), &port);
    port.wait_until("a session", |ledger| !ledger.inbox.is_empty())
        .await;
    fake.user_says(DIRECT, &ada(), "known");
    fake.user_says(CHANNEL, &ada(), "known too");
    heard(&port, &["known", "known too"]).await;
    running.kill().await;
    // Away for longer than a session lives: a busy channel has more than a thousand messages meanwhile.
    fake.change(|state| state.sessions.clear());
    for n in 0..MISSED {
        fake.user_says(CHANNEL, &ada(), &format!("channel{n}"));
    }
    fake.user_says(DIRECT, &ada(), "direct");
    let stop = supervised(&fake, &port);
    port.wait_until("all of it", |ledger| ledger.texts().len() == 2 + MISSED + 1)
        .await;
    let texts = port.ledger().texts();
    let of_channel: Vec<&String> = texts
        .iter()
        .filter(|text| text.starts_with("channel"))
        .collect();
    let expected: Vec<String> = (0..MISSED).map(|n| format!("channel{n}")).collect();
    assert_eq!(
        of_channel,
        expected.iter().collect::<Vec<_>>(),
        "the oldest first"
    );
    assert!(texts.contains(&"direct".to_owned()));
    assert_eq!(
        port.ledger().repeated,
        0,
        "what came before is read again and left alone"
    );
    // Now it has caught up: a further session asks for no more than is new.
    fake.user_says(DIRECT, &ada(), "live");
    port.wait_until("live", |ledger| ledger.texts().len() == 2 + MISSED + 2)
        .await;
    stop.cancel();
    assert_eq!(fake.state().identified, 2);
    assert!(fake.state().violations.is_empty(), "{}", fake.story());
}

#[tokio::test]
async fn missed_messages_are_asked_for_again_when_discord_answers_with_an_error() {
    let fake = start();
    let port = TestPort::new();
    let running = run(bridge_at(&fake, TOKEN), &port);
    port.wait_until("a session", |ledger| !ledger.inbox.is_empty())
        .await;
    fake.user_says(CHANNEL, &ada(), "known");
    heard(&port, &["known"]).await;
    running.kill().await;
    fake.change(|state| state.sessions.clear());
    for n in 0..130 {
        fake.user_says(CHANNEL, &ada(), &format!("channel{n}"));
    }
    // The first page comes, and the second does not.
    fake.fault("history", Fault::Slow(Duration::ZERO));
    fake.fault("history", Fault::Server(500));
    let stop = supervised(&fake, &port);
    port.wait_until("all of it", |ledger| ledger.texts().len() == 1 + 130)
        .await;
    stop.cancel();
    assert_eq!(fake.state().identified, 2, "over one connection");
    // The first page, the error, and the second page: what was read is not read again.
    assert_eq!(fake.calls("history").len(), 3);
}

#[tokio::test]
async fn a_session_that_discord_gives_up_while_it_runs_is_replaced() {
    let fake = start();
    let port = TestPort::new();
    let stop = supervised(&fake, &port);
    fake.wait_until("a session", |state| state.identified == 1)
        .await;
    fake.user_says(DIRECT, &ada(), "one");
    heard(&port, &["one"]).await;
    fake.order(Order::Invalidate);
    fake.wait_until("another session", |state| state.identified == 2)
        .await;
    fake.user_says(DIRECT, &ada(), "two");
    heard(&port, &["one", "two"]).await;
    stop.cancel();
    assert!(
        fake.state().resumed.is_empty(),
        "what was given up is not resumed"
    );
}

#[tokio::test]
async fn what_cannot_be_stored_is_not_claimed_and_comes_again() {
    let (fake, port, running) = connected().await;
    fake.user_says(DIRECT, &ada(), "stored");
    heard(&port, &["stored"]).await;
    port.change(|ledger| "fail".clone_into(&mut ledger.ingest_script));
    fake.user_says(DIRECT, &ada(), "not stored");
    let error = running.error().await;
    assert!(error.to_string().contains("stay at Discord"), "{error}");
    // Another process with the same data.
    let running = run(bridge_at(&fake, TOKEN), &port);
    heard(&port, &["stored", "not stored"]).await;
    // READY, GUILD_CREATE and the stored one.
    let resumed = fake.state().resumed.clone();
    assert_eq!(resumed, [("session1".to_owned(), 3)]);
    running.stop().await;
}

#[tokio::test]
async fn a_process_that_goes_on_with_a_session_learns_what_channels_are_called() {
    let (fake, port, running) = connected().await;
    running.stop().await;
    let running = run(bridge_at(&fake, TOKEN), &port);
    // It asks beside what comes in, so the first messages may still have no title.
    let mut titles = Vec::new();
    while titles.last().is_none_or(Option::is_none) {
        assert!(titles.len() < 200, "it never learned the name");
        fake.user_says(CHANNEL, &ada(), &format!("{}", titles.len()));
        let count = titles.len() + 1;
        port.wait_until("one more", |ledger| ledger.texts().len() == count)
            .await;
        titles.push(
            port.ledger()
                .inbox
                .last()
                .unwrap()
                .conversation_title
                .clone(),
        );
    }
    assert_eq!(
        titles.pop(),
        Some(Some("#general in Test server".to_owned()))
    );
    assert_eq!(fake.state().identified, 1);
    assert!(fake.calls("history").is_empty(), "nothing was missed");
    running.stop().await;
}

#[tokio::test]
async fn a_process_killed_after_the_commit_takes_nothing_in_twice() {
    let (fake, port, running) = connected().await;
    port.change(|ledger| "store-and-hang".clone_into(&mut ledger.ingest_script));
    fake.user_says(DIRECT, &ada(), "once");
    heard(&port, &["once"]).await;
    running.kill().await;
    let running = run(bridge_at(&fake, TOKEN), &port);
    fake.user_says(DIRECT, &ada(), "then");
    heard(&port, &["once", "then"]).await;
    assert_eq!(fake.state().identified, 1);
    running.stop().await;
}

#[tokio::test]
async fn a_cursor_of_another_bot_says_nothing() {
    let (fake, port, running) = connected().await;
    fake.user_says(DIRECT, &ada(), "one");
    heard(&port, &["one"]).await;
    running.stop().await;
    fake.change(|state| state.bot.id += 1);
    let running = run(bridge_at(&fake, TOKEN), &port);
    fake.wait_until("a session of its own", |state| state.identified == 2)
        .await;
    assert!(fake.state().resumed.is_empty());
    assert!(fake.calls("history").is_empty());
    running.stop().await;
}

#[tokio::test]
async fn a_bad_token_and_a_missing_intent_say_what_to_do() {
    let fake = start();
    let error = run(bridge_at(&fake, "wrong.token"), &TestPort::new())
        .error()
        .await;
    let (detail, fix) = fatal(&error);
    assert!(
        detail.contains("token") && fix.contains("Reset Token"),
        "{error}"
    );
    assert!(fake.state().connections.is_empty());
    for odd in ["", "Bot abc", "a\nb"] {
        let error = run(bridge_at(&fake, odd), &TestPort::new()).error().await;
        assert!(fatal(&error).1.contains("Reset Token"), "{odd:?}: {error}");
    }

    fake.change(|state| state.message_content = false);
    let error = run(bridge_at(&fake, TOKEN), &TestPort::new()).error().await;
    let fix = "enable the Message Content intent in the Developer Portal";
    assert!(fatal(&error).1.contains(fix), "{error}");
}

#[tokio::test]
async fn a_token_that_is_revoked_while_it_runs_stops_the_channel() {
    let (fake, port, running) = connected().await;
    fake.change(|state| "other".clone_into(&mut state.token));
    fake.order(Order::Close(4_004));
    let error = running.error().await;
    assert!(fatal(&error).1.contains("Reset Token"), "{error}");
    assert!(!format!("{error:?} {:?}", port.ledger().health).contains("MustNeverShow"));
}

#[tokio::test]
async fn no_session_is_begun_beyond_the_limit_of_a_day() {
    let fake = start();
    fake.change(|state| (state.starts_left, state.starts_reset_ms) = (0, 5_000_000));
    let error = run(bridge_at(&fake, TOKEN), &TestPort::new()).error().await;
    let ChannelError::Transient { retry_after, .. } = error else {
        panic!("{error}");
    };
    assert_eq!(retry_after, Some(Duration::from_secs(5_000)));
    assert!(fake.state().connections.is_empty());
}

#[tokio::test]
async fn a_server_that_closes_at_once_is_tried_once_a_run_and_eight_times_in_a_minute() {
    for code in [1_000, 4_000, 4_009] {
        let fake = start();
        let port = TestPort::new();
        fake.change(|state| state.closes_with = Some(code));
        for run_number in 1..=3 {
            let error = run(bridge_at(&fake, TOKEN), &port).error().await;
            assert!(matches!(error, ChannelError::Transient { .. }), "{error}");
            assert_eq!(fake.state().connections.len(), run_number);
        }
        let states = |port: &TestPort| -> Vec<ChannelState> {
            let ledger = port.ledger();
            ledger
                .health
                .iter()
                .map(|(health, _)| health.state)
                .collect()
        };
        assert!(!states(&port).contains(&ChannelState::Connected));
        assert_eq!(fake.state().identified, 0);
    }
    // The supervisor makes the runs.
    let backoff = Backoff::default();
    let mut at = Duration::ZERO;
    let mut attempts = 1;
    for failures in 0.. {
        at += backoff.delay(failures, 0.0, None);
        if at > Duration::from_mins(1) {
            break;
        }
        attempts += 1;
    }
    assert!(attempts <= 8, "{attempts} attempts");
}

#[tokio::test]
async fn a_resume_address_that_is_gone_is_given_up() {
    let (fake, port, running) = connected().await;
    fake.user_says(DIRECT, &ada(), "one");
    heard(&port, &["one"]).await;
    running.stop().await;
    // Whoever resumes is cut off; whoever begins is welcome.
    fake.change(|state| state.closes_with = Some(4_000));
    let stop = supervised(&fake, &port);
    fake.wait_until("three tries", |state| state.connections.len() >= 4)
        .await;
    fake.change(|state| state.closes_with = None);
    fake.user_says(DIRECT, &ada(), "two");
    heard(&port, &["one", "two"]).await;
    stop.cancel();
}

#[tokio::test]
async fn calls_that_fail_at_the_start_are_no_end() {
    let fake: FakeDiscord = start();
    for fault in [
        Fault::Server(502),
        Fault::ResetBefore,
        Fault::CutBody,
        Fault::NotJson,
        Fault::TooMany(0.05, true),
        Fault::Slow(Duration::from_millis(50)),
    ] {
        for route in ["me", "application", "gateway", "commands"] {
            fake.fault(route, fault.clone());
        }
    }
    let port = TestPort::new();
    let stop = supervised(&fake, &port);
    fake.user_says(DIRECT, &ada(), "not seen: nobody was there");
    fake.wait_until("a session", |state| state.identified == 1)
        .await;
    fake.user_says(DIRECT, &ada(), "in the end");
    port.wait_until("in the end", |ledger| {
        ledger.texts().last().map(String::as_str) == Some("in the end")
    })
    .await;
    port.wait_until("well", |ledger| {
        let state = ledger.last_health().map(|health| health.state);
        state == Some(ChannelState::Connected)
    })
    .await;
    stop.cancel();
}

#[tokio::test]
async fn messages_are_missed_in_no_server_behind_the_first_answer() {
    let (fake, port, running) = connected().await;
    fake.user_says(CHANNEL, &ada(), "known");
    heard(&port, &["known"]).await;
    running.kill().await;
    fake.change(|state| {
        state.sessions.clear();
        (state.empty_servers, state.servers_page) = (7, 3);
    });
    fake.user_says(CHANNEL, &ada(), "away");
    let stop = supervised(&fake, &port);
    heard(&port, &["known", "away"]).await;
    stop.cancel();
    assert!(fake.state().violations.is_empty(), "{}", fake.story());
}

#[tokio::test]
async fn a_channel_that_discord_fails_at_holds_up_no_other_one() {
    let (fake, port, running) = connected().await;
    fake.user_says(CHANNEL, &ada(), "known");
    heard(&port, &["known"]).await;
    running.kill().await;
    let broken = CHANNEL - 1;
    fake.change(|state| {
        state.sessions.clear();
        state.know_channel(broken, "broken");
        state.know_channel(CHANNEL + 1, "second");
        state.broken = Some(broken);
    });
    fake.user_says(broken, &ada(), "not yet");
    fake.user_says(CHANNEL, &ada(), "away");
    fake.user_says(CHANNEL + 1, &ada(), "away too");
    let stop = supervised(&fake, &port);
    heard(&port, &["known", "away", "away too"]).await;
    // It is asked for again, until it comes.
    fake.change(|state| state.broken = None);
    heard(&port, &["known", "away", "away too", "not yet"]).await;
    stop.cancel();
    assert_eq!(fake.state().identified, 2);
}
