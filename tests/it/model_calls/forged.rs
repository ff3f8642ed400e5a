//! Text of a provider or a model that would pass for something else: in the log, in JSON on a terminal, on a card.

use serde_json::{Value, json};

use crate::model_calls::server::{ModelServer, ask, calls, fails, home, says};
use crate::support::daemon::Home;

const ONE: &str = "[model]\ndefault = \"one/m\"\n[engine]\nmax_model_attempts = 1";

fn run(home: &Home, words: &[&str]) -> String {
    let output = home.command().args(words).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{words:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

#[tokio::test]
async fn an_error_of_a_provider_forges_no_line_of_the_log() {
    for json_lines in [false, true] {
        let message = "no\n2026-01-01T00:00:00Z  INFO forged\r\u{85}x \u{9b}2J \u{202e}y \u{1b}[2J";
        let one = ModelServer::chat(vec![fails(400, "", message)]);
        let log = format!("{ONE}\n[log]\njson = {json_lines}");
        let home = home(&log, &[("one", &one)]);
        let daemon = home.daemon();
        let session = daemon.session().await;
        ask(&daemon, &session, "hello", "failed").await;
        drop(daemon);
        let log = home.log();
        let told: Vec<&str> = log
            .split('\n')
            .filter(|line| line.contains("forged"))
            .collect();
        assert!(!told.is_empty(), "{log}");
        for line in told {
            assert!(
                line.contains("2J"),
                "the whole error is on one line: {line:?}"
            );
            assert!(!line.starts_with("2026-01-01"), "{line:?}");
        }
        let raw = ['\r', '\u{85}', '\u{9b}', '\u{202e}', '\u{1b}'];
        assert!(!log.contains(raw), "{log:?}");
        assert!(log.contains("\\u202e"), "{log}");
    }
}

#[tokio::test]
async fn json_on_a_terminal_is_escaped_and_the_same_value() {
    let said = "a \u{9b}2J b \u{202e}c\u{2066}d\u{85}e";
    let one = ModelServer::chat(vec![says(said)]);
    let home = home(ONE, &[("one", &one)]);
    let daemon = home.daemon();
    let session = daemon.session().await;
    ask(&daemon, &session, "hello", "completed").await;
    let out = run(&home, &["--json", "sessions", "export", &session]);
    assert!(
        !out.contains(['\u{9b}', '\u{202e}', '\u{2066}', '\u{85}']),
        "{out:?}"
    );
    let document: Value = serde_json::from_str(&out).unwrap();
    let entries = daemon
        .get(&format!("/v1/sessions/{session}/transcript"))
        .await;
    assert!(document["entries"].to_string().contains(said));
    assert!(entries.to_string().contains(said));
    let listed = run(&home, &["--json", "sessions", "list"]);
    assert!(!listed.contains(['\u{9b}', '\u{202e}']), "{listed:?}");
}

#[tokio::test]
async fn a_word_of_mixed_scripts_in_a_path_is_marked_on_the_card() {
    let path = "p\u{430}ypal.txt";
    let args = json!({"path": path, "content": "x"}).to_string();
    let one = ModelServer::chat(vec![calls("write_file", &args)]);
    let home = home(ONE, &[("one", &one)]);
    let daemon = home.daemon();
    let session = daemon.session().await;
    daemon.send(&session, "hello").await;
    let approval = daemon.wait_approval().await;
    let words = "mixes Latin and Cyrillic letters";
    assert!(
        approval["risk_reasons"].to_string().contains(words),
        "{approval:#}"
    );
    let id = approval["id"].as_str().unwrap();
    let card = run(&home, &["approvals", "show", id]);
    assert!(card.contains(words), "{card}");
}
