//! The real binary and strangers who write to its bots.

use serde_json::{Value, json};

use crate::support::daemon::{Daemon, Home};
use crate::support::fake_telegram::FakeTelegram;
use crate::support::fake_telegram::state::User;
use crate::take_overs::daemon::cli;

/// A bot that Ben may talk to and Anna owns; more of its table, and whole tables behind it.
pub(super) fn home(telegram: &FakeTelegram, more: &str, tables: &str) -> Home {
    telegram.change(|state| state.know_chat(200));
    Home::new(&format!(
        "[model]\ndefault = \"scripted/demo\"\nallow_scripted_on_channels = true\n\n\
         [channels.team]\nkind = \"telegram\"\ntoken_env = \"TEAM_TOKEN\"\napi_base = \"{}\"\n\
         allowed_users = [\"100\"]\n{more}\n\n\
         [people.anna]\nids = [\"telegram:200\"]\nrole = \"owner\"\n\n{tables}",
        telegram.url()
    ))
}

fn start(home: &Home, telegram: &FakeTelegram) -> Daemon {
    let token = telegram.state().token.clone();
    home.daemon_with(&[("TEAM_TOKEN", &token)])
}

fn mallory() -> User {
    User::new(999, "Mallory")
}

/// Waits until so many messages went to a chat; their texts.
pub(super) async fn heard(telegram: &FakeTelegram, chat: i64, count: usize) -> Vec<String> {
    telegram
        .wait_until(&format!("{count} messages to {chat}"), |state| {
            state.messages.iter().filter(|m| m.chat == chat).count() >= count
        })
        .await;
    let texts: Vec<String> = telegram
        .messages(chat)
        .into_iter()
        .map(|m| m.text)
        .collect();
    assert_eq!(texts.len(), count, "{texts:#?}");
    texts
}

/// Waits until the bot has answered somebody whom it knows: whatever came in before was taken in.
async fn settled(telegram: &FakeTelegram, word: &str) {
    telegram.user_says(100, &User::new(100, "Ben"), &format!("SAY:{word}"));
    telegram
        .wait_until(word, |state| {
            state
                .messages
                .iter()
                .any(|m| m.chat == 100 && m.text.contains(word))
        })
        .await;
}

pub(super) async fn pairings(daemon: &Daemon) -> Vec<Value> {
    let list = daemon.get("/v1/pairings").await;
    list["items"].as_array().unwrap().clone()
}

