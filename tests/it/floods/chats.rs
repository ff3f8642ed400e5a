//! The real binary with a bot: denials in a row, and many turns in a short time.

use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value, json};

use crate::stories::bot::{self, WRITE, ben, cli, shown};
use crate::support::daemon::{Daemon, Home};
use crate::support::fake_telegram::FakeTelegram;

const CHAT: i64 = 100;

fn home(telegram: &FakeTelegram, lines: &str) -> Home {
    let channel = format!("allowed_users = [\"{CHAT}\"]\n{lines}");
    bot::home(telegram, &channel, "")
}

fn start(home: &Home, telegram: &FakeTelegram) -> Daemon {
    bot::start(home, telegram, &[CHAT], &[])
}

fn count(telegram: &FakeTelegram, text: &str) -> usize {
    let said = telegram.messages(CHAT);
    said.iter().filter(|m| m.text.contains(text)).count()
}

/// The session that chats have now.
async fn session(daemon: &Daemon) -> Value {
    let list = daemon.get("/v1/sessions?channel=team&state=active").await;
    list["items"][0].clone()
}

/// A write of a file that no other one writes.
fn write() -> String {
    static FILES: AtomicU32 = AtomicU32::new(0);
    let file = format!("{}.txt", FILES.fetch_add(1, Ordering::Relaxed));
    WRITE.replace("note.txt", &file)
}

/// Somebody asks for a write; what the approval says.
async fn ask(telegram: &FakeTelegram, daemon: &Daemon) -> Value {
    telegram.user_says(CHAT, &ben(), &write());
    daemon.wait_approval().await
}

/// The same, with a decision and until its turn has ended.
async fn ask_and(telegram: &FakeTelegram, daemon: &Daemon, decision: &str) {
    let asked = ask(telegram, daemon).await;
    let (status, answer) = daemon.decide(&asked, decision).await;
    assert_eq!(status, 200, "{answer}");
    let turn = asked["continuation_id"].as_str().unwrap();
    daemon.wait_state(turn, "completed").await;
}

/// Waits until a message of the chat waits as the only open turn.
async fn one_waits(daemon: &Daemon) {
    daemon
        .wait(
            "/v1/continuations?state=pending",
            "a message waits",
            |list| list["items"].as_array().unwrap().len() == 1,
        )
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn three_denials_in_a_row_pause_a_conversation_until_somebody_lets_it_go_on() {
    let telegram = FakeTelegram::start();
    let home = home(&telegram, "");
    let mut daemon = start(&home, &telegram);
    for decision in ["deny", "deny", "approve", "deny", "deny"] {
        ask_and(&telegram, &daemon, decision).await;
    }
    assert_eq!(
        session(&daemon).await["paused"],
        false,
        "never three in a row"
    );
    ask_and(&telegram, &daemon, "deny").await;
    let told = "This conversation is paused: 3 calls in a row were denied";
    shown(&telegram, CHAT, told).await;
    let paused = session(&daemon).await;
    assert_eq!(
        (
            &paused["paused"],
            &paused["flood"]["of"],
            &paused["flood"]["count"]
        ),
        (&json!(true), &json!("denials"), &json!(3)),
        "{paused}"
    );
    telegram.user_says(CHAT, &ben(), &write());
    one_waits(&daemon).await;

    daemon.kill();
    let daemon = start(&home, &telegram);
    one_waits(&daemon).await;
    let audit = daemon.get("/v1/audit?action=session.paused").await;
    assert_eq!(audit["items"].as_array().unwrap().len(), 1, "{audit}");
    let id = session(&daemon).await["id"].as_str().unwrap().to_owned();
    let (done, text) = cli(&home, &["sessions", "unpause", &id]).await;
    assert!(done && text.contains("goes on"), "{text}");
    let asked = daemon.wait_approval().await;
    assert!(session(&daemon).await["flood"].is_null());

    // It counts anew.
    daemon.decide(&asked, "deny").await;
    daemon
        .wait_state(asked["continuation_id"].as_str().unwrap(), "completed")
        .await;
    ask_and(&telegram, &daemon, "deny").await;
    assert_eq!(session(&daemon).await["paused"], false);
    assert_eq!(count(&telegram, told), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn many_turns_in_ten_minutes_pause_a_conversation_and_a_new_session_is_no_way_around() {
    let telegram = FakeTelegram::start();
    let home = home(&telegram, "pause_after_turns = 3");
    let daemon = start(&home, &telegram);
    for turn in ["one", "two", "three"] {
        telegram.user_says(CHAT, &ben(), &format!("SAY:{turn} is done"));
        shown(&telegram, CHAT, &format!("{turn} is done")).await;
    }
    assert_eq!(session(&daemon).await["paused"], false, "three are allowed");
    telegram.user_says(CHAT, &ben(), "SAY:four is done");
    let told = "This conversation is paused: 3 turns in ten minutes";
    shown(&telegram, CHAT, told).await;
    telegram.user_says(CHAT, &ben(), "/new");
    shown(&telegram, CHAT, "new session").await;
    telegram.user_says(CHAT, &ben(), "SAY:five is done");
    telegram
        .wait_until("both sessions are paused", |state| {
            let said =
                |m: &&crate::support::fake_telegram::state::BotMessage| m.text.contains(told);
            state.messages.iter().filter(said).count() == 2
        })
        .await;
    let paused = session(&daemon).await;
    assert_eq!(paused["flood"]["of"], json!("turns"), "{paused}");
    let id = paused["id"].as_str().unwrap();
    let body = json!({ "paused": false });
    let (status, answer) = daemon
        .request("PATCH", &format!("/v1/sessions/{id}"), Some(body))
        .await;
    assert_eq!(status, 200, "{answer}");
    shown(&telegram, CHAT, "five is done").await;
    assert_eq!(count(&telegram, "four is done"), 0, "its session ended");
}

#[tokio::test(flavor = "multi_thread")]
async fn programs_of_the_operators_and_channels_with_zero_are_not_paused() {
    let telegram = FakeTelegram::start();
    let home = home(&telegram, "pause_after_denials = 0");
    let daemon = start(&home, &telegram);
    for _ in 0..4 {
        ask_and(&telegram, &daemon, "deny").await;
    }
    assert_eq!(session(&daemon).await["paused"], false);
    let api = daemon.session().await;
    for _ in 0..4 {
        let turn = daemon.send(&api, &write()).await;
        let asked = daemon.wait_approval().await;
        assert_eq!(daemon.decide(&asked, "deny").await.0, 200);
        daemon.wait_state(&turn, "completed").await;
    }
    let session = daemon.get(&format!("/v1/sessions/{api}")).await;
    assert_eq!(session["paused"], false, "{session}");
}
