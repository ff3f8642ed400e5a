//! What a chat sees while its message is worked on: a typing indicator that stays, and one notice when it takes long.

use serde_json::json;

use crate::stories::bot::{self, ben, shown};
use crate::support::daemon::{Daemon, Home};
use crate::support::fake_telegram::FakeTelegram;

fn home(telegram: &FakeTelegram, wait: u32) -> Home {
    let channel = format!("allowed_users = [\"100\"]\nmax_wait_seconds = {wait}");
    bot::home(telegram, &channel, "")
}

fn count(telegram: &FakeTelegram, text: &str) -> usize {
    let said = telegram.messages(100);
    said.iter().filter(|m| m.text.contains(text)).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chat_hears_once_that_a_model_takes_long_and_that_a_message_waits_behind_it() {
    let telegram = FakeTelegram::start();
    let home = home(&telegram, 1);
    let mut daemon = bot::start(&home, &telegram, &[], &[]);
    // No tool runs in it: the model alone takes that long.
    telegram.user_says(100, &ben(), "SLOW:400\nSAY:first answer");
    telegram.user_says(100, &ben(), "SLOW:200\nSAY:second answer");
    shown(&telegram, 100, "Still working on it").await;
    shown(&telegram, 100, "waits for earlier work").await;
    shown(&telegram, 100, "first answer").await;

    // Whoever was told is not told again, not even by another process.
    daemon.kill();
    let daemon = bot::start(&home, &telegram, &[], &[]);
    daemon
        .wait("/v1/continuations", "the second turn stands", |list| {
            let of_second = list["items"]
                .as_array()
                .unwrap()
                .iter()
                .find(|turn| turn["request"]["text"].as_str().unwrap().contains("second"));
            of_second.is_some_and(|turn| {
                turn["state"] == json!("interrupted") || turn["state"] == json!("completed")
            })
        })
        .await;
    telegram.user_says(100, &ben(), "/continue");
    shown(&telegram, 100, "second answer").await;
    assert_eq!(count(&telegram, "Still working on it"), 1);
    assert_eq!(count(&telegram, "waits for earlier work"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_typing_indicator_is_kept_alive_while_a_model_thinks() {
    let telegram = FakeTelegram::start();
    let home = home(&telegram, 600);
    let daemon = bot::start(&home, &telegram, &[], &[]);
    telegram.user_says(100, &ben(), "SLOW:400\nSAY:done");
    let deadline = std::time::Instant::now() + crate::support::daemon::DEADLINE;
    while telegram.calls("sendChatAction").len() < 3 {
        let turns = daemon.get("/v1/continuations").await;
        assert!(
            turns["items"][0]["state"] != json!("completed"),
            "shown {} times until the answer",
            telegram.calls("sendChatAction").len()
        );
        assert!(std::time::Instant::now() < deadline);
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    shown(&telegram, 100, "done").await;
    assert_eq!(count(&telegram, "Still working"), 0, "it was soon enough");
}

/// Waits until no message of the chat has this text.
async fn gone(telegram: &FakeTelegram, text: &str) {
    telegram
        .wait_until(&format!("no `{text}`"), |state| {
            !state.messages.iter().any(|m| m.text.contains(text))
        })
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chat_sees_which_tools_run_in_one_message_that_goes_with_the_answer() {
    let telegram = FakeTelegram::start();
    let home = home(&telegram, 600);
    let mut daemon = bot::start(&home, &telegram, &[], &[]);
    let workspace = home.workspace("team");
    let both = "Working: execute_command ✓, execute_command …";
    run_two(&telegram, &daemon, "a").await;
    shown(&telegram, 100, "Working: execute_command …").await;
    std::fs::write(workspace.join("a1"), "").unwrap();
    shown(&telegram, 100, both).await;
    std::fs::write(workspace.join("a2"), "").unwrap();
    shown(&telegram, 100, "a is done").await;
    gone(&telegram, "Working:").await;
    assert_eq!(count(&telegram, "a is done"), 1);

    // A process that dies leaves it; the next one takes it away.
    run_two(&telegram, &daemon, "b").await;
    shown(&telegram, 100, "Working: execute_command …").await;
    std::fs::write(workspace.join("b1"), "").unwrap();
    shown(&telegram, 100, both).await;
    daemon.kill();
    assert!(count(&telegram, "Working:") == 1, "it stays for now");
    let _daemon = bot::start(&home, &telegram, &[], &[]);
    gone(&telegram, "Working:").await;
    assert_eq!(telegram.state().violations, Vec::<String>::new());
}

/// A turn with two programs that wait for a file each, both allowed.
async fn run_two(telegram: &FakeTelegram, daemon: &Daemon, name: &str) {
    let wait = |file: String| {
        let script = format!("while [ ! -e {file} ]; do sleep 0.05; done");
        let call = json!({ "script": script, "timeout_seconds": 120 });
        format!("TOOL:execute_command{call}\n")
    };
    let calls = wait(format!("{name}1")) + &wait(format!("{name}2"));
    telegram.user_says(100, &ben(), &format!("{calls}SAY:{name} is done"));
    for _ in 0..2 {
        let asked = daemon.wait_approval().await;
        assert_eq!(daemon.decide(&asked, "approve").await.0, 200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chat_sees_the_answer_as_it_is_written_and_then_once() {
    let telegram = FakeTelegram::start();
    let channel = "allowed_users = [\"100\"]\nreply_style = \"streaming\"";
    let home = bot::home(&telegram, channel, "");
    let _daemon = bot::start(&home, &telegram, &[], &[]);
    telegram.user_says(100, &ben(), "SLOW:300\nSAY:the answer ends");
    telegram
        .wait_until("an edited message", |state| {
            state.messages.iter().any(|m| m.edits > 0)
        })
        .await;
    let messages = telegram.messages(100);
    let [live] = messages.as_slice() else {
        panic!("{messages:#?}");
    };
    assert!(live.text.contains("(1) (2) (3)"), "{live:#?}");
    assert!(
        live.text.ends_with('…'),
        "it says that it goes on: {live:#?}"
    );
    gone(&telegram, "…").await;
    shown(&telegram, 100, "the answer ends").await;
    assert_eq!(count(&telegram, "the answer ends"), 1, "the answer, once");
    assert_eq!(telegram.state().violations, Vec::<String>::new());
}
