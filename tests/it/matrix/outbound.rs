//! What the bot says arrives once, where it belongs, and mentions nobody.

use leverframe::protocol::bridge::{OutboundBody, SendOutcome};
use leverframe::protocol::channel::ChannelHealth;
use leverframe::protocol::enums::OutboxClass;
use serde_json::json;

use crate::matrix::bridging::{connected, run};
use crate::matrix::synapse::{Account, limited_synapse, synapse};
use crate::support::fault_proxy::{Fault, Proxy};
use crate::support::record;
use crate::telegram::port::{TestPort, approval, buttons};

const UNCHECKED: &str = "what goes out to Matrix";

fn refs(outcome: SendOutcome) -> Vec<String> {
    match outcome {
        SendOutcome::Sent { external_refs } | SendOutcome::Shortened { external_refs } => {
            external_refs
        }
        other => panic!("{other:?}"),
    }
}

/// Texts of the bot in a room.
async fn texts(reader: &Account, room: &str, bot: &Account) -> Vec<String> {
    let said = reader.said_by(room, bot).await;
    let bodies = said.iter().map(|event| event["content"]["body"].as_str());
    bodies.flatten().map(str::to_owned).collect()
}

#[tokio::test]
async fn markdown_arrives_as_a_notice_that_mentions_nobody() {
    let Some(server) = synapse(UNCHECKED) else {
        return;
    };
    let (bot, anna) = (server.user("bot").await, server.user("anna").await);
    let port = TestPort::new();
    let running = connected(server.url(), &bot, &port).await;
    let room = anna.direct_room(&bot).await;
    anna.sees_come(&room, &bot).await;
    let question = anna.say(&room, "hello").await;
    let text = format!("**hi** <b>@room</b> {} `x`\nsecond line", anna.user);
    let part = port.send_reply(
        &room,
        OutboxClass::Final,
        OutboundBody::Markdown { text },
        Some(&question),
    );
    let refs = refs(port.outcome(part).await);
    let event = anna.hears(&room, "second line").await;
    let id = event["event_id"].as_str().unwrap();
    assert_eq!(refs, [format!("{room}/{id}")]);
    let content = &event["content"];
    assert_eq!(content["msgtype"], "m.notice");
    assert_eq!(content["m.mentions"], json!({}));
    assert_eq!(
        content["formatted_body"],
        format!(
            "<b>hi</b> &lt;b&gt;@room&lt;/b&gt; {} <code>x</code><br>second line",
            anna.user
        )
    );
    assert_eq!(
        content["m.relates_to"],
        json!({ "m.in_reply_to": { "event_id": question } })
    );
    // An answer to a thread stays in it.
    let root = anna.say(&room, "a root").await;
    let part = port.say(&format!("{room}/{root}"), "in the thread");
    port.outcome(part).await;
    let event = anna.hears(&room, "in the thread").await;
    let relation = &event["content"]["m.relates_to"];
    assert_eq!(relation["rel_type"], "m.thread");
    assert_eq!(relation["event_id"], root.as_str());
    running.stop().await;
}

#[tokio::test]
async fn a_send_whose_answer_is_lost_is_unknown_and_the_next_try_shows_it_once() {
    let Some(server) = synapse(UNCHECKED) else {
        return;
    };
    let (bot, anna) = (server.user("bot").await, server.user("anna").await);
    let proxy = Proxy::start(server.url());
    let port = TestPort::new();
    let running = connected(proxy.url(), &bot, &port).await;
    let room = anna.direct_room(&bot).await;
    anna.sees_come(&room, &bot).await;
    for (fault, arrives) in [
        (Fault::ResetAfter, true),
        (Fault::CutBody, true),
        (Fault::ResetBefore, false),
        (Fault::Status(502, "{}"), false),
        (Fault::Silence, false),
        (Fault::Twice, true),
    ] {
        let said = format!("once, after {fault:?}");
        let twice = matches!(fault, Fault::Twice);
        proxy.fault("/send/m.room.message/", fault);
        let part = port.say(&room, &said);
        let outcome = port.outcome(part).await;
        if twice {
            assert!(matches!(outcome, SendOutcome::Sent { .. }), "{outcome:?}");
        } else {
            assert!(
                matches!(outcome, SendOutcome::Unknown { .. }),
                "{said}: {outcome:?}"
            );
            assert_eq!(texts(&anna, &room, &bot).await.contains(&said), arrives);
            // The engine repeats it under its key.
            port.again(part);
            port.wait_until("sent", |ledger| {
                matches!(ledger.outcome(part), Some(SendOutcome::Sent { .. }))
            })
            .await;
        }
        let all = texts(&anna, &room, &bot).await;
        let count = all.iter().filter(|text| **text == said).count();
        assert_eq!(count, 1, "{said}: {all:?}");
    }
    running.stop().await;
    record::fault(
        "matrix-lost-answer",
        "a send to Synapse is reset before or after it, cut off, failed, doubled, or never answered",
        "the room shows the message once, whatever happened to the answer",
    );
}

