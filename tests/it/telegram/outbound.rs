//! What goes out: formatting, order, rates, and what is recorded when the answer is bad or missing.

use std::time::{Duration, Instant};

use leverframe::protocol::bridge::{OutboundBody, SendOutcome};
use leverframe::protocol::enums::{ChannelState, OutboxClass};
use serde_json::{Value, json};

use crate::support::fake_telegram::{FakeTelegram, Fault, TOKEN};
use crate::support::record;
use crate::telegram::port::{ada, approval, bridge_at, connected, connected_with, options, run};

#[tokio::test]
async fn a_reply_goes_out_as_html_without_previews_and_comes_back_with_its_id() {
    let (fake, port, running) = connected().await;
    let asked = fake.user_says(4242, &ada(), "hi");
    port.wait_until("the question", |ledger| ledger.inbox.len() == 1)
        .await;
    let reply_to = port.ledger().inbox[0].message_ref.clone();
    let id = port.send_reply(
        "4242",
        OutboxClass::Final,
        OutboundBody::Markdown {
            text: "**bold** 1 < 2 & `code`\n\n```rust\nlet a = \"<b>\";\n```".to_owned(),
        },
        reply_to.as_deref(),
    );
    let outcome = port.outcome(id).await;
    let message = fake.messages(4242).remove(0);
    assert_eq!(
        outcome,
        SendOutcome::Sent {
            external_refs: vec![message.message_id.to_string()]
        }
    );
    assert!(
        message.text.contains("bold 1 < 2 & code"),
        "{}",
        message.text
    );
    assert!(
        message.text.contains("let a = \"<b>\";"),
        "{}",
        message.text
    );
    let kinds: Vec<&str> = message
        .entities
        .iter()
        .filter_map(|entity| entity["type"].as_str())
        .collect();
    assert!(kinds.contains(&"bold") && kinds.contains(&"code") && kinds.contains(&"pre"));
    assert_eq!(message.reply_to, Some(asked));
    let call = &fake.calls("sendMessage")[0].params;
    assert_eq!(call["link_preview_options"], json!({"is_disabled": true}));
    assert_eq!(port.ledger().begun, [id], "the intent was recorded before");
    running.stop().await;
    assert!(fake.state().violations.is_empty(), "{}", fake.story());
}

#[tokio::test]
async fn markup_that_telegram_refuses_goes_out_plain() {
    let (fake, port, running) = connected().await;
    fake.change(|state| state.know_chat(4242));
    fake.fault(
        "sendMessage",
        Fault::Refuse(
            400,
            "Bad Request: can't parse entities: anything".to_owned(),
        ),
    );
    let id = port.say("4242", "**bold** & <i>");
    assert!(matches!(port.outcome(id).await, SendOutcome::Sent { .. }));
    let message = fake.messages(4242).remove(0);
    assert!(message.text.contains("bold & <i>"), "{}", message.text);
    assert!(message.entities.is_empty());
    assert!(
        !fake.calls("sendMessage")[1]
            .params
            .contains_key("parse_mode")
    );
    running.stop().await;
}

#[tokio::test]
async fn a_message_too_long_after_all_is_cut_here() {
    let (fake, port, running) = connected().await;
    fake.change(|state| state.know_chat(4242));
    let text = "All work and no play makes a dull bot. ".repeat(150);
    let id = port.say("4242", &text);
    let SendOutcome::Sent { external_refs } = port.outcome(id).await else {
        panic!("{:?}", port.ledger().outcome(id));
    };
    let messages = fake.messages(4242);
    assert!(messages.len() >= 3 && messages.len() == external_refs.len());
    let whole: String = messages
        .iter()
        .map(|message| message.text.as_str())
        .collect::<Vec<_>>()
        .join(" ");
    assert_eq!(
        whole.split_whitespace().count(),
        text.split_whitespace().count(),
        "nothing is lost by cutting"
    );
    running.stop().await;
}

