//! What goes out: formatting, order, rates, and what is recorded when the answer is bad or missing.

use std::time::{Duration, Instant};

use leverframe::protocol::bridge::OutboundBody;
use leverframe::protocol::enums::{ApprovalState, ChannelState, OutboxClass};
use serde_json::{Value, json};

use crate::slack::port::{connected, connected_with, ended, no_token_in, options};
use crate::support::fake_slack::{ADA, ADA_DIRECT, FOREIGN, Fault, TEAM};
use crate::support::record;
use crate::telegram::port::{approval, buttons, key_of};

#[tokio::test]
async fn a_reply_goes_out_as_mrkdwn_with_its_key_and_mentions_nobody() {
    let (fake, port, running) = connected().await;
    let id = port.say(
        TEAM,
        "**bold** *it* ~~no~~ 1 < 2 & `code` [x](https://x.y/?a|b&c)\n\nand <!channel> <@U0ADA> @here\n\n\
         ```rust\nlet a = \"<b>\";\n```",
    );
    let (word, ts) = ended(&port, id).await;
    assert_eq!(word, "sent");
    let message = fake.messages(TEAM).remove(0);
    assert_eq!(message.ts, ts);
    assert_eq!(
        message.text,
        "*bold* _it_ ~no~ 1 &lt; 2 &amp; `code` <https://x.y/?a%7Cb&amp;c|x>\n\n\
         and &lt;!channel&gt; &lt;@U0ADA&gt; @here\n\n```\nlet a = \"&lt;b&gt;\";\n```"
    );
    assert_eq!(
        message.metadata,
        json!({ "event_type": "leverframe_part", "event_payload": { "key": key_of(id), "piece": 0 } })
    );
    let call = &fake.calls("chat.postMessage")[0].params;
    for (name, value) in [
        ("unfurl_links", false),
        ("unfurl_media", false),
        ("link_names", false),
    ] {
        assert_eq!(call[name], json!(value), "{name}");
    }
    assert_eq!(port.ledger().begun, [id], "the intent was recorded before");
    running.stop().await;
    assert!(fake.state().violations.is_empty(), "{}", fake.story());
}

#[tokio::test]
async fn a_reply_in_a_thread_stays_there_and_one_to_a_person_goes_to_the_direct_message() {
    let (fake, port, running) = connected().await;
    let root = fake.says(TEAM, ADA, "a topic");
    let in_thread = port.say(&format!("{TEAM}/{root}"), "here");
    ended(&port, in_thread).await;
    assert_eq!(
        fake.messages(TEAM)[0].thread.as_deref(),
        Some(root.as_str())
    );
    for text in ["first", "second"] {
        let id = port.say(ADA, text);
        assert_eq!(ended(&port, id).await.0, "sent");
    }
    assert_eq!(fake.messages(ADA_DIRECT).len(), 2);
    assert_eq!(fake.calls("conversations.open").len(), 1, "asked once");
    let nobody = port.say("U0NOBODY", "hello");
    let (word, why) = ended(&port, nobody).await;
    assert!(
        word == "failed" && why.contains("Copy member ID"),
        "{word} {why}"
    );
    running.stop().await;
    assert!(fake.state().violations.is_empty(), "{}", fake.story());
}

#[tokio::test]
async fn what_is_known_of_a_failed_send_is_what_is_recorded() {
    let word = |word: &str| Fault::Word(word.to_owned());
    // (fault, expected outcome, messages that exist at the platform afterwards)
    let cases: Vec<(Fault, &str, usize)> = vec![
        (Fault::Server(502), "unknown", 0),
        (Fault::ResetBefore, "unknown", 0),
        (Fault::ResetAfter, "unknown", 1),
        (Fault::CutBody, "unknown", 1),
        (Fault::NotJson, "unknown", 1),
        (Fault::Slow(Duration::from_secs(3)), "unknown", 1),
        (word("fatal_error"), "unknown", 0),
        (word("internal_error"), "unknown", 0),
        (Fault::TooMany(3600), "retry", 0),
        (word("ratelimited"), "retry", 0),
        (word("request_timeout"), "retry", 0),
        (word("token_revoked"), "retry", 0),
        (word("restricted_action"), "failed", 0),
        (word("some_new_word"), "failed", 0),
    ];
    for (fault, expected, messages) in cases {
        let (fake, port, running) = connected().await;
        fake.fault("chat.postMessage", fault.clone());
        let id = port.say(TEAM, "once");
        let (word, text) = ended(&port, id).await;
        assert_eq!(word, expected, "{fault:?}: {text}");
        no_token_in(&text);
        fake.wait_until("the platform's side of it", |state| {
            state.bot_messages(TEAM).len() == messages
        })
        .await;
        running.stop.cancel();
        let _ = running.task.await.unwrap();
        assert!(
            fake.calls("chat.postMessage").len() <= 1,
            "{fault:?}: never sent twice by itself"
        );
        no_token_in(&format!("{:?}", port.ledger().health));
    }
    let unknown = "recorded as unknown and looked up, never sent twice by itself";
    record::fault(
        "slack-send-reset-after",
        "Slack took the message, then reset the connection or broke off its answer",
        unknown,
    );
    record::fault(
        "slack-send-reset-before",
        "Slack reset the connection before it took the message",
        unknown,
    );
}

