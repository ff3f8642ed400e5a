//! A channel that gets another bot, updates that can never be taken in, and a platform that answers too soon.

use std::time::{Duration, Instant};

use leverframe::protocol::enums::ChannelState;
use serde_json::{Value, json};

use crate::process_faults::world::telegram_home;
use crate::support::daemon::Daemon;
use crate::support::fake_telegram::{FakeTelegram, Fault, TOKEN, User};
use crate::telegram::port::{TestPort, ada, bridge_at, connected, options, run};

const BEN: i64 = 100;
const OTHER_TOKEN: &str = "987654321:AAFanotherT0kenThatMustNeverShow_43";

fn ben() -> User {
    User::new(BEN, "Ben")
}

/// Waits for the bot's message with this text, and says how often it is there.
fn answered(telegram: &FakeTelegram, text: &str) -> usize {
    telegram.wait_blocking("the answer", |state| {
        state
            .messages
            .iter()
            .any(|message| message.text.contains(text))
    });
    telegram
        .messages(BEN)
        .iter()
        .filter(|message| message.text.contains(text))
        .count()
}

async fn health(daemon: &Daemon) -> Value {
    daemon.get("/v1/channels/team").await["health"].clone()
}

#[tokio::test]
async fn a_channel_with_another_bot_hears_what_is_written_to_it() {
    let first = FakeTelegram::start();
    let home = telegram_home(&first);
    let mut daemon = home.daemon_with(&[("TEAM_TOKEN", TOKEN)]);
    for n in 1..=3 {
        first.user_says(BEN, &ben(), &format!("SAY:the first bot's answer {n}"));
        answered(&first, &format!("the first bot's answer {n}"));
    }
    assert!(daemon.terminate().success());

    // Another bot: its messages and updates are numbered from the beginning, and other texts have known numbers.
    let second = FakeTelegram::start();
    second.change(|state| {
        state.token = OTHER_TOKEN.to_owned();
        state.bot_id = 987_654_321;
        state.username = "other_bot".to_owned();
        state.next_update = 40;
    });
    let config = home.path().join("config/config.toml");
    let text = std::fs::read_to_string(&config).expect("the configuration");
    std::fs::write(&config, text.replace(first.url(), second.url())).expect("the configuration");
    let mut daemon = home.daemon_with(&[("TEAM_TOKEN", OTHER_TOKEN)]);
    for n in 1..=4 {
        second.user_says(BEN, &ben(), &format!("SAY:the other bot's answer {n}"));
        assert_eq!(
            answered(&second, &format!("the other bot's answer {n}")),
            1,
            "{}",
            second.story()
        );
    }
    assert_eq!(health(&daemon).await["state"], "connected");
    assert!(daemon.terminate().success());
}

#[tokio::test]
async fn an_update_that_can_never_be_taken_in_is_shown_and_skipped() {
    let telegram = FakeTelegram::start();
    let home = telegram_home(&telegram);
    let mut daemon = home.daemon_with(&[("TEAM_TOKEN", TOKEN)]);
    let id = telegram.user_says(BEN, &ben(), "SAY:first");
    answered(&telegram, "first");
    // The platform says something else under the number of a message that is known.
    telegram.raw_update(json!({ "message": {
        "message_id": id, "from": ben().json(), "date": 1_760_000_000,
        "chat": { "id": BEN, "type": "private" }, "text": "SAY:not this",
    }}));
    telegram.user_says(BEN, &ben(), "SAY:the one behind it");
    assert_eq!(answered(&telegram, "the one behind it"), 1);
    let shown = health(&daemon).await;
    let detail = shown["detail"].as_str().unwrap_or_default();
    assert!(
        shown["state"] == "degraded" && detail.contains("could not be stored"),
        "{shown:#}"
    );
    assert!(
        telegram
            .messages(BEN)
            .iter()
            .all(|message| !message.text.contains("not this")),
        "{}",
        telegram.story()
    );
    // Not after a restart either: the cursor is behind it.
    assert!(daemon.terminate().success());
    let mut daemon = home.daemon_with(&[("TEAM_TOKEN", TOKEN)]);
    telegram.user_says(BEN, &ben(), "SAY:after a restart");
    assert_eq!(answered(&telegram, "after a restart"), 1);
    assert_eq!(health(&daemon).await["state"], "connected");
    assert!(daemon.terminate().success());
}

