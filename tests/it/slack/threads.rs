//! Threads whose beginning the bot does not know: the right conversation, nothing lost, nothing twice.

use std::sync::Arc;

use leverframe::protocol::bridge::{Inbound, InboundBody};
use serde_json::json;

use crate::slack::port::{addressed, all_acknowledged, bridge, connected, ended, run};
use crate::support::fake_slack::{ADA, BEN, BOT, FakeSlack, TEAM};
use crate::telegram::port::TestPort;

/// From before the bot was there.
const OLD: &str = "1500000000.000100";

fn texts_in(port: &TestPort, conversation: &str) -> Vec<String> {
    let text = |inbound: &Inbound| match &inbound.body {
        InboundBody::Text { text, .. } if inbound.conversation == conversation => {
            Some(text.clone())
        }
        InboundBody::Text { .. }
        | InboundBody::Click { .. }
        | InboundBody::Media { .. }
        | InboundBody::Other { .. } => None,
    };
    port.ledger().inbox.iter().filter_map(text).collect()
}

/// A bridge that heard one message of the channel, and went.
async fn away() -> (FakeSlack, Arc<TestPort>, String) {
    let (fake, port, running) = connected().await;
    let root = fake.says(TEAM, BEN, "a topic of before");
    port.wait_until("heard", |ledger| ledger.inbox.len() == 1)
        .await;
    all_acknowledged(&fake).await;
    running.stop().await;
    fake.wait_until("gone", |state| state.sockets.is_empty())
        .await;
    fake.change(|state| state.forgets = true);
    (fake, port, root)
}

#[tokio::test]
async fn a_thread_from_before_the_bot_becomes_a_conversation_once_somebody_mentions_it_there() {
    let (fake, port, running) = connected().await;
    let reply = |text: &str| fake.sends(TEAM, BEN, json!({ "thread_ts": OLD, "text": text }));
    reply("among us");
    reply(&format!("<@{BOT}> what do you think?"));
    reply("well?");
    port.wait_until("all", |ledger| ledger.inbox.len() == 3)
        .await;
    let said = |text: &str, ours| (text.to_owned(), ours);
    assert_eq!(
        addressed(&port.ledger()),
        [
            said("among us", false),
            said("what do you think?", true),
            said("well?", true)
        ]
    );
    let conversation = format!("{TEAM}/{OLD}");
    assert_eq!(texts_in(&port, &conversation).len(), 3);
    let answer = port.say(&conversation, "this");
    assert_eq!(ended(&port, answer).await.0, "sent");
    assert_eq!(fake.messages(TEAM)[0].thread.as_deref(), Some(OLD));
    assert_eq!(
        port.ledger().repeated,
        0,
        "message and mention are one item"
    );
    running.stop().await;
    assert!(fake.state().violations.is_empty(), "{}", fake.story());
}

#[tokio::test]
async fn a_reply_that_is_sent_to_the_channel_too_is_one_message_of_its_thread() {
    let (fake, port, root) = away().await;
    let broadcast = |text: &str| {
        let extra = json!({ "thread_ts": root, "subtype": "thread_broadcast", "text": text });
        fake.sends(TEAM, ADA, extra)
    };
    broadcast(&format!("<@{BOT}> missed"));
    let running = run(bridge(&fake), &port);
    port.wait_until("the missed one", |ledger| ledger.inbox.len() == 2)
        .await;
    broadcast("live");
    port.wait_until("the live one", |ledger| ledger.inbox.len() == 3)
        .await;
    // Slack tells the channel that its message has a reply.
    fake.event(
        json!({ "type": "message", "subtype": "message_replied", "channel": TEAM,
        "ts": "9.000000", "message": { "user": BEN, "ts": root, "thread_ts": root } }),
    );
    all_acknowledged(&fake).await;
    running.stop().await;
    let running = run(bridge(&fake), &port);
    fake.says(TEAM, ADA, "and on");
    port.wait_until("the next", |ledger| {
        ledger.texts().last().map(String::as_str) == Some("and on")
    })
    .await;
    running.stop().await;
    let conversation = format!("{TEAM}/{root}");
    assert_eq!(texts_in(&port, &conversation), ["missed", "live"]);
    let said = addressed(&port.ledger());
    assert!(said.contains(&("live".to_owned(), true)), "{said:?}");
}