async fn code(daemon: &Daemon) -> String {
    pairings(daemon).await[0]["code"]
        .as_str()
        .unwrap()
        .to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stranger_is_let_in_talks_as_a_user_and_is_put_out_again() {
    let telegram = FakeTelegram::start();
    let home = home(&telegram, "", "");
    let mut daemon = start(&home, &telegram);
    telegram.user_says(999, &mallory(), "SAY:never");
    telegram.repeat_last();
    let first = heard(&telegram, 999, 1).await;
    telegram.user_says(999, &mallory(), "SAY:nor this");
    settled(&telegram, "between").await;
    heard(&telegram, 999, 1).await;

    let asking = pairings(&daemon).await;
    assert_eq!(asking.len(), 1, "{asking:#?}");
    assert_eq!(asking[0]["state"], "pending");
    assert_eq!(
        (&asking[0]["sender"], &asking[0]["channel"]),
        (&json!("telegram:999"), &json!("team"))
    );
    let code = code(&daemon).await;
    // Who else may talk, and who decides, is nobody's business who is not in.
    assert!(first[0].contains(&code) && first[0].contains("telegram:999"));
    for secret in ["100", "200", "Ben", "anna"] {
        assert!(!first[0].contains(secret), "{first:?}");
    }
    let approval = daemon.wait_approval().await;
    assert_eq!(
        (
            &approval["kind"],
            &approval["risk"],
            &approval["short_code"],
            &approval["id"]
        ),
        (
            &json!("pairing"),
            &json!("high"),
            &json!(code),
            &asking[0]["id"]
        )
    );
    assert_eq!(approval["requester"]["display"], "Mallory (@mallory)");
    assert!(!approval.to_string().contains("never"), "what was not read");
    assert_eq!(daemon.get("/v1/channels/team").await["asking"], 1);

    let accept = format!("/v1/pairings/{}/accept", code.to_lowercase());
    let accepted = daemon.post(&accept, json!({})).await;
    assert_eq!(accepted["state"], "accepted");
    assert_eq!(daemon.post(&accept, json!({})).await, accepted);
    let told = heard(&telegram, 999, 2).await;
    assert!(
        told[1].contains("have access") && told[1].contains("send it again"),
        "{told:?}"
    );
    let view = daemon.get("/v1/channels/team").await;
    assert_eq!((&view["asking"], &view["paired"]), (&json!(0), &json!(1)));
    telegram.user_says(999, &mallory(), "SAY:now read");
    assert!(heard(&telegram, 999, 3).await[2].contains("now read"));
    // As a user: their call asks, and they cannot decide it.
    let write = "TOOL:write_file{\"path\":\"note.txt\",\"content\":\"hi\\n\"}\nSAY:all done";
    telegram.user_says(999, &mallory(), write);
    let call = daemon.wait_approval().await;
    assert_eq!(
        call["taint"],
        json!([]),
        "somebody vouched for who was let in"
    );
    telegram
        .wait_until("the question is named", |state| {
            state
                .messages
                .iter()
                .any(|m| m.chat == 999 && m.text.contains("Waiting for"))
        })
        .await;
    let said = telegram.messages(999).len();
    let approve = format!("/approve {}", call["short_code"].as_str().unwrap());
    telegram.user_says(999, &mallory(), &approve);
    telegram
        .wait_until("a refusal", |state| {
            state.messages.iter().filter(|m| m.chat == 999).count() > said
        })
        .await;
    assert_eq!(daemon.wait_approval().await["id"], call["id"]);
    assert_eq!(daemon.decide(&call, "deny_and_stop").await.0, 200);

    daemon.terminate();
    let daemon = start(&home, &telegram);
    let said = telegram.messages(999).len();
    telegram.user_says(999, &mallory(), "SAY:still in");
    let all = heard(&telegram, 999, said + 1).await;
    assert!(all[said].contains("still in"), "{all:?}");

    let (status, text) = cli(&home, &["channels", "revoke", "team", "999"]).await;
    assert_eq!(status, Some(0), "{text}");
    assert!(text.contains("revoked"), "{text}");
    telegram.user_says(999, &mallory(), "SAY:out again");
    let all = heard(&telegram, 999, said + 2).await;
    assert!(
        all[said + 1].contains("not on this bot's list") && !all[said + 1].contains(&code),
        "{all:?}"
    );
    let again = pairings(&daemon).await;
    assert_eq!(
        (again.len(), &again[0]["state"]),
        (1, &json!("pending")),
        "{again:#?}"
    );
    let decided = daemon.get("/v1/audit?action=pairing.revoked").await;
    assert_eq!(
        decided["items"][0]["detail"], "{\"sender\":\"telegram:999\"}",
        "{decided:#}"
    );
    assert_eq!(telegram.state().violations, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_is_silent_lasts_and_can_be_taken_back() {
    let telegram = FakeTelegram::start();
    let home = home(&telegram, "", "");
    let daemon = start(&home, &telegram);
    let (status, text) = cli(&home, &["channels", "pairings"]).await;
    assert_eq!(status, Some(0), "{text}");
    assert!(text.contains("nobody asked"), "{text}");
    telegram.user_says(999, &mallory(), "hello");
    heard(&telegram, 999, 1).await;
    let code = code(&daemon).await;
    let (status, text) = cli(&home, &["channels", "pair", "ZZZZZZ"]).await;
    assert_eq!(status, Some(1), "{text}");
    assert!(text.contains("channels pairings"), "{text}");
    let (status, text) = cli(&home, &["channels", "revoke", "team", "999"]).await;
    assert_eq!(status, Some(1), "{text}");
    assert!(text.contains("--deny"), "{text}");
    let (status, text) = cli(&home, &["--json", "channels", "pair", &code, "--deny"]).await;
    assert_eq!(status, Some(0), "{text}");
    let refused: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(refused["state"], "refused");
    let (status, text) = cli(&home, &["channels", "pair", &code]).await;
    assert_eq!(status, Some(5), "{text}");
    assert!(text.contains("channels revoke team telegram:999"), "{text}");
    telegram.user_says(999, &mallory(), "hello?");
    settled(&telegram, "after").await;
    heard(&telegram, 999, 1).await;
    let (status, text) = cli(&home, &["channels", "revoke", "team", "telegram:999"]).await;
    assert_eq!(status, Some(0), "{text}");
    telegram.user_says(999, &mallory(), "hello again");
    heard(&telegram, 999, 2).await;
    let (status, text) = cli(&home, &["channels", "pairings", "--state", "pending"]).await;
    assert_eq!(status, Some(0), "{text}");
    assert!(
        text.contains("telegram:999") && text.contains("Mallory"),
        "{text}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_code_that_is_over_lets_nobody_in() {
    let telegram = FakeTelegram::start();
    let home = home(&telegram, "", "");
    let mut daemon = start(&home, &telegram);
    telegram.user_says(999, &mallory(), "hello");
    heard(&telegram, 999, 1).await;
    let code = code(&daemon).await;
    daemon.terminate();
    let offset = home.path().join("offset");
    std::fs::write(&offset, "3601").unwrap();
    let token = telegram.state().token.clone();
    let daemon = home.daemon_with(&[
        ("TEAM_TOKEN", &token),
        ("LEVERFRAME_CLOCK_OFFSET_FILE", offset.to_str().unwrap()),
    ]);
    daemon
        .wait("/v1/pairings", "the code is over", |list| {
            list["items"][0]["state"] == "expired"
        })
        .await;
    let (status, text) = cli(&home, &["channels", "pair", &code]).await;
    assert_eq!(status, Some(5), "{text}");
    assert!(text.contains("asks again"), "{text}");
    telegram.user_says(999, &mallory(), "hello");
    let told = heard(&telegram, 999, 2).await;
    assert!(!told[1].contains(&code), "{told:?}");
    assert_eq!(pairings(&daemon).await[0]["state"], "pending");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_fourth_and_whoever_writes_in_a_group_hear_nothing() {
    let telegram = FakeTelegram::start();
    let home = home(&telegram, "", "");
    let daemon = start(&home, &telegram);
    telegram.user_says(-500, &mallory(), "/status");
    for id in [901, 902, 903, 904] {
        telegram.user_says(id, &User::new(id, "Somebody"), "hello");
    }
    for id in [901, 902, 903] {
        heard(&telegram, id, 1).await;
    }
    settled(&telegram, "all in").await;
    assert!(telegram.messages(904).is_empty() && telegram.messages(-500).is_empty());
    assert_eq!(pairings(&daemon).await.len(), 3);
    assert_eq!(daemon.get("/v1/channels/team").await["asking"], 3);
    let code = code(&daemon).await;
    let refuse = format!("/v1/pairings/{code}/refuse");
    let refused = daemon.post(&refuse, json!({})).await;
    assert_eq!(refused["state"], "refused");
    let (status, problem) = daemon
        .request(
            "POST",
            &format!("/v1/pairings/{code}/accept"),
            Some(json!({})),
        )
        .await;
    assert_eq!(status, 409, "{problem}");
    let revoke = format!("/v1/pairings/{}/revoke", refused["id"].as_str().unwrap());
    for _ in 0..2 {
        assert_eq!(daemon.post(&revoke, json!({})).await["state"], "revoked");
    }
    telegram.user_says(904, &User::new(904, "Somebody"), "hello");
    heard(&telegram, 904, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn in_the_chat_it_is_decided_only_where_high_risk_may_be() {
    for (more, may) in [("", false), ("chat_max_risk = \"high\"", true)] {
        let telegram = FakeTelegram::start();
        let home = home(&telegram, more, "");
        let daemon = start(&home, &telegram);
        let anna = User::new(200, "Anna");
        telegram.user_says(999, &mallory(), "hello");
        heard(&telegram, 999, 1).await;
        let card = heard(&telegram, 200, 1).await;
        let code = code(&daemon).await;
        assert!(
            card[0].contains("asks for access") && card[0].contains("telegram:999"),
            "{card:?}"
        );
        let labels = telegram.messages(200)[0].labels();
        assert_eq!(labels.is_empty(), !may, "{labels:?}");
        telegram.user_says(200, &anna, &format!("/approve {code}"));
        telegram
            .wait_until("an answer to Anna", |state| {
                state.messages.iter().any(|m| {
                    m.chat == 200 && (m.text.contains("ecided") || m.text.contains("Recorded"))
                })
            })
            .await;
        let state = if may { "accepted" } else { "pending" };
        assert_eq!(pairings(&daemon).await[0]["state"], state);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_account_lets_in_for_itself_and_may_not_ask_at_all() {
    let (telegram, closed) = (FakeTelegram::start(), FakeTelegram::start());
    let table = format!(
        "[channels.closed]\nkind = \"telegram\"\ntoken_env = \"TEAM_TOKEN\"\napi_base = \"{}\"\npairing = false\n",
        closed.url()
    );
    let home = home(&telegram, "", &table);
    let daemon = start(&home, &telegram);
    telegram.user_says(999, &mallory(), "hello");
    heard(&telegram, 999, 1).await;
    let accept = format!("/v1/pairings/{}/accept", code(&daemon).await);
    daemon.post(&accept, json!({})).await;
    heard(&telegram, 999, 2).await;
    for _ in 0..2 {
        closed.user_says(999, &mallory(), "SAY:let in?");
    }
    closed.user_says(200, &User::new(200, "Anna"), "SAY:done");
    heard(&closed, 200, 1).await;
    let told = heard(&closed, 999, 1).await;
    assert!(told[0].contains("`telegram:999`") || told[0].contains("telegram:999"));
    assert!(told[0].contains("allowed_users"), "{told:?}");
    assert_eq!(pairings(&daemon).await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forgotten_person_is_a_stranger_again() {
    let telegram = FakeTelegram::start();
    let home = home(&telegram, "", "");
    let daemon = start(&home, &telegram);
    telegram.user_says(999, &mallory(), "hello");
    heard(&telegram, 999, 1).await;
    let accept = format!("/v1/pairings/{}/accept", code(&daemon).await);
    daemon.post(&accept, json!({})).await;
    heard(&telegram, 999, 2).await;
    daemon
        .wait(
            "/v1/outbox?state=sending",
            "nothing is being sent",
            |body| body["items"].as_array().is_some_and(Vec::is_empty),
        )
        .await;
    let (status, gone) = daemon
        .request("DELETE", "/v1/memory/people/telegram:999", None)
        .await;
    assert_eq!(status, 200, "{gone}");
    assert!(pairings(&daemon).await.is_empty());
    telegram.user_says(999, &mallory(), "hello");
    let told = heard(&telegram, 999, 3).await;
    assert!(told[2].contains("not on this bot's list"), "{told:?}");
}
