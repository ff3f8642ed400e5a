//! kill -9 around trust and questions: nothing is half trusted, nothing is asked twice.

use serde_json::json;

use crate::mcp_servers::scripted::{Scripted, seen, server, table, tool, turn};
use crate::support::daemon::Home;

fn home() -> Home {
    let table = table("one", "");
    Home::new(&format!(
        "[channels.api]\nautonomy = \"full\"\npermanent_full = true\ntaint_guard_in_full = false\n{table}"
    ))
}

fn is_sound(home: &Home) {
    let output = home.command().args(["doctor", "--check"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}");
}

async fn asked_once(point: &str) {
    let home = home();
    let _scripted = Scripted::new(&home, "one", &[tool("note", "Writes.")]);
    let crash = format!("{point}:1");
    // It may be gone before it listens.
    if let Some(mut daemon) = home.try_daemon_with(&[("LEVERFRAME_CRASH", &crash)]) {
        assert!(daemon.wait_exit().is_some_and(|status| !status.success()));
    }
    let mut daemon = home.daemon();
    daemon.wait_question("server_pin", "1 new: note").await;
    assert_eq!(daemon.approvals_of("server_pin").await.len(), 1);
    daemon.terminate();
    is_sound(&home);
}

#[tokio::test]
async fn killed_before_the_question_is_kept_it_is_asked_at_the_next_start() {
    asked_once("mcp.ask_pre_commit").await;
}

#[tokio::test]
async fn killed_behind_the_question_it_is_not_asked_again() {
    asked_once("mcp.ask_post").await;
}

#[tokio::test]
async fn killed_before_the_trust_is_kept_nothing_is_trusted() {
    let home = home();
    let scripted = Scripted::new(&home, "one", &[tool("note", "Writes.")]);
    let mut daemon = home.daemon_with(&[("LEVERFRAME_CRASH", "mcp.trust_pre_commit:1")]);
    let review = seen(&daemon, "one").await;
    let body = json!({ "sha256": review["offered_sha256"] });
    let sent = daemon
        .try_request("POST", "/v1/mcp/servers/one/trust", Some(body))
        .await;
    assert!(sent.is_err(), "nobody hears success before the commit");
    assert!(daemon.wait_exit().is_some());
    let mut daemon = home.daemon();
    assert_eq!(server(&daemon, "one").await["tools"], 0);
    let session = daemon.session().await;
    let calls = turn(&daemon, &session, "TOOL:mcp__one__note{}\nSAY:done").await;
    assert_eq!(calls[0].0, "blocked", "{calls:?}");
    assert_eq!(scripted.calls().len(), 0);
    daemon.terminate();
    is_sound(&home);
}

#[tokio::test]
async fn killed_between_the_trust_and_its_use_it_is_in_use_after_the_start() {
    let home = home();
    let scripted = Scripted::new(&home, "one", &[tool("note", "Writes.")]);
    let mut daemon = home.daemon_with(&[("LEVERFRAME_CRASH", "mcp.trust_post:1")]);
    let review = seen(&daemon, "one").await;
    let body = json!({ "sha256": review["offered_sha256"] });
    let sent = daemon
        .try_request("POST", "/v1/mcp/servers/one/trust", Some(body))
        .await;
    assert!(sent.is_err());
    assert!(daemon.wait_exit().is_some());
    let starts = scripted.starts();
    let mut daemon = home.daemon();
    let review = server(&daemon, "one").await;
    assert_eq!(
        (&review["tools"], &review["state"]),
        (&json!(1), &json!("idle")),
        "{review}"
    );
    assert_eq!(
        scripted.starts(),
        starts,
        "what is trusted needs no connection"
    );
    let session = daemon.session().await;
    let calls = turn(&daemon, &session, "TOOL:mcp__one__note{}\nSAY:done").await;
    assert_eq!(calls[0].0, "succeeded", "{calls:?}");
    assert_eq!(scripted.starts(), starts + 1, "the call connects it");
    daemon.terminate();
    is_sound(&home);
}
