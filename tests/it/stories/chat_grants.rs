//! A permission for the session is offered only where the policy would use it.

use serde_json::{Value, json};

use crate::stories::bot::WRITE;
use crate::support::daemon::{Daemon, Home};

async fn for_the_session(daemon: &Daemon, asked: &Value) -> (u16, Value) {
    let id = asked["id"].as_str().unwrap();
    let body = json!({"decision": "approve", "scope": "session", "digest": asked["digest"]});
    daemon
        .request("POST", &format!("/v1/approvals/{id}/decision"), Some(body))
        .await
}

async fn grants(daemon: &Daemon) -> usize {
    let list = daemon.get("/v1/rules/grants").await;
    list["items"].as_array().unwrap().len()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_on_always_ask_is_not_allowed_for_the_session() {
    let home = Home::new("[channels.api]\nalways_ask = [\"write_*\"]\n");
    let daemon = home.daemon();
    let session = daemon.session().await;
    let turn = daemon.send(&session, WRITE).await;
    let asked = daemon.wait_approval().await;
    let why = asked["once_only"].as_str().unwrap_or_default();
    assert!(why.contains("always_ask list: `write_*`"), "{asked:#}");
    let (status, problem) = for_the_session(&daemon, &asked).await;
    assert_eq!(status, 422, "{problem:#}");
    assert!(problem.to_string().contains("always_ask"), "{problem:#}");
    assert_eq!(daemon.wait_approval().await["id"], asked["id"]);
    assert_eq!(grants(&daemon).await, 0);
    assert_eq!(daemon.decide(&asked, "approve").await.0, 200);
    daemon.wait_state(&turn, "completed").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_permission_is_refused_when_the_list_grew_since_it_was_asked() {
    let home = Home::new("");
    let daemon = home.daemon();
    let session = daemon.session().await;
    daemon.send(&session, WRITE).await;
    let asked = daemon.wait_approval().await;
    assert_eq!(asked.get("once_only"), None, "{asked:#}");
    let (status, changed) = daemon
        .request(
            "PATCH",
            "/v1/channels/api/policy",
            Some(json!({"always_ask": ["write_file"]})),
        )
        .await;
    assert_eq!(status, 200, "{changed:#}");
    let (status, problem) = for_the_session(&daemon, &asked).await;
    assert_eq!(status, 422, "{problem:#}");
    assert!(problem.to_string().contains("always_ask"), "{problem:#}");
    assert_eq!(grants(&daemon).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_permission_that_works_is_given_and_used() {
    let home = Home::new("");
    let daemon = home.daemon();
    let session = daemon.session().await;
    let first = daemon.send(&session, WRITE).await;
    let asked = daemon.wait_approval().await;
    let (status, body) = for_the_session(&daemon, &asked).await;
    assert_eq!(status, 200, "{body:#}");
    daemon.wait_state(&first, "completed").await;
    assert_eq!(grants(&daemon).await, 1);
    let again = daemon.send(&session, WRITE).await;
    daemon.wait_state(&again, "completed").await;
}
