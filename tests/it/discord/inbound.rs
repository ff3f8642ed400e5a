//! What people do becomes what the engine takes in.

use leverframe::protocol::bridge::{Inbound, InboundBody};
use serde_json::{Value, json};

use crate::discord::world::{CHANNEL, DIRECT, ada, came_in, connected, recorded};
use crate::support::fake_discord::{FakeDiscord, Order, User};
use crate::telegram::port::TestPort;

/// What came in last, once there are so many.
async fn nth(port: &TestPort, count: usize) -> Inbound {
    port.wait_until("one more", |ledger| {
        let is_session = |inbound: &&Inbound| inbound.dedupe_key.contains(":session:");
        ledger.inbox.len() - ledger.inbox.iter().filter(is_session).count() >= count
    })
    .await;
    came_in(port)[count - 1].clone()
}

/// Text, direct, addressed, indirect.
fn said(inbound: &Inbound) -> (&str, bool, bool, bool) {
    match &inbound.body {
        InboundBody::Text {
            text,
            direct,
            addressed,
            indirect,
            ..
        } => (text, *direct, *addressed, *indirect),
        other => panic!("{other:?}"),
    }
}

fn mention(fake: &FakeDiscord) -> String {
    format!("<@{}>", fake.state().bot.id)
}

#[tokio::test]
async fn a_message_says_who_where_and_whether_it_is_for_us() {
    let (fake, port, running) = connected().await;
    let us = mention(&fake);
    fake.user_says(DIRECT, &ada(), "hello");
    let direct = nth(&port, 1).await;
    assert_eq!(said(&direct), ("hello", true, true, false));
    assert_eq!(direct.conversation, DIRECT.to_string());
    assert_eq!(direct.conversation_title.as_deref(), Some("Ada"));
    let sender = direct.sender.unwrap();
    assert_eq!((sender.id.as_str(), sender.is_bot), ("4242", false));
    assert_eq!(sender.display, "Ada (@ada)");

    fake.user_says(CHANNEL, &ada(), "among people");
    let other = nth(&port, 2).await;
    assert_eq!(said(&other), ("among people", false, false, false));
    let title = other.conversation_title.as_deref();
    assert_eq!(title, Some("#general in Test server"));

    fake.user_says(CHANNEL, &ada(), &format!("{us} /status"));
    assert_eq!(said(&nth(&port, 3).await), ("/status", false, true, false));
    fake.user_says(CHANNEL, &ada(), &format!("ask {us} too"));
    let named = nth(&port, 4).await;
    assert_eq!(said(&named), ("ask @Lever too", false, true, false));

    let ours = port.say(&CHANNEL.to_string(), "an answer");
    port.outcome(ours).await;
    let answer = fake.messages(CHANNEL)[0].clone();
    let reply = json!({ "type": 19, "content": "why?", "referenced_message": answer.json,
        "message_reference": { "type": 0, "message_id": answer.id.to_string() } });
    fake.user_sends(CHANNEL, &ada(), reply);
    assert_eq!(said(&nth(&port, 5).await), ("why?", false, true, false));
    assert_eq!(
        nth(&port, 5).await.message_ref.as_deref().map(str::len),
        Some(19)
    );
    running.stop().await;
    assert!(fake.state().violations.is_empty(), "{}", fake.story());
}