#[tokio::test]
async fn an_edit_of_an_answered_message_gets_no_second_reply_and_media_get_one() {
    let telegram = FakeTelegram::start();
    let home = telegram_home(&telegram);
    let mut daemon = home.daemon_with(&[("TEAM_TOKEN", TOKEN)]);
    let id = telegram.user_says(BEN, &ben(), "SAY:once");
    answered(&telegram, "once");
    telegram.raw_update(json!({ "edited_message": {
        "message_id": id, "from": ben().json(), "date": 1_760_000_000, "edit_date": 1_760_000_009,
        "chat": { "id": BEN, "type": "private" }, "text": "SAY:twice",
    }}));
    telegram.user_sends(BEN, &ben(), json!({ "sticker": { "file_id": "s" } }));
    assert_eq!(answered(&telegram, "this is a sticker"), 1);
    telegram.user_says(BEN, &ben(), "SAY:and the last");
    answered(&telegram, "and the last");
    assert!(
        telegram
            .messages(BEN)
            .iter()
            .all(|message| !message.text.contains("twice")),
        "{}",
        telegram.story()
    );
    assert!(daemon.terminate().success());
}

#[tokio::test]
async fn a_cursor_of_a_version_that_named_no_bot_loses_and_doubles_nothing() {
    let fake = FakeTelegram::start();
    let port = TestPort::new();
    let known = fake.user_says(4242, &ada(), "known already");
    let next = fake.state().next_update;
    fake.user_says(4242, &ada(), "new");
    port.change(|ledger| {
        ledger.cursor = Some(next.to_string());
        ledger.keys.insert(format!("msg:4242:{known}"));
    });
    let running = run(bridge_at(fake.url(), TOKEN, options()), &port);
    port.wait_until("the new one", |ledger| ledger.texts() == ["new"])
        .await;
    assert_eq!(port.ledger().repeated, 1);
    assert_eq!(
        port.ledger().cursor,
        Some(format!("123456789:{}", next + 1))
    );
    running.stop().await;
}

#[tokio::test]
async fn a_menu_that_cannot_be_set_keeps_nobody_offline() {
    let fake = FakeTelegram::start();
    let port = TestPort::new();
    fake.fault("setMyCommands", Fault::Server(502));
    fake.fault("deleteWebhook", Fault::Server(502));
    let running = run(bridge_at(fake.url(), TOKEN, options()), &port);
    fake.user_says(4242, &ada(), "hello");
    port.wait_until("stored", |ledger| ledger.texts() == ["hello"])
        .await;
    port.wait_until("the method is named", |ledger| {
        ledger.last_health().is_some_and(|health| {
            health.state == ChannelState::Degraded
                && health
                    .detail
                    .as_deref()
                    .is_some_and(|detail| detail.contains("deleteWebhook fails"))
        })
    })
    .await;
    running.stop().await;
}

#[tokio::test]
async fn a_server_that_holds_no_poll_is_asked_ever_more_rarely() {
    let (fake, port, running) = connected().await;
    fake.change(|state| state.holds_polls = false);
    // The fake answers at once from now on: five answers take at least 1 + 2 + 3 + 4 seconds.
    let began = Instant::now();
    let polls = fake.calls("getUpdates").len();
    fake.wait_until("five more polls", |state| {
        state
            .ledger
            .iter()
            .filter(|entry| entry.method == "getUpdates")
            .count()
            >= polls + 5
    })
    .await;
    assert!(
        began.elapsed() >= Duration::from_secs(5),
        "{:?}",
        began.elapsed()
    );
    // What comes is answered soon all the same.
    fake.user_says(4242, &ada(), "still heard");
    port.wait_until("stored", |ledger| ledger.texts() == ["still heard"])
        .await;
    running.stop().await;
}
