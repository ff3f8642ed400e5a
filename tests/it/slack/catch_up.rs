//! What was said while away.

use leverframe::protocol::enums::ChannelState;
use serde_json::json;

use crate::slack::port::{addressed, all_acknowledged, bridge, connected, run};
use crate::support::fake_slack::{ADA, ADA_DIRECT, BEN, BOT, FakeSlack, Fault, TEAM};
use crate::telegram::port::TestPort;

/// A bridge was there, heard this, and went; from then on Slack forgets what nobody hears.
async fn away() -> (FakeSlack, std::sync::Arc<TestPort>) {
    let (fake, port, running) = connected().await;
    fake.says(ADA_DIRECT, ADA, "before");
    let root = fake.says(TEAM, BEN, &format!("<@{BOT}> before"));
    fake.sends(
        TEAM,
        BEN,
        json!({ "thread_ts": root, "text": format!("<@{BOT}> in a thread") }),
    );
    port.wait_until("heard", |ledger| ledger.inbox.len() == 3)
        .await;
    all_acknowledged(&fake).await;
    running.stop().await;
    fake.wait_until("gone", |state| state.sockets.is_empty())
        .await;
    fake.change(|state| state.forgets = true);
    (fake, port)
}

fn root(fake: &FakeSlack) -> String {
    let state = fake.state();
    let (_, message) = state
        .messages
        .iter()
        .find(|(place, _)| place == TEAM)
        .unwrap();
    message["ts"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn every_known_conversation_is_read_on_from_where_it_was_in_order_and_once() {
    let (fake, port) = away().await;
    let thread = root(&fake);
    for n in 0..7 {
        fake.says(ADA_DIRECT, ADA, &format!("away {n}"));
    }
    fake.says(TEAM, BEN, "nothing for the bot");
    fake.sends(
        TEAM,
        BEN,
        json!({ "thread_ts": thread, "text": "in the thread, away" }),
    );
    fake.change(|state| state.page = 3);
    let running = run(bridge(&fake), &port);
    port.wait_until("all", |ledger| ledger.inbox.len() == 12)
        .await;
    fake.says(ADA_DIRECT, ADA, "and live");
    port.wait_until("live", |ledger| ledger.inbox.len() == 13)
        .await;
    running.stop().await;
    let ledger = port.ledger();
    let direct: Vec<String> = ledger
        .inbox
        .iter()
        .filter(|one| one.conversation == ADA_DIRECT)
        .map(|one| one.message_ref.clone().unwrap())
        .collect();
    assert!(direct.is_sorted() && direct.len() == 9);
    let said = addressed(&ledger);
    assert!(
        said.contains(&("in the thread, away".to_owned(), true)),
        "{said:?}"
    );
    assert!(
        said.contains(&("nothing for the bot".to_owned(), false)),
        "{said:?}"
    );
    assert_eq!(ledger.repeated, 0, "nothing known was asked for again");
    assert_eq!(ledger.last_health().unwrap().state, ChannelState::Connected);
    drop(ledger);
    assert!(fake.state().violations.is_empty(), "{}", fake.story());
}

#[tokio::test]
async fn what_arrives_live_meanwhile_does_not_hide_what_a_death_interrupts() {
    let (fake, port) = away().await;
    for n in 0..4 {
        fake.says(ADA_DIRECT, ADA, &format!("away {n}"));
    }
    // The history comes late; the live message is stored first, and then the process dies.
    fake.fault(
        "conversations.history",
        Fault::Slow(std::time::Duration::from_millis(400)),
    );
    let running = run(bridge(&fake), &port);
    fake.wait_until("a socket", |state| !state.sockets.is_empty())
        .await;
    fake.says(ADA_DIRECT, ADA, "live");
    port.wait_until("live", |ledger| ledger.texts().contains(&"live".to_owned()))
        .await;
    running.kill().await;
    let running = run(bridge(&fake), &port);
    port.wait_until("all", |ledger| ledger.inbox.len() == 8)
        .await;
    running.stop().await;
    let texts = port.ledger().texts();
    assert_eq!(texts[3], "live");
    assert_eq!(texts[4..], ["away 0", "away 1", "away 2", "away 3"]);
}

#[tokio::test]
async fn a_history_that_is_refused_is_said_and_the_rest_works() {
    let (fake, port) = away().await;
    fake.change(|state| state.scopes.retain(|scope| scope != "im:history"));
    fake.says(ADA_DIRECT, ADA, "lost");
    fake.says(TEAM, BEN, "found");
    let running = run(bridge(&fake), &port);
    port.wait_until("the channel's", |ledger| {
        ledger.texts().contains(&"found".to_owned())
    })
    .await;
    port.wait_until("the remark", |ledger| {
        let detail = ledger
            .last_health()
            .and_then(|health| health.detail.clone());
        detail.is_some_and(|detail| detail.contains("while away") && detail.contains("im:history"))
    })
    .await;
    fake.says(ADA_DIRECT, ADA, "live");
    port.wait_until("live", |ledger| ledger.texts().contains(&"live".to_owned()))
        .await;
    running.stop().await;
}

#[tokio::test]
async fn a_limit_and_a_failure_are_waited_for() {
    let (fake, port) = away().await;
    fake.says(ADA_DIRECT, ADA, "away");
    fake.fault("conversations.history", Fault::TooMany(1));
    fake.fault("conversations.history", Fault::Server(503));
    let running = run(bridge(&fake), &port);
    port.wait_until("all", |ledger| ledger.texts().contains(&"away".to_owned()))
        .await;
    running.stop().await;
    assert_eq!(port.ledger().inbox.len(), 4);
}

#[tokio::test]
async fn a_history_that_fails_for_a_while_is_read_later_by_the_same_connection() {
    let (fake, port) = away().await;
    fake.says(ADA_DIRECT, ADA, "away");
    for _ in 0..12 {
        fake.fault("conversations.history", Fault::Server(503));
    }
    let running = run(bridge(&fake), &port);
    port.wait_until("the word on it", |ledger| {
        let health = ledger.last_health();
        let detail = health.and_then(|health| health.detail.clone());
        detail.is_some_and(|detail| detail.contains("not all messages missed"))
    })
    .await;
    port.wait_until("all", |ledger| ledger.texts().contains(&"away".to_owned()))
        .await;
    port.wait_until("well again", |ledger| {
        ledger
            .last_health()
            .is_some_and(|health| health.state == ChannelState::Connected)
    })
    .await;
    running.stop().await;
    assert_eq!(port.ledger().inbox.len(), 4);
    assert_eq!(fake.calls("apps.connections.open").len(), 2);
}

#[tokio::test]
async fn a_replaced_bot_begins_anew_and_asks_for_nothing_old() {
    let (fake, port) = away().await;
    port.change(|ledger| {
        let cursor = ledger.cursor.take().unwrap();
        ledger.cursor = Some(cursor.replace(BOT, "U0ANOTHER"));
    });
    let running = run(bridge(&fake), &port);
    fake.wait_until("a socket", |state| !state.sockets.is_empty())
        .await;
    fake.says(ADA_DIRECT, ADA, "hello");
    port.wait_until("stored", |ledger| {
        ledger.texts().contains(&"hello".to_owned())
    })
    .await;
    running.stop().await;
    assert!(fake.calls("conversations.history").is_empty());
    let cursor = port.ledger().cursor.clone().unwrap();
    assert!(cursor.starts_with(&format!("T0001/{BOT} ")), "{cursor}");
}
