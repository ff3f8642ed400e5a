//! The fake, judged by a client library we did not write (discord.py).
//!
//! Installed by `tests/peers/install.sh`; where it is not, this says so loudly.

use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::discord::world::{CHANNEL, ada, start};
use crate::support::fake_discord::{Fault, TOKEN};
use crate::support::requirement::{peer, peer_source};

#[test]
fn an_independent_client_is_happy_with_the_fake() {
    let unchecked = "an independent client of Discord";
    let Some(python) = peer("discord_client", "bin/python", unchecked) else {
        return;
    };
    let fake = start();
    let child = Command::new(python)
        .arg(peer_source("discord_client", "drive.py"))
        .args([&fake.api_base(), TOKEN, &CHANNEL.to_string()])
        .env_remove("http_proxy")
        .env_remove("HTTP_PROXY")
        .env_remove("all_proxy")
        .env_remove("ALL_PROXY")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    fake.wait_blocking("the greeting", |state| !state.messages.is_empty());
    let greeting = fake.messages(CHANNEL)[0].clone();
    let mention = format!("<@{}> good morning", fake.state().bot.id);
    fake.user_says(CHANNEL, &ada(), &mention);
    fake.wait_blocking("the reply", |state| state.messages.len() == 3);
    // Its library waits for this by itself.
    fake.fault("send", Fault::TooMany(0.2, false));
    fake.user_clicks(&greeting, "Yes", &ada());
    let output = child.wait_with_output().unwrap();
    assert!(
        output.status.success(),
        "{}\n{}",
        String::from_utf8_lossy(&output.stderr),
        fake.story()
    );
    let saw: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(saw["user"], "lever");
    assert_eq!(saw["guilds"], json!(["Test server"]));
    assert_eq!(
        saw["text"],
        json!(["<@800000000000000001> good morning", 4242, true, "general"])
    );
    assert_eq!(saw["click"], json!(["y", 4242, greeting.id]));
    assert_eq!(saw["edited"], "Done");
    assert!(saw["too long"].as_str().unwrap().contains("2000 or fewer"));
    assert!(
        saw["no channel"]
            .as_str()
            .unwrap()
            .contains("Unknown Channel")
    );
    assert_eq!(saw["deduplicated"], true);
    assert_eq!(saw["wrong token"], "refused");
    let messages = fake.messages(CHANNEL);
    assert_eq!(messages[0].text(), "Done");
    assert_eq!(messages[1].json["type"], 19, "a reply");
    assert_eq!(fake.state().identified, 1);
    assert!(fake.state().violations.is_empty(), "{}", fake.story());
}
