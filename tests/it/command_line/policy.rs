//! `leverframe policy` changes lists and levels, and says what a change would have meant.

use serde_json::{Value, json};

use crate::support::daemon::{Daemon, Home};
use crate::take_overs::daemon::cli;

const WRITE: &str = "TOOL:write_file{\"path\":\"a.txt\",\"content\":\"x\"}\nSAY:done";

async fn policy(daemon: &Daemon) -> Value {
    daemon.get("/v1/channels/api").await["policy"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_moves_from_list_to_list() {
    let home = Home::new("");
    let daemon = home.daemon();
    let run = async |words: &[&str]| {
        let (status, text) = cli(&home, &[&["policy"], words].concat()).await;
        assert_eq!(status, Some(0), "{words:?}: {text}");
        text
    };
    let first = policy(&daemon).await;
    run(&["allow", "api", "write_file", "read_*"]).await;
    let allowed = policy(&daemon).await;
    assert_eq!(
        allowed["version"].as_u64(),
        first["version"].as_u64().map(|v| v + 1)
    );
    for tool in ["write_file", "read_*"] {
        assert!(
            allowed["auto_approve"]
                .as_array()
                .unwrap()
                .contains(&json!(tool))
        );
    }
    run(&["block", "api", "write_file"]).await;
    let blocked = policy(&daemon).await;
    assert_eq!(blocked["block"], json!(["write_file"]));
    assert!(
        !blocked["auto_approve"]
            .as_array()
            .unwrap()
            .contains(&json!("write_file"))
    );
    run(&["ask", "api", "write_file"]).await;
    let asks = policy(&daemon).await;
    assert_eq!(
        (&asks["block"], &asks["always_ask"]),
        (&json!([]), &json!(["write_file"]))
    );
    let text = run(&["clear", "api", "write_file", "read_*"]).await;
    assert!(text.contains("always_ask    -"), "{text}");
    assert_eq!(policy(&daemon).await["auto_approve"], first["auto_approve"]);

    let text = run(&[
        "set",
        "api",
        "--autonomy",
        "semi_auto",
        "--for",
        "600",
        "--block",
        "",
    ])
    .await;
    assert!(text.contains("autonomy      semi_auto until "), "{text}");
    let text = run(&["show", "api"]).await;
    assert!(
        text.contains("then supervised") && text.contains("version"),
        "{text}"
    );

    for (words, expected) in [
        (
            vec!["policy", "allow", "api", "write_fil"],
            "there is no tool `write_fil`",
        ),
        (vec!["policy", "set", "api"], "name --autonomy"),
        (vec!["policy", "show", "nowhere"], "nowhere"),
    ] {
        let (status, text) = cli(&home, &words).await;
        assert_ne!(status, Some(0), "{text}");
        assert!(text.contains(expected), "{words:?}: {text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_preview_tries_the_lists_on_the_last_calls_and_changes_nothing() {
    let home = Home::new("");
    let daemon = home.daemon();
    let session = daemon.session().await;
    let turn = daemon.send(&session, WRITE).await;
    let asked = daemon.wait_approval().await;
    assert_eq!(daemon.decide(&asked, "approve").await.0, 200);
    daemon.wait_state(&turn, "completed").await;
    let before = policy(&daemon).await;
    let (status, text) = cli(
        &home,
        &["policy", "allow", "api", "write_file", "--preview"],
    )
    .await;
    assert_eq!(status, Some(0), "{text}");
    assert!(
        text.contains("1 of the last 1 calls would have run without you; 1 of them asked then"),
        "{text}"
    );
    assert!(text.contains("ask -> allow"), "{text}");
    let (_, text) = cli(
        &home,
        &["policy", "block", "api", "write_file", "--preview"],
    )
    .await;
    assert!(text.contains("ask -> deny"), "{text}");
    assert_eq!(policy(&daemon).await, before);
    let over_http = daemon
        .get("/v1/channels/api/what-if?auto_approve=write_file,recall")
        .await;
    assert_eq!(over_http["would_run"], 1, "{over_http}");
    for (parameters, word) in [("block=nothing_like_it", "block"), ("limit=5", "autonomy")] {
        let path = format!("/v1/channels/api/what-if?{parameters}");
        let (status, problem) = daemon.request("GET", &path, None).await;
        assert_eq!(status, 400, "{problem}");
        assert!(
            problem.to_string().contains(&format!("`{word}`")),
            "{problem}"
        );
    }
}
