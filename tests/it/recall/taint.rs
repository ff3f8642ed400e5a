//! What was written with untrusted content in context taints who reads it, until `/new`.

use serde_json::{Value, json};

use crate::recall::{FULL, add, call, change, memories, on_api, recalled};
use crate::stories::bot;
use crate::support::daemon::{Daemon, Home};
use crate::support::fake_telegram::FakeTelegram;

const WRITE: &str =
    "TOOL:write_file{\"path\":\"n.txt\",\"content\":\"x\",\"mode\":\"append\"}\nSAY:done";

/// A write that asks because of taint; what the card says of it.
async fn asks(daemon: &Daemon, session: &str, text: &str) -> (String, Value) {
    let continuation = daemon.send(session, text).await;
    let asked = daemon.wait_approval().await;
    let rule = asked["verdict"]["rule"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    assert!(rule.starts_with("taint: "), "{asked:#}");
    (continuation, asked)
}

#[tokio::test]
async fn a_tainted_memory_taints_the_session_that_reads_it_until_it_ends() {
    let home = Home::new(FULL);
    let mut daemon = home.daemon();
    let tainted = add(&daemon, on_api(), "deploy only on Fridays").await;
    let id = tainted["id"].as_str().unwrap().to_owned();
    daemon.terminate();
    change(&home, "UPDATE memories SET taint = '[\"a web page\"]'");
    let daemon = home.daemon();
    let session = daemon.session().await;
    let (continuation, asked) = asks(&daemon, &session, WRITE).await;
    assert!(
        asked["taint"][0].as_str().unwrap().contains(&id),
        "{asked:#}"
    );
    // A tainted write is high risk, says why, and no permission for the session is given for it.
    assert_eq!(asked["risk"], "high", "{asked:#}");
    let reasons = asked["risk_reasons"].to_string();
    assert!(
        reasons.contains("untrusted content is in its context"),
        "{reasons}"
    );
    let path = format!("/v1/approvals/{}/decision", asked["id"].as_str().unwrap());
    let body = json!({"decision": "approve", "scope": "session", "digest": asked["digest"]});
    let (status, problem) = daemon.request("POST", &path, Some(body)).await;
    assert_eq!(status, 422, "{problem:#}");
    assert!(
        problem.to_string().contains("never for high risk"),
        "{problem:#}"
    );
    assert_eq!(daemon.decide(&asked, "approve").await.0, 200);
    daemon.wait_state(&continuation, "completed").await;
    // It is gone, and what it said may be in the answers: the session stays as it is.
    let path = format!("/v1/memory/{id}");
    assert_eq!(daemon.request("DELETE", &path, None).await.0, 200);
    let text = "TOOL:remember{\"text\":\"Fridays are good\",\"scope\":\"channel\"}\nSAY:done";
    let (continuation, asked) = asks(&daemon, &session, text).await;
    assert_eq!(daemon.decide(&asked, "approve").await.0, 200);
    daemon.wait_state(&continuation, "completed").await;
    // Who allowed the call allowed the fact, and it carries on what it may have come from.
    let kept = memories(&daemon).await;
    assert_eq!(kept.len(), 1);
    assert_eq!(kept[0]["state"], "active", "{kept:#?}");
    assert!(
        kept[0]["taint"][0].as_str().unwrap().contains(&id),
        "{kept:#?}"
    );
    let next = daemon.session().await;
    let (continuation, asked) = asks(&daemon, &next, WRITE).await;
    assert_eq!(daemon.decide(&asked, "approve").await.0, 200);
    daemon.wait_state(&continuation, "completed").await;
    // A new session that reads none of it writes by itself.
    let path = format!("/v1/memory/{}", kept[0]["id"].as_str().unwrap());
    assert_eq!(daemon.request("DELETE", &path, None).await.0, 200);
    let fresh = daemon.session().await;
    let written = call(
        &daemon,
        &fresh,
        "write_file",
        json!({ "path": "m.txt", "content": "x" }),
    )
    .await;
    assert_eq!(written["state"], "succeeded", "{written:#}");
}

#[tokio::test]
async fn a_look_that_finds_a_tainted_one_taints_too() {
    let home = Home::new(FULL);
    let mut daemon = home.daemon();
    // More than go into a context by themselves, all of them more certain than the last one.
    add(&daemon, on_api(), "the zebra is striped").await;
    for n in 0..12 {
        add(&daemon, on_api(), &format!("fact number {n}")).await;
    }
    daemon.terminate();
    change(
        &home,
        "UPDATE memories SET taint = '[\"a web page\"]', confidence = 0 WHERE text LIKE '%zebra%'",
    );
    let daemon = home.daemon();
    let session = daemon.session().await;
    // A message that does not name it: it is not in the context, and the session writes by itself.
    let args = json!({ "path": "n.txt", "content": "x" });
    let written = call(&daemon, &session, "write_file", args).await;
    assert_eq!(written["state"], "succeeded", "{written:#}");
    let all = call(
        &daemon,
        &session,
        "recall",
        json!({ "query": "", "limit": 20 }),
    )
    .await;
    assert!(all["result"].as_str().unwrap().contains("zebra"), "{all:#}");
    asks(&daemon, &session, WRITE).await;
    let other = daemon.session().await;
    assert!(!recalled(&daemon, &other, "number").await.contains("zebra"));
}

/// What may be decided in a chat is measured by the risk that taint gives a write.
#[tokio::test(flavor = "multi_thread")]
async fn a_tainted_write_is_decided_in_a_chat_only_where_high_risk_may_be() {
    for (limit, may) in [("", false), ("chat_max_risk = \"high\"", true)] {
        let telegram = FakeTelegram::start();
        let people = "allowed_users = [\"100\"]\n";
        let owner = "[people.anna]\nids = [\"telegram:200\"]\nrole = \"owner\"\n";
        let home = bot::home(&telegram, &format!("{people}{limit}"), owner);
        let mut daemon = bot::start(&home, &telegram, &[100, 200], &[]);
        let place = json!({ "scope": "channel", "channel": "team" });
        add(&daemon, place, "deploy only on Fridays").await;
        daemon.terminate();
        change(&home, "UPDATE memories SET taint = '[\"a web page\"]'");
        let daemon = bot::start(&home, &telegram, &[100, 200], &[]);
        telegram.user_says(100, &bot::ben(), bot::WRITE);
        let card = bot::shown(&telegram, 200, "May `write_file` run?").await;
        assert!(
            card.text.contains("Risk: high")
                && card.text.contains("untrusted content is in its context"),
            "{}",
            card.text
        );
        assert_eq!(!card.labels().is_empty(), may, "{:?}", card.labels());
        let asked = daemon.wait_approval().await;
        let code = asked["short_code"].as_str().unwrap();
        telegram.user_says(200, &bot::anna(), &format!("/approve {code}"));
        let answer = if may { "all done" } else { "Not decided" };
        let chat = if may { 100 } else { 200 };
        bot::shown(&telegram, chat, answer).await;
        let path = format!("/v1/approvals/{}", asked["id"].as_str().unwrap());
        let state = daemon.get(&path).await["state"].clone();
        assert_eq!(state == "pending", !may, "{state}");
    }
}

/// A channel may turn the guard off for `full`, and says so wherever its level is told.
#[tokio::test]
async fn a_channel_without_the_guard_runs_tainted_calls_in_full_alone() {
    let config = FULL.replacen(
        "permanent_full",
        "taint_guard_in_full = false\npermanent_full",
        1,
    );
    let home = Home::new(&config);
    let mut daemon = home.daemon();
    add(&daemon, on_api(), "deploy only on Fridays").await;
    daemon.terminate();
    change(&home, "UPDATE memories SET taint = '[\"a web page\"]'");
    let daemon = home.daemon();
    let session = daemon.session().await;
    let args = json!({ "path": "m.txt", "content": "x" });
    let written = call(&daemon, &session, "write_file", args).await;
    assert_eq!(written["state"], "succeeded", "{written:#}");
    let rule = written["verdict"]["rule"].as_str().unwrap();
    assert!(
        rule.contains("untrusted content in context") && rule.contains("taint_guard_in_full"),
        "{rule}"
    );

    assert_eq!(
        daemon.get("/v1/channels/api").await["taint_guard_in_full"],
        false
    );
    let output = home.command().args(["channels", "list"]).output().unwrap();
    let list = String::from_utf8(output.stdout).unwrap();
    assert!(list.contains("full, no taint guard"), "{list}");
    let findings = daemon.get("/v1/doctor").await["findings"].to_string();
    assert!(findings.contains("channel api: taint guard"), "{findings}");

    // Any other level asks.
    let path = "/v1/channels/api/policy";
    let body = json!({ "autonomy": "semi_auto" });
    let (status, _) = daemon.request("PATCH", path, Some(body)).await;
    assert_eq!(status, 200);
    asks(&daemon, &session, WRITE).await;
}
