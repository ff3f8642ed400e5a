//! What people and platforms do on a bad day, where no suite of a platform shows it: a token that is taken back, a week of
//! messages at once, questions that vanish while they are answered, other names, very long texts.

use leverframe::channels::channel::ChannelError;
use leverframe::protocol::bridge::SendOutcome;
use leverframe::protocol::enums::{ChannelState, OutboxClass};
use serde_json::json;

use crate::discord::world::{self as discord_world, CHANNEL, DIRECT};
use crate::slack;
use crate::stories::bot::WRITE;
use crate::support::daemon::Home;
use crate::support::fake_discord::{self, FakeDiscord};
use crate::support::fake_slack::{self, ADA, ADA_DIRECT, FakeSlack};
use crate::support::fake_telegram::{self, FakeTelegram, Fault};
use crate::telegram::port::{self, TestPort};
use crate::webhooks;

/// What a week away leaves.
const WEEK: usize = 10_000;

/// Ids and names of who wrote, in order.
fn senders(port: &TestPort) -> Vec<(String, String)> {
    let ledger = port.ledger();
    let senders = ledger
        .inbox
        .iter()
        .filter_map(|inbound| inbound.sender.as_ref());
    senders
        .map(|sender| (sender.id.clone(), sender.display.clone()))
        .collect()
}

#[tokio::test]
async fn a_telegram_token_that_is_revoked_while_it_runs_stops_the_channel() {
    let (fake, port, running) = port::connected().await;
    fake.change(|state| "123456789:AAanother".clone_into(&mut state.token));
    // The poll that waits ends, and the next one is refused.
    fake.user_says(4_242, &port::ada(), "before");
    let error = running.error().await;
    assert!(
        matches!(&error, ChannelError::Fatal { fix, .. } if fix.contains("@BotFather")),
        "{error}"
    );
    assert_eq!(port.ledger().texts(), ["before"]);
    assert!(!format!("{error:?} {:?}", port.ledger().health).contains("MustNeverShow"));
}

#[tokio::test]
async fn a_bot_that_was_removed_from_a_telegram_group_says_why_nothing_is_delivered() {
    let (fake, port, running) = port::connected().await;
    fake.raw_update(
        json!({ "my_chat_member": { "chat": { "id": -5, "type": "group" },
        "from": { "id": 7, "is_bot": false, "first_name": "Mod" }, "date": 1,
        "new_chat_member": { "status": "kicked" } } }),
    );
    let words = "Forbidden: bot was kicked from the group chat";
    fake.fault("sendMessage", Fault::Refuse(403, words.to_owned()));
    let part = port.say("-5", "nobody hears this");
    let outcome = port.outcome(part).await;
    assert!(
        matches!(&outcome, SendOutcome::Failed { error } if error.contains("kicked")),
        "{outcome:?}"
    );
    port.wait_until("the change is recorded", |ledger| {
        format!("{:?}", ledger.inbox).contains("our membership changed to `kicked`")
    })
    .await;
    running.stop().await;
}

#[tokio::test]
async fn a_telegram_message_that_is_gone_is_answered_all_the_same() {
    let (fake, port, running) = port::connected().await;
    fake.change(|state| state.know_chat(4_242));
    let body = leverframe::protocol::bridge::OutboundBody::Markdown {
        text: "an answer".to_owned(),
    };
    let part = port.send_reply("4242", OutboxClass::Final, body, Some("987654"));
    let outcome = port.outcome(part).await;
    assert!(matches!(outcome, SendOutcome::Sent { .. }), "{outcome:?}");
    assert_eq!(fake.messages(4_242).len(), 1);
    running.stop().await;
}

/// What the health says in the middle of the way, and that it says nothing at its end.
async fn reading_was_shown(port: &TestPort, words: &str) {
    port.wait_until("nothing is missed any more", |ledger| {
        let last = ledger.last_health();
        last.is_some_and(|health| health.detail.is_none())
    })
    .await;
    let words = format!("reading missed messages: {words}");
    let told = port.ledger().health.iter().any(|(health, _)| {
        health.state == ChannelState::Connected && health.detail.as_deref() == Some(&*words)
    });
    assert!(told, "{words}");
}

#[tokio::test]
async fn ten_thousand_updates_of_a_week_at_telegram_come_in_once_and_in_order() {
    let fake = FakeTelegram::start();
    for n in 0..WEEK {
        fake.user_says(4_242, &port::ada(), &format!("m{n}"));
    }
    let port = TestPort::new();
    let bridge = port::bridge_at(fake.url(), fake_telegram::TOKEN, port::options());
    let running = port::run(bridge, &port);
    port.wait_until("all of them", |ledger| ledger.inbox.len() >= WEEK)
        .await;
    fake.wait_until("all are confirmed", |state| state.pending.is_empty())
        .await;
    running.stop().await;
    let expected: Vec<String> = (0..WEEK).map(|n| format!("m{n}")).collect();
    assert_eq!(port.ledger().texts(), expected);
    assert_eq!(port.ledger().repeated, 0);
    let polls = fake.calls("getUpdates").len();
    assert!(polls <= WEEK / 100 + 5, "{polls} polls");
}

