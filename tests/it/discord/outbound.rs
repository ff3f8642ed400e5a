//! What leaves: rendered, bounded, paced, and known for exactly what became of it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use leverframe::channels::discord::api::Api;
use leverframe::channels::discord::deliver::Deliverer;
use leverframe::channels::health::HealthLog;
use leverframe::channels::http::{CallError, HttpTimes};
use leverframe::channels::pacing::Pacing;
use leverframe::channels::platform::Platform as _;
use leverframe::client::channel_port::ChannelPort;
use leverframe::clock::Clock;
use leverframe::config::secret::Secret;
use leverframe::protocol::bridge::{FileRequest, OutboundBody, SendOutcome};
use leverframe::protocol::channel::{LengthUnit, SendIdempotency};
use leverframe::protocol::enums::{ChannelState, OutboxClass};
use serde_json::json;

use crate::discord::world::{CHANNEL, DIRECT, ada, connected, options, start};
use crate::support::fake_discord::state::State;
use crate::support::fake_discord::{FakeDiscord, Fault, TOKEN};
use crate::support::record;
use crate::telegram::port::{TestPort, approval, buttons};

fn is_sent(outcome: &SendOutcome) -> bool {
    matches!(outcome, SendOutcome::Sent { .. })
}

fn card(port: &TestPort, conversation: u64, long: bool) -> leverframe::protocol::ids::OutboxId {
    let mut approval = approval();
    if long {
        approval.args = json!({ "text": "_long_ ".repeat(2_000) });
    }
    port.send(
        &conversation.to_string(),
        OutboxClass::ApprovalCard,
        OutboundBody::Card {
            approval: Box::new(approval),
            buttons: buttons(),
        },
    )
}

/// What sends, without a connection to the gateway.
fn deliverer(fake: &FakeDiscord, port: &Arc<TestPort>) -> Deliverer {
    let times = HttpTimes {
        connect: Duration::from_secs(2),
        request: Duration::from_secs(2),
        download: Duration::from_millis(500),
    };
    let port = Arc::clone(port) as Arc<dyn ChannelPort>;
    Deliverer {
        api: Api::new(&fake.api_base(), Secret::new(TOKEN), Arc::default(), times).unwrap(),
        health: Arc::new(HealthLog::new(Arc::clone(&port), Clock::System)),
        port,
        pacing: Arc::new(Pacing::new(options().pacing)),
        interval: Duration::ZERO,
        direct: Arc::new(Mutex::new(HashMap::new())),
    }
}

#[tokio::test]
async fn a_message_has_a_key_mentions_nobody_and_answers_what_it_answers() {
    let (fake, port, running) = connected().await;
    let capabilities = port.ledger().capabilities.clone().unwrap();
    assert_eq!(capabilities.unit, LengthUnit::Chars);
    assert!(capabilities.max_length <= 2_000);
    let SendIdempotency::NativeKey { window_ms } = capabilities.idempotency else {
        panic!("Discord has keys");
    };
    assert!(window_ms.unwrap() <= 120_000);
    let asked = fake.user_says(CHANNEL, &ada(), "a question");
    let body = OutboundBody::Markdown {
        text: "**bold** @everyone <@1> and `code`".to_owned(),
    };
    let id = port.send_reply(
        &CHANNEL.to_string(),
        OutboxClass::Final,
        body,
        Some(&asked.to_string()),
    );
    assert!(is_sent(&port.outcome(id).await));
    let sent = fake.calls("send")[0].body.clone();
    assert_eq!(
        sent["allowed_mentions"],
        json!({ "parse": [], "replied_user": false })
    );
    assert_eq!(sent["content"], "**bold** @everyone \\<@1> and `code`");
    assert_eq!(
        (sent["enforce_nonce"].as_bool(), sent["flags"].as_u64()),
        (Some(true), Some(4))
    );
    assert!(sent["nonce"].as_str().unwrap().len() <= 25);
    assert_eq!(fake.messages(CHANNEL)[0].json["type"], 19, "a reply");

    // The message that it answers is gone, or is one of another channel.
    for odd in ["1", &asked.to_string()] {
        let body = OutboundBody::Markdown {
            text: "hi".to_owned(),
        };
        let id = port.send_reply(&DIRECT.to_string(), OutboxClass::Final, body, Some(odd));
        assert!(is_sent(&port.outcome(id).await));
    }
    running.stop().await;
    assert!(fake.state().violations.is_empty(), "{}", fake.story());
}

