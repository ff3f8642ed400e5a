//! Commands in a group, and what the command line says of a channel that was paused.

use serde_json::{Value, json};

use crate::support::daemon::{Daemon, Home};
use crate::support::fake_telegram::FakeTelegram;
use crate::support::fake_telegram::state::User;

fn home(telegram: &FakeTelegram) -> Home {
    Home::new(&format!(
        "[model]\ndefault = \"scripted/demo\"\nallow_scripted_on_channels = true\n\n\
         [channels.team]\nkind = \"telegram\"\ntoken_env = \"TEAM_TOKEN\"\napi_base = \"{}\"\n\
         allowed_users = [\"100\"]\nallowed_chats = [\"-500\"]\n",
        telegram.url()
    ))
}

fn start(home: &Home, telegram: &FakeTelegram) -> Daemon {
    let token = telegram.state().token.clone();
    home.daemon_with(&[("TEAM_TOKEN", &token)])
}

async fn cli(home: &Home, words: &[&str]) -> String {
    let mut command = home.command();
    command.args(words);
    let output = tokio::task::spawn_blocking(move || command.output())
        .await
        .unwrap()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{words:?}: {text}");
    text
}

#[tokio::test(flavor = "multi_thread")]
async fn every_command_of_the_menu_is_heard_in_a_group() {
    let telegram = FakeTelegram::start();
    let home = home(&telegram);
    let _daemon = start(&home, &telegram);
    let ben = User::new(100, "Ben");
    for (text, answer) in [
        ("/fresh SAY:asked anew", "asked anew"),
        ("/rename Our title", "Renamed."),
        ("/routines", "Only owners"),
    ] {
        telegram.user_says(-500, &ben, text);
        telegram
            .wait_until(text, |state| {
                let mut said = state.messages.iter();
                said.any(|m| m.chat == -500 && m.text.contains(answer))
            })
            .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_channel_that_is_resumed_is_not_called_paused() {
    let telegram = FakeTelegram::start();
    let home = home(&telegram);
    let daemon = start(&home, &telegram);
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