#[tokio::test]
async fn words_of_others_decide_nothing_and_edits_ask_nothing() {
    let (fake, port, running) = connected().await;
    let forward = json!({ "message_reference": { "type": 1, "message_id": "5", "channel_id": "6" },
        "message_snapshots": [{ "message": { "content": "forwarded" } }] });
    fake.user_sends(DIRECT, &ada(), forward);
    assert_eq!(said(&nth(&port, 1).await), ("forwarded", true, true, true));

    let mut robot = User::new(5_000, "Robot");
    robot.bot = true;
    fake.user_says(CHANNEL, &robot, "beep");
    assert!(nth(&port, 2).await.sender.unwrap().is_bot);
    fake.user_sends(
        CHANNEL,
        &ada(),
        json!({ "content": "hook", "webhook_id": "77" }),
    );
    assert_eq!(nth(&port, 3).await.sender, None, "a webhook is nobody");

    let message = fake.user_says(DIRECT, &ada(), "first");
    nth(&port, 4).await;
    let edited = |when: Value| {
        json!({ "id": message.to_string(), "channel_id": DIRECT.to_string(), "content": "second",
            "author": ada().json(), "edited_timestamp": when })
    };
    // A preview of a link that Discord adds is no edit.
    fake.raw_event("MESSAGE_UPDATE", edited(Value::Null));
    fake.raw_event("MESSAGE_UPDATE", edited(json!("2026-11-26T09:05:00+00:00")));
    let gone = json!({ "id": message.to_string(), "channel_id": DIRECT.to_string() });
    fake.raw_event("MESSAGE_DELETE", gone);
    nth(&port, 6).await;
    assert_eq!(
        recorded(&port),
        ["an edit of a message", "a message was deleted"]
    );
    // What we say and change ourselves is nothing that came in.
    let ours = port.say(&DIRECT.to_string(), "ours");
    port.outcome(ours).await;
    fake.user_says(DIRECT, &ada(), "last");
    assert_eq!(said(&nth(&port, 7).await).0, "last");
    running.stop().await;
}

#[tokio::test]
async fn files_are_named_by_what_finds_them_again() {
    let (fake, port, running) = connected().await;
    let message = fake.user_sends_file(DIRECT, &ada(), "", "a b.txt", b"hello");
    let inbound = nth(&port, 1).await;
    let InboundBody::Text { files, text, .. } = inbound.body else {
        panic!("{inbound:?}");
    };
    assert_eq!((text.as_str(), files.len()), ("", 1));
    let start = format!("{DIRECT}/{message}/");
    assert!(files[0].reference.starts_with(&start), "{files:?}");
    assert_eq!(
        (files[0].name.as_str(), files[0].size),
        ("a b.txt", Some(5))
    );
    assert_eq!(files[0].media_type.as_deref(), Some("text/plain"));
    fake.user_sends(DIRECT, &ada(), json!({ "sticker_items": [{ "id": "1" }] }));
    let sticker = nth(&port, 2).await.body;
    assert!(
        matches!(sticker, InboundBody::Media { ref what, direct: true, .. } if what == "a sticker")
    );
    fake.user_sends(CHANNEL, &ada(), json!({ "type": 7 }));
    assert!(matches!(
        nth(&port, 3).await.body,
        InboundBody::Other { .. }
    ));
    running.stop().await;
}

#[tokio::test]
async fn an_event_that_comes_twice_is_taken_in_once() {
    let (fake, port, running) = connected().await;
    fake.user_says(DIRECT, &ada(), "once");
    nth(&port, 1).await;
    let again = {
        let state = fake.state();
        state.event_of(&state.messages[0])
    };
    fake.raw_event("MESSAGE_CREATE", again);
    fake.user_says(DIRECT, &ada(), "then");
    nth(&port, 2).await;
    assert_eq!(port.ledger().texts(), ["once", "then"]);
    assert_eq!(port.ledger().repeated, 1);
    running.stop().await;
}

#[tokio::test]
async fn no_shape_of_an_event_stops_the_bridge() {
    let (fake, port, running) = connected().await;
    let odd = [
        Value::Null,
        json!([]),
        json!({}),
        json!({ "id": 5, "channel_id": true }),
        json!({ "id": "x", "channel_id": "y", "author": [], "content": 7 }),
        json!({ "id": "12", "channel_id": "13", "content": { "deep": [] }, "mentions": "none", "attachments": {} }),
    ];
    for name in [
        "MESSAGE_CREATE",
        "MESSAGE_UPDATE",
        "MESSAGE_DELETE",
        "MESSAGE_DELETE_BULK",
        "INTERACTION_CREATE",
        "GUILD_CREATE",
        "CHANNEL_UPDATE",
        "SOMETHING_NEW",
        "",
    ] {
        for data in &odd {
            fake.raw_event(name, data.clone());
        }
    }
    for payload in [
        json!({ "op": 99 }),
        json!([]),
        json!("text"),
        json!({ "op": 0 }),
    ] {
        fake.order(Order::Say(payload));
    }
    fake.user_says(DIRECT, &ada(), "still there");
    port.wait_until("the message behind them", |ledger| {
        ledger.texts() == ["still there"]
    })
    .await;
    assert_eq!(fake.state().connections.len(), 1, "{}", fake.story());
    running.stop().await;
}
