//! The real binary: more calls than may wait in one session.

use serde_json::{Value, json};

use crate::leftovers::daemon::items;
use crate::support::daemon::{Daemon, Home};
use crate::take_overs::daemon::cli;

/// A turn that proposes a write of each of these files, then says "done".
async fn propose(daemon: &Daemon, session: &str, paths: &[&str]) -> String {
    let calls = paths.iter().map(|path| {
        let call = json!({ "path": path, "content": "x" });
        format!("TOOL:write_file{call}\n")
    });
    let text = calls.collect::<String>() + "SAY:done";
    daemon.send(session, &text).await
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_beyond_the_limit_are_told_of_everywhere_until_a_person_dismisses_them() {
    let home = Home::new("");
    let mut daemon = home.daemon();
    let session = daemon.session().await;
    let paths = ["a", "b", "c", "d", "e", "f", "g"];
    let turn = propose(&daemon, &session, &paths).await;
    let asked = daemon.wait_approvals(5).await;

    let refused = daemon.get(&format!("/v1/sessions/{session}")).await["refused_calls"].clone();
    assert_eq!(refused["count"], 2, "{refused:#}");
    let newest = refused["newest"].as_array().unwrap();
    assert_eq!(newest.len(), 2, "{refused:#}");
    assert!(
        newest[0]["preview"].as_str().unwrap().contains('g'),
        "newest first: {refused:#}"
    );
    assert_eq!(newest[0]["continuation_id"], json!(turn));
    let rule = "too many approvals wait in this session (approvals.max_pending_per_session = 5)";
    assert_eq!(newest[0]["rule"], json!(rule));

    // It outlives the process and the turn.
    daemon.kill();
    let daemon = home.daemon();
    for approval in &asked {
        let (status, decided) = daemon.decide(approval, "deny").await;
        assert_eq!(status, 200, "{decided}");
    }
    let done = daemon.wait_state(&turn, "completed").await;
    let verdicts: Vec<&str> = done["tool_calls"]
        .as_array()
        .unwrap()
        .iter()
        .map(|call| call["verdict"]["decision"].as_str().unwrap())
        .collect();
    assert_eq!(
        verdicts,
        ["ask", "ask", "ask", "ask", "ask", "deny", "deny"]
    );
    assert_eq!(done["tool_calls"][6]["verdict"]["rule"], json!(rule));
    let told = done["tool_calls"][6]["result"].as_str().unwrap();
    assert!(told.contains("nobody was asked"), "{told}");

    let (status, listed) = cli(&home, &["continuations", "list"]).await;
    assert_eq!(status, Some(0), "{listed}");
    assert!(listed.contains("completed, 2 calls refused"), "{listed}");
    let (status, summary) = cli(&home, &["summary"]).await;
    assert_eq!(status, Some(0), "{summary}");
    assert!(summary.contains("api: 2 calls refused, last"), "{summary}");

    let (status, dismissed) = cli(&home, &["sessions", "dismiss-refused", &session]).await;
    assert_eq!(status, Some(0), "{dismissed}");
    let now = daemon.get(&format!("/v1/sessions/{session}")).await;
    assert_eq!(now["refused_calls"], Value::Null, "{now:#}");
    let audited = items(&daemon, "/v1/audit?action=refused_calls.dismissed").await;
    assert_eq!(audited.len(), 1, "{audited:#?}");
    // Done already is done, and says so of nothing in the audit.
    let path = format!("/v1/sessions/{session}/refused-calls/dismiss");
    daemon.post(&path, json!({})).await;
    let again = items(&daemon, "/v1/audit?action=refused_calls.dismissed").await;
    assert_eq!(again.len(), 1, "{again:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn equal_calls_of_a_session_take_one_place() {
    let home = Home::new("");
    let daemon = home.daemon();
    let session = daemon.session().await;
    let paths = ["a", "a", "a", "a", "a", "a", "b", "c", "d", "e", "f"];
    propose(&daemon, &session, &paths).await;
    // Six of `a` and one each of b to e wait in five places; f has none.
    daemon.wait_approvals(10).await;
    let refused = daemon.get(&format!("/v1/sessions/{session}")).await["refused_calls"].clone();
    assert_eq!(refused["count"], 1, "{refused:#}");
    assert!(
        refused["newest"][0]["preview"]
            .as_str()
            .unwrap()
            .contains('f'),
        "{refused:#}"
    );
}
