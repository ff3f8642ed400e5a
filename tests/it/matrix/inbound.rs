//! What people write comes in once, in order, and nothing from before the bot was there.

use std::time::Duration;

use leverframe::channels::matrix::bridge::MatrixOptions;
use leverframe::protocol::bridge::InboundBody;
use serde_json::json;

use crate::matrix::bridging::{connected, options, others, run, run_with};
use crate::matrix::synapse::synapse;
use crate::support::record::fault;
use crate::telegram::port::TestPort;

const UNCHECKED: &str = "what comes in from Matrix";
/// Messages of a time away: fifty in a sync, and three pages.
const AWAY: usize = 260;

#[tokio::test]
async fn what_was_said_before_the_bot_came_is_never_taken_in() {
    let Some(server) = synapse(UNCHECKED) else {
        return;
    };
    let (bot, anna) = (server.user("bot").await, server.user("anna").await);
    // One room before it runs, one while it runs, each with a past that it may read.
    let first = anna.direct_room(&bot).await;
    anna.say(&first, "old one").await;
    bot.join(&first).await;
    anna.say(&first, "still before its first start").await;
    let port = TestPort::new();
    let running = connected(server.url(), &bot, &port).await;
    anna.say(&first, "new one").await;
    port.wait_until("the new one", |ledger| ledger.texts() == ["new one"])
        .await;

    let second = anna
        .room(json!({ "preset": "private_chat", "name": "Ops" }))
        .await;
    for n in 0..70 {
        anna.say(&second, &format!("past {n}")).await;
    }
    anna.invite(&second, &bot).await;
    anna.sees_come(&second, &bot).await;
    anna.say(&second, "new two").await;
    port.wait_until("the second", |ledger| {
        ledger.texts() == ["new one", "new two"]
    })
    .await;
    let last = port.ledger().inbox.last().unwrap().clone();
    assert_eq!(last.conversation, second);
    assert_eq!(last.conversation_title.as_deref(), Some("Ops"));
    assert_eq!(last.sender.unwrap().id, anna.user);
    running.stop().await;
}

#[tokio::test]
async fn pages_of_messages_of_a_time_away_come_in_once_and_in_order() {
    let Some(server) = synapse(UNCHECKED) else {
        return;
    };
    let (bot, anna) = (server.user("bot").await, server.user("anna").await);
    let port = TestPort::new();
    let running = connected(server.url(), &bot, &port).await;
    let room = anna.direct_room(&bot).await;
    anna.sees_come(&room, &bot).await;
    anna.say(&room, "hello").await;
    port.wait_until("hello", |ledger| ledger.texts() == ["hello"])
        .await;
    running.stop().await;

    for n in 0..AWAY {
        anna.say(&room, &format!("away {n}")).await;
    }
    let mut expected = vec!["hello".to_owned()];
    expected.extend((0..AWAY).map(|n| format!("away {n}")));
    let running = run(server.url(), &bot.token, &port);
    port.wait_until("all of them", |ledger| ledger.texts().len() > AWAY)
        .await;
    anna.say(&room, "and now").await;
    expected.push("and now".to_owned());
    port.wait_until("the one behind", |ledger| ledger.texts() == expected)
        .await;
    assert_eq!(port.ledger().repeated, 0);
    running.stop().await;
    fault(
        "matrix-gap",
        "260 messages are written while the channel is away; Synapse gives fifty of them by itself",
        "the engine stores all of them once and in order",
    );
}

#[tokio::test]
async fn a_kill_in_the_middle_of_a_batch_loses_and_doubles_nothing() {
    let Some(server) = synapse(UNCHECKED) else {
        return;
    };
    let (bot, anna) = (server.user("bot").await, server.user("anna").await);
    let port = TestPort::new();
    let running = connected(server.url(), &bot, &port).await;
    let room = anna.direct_room(&bot).await;
    anna.sees_come(&room, &bot).await;
    anna.say(&room, "hello").await;
    port.wait_until("hello", |ledger| ledger.texts() == ["hello"])
        .await;
    running.stop().await;
    for said in ["a", "b", "c"] {
        anna.say(&room, said).await;
    }
    // The first two are in when it dies; the position is still behind all three.
    let before = port.ledger().cursor.clone();
    port.change(|ledger| ledger.ingest_script = "ok store-and-hang".to_owned());
    // Another hold, or Synapse gives the answer that it has for the sync of the bridge before.
    let options = MatrixOptions {
        hold: Duration::from_secs(4),
        ..options()
    };
    let running = run_with(server.url(), &bot.token, &port, options);
    port.wait_until("two of three", |ledger| ledger.texts().len() == 3)
        .await;
    running.kill().await;
    assert_eq!(port.ledger().cursor, before, "the position moved too early");

    let running = run(server.url(), &bot.token, &port);
    port.wait_until("all", |ledger| {
        ledger.texts() == ["hello", "a", "b", "c"] && ledger.cursor != before
    })
    .await;
    assert_eq!(port.ledger().repeated, 2);
    running.stop().await;
}