#[tokio::test]
async fn a_text_of_100_000_characters_arrives_whole_and_in_order() {
    let (fake, port, running) = connected().await;
    let words: Vec<String> = (0..11_200).map(|n| format!("w_{n:05}*")).collect();
    let text = words.join(" ");
    assert!(text.len() > 100_000);
    let id = port.say(&CHANNEL.to_string(), &text);
    let SendOutcome::Sent { external_refs } = port.outcome(id).await else {
        panic!("{:?}", port.ledger().outcome(id));
    };
    let messages = fake.messages(CHANNEL);
    assert_eq!(external_refs.len(), messages.len());
    let shown: Vec<String> = messages
        .iter()
        .flat_map(|message| {
            let text = message.text().replace('\\', "");
            text.split_whitespace()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        })
        .collect();
    assert_eq!(shown, words);
    running.stop().await;
}

#[tokio::test]
async fn every_way_a_send_can_end_is_known_for_what_it_is() {
    let cases: Vec<(Fault, &str, usize)> = vec![
        (Fault::ResetBefore, "unknown", 0),
        (Fault::ResetAfter, "unknown", 1),
        (Fault::CutBody, "unknown", 1),
        (Fault::NotJson, "unknown", 1),
        (Fault::Slow(Duration::from_secs(3)), "unknown", 1),
        (Fault::Server(500), "unknown", 0),
        (Fault::Server(503), "unknown", 0),
        (Fault::TooMany(30.0, false), "retry", 0),
        (Fault::Cloudflare(30), "retry", 0),
        (
            Fault::Refuse(403, 50_013, "Missing Permissions".to_owned()),
            "failed",
            0,
        ),
        (
            Fault::Refuse(403, 50_007, "Cannot send messages to this user".to_owned()),
            "failed",
            0,
        ),
        (
            Fault::Refuse(401, 0, format!("401: Unauthorized {TOKEN}")),
            "retry",
            0,
        ),
    ];
    for (fault, expected, messages) in cases {
        let (fake, port, running) = connected().await;
        fake.fault("send", fault.clone());
        let id = port.say(&CHANNEL.to_string(), "once");
        let (word, text) = match port.outcome(id).await {
            SendOutcome::Sent { .. } => ("sent", String::new()),
            SendOutcome::Shortened { .. } => ("shortened", String::new()),
            SendOutcome::Retry { error, .. } => ("retry", error),
            SendOutcome::Failed { error } => ("failed", error),
            SendOutcome::Unknown { detail } => ("unknown", detail),
        };
        assert_eq!(word, expected, "{fault:?}: {text}");
        assert!(!text.contains("MustNeverShow"), "{text}");
        fake.wait_until("the platform's side of it", |state: &State| {
            state.messages.len() == messages
        })
        .await;
        running.stop().await;
        assert!(fake.calls("send").len() <= 1, "{fault:?}: sent once");
        assert!(!format!("{:?}", port.ledger().health).contains("MustNeverShow"));
    }
}

#[tokio::test]
async fn a_send_whose_answer_was_lost_is_made_again_and_shows_once() {
    let fake = start();
    let port = TestPort::new();
    let deliverer = deliverer(&fake, &port);
    // One that takes three messages, the second of which gets no answer.
    let text = "word ".repeat(1_000);
    let id = port.say(&CHANNEL.to_string(), &text);
    let lease = port.next().await.unwrap();
    assert_eq!(lease.part().id, id);
    fake.fault("send", Fault::Slow(Duration::ZERO));
    fake.fault("send", Fault::ResetAfter);
    let first = deliverer.deliver(lease.part()).await;
    assert!(matches!(first, SendOutcome::Unknown { .. }), "{first:?}");
    assert_eq!(fake.messages(CHANNEL).len(), 2);
    let again = deliverer.deliver(lease.part()).await;
    let SendOutcome::Sent { external_refs } = &again else {
        panic!("{again:?}");
    };
    assert_eq!(external_refs.len(), 3);
    let messages = fake.messages(CHANNEL);
    assert_eq!(messages.len(), 3, "none is doubled");
    let words: usize = messages
        .iter()
        .map(|m| m.text().matches("word").count())
        .sum();
    assert_eq!(words, 1_000);
    record::fault(
        "discord-send-reset-after",
        "Discord took a message, then reset the connection",
        "sent again with the same key, seen once",
    );
}

#[tokio::test]
async fn the_limit_of_a_channel_is_kept_and_not_run_into() {
    let (fake, port, running) = connected().await;
    fake.change(|state| state.send_limit = (2, Duration::from_millis(400)));
    let began = Instant::now();
    let mut last = None;
    for n in 0..6 {
        last = Some(port.say(&CHANNEL.to_string(), &format!("{n}")));
    }
    let other = port.say(&DIRECT.to_string(), "not held up");
    assert!(is_sent(&port.outcome(other).await));
    assert!(is_sent(&port.outcome(last.unwrap()).await));
    assert!(began.elapsed() >= Duration::from_millis(750));
    let refused = fake
        .calls("send")
        .iter()
        .filter(|call| call.status == 429)
        .count();
    assert_eq!(refused, 0, "{}", fake.story());
    let texts: Vec<String> = fake.messages(CHANNEL).iter().map(|m| m.text()).collect();
    assert_eq!(texts, ["0", "1", "2", "3", "4", "5"]);
    running.stop().await;
}