#[tokio::test]
async fn what_is_known_of_a_failed_send_is_what_is_recorded() {
    // (fault, expected outcome, messages that exist at the platform afterwards)
    let cases: Vec<(Fault, &str, usize)> = vec![
        (Fault::Server(502), "unknown", 0),
        (Fault::ResetBefore, "unknown", 0),
        (Fault::ResetAfter, "unknown", 1),
        (Fault::CutBody, "unknown", 1),
        (Fault::NotJson, "unknown", 1),
        (Fault::Slow(Duration::from_secs(3)), "unknown", 1),
        (Fault::TooMany(3600), "retry", 0),
        (
            Fault::Refuse(403, "Forbidden: bot was blocked by the user".to_owned()),
            "failed",
            0,
        ),
        (
            Fault::Refuse(400, "Bad Request: chat not found".to_owned()),
            "failed",
            0,
        ),
        (Fault::Refuse(401, "Unauthorized".to_owned()), "retry", 0),
    ];
    for (fault, expected, messages) in cases {
        let (fake, port, running) = connected().await;
        fake.change(|state| state.know_chat(4242));
        fake.fault("sendMessage", fault.clone());
        let id = port.say("4242", "once");
        let outcome = port.outcome(id).await;
        let (word, text) = match &outcome {
            SendOutcome::Sent { .. } => ("sent", String::new()),
            SendOutcome::Shortened { .. } => ("shortened", String::new()),
            SendOutcome::Retry { error, .. } => ("retry", error.clone()),
            SendOutcome::Failed { error } => ("failed", error.clone()),
            SendOutcome::Unknown { detail } => ("unknown", detail.clone()),
        };
        assert_eq!(word, expected, "{fault:?}: {text}");
        assert!(
            !text.contains("MustNeverShow") && !text.contains("/bot"),
            "{text}"
        );
        fake.wait_until("the platform's side of it", |state| {
            state.messages.len() == messages
        })
        .await;
        let sends = fake.calls("sendMessage").len();
        running.stop().await;
        assert!(sends <= 1, "{fault:?}: never sent twice by itself");
        assert!(!format!("{:?}", port.ledger().health).contains("MustNeverShow"));
    }
    let unknown = "recorded as unknown, never sent twice by itself";
    record::fault(
        "telegram-send-reset-before",
        "Telegram reset the connection before it took the message",
        unknown,
    );
    record::fault(
        "telegram-send-reset-after",
        "Telegram took the message, then reset the connection or broke off its answer",
        unknown,
    );
    record::fault(
        "telegram-send-timeout",
        "Telegram took the message and did not answer in time",
        unknown,
    );
}

#[tokio::test]
async fn a_send_that_certainly_never_left_is_tried_again() {
    // The poll is answered by a fake; the sends go to a port nobody listens on. One base URL serves
    // both, so the fake is taken away after the poll began and the part is queued then.
    let (fake, port, running) = connected().await;
    fake.change(|state| state.know_chat(4242));
    drop(fake);
    let id = port.say("4242", "later");
    port.wait_until("an end", |ledger| {
        ledger.outcome(id).is_some() || ledger.begun.is_empty()
    })
    .await;
    let error = running.error().await;
    assert!(error.to_string().contains("the platform"), "{error}");
    let outcome = port.ledger().outcome(id);
    assert!(
        matches!(outcome, None | Some(SendOutcome::Retry { .. })),
        "{outcome:?}"
    );
    // A new platform at a new address: the same part, not begun or to be retried, goes out once.
    let fake = FakeTelegram::start();
    fake.change(|state| state.know_chat(4242));
    let running = run(bridge_at(fake.url(), TOKEN, options()), &port);
    port.wait_until("sent", |ledger| {
        matches!(ledger.outcome(id), Some(SendOutcome::Sent { .. }))
    })
    .await;
    assert_eq!(fake.messages(4242).len(), 1);
    running.stop().await;
    record::fault(
        "telegram-send-refused",
        "Telegram refused connections",
        "tried again by itself, seen once",
    );
}

