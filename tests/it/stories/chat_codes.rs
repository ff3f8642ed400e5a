//! `/approve CODE` and `/deny CODE` decide only what the person was shown, as it was shown to them.

use serde_json::{Value, json};

use crate::stories::bot::{self, WRITE, anna, shown};
use crate::support::daemon::{Daemon, Home};
use crate::support::fake_telegram::FakeTelegram;
use crate::support::fake_telegram::state::{BotMessage, User};

fn home(telegram: &FakeTelegram, channel: &str) -> Home {
    let people = "[people.anna]\nids = [\"telegram:200\"]\nrole = \"owner\"\n\n\
                  [people.carl]\nids = [\"telegram:300\"]\nrole = \"approver\"";
    bot::home(
        telegram,
        &format!("allowed_users = [\"100\"]\n{channel}"),
        people,
    )
}

fn start(home: &Home, telegram: &FakeTelegram) -> Daemon {
    bot::start(home, telegram, &[200, 300], &[])
}

fn code(approval: &Value) -> String {
    approval["short_code"].as_str().unwrap().to_owned()
}

/// An edit of the waiting call; the approval as it is then.
async fn edited(daemon: &Daemon, approval: &Value, content: &str) -> Value {
    let id = approval["id"].as_str().unwrap();
    let body = json!({
        "decision": "edit", "digest": approval["digest"],
        "args": {"path": "note.txt", "content": content},
    });
    let (status, edited) = daemon
        .request("POST", &format!("/v1/approvals/{id}/decision"), Some(body))
        .await;
    assert_eq!(status, 200, "{edited:#}");
    daemon.get(&format!("/v1/approvals/{id}")).await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_old_code_decides_nothing_and_brings_the_current_card() {
    let telegram = FakeTelegram::start();
    let home = home(&telegram, "");
    let daemon = start(&home, &telegram);
    telegram.user_says(100, &User::new(100, "Ben"), WRITE);
    let first = daemon.wait_approval().await;
    shown(&telegram, 200, &code(&first)).await;

    // The cards of the edit cannot be delivered: Anna still sees the first.
    telegram.change(|state| {
        state.blocked.insert(200);
    });
    let second = edited(&daemon, &first, "something else\n").await;
    assert_ne!(code(&second), code(&first), "a revision has its own code");
    daemon
        .wait("/v1/outbox?state=failed", "the new card fails", |list| {
            list["items"].as_array().is_some_and(|items| {
                items
                    .iter()
                    .any(|item| item["class"] == "approval_card" && item["conversation"] == "200")
            })
        })
        .await;
    telegram.change(|state| {
        state.blocked.remove(&200);
    });
    telegram.user_says(200, &anna(), &format!("/approve {}", code(&first)));
    shown(&telegram, 200, "it changed since").await;
    let still = daemon.wait_approval().await;
    assert_eq!(still["revision"], second["revision"]);
    assert!(!home.workspace("team").join("note.txt").exists());

    // The card of the current revision comes, and its code decides.
    let card = shown(&telegram, 200, &code(&second)).await;
    assert!(card.text.contains("something else"), "{}", card.text);
    telegram.user_says(200, &anna(), &format!("/approve {}", code(&second)));
    shown(&telegram, 100, "all done").await;
    assert_eq!(
        std::fs::read_to_string(home.workspace("team").join("note.txt")).unwrap(),
        "something else\n"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_old_code_decides_nothing_where_the_new_card_was_shown_too() {
    let telegram = FakeTelegram::start();
    let home = home(&telegram, "");
    let daemon = start(&home, &telegram);
    telegram.user_says(100, &User::new(100, "Ben"), WRITE);
    let first = daemon.wait_approval().await;
    shown(&telegram, 200, &code(&first)).await;
    let second = edited(&daemon, &first, "something else\n").await;
    shown(&telegram, 200, &code(&second)).await;
    // The old card says that it was replaced, and names no code any more.
    let old = shown(&telegram, 200, "a newer card replaces this one").await;
    assert!(
        !old.text.contains(&code(&first)) && !old.text.contains(&code(&second)),
        "{}",
        old.text
    );

    telegram.user_says(200, &anna(), &format!("/deny {} no", code(&first)));
    shown(&telegram, 200, "it changed since").await;
    assert_eq!(daemon.wait_approval().await["id"], first["id"]);
    let cards = telegram.messages(200);
    let cards = cards.iter().filter(|m| m.text.contains(&code(&second)));
    assert_eq!(cards.count(), 1, "the card was there already");
    telegram.user_says(200, &anna(), &format!("/deny {} no", code(&second)));
    let turn = first["continuation_id"].as_str().unwrap();
    daemon.wait_state(turn, "completed").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_decides_by_a_code_whose_card_they_were_not_shown() {
    let telegram = FakeTelegram::start();
    let home = home(&telegram, "approval_to = [\"anna\"]");
    let daemon = start(&home, &telegram);
    telegram.user_says(100, &User::new(100, "Ben"), WRITE);
    let asked = daemon.wait_approval().await;
    let code = code(&asked);
    shown(&telegram, 200, &code).await;

    // Carl may decide, and learned the code elsewhere; by its code and by its id.
    let carl = User::new(300, "Carl");
    let id = asked["id"].as_str().unwrap();
    for (n, what) in [(1, code.as_str()), (2, id)] {
        telegram.user_says(300, &carl, &format!("/approve {what}"));
        telegram
            .wait_until("a refusal", |state| {
                let told = |m: &&BotMessage| m.chat == 300 && m.text.contains("shown to you");
                state.messages.iter().filter(told).count() == n
            })
            .await;
    }
    assert_eq!(daemon.wait_approval().await["id"], asked["id"]);
    assert!(!home.workspace("team").join("note.txt").exists());

    telegram.user_says(200, &anna(), &format!("/approve {id}"));
    shown(&telegram, 100, "all done").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_card_that_was_shortened_is_not_allowed_by_its_code() {
    let telegram = FakeTelegram::start();
    let home = home(&telegram, "");
    let daemon = start(&home, &telegram);
    let long = "line\\n".repeat(2000);
    let write =
        format!("TOOL:write_file{{\"path\":\"note.txt\",\"content\":\"{long}\"}}\nSAY:all done");
    let session = daemon
        .post(
            "/v1/sessions",
            json!({"channel": "team", "conversation": "100"}),
        )
        .await;
    let turn = daemon.send(session["id"].as_str().unwrap(), &write).await;
    let asked = daemon.wait_approval().await;
    shown(&telegram, 200, "shortened here").await;
    telegram.user_says(200, &anna(), &format!("/approve {}", code(&asked)));
    shown(&telegram, 200, "was shortened").await;
    assert_eq!(daemon.wait_approval().await["id"], asked["id"]);
    telegram.user_says(200, &anna(), &format!("/deny {}", code(&asked)));
    let done = daemon.wait_state(&turn, "completed").await;
    assert_eq!(done["tool_calls"][0]["state"], "denied");
}
