//! Whether a send whose end nobody knows arrived.

use std::sync::Arc;
use std::time::{Duration, Instant};

use leverframe::channels::channel::Bridge as _;
use leverframe::protocol::artifact::{ArtifactHash, ArtifactRef, SentFile};
use leverframe::protocol::bridge::{Delivery, Outbound, OutboundBody};
use leverframe::protocol::channel::SendIdempotency;
use leverframe::protocol::enums::OutboxClass;
use leverframe::protocol::ids::OutboxId;
use serde_json::{Value, json};

use crate::slack::port::{bridge, bridge_with, ended, no_token_in, options, run_shared};
use crate::support::fake_slack::{ADA, ADA_DIRECT, APP_TOKEN, BOT_TOKEN, FakeSlack, Fault, TEAM};
use crate::telegram::port::{TestPort, key_of};

fn part(conversation: &str, body: OutboundBody) -> Outbound {
    Outbound {
        id: OutboxId::generate(),
        conversation: conversation.to_owned(),
        class: OutboxClass::Final,
        body,
        reply_to: None,
        idempotency_key: "0123456789abcdef01234567".to_owned(),
        attempts: 1,
    }
}

fn text(conversation: &str, text: &str) -> Outbound {
    let text = text.to_owned();
    part(conversation, OutboundBody::Markdown { text })
}

fn keyed(key: &str) -> Value {
    json!({ "event_type": "leverframe_part", "event_payload": { "key": key, "piece": 0 } })
}

#[tokio::test]
async fn a_send_that_arrived_is_found_by_its_key() {
    let fake = FakeSlack::start();
    let port = TestPort::new();
    let bridge = Arc::new(bridge(&fake));
    assert_eq!(
        bridge.capabilities().idempotency,
        SendIdempotency::Reconcile
    );
    let running = run_shared(&bridge, &port);
    for conversation in [TEAM, ADA_DIRECT, ADA] {
        fake.change(|state| state.messages.clear());
        fake.fault("chat.postMessage", Fault::ResetAfter);
        let id = port.say(conversation, "once");
        assert_eq!(ended(&port, id).await.0, "unknown");
        let channel = if conversation == ADA {
            ADA_DIRECT
        } else {
            conversation
        };
        let there = fake.messages(channel).pop().unwrap().ts;
        let mut sent = text(conversation, "once");
        sent.id = id;
        sent.idempotency_key = key_of(id);
        let began = Instant::now();
        let found = bridge.look_up(&sent).await;
        let Delivery::Sent { external_refs } = found else {
            panic!("{found:?}");
        };
        assert_eq!(external_refs, [there]);
        assert!(began.elapsed() < Duration::from_secs(5));
    }
    let root = fake.says(TEAM, ADA, "a topic");
    let thread = format!("{TEAM}/{root}");
    fake.fault("chat.postMessage", Fault::CutBody);
    let id = port.say(&thread, "in a thread");
    assert_eq!(ended(&port, id).await.0, "unknown");
    let mut sent = text(&thread, "in a thread");
    sent.idempotency_key = key_of(id);
    let found = bridge.look_up(&sent).await;
    assert!(matches!(found, Delivery::Sent { .. }), "{found:?}");
    running.stop().await;
    assert!(fake.state().violations.is_empty(), "{}", fake.story());
}

#[tokio::test]
async fn not_sent_is_said_only_when_nothing_can_arrive_any_more() {
    let fake = FakeSlack::start();
    let port = TestPort::new();
    let mut slow = options();
    slow.settle = Duration::from_millis(700);
    let bridge = Arc::new(bridge_with(&fake, (BOT_TOKEN, APP_TOKEN), slow));
    let running = run_shared(&bridge, &port);
    fake.says(TEAM, ADA, "others speak too");
    fake.fault("chat.postMessage", Fault::ResetBefore);
    let id = port.say(TEAM, "once");
    assert_eq!(ended(&port, id).await.0, "unknown");
    let lost = Instant::now();
    let mut sent = text(TEAM, "once");
    sent.id = id;
    assert_eq!(bridge.look_up(&sent).await, Delivery::NotSent);
    assert!(
        lost.elapsed() >= Duration::from_millis(600),
        "{:?}",
        lost.elapsed()
    );

    // What arrives late is found.
    let late = async {
        fake.wait_until("a first look", |state| {
            state
                .ledger
                .iter()
                .filter(|call| call.method == "conversations.history")
                .count()
                >= 3
        })
        .await;
        let message = json!({ "text": "once", "metadata": keyed("0123456789abcdef01234567") });
        fake.change(|state| state.bot_writes(TEAM, message))
    };
    fake.fault("chat.postMessage", Fault::ResetBefore);
    let again = port.say(TEAM, "once");
    assert_eq!(ended(&port, again).await.0, "unknown");
    sent.id = again;
    let (ts, found) = tokio::join!(late, bridge.look_up(&sent));
    assert_eq!(
        found,
        Delivery::Sent {
            external_refs: vec![ts]
        }
    );
    running.stop().await;
}