#[tokio::test]
async fn a_refusal_says_what_to_do() {
    let (fake, port, running) = connected().await;
    let ask = async |conversation: &str| {
        let id = port.say(conversation, "hello");
        ended(&port, id).await
    };
    let (word, why) = ask(FOREIGN).await;
    assert!(
        word == "failed" && why.contains("not_in_channel") && why.contains("/invite"),
        "{why}"
    );
    let (word, why) = ask("C0NONE").await;
    assert!(
        word == "failed" && why.contains("channel_not_found"),
        "{why}"
    );
    fake.change(|state| state.channels.get_mut(TEAM).unwrap().archived = true);
    let (word, why) = ask(TEAM).await;
    assert!(word == "failed" && why.contains("archived"), "{why}");
    fake.change(|state| state.scopes.retain(|scope| scope != "chat:write"));
    let (word, why) = ask(ADA_DIRECT).await;
    assert!(
        word == "failed" && why.contains("it needs chat:write") && why.contains("OAuth"),
        "{why}"
    );
    running.stop().await;
}

#[tokio::test]
async fn a_rate_limited_channel_rests_as_long_as_asked_and_others_go_on() {
    let (fake, port, running) = connected().await;
    fake.fault("chat.postMessage", Fault::TooMany(2));
    let began = Instant::now();
    let limited = port.say(TEAM, "slow down");
    port.outcome(limited).await;
    let other = port.say(ADA_DIRECT, "unaffected");
    assert_eq!(ended(&port, other).await.0, "sent");
    assert!(began.elapsed() < Duration::from_secs(2));
    port.wait_until("sent after the rest", |ledger| {
        matches!(
            ledger.outcome(limited),
            Some(leverframe::protocol::bridge::SendOutcome::Sent { .. })
        )
    })
    .await;
    let calls = fake.calls("chat.postMessage");
    assert!(calls[calls.len() - 1].at - calls[0].at >= Duration::from_millis(1_950));
    assert_eq!(fake.messages(TEAM).len(), 1);
    assert!(
        port.ledger()
            .health
            .iter()
            .any(|(health, _)| health.rate_limited_until.is_some())
    );
    running.stop().await;
}

#[tokio::test]
async fn messages_of_a_channel_keep_their_order_and_distance_and_channels_do_not_wait_for_each_other()
 {
    let mut paced = options();
    paced.rates.channel = Duration::from_millis(300);
    let (fake, port, running) = connected_with(paced).await;
    let mut last = None;
    for text in ["first", "second", "third"] {
        for channel in [TEAM, ADA_DIRECT] {
            last = Some(port.say(channel, text));
        }
    }
    ended(&port, last.unwrap()).await;
    for channel in [TEAM, ADA_DIRECT] {
        let calls: Vec<_> = fake
            .calls("chat.postMessage")
            .into_iter()
            .filter(|call| call.params["channel"] == channel)
            .collect();
        let texts: Vec<&Value> = calls.iter().map(|call| &call.params["text"]).collect();
        assert_eq!(texts, ["first", "second", "third"]);
        for pair in calls.windows(2) {
            // What is measured is when they arrive; the first can be late.
            assert!(pair[1].at - pair[0].at >= Duration::from_millis(150));
        }
    }
    running.stop().await;
}

#[tokio::test]
async fn a_text_that_its_markup_makes_too_long_arrives_whole_in_pieces() {
    let (fake, port, running) = connected().await;
    let text = "5 < 6 & 7 > 4 ".repeat(270);
    let id = port.say(TEAM, &text);
    let (word, refs) = ended(&port, id).await;
    let messages = fake.messages(TEAM);
    assert!(word == "sent" && messages.len() > 1);
    assert_eq!(refs.split(' ').count(), messages.len());
    let whole: Vec<String> = messages
        .iter()
        .flat_map(|message| {
            message
                .text
                .split_whitespace()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        })
        .collect();
    assert_eq!(whole.len(), text.split_whitespace().count());
    for (at, message) in messages.iter().enumerate() {
        assert_eq!(message.metadata["event_payload"]["piece"], at);
    }
    running.stop().await;
    assert!(fake.state().violations.is_empty(), "{}", fake.story());
}

