//! A compaction that is under way when everything has to stop.

use serde_json::{Value, json};

use std::time::{Duration, Instant};

use crate::compaction::models::small;
use crate::model_calls::server::{ModelServer, ask, says};
use crate::support::daemon::{DEADLINE, Daemon, Home};
use crate::support::fake_http::Reply;

const SMALL: &str = "[model]\ndefault = \"one/m\"\n[engine]\nhistory_exchanges = 1\nhistory_share = 0\n[memory]\ncompaction_exchanges = 2\n";

/// A daemon that compacts and gets no answer.
async fn stuck() -> (ModelServer, Home, Daemon, String) {
    let one = ModelServer::chat(vec![says("a0"), says("a1"), says("a2"), Reply::Hang]);
    let home = small(SMALL, &one);
    let daemon = home.daemon();
    let session = daemon.session().await;
    for n in 0..3 {
        ask(&daemon, &session, &format!("question {n}"), "completed").await;
    }
    daemon
        .wait("/v1/compactions", "it runs", |list| {
            list["items"][0]["state"] == "running"
        })
        .await;
    let deadline = Instant::now() + DEADLINE;
    while one.seen().len() < 4 {
        assert!(Instant::now() < deadline, "the model is not asked");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    (one, home, daemon, session)
}

/// The only one, which failed for this reason, and nothing changed.
async fn failed(daemon: &Daemon, session: &str, why: &str) {
    let list = daemon
        .wait("/v1/compactions", "it ends", |list| {
            list["items"][0]["state"] != "running"
        })
        .await;
    assert_eq!(list["items"].as_array().unwrap().len(), 1);
    let error = list["items"][0]["error"].as_str().unwrap_or_default();
    assert!(
        list["items"][0]["state"] == "failed" && error.contains(why),
        "{list:#}"
    );
    let view = daemon.get(&format!("/v1/sessions/{session}")).await;
    assert_eq!(view["memory"]["covered_turns"], 0);
    // What was under way counts at what it may have cost.
    assert!(
        view["usage"]["input_tokens"].as_u64().unwrap() > 300,
        "{view:#}"
    );
}

async fn works(one: &ModelServer, daemon: &Daemon, session: &str) {
    one.next(says(
        &json!({"summary": "Two questions.", "facts": []}).to_string(),
    ));
    let done = daemon
        .post(&format!("/v1/sessions/{session}/compact"), json!({}))
        .await;
    assert_eq!(
        (&done["state"], &done["turns"]),
        (&json!("done"), &json!(2)),
        "{done:#}"
    );
}

#[tokio::test]
async fn an_emergency_stop_lets_go_of_it() {
    let (one, _home, daemon, session) = stuck().await;
    // Turns are not in its way, nor it in theirs.
    let turn = ask(&daemon, &session, "meanwhile", "completed").await;
    assert_eq!(turn["response"]["text"], "ok");
    daemon.post("/v1/emergency-stop", json!({})).await;
    let (status, problem) = daemon
        .request("POST", &format!("/v1/sessions/{session}/compact"), None)
        .await;
    assert_eq!(status, 503, "{problem}");
    let list: Value = daemon
        .wait("/v1/compactions", "it ends", |list| {
            list["items"][0]["state"] != "running"
        })
        .await;
    assert_eq!(list["items"][0]["error"], "emergency stop");
    daemon.post("/v1/emergency-stop/release", json!({})).await;
    one.next(says(
        &json!({"summary": "Three questions.", "facts": []}).to_string(),
    ));
    let done = daemon
        .post(&format!("/v1/sessions/{session}/compact"), json!({}))
        .await;
    assert_eq!(
        (&done["state"], &done["turns"]),
        (&json!("done"), &json!(3)),
        "{done:#}"
    );
}

#[tokio::test]
async fn a_second_one_is_refused_meanwhile() {
    let (_one, _home, daemon, session) = stuck().await;
    let (status, problem) = daemon
        .request("POST", &format!("/v1/sessions/{session}/compact"), None)
        .await;
    assert_eq!(status, 409, "{problem}");
    assert!(
        problem["detail"]
            .as_str()
            .unwrap()
            .contains("being compacted already"),
        "{problem}"
    );
}

#[tokio::test]
async fn a_stopped_process_leaves_it_failed_and_settled() {
    let (one, home, mut daemon, session) = stuck().await;
    assert!(daemon.terminate().success());
    let daemon = home.daemon();
    failed(&daemon, &session, "the process was stopped").await;
    works(&one, &daemon, &session).await;
}

#[tokio::test]
async fn a_killed_process_leaves_it_failed_and_settled_at_its_estimate() {
    let (one, home, mut daemon, session) = stuck().await;
    daemon.kill();
    let daemon = home.daemon();
    failed(&daemon, &session, "the process ended while it ran").await;
    works(&one, &daemon, &session).await;
}
