//! Lists, snapshots and events say how a large call begins; the call asked for by its id is whole.

use serde_json::{Value, json};

use crate::support::daemon::Home;

const BYTES: usize = 20_000;

/// Bytes of the arguments and of the diff.
fn sizes(approval: &Value) -> (usize, usize) {
    let content = approval["args"]["content"].as_str().unwrap_or_default();
    let diff = approval["preview"]["unified"].as_str().unwrap_or_default();
    (content.len(), diff.len())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_call_is_whole_only_where_it_is_asked_for() {
    let home = Home::new("");
    let mut daemon = home.daemon();
    let session = daemon.session().await;
    let content = "0123456789\n".repeat(BYTES / 11);
    let args = json!({"path": "large.txt", "content": content});
    let turn = daemon
        .send(&session, &format!("TOOL:write_file{args}\nSAY:done"))
        .await;
    let listed = daemon.wait_approval().await;
    let id = listed["id"].as_str().unwrap();
    let snapshot = daemon.get("/v1/snapshot").await;
    for short in [&listed, &snapshot["approvals"][0]] {
        assert_eq!(short["shortened"], true);
        let (args, diff) = sizes(short);
        assert!(args > 1_000 && args < 2_100, "{args}");
        assert!(diff > 1_000 && diff < 2_100, "{diff}");
    }
    let call = &snapshot["continuations"][0]["tool_calls"][0];
    assert_eq!(call["shortened"], true);
    assert!(sizes(call).0 < 2_100);
    let whole = daemon.get(&format!("/v1/approvals/{id}")).await;
    assert_eq!(whole.get("shortened"), None);
    assert_eq!(whole["args"]["content"], content);
    assert!(sizes(&whole).1 > BYTES);
    let whole = daemon.get(&format!("/v1/continuations/{turn}")).await;
    assert_eq!(whole["tool_calls"][0]["args"]["content"], content);

    // By its code the command line shows it whole, too.
    let code = listed["short_code"].as_str().unwrap().to_owned();
    let mut command = home.command();
    command.args(["approvals", "show", &code]);
    let shown = tokio::task::spawn_blocking(move || command.output())
        .await
        .unwrap()
        .unwrap();
    let shown = String::from_utf8_lossy(&shown.stdout);
    assert!(shown.matches("0123456789").count() >= BYTES / 11);

    // What is decided is what was whole.
    assert_eq!(daemon.decide(&listed, "approve").await.0, 200);
    daemon.wait_state(&turn, "completed").await;
    let written = std::fs::read_to_string(home.workspace("api").join("large.txt")).unwrap();
    assert_eq!(written, content);
    // The log of events keeps no copy of it either.
    daemon.terminate();
    let log = rusqlite::Connection::open(home.data().join("leverframe.db")).unwrap();
    let longest: usize = log
        .query_row("SELECT max(length(body)) FROM events", [], |row| row.get(0))
        .unwrap();
    assert!(longest < 8_000, "{longest}");
}
