//! OpenAI's own libraries as clients: models, chat, streams, responses, and a call that waits for a person in the middle.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::openai_clients::caller::{home, sessions};
use crate::support::daemon::Daemon;
use crate::support::requirement::peer;

const UNCHECKED: &str = "agents for OpenAI's clients";

fn bounded(program: &Path) -> Command {
    let mut command = Command::new("timeout");
    command.arg("60").arg(program);
    command
}

/// Runs a client. Each line `waits` that it says is a call that is approved then. Its last line is what it has seen.
async fn run(daemon: &Daemon, mut command: Command) -> Value {
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut last = String::new();
    for line in lines.map_while(Result::ok) {
        if line == "waits" {
            let approval = daemon.wait_approval().await;
            assert_eq!(daemon.decide(&approval, "approve").await.0, 200);
        }
        last = line;
    }
    let output = child.wait_with_output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{last}\n{errors}");
    serde_json::from_str(&last).unwrap_or_else(|error| panic!("{error}: {last}\n{errors}"))
}

/// What every client has seen.
async fn check(daemon: &Daemon, said: &Value) {
    assert_eq!(said["models"], json!(["api", "cli", "desk"]));
    assert_eq!(said["answer"], "hello");
    assert_eq!(said["finish"], "stop");
    assert_eq!(said["streamed"], "and again");
    assert_eq!(said["stream_finish"], "stop");
    assert!(
        said["tokens"].as_u64() > Some(0) && said["stream_tokens"].as_u64() > Some(0),
        "{said}"
    );
    let approved = said["approved"].as_str().unwrap();
    assert!(
        approved.starts_with("> Leverframe: this waits for a person"),
        "{approved}"
    );
    assert!(approved.ends_with("\n\nwritten"), "{approved}");
    assert_eq!(said["response"], "one");
    assert_eq!(said["response_status"], "completed");
    assert_eq!(said["response_streamed"], "two");
    assert_eq!(said["followed"], "two");
    assert!(said["usage"].as_u64() > Some(0), "{said}");
    assert_eq!(said["kinds"][0], "response.created");
    assert_eq!(
        said["kinds"].as_array().unwrap().last().unwrap(),
        "response.completed"
    );
    assert_eq!(said["retrieved"], "written too");
    assert_eq!(said["unknown"], json!([404, "model_not_found", "model"]));
    assert_eq!(said["tools"], json!(["unsupported_parameter", "tools"]));
    assert_eq!(said["stranger"], "invalid_api_key");
    assert_eq!(said["failed"], "turn_failed");
    // Two turns of a chat and two responses are a session each; two calls and a failure are others.
    assert_eq!(sessions(daemon).await.len(), 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_python_library_talks_to_an_agent() {
    let Some(python) = peer("openai_python", "bin/python", UNCHECKED) else {
        return;
    };
    let home = home();
    let daemon = home.daemon();
    let script = home.path().join("client.py");
    std::fs::write(&script, include_str!("client.py")).unwrap();
    let mut command = bounded(&python);
    command.arg(&script).args([&daemon.base, &daemon.token]);
    let said = run(&daemon, command).await;
    check(&daemon, &said).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_javascript_library_talks_to_an_agent() {
    let machine = match std::env::consts::ARCH {
        "aarch64" => "arm64",
        _ => "x64",
    };
    let node = format!("node_modules/node-linux-{machine}/bin/node");
    let Some(node) = peer("mcp_node", &node, UNCHECKED) else {
        return;
    };
    let Some(library) = peer("openai_node", "node_modules/openai/index.mjs", UNCHECKED) else {
        return;
    };
    let home = home();
    let daemon = home.daemon();
    let script = home.path().join("client.mjs");
    std::fs::write(&script, include_str!("client.mjs")).unwrap();
    let mut command = bounded(&node);
    command
        .arg(&script)
        .arg(&library)
        .args([&daemon.base, &daemon.token]);
    let said = run(&daemon, command).await;
    check(&daemon, &said).await;
}