#[tokio::test]
async fn a_rate_limited_chat_rests_as_long_as_asked_and_others_go_on() {
    let (fake, port, running) = connected().await;
    fake.change(|state| {
        state.know_chat(4242);
        state.know_chat(77);
    });
    fake.fault("sendMessage", Fault::TooMany(2));
    let began = Instant::now();
    let limited = port.say("4242", "slow down");
    port.outcome(limited).await;
    let other = port.say("77", "unaffected");
    assert!(matches!(
        port.outcome(other).await,
        SendOutcome::Sent { .. }
    ));
    assert!(began.elapsed() < Duration::from_secs(2));
    port.wait_until("sent after the rest", |ledger| {
        matches!(ledger.outcome(limited), Some(SendOutcome::Sent { .. }))
    })
    .await;
    let calls = fake.calls("sendMessage");
    let (first, last) = (&calls[0], &calls[calls.len() - 1]);
    assert!(last.at - first.at >= Duration::from_millis(1950));
    assert_eq!(fake.messages(4242).len(), 1);
    assert!(
        port.ledger()
            .health
            .iter()
            .any(|(health, _)| health.rate_limited_until.is_some())
    );
    running.stop().await;
}

#[tokio::test]
async fn nothing_is_sent_when_the_intent_cannot_be_recorded() {
    let (fake, port, running) = connected().await;
    fake.change(|state| state.know_chat(4242));
    port.change(|ledger| ledger.begin_fails = 1);
    let id = port.say("4242", "only when recorded");
    port.wait_until("sent", |ledger| {
        matches!(ledger.outcome(id), Some(SendOutcome::Sent { .. }))
    })
    .await;
    assert_eq!(fake.calls("sendMessage").len(), 1);
    assert_eq!(port.ledger().begun, [id]);
    running.stop().await;
}

#[tokio::test]
async fn parts_of_a_chat_keep_their_order_and_distance_and_chats_do_not_wait_for_each_other() {
    let mut paced = options();
    paced.intervals.private = Duration::from_millis(300);
    paced.intervals.group = Duration::from_millis(900);
    let (fake, port, running) = connected_with(paced).await;
    fake.change(|state| {
        for chat in [1, 2, -3] {
            state.know_chat(chat);
        }
    });
    let mut last = None;
    for text in ["first", "second", "third"] {
        for chat in ["1", "2", "-3"] {
            last = Some(port.say(chat, text));
        }
    }
    port.outcome(last.unwrap()).await;
    for (chat, distance) in [(1, 300), (2, 300), (-3, 900)] {
        let calls: Vec<_> = fake
            .calls("sendMessage")
            .into_iter()
            .filter(|entry| entry.params["chat_id"] == json!(chat))
            .collect();
        let texts: Vec<&Value> = calls.iter().map(|entry| &entry.params["text"]).collect();
        assert_eq!(texts, ["first", "second", "third"]);
        for pair in calls.windows(2) {
            let apart = pair[1].at - pair[0].at;
            assert!(
                apart >= Duration::from_millis(distance - 20),
                "chat {chat}: {apart:?}"
            );
        }
    }
    let private_done = fake
        .calls("sendMessage")
        .iter()
        .rposition(|entry| entry.params["chat_id"] != json!(-3));
    assert!(
        private_done < Some(8),
        "the slow group does not hold the others up"
    );
    running.stop().await;
}

#[tokio::test]
async fn a_topic_that_is_gone_and_a_group_that_moved_still_get_the_message() {
    let (fake, port, running) = connected().await;
    fake.user_sends(
        -1_000_000_000_042,
        &ada(),
        json!({"text": "in a topic", "message_thread_id": 9, "is_topic_message": true}),
    );
    port.wait_until("the topic", |ledger| ledger.inbox.len() == 1)
        .await;
    let key = port.ledger().inbox[0].conversation.clone();
    assert_eq!(key, "-1000000000042/9");
    let in_topic = port.say(&key, "here");
    port.outcome(in_topic).await;
    assert_eq!(fake.messages(-1_000_000_000_042)[0].thread, Some(9));
    fake.change(|state| state.topics.clear());
    let after = port.say(&key, "still here");
    port.outcome(after).await;
    assert_eq!(fake.messages(-1_000_000_000_042)[1].thread, None);

    fake.change(|state| {
        state.know_chat(-55);
        state.know_chat(-1_000_000_000_055);
        state.migrated.insert(-55, -1_000_000_000_055);
    });
    for text in ["moved", "and remembered"] {
        let id = port.say("-55", text);
        assert!(matches!(port.outcome(id).await, SendOutcome::Sent { .. }));
    }
    assert_eq!(fake.messages(-1_000_000_000_055).len(), 2);
    let refused = fake
        .calls("sendMessage")
        .iter()
        .filter(|entry| !entry.accepted && entry.params["chat_id"] == json!(-55))
        .count();
    assert_eq!(refused, 1, "the move is learned once");
    running.stop().await;
    assert!(fake.state().violations.is_empty(), "{}", fake.story());
}

