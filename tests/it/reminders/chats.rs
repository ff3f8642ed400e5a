//! The real binary with a bot: who is asked when, and what they are reminded of.

use serde_json::{Value, json};

use crate::stories::bot::{self, WRITE, ben, shown};
use crate::support::daemon::{Daemon, Home};
use crate::support::fake_telegram::FakeTelegram;

const ANNA: i64 = 200;
const CLEO: i64 = 300;
const REMINDER: &str = "Reminder: write_file on team has waited for a decision";

/// A bot that ben talks to; anna and cleo decide. `hours` are lines of anna, `rest` of `[approvals]`.
fn home(telegram: &FakeTelegram, channel: &str, hours: &str, rest: &str) -> Home {
    let channel = format!("allowed_users = [\"100\"]\n{channel}");
    let people = format!(
        "[people.anna]\nids = [\"telegram:{ANNA}\"]\nrole = \"owner\"\n{hours}\n\n\
         [people.cleo]\nids = [\"telegram:{CLEO}\"]\nrole = \"approver\"\n\n[approvals]\n{rest}\n"
    );
    bot::home(telegram, &channel, &people)
}

fn start(home: &Home, telegram: &FakeTelegram) -> Daemon {
    bot::start(home, telegram, &[100, ANNA, CLEO], &[])
}

fn count(telegram: &FakeTelegram, chat: i64, text: &str) -> usize {
    let said = telegram.messages(chat);
    said.iter().filter(|m| m.text.contains(text)).count()
}

async fn until_count(telegram: &FakeTelegram, chat: i64, text: &str, wanted: usize) {
    telegram
        .wait_until(&format!("{wanted} times `{text}` in {chat}"), |state| {
            let is_it = |m: &&crate::support::fake_telegram::state::BotMessage| {
                m.chat == chat && m.text.contains(text)
            };
            state.messages.iter().filter(is_it).count() >= wanted
        })
        .await;
}

async fn approval(daemon: &Daemon, id: &Value) -> Value {
    let path = format!("/v1/approvals/{}", id.as_str().unwrap());
    daemon.get(&path).await
}