#[tokio::test]
async fn the_limits_of_the_homeserver_are_kept_and_nothing_is_lost() {
    let Some(server) = limited_synapse(UNCHECKED) else {
        return;
    };
    let (bot, anna) = (server.user("bot").await, server.user("anna").await);
    let port = TestPort::new();
    let running = connected(server.url(), &bot, &port).await;
    let room = anna.direct_room(&bot).await;
    anna.sees_come(&room, &bot).await;
    let parts: Vec<_> = (0..12)
        .map(|n| port.say(&room, &format!("part {n}")))
        .collect();
    for part in &parts {
        port.wait_until("sent", |ledger| {
            matches!(ledger.outcome(*part), Some(SendOutcome::Sent { .. }))
        })
        .await;
    }
    let mut expected: Vec<String> = (0..12).map(|n| format!("part {n}")).collect();
    let mut said = texts(&anna, &room, &bot).await;
    // Their order is the engine's to keep.
    expected.sort();
    said.sort();
    assert_eq!(said, expected);
    let ended = port.ledger().ended.clone();
    let retried = ended
        .iter()
        .filter(|(_, outcome)| matches!(outcome, SendOutcome::Retry { .. }))
        .count();
    assert!(
        (1..=4).contains(&retried),
        "asked {retried} times: {ended:?}"
    );
    let said_so =
        |(health, _): &(ChannelHealth, Option<String>)| health.rate_limited_until.is_some();
    assert!(port.ledger().health.iter().any(said_so));
    running.stop().await;
}

#[tokio::test]
async fn a_card_says_how_to_decide_and_is_edited_when_that_is_over() {
    let Some(server) = synapse(UNCHECKED) else {
        return;
    };
    let (bot, anna) = (server.user("bot").await, server.user("anna").await);
    let port = TestPort::new();
    let running = connected(server.url(), &bot, &port).await;
    let room = anna.direct_room(&bot).await;
    anna.sees_come(&room, &bot).await;
    let asked = Box::new(approval());
    let card = OutboundBody::Card {
        approval: asked.clone(),
        buttons: buttons(),
    };
    let part = port.send(&room, OutboxClass::ApprovalCard, card);
    let refs = refs(port.outcome(part).await);
    let shown = anna.hears(&room, "/approve K7Q2MX or /deny K7Q2MX").await;
    let content = &shown["content"];
    // A phone rings for it, and a token is nowhere.
    assert_eq!(content["msgtype"], "m.text");
    assert!(content["body"].as_str().unwrap().contains("✅ allows"));
    assert!(!shown.to_string().contains("t0ken"), "{shown}");
    // A reaction to it is the command; a reaction to anything else is none.
    let other = anna.say(&room, "Code: K7Q2MX. /approve K7Q2MX").await;
    anna.react(&room, &other, "✅").await;
    anna.react(&room, shown["event_id"].as_str().unwrap(), "❌")
        .await;
    port.wait_until("the command", |ledger| {
        ledger
            .texts()
            .last()
            .is_some_and(|text| text == "/deny K7Q2MX")
    })
    .await;
    assert!(
        !port
            .ledger()
            .texts()
            .iter()
            .any(|text| text == "/approve K7Q2MX")
    );

    let mut denied = asked;
    denied.state = leverframe::protocol::enums::ApprovalState::Denied;
    let update = OutboundBody::CardUpdate {
        approval: denied,
        external_ref: refs[0].clone(),
    };
    let part = port.send(&room, OutboxClass::CardUpdate, update);
    port.outcome(part).await;
    let edit = anna
        .wait(&room, "the outcome", |event| {
            event["content"]["m.relates_to"]["rel_type"] == "m.replace"
        })
        .await;
    assert_eq!(
        edit["content"]["m.relates_to"]["event_id"],
        shown["event_id"]
    );
    let now = edit["content"]["m.new_content"]["body"].as_str().unwrap();
    assert!(now.contains("Denied") && !now.contains("/approve"), "{now}");
    running.stop().await;
}

#[tokio::test]
async fn a_part_that_is_too_long_for_an_event_arrives_whole_and_once() {
    let Some(server) = synapse(UNCHECKED) else {
        return;
    };
    let (bot, anna) = (server.user("bot").await, server.user("anna").await);
    let port = TestPort::new();
    let running = connected(server.url(), &bot, &port).await;
    let room = anna.direct_room(&bot).await;
    anna.sees_come(&room, &bot).await;
    let words: Vec<String> = (0..10_000).map(|n| format!("word{n:05}")).collect();
    let part = port.say(&room, &words.join(" "));
    assert!(refs(port.outcome(part).await).len() > 1);
    let said = texts(&anna, &room, &bot).await.join(" ");
    let said: Vec<&str> = said.split_whitespace().collect();
    assert_eq!(said, words);
    // Each of these takes six bytes in an event, in both forms.
    let before = anna.said_by(&room, &bot).await.len();
    let long = "\"\u{1b}".repeat(12_000);
    let part = port.say(&room, &long);
    let count = refs(port.outcome(part).await).len();
    assert!(count > 1);
    let count = before + count;
    assert_eq!(anna.said_by(&room, &bot).await.len(), count);
    running.stop().await;
    port.again(part);
    let running = run(server.url(), &bot.token, &port);
    port.wait_until("sent again", |ledger| {
        ledger.ended.iter().filter(|(id, _)| *id == part).count() == 2
    })
    .await;
    assert_eq!(anna.said_by(&room, &bot).await.len(), count, "doubled");
    running.stop().await;
}

#[tokio::test]
async fn a_room_sees_that_the_bot_types_until_the_answer_is_there() {
    let Some(server) = synapse(UNCHECKED) else {
        return;
    };
    let (bot, anna) = (server.user("bot").await, server.user("anna").await);
    let proxy = Proxy::start(server.url());
    let port = TestPort::new();
    let running = connected(proxy.url(), &bot, &port).await;
    let room = anna.direct_room(&bot).await;
    anna.sees_come(&room, &bot).await;
    anna.say(&room, "hello").await;
    port.wait_until("hello", |ledger| ledger.texts() == ["hello"])
        .await;
    port.show_typing(&room);
    anna.wait_typing(&room, &[&bot.user]).await;
    let part = port.say(&room, "here I am");
    port.outcome(part).await;
    // It would go by itself some seconds later.
    assert_eq!(proxy.requests("/typing/").len(), 2);
    anna.wait_typing(&room, &[]).await;
    running.stop().await;
}
