//! The fake, judged by a client library we did not write (python-telegram-bot).
//!
//! Installed by `tests/peers/install.sh`; where it is not, this says so loudly.

use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::fake_telegram::{FakeTelegram, Fault, TOKEN};
use crate::support::requirement::{peer, peer_source};
use crate::telegram::port::ada;

#[test]
fn an_independent_client_is_happy_with_the_fake() {
    let unchecked = "an independent client of Telegram";
    let Some(python) = peer("telegram_client", "bin/python", unchecked) else {
        return;
    };
    let fake = FakeTelegram::start();
    let (chat, user) = (4242, ada());
    fake.change(|state| state.know_chat(chat));
    let child = Command::new(python)
        .arg(peer_source("telegram_client", "drive.py"))
        .args([fake.url(), TOKEN, &chat.to_string()])
        .env_remove("http_proxy")
        .env_remove("HTTP_PROXY")
        .env_remove("all_proxy")
        .env_remove("ALL_PROXY")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    fake.wait_blocking("the greeting and a waiting poll", |state| {
        !state.messages.is_empty() && state.poll > 0
    });
    let greeting = fake.messages(chat)[0].message_id;
    // The three sends it expects to be refused for what they say come first, then the limited one.
    for _ in 0..3 {
        fake.fault("sendMessage", Fault::Slow(Duration::ZERO));
    }
    fake.fault("sendMessage", Fault::TooMany(7));
    fake.user_says(chat, &user, "good morning");
    fake.user_clicks(chat, greeting, "Yes", &user);
    let output = child.wait_with_output().unwrap();
    assert!(
        output.status.success(),
        "{}\n{}",
        String::from_utf8_lossy(&output.stderr),
        fake.story()
    );
    let saw: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(saw["username"], "lever_test_bot");
    assert_eq!(
        saw["greeting"],
        json!(["Hello & welcome", ["bold", "code"]])
    );
    assert_eq!(saw["text"], json!(["good morning", 4242, "private"]));
    assert_eq!(saw["click"], json!(["y".repeat(64), 4242, true]));
    assert_eq!(saw["answered"], true);
    assert_eq!(saw["edited"], json!(["Done", true]));
    for (name, words) in [
        ("not modified", "essage is not modified"),
        ("bad markup", "an't parse entities"),
        ("too long", "essage is too long"),
        ("no chat", "hat not found"),
        ("old click", "uery is too old"),
    ] {
        let said = saw[name].as_str().unwrap();
        assert!(said.contains(words), "{name}: {said}");
    }
    assert!(saw["limited"].as_str().unwrap().starts_with('7') || saw["limited"] == "0:00:07");
    assert_eq!(saw["left"], 0);
    assert_eq!(saw["wrong token"], "refused");
    assert!(fake.state().violations.is_empty(), "{}", fake.story());
}
