//! At the keys of the console: a person writes as the bot, drains and tests a channel, and reads what the shift was.

use crate::console_pty::door::console;
use crate::support::daemon::{Daemon, Home};
use crate::support::fake_telegram::FakeTelegram;
use crate::support::fake_telegram::state::User;
use crate::support::pty::Pty;
use crate::take_overs::daemon::{home, start, wait_said};

/// Chooses the button that is not the one a dialog opens with.
const YES: &str = "\t\r";

/// A daemon with a chat in which the bot answered once, and a console on it.
async fn attached() -> (FakeTelegram, Home, Daemon, User, Pty) {
    let telegram = FakeTelegram::start();
    let home = home(&telegram);
    let daemon = start(&home, &telegram);
    let ben = User::new(100, "Ben");
    telegram.user_says(100, &ben, "SAY:one");
    wait_said(&telegram, "one").await;
    let pty = console(&home);
    pty.see("attached");
    (telegram, home, daemon, ben, pty)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_is_taken_over_written_in_and_given_back() {
    let (telegram, _home, daemon, ben, mut pty) = attached().await;
    pty.send("2");
    pty.see("┌ Live");
    pty.press_until("j", "> ");
    pty.send("T");
    pty.see("Take this conversation over?");
    // The dialog opens on the answer that does nothing.
    pty.send("\r");
    pty.gone("Take this conversation over?");
    assert_eq!(daemon.get("/v1/channels/team").await["taken_over"], 0);
    pty.send("T");
    pty.see("Take this conversation over?");
    pty.send(YES);
    pty.see("TAKEN OVER by ");

    telegram.user_says(100, &ben, "SAY:two");
    daemon
        .wait("/v1/continuations?state=pending", "it waits", |list| {
            list["items"].as_array().map(Vec::len) == Some(1)
        })
        .await;
    pty.send("i");
    pty.see("as the bot");
    pty.send("I am on it myself.");
    pty.see("I am on it myself.");
    pty.send("\r");
    wait_said(&telegram, "I am on it myself.").await;
    telegram.user_says(100, &ben, "SAY:three");
    pty.send("T");
    pty.gone("TAKEN OVER by ");
    wait_said(&telegram, "three").await;
    // What a person answered the agent does not answer again.
    let texts: Vec<String> = telegram
        .messages(100)
        .iter()
        .map(|message| message.text.clone())
        .collect();
    assert_eq!(texts.len(), 3, "{texts:?}");

    pty.send("\x14");
    let summary = pty.see("session.taken_over x1");
    assert!(summary.contains("session.spoken x1"), "{summary}");
    assert!(summary.contains("session.given_back x1"), "{summary}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_channel_is_tested_and_drained() {
    let (telegram, _home, daemon, ben, mut pty) = attached().await;
    pty.send("4");
    pty.see("┌ Channels");
    pty.press_until("j", "> team");
    pty.send("t");
    pty.see("Send a test through team?");
    pty.send(YES);
    pty.see("test through team: delivered");
    wait_said(&telegram, "This is a test by").await;

    pty.send("D");
    pty.see("Drain team?");
    pty.send(YES);
    pty.see("draining");
    telegram.user_says(100, &ben, "SAY:two");
    daemon
        .wait("/v1/continuations?state=pending", "it waits", |list| {
            list["items"].as_array().map(Vec::len) == Some(1)
        })
        .await;
    // What lets work go on again asks nothing.
    pty.send("D");
    pty.gone("draining");
    wait_said(&telegram, "two").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_raised_level_lasts_as_long_as_was_chosen() {
    let (_telegram, _home, daemon, _, mut pty) = attached().await;
    pty.send("4");
    pty.see("┌ Channels");
    pty.press_until("j", "> team");
    pty.send("A");
    pty.see("Autonomy of team");
    pty.press_until("j", "> full");
    pty.see("Holds for an hour");
    pty.send("++++++");
    // `full` always ends by itself.
    pty.see("Holds for 12 hours");
    pty.send("\r");
    pty.see("to full for 12 hours?");
    pty.send(YES);
    pty.gone("Autonomy of team");
    let policy = daemon
        .wait("/v1/channels/team", "it is raised", |channel| {
            channel["policy"]["autonomy"] == "full"
        })
        .await["policy"]
        .clone();
    assert!(policy["expires_at"].is_string(), "{policy:#}");
    assert_eq!(policy["reverts_to"], "supervised", "{policy:#}");
}