#[tokio::test]
async fn a_limited_channel_rests_alone_and_a_limited_bot_rests_whole() {
    for (fault, other_waits) in [
        (Fault::TooMany(1.0, false), false),
        (Fault::TooMany(1.0, true), true),
        (Fault::Cloudflare(1), true),
    ] {
        let (fake, port, running) = connected().await;
        fake.fault("send", fault.clone());
        let limited = port.say(&CHANNEL.to_string(), "slow down");
        port.outcome(limited).await;
        let began = Instant::now();
        let other = port.say(&DIRECT.to_string(), "another");
        assert!(is_sent(&port.outcome(other).await));
        let waited = began.elapsed() >= Duration::from_millis(700);
        assert_eq!(waited, other_waits, "{fault:?}: {:?}", began.elapsed());
        port.wait_until("sent after the rest", |ledger| {
            ledger.outcome(limited).as_ref().is_some_and(is_sent)
        })
        .await;
        assert_eq!(fake.messages(CHANNEL).len(), 1);
        let seen = |port: &TestPort| {
            let ledger = port.ledger();
            ledger
                .health
                .iter()
                .any(|(health, _)| health.rate_limited_until.is_some())
        };
        assert!(seen(&port));
        running.stop().await;
    }
}

#[tokio::test]
async fn a_card_shows_everything_with_its_buttons_and_loses_them() {
    let (fake, port, running) = connected().await;
    let SendOutcome::Sent { external_refs } = port.outcome(card(&port, CHANNEL, false)).await
    else {
        panic!("the card is sent whole");
    };
    let shown = fake.messages(CHANNEL)[0].clone();
    assert_eq!(shown.labels(), ["Approve", "Deny"]);
    assert!(shown.text().contains("K7Q2MX") && shown.text().contains("--force origin"));
    assert!(!shown.text().contains("<b>the</b>"), "{}", shown.text());
    for fault in [Fault::Server(500), Fault::ResetAfter] {
        fake.fault("edit", fault);
        let update = port.send(
            &CHANNEL.to_string(),
            OutboxClass::CardUpdate,
            OutboundBody::CardUpdate {
                approval: Box::new(approval()),
                external_ref: external_refs[0].clone(),
            },
        );
        port.wait_until("tried again", |ledger| {
            ledger.outcome(update).as_ref().is_some_and(is_sent)
        })
        .await;
    }
    let shown = fake.messages(CHANNEL)[0].clone();
    assert!(shown.labels().is_empty() && shown.edits > 0);

    let long = port.outcome(card(&port, CHANNEL, true)).await;
    assert!(matches!(long, SendOutcome::Shortened { .. }), "{long:?}");
    assert_eq!(fake.messages(CHANNEL)[1].labels(), ["Deny"]);
    running.stop().await;
    assert!(fake.state().violations.is_empty(), "{}", fake.story());
}

#[tokio::test]
async fn somebody_who_is_asked_by_their_id_gets_it_in_their_direct_channel() {
    let (fake, port, running) = connected().await;
    let anna = 200;
    fake.change(|state| state.people.insert(anna));
    for _ in 0..2 {
        assert!(is_sent(&port.outcome(card(&port, anna, false)).await));
    }
    let direct = State::direct_of(anna);
    let shown = fake.messages(direct);
    assert_eq!(shown.len(), 2);
    assert_eq!(fake.calls("direct").len(), 1, "it is opened once");
    let update = port.send(
        &anna.to_string(),
        OutboxClass::CardUpdate,
        OutboundBody::CardUpdate {
            approval: Box::new(approval()),
            external_ref: shown[0].id.to_string(),
        },
    );
    assert!(is_sent(&port.outcome(update).await));
    assert!(fake.messages(direct)[0].labels().is_empty());
    // Somebody whom nobody knows.
    let lost = port.outcome(port.say("999", "hello?")).await;
    assert!(
        matches!(&lost, SendOutcome::Failed { error } if error.contains("10003") || error.contains("Unknown Channel")),
        "{lost:?}"
    );
    for odd in ["", "1/2", "general", "123456789012345678901"] {
        let outcome = port.outcome(port.say(odd, "nowhere")).await;
        assert!(matches!(outcome, SendOutcome::Failed { .. }), "{odd}");
    }
    running.stop().await;
}

