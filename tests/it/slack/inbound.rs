//! What comes in: once, in its shape, and acknowledged only when it is durable.

use leverframe::channels::channel::ChannelError;
use leverframe::protocol::bridge::InboundBody;
use leverframe::protocol::enums::OutboxClass;
use serde_json::{Value, json};

use crate::slack::port::{addressed, all_acknowledged, bridge, connected, no_token_in, run};
use crate::support::fake_slack::{ADA, ADA_DIRECT, BEN, BOT, FakeSlack, TEAM};
use crate::telegram::port::{TestPort, approval, buttons};

#[tokio::test]
async fn a_direct_message_and_a_mention_come_in_once_each() {
    let (fake, port, running) = connected().await;
    let first = fake.says(ADA_DIRECT, ADA, "hello &amp; <https://x.y|welcome>");
    let second = fake.says(TEAM, BEN, &format!("<@{BOT}> what do <@{ADA}> &lt;3?"));
    fake.says(TEAM, BEN, "nothing for the bot");
    port.wait_until("all", |ledger| ledger.inbox.len() == 3)
        .await;
    all_acknowledged(&fake).await;
    {
        let ledger = port.ledger();
        let [direct, mention, other] = &ledger.inbox[..] else {
            panic!("{:#?}", ledger.inbox);
        };
        assert_eq!(
            direct.dedupe_key,
            format!("T0001/{BOT}:msg:{ADA_DIRECT}:{first}")
        );
        assert_eq!(direct.conversation, ADA_DIRECT);
        assert_eq!(direct.conversation_title.as_deref(), Some("Ada"));
        assert_eq!(direct.message_ref.as_deref(), Some(first.as_str()));
        let sender = direct.sender.as_ref().unwrap();
        assert_eq!(
            (sender.id.as_str(), sender.display.as_str(), sender.is_bot),
            (ADA, "Ada", false)
        );
        assert!(
            matches!(&direct.body, InboundBody::Text { text, direct: true, addressed: true, indirect: false, .. }
            if text == "hello & welcome (https://x.y)"),
            "{direct:?}"
        );
        assert_eq!(mention.message_ref.as_deref(), Some(second.as_str()));
        assert_eq!(mention.conversation_title.as_deref(), Some("#team"));
        assert!(
            matches!(&mention.body, InboundBody::Text { text, direct: false, addressed: true, .. }
            if text == "what do @Ada <3?"),
            "{mention:?}"
        );
        assert!(
            matches!(
                &other.body,
                InboundBody::Text {
                    addressed: false,
                    ..
                }
            ),
            "{other:?}"
        );
        assert_eq!(
            ledger.repeated, 0,
            "the mention did not even reach the store again"
        );
    }
    fake.repeat_last();
    all_acknowledged(&fake).await;
    running.stop().await;
    assert_eq!(port.ledger().inbox.len(), 3);
    assert_eq!(fake.state().acks.len(), 5);
    assert_eq!(fake.state().closed, [1000], "the socket ends with a word");
    assert!(fake.state().violations.is_empty(), "{}", fake.story());
}

#[tokio::test]
async fn what_cannot_be_stored_is_not_acknowledged_and_comes_again() {
    let fake = FakeSlack::start();
    let port = TestPort::new();
    port.change(|ledger| "fail".clone_into(&mut ledger.ingest_script));
    let running = run(bridge(&fake), &port);
    fake.says(ADA_DIRECT, ADA, "hello");
    let error = running.error().await;
    assert!(matches!(error, ChannelError::Transient { .. }), "{error}");
    assert!(fake.state().acks.is_empty(), "{}", fake.story());
    let running = run(bridge(&fake), &port);
    port.wait_until("stored", |ledger| ledger.texts() == ["hello"])
        .await;
    all_acknowledged(&fake).await;
    running.stop().await;
}

#[tokio::test]
async fn a_death_between_the_commit_and_the_acknowledgement_doubles_nothing() {
    let fake = FakeSlack::start();
    let port = TestPort::new();
    port.change(|ledger| "store-and-hang".clone_into(&mut ledger.ingest_script));
    let running = run(bridge(&fake), &port);
    fake.says(ADA_DIRECT, ADA, "hello");
    port.wait_until("stored", |ledger| ledger.texts() == ["hello"])
        .await;
    assert!(fake.state().acks.is_empty());
    running.kill().await;
    fake.wait_until("the socket is gone", |state| state.sockets.is_empty())
        .await;
    let running = run(bridge(&fake), &port);
    all_acknowledged(&fake).await;
    assert_eq!(port.ledger().inbox.len(), 1);
    assert!(port.ledger().repeated >= 1);
    running.stop().await;
}