#[tokio::test]
async fn what_cannot_be_stored_comes_again() {
    let Some(server) = synapse(UNCHECKED) else {
        return;
    };
    let (bot, anna) = (server.user("bot").await, server.user("anna").await);
    let port = TestPort::new();
    let running = connected(server.url(), &bot, &port).await;
    let room = anna.direct_room(&bot).await;
    anna.sees_come(&room, &bot).await;
    anna.say(&room, "hello").await;
    port.wait_until("hello", |ledger| ledger.texts() == ["hello"])
        .await;
    port.change(|ledger| ledger.ingest_script = "fail fail".to_owned());
    anna.say(&room, "again").await;
    port.wait_until("it came again", |ledger| {
        ledger.texts() == ["hello", "again"]
    })
    .await;
    assert!(port.ledger().health.iter().any(|(health, _)| {
        let detail = health.detail.as_deref().unwrap_or_default();
        detail.contains("cannot be stored")
    }));
    running.stop().await;
}

#[tokio::test]
async fn another_token_of_the_same_account_goes_on_where_it_was() {
    let Some(server) = synapse(UNCHECKED) else {
        return;
    };
    let (bot, anna) = (server.user("bot").await, server.user("anna").await);
    let port = TestPort::new();
    let running = connected(server.url(), &bot, &port).await;
    let room = anna.direct_room(&bot).await;
    anna.sees_come(&room, &bot).await;
    anna.say(&room, "hello").await;
    port.wait_until("hello", |ledger| ledger.texts() == ["hello"])
        .await;
    running.stop().await;
    anna.say(&room, "while the token was gone").await;
    let again = bot.log_in().await;
    let running = run(server.url(), &again.token, &port);
    port.wait_until("both", |ledger| {
        ledger.texts() == ["hello", "while the token was gone"]
    })
    .await;
    running.stop().await;
    // Another account begins where it is.
    let other = server.user("other").await;
    let cursor = port.ledger().cursor.clone();
    let running = run(server.url(), &other.token, &port);
    port.wait_until("its own position", |ledger| ledger.cursor != cursor)
        .await;
    let cursor = port.ledger().cursor.clone().unwrap();
    assert!(cursor.starts_with(&other.user), "{cursor}");
    running.stop().await;
}

#[tokio::test]
async fn edits_reactions_stickers_and_unknown_events_are_recorded_and_stop_nothing() {
    let Some(server) = synapse(UNCHECKED) else {
        return;
    };
    let (bot, anna) = (server.user("bot").await, server.user("anna").await);
    let port = TestPort::new();
    let running = connected(server.url(), &bot, &port).await;
    let room = anna.direct_room(&bot).await;
    anna.sees_come(&room, &bot).await;
    let first = anna.say(&room, "first").await;
    let edit = json!({
        "m.new_content": { "msgtype": "m.text", "body": "changed" },
        "m.relates_to": { "rel_type": "m.replace", "event_id": first },
    });
    anna.say_with(&room, "* changed", edit).await;
    anna.react(&room, &first, "👍").await;
    let sticker = json!({ "body": "a cat", "url": "mxc://localhost/x", "info": {} });
    anna.send(&room, "m.sticker", &sticker).await;
    let notice = json!({ "msgtype": "m.notice", "body": "I am a program" });
    anna.send(&room, "m.room.message", &notice).await;
    let redact = format!("rooms/{room}/redact/{first}/r1");
    anna.call(reqwest::Method::PUT, &redact, &json!({})).await;
    anna.say(&room, "last").await;
    port.wait_until("the last", |ledger| {
        ledger.texts().last().is_some_and(|text| text == "last")
    })
    .await;
    assert_eq!(port.ledger().texts(), ["first", "I am a program", "last"]);
    let inbox = port.ledger().inbox.clone();
    let programs = inbox.iter().filter(|inbound| {
        let sender = inbound.sender.as_ref();
        sender.is_some_and(|sender| sender.is_bot)
            && matches!(inbound.body, InboundBody::Text { .. })
    });
    assert_eq!(programs.count(), 1);
    let told = others(&port.ledger()).join("\n");
    for what in [
        "an edit of a message",
        "a reaction",
        "a sticker",
        "a message was taken back",
    ] {
        assert!(told.contains(what), "{what} is not in:\n{told}");
    }
    running.stop().await;
}
