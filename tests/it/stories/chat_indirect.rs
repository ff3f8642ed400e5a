//! A command that was forwarded, quoted or edited has no effect, whatever it says.

use serde_json::{Value, json};

use crate::stories::bot::{self, WRITE, anna, shown};
use crate::support::daemon::{Daemon, Home};
use crate::support::fake_telegram::FakeTelegram;

fn home(telegram: &FakeTelegram) -> Home {
    let people = "[approvals]\nself_approval = \"always\"\n\n\
                  [people.anna]\nids = [\"telegram:200\"]\nrole = \"owner\"";
    bot::home(telegram, "", people)
}

/// How often the bot refused to act on what is not her own fresh word.
async fn refusals(telegram: &FakeTelegram, count: usize) {
    telegram
        .wait_until("refusals", |state| {
            let told = state
                .messages
                .iter()
                .filter(|m| m.chat == 200 && m.text.contains("has no effect"));
            told.count() == count
        })
        .await;
}

async fn pending(daemon: &Daemon) -> Value {
    daemon.get("/v1/approvals?state=pending").await["items"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn forwarded_quoted_and_edited_commands_do_nothing() {
    let telegram = FakeTelegram::start();
    let home = home(&telegram);
    let daemon = bot::start(&home, &telegram, &[200], &[]);
    let anna = anna();
    let routine = json!({"name": "daily", "schedule": "@daily", "prompt": "SAY:hi", "channel": "team", "conversation": "200"});
    let made = daemon.post("/v1/routines", routine).await;
    assert_eq!(made["enabled"], true, "{made:#}");
    telegram.user_says(200, &anna, WRITE);
    let asked = daemon.wait_approval().await;
    let turn = asked["continuation_id"].as_str().unwrap();
    daemon.wait_state(turn, "awaiting_approval").await;
    let code = asked["short_code"].as_str().unwrap();
    shown(&telegram, 200, code).await;

    let marks = [
        json!({"forward_origin": {"type": "user"}}),
        json!({"quote": {"text": "x"}}),
        json!({"edit_date": 3}),
    ];
    let commands = [
        "/cancel".to_owned(),
        "/routines disable daily".to_owned(),
        format!("/approve {code}"),
        "/routines run daily".to_owned(),
        "/new".to_owned(),
        format!("/deny {code}"),
        "/fresh SAY:not asked".to_owned(),
        "/rename stolen".to_owned(),
    ];
    // The bot says one thing a second in a chat, so each command is sent in one of the three ways.
    for (at, text) in commands.iter().enumerate() {
        let mut extra = marks[at % marks.len()].clone();
        extra["text"] = json!(text);
        telegram.user_sends(200, &anna, extra);
    }
    refusals(&telegram, commands.len()).await;
    assert_eq!(pending(&daemon).await[0]["id"], asked["id"]);
    let sessions = daemon.get("/v1/sessions").await;
    assert_eq!(sessions["items"].as_array().unwrap().len(), 1);
    assert_ne!(sessions["items"][0]["title"], "stolen");
    let turns = daemon.get("/v1/continuations").await;
    assert_eq!(turns["items"].as_array().unwrap().len(), 1, "{turns:#}");
    assert_eq!(
        daemon.get("/v1/routines").await["items"][0]["enabled"],
        true
    );

    // A forwarded text that is no command is a message like any other; a command of her own acts.
    telegram.user_says(200, &anna, "/cancel");
    daemon.wait_state(turn, "cancelled").await;
    telegram.user_sends(
        200,
        &anna,
        json!({"text": "SAY:read it", "forward_origin": {"type": "user"}}),
    );
    telegram
        .wait_until("the forwarded text is answered", |state| {
            state.messages.iter().any(|m| m.text.contains("read it"))
        })
        .await;
}
