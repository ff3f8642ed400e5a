//! The fake, judged by a client library we did not write (slack-sdk).
//!
//! Installed by `tests/peers/install.sh slack_client`; where it is not, this says so loudly.

use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::support::fake_slack::{ADA, APP_TOKEN, BOT, BOT_TOKEN, FakeSlack, TEAM};
use crate::support::requirement::{peer, peer_source};

#[test]
fn an_independent_client_is_happy_with_the_fake() {
    let unchecked = "an independent client of Slack";
    let Some(python) = peer("slack_client", "bin/python", unchecked) else {
        return;
    };
    let fake = FakeSlack::start();
    let child = Command::new(python)
        .arg(peer_source("slack_client", "drive.py"))
        .args([&format!("{}/", fake.api_base()), BOT_TOKEN, APP_TOKEN, TEAM])
        .env_remove("http_proxy")
        .env_remove("HTTP_PROXY")
        .env_remove("all_proxy")
        .env_remove("ALL_PROXY")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    fake.wait_blocking("the greeting and a socket", |state| {
        !state.bot_messages(TEAM).is_empty() && !state.sockets.is_empty()
    });
    let greeting = fake.messages(TEAM)[0].ts.clone();
    fake.says(TEAM, ADA, &format!("<@{BOT}> good morning"));
    fake.clicks(TEAM, &greeting, "Yes", ADA);
    fake.commands(TEAM, ADA, "/leverframe", "status");
    fake.disconnect("refresh_requested");
    let output = child.wait_with_output().unwrap();
    assert!(
        output.status.success(),
        "{}\n{}",
        String::from_utf8_lossy(&output.stderr),
        fake.story()
    );
    let saw: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(saw["me"], json!([BOT, "T0001"]));
    assert_eq!(saw["events"], json!(["app_mention", "message"]));
    assert_eq!(saw["click"], json!(["y", ADA, greeting]));
    assert_eq!(saw["command"], json!(["/leverframe", "status"]));
    assert_eq!(saw["metadata"], "k1");
    assert_eq!(saw["thread"], json!(["Hello", "below"]));
    assert_eq!(saw["edited"], json!(["Done", 0]));
    assert_eq!(saw["file"], "hello");
    assert_eq!(saw["name"], "Ada");
    for (name, word) in [
        ("no channel", "channel_not_found"),
        ("not in it", "not_in_channel"),
        ("long section", "invalid_blocks"),
        ("many blocks", "invalid_blocks"),
        ("nothing", "no_text"),
        ("old message", "message_not_found"),
        ("wrong token", "invalid_auth"),
    ] {
        assert_eq!(saw[name], word, "{name}");
    }
    assert!(
        fake.state()
            .acks
            .iter()
            .any(|(_, payload)| payload["text"] == "noted")
    );
}
