//! The real binary: questions are assigned and somebody is on call, over HTTP, at the command line and in a chat.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::daemon::{Daemon, Home};
use crate::support::fake_telegram::FakeTelegram;

const WRITE: &str = "TOOL:write_file{\"path\":\"a.txt\",\"content\":\"x\"}\nSAY:done";

pub(crate) const PEOPLE: &str = "[people.anna]\nids = [\"telegram:100\"]\nrole = \"approver\"\n\n\
     [people.cleo]\nids = [\"telegram:200\"]\nrole = \"owner\"\n\n\
     [people.dan]\nids = [\"telegram:300\"]\nrole = \"user\"\n\n";

pub(crate) async fn cli(home: &Home, words: &[&str]) -> (Option<i32>, String) {
    let mut command = home.command();
    command.args(words);
    let output = tokio::task::spawn_blocking(move || command.output())
        .await
        .unwrap()
        .expect("the binary runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    (
        output.status.code(),
        text + &String::from_utf8_lossy(&output.stderr),
    )
}

fn path(approval: &Value) -> String {
    format!("/v1/approvals/{}", approval["id"].as_str().unwrap())
}

async fn over(daemon: &Daemon, approval: &Value, body: Value) -> (u16, Value) {
    let mut whole = json!({ "digest": approval["digest"], "revision": approval["revision"] });
    for (name, value) in body.as_object().unwrap() {
        whole[name] = value.clone();
    }
    let path = format!("{}/assign", path(approval));
    daemon.request("POST", &path, Some(whole)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_is_handed_over_and_still_everybody_can_decide_it() {
    let home = Home::new(PEOPLE);
    let mut daemon = home.daemon();
    let session = daemon.session().await;
    let turn = daemon.send(&session, WRITE).await;
    let asked = daemon.wait_approval().await;
    assert!(asked["assignment"].is_null(), "{asked}");

    let (status, refused) = over(&daemon, &asked, json!({ "to": "ana" })).await;
    assert_eq!(status, 400, "{refused}");
    let text = refused.to_string();
    assert!(
        text.contains("did you mean `anna`?") && text.contains("known: anna, cleo"),
        "{text}"
    );
    let (status, refused) = over(&daemon, &asked, json!({ "to": "dan" })).await;
    assert_eq!(status, 400, "a user decides nothing: {refused}");
    let long = "x".repeat(501);
    let (status, refused) = over(&daemon, &asked, json!({ "to": "anna", "note": long })).await;
    assert_eq!(status, 400, "{refused}");
    let (status, refused) = over(&daemon, &asked, json!({ "to": "anna", "revision": 7 })).await;
    assert_eq!(status, 409, "{refused}");

    let body = json!({ "to": "anna", "note": "it is her file" });
    let (status, handed) = over(&daemon, &asked, body).await;
    assert_eq!(status, 200, "{handed}");
    let waiting = json!({
        "to": "anna", "by": "token admin", "at": handed["assignment"]["at"], "note": "it is her file",
    });
    assert_eq!(handed["assignment"], waiting);
    for (name, value) in asked.as_object().unwrap() {
        if name != "similar" {
            assert_eq!(&handed[name], value, "{name} stays");
        }
    }

    // Kept over a restart; shown in every list.
    daemon.terminate();
    let daemon = home.daemon();
    assert_eq!(daemon.get(&path(&asked)).await["assignment"], waiting);
    let code = asked["short_code"].as_str().unwrap();
    let (status, list) = cli(&home, &["approvals", "list"]).await;
    assert_eq!(status, Some(0), "{list}");
    assert!(list.contains("FOR") && list.contains("anna"), "{list}");
    let (_, card) = cli(&home, &["approvals", "show", code]).await;
    assert!(
        card.contains("waits for anna, assigned by token admin") && card.contains("her file"),
        "{card}"
    );
    let (_, summary) = cli(&home, &["summary"]).await;
    for words in [
        "waiting for anna, assigned by token admin: it is her file",
        &format!("{code} to anna by token admin at"),
    ] {
        assert!(summary.contains(words), "{words}: {summary}");
    }

    // At the command line: to somebody else, to nobody, to nobody known.
    let (status, text) = cli(&home, &["approvals", "assign", code, "cleo"]).await;
    assert_eq!(status, Some(0), "{text}");
    assert!(text.contains("waiting for cleo"), "{text}");
    let (status, text) = cli(&home, &["approvals", "assign", code, "nobody"]).await;
    assert_eq!(status, Some(2), "{text}");
    let (status, text) = cli(&home, &["approvals", "assign", code, "-"]).await;
    assert_eq!(status, Some(0), "{text}");
    assert!(daemon.get(&path(&asked)).await["assignment"].is_null());
    let (status, _) = over(&daemon, &asked, json!({ "to": "cleo" })).await;
    assert_eq!(status, 200);

    // Whoever could decide it before still can, and then nobody is waited for.
    assert_eq!(daemon.decide(&asked, "approve").await.0, 200);
    daemon.wait_state(&turn, "completed").await;
    assert!(daemon.get(&path(&asked)).await["assignment"].is_null());
    let (status, refused) = over(&daemon, &asked, json!({ "to": "anna" })).await;
    assert_eq!(status, 409, "{refused}");
    assert!(refused.to_string().contains("approve"), "{refused}");
    let audit = daemon.get("/v1/audit?action=approval.assigned").await;
    assert_eq!(audit["items"].as_array().map(Vec::len), Some(4), "{audit}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_whose_session_ended_is_not_handed_over() {
    let home = Home::new(PEOPLE);
    let daemon = home.daemon();
    let session = daemon.session().await;
    daemon.send(&session, WRITE).await;
    let asked = daemon.wait_approval().await;
    assert_eq!(over(&daemon, &asked, json!({ "to": "anna" })).await.0, 200);
    let ended = daemon
        .request("DELETE", &format!("/v1/sessions/{session}"), None)
        .await;
    assert!(ended.0 < 300, "{}", ended.1);
    let (status, refused) = over(&daemon, &asked, json!({ "to": "cleo" })).await;
    assert_eq!(status, 409, "{refused}");
    let gone = daemon.get(&path(&asked)).await;
    assert!(gone["assignment"].is_null(), "{gone}");
    assert_eq!(daemon.get("/v1/summary").await["pending"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_it_is_handed_to_gets_the_card_in_their_chat() {
    let telegram = FakeTelegram::start();
    let home = Home::new(&format!(
        "[model]\ndefault = \"scripted/demo\"\nallow_scripted_on_channels = true\n\n{PEOPLE}\
         [channels.team]\nkind = \"telegram\"\ntoken_env = \"TEAM_TOKEN\"\napi_base = \"{}\"\n\
         allowed_users = [\"100\"]\n\n\
         [channels.api]\napproval_to = [\"cleo\"]\n",
        telegram.url()
    ));
    let token = telegram.state().token.clone();
    let daemon = home.daemon_with(&[("TEAM_TOKEN", &token)]);
    telegram.change(|state| {
        state.know_chat(100);
        state.know_chat(200);
    });
    let session = daemon.session().await;
    daemon.send(&session, WRITE).await;
    let asked = daemon.wait_approval().await;
    let card = |chat: i64| {
        let code = asked["short_code"].as_str().unwrap().to_owned();
        move |state: &crate::support::fake_telegram::state::State| {
            let shows = |m: &&crate::support::fake_telegram::state::BotMessage| {
                m.chat == chat && m.text.contains(&code)
            };
            state.messages.iter().filter(shows).count() == 1
        }
    };
    telegram.wait_until("cleo's card", card(200)).await;
    assert!(!card(100)(&telegram.state()), "anna is not asked");
    let body = json!({ "to": "anna", "note": format!("please {token}") });
    let (status, handed) = over(&daemon, &asked, body).await;
    assert_eq!(status, 200, "{handed}");
    assert!(!handed.to_string().contains(&token), "a secret is kept");
    telegram.wait_until("anna's card", card(100)).await;
    let text = telegram.messages(100).pop().unwrap().text;
    assert!(
        text.contains("Waiting for anna, assigned by token admin")
            && text.contains("Note: please")
            && !text.contains(&token),
        "{text}"
    );
    // Back to whoever has one already, and to anna, who has one as well: no second card.
    for to in ["cleo", "anna"] {
        assert_eq!(over(&daemon, &asked, json!({ "to": to })).await.0, 200);
    }
    let cards = |list: &Value, chat: &str| {
        let parts = list["items"].as_array().unwrap().iter();
        let of = |part: &&Value| part["class"] == "approval_card" && part["conversation"] == chat;
        parts.filter(of).count()
    };
    let parts = daemon.get("/v1/outbox?limit=100").await;
    assert_eq!(
        (cards(&parts, "100"), cards(&parts, "200")),
        (1, 1),
        "{parts:#}"
    );
    // What is changed is asked anew: of whom it waits for, too.
    let edit = json!({
        "decision": "edit", "digest": asked["digest"], "args": { "path": "a.txt", "content": "y" },
    });
    let edited = daemon
        .post(&format!("{}/decision", path(&asked)), edit)
        .await;
    assert_eq!(edited["assignment"]["to"], "anna", "{edited}");
    let parts = daemon.get("/v1/outbox?limit=100").await;
    assert_eq!(
        (cards(&parts, "100"), cards(&parts, "200")),
        (2, 2),
        "{parts:#}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn somebody_is_on_call_until_their_time_is_over() {
    let home = Home::new(PEOPLE);
    let mut daemon = home.daemon();
    let nobody = daemon.get("/v1/on-call").await;
    assert!(nobody["on_call"].is_null() && nobody["ended"].is_null());
    assert_eq!(nobody["you"], json!(["token admin"]));
    let names: Vec<&str> = nobody["names"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_str)
        .collect();
    assert_eq!(names, ["anna", "cleo", "token admin"]);
    let (_, text) = cli(&home, &["on-call"]).await;
    assert!(text.starts_with("nobody is on call\n"), "{text}");

    for (name, word) in [
        ("ana", "did you mean `anna`?"),
        ("dan", "known: anna, cleo"),
    ] {
        let (status, refused) = daemon
            .request("PUT", "/v1/on-call", Some(json!({ "name": name })))
            .await;
        assert_eq!(status, 400, "{refused}");
        assert!(refused.to_string().contains(word), "{refused}");
    }
    let (status, refused) = daemon
        .request(
            "PUT",
            "/v1/on-call",
            Some(json!({ "name": "anna", "seconds": 5 })),
        )
        .await;
    assert_eq!(status, 400, "{refused}");
    let body = json!({ "name": "anna", "seconds": 28800, "note": "call twice" });
    let (status, set) = daemon.request("PUT", "/v1/on-call", Some(body)).await;
    assert_eq!(status, 200, "{set}");
    let snapshot = daemon.get("/v1/snapshot").await;
    assert_eq!(
        snapshot["on_call_status"]["on_call"], set["on_call"],
        "{snapshot}"
    );
    daemon.terminate();
    let daemon = home.daemon();
    assert_eq!(daemon.get("/v1/on-call").await["on_call"], set["on_call"]);

    let (status, text) = cli(&home, &["on-call"]).await;
    assert_eq!(status, Some(0));
    assert!(
        text.contains("anna is on call since") && text.contains("call twice"),
        "{text}"
    );
    let (_, summary) = cli(&home, &["summary"]).await;
    assert!(
        summary.contains("anna is on call") && summary.contains("on call to anna by token admin"),
        "{summary}"
    );
    let (status, text) = cli(&home, &["on-call", "cleo", "--for", "soon"]).await;
    assert_eq!(status, Some(2), "{text}");
    let (status, text) = cli(&home, &["on-call", "cleo", "--for", "2h"]).await;
    assert_eq!(status, Some(0), "{text}");
    assert!(
        text.contains("cleo is on call") && text.contains("until"),
        "{text}"
    );
    let (status, text) = cli(&home, &["on-call", "-"]).await;
    assert_eq!(status, Some(0), "{text}");
    assert!(daemon.get("/v1/on-call").await["on_call"].is_null());
    let audit = daemon.get("/v1/audit?action=oncall.set").await;
    assert_eq!(audit["items"].as_array().map(Vec::len), Some(3), "{audit}");
    let mut doctor = home.command();
    drop(daemon);
    doctor.args(["doctor", "--check"]);
    let deadline = Instant::now() + Duration::from_secs(20);
    let output = doctor.output().expect("the binary runs");
    assert!(
        output.status.success() && Instant::now() < deadline,
        "{}",
        String::from_utf8_lossy(&output.stdout)
    );
}
