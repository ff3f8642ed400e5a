//! Commands in a group, and what the command line says of a channel that was paused.

use serde_json::{Value, json};

use crate::stories::bot::{self, ben, shown};
use crate::support::daemon::Home;
use crate::support::fake_telegram::FakeTelegram;

fn home(telegram: &FakeTelegram) -> Home {
    let people = "allowed_users = [\"100\"]\nallowed_chats = [\"-500\"]";
    bot::home(telegram, people, "")
}

async fn cli(home: &Home, words: &[&str]) -> String {
    let (done, text) = bot::cli(home, words).await;
    assert!(done, "{words:?}: {text}");
    text
}

#[tokio::test(flavor = "multi_thread")]
async fn every_command_of_the_menu_is_heard_in_a_group() {
    let telegram = FakeTelegram::start();
    let home = home(&telegram);
    let _daemon = bot::start(&home, &telegram, &[], &[]);
    for (text, answer) in [
        ("/fresh SAY:asked anew", "asked anew"),
        ("/rename Our title", "Renamed."),
        ("/routines", "Only owners"),
    ] {
        telegram.user_says(-500, &ben(), text);
        shown(&telegram, -500, answer).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_channel_that_is_resumed_is_not_called_paused() {
    let telegram = FakeTelegram::start();
    let home = home(&telegram);
    let daemon = bot::start(&home, &telegram, &[], &[]);
    let state = |channel: &Value| channel["health"]["state"].clone();
    daemon
        .wait("/v1/channels/team", "it is connected", |channel| {
            state(channel) == json!("connected")
        })
        .await;
    assert!(
        cli(&home, &["channels", "pause", "team"])
            .await
            .contains("paused")
    );
    daemon
        .wait("/v1/channels/team", "the bridge stands still", |channel| {
            channel["health"]["detail"]
                .as_str()
                .is_some_and(|detail| detail.contains("resume the channel"))
        })
        .await;
    let resumed = cli(&home, &["channels", "resume", "team"]).await;
    assert!(!resumed.contains("pause"), "{resumed}");
    daemon
        .wait("/v1/channels/team", "it is connected again", |channel| {
            state(channel) == json!("connected")
        })
        .await;
}
