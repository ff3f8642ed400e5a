//! A server that echoes the key it is called with: in every place and split in every way, and nothing of it is kept.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::model_calls::interrupted::events;
use crate::model_calls::server::{ModelServer, fails};
use crate::support::daemon::{DEADLINE, Home};
use crate::support::fake_http::Reply;
use tokio::io::AsyncReadExt as _;

/// It has the shape of no known credential: only that it was registered gives it away.
const KEY: &str = "Zq7wvTx9.Kp4mRb2_Ln8cHd5";
/// Its beginning, which must not be kept either.
const BEGINNING: &str = "Zq7wvT";

fn stream(events: &[Value], ends: bool) -> Reply {
    let mut text = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n".to_owned();
    for event in events {
        text.push_str(&format!("data: {event}\n\n"));
    }
    if ends {
        text.push_str("data: [DONE]\n\n");
    }
    Reply::Raw(text.into_bytes())
}

fn delta(delta: &Value) -> Value {
    json!({"choices": [{"index": 0, "delta": delta}]})
}

fn end(reason: &str) -> Value {
    json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
}

/// Text in pieces of this many bytes.
fn text(text: &str, size: usize) -> Vec<Value> {
    text.as_bytes()
        .chunks(size)
        .map(|piece| delta(&json!({"content": std::str::from_utf8(piece).unwrap()})))
        .collect()
}

fn call(id: &str, name: &str, args: &str, size: usize) -> Vec<Value> {
    let mut events = vec![delta(
        &json!({"tool_calls": [{"index": 0, "id": id, "function": {"name": name, "arguments": ""}}]}),
    )];
    events.extend(args.as_bytes().chunks(size).map(|piece| {
        let piece = std::str::from_utf8(piece).unwrap();
        delta(&json!({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]}))
    }));
    events
}

/// Every answer of the server.
fn script() -> Vec<Reply> {
    let said = format!("your key is {KEY}, is it not");
    let mut script = Vec::new();
    for size in [1, 3, 7, 19, 200] {
        script.push(stream(
            &[text(&said, size), vec![end("stop")]].concat(),
            true,
        ));
        script.push(stream(&text(&said, size), false));
        script.push(stream(&text(&said[..30], size), false));
    }
    let args = json!({ "path": format!("/tmp/{KEY}/x") }).to_string();
    for (id, name, args) in [
        (KEY, "read_file", "{\"path\":\"a\"}"),
        ("call_9", KEY, "{}"),
        ("call_9", "read_file", args.as_str()),
        ("call_9", "read_file", &args.replace('Z', "\\u005a")),
        ("call_9", "read_file", &args[..40]),
    ] {
        let whole = [call(id, name, args, 5), vec![end("tool_calls")]].concat();
        script.push(stream(&whole, true));
        script.push(stream(&call(id, name, args, 5), false));
    }
    let details = json!([{"type": "reasoning.text", "text": format!("I know {KEY}"), "index": 0}]);
    let thought = delta(&json!({"content": "thought", "reasoning_details": details}));
    script.push(stream(&[thought, end("stop")], true));
    script.push(stream(&[delta(&json!({"content": "odd"})), end(KEY)], true));
    for before in [0, 290] {
        let message = format!("{} {KEY} is wrong", "x".repeat(before));
        script.push(stream(&[json!({"error": {"message": message}})], false));
        script.push(fails(400, "", &message));
    }
    script
}

fn assert_clean(path: &Path, bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Some(at) = text.find(BEGINNING) {
        let from = text[..at]
            .char_indices()
            .rev()
            .nth(120)
            .map_or(0, |(at, _)| at);
        panic!("{} holds the key: {:?}", path.display(), &text[from..at]);
    }
}

fn assert_clean_below(dir: &Path) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            assert_clean_below(&path);
        } else if let Ok(bytes) = std::fs::read(&path) {
            assert_clean(&path, &bytes);
        }
    }
}

fn run(home: &Home, words: &[&str]) -> Vec<u8> {
    let mut command: Command = home.command();
    let output = command.env("ONE_KEY", KEY).args(words).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{words:?}: {errors}");
    [output.stdout, output.stderr].concat()
}

#[tokio::test]
async fn a_key_that_the_provider_echoes_is_kept_and_shown_nowhere() {
    let script = script();
    let one = ModelServer::chat(Vec::new());
    let home = Home::new(&format!(
        "[model]\ndefault = \"one/m\"\n[engine]\nmax_model_attempts = 1\n{}",
        one.table("one", "api_key_env = \"ONE_KEY\"")
    ));
    let daemon = home.daemon_with(&[("ONE_KEY", KEY), ("LEVERFRAME_LOG", "debug")]);
    let mut watching = events(&daemon, "").await;
    let mut sessions = Vec::new();
    for reply in script {
        one.next(reply);
        let session = daemon.session().await;
        let turn = daemon.send(&session, "hello").await;
        let path = format!("/v1/continuations/{turn}");
        daemon
            .wait(&path, "the end of the turn", |turn| {
                matches!(
                    turn["state"].as_str(),
                    Some("completed" | "failed" | "interrupted" | "waiting_approval")
                )
            })
            .await;
        sessions.push(session);
    }
    let last = sessions.last().unwrap().clone();
    let mut heard = Vec::new();
    let mut buffer = vec![0; 65536];
    // The events of the last turn say its session, and then its end.
    loop {
        let text = String::from_utf8_lossy(&heard).into_owned();
        if let Some(at) = text.find(&last)
            && text[at..].contains("continuation.failed")
        {
            break;
        }
        let size = tokio::time::timeout(DEADLINE, watching.read(&mut buffer))
            .await
            .unwrap_or_else(|_| {
                panic!(
                    "no end of {last} in {}",
                    text.chars()
                        .rev()
                        .take(3000)
                        .collect::<String>()
                        .chars()
                        .rev()
                        .collect::<String>()
                )
            })
            .unwrap();
        assert!(size > 0);
        heard.extend_from_slice(&buffer[..size]);
    }
    assert!(String::from_utf8_lossy(&heard).contains("[redacted]"));
    assert_clean(Path::new("the event stream"), &heard);
    for session in &sessions {
        let path = format!("/v1/sessions/{session}/transcript");
        let entries = daemon.get(&path).await.to_string();
        assert_clean(Path::new(&path), entries.as_bytes());
    }
    let snapshot = daemon.get("/v1/snapshot").await.to_string();
    assert_clean(Path::new("the snapshot"), snapshot.as_bytes());
    for session in sessions.iter().rev().take(3) {
        for words in [
            &["sessions", "export", session.as_str()][..],
            &["--json", "sessions", "export", session.as_str()],
        ] {
            assert_clean(Path::new("an export"), &run(&home, words));
        }
    }
    let backup = home.path().join("backup");
    daemon
        .post("/v1/backup", json!({"path": backup.to_str().unwrap()}))
        .await;
    assert_clean_below(home.path());
}
