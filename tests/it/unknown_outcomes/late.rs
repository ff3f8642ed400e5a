//! Decisions that cannot count: expired, decided, superseded, about nothing, in the wrong state.

use serde_json::{Value, json};

use crate::support::daemon::{Daemon, Home};
use crate::unknown_outcomes::run;

const WRITE: &str = "TOOL:write_file{\"path\":\"note.txt\",\"content\":\"hello\\n\"}\nSAY:done";

async fn asked(daemon: &Daemon) -> (String, Value) {
    let session = daemon.session().await;
    let continuation = daemon.send(&session, WRITE).await;
    daemon.wait_state(&continuation, "awaiting_approval").await;
    let list = daemon.get("/v1/approvals?state=pending").await;
    let approval = list["items"]
        .as_array()
        .unwrap()
        .iter()
        .find(|approval| approval["continuation_id"] == continuation.as_str())
        .unwrap()
        .clone();
    (continuation, approval)
}

async fn decide(daemon: &Daemon, id: &str, body: Value) -> (u16, Value) {
    daemon
        .request("POST", &format!("/v1/approvals/{id}/decision"), Some(body))
        .await
}

#[tokio::test]
async fn a_decided_one_is_409_with_the_winner() {
    let home = Home::new("");
    let daemon = home.daemon();
    let (_, approval) = asked(&daemon).await;
    let id = approval["id"].as_str().unwrap();
    let digest = approval["digest"].as_str().unwrap();
    assert_eq!(daemon.decide(&approval, "approve").await.0, 200);
    let (status, problem) = daemon.decide(&approval, "deny").await;
    assert_eq!(status, 409, "{problem}");
    assert_eq!(problem["winner"]["decision"], "approve");
    assert_eq!(problem["winner"]["by"], "token admin");
    let (status, _, errors) = run(&home, &["approvals", "deny", id, "--digest", digest]);
    assert_eq!(status, 5, "{errors}");
    assert!(
        errors.contains("decided first: approve by token admin on http at 20"),
        "{errors}"
    );
    // What is decided cannot be resolved as something else either.
    let body = json!({ "decision": "happened", "digest": digest });
    let (status, problem) = decide(&daemon, id, body).await;
    assert_eq!(status, 422, "{problem}");
    assert!(
        problem["detail"]
            .as_str()
            .unwrap()
            .contains("offered: approve"),
        "{problem}"
    );
}

#[tokio::test]
async fn an_approval_whose_time_is_over_is_410_and_stays_so() {
    let home = Home::new("");
    let mut daemon = home.daemon();
    let (continuation, approval) = asked(&daemon).await;
    let id = approval["id"].as_str().unwrap();
    daemon.terminate();
    // A day later, as the database sees it.
    let conn = rusqlite::Connection::open(home.data().join("leverframe.db")).unwrap();
    conn.execute(
        "UPDATE approvals SET expires_at = 1 WHERE state = 'pending'",
        [],
    )
    .unwrap();
    drop(conn);
    let daemon = home.daemon();
    daemon.wait_state(&continuation, "expired").await;
    let (status, problem) = daemon.decide(&approval, "approve").await;
    assert_eq!(status, 410, "{problem}");
    assert!(
        problem["detail"].as_str().unwrap().contains(id),
        "{problem}"
    );
    let digest = approval["digest"].as_str().unwrap();
    let (status, _, errors) = run(&home, &["approvals", "approve", id, "--digest", digest]);
    assert_eq!(status, 5, "{errors}");
    assert!(errors.contains("expired"), "{errors}");
    assert!(!home.workspace("api").join("note.txt").exists());
}

#[tokio::test]
async fn a_superseded_revision_or_digest_is_409_and_nothing_runs() {
    let home = Home::new("");
    let daemon = home.daemon();
    let (_, approval) = asked(&daemon).await;
    let id = approval["id"].as_str().unwrap();
    let args = json!({ "path": "other.txt", "content": "edited" });
    let body = json!({ "decision": "edit", "digest": approval["digest"], "args": args });
    let (status, edited) = decide(&daemon, id, body).await;
    assert_eq!((status, &edited["revision"]), (200, &json!(2)), "{edited}");
    for body in [
        json!({ "decision": "approve", "digest": approval["digest"] }),
        json!({ "decision": "approve", "digest": approval["digest"], "revision": 1 }),
        json!({ "decision": "approve", "digest": edited["digest"], "revision": 1 }),
        json!({ "decision": "deny", "digest": approval["digest"], "revision": 2 }),
    ] {
        let (status, problem) = decide(&daemon, id, body.clone()).await;
        assert_eq!(status, 409, "{body}: {problem}");
        assert!(
            problem["detail"].as_str().unwrap().contains("revision 2"),
            "{problem}"
        );
        assert_eq!(problem["winner"], Value::Null);
    }
    let digest = approval["digest"].as_str().unwrap();
    let (status, _, errors) = run(&home, &["approvals", "approve", id, "--digest", digest]);
    assert_eq!(status, 5, "{errors}");
    assert!(errors.contains("changed since it was shown"), "{errors}");
    assert_eq!(
        daemon.get(&format!("/v1/approvals/{id}")).await["state"],
        "pending"
    );
    assert!(
        !home.workspace("api").exists()
            || std::fs::read_dir(home.workspace("api")).unwrap().count() == 0
    );
}