#[tokio::test]
async fn ten_thousand_messages_of_a_week_at_slack_come_in_once_and_in_order() {
    let (fake, port, running) = slack::port::connected().await;
    fake.says(ADA_DIRECT, ADA, "before");
    port.wait_until("known", |ledger| ledger.inbox.len() == 1)
        .await;
    slack::port::all_acknowledged(&fake).await;
    running.stop().await;
    fake.wait_until("gone", |state| state.sockets.is_empty())
        .await;
    fake.change(|state| state.forgets = true);
    for n in 0..WEEK {
        fake.says(ADA_DIRECT, ADA, &format!("m{n}"));
    }
    let running = slack::port::run(slack::port::bridge(&fake), &port);
    port.wait_until("all of them", |ledger| ledger.inbox.len() > WEEK)
        .await;
    reading_was_shown(&port, "5000 of 10000").await;
    running.stop().await;
    let mut expected = vec!["before".to_owned()];
    expected.extend((0..WEEK).map(|n| format!("m{n}")));
    assert_eq!(port.ledger().texts(), expected);
    assert_eq!(port.ledger().repeated, 0);
}

#[tokio::test]
async fn a_week_of_messages_of_a_discord_channel_comes_in_once_and_in_order() {
    let (fake, port, running) = discord_world::connected().await;
    fake.user_says(CHANNEL, &discord_world::ada(), "known");
    port.wait_until("known", |ledger| ledger.texts() == ["known"])
        .await;
    running.kill().await;
    fake.change(|state| state.sessions.clear());
    for n in 0..WEEK {
        fake.user_says(CHANNEL, &discord_world::ada(), &format!("m{n}"));
    }
    let stop = discord_world::supervised(&fake, &port);
    // Each part has the whole time that a test waits.
    for part in 1..=5 {
        port.wait_until("a part of it", |ledger| {
            ledger.inbox.len() >= part * WEEK / 5
        })
        .await;
    }
    port.wait_until("the rest of it", |ledger| ledger.texts().len() == WEEK + 1)
        .await;
    fake.user_says(DIRECT, &discord_world::ada(), "live");
    port.wait_until("live", |ledger| ledger.texts().len() == WEEK + 2)
        .await;
    reading_was_shown(&port, "5000 so far").await;
    stop.cancel();
    let mut expected = vec!["known".to_owned()];
    expected.extend((0..WEEK).map(|n| format!("m{n}")));
    expected.push("live".to_owned());
    assert_eq!(port.ledger().texts(), expected);
}

#[tokio::test]
async fn a_person_with_another_name_is_the_same_person() {
    let (fake, port, running) = port::connected().await;
    fake.user_says(4_242, &fake_telegram::User::new(4_242, "Ada"), "one");
    fake.user_says(4_242, &fake_telegram::User::new(4_242, "Countess"), "two");
    port.wait_until("both", |ledger| ledger.inbox.len() == 2)
        .await;
    running.stop().await;
    let people = senders(&port);
    let [one, two] = &people[..] else {
        panic!("two senders")
    };
    assert_eq!(one.0, two.0);
    assert!(
        one.1.contains("Ada") && two.1.contains("Countess"),
        "{one:?} {two:?}"
    );

    let (fake, port, running) = discord_world::connected().await;
    fake.user_says(DIRECT, &fake_discord::User::new(4_242, "Ada"), "one");
    fake.user_says(DIRECT, &fake_discord::User::new(4_242, "Countess"), "two");
    port.wait_until("both", |ledger| ledger.texts().len() == 2)
        .await;
    running.stop().await;
    let people = senders(&port);
    let [one, two] = &people[..] else {
        panic!("two senders")
    };
    assert_eq!(one.0, two.0);
    assert!(
        one.1.contains("Ada") && two.1.contains("Countess"),
        "{one:?} {two:?}"
    );

    let (fake, port, running) = slack::port::connected().await;
    fake.says(ADA_DIRECT, ADA, "one");
    port.wait_until("one", |ledger| ledger.inbox.len() == 1)
        .await;
    fake.change(|state| state.users.insert(ADA.to_owned(), "Countess".to_owned()));
    fake.says(ADA_DIRECT, ADA, "two");
    port.wait_until("both", |ledger| ledger.inbox.len() == 2)
        .await;
    running.stop().await;
    let people = senders(&port);
    let [one, two] = &people[..] else {
        panic!("two senders")
    };
    assert_eq!((one.0.as_str(), two.0.as_str()), (ADA, ADA));
}