#[tokio::test]
async fn what_can_never_be_stored_is_shown_and_blocks_nothing() {
    let (fake, port, running) = connected().await;
    port.change(|ledger| "invalid".clone_into(&mut ledger.ingest_script));
    fake.says(ADA_DIRECT, ADA, "poison");
    fake.says(ADA_DIRECT, ADA, "medicine");
    port.wait_until("the next", |ledger| ledger.texts() == ["medicine"])
        .await;
    all_acknowledged(&fake).await;
    let health = port.ledger().last_health().cloned().unwrap();
    assert!(health.detail.unwrap().contains("could not be stored"));
    running.stop().await;
}

#[tokio::test]
async fn edits_and_own_messages_are_no_prompts_and_other_bots_are_marked() {
    let (fake, port, running) = connected().await;
    let own = port.say(TEAM, "I am the bot");
    port.outcome(own).await;
    fake.event(
        json!({ "type": "message", "subtype": "message_changed", "channel": TEAM, "ts": "9.000000",
        "message": { "user": BOT, "bot_id": "B0BOT", "ts": "1.000000", "text": "own edit" } }),
    );
    fake.event(
        json!({ "type": "message", "subtype": "message_changed", "channel": TEAM, "ts": "9.000000",
        "message": { "user": ADA, "ts": "1.000000", "text": "other" } }),
    );
    fake.event(
        json!({ "type": "message", "subtype": "message_deleted", "channel": TEAM, "ts": "9.000001",
        "previous_message": { "user": ADA, "ts": "1.000000", "text": "other" } }),
    );
    fake.sends(
        TEAM,
        "U0CI",
        json!({ "bot_id": "B0CI", "text": format!("<@{BOT}> build failed") }),
    );
    fake.event(
        json!({ "type": "message", "subtype": "bot_message", "channel": TEAM, "ts": "10.000000",
        "bot_id": "B0HOOK", "username": "hook", "text": "from a webhook" }),
    );
    fake.event(
        json!({ "type": "message", "subtype": "channel_join", "channel": TEAM, "ts": "11.000000",
        "user": ADA, "text": "<@U0ADA> has joined the channel" }),
    );
    all_acknowledged(&fake).await;
    running.stop().await;
    let ledger = port.ledger();
    let seen: Vec<String> = ledger
        .inbox
        .iter()
        .map(|inbound| match &inbound.body {
            InboundBody::Other { what } => what.clone(),
            InboundBody::Text { text, .. } => {
                let sender = inbound.sender.as_ref().unwrap();
                format!("{} {} {text}", sender.display, sender.is_bot)
            }
            body => panic!("{body:?}"),
        })
        .collect();
    assert_eq!(
        seen,
        [
            "an edit of a message",
            "a message was deleted",
            "U0CI true build failed",
            "hook true from a webhook",
            "somebody joined",
        ]
    );
}

#[tokio::test]
async fn a_thread_in_which_somebody_spoke_to_us_needs_no_more_mentions_and_a_restart_keeps_that() {
    let (fake, port, running) = connected().await;
    let root = fake.says(TEAM, ADA, "an old topic");
    let reply = |text: &str| fake.sends(TEAM, BEN, json!({ "thread_ts": root, "text": text }));
    reply("among us");
    reply(&format!("<@{BOT}> join in"));
    reply("and now?");
    port.wait_until("all", |ledger| ledger.inbox.len() == 4)
        .await;
    running.stop().await;
    let conversation = format!("{TEAM}/{root}");
    assert_eq!(port.ledger().inbox[2].conversation, conversation);
    assert!(
        port.ledger()
            .cursor
            .as_deref()
            .unwrap()
            .contains(&conversation)
    );

    let running = run(bridge(&fake), &port);
    reply("still there?");
    // A thread below a message of ours is ours as well.
    let own = port.say(TEAM, "a statement");
    port.outcome(own).await;
    let ours = fake.messages(TEAM)[0].ts.clone();
    fake.sends(TEAM, ADA, json!({ "thread_ts": ours, "text": "why?" }));
    port.wait_until("all", |ledger| ledger.inbox.len() == 6)
        .await;
    running.stop().await;
    let said = |text: &str, ours| (text.to_owned(), ours);
    assert_eq!(
        addressed(&port.ledger()),
        [
            said("an old topic", false),
            said("among us", false),
            said("join in", true),
            said("and now?", true),
            said("still there?", true),
            said("why?", true),
        ]
    );
}