#[tokio::test]
async fn unknown_ids_and_wrong_states_are_named_with_their_kind() {
    let home = Home::new("");
    let daemon = home.daemon();
    let (continuation, approval) = asked(&daemon).await;
    let zeros = "00000000000000000000000000";
    let decision = json!({ "decision": "approve", "digest": "x" });
    let resolution = json!({ "resolution": "sent" });
    for (method, path, body, status, said) in [
        (
            "POST",
            format!("/v1/approvals/apr_{zeros}/decision"),
            Some(decision.clone()),
            404,
            format!("no approval `apr_{zeros}`"),
        ),
        (
            "POST",
            format!("/v1/approvals/con_{zeros}/decision"),
            Some(decision),
            400,
            "expected `apr_`".to_owned(),
        ),
        (
            "POST",
            format!("/v1/outbox/out_{zeros}/resolution"),
            Some(resolution.clone()),
            404,
            format!("no delivery `out_{zeros}`"),
        ),
        (
            "GET",
            format!("/v1/outbox/out_{zeros}"),
            None,
            404,
            format!("no delivery `out_{zeros}`"),
        ),
        (
            "POST",
            format!("/v1/continuations/con_{zeros}/cancel"),
            Some(json!({})),
            404,
            format!("no continuation `con_{zeros}`"),
        ),
        (
            "GET",
            format!("/v1/tool-calls/call_{zeros}/why"),
            None,
            404,
            format!("no tool call `call_{zeros}`"),
        ),
        (
            "GET",
            "/v1/doctor?check=perhaps".to_owned(),
            None,
            400,
            "expected true or false".to_owned(),
        ),
        (
            "GET",
            "/v1/audit?colour=red".to_owned(),
            None,
            400,
            "colour".to_owned(),
        ),
    ] {
        let (found, problem) = daemon.request(method, &path, body).await;
        assert_eq!(found, status, "{path}: {problem}");
        assert!(
            problem["detail"].as_str().unwrap().contains(&said),
            "{path}: {problem}"
        );
    }
    for (arguments, status, said) in [
        (
            vec!["outbox", "show", "out_00000000000000000000000000"],
            1,
            "no delivery",
        ),
        (
            vec!["outbox", "resolve", "xyz", "drop"],
            2,
            "no delivery starts with `xyz`",
        ),
        (
            vec!["outbox", "resolve", "xyz", "burn"],
            2,
            "sent, send-again, drop",
        ),
        (
            vec!["approvals", "show", "apr_00000000000000000000000000"],
            1,
            "no approval",
        ),
        (
            vec![
                "continuations",
                "resolve",
                &continuation,
                "happened",
                "--digest",
                "x",
            ],
            2,
            "none of its outcomes is unknown",
        ),
    ] {
        let (found, _, errors) = run(&home, &arguments);
        assert_eq!(found, status, "{arguments:?}: {errors}");
        assert!(errors.contains(said), "{arguments:?}: {errors}");
    }
    assert_eq!(daemon.decide(&approval, "deny").await.0, 200);
}

#[tokio::test]
async fn the_same_key_with_another_body_is_409_and_changes_nothing() {
    let home = Home::new("");
    let daemon = home.daemon();
    let session = daemon.session().await;
    let path = format!("/v1/sessions/{session}/messages");
    let first = daemon
        .try_post_keyed(&path, "key-1", json!({ "text": "SAY:one" }))
        .await
        .unwrap();
    assert_eq!(first.0, 202, "{}", first.1);
    let continuation = first.1["continuation_id"].as_str().unwrap();
    daemon.wait_state(continuation, "completed").await;
    let before = daemon.get("/v1/snapshot").await;
    let (status, problem) = daemon
        .try_post_keyed(&path, "key-1", json!({ "text": "SAY:two" }))
        .await
        .unwrap();
    assert_eq!(status, 409, "{problem}");
    assert!(
        problem["detail"].as_str().unwrap().contains("another body"),
        "{problem}"
    );
    let after = daemon.get("/v1/snapshot").await;
    assert_eq!(before["seq"], after["seq"], "something was recorded");
    assert_eq!(before["continuations"], after["continuations"]);
    let again = daemon
        .try_post_keyed(&path, "key-1", json!({ "text": "SAY:one" }))
        .await
        .unwrap();
    assert_eq!(again.1["continuation_id"], continuation);
}
