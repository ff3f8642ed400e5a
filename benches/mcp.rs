//! A call of a server's tool beside the bare exchange of the same bytes, over streams and over HTTP; and the lists of many
//! servers.

#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs, dead_code)] // a bench is a test, and uses a part of the stopwatch

mod harness;

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use leverframe::clock::Clock;
use leverframe::config::mcp::{McpAddress, McpPlace, McpServerSettings};
use leverframe::config::program::ProgramSettings;
use leverframe::config::supervisor;
use leverframe::text::redact::Redactor;
use leverframe::tools::mcp::{CallRequest, McpServers, Surroundings, definition_sha256};
use leverframe::tools::sandbox::Sandbox;
use leverframe::tools::service::Services;
use leverframe::tools::tool::ToolHost;
use serde_json::json;
use tokio_util::sync::CancellationToken;

/// Most that a call may take longer than the bare exchange.
const GOAL: Duration = Duration::from_millis(1);
/// Most that the lists may take.
const LISTS_GOAL: Duration = Duration::from_millis(50);
const SERVERS: usize = 20;
const RUNS: usize = 300;
const PYTHON: &str = "/usr/bin/python3";
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/mcp_server.py");

struct NoHost;

impl ToolHost for NoHost {
    fn progress(&self, _text: &str) {}
}

fn settings(place: McpPlace) -> McpServerSettings {
    McpServerSettings {
        place,
        trusted: false,
        tools: BTreeMap::new(),
        allow: Vec::new(),
        block: Vec::new(),
        idle_timeout: Duration::from_secs(60),
        max_duration: Duration::from_secs(60),
        keep: Duration::from_secs(600),
        max_result_bytes: 256 * 1024,
    }
}

fn program() -> McpServerSettings {
    settings(McpPlace::Program(ProgramSettings {
        command: [PYTHON, SCRIPT, "fifty"].map(str::to_owned).to_vec(),
        directory: None,
        environment: BTreeMap::new(),
        read: Vec::new(),
        write: Vec::new(),
        network: false,
        sandbox: false,
        secrets: Vec::new(),
        missing: Vec::new(),
    }))
}

fn servers(root: &Path, all: BTreeMap<String, McpServerSettings>) -> McpServers {
    McpServers::new(
        all,
        Surroundings {
            services: Services {
                sandbox: Sandbox::none("bench"),
                data_dir: root.to_owned(),
                hidden: Vec::new(),
            },
            redactor: Redactor::new(),
            clock: Clock::System,
        },
    )
}

async fn calls(servers: &McpServers) -> Vec<Duration> {
    let catalogue = servers.catalogue("one").await.unwrap();
    let mut tools = catalogue.tools.iter();
    let echo = tools.find(|tool| tool.name == "echo").unwrap();
    let request = CallRequest {
        tool: "echo".to_owned(),
        definition_sha256: definition_sha256(echo),
        identity: catalogue.identity.clone(),
        arguments: json!({"text": "hello"}).as_object().cloned().unwrap(),
    };
    let mut times = Vec::new();
    for _ in 0..RUNS {
        let began = Instant::now();
        let cancel = CancellationToken::new();
        let called = servers.call("one", request.clone(), &NoHost, &cancel).await;
        times.push(began.elapsed());
        assert_eq!(called.outcome.content, "hello");
    }
    times
}

fn message() -> String {
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28", "progressToken": 1});
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "echo", "arguments": {"text": "hello"}, "_meta": meta}}).to_string()
}

fn bare_lines() -> Vec<Duration> {
    let mut child = Command::new(PYTHON)
        .arg(SCRIPT)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut output = BufReader::new(output);
    let line = format!("{}\n", message());
    let mut times = Vec::new();
    for _ in 0..RUNS {
        let began = Instant::now();
        input.write_all(line.as_bytes()).unwrap();
        let mut answer = String::new();
        output.read_line(&mut answer).unwrap();
        times.push(began.elapsed());
        assert!(answer.contains("hello"));
    }
    drop(input);
    child.wait().unwrap();
    times
}

fn bare_http(port: u16) -> Vec<Duration> {
    let body = message();
    let request = format!(
        "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut times = Vec::new();
    for _ in 0..RUNS {
        let began = Instant::now();
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        times.push(began.elapsed());
        assert!(answer.contains("hello"));
    }
    times
}

fn over_http(root: &Path) -> (Child, u16) {
    let file = root.join("port");
    let child = Command::new(PYTHON)
        .args([SCRIPT, "http"])
        .arg(&file)
        .spawn()
        .unwrap();
    let mut tries = 0..500;
    let port = tries.find_map(|_| {
        std::thread::sleep(Duration::from_millis(10));
        std::fs::read_to_string(&file).ok()?.parse().ok()
    });
    (child, port.unwrap())
}

fn verdict(goal: Duration, is_met: bool) {
    println!("goal {goal:?}: {}", if is_met { "met" } else { "missed" });
}

fn main() {
    // This program is the supervisor of what it starts, too.
    if let Some(status) = supervisor::from_arguments(std::env::args_os()) {
        std::process::exit(i32::from(status));
    }
    let root = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    let one = servers(root.path(), BTreeMap::from([("one".to_owned(), program())]));
    let bare = harness::report("bare exchange over streams", bare_lines());
    let ours = harness::report("call over streams", runtime.block_on(calls(&one)));
    verdict(GOAL, ours <= bare + GOAL);
    runtime.block_on(one.shut_down());

    let (mut child, port) = over_http(root.path());
    let address = McpAddress {
        url: format!("http://127.0.0.1:{port}/mcp"),
        headers: BTreeMap::new(),
        login: None,
    };
    let place = settings(McpPlace::Address(address));
    let one = servers(root.path(), BTreeMap::from([("one".to_owned(), place)]));
    let bare = harness::report("bare exchange over HTTP", bare_http(port));
    let ours = harness::report("call over HTTP", runtime.block_on(calls(&one)));
    verdict(GOAL, ours <= bare + GOAL);
    child.kill().unwrap();
    child.wait().unwrap();

    let names: Vec<String> = (0..SERVERS).map(|n| format!("s{n}")).collect();
    let all = names.iter().map(|name| (name.clone(), program()));
    let many = servers(root.path(), all.collect());
    let times = runtime.block_on(async {
        for name in &names {
            // Connects, and asks for no tool.
            many.resources(name).await.unwrap();
        }
        let began = Instant::now();
        let listing = names.iter().map(|name| many.catalogue(name));
        for catalogue in futures_util::future::join_all(listing).await {
            assert_eq!(catalogue.unwrap().tools.len(), 50);
        }
        began.elapsed()
    });
    let lists = harness::report("lists of 20 servers with 50 tools each", vec![times]);
    verdict(LISTS_GOAL, lists <= LISTS_GOAL);
    runtime.block_on(many.shut_down());
}