#[tokio::test]
async fn forwarded_and_edited_words_are_indirect() {
    let (fake, port, running) = connected().await;
    fake.sends(ADA_DIRECT, ADA, json!({ "text": "do this", "attachments": [
        { "is_share": true, "is_msg_unfurl": true, "text": "delete &lt;all&gt;\nnow", "author_id": "U0X" },
        { "fallback": "a preview of a page" },
    ] }));
    fake.sends(
        ADA_DIRECT,
        ADA,
        json!({ "text": "later", "edited": { "user": ADA, "ts": "1.000000" } }),
    );
    port.wait_until("both", |ledger| ledger.inbox.len() == 2)
        .await;
    for inbound in &port.ledger().inbox {
        assert!(
            matches!(&inbound.body, InboundBody::Text { indirect: true, .. }),
            "{inbound:?}"
        );
    }
    assert_eq!(
        port.ledger().texts(),
        ["do this\n> delete <all>\n> now", "later"]
    );
    running.stop().await;
}

#[tokio::test]
async fn a_click_carries_the_acting_user_and_the_answer_is_seen_by_nobody_else() {
    let (fake, port, running) = connected().await;
    let card = port.send(
        TEAM,
        OutboxClass::ApprovalCard,
        leverframe::protocol::bridge::OutboundBody::Card {
            approval: Box::new(approval()),
            buttons: buttons(),
        },
    );
    port.outcome(card).await;
    let ts = fake.messages(TEAM)[0].ts.clone();
    port.change(|ledger| ledger.feedback = Some("Not <you>".to_owned()));
    fake.clicks(TEAM, &ts, "Approve", "U0MALLORY");
    fake.clicks(TEAM, &ts, "Deny", ADA);
    port.wait_until("both", |ledger| ledger.inbox.len() == 2)
        .await;
    fake.wait_until("both told", |state| state.ephemeral.len() == 2)
        .await;
    {
        let ledger = port.ledger();
        let clicks: Vec<(&str, &str, &str)> = ledger
            .inbox
            .iter()
            .map(|inbound| {
                assert_eq!(inbound.conversation, TEAM);
                assert_eq!(inbound.message_ref.as_deref(), Some(ts.as_str()));
                match &inbound.body {
                    InboundBody::Click { token } => {
                        let sender = inbound.sender.as_ref().unwrap();
                        (sender.id.as_str(), sender.display.as_str(), token.as_str())
                    }
                    body => panic!("{body:?}"),
                }
            })
            .collect();
        assert_eq!(
            clicks,
            [
                ("U0MALLORY", "u0mallory", "t0kenApprove"),
                (ADA, "u0ada", "t0kenDeny")
            ]
        );
    }
    let mut told = fake.state().ephemeral.clone();
    told.sort();
    let told_one = |user: &str| {
        (
            TEAM.to_owned(),
            user.to_owned(),
            "Not &lt;you&gt;".to_owned(),
        )
    };
    assert_eq!(told, [told_one(ADA), told_one("U0MALLORY")]);
    running.stop().await;
    assert!(fake.state().violations.is_empty(), "{}", fake.story());
}

