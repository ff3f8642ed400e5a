//! What a chat hears of an emergency stop, of an interruption and of an expiry: one notice each.

use serde_json::{Value, json};

use crate::stories::bot::{self, WRITE, ben, cli, shown};
use crate::support::daemon::{Daemon, Home};
use crate::support::fake_telegram::FakeTelegram;
use crate::support::fake_telegram::state::User;

fn home(telegram: &FakeTelegram) -> Home {
    bot::home(telegram, "allowed_users = [\"100\", \"101\"]", "")
}

fn count(telegram: &FakeTelegram, chat: i64, text: &str) -> usize {
    let said = telegram.messages(chat);
    said.iter().filter(|m| m.text.contains(text)).count()
}

/// Waits until so many messages are kept.
async fn kept(daemon: &Daemon, count: usize) {
    daemon
        .wait("/v1/continuations", "the messages are kept", |list| {
            list["items"]
                .as_array()
                .is_some_and(|all| all.len() == count)
        })
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_conversation_hears_once_that_everything_is_held() {
    let telegram = FakeTelegram::start();
    let home = home(&telegram);
    let mut daemon = bot::start(&home, &telegram, &[], &[]);
    daemon
        .wait("/v1/channels/team", "it is connected", |channel| {
            channel["health"]["state"] == json!("connected")
        })
        .await;
    daemon
        .post("/v1/emergency-stop", json!({"reason": "a test"}))
        .await;
    let (_, listed) = cli(&home, &["channels", "list"]).await;
    let row = listed.lines().find(|line| line.contains("team"));
    assert!(row.is_some_and(|row| row.contains("held")), "{listed}");
    assert_eq!(daemon.get("/v1/channels/team").await["held"], true);

    telegram.user_says(100, &ben(), "SAY:first answer");
    shown(&telegram, 100, "operator has stopped everything").await;
    telegram.user_says(100, &ben(), "SAY:second answer");
    telegram.user_says(101, &User::new(101, "Carl"), "SAY:third answer");
    shown(&telegram, 101, "operator has stopped everything").await;
    kept(&daemon, 3).await;

    // A restart keeps the stop, and who was told.
    daemon.terminate();
    let daemon = bot::start(&home, &telegram, &[], &[]);
    telegram.user_says(100, &ben(), "SAY:fourth answer");
    kept(&daemon, 4).await;
    assert_eq!(
        telegram.messages(100).len(),
        1,
        "nothing but the one notice"
    );

    daemon
        .post("/v1/emergency-stop/release", json!({"waiting": "all"}))
        .await;
    shown(&telegram, 100, "fourth answer").await;
    shown(&telegram, 101, "third answer").await;
    assert_eq!(count(&telegram, 100, "operator has stopped everything"), 1);
    assert_eq!(count(&telegram, 101, "operator has stopped everything"), 1);
    let (_, listed) = cli(&home, &["channels", "list"]).await;
    assert!(!listed.contains("held"));
    assert_eq!(telegram.state().violations, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chat_hears_once_that_its_request_was_interrupted() {
    let telegram = FakeTelegram::start();
    let home = home(&telegram);
    let mut daemon = bot::start(&home, &telegram, &[], &[]);
    telegram.user_says(100, &ben(), "SLOW:600\nSAY:all done");
    daemon
        .wait("/v1/continuations", "the turn runs", |list| {
            list["items"][0]["state"] == "running" || list["items"][0]["state"] == "streaming"
        })
        .await;
    daemon.kill();
    let mut daemon = bot::start(&home, &telegram, &[], &[]);
    shown(&telegram, 100, "interrupted").await;
    let turn = daemon.get("/v1/continuations").await["items"][0].clone();
    assert_eq!(turn["state"], "interrupted", "{turn:#}");

    // The next start does not say it again.
    daemon.kill();
    let daemon = bot::start(&home, &telegram, &[], &[]);
    telegram.user_says(101, &User::new(101, "Carl"), "SAY:something else");
    shown(&telegram, 101, "something else").await;
    let notices = daemon.get("/v1/outbox").await;
    let notices: Vec<&Value> = notices["items"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|item| item["preview"].to_string().contains("interrupted"))
        .collect();
    assert_eq!(notices.len(), 1, "{notices:#?}");
    telegram.user_says(100, &ben(), "/cancel");
    shown(&telegram, 100, "Cancelled").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chat_hears_once_that_nobody_decided_in_time() {
    for held in [false, true] {
        let telegram = FakeTelegram::start();
        let home = home(&telegram);
        let offset = home.path().join("offset");
        let clock = [("LEVERFRAME_CLOCK_OFFSET_FILE", offset.to_str().unwrap())];
        let mut daemon = bot::start(&home, &telegram, &[], &clock);
        telegram.user_says(100, &ben(), WRITE);
        let asked = daemon.wait_approval().await;
        let turn = asked["continuation_id"].as_str().unwrap();
        daemon.wait_state(turn, "awaiting_approval").await;
        shown(&telegram, 100, "Waiting for a decision").await;
        if held {
            daemon
                .post("/v1/emergency-stop", json!({"reason": "a test"}))
                .await;
        }
        daemon.terminate();
        std::fs::write(&offset, "90000").unwrap();
        let daemon = bot::start(&home, &telegram, &[], &clock);
        daemon.wait_state(turn, "expired").await;
        shown(&telegram, 100, "This request expired: nobody decided").await;
        assert_eq!(
            count(&telegram, 100, "This request expired: nobody decided"),
            1
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chat_hears_that_its_request_waits_though_the_process_died_before_it_parked() {
    let telegram = FakeTelegram::start();
    let home = home(&telegram);
    let dies = [("LEVERFRAME_CRASH", "propose.post:1")];
    let mut daemon = bot::start(&home, &telegram, &[], &dies);
    telegram.user_says(100, &ben(), WRITE);
    daemon.wait_exit().expect("it dies with its question asked");
    assert_eq!(count(&telegram, 100, "Waiting for a decision"), 0);
    let daemon = bot::start(&home, &telegram, &[], &[]);
    let asked = daemon.wait_approval().await;
    shown(&telegram, 100, "Waiting for a decision").await;
    assert_eq!(count(&telegram, 100, "interrupted"), 0);
    daemon.decide(&asked, "approve").await;
    let turn = asked["continuation_id"].as_str().unwrap();
    daemon.wait_state(turn, "completed").await;
}