#[tokio::test]
async fn typing_is_shown_at_most_every_few_seconds_per_chat() {
    let (fake, port, running) = connected().await;
    fake.change(|state| {
        state.know_chat(4242);
        state.know_chat(77);
    });
    for _ in 0..5 {
        port.show_typing("4242");
    }
    port.show_typing("77");
    fake.wait_until("both chats", |state| {
        state
            .ledger
            .iter()
            .any(|entry| entry.method == "sendChatAction" && entry.params["chat_id"] == json!(77))
    })
    .await;
    assert_eq!(fake.calls("sendChatAction").len(), 2);
    running.stop().await;
}

#[tokio::test]
async fn stopping_finishes_what_was_begun_and_hands_back_the_rest() {
    let mut paced = options();
    paced.intervals.private = Duration::from_mins(10);
    let (fake, port, running) = connected_with(paced).await;
    fake.change(|state| state.know_chat(4242));
    let first = port.say("4242", "begun");
    port.outcome(first).await;
    let held = port.say("4242", "waits for its slot");
    fake.change(|state| state.know_chat(77));
    fake.fault("sendMessage", Fault::Slow(Duration::from_millis(300)));
    let begun = port.say("77", "under way");
    port.wait_until("one waits and one is under way", |ledger| {
        ledger.is_handed_out(held) && ledger.begun.contains(&begun)
    })
    .await;
    running.stop().await;
    assert!(matches!(
        port.ledger().outcome(begun),
        Some(SendOutcome::Sent { .. })
    ));
    assert!(!port.ledger().begun.contains(&held));
    assert_eq!(port.ledger().given_back, [held]);
    assert_eq!(port.ledger().outcome(held), None);
}

#[tokio::test]
async fn an_edit_is_tried_again_where_a_send_is_not() {
    for fault in [Fault::Server(500), Fault::ResetAfter] {
        let (fake, port, running) = connected().await;
        fake.change(|state| state.know_chat(4242));
        let card = port.send(
            "4242",
            OutboxClass::ApprovalCard,
            OutboundBody::Card {
                approval: Box::new(approval()),
                buttons: crate::telegram::port::buttons(),
            },
        );
        let SendOutcome::Sent { external_refs } = port.outcome(card).await else {
            panic!("the card is sent");
        };
        fake.fault("editMessageText", fault.clone());
        let update = port.send(
            "4242",
            OutboxClass::CardUpdate,
            OutboundBody::CardUpdate {
                approval: Box::new(approval()),
                external_ref: external_refs[0].clone(),
            },
        );
        port.wait_until("tried again", |ledger| {
            matches!(ledger.outcome(update), Some(SendOutcome::Sent { .. }))
        })
        .await;
        assert!(
            port.ledger()
                .ended
                .iter()
                .any(|(id, outcome)| *id == update && matches!(outcome, SendOutcome::Retry { .. })),
            "{fault:?}"
        );
        assert!(fake.messages(4242)[0].labels().is_empty());
        running.stop().await;
    }
}

#[tokio::test]
async fn a_failing_send_shows_in_health_until_one_succeeds() {
    let (fake, port, running) = connected().await;
    fake.change(|state| state.know_chat(4242));
    fake.fault("sendMessage", Fault::Server(503));
    let bad = port.say("4242", "lost?");
    port.outcome(bad).await;
    port.wait_until("degraded", |ledger| {
        ledger
            .last_health()
            .is_some_and(|health| health.state == ChannelState::Degraded)
    })
    .await;
    assert_eq!(port.ledger().last_health().unwrap().last_outbound_at, None);
    let good = port.say("4242", "fine");
    port.outcome(good).await;
    let health = port.ledger().last_health().cloned().unwrap();
    assert_eq!(health.state, ChannelState::Connected);
    assert!(health.last_outbound_at.is_some());
    running.stop().await;
}
