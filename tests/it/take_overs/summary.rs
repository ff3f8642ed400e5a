//! The shift summary says what is stored since a time, and nothing else.

use serde_json::{Value, json};

use crate::support::daemon::Home;

const WRITE: &str = "TOOL:write_file{\"path\":\"a.txt\",\"content\":\"x\"}\nSAY:done";

fn deed<'a>(summary: &'a Value, action: &str) -> Option<&'a Value> {
    summary["deeds"]
        .as_array()
        .expect("a list")
        .iter()
        .find(|deed| deed["action"] == action)
}

#[tokio::test(flavor = "multi_thread")]
async fn it_tells_what_waits_what_is_unusual_and_who_did_what() {
    let home = Home::new("");
    let daemon = home.daemon();
    let empty = daemon.get("/v1/summary").await;
    for list in [
        "pending",
        "taken_over",
        "channels",
        "grants",
        "rules",
        "spent",
    ] {
        assert_eq!(empty[list], json!([]), "{list}: {empty}");
    }
    assert!(empty["held"].is_null());
    // A first start takes the channels' levels from the configuration; no person did anything.
    assert_eq!(empty["deeds"], json!([]), "{empty}");

    let session = daemon.session().await;
    let turn = daemon.send(&session, WRITE).await;
    let first = daemon.wait_approval().await;
    let snooze = json!({ "decision": "snooze", "digest": first["digest"], "minutes": 15 });
    let decision = format!("/v1/approvals/{}/decision", first["id"].as_str().unwrap());
    daemon.post(&decision, snooze).await;
    let waiting = daemon.get("/v1/summary").await;
    let question = &waiting["pending"][0];
    assert_eq!(
        (&question["id"], &question["tool"], &question["channel"]),
        (&first["id"], &json!("write_file"), &json!("api"))
    );
    assert_eq!(question["snoozed"].as_array().map(Vec::len), Some(1));

    assert_eq!(daemon.decide(&first, "approve").await.0, 200);
    daemon.wait_state(&turn, "completed").await;
    let raised = json!({ "autonomy": "full", "expires_in_seconds": 900 });
    let (status, _) = daemon
        .request("PATCH", "/v1/channels/api/policy", Some(raised))
        .await;
    assert_eq!(status, 200);
    let rule = json!({
        "tool": "write_file", "field": "path", "matcher": "prefix", "value": "notes/", "scope": "global",
        "verdict": "allow", "max_uses": 2,
    });
    let (status, made) = daemon.request("POST", "/v1/rules", Some(rule)).await;
    assert_eq!(status, 201, "{made}");
    daemon
        .post(&format!("/v1/sessions/{session}/take-over"), json!({}))
        .await;
    daemon.post("/v1/channels/desk/drain", json!({})).await;
    daemon
        .post("/v1/emergency-stop", json!({ "reason": "smoke" }))
        .await;

    let summary = daemon.get("/v1/summary").await;
    assert_eq!(summary["pending"], json!([]));
    assert_eq!(summary["taken_over"][0]["channel"], "api");
    assert_eq!(summary["rules"][0]["value"], "notes/");
    let names: Vec<&str> = summary["channels"]
        .as_array()
        .unwrap()
        .iter()
        .map(|channel| channel["name"].as_str().unwrap())
        .collect();
    // The stop took the level back; draining is what is left.
    assert_eq!(names, ["desk"], "{summary}");
    assert!(summary["held"][1].as_str().unwrap().contains("smoke"));
    for (action, count) in [
        ("approval.decided approve", 1),
        ("session.taken_over", 1),
        ("channel.draining", 1),
        ("engine.held", 1),
    ] {
        let found = deed(&summary, action).unwrap_or_else(|| panic!("{action}: {summary:#}"));
        assert_eq!(found["count"], count, "{action}");
    }
    let spent = &summary["spent"][0];
    assert_eq!(spent["channel"], "api");
    assert!(spent["calls"].as_u64().unwrap() >= 2, "{spent}");

    // Since now there is nothing but what is still so.
    let later = daemon.get("/v1/summary?since=2999-01-01T00:00:00Z").await;
    assert_eq!((&later["deeds"], &later["spent"]), (&json!([]), &json!([])));
    assert_eq!(later["taken_over"], summary["taken_over"]);
    let (status, refused) = daemon
        .request("GET", "/v1/summary?since=yesterday", None)
        .await;
    assert_eq!(status, 400, "{refused}");

    let mut command = home.command();
    command.args(["summary", "--since", "1h"]);
    let output = tokio::task::spawn_blocking(move || command.output())
        .await
        .unwrap()
        .expect("the binary runs");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    for words in [
        "EMERGENCY STOP",
        "Waiting for a person: nothing",
        "Taken over: 1",
        "draining since",
        "0 of 2 uses",
        "approval.decided approve x1",
    ] {
        assert!(text.contains(words), "{words}:\n{text}");
    }
}
