//! `leverframe mcp serve`.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};

use serde_json::{Value, json};

use crate::support::daemon::{DEADLINE, Home};

/// A program that a host has started.
struct Served {
    child: Child,
    input: Option<ChildStdin>,
    output: Receiver<String>,
    next: u64,
}

impl Served {
    fn start(home: &Home, client: &[&str]) -> Self {
        let mut child = home
            .command()
            .args(["mcp", "serve"])
            .args(client)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let stdout = child.stdout.take().unwrap();
        let (said, output) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if said.send(line).is_err() {
                    break;
                }
            }
        });
        Self {
            input: child.stdin.take(),
            child,
            output,
            next: 0,
        }
    }

    fn say(&mut self, message: &Value) {
        let input = self.input.as_mut().unwrap();
        writeln!(input, "{message}").unwrap();
        input.flush().unwrap();
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let id = self.next;
        self.say(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        loop {
            let line = self.output.recv_timeout(DEADLINE).unwrap();
            // Standard output carries nothing but messages.
            let message: Value = serde_json::from_str(&line).unwrap();
            assert_eq!(message["jsonrpc"], "2.0");
            if message["id"] == id {
                return message;
            }
        }
    }

    fn greet(&mut self) {
        let params = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" },
        });
        let greeted = self.ask("initialize", params);
        assert_eq!(greeted["result"]["protocolVersion"], "2025-11-25");
        assert_eq!(greeted["result"]["serverInfo"]["name"], "leverframe");
        self.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    }

    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.ask(
            "tools/call",
            json!({ "name": tool, "arguments": arguments }),
        )["result"]
            .clone()
    }

    fn end(mut self) -> std::process::ExitStatus {
        self.input.take();
        let deadline = std::time::Instant::now() + DEADLINE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(std::time::Instant::now() < deadline, "it goes on");
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_starts_it_speaks_over_its_streams() {
    let home = Home::new("[channels.mcp]\nautonomy = \"semi_auto\"\n");
    let daemon = home.daemon();
    let mut served = Served::start(&home, &["--client", "editor"]);
    served.greet();
    let tools = served.ask("tools/list", json!({}));
    assert!(tools.to_string().contains("start_session"));
    let list = served.call("list_files", json!({ "path": "." }));
    assert_ne!(list["isError"], true, "{list}");
    let answer = served.call("ask", json!({ "text": "SAY:over pipes" }));
    assert_eq!(answer["structuredContent"]["answer"], "over pipes");
    let session = served.call("start_session", json!({ "title": "mine" }));
    let id = session["structuredContent"]["session_id"].clone();
    assert_eq!(
        daemon
            .get(&format!("/v1/sessions/{}", id.as_str().unwrap()))
            .await["channel"],
        "mcp"
    );
    // Another client of the same user.
    let mut other = Served::start(&home, &["--client", "other"]);
    other.greet();
    let list = other.call("list_sessions", json!({}));
    assert_eq!(list["structuredContent"]["sessions"], json!([]));
    let theirs = other.call("get_session", json!({ "session_id": id }));
    assert_eq!(theirs["isError"], true);
    assert!(other.end().success());
    // The same client again finds what it had.
    let mut again = Served::start(&home, &["--client", "editor"]);
    again.greet();
    let mine = again.call("get_session", json!({ "session_id": id }));
    assert_eq!(mine["structuredContent"]["title"], "mine");
    assert!(again.end().success());
    assert!(served.end().success());
    let turns = daemon.get("/v1/continuations?limit=5").await;
    for turn in turns["items"].as_array().unwrap() {
        assert_eq!(turn["surface"], "mcp", "{turn:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_stateless_era_works_over_streams_with_tasks() {
    let home = Home::new("");
    let _daemon = home.daemon();
    let mut served = Served::start(&home, &[]);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {
            "extensions": { "io.modelcontextprotocol/tasks": {} }
        },
    });
    let found = served.ask("server/discover", json!({ "_meta": meta }));
    let versions = found["result"]["supportedVersions"].to_string();
    assert!(versions.contains("2026-07-28"), "{found}");
    let call = json!({ "_meta": meta, "name": "ask", "arguments": { "text": "SAY:x" } });
    let task = served.ask("tools/call", call);
    let id = task["result"]["taskId"].clone();
    assert!(id.is_string(), "{task}");
    let deadline = std::time::Instant::now() + DEADLINE;
    loop {
        let got = served.ask("tasks/get", json!({ "_meta": meta, "taskId": id }));
        if got["result"]["status"] == "completed" {
            break;
        }
        assert!(std::time::Instant::now() < deadline, "{got}");
    }
}

#[test]
fn without_a_daemon_it_says_so_and_ends() {
    let home = Home::new("");
    let output = home.command().args(["mcp", "serve"]).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(output.stdout.is_empty());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("nothing runs"), "{said}");
    let output = home
        .command()
        .args(["mcp", "serve", "--client", "a b"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
}

/// Asks without waiting for the answer: the turn, once it runs.
async fn ask_slowly(
    daemon: &crate::support::daemon::Daemon,
    served: &mut Served,
    id: u64,
) -> String {
    let call = json!({ "name": "ask", "arguments": { "text": format!("SLOW:2000\nSAY:{id}") } });
    served.say(&json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": call }));
    let wanted = format!("SAY:{id}");
    let found = |body: &Value| {
        let items = body["items"].as_array().unwrap();
        let turn = items.iter().find(|item| {
            let text = item["request"]["text"].as_str().unwrap();
            item["state"] != "pending" && text.contains(&wanted)
        });
        turn.map(|turn| turn["id"].as_str().unwrap().to_owned())
    };
    let list = daemon
        .wait("/v1/continuations", "the turn", |body| {
            found(body).is_some()
        })
        .await;
    found(&list).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_cancels_or_goes_away_ends_what_it_asked() {
    let home = Home::new("");
    let daemon = home.daemon();
    let mut served = Served::start(&home, &[]);
    served.greet();
    let turn = ask_slowly(&daemon, &mut served, 901).await;
    let cancelled = json!({ "requestId": 901, "reason": "enough" });
    served.say(&json!({
        "jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled
    }));
    daemon.wait_state(&turn, "cancelled").await;
    // Lines that are no message are passed over.
    served
        .input
        .as_mut()
        .unwrap()
        .write_all(b"no message\n")
        .unwrap();
    assert!(served.ask("ping", json!({}))["result"].is_object());
    let turn = ask_slowly(&daemon, &mut served, 902).await;
    assert!(served.end().success());
    daemon.wait_state(&turn, "cancelled").await;
}