#[tokio::test]
async fn a_command_is_acknowledged_with_what_was_understood() {
    let (fake, port, running) = connected().await;
    for (command, text) in [
        ("/leverframe", "status"),
        ("/leverframe", "/deny K7Q2MX not &lt;today&gt;"),
        ("/leverframe", "what is new with <@U0BEN|ben>?"),
        ("/leverframe", ""),
        ("/approve", "K7Q2MX"),
    ] {
        fake.commands(TEAM, ADA, command, text);
    }
    port.wait_until("all", |ledger| ledger.inbox.len() == 5)
        .await;
    all_acknowledged(&fake).await;
    let expected = [
        "/status",
        "/deny K7Q2MX not <today>",
        "what is new with @ben?",
        "/help",
        "/approve K7Q2MX",
    ];
    assert_eq!(port.ledger().texts(), expected);
    assert!(addressed(&port.ledger()).iter().all(|(_, ours)| *ours));
    let acks = fake.state().acks.clone();
    for (at, text) in expected.iter().enumerate() {
        let said = acks[at].1["text"].as_str().unwrap();
        let escaped = text.replace('<', "&lt;").replace('>', "&gt;");
        assert_eq!(said, format!("Received: {escaped}"));
        assert_eq!(acks[at].1["response_type"], "ephemeral");
    }
    running.stop().await;
}

#[tokio::test]
async fn payloads_of_any_shape_are_recorded_or_passed_over_and_what_follows_is_heard() {
    let (fake, port, running) = connected().await;
    let events: Vec<Value> = vec![
        json!({}),
        json!(null),
        json!([1, 2]),
        json!({ "type": "reaction_added", "user": ADA }),
        json!({ "type": "message" }),
        json!({ "type": "message", "channel": TEAM }),
        json!({ "type": "message", "channel": 7, "ts": {}, "text": [] }),
        json!({ "type": "message", "channel": TEAM, "ts": "12.000000" }),
        json!({ "type": "message", "channel": TEAM, "ts": "not a time", "text": "odd", "user": null, "files": 3 }),
        json!({ "type": "message", "channel": TEAM, "ts": "13.000000", "subtype": "x\u{202e}y", "text": "?" }),
        json!({ "type": "assistant_thread_started", "assistant_thread": { "user_id": ADA, "channel_id": ADA_DIRECT,
            "thread_ts": "14.000000" } }),
        json!({ "type": 7 }),
    ];
    let count = events.len();
    for event in &events {
        fake.event(event.clone());
    }
    fake.change(|state| {
        state.push(
            "interactive",
            &json!({ "type": "view_submission", "user": { "id": ADA } }),
            false,
        );
        state.push(
            "interactive",
            &json!({ "type": "block_actions", "actions": [] }),
            false,
        );
        state.push("interactive", &Value::Null, false);
        state.push("new_kind", &json!({ "a": 1 }), false);
    });
    for text in [
        "",
        "{",
        "[]",
        "{\"type\":\"hello\"}",
        "{\"type\":\"something\"}",
    ] {
        fake.frame(text);
    }
    fake.says(ADA_DIRECT, ADA, "and on");
    port.wait_until("the last", |ledger| {
        ledger.texts().contains(&"and on".to_owned())
    })
    .await;
    all_acknowledged(&fake).await;
    assert!(port.ledger().inbox.len() <= count + 5);
    assert!(
        port.ledger()
            .inbox
            .iter()
            .all(|one| !format!("{:?}", one.body).contains('\u{202e}'))
    );
    running.stop().await;
    assert!(fake.state().violations.is_empty(), "{}", fake.story());
}

#[tokio::test]
async fn without_names_messages_come_in_with_ids_and_health_says_what_is_missing() {
    let fake = FakeSlack::start();
    fake.change(|state| state.scopes.retain(|scope| scope != "users:read"));
    let port = TestPort::new();
    let running = run(bridge(&fake), &port);
    fake.says(ADA_DIRECT, ADA, "hello");
    port.wait_until("stored", |ledger| ledger.texts() == ["hello"])
        .await;
    assert_eq!(port.ledger().inbox[0].sender.as_ref().unwrap().display, ADA);
    port.wait_until("the reason", |ledger| {
        let detail = ledger
            .last_health()
            .and_then(|health| health.detail.clone());
        detail.is_some_and(|detail| {
            detail.contains("users.info") && detail.contains("it needs users:read")
        })
    })
    .await;
    // Asked once, and not for each message.
    fake.says(ADA_DIRECT, ADA, "again");
    port.wait_until("stored", |ledger| ledger.texts().len() == 2)
        .await;
    assert_eq!(fake.calls("users.info").len(), 1);
    running.stop().await;
    no_token_in(&format!("{:?}", port.ledger().health));
}