#[tokio::test]
async fn what_a_history_does_not_tell_is_unclear() {
    let fake = FakeSlack::start();
    let bridge = bridge(&fake);
    let sent = text(TEAM, "once");
    let unclear = async |words: &str| {
        let found = bridge.look_up(&sent).await;
        let Delivery::Unclear { detail } = &found else {
            panic!("{found:?}");
        };
        assert!(detail.contains(words), "{detail}");
        no_token_in(detail);
    };
    // Keys are not shown: the message may be there.
    fake.change(|state| {
        state.bot_writes(
            TEAM,
            json!({ "text": "once", "metadata": keyed("another") }),
        );
        state.hides_metadata = true;
    });
    unclear("shows no key").await;
    fake.change(|state| state.hides_metadata = false);
    // Its other pieces are missing.
    let long = "5 < 6 & 7 > 4 ".repeat(270);
    fake.change(|state| {
        state.bot_writes(
            TEAM,
            json!({ "text": "5", "metadata": keyed("0123456789abcdef01234567") }),
        )
    });
    let found = bridge.look_up(&text(TEAM, &long)).await;
    assert!(
        matches!(&found, Delivery::Unclear { detail } if detail.starts_with("1 of ")),
        "{found:?}"
    );
    fake.change(|state| state.messages.clear());
    // The conversation is longer than what is read.
    for n in 0..30 {
        fake.says(TEAM, ADA, &format!("message {n}"));
    }
    fake.change(|state| state.page = 1);
    unclear("too long").await;
    fake.change(|state| state.page = 1_000);
    fake.fault(
        "conversations.history",
        Fault::Word("missing_scope".to_owned()),
    );
    unclear("missing_scope").await;
    fake.fault("conversations.history", Fault::TooMany(60));
    unclear("wait 60 s").await;
    assert_eq!(bridge.look_up(&sent).await, Delivery::NotSent);
}

#[tokio::test]
async fn a_message_that_it_answers_bounds_the_look() {
    let fake = FakeSlack::start();
    let bridge = bridge(&fake);
    fake.change(|state| state.bot_writes(TEAM, json!({ "text": "long ago, without a key" })));
    let asked = fake.says(TEAM, ADA, "a question");
    let mut sent = text(TEAM, "an answer");
    sent.reply_to = Some(asked.clone());
    assert_eq!(bridge.look_up(&sent).await, Delivery::NotSent);
    assert_eq!(
        fake.calls("conversations.history")[0].params["oldest"],
        asked.as_str()
    );
}

#[tokio::test]
async fn times_of_ours_bound_a_look_only_where_the_clocks_agree() {
    let fake = FakeSlack::start();
    let bridge = bridge(&fake);
    let sent = text(TEAM, "once");
    assert_eq!(bridge.look_up(&sent).await, Delivery::NotSent);
    fake.change(|state| state.clock_ahead = -2 * 24 * 3_600);
    assert_eq!(bridge.look_up(&sent).await, Delivery::NotSent);
    let calls = fake.calls("conversations.history");
    let bound: Vec<Option<&str>> = calls
        .iter()
        .map(|call| call.params["oldest"].as_str())
        .collect();
    let (agree, differ) = bound.split_at(bound.len() - 1);
    assert!(agree[0].is_some() && differ[0].is_none(), "{bound:?}");
}

#[tokio::test]
async fn a_file_is_found_by_the_key_of_its_block() {
    let fake = FakeSlack::start();
    let bridge = bridge(&fake);
    let file = SentFile {
        artifact: ArtifactRef {
            hash: ArtifactHash::from_bytes([7; 32]),
            size: 3,
            media_type: "text/plain".to_owned(),
        },
        name: "a.txt".to_owned(),
    };
    let sent = part(TEAM, OutboundBody::File(file));
    assert_eq!(bridge.look_up(&sent).await, Delivery::NotSent);
    let shared = |id: &str, block: &str, size: u64| {
        json!({ "text": "", "files": [{ "id": id, "name": "a.txt", "size": size }],
            "blocks": [{ "type": "section", "block_id": block }] })
    };
    // Another part's, and a file of another size: neither is this one.
    fake.change(|state| {
        state.bot_writes(TEAM, shared("F1", "leverframe:another", 3));
        state.bot_writes(TEAM, shared("F2", "x", 4));
    });
    assert_eq!(bridge.look_up(&sent).await, Delivery::NotSent);
    fake.change(|state| state.bot_writes(TEAM, shared("F3", "made-by-slack", 3)));
    let found = bridge.look_up(&sent).await;
    assert!(matches!(found, Delivery::Unclear { .. }), "{found:?}");
    fake.change(|state| {
        state.bot_writes(TEAM, shared("F4", "leverframe:0123456789abcdef01234567", 3))
    });
    let external_refs = vec!["F4".to_owned()];
    assert_eq!(
        bridge.look_up(&sent).await,
        Delivery::Sent { external_refs }
    );
}