fn discord_home(fake: &FakeDiscord) -> Home {
    Home::new(&format!(
        "[model]\ndefault = \"scripted/demo\"\nallow_scripted_on_channels = true\n\n\
         [channels.team]\nkind = \"discord\"\ntoken_env = \"TEAM_TOKEN\"\napi_base = \"{}\"\n\
         allowed_users = [\"100\"]\n",
        fake.api_base()
    ))
}

#[tokio::test]
async fn a_discord_question_that_is_edited_and_deleted_while_it_is_answered_is_answered_once() {
    let fake = discord_world::start();
    let home = discord_home(&fake);
    let daemon = home.daemon_with(&[("TEAM_TOKEN", fake_discord::TOKEN)]);
    fake.wait_until("a session", |state| state.identified == 1)
        .await;
    let ben = fake_discord::User::new(100, "Ben");
    let question = fake.user_says(DIRECT, &ben, WRITE);
    let approval = daemon.wait_approval().await;
    let edited = json!({ "id": question.to_string(), "channel_id": DIRECT.to_string(),
        "author": ben.json(), "content": "SAY:something else", "edited_timestamp": "2026-11-26T09:01:00+00:00" });
    fake.raw_event("MESSAGE_UPDATE", edited);
    fake.change(|state| state.messages.retain(|message| message.id != question));
    let gone = json!({ "id": question.to_string(), "channel_id": DIRECT.to_string() });
    fake.raw_event("MESSAGE_DELETE", gone);
    let (status, answer) = daemon.decide(&approval, "approve").await;
    assert_eq!(status, 200, "{answer}");
    fake.shown(DIRECT, "all done").await;
    let turns = daemon.get("/v1/continuations").await;
    assert_eq!(turns["items"].as_array().unwrap().len(), 1, "{turns:#}");
    let messages = fake.messages(DIRECT);
    let done = messages
        .iter()
        .filter(|message| message.text().contains("all done"));
    assert_eq!(done.count(), 1);
    assert_eq!(fake.state().violations, Vec::<String>::new());
}

#[tokio::test]
async fn a_slack_question_that_is_edited_and_deleted_while_it_is_answered_is_answered_once() {
    let fake = FakeSlack::start();
    let home = Home::new(&format!(
        "[model]\ndefault = \"scripted/demo\"\nallow_scripted_on_channels = true\n\n\
         [channels.team]\nkind = \"slack\"\ntoken_env = \"BOT\"\napp_token_env = \"APP\"\napi_base = \"{}\"\n\
         allowed_users = [\"{ADA}\"]\n",
        fake.api_base()
    ));
    let tokens = [
        ("BOT", fake_slack::BOT_TOKEN),
        ("APP", fake_slack::APP_TOKEN),
    ];
    let daemon = home.daemon_with(&tokens);
    fake.wait_until("a socket", |state| !state.sockets.is_empty())
        .await;
    let question = fake.says(ADA_DIRECT, ADA, WRITE);
    let approval = daemon.wait_approval().await;
    fake.event(json!({ "type": "message", "subtype": "message_changed", "channel": ADA_DIRECT, "ts": "9.000000",
        "message": { "user": ADA, "ts": question, "text": "SAY:something else" } }));
    fake.change(|state| {
        state
            .messages
            .retain(|(_, message)| message["ts"] != question);
    });
    fake.event(json!({ "type": "message", "subtype": "message_deleted", "channel": ADA_DIRECT, "ts": "9.000001",
        "deleted_ts": question, "previous_message": { "user": ADA, "ts": question } }));
    let (status, answer) = daemon.decide(&approval, "approve").await;
    assert_eq!(status, 200, "{answer}");
    fake.shown(ADA_DIRECT, "all done").await;
    let turns = daemon.get("/v1/continuations").await;
    assert_eq!(turns["items"].as_array().unwrap().len(), 1, "{turns:#}");
    let messages = fake.messages(ADA_DIRECT);
    let done = messages.iter().filter(|message| message.shows("all done"));
    assert_eq!(done.count(), 1);
}

#[tokio::test]
async fn a_webhook_message_of_100_000_characters_goes_both_ways_whole() {
    let home = webhooks::world::home("");
    let daemon = webhooks::world::start(&home, &[]).await;
    let words: Vec<String> = (0..12_000).map(|n| format!("w{n:06}")).collect();
    let long = words.join(" ");
    assert!(long.len() > 95_000);
    let message = webhooks::world::message("m1", &format!("SAY:{long}"));
    let (status, answer) = webhooks::world::say(&daemon, &message, Some(30)).await;
    assert_eq!(status, 200, "{answer:#}");
    let said: String = answer["messages"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|message| message["type"] == "reply")
        .map(|message| message["text"].as_str().unwrap())
        .collect::<Vec<_>>()
        .join(" ");
    let heard: Vec<&str> = said
        .split_whitespace()
        .filter(|word| word.starts_with("w0"))
        .collect();
    assert_eq!(heard, words);
}