#[tokio::test]
async fn a_card_is_shown_with_its_buttons_and_loses_them_when_it_is_decided() {
    let (fake, port, running) = connected().await;
    let card = |approval| OutboundBody::Card {
        approval: Box::new(approval),
        buttons: buttons(),
    };
    let id = port.send(TEAM, OutboxClass::ApprovalCard, card(approval()));
    let (word, ts) = ended(&port, id).await;
    assert_eq!(word, "sent");
    let shown = fake.messages(TEAM).remove(0);
    assert_eq!(
        shown.labels(),
        buttons()
            .iter()
            .map(|one| one.label.clone())
            .collect::<Vec<_>>()
    );
    assert!(
        shown.shows("*🔐 May `execute_command` run?*"),
        "{}",
        shown.seen()
    );
    assert!(
        shown.shows("program: \"git\" \"push\" \"--force origin\""),
        "{}",
        shown.seen()
    );
    assert!(
        shown.shows("&lt;b&gt;the&lt;/b&gt; branch"),
        "{}",
        shown.seen()
    );
    assert!(
        shown.text.contains("May `execute_command` run?"),
        "what a notification says: {}",
        shown.text
    );

    let mut decided = approval();
    decided.state = ApprovalState::Denied;
    let update = port.send(
        TEAM,
        OutboxClass::CardUpdate,
        OutboundBody::CardUpdate {
            approval: Box::new(decided),
            external_ref: ts,
        },
    );
    assert_eq!(ended(&port, update).await.0, "sent");
    let shown = fake.messages(TEAM).remove(0);
    assert!(
        shown.labels().is_empty() && shown.edits == 1 && shown.shows("*⛔ Denied*"),
        "{shown:?}"
    );
    running.stop().await;
    assert!(fake.state().violations.is_empty(), "{}", fake.story());
}

#[tokio::test]
async fn a_card_that_cannot_show_everything_offers_no_way_to_allow() {
    let (fake, port, running) = connected().await;
    for (size, whole) in [(4_000, true), (30_000, false)] {
        let mut huge = approval();
        huge.args = json!({ "text": "<&>".repeat(size / 3) });
        let id = port.send(
            TEAM,
            OutboxClass::ApprovalCard,
            OutboundBody::Card {
                approval: Box::new(huge),
                buttons: buttons(),
            },
        );
        let (word, why) = ended(&port, id).await;
        let shown = fake.messages(TEAM).pop().unwrap();
        // Escaped, 4 000 characters are 17 000: they do not fit either.
        assert_eq!(word, "shortened", "{size} {whole} {why}");
        assert_eq!(shown.labels(), ["Deny"]);
        assert!(shown.shows("full text in the console"));
    }
    let mut plain = approval();
    plain.args = json!({ "text": "y".repeat(4_000) });
    let id = port.send(
        TEAM,
        OutboxClass::ApprovalCard,
        OutboundBody::Card {
            approval: Box::new(plain),
            buttons: buttons(),
        },
    );
    assert_eq!(ended(&port, id).await.0, "sent");
    assert_eq!(
        fake.messages(TEAM).pop().unwrap().labels().len(),
        buttons().len()
    );
    running.stop().await;
    assert!(fake.state().violations.is_empty(), "{}", fake.story());
}

#[tokio::test]
async fn an_edit_is_tried_again_where_a_send_is_not() {
    for fault in [Fault::Server(500), Fault::ResetAfter] {
        let (fake, port, running) = connected().await;
        let card = port.send(
            TEAM,
            OutboxClass::ApprovalCard,
            OutboundBody::Card {
                approval: Box::new(approval()),
                buttons: buttons(),
            },
        );
        let (_, ts) = ended(&port, card).await;
        fake.fault("chat.update", fault.clone());
        let update = port.send(
            TEAM,
            OutboxClass::CardUpdate,
            OutboundBody::CardUpdate {
                approval: Box::new(approval()),
                external_ref: ts,
            },
        );
        port.wait_until("changed in the end", |ledger| {
            matches!(
                ledger.outcome(update),
                Some(leverframe::protocol::bridge::SendOutcome::Sent { .. })
            )
        })
        .await;
        assert!(fake.messages(TEAM)[0].labels().is_empty(), "{fault:?}");
        running.stop().await;
    }
}

#[tokio::test]
async fn typing_is_a_status_of_threads_and_is_not_asked_for_where_there_is_none() {
    let (fake, port, running) = connected().await;
    let root = fake.says(ADA_DIRECT, ADA, "to the assistant");
    let thread = format!("{ADA_DIRECT}/{root}");
    port.show_typing(ADA_DIRECT);
    port.show_typing(&thread);
    port.show_typing(&thread);
    fake.wait_until("a status", |state| !state.statuses.is_empty())
        .await;
    let other = fake.says(TEAM, ADA, "a topic");
    fake.fault(
        "assistant.threads.setStatus",
        Fault::Word("channel_not_found".to_owned()),
    );
    for _ in 0..3 {
        port.show_typing(&format!("{TEAM}/{other}"));
    }
    fake.wait_until("the refusal", |state| {
        state
            .ledger
            .iter()
            .filter(|call| call.method == "assistant.threads.setStatus")
            .count()
            == 2
    })
    .await;
    let sent = port.say(TEAM, "done");
    ended(&port, sent).await;
    running.stop().await;
    assert_eq!(fake.state().statuses, [(ADA_DIRECT.to_owned(), root)]);
    assert_eq!(fake.calls("assistant.threads.setStatus").len(), 2);
    assert_eq!(
        port.ledger().last_health().unwrap().state,
        ChannelState::Connected
    );
}
