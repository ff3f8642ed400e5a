//! `leverframe approvals edit|answer|snooze`.

use serde_json::{Value, json};

use crate::support::daemon::{Daemon, Home};
use crate::take_overs::daemon::cli;

const WRITE: &str = "TOOL:write_file{\"path\":\"a.txt\",\"content\":\"x\"}\nSAY:done";

async fn asked(daemon: &Daemon) -> (String, Value) {
    let session = daemon.session().await;
    let turn = daemon.send(&session, WRITE).await;
    (turn, daemon.wait_approval().await)
}

fn word<'a>(approval: &'a Value, field: &str) -> &'a str {
    approval[field].as_str().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_changes_the_arguments_and_still_asks() {
    let home = Home::new("");
    let daemon = home.daemon();
    let (turn, first) = asked(&daemon).await;
    let file = home.path().join("args.json");
    std::fs::write(&file, "{\"path\":\"b.txt\",\"content\":\"y\"}").unwrap();
    let file = file.to_str().unwrap();
    let code = word(&first, "short_code");
    let (status, text) = cli(&home, &["approvals", "edit", code, "--args", file]).await;
    assert_eq!(status, Some(2), "no digest, no terminal: {text}");
    let digest = word(&first, "digest");
    let edit = [
        "approvals",
        "edit",
        word(&first, "id"),
        "--args",
        file,
        "--digest",
        digest,
    ];
    let (status, text) = cli(&home, &edit).await;
    assert_eq!(status, Some(0), "{text}");
    let second = daemon.wait_approval().await;
    assert_eq!(second["args"], json!({ "path": "b.txt", "content": "y" }));
    assert_ne!(second["digest"], first["digest"]);
    let (status, text) = cli(&home, &edit).await;
    assert_eq!(status, Some(5), "the digest of before: {text}");
    std::fs::write(file, "{\"path\":").unwrap();
    let (status, text) = cli(&home, &edit).await;
    assert_eq!(status, Some(2), "{text}");
    assert!(
        text.contains("args.json") && text.contains("expected a JSON object"),
        "{text}"
    );
    assert_eq!(daemon.decide(&second, "approve").await.0, 200);
    daemon.wait_state(&turn, "completed").await;
    let written = std::fs::read_to_string(home.workspace("api").join("b.txt")).unwrap();
    assert_eq!(written, "y");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_stands_for_the_tool_and_a_snooze_decides_nothing() {
    let home = Home::new("");
    let daemon = home.daemon();
    let (turn, first) = asked(&daemon).await;
    let (code, digest) = (word(&first, "short_code"), word(&first, "digest"));
    let snooze = [
        "approvals",
        "snooze",
        code,
        "--minutes",
        "30",
        "--digest",
        digest,
    ];
    let (status, text) = cli(&home, &snooze).await;
    assert_eq!(status, Some(0), "{text}");
    assert_eq!(
        daemon.wait_approval().await["id"],
        first["id"],
        "it still waits"
    );
    let answer = [
        "approvals",
        "answer",
        code,
        "it",
        "is",
        "there",
        "--digest",
        digest,
    ];
    let (status, text) = cli(&home, &answer).await;
    assert_eq!(status, Some(0), "{text}");
    let done = daemon.wait_state(&turn, "completed").await;
    let call = &done["tool_calls"][0];
    assert!(call.to_string().contains("it is there"), "{call}");
    assert!(!home.workspace("api").join("a.txt").exists());
}