#[tokio::test]
async fn what_unknown_threads_said_while_away_is_read_in_order_and_once() {
    let (fake, port, before) = away().await;
    let reply = |root: &str, text: &str| {
        let extra = json!({ "thread_ts": root, "text": text });
        fake.sends(TEAM, BEN, extra);
    };
    reply(&before, "an old thread goes on");
    let root = fake.says(TEAM, ADA, "a new topic");
    reply(&root, &format!("<@{BOT}> do you know?"));
    reply(&before, &format!("<@{BOT}> and you?"));
    reply(&root, "please");
    fake.change(|state| state.page = 2);
    let expected = [
        "a topic of before",
        "an old thread goes on",
        "a new topic",
        "do you know?",
        "and you?",
        "please",
    ];
    // Once, dying in the middle of it: the first of them is stored, and nobody knows that.
    port.change(|ledger| "store-and-hang".clone_into(&mut ledger.ingest_script));
    let running = run(bridge(&fake), &port);
    port.wait_until("one of them", |ledger| ledger.inbox.len() == 2)
        .await;
    running.kill().await;
    let running = run(bridge(&fake), &port);
    port.wait_until("all", |ledger| ledger.texts() == expected)
        .await;
    // Live again, and the threads are known.
    reply(&root, "thanks");
    port.wait_until("live", |ledger| ledger.inbox.len() == expected.len() + 1)
        .await;
    running.stop().await;
    let in_new = texts_in(&port, &format!("{TEAM}/{root}"));
    assert_eq!(in_new, ["do you know?", "please", "thanks"]);
    let in_old = texts_in(&port, &format!("{TEAM}/{before}"));
    assert_eq!(in_old, ["an old thread goes on", "and you?"]);
    let ours: Vec<String> = addressed(&port.ledger())
        .into_iter()
        .filter_map(|(text, ours)| ours.then_some(text))
        .collect();
    assert_eq!(ours, ["do you know?", "and you?", "please", "thanks"]);
    assert!(fake.state().violations.is_empty(), "{}", fake.story());
}

#[tokio::test]
async fn a_thread_whose_first_message_is_deleted_goes_on_and_a_refusal_is_shown() {
    let (fake, port, running) = connected().await;
    let root = fake.says(TEAM, ADA, &format!("<@{BOT}> hello"));
    fake.sends(
        TEAM,
        BEN,
        json!({ "thread_ts": root, "text": format!("<@{BOT}> here") }),
    );
    port.wait_until("both", |ledger| ledger.inbox.len() == 2)
        .await;
    fake.change(|state| {
        state.messages.retain(|(_, message)| message["ts"] != root);
        state.push_event(&json!({ "type": "message", "subtype": "message_deleted", "channel": TEAM,
            "ts": "9.000000", "deleted_ts": root, "previous_message": { "user": ADA, "ts": root } }));
    });
    fake.sends(
        TEAM,
        BEN,
        json!({ "thread_ts": root, "text": "still here" }),
    );
    port.wait_until("the reply", |ledger| {
        ledger.texts().contains(&"still here".to_owned())
    })
    .await;
    let conversation = format!("{TEAM}/{root}");
    assert_eq!(texts_in(&port, &conversation), ["here", "still here"]);
    let answer = port.say(&conversation, "an answer");
    assert_eq!(ended(&port, answer).await.0, "sent");
    assert_eq!(fake.messages(TEAM)[0].thread.as_deref(), Some(&*root));
    let word = crate::support::fake_slack::Fault::Word("cannot_reply_to_message".to_owned());
    fake.fault("chat.postMessage", word);
    let refused = port.say(&conversation, "not there");
    let (how, why) = ended(&port, refused).await;
    assert_eq!(
        how, "failed",
        "it is in the list of deliveries, for a person: {why}"
    );
    assert!(why.contains("cannot_reply_to_message"), "{why}");
    running.stop().await;
}
