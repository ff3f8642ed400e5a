//! Sessions in a chat: the list with its codes, the way back to an earlier one, and a request that goes on after a
//! restart.

use serde_json::Value;

use crate::stories::bot::{self, anna, ben, shown};
use crate::support::daemon::{Daemon, Home};
use crate::support::fake_telegram::FakeTelegram;

fn start(home: &Home, telegram: &FakeTelegram) -> Daemon {
    bot::start(home, telegram, &[], &[])
}

fn home(telegram: &FakeTelegram) -> Home {
    bot::home(telegram, "allowed_users = [\"100\", \"200\"]", "")
}

async fn sessions(daemon: &Daemon, state: &str) -> Vec<Value> {
    let page = daemon.get(&format!("/v1/sessions?state={state}")).await;
    page["items"].as_array().unwrap().clone()
}

fn code(session: &Value) -> String {
    let id = session["id"].as_str().unwrap();
    id[id.len() - 6..].to_owned()
}

#[tokio::test]
async fn a_person_goes_back_to_an_earlier_session_by_its_code() {
    let telegram = FakeTelegram::start();
    let home = home(&telegram);
    let daemon = start(&home, &telegram);
    telegram.user_says(100, &ben(), "SAY:the first answer");
    shown(&telegram, 100, "the first answer").await;
    telegram.user_says(100, &ben(), "/new");
    shown(&telegram, 100, "new session").await;
    telegram.user_says(100, &ben(), "SAY:the second answer");
    shown(&telegram, 100, "the second answer").await;
    let (first, second) = (
        sessions(&daemon, "ended").await[0].clone(),
        sessions(&daemon, "active").await[0].clone(),
    );

    telegram.user_says(100, &ben(), "/sessions");
    let list = shown(&telegram, 100, "newest first").await.text;
    assert!(
        list.contains(&format!("{} active", code(&second)))
            && list.contains(&format!("{} ended", code(&first))),
        "{list}"
    );
    // Neither without a code, nor with a wrong one, nor somebody else's.
    telegram.user_says(100, &ben(), "/resume");
    shown(&telegram, 100, "Send /resume CODE").await;
    telegram.user_says(100, &ben(), "/resume NOSUCH");
    shown(&telegram, 100, "has the code NOSUCH").await;
    telegram.user_says(200, &anna(), &format!("/resume {}", code(&first)));
    shown(&telegram, 200, "No session of yours here").await;
    telegram.user_says(100, &ben(), &format!("/resume {}", code(&second)));
    shown(&telegram, 100, "already in this session").await;
    assert_eq!(sessions(&daemon, "active").await[0]["id"], second["id"]);

    telegram.user_says(
        100,
        &ben(),
        &format!("/resume {}", code(&first).to_lowercase()),
    );
    shown(&telegram, 100, "Back in the session").await;
    assert_eq!(sessions(&daemon, "ended").await[0]["id"], second["id"]);
    telegram.user_says(100, &ben(), "SAY:the third answer");
    shown(&telegram, 100, "the third answer").await;
    let active = sessions(&daemon, "active").await;
    assert_eq!(active[0]["id"], first["id"]);
    assert_eq!(active[0]["turns"], 2, "{active:#?}");
}

#[tokio::test]
async fn an_interrupted_request_goes_on_with_continue() {
    let telegram = FakeTelegram::start();
    let home = home(&telegram);
    let mut daemon = start(&home, &telegram);
    telegram.user_says(100, &ben(), "/continue");
    shown(&telegram, 100, "Nothing here was interrupted").await;
    telegram.user_says(100, &ben(), "SLOW:400\nSAY:a long answer");
    daemon
        .wait("/v1/continuations?state=running", "it runs", |page| {
            page["items"].as_array().is_some_and(|all| !all.is_empty())
        })
        .await;
    daemon.kill();
    let daemon = start(&home, &telegram);
    shown(&telegram, 100, "/continue goes on with it").await;
    let turns = daemon.get("/v1/continuations").await;
    assert_eq!(turns["items"][0]["state"], "interrupted");
    telegram.user_says(100, &ben(), "/continue");
    shown(&telegram, 100, "Going on").await;
    shown(&telegram, 100, "a long answer").await;
}