#[tokio::test]
async fn typing_is_shown_now_and_then_and_never_where_it_is_limited() {
    let (fake, port, running) = connected().await;
    for _ in 0..5 {
        port.show_typing(&CHANNEL.to_string());
    }
    port.show_typing(&DIRECT.to_string());
    fake.wait_until("both channels", |state| {
        let of = |channel: u64| {
            let path = format!("/api/v10/channels/{channel}/typing");
            state.ledger.iter().any(|call| call.path == path)
        };
        of(CHANNEL) && of(DIRECT)
    })
    .await;
    assert_eq!(fake.calls("typing").len(), 2);
    running.stop().await;
}

#[tokio::test]
async fn a_progress_message_changes_and_goes() {
    let fake = start();
    let port = TestPort::new();
    let deliverer = deliverer(&fake, &port);
    let place = CHANNEL.to_string();
    assert!(deliverer.may_show_progress(&place));
    let shown = deliverer
        .show_progress(&place, None, "*thinking*")
        .await
        .unwrap();
    let same = deliverer.show_progress(&place, Some(&shown), "still").await;
    assert_eq!(same.as_ref(), Some(&shown));
    assert_eq!(fake.messages(CHANNEL)[0].text(), "still");
    fake.fault("edit", Fault::TooMany(5.0, false));
    let same = deliverer.show_progress(&place, Some(&shown), "later").await;
    assert_eq!(same.as_ref(), Some(&shown));
    deliverer
        .show_progress(&place, Some(&shown), "not while limited")
        .await;
    assert_eq!(fake.calls("edit").len(), 2);
    deliverer.remove_progress(&place, &shown).await;
    assert!(fake.messages(CHANNEL).is_empty());
}

#[tokio::test]
async fn a_file_is_found_again_by_its_message_and_the_token_stays_here() {
    let fake = start();
    let port = TestPort::new();
    let deliverer = deliverer(&fake, &port);
    let message = fake.user_sends_file(CHANNEL, &ada(), "", "a.txt", b"hello");
    let file = fake.state().messages[0].json["attachments"][0]["id"].clone();
    let request = |reference: String, max_bytes| FileRequest {
        id: 1,
        reference,
        max_bytes,
    };
    let reference = format!("{CHANNEL}/{message}/{}", file.as_str().unwrap());
    let content = deliverer.fetch(&request(reference.clone(), 100)).await;
    assert_eq!(content.unwrap(), b"hello");
    let code = |answer: Result<Vec<u8>, CallError>| match answer {
        Err(CallError::Refused { code, .. }) => code,
        other => panic!("{other:?}"),
    };
    assert_eq!(code(deliverer.fetch(&request(reference, 4)).await), 413);
    for odd in [
        format!("{CHANNEL}/{message}/1"),
        "1/2".to_owned(),
        "../../x/y/z".to_owned(),
    ] {
        assert_eq!(code(deliverer.fetch(&request(odd, 100)).await), 404);
    }
    assert!(fake.state().violations.is_empty(), "{}", fake.story());
}

#[tokio::test]
async fn a_file_that_never_comes_does_not_keep_the_next_one_away() {
    let fake = start();
    let deliverer = deliverer(&fake, &TestPort::new());
    let message = fake.user_sends_file(CHANNEL, &ada(), "", "a.txt", b"hello");
    let file = fake.state().messages[0].json["attachments"][0]["id"].clone();
    let request = FileRequest {
        id: 1,
        reference: format!("{CHANNEL}/{message}/{}", file.as_str().unwrap()),
        max_bytes: 100,
    };
    fake.fault("file", Fault::Slow(Duration::from_hours(1)));
    let fetching = tokio::time::timeout(Duration::from_secs(20), deliverer.fetch(&request));
    let stalled = fetching.await.expect("it is given up");
    assert!(
        matches!(stalled, Err(CallError::Lost { .. })),
        "{stalled:?}"
    );
    assert_eq!(deliverer.fetch(&request).await.unwrap(), b"hello");
}

#[tokio::test]
async fn a_failing_send_shows_in_health_until_one_succeeds() {
    let (fake, port, running) = connected().await;
    fake.fault("send", Fault::Server(503));
    let bad = port.say(&CHANNEL.to_string(), "lost?");
    port.outcome(bad).await;
    let state = |port: &TestPort| port.ledger().last_health().map(|health| health.state);
    assert_eq!(state(&port), Some(ChannelState::Degraded));
    let good = port.say(&CHANNEL.to_string(), "fine");
    port.outcome(good).await;
    assert_eq!(state(&port), Some(ChannelState::Connected));
    running.stop().await;
}