/// Quiet hours from so many hours after now to so many, in UTC.
fn quiet(from: i64, to: i64) -> String {
    let now = jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC);
    let hour = |by: i64| {
        let at = now.checked_add(jiff::Span::new().hours(by)).unwrap();
        at.strftime("%H:%M").to_string()
    };
    format!(
        "quiet_hours = \"{}-{}\"\ntime_zone = \"UTC\"",
        hour(from),
        hour(to)
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_was_asked_is_reminded_until_somebody_decides_and_never_twice_of_the_same() {
    let telegram = FakeTelegram::start();
    let home = home(&telegram, "", "", "reminder_seconds = [1, 6, 3600]");
    let mut daemon = start(&home, &telegram);
    telegram.user_says(100, &ben(), WRITE);
    let card = shown(&telegram, ANNA, "write_file").await;
    let asked = daemon.wait_approval().await;
    assert_eq!(asked["reminders"], Value::Null, "{asked}");
    for chat in [ANNA, CLEO] {
        until_count(&telegram, chat, REMINDER, 2).await;
    }
    let reminder = shown(&telegram, ANNA, REMINDER).await;
    assert_eq!(
        reminder.reply_to,
        Some(card.message_id),
        "it leads to the card"
    );
    let code = asked["short_code"].as_str().unwrap();
    assert!(
        reminder.text.contains(code) && reminder.text.contains("expires in 23 hours"),
        "{reminder:?}"
    );
    assert_eq!(approval(&daemon, &asked["id"]).await["reminders"], json!(2));

    // Nobody hears it again from another process.
    daemon.kill();
    let daemon = start(&home, &telegram);
    let again = daemon.wait_approval().await;
    assert_eq!(daemon.decide(&again, "approve").await.0, 200);
    shown(&telegram, 100, "all done").await;
    for chat in [ANNA, CLEO] {
        assert_eq!(count(&telegram, chat, REMINDER), 2);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_is_on_call_is_asked_first_and_the_others_with_the_first_reminder() {
    let telegram = FakeTelegram::start();
    let home = home(&telegram, "", "", "reminder_seconds = [5]");
    let daemon = start(&home, &telegram);
    let body = json!({ "name": "cleo" });
    let (status, on_call_status) = daemon.request("PUT", "/v1/on-call", Some(body)).await;
    assert_eq!(status, 200, "{on_call_status}");
    telegram.user_says(100, &ben(), WRITE);
    shown(&telegram, CLEO, "write_file").await;
    assert_eq!(count(&telegram, ANNA, "write_file"), 0, "cleo is on call");
    until_count(&telegram, CLEO, REMINDER, 1).await;
    let card = shown(&telegram, ANNA, "write_file").await;
    assert!(!card.text.contains("Reminder"), "{card:?}");
    // Who gets the card late is not reminded of it at once.
    let asked = daemon.wait_approval().await;
    assert_eq!(daemon.decide(&asked, "deny").await.0, 200);
    assert_eq!(count(&telegram, ANNA, REMINDER), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn quiet_hours_of_a_person_hold_the_card_and_the_others_are_asked() {
    let telegram = FakeTelegram::start();
    let home = home(&telegram, "", &quiet(-1, 1), "reminder_seconds = [1]");
    let daemon = start(&home, &telegram);
    telegram.user_says(100, &ben(), WRITE);
    shown(&telegram, CLEO, "write_file").await;
    until_count(&telegram, CLEO, REMINDER, 1).await;
    assert_eq!(count(&telegram, ANNA, "write_file"), 0, "she sleeps");
    let asked = daemon.wait_approval().await;
    let life = seconds_between(&asked);
    assert_eq!(life, 24 * 3600, "cleo is awake: the time runs");
}

fn seconds_between(approval: &Value) -> i64 {
    let at =
        |field: &str| -> jiff::Timestamp { approval[field].as_str().unwrap().parse().unwrap() };
    at("expires_at").as_second() - at("requested_at").as_second()
}

#[tokio::test(flavor = "multi_thread")]
async fn quiet_hours_of_a_channel_hold_cards_and_deadlines_and_the_chat_knows() {
    let telegram = FakeTelegram::start();
    let night = quiet(-1, 1);
    let home = home(&telegram, &night, "", "reminder_seconds = [1]");
    let mut daemon = start(&home, &telegram);
    telegram.user_says(100, &ben(), WRITE);
    let told = shown(&telegram, 100, "Waiting for a decision").await;
    assert!(
        told.text.contains("quiet hours: people are asked at ") && told.text.contains("UTC"),
        "{told:?}"
    );
    let asked = daemon.wait_approval().await;
    let life = seconds_between(&asked);
    // An hour of this night, and the first part of the next one.
    assert!((25 * 3600..=27 * 3600).contains(&life), "{life}");
    for chat in [ANNA, CLEO] {
        assert_eq!(count(&telegram, chat, "write_file"), 0);
    }

    // The hours are over: here, because the file says so.
    daemon.terminate();
    let file = home.path().join("config/config.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace(&night, &quiet(5, 6))).unwrap();
    let daemon = start(&home, &telegram);
    for chat in [ANNA, CLEO] {
        shown(&telegram, chat, "write_file").await;
    }
    let again = daemon.wait_approval().await;
    assert_eq!(again["expires_at"], asked["expires_at"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn quiet_hours_hold_nothing_that_is_critical() {
    let telegram = FakeTelegram::start();
    let critical = "reminder_seconds = [1]\n\n[tools.write_file]\nrisk = \"critical\"";
    let night = quiet(-1, 1);
    let home = home(&telegram, &night, &night, critical);
    let daemon = start(&home, &telegram);
    telegram.user_says(100, &ben(), WRITE);
    until_count(&telegram, ANNA, "critical risk has waited", 1).await;
    let asked = daemon.wait_approval().await;
    assert_eq!(seconds_between(&asked), 4 * 3600);
}

#[test]
fn what_is_no_time_or_zone_is_named_with_its_key() {
    let check = |channel: &str, rest: &str| {
        let telegram = FakeTelegram::start();
        let home = home(&telegram, channel, "", rest);
        let output = home
            .command()
            .env("TEAM_TOKEN", "1:a")
            .arg("doctor")
            .output()
            .unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
            + &String::from_utf8_lossy(&output.stderr)
    };
    let text = check("quiet_hours = \"22-7\"", "");
    assert!(
        text.contains("quiet_hours") && text.contains("for example 22:00-07:00"),
        "{text}"
    );
    let text = check("time_zone = \"Europe/Berln\"", "");
    assert!(text.contains("did you mean Europe/Berlin"), "{text}");
    let text = check("", "reminder_seconds = [3600, 60]");
    assert!(
        text.contains("reminder_seconds") && text.contains("rise"),
        "{text}"
    );
}
