//! The official conformance suite against the real server.
//!
//! The suite sends no token, so a proxy on loopback adds it. What is listed here as not applicable must fail, and
//! everything else that a revision requires must pass: the suite checks both.

use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::Command;
use std::time::Duration;

use crate::mcp_server::host::token;
use crate::support::daemon::Home;
use crate::support::requirement::peer;

/// Scenarios that a revision requires of a server with everything the protocol has, and why ours has it not.
const NOT_APPLICABLE: &[(&str, &[(&str, &str)])] = &[
    (
        "2025-11-25",
        &[
            ("logging-set-level", NO_LOGGING),
            ("completion-complete", NO_PROMPTS),
            ("tools-call-simple-text", FIXTURE),
            ("tools-call-image", FIXTURE),
            ("tools-call-audio", FIXTURE),
            ("tools-call-embedded-resource", FIXTURE),
            ("tools-call-mixed-content", FIXTURE),
            ("tools-call-with-logging", NO_LOGGING),
            ("tools-call-error", FIXTURE),
            ("tools-call-with-progress", FIXTURE),
            ("tools-call-sampling", ASKS_NOTHING),
            ("tools-call-elicitation", ASKS_NOTHING),
            ("elicitation-sep1034-defaults", ASKS_NOTHING),
            ("elicitation-sep1330-enums", ASKS_NOTHING),
            ("server-sse-multiple-streams", NO_SESSIONS),
            ("resources-list", NO_RESOURCES),
            ("resources-read-text", NO_RESOURCES),
            ("resources-read-binary", NO_RESOURCES),
            ("resources-templates-read", NO_RESOURCES),
            ("resources-subscribe", NO_RESOURCES),
            ("resources-unsubscribe", NO_RESOURCES),
            ("prompts-list", NO_PROMPTS),
            ("prompts-get-simple", NO_PROMPTS),
            ("prompts-get-with-args", NO_PROMPTS),
            ("prompts-get-embedded-resource", NO_PROMPTS),
            ("prompts-get-with-image", NO_PROMPTS),
        ],
    ),
    (
        "2026-07-28",
        &[
            (
                "server-stateless:sep-2575-server-rejects-undeclared-capability",
                FIXTURE,
            ),
            (
                "server-stateless:sep-2575-missing-capability-http-400",
                FIXTURE,
            ),
            (
                "server-stateless:sep-2575-http-server-no-independent-requests-on-stream",
                FIXTURE,
            ),
            (
                "server-stateless:sep-2575-server-no-log-without-loglevel",
                NO_LOGGING,
            ),
            ("caching:sep-2549-prompts-list-caching-hints", NO_PROMPTS),
            (
                "caching:sep-2549-resources-list-caching-hints",
                NO_RESOURCES,
            ),
            (
                "caching:sep-2549-resources-templates-list-caching-hints",
                NO_RESOURCES,
            ),
            ("completion-complete", NO_PROMPTS),
            ("tools-call-simple-text", FIXTURE),
            ("tools-call-image", FIXTURE),
            ("tools-call-audio", FIXTURE),
            ("tools-call-embedded-resource", FIXTURE),
            ("tools-call-mixed-content", FIXTURE),
            ("tools-call-error", FIXTURE),
            ("tools-call-with-progress", FIXTURE),
            ("resources-list", NO_RESOURCES),
            ("resources-read-text", NO_RESOURCES),
            ("resources-read-binary", NO_RESOURCES),
            ("resources-templates-read", NO_RESOURCES),
            ("sep-2164-resource-not-found", NO_RESOURCES),
            ("input-required-result-missing-input-response", ASKS_NOTHING),
            ("input-required-result-ignore-extra-params", ASKS_NOTHING),
            ("prompts-list", NO_PROMPTS),
            ("prompts-get-simple", NO_PROMPTS),
            ("prompts-get-with-args", NO_PROMPTS),
            ("prompts-get-embedded-resource", NO_PROMPTS),
            ("prompts-get-with-image", NO_PROMPTS),
            ("input-required-result-basic-elicitation", ASKS_NOTHING),
            ("input-required-result-basic-sampling", ASKS_NOTHING),
            ("input-required-result-basic-list-roots", ASKS_NOTHING),
            ("input-required-result-request-state", ASKS_NOTHING),
            (
                "input-required-result-multiple-input-requests",
                ASKS_NOTHING,
            ),
            ("input-required-result-multi-round", ASKS_NOTHING),
            ("input-required-result-non-tool-request", ASKS_NOTHING),
            ("input-required-result-result-type", ASKS_NOTHING),
            ("input-required-result-tampered-state", ASKS_NOTHING),
            ("input-required-result-capability-check", ASKS_NOTHING),
        ],
    ),
];

const FIXTURE: &str = "needs tools that only a test server has";
const NO_LOGGING: &str = "logging over the protocol is deprecated, and not offered";
const NO_PROMPTS: &str = "no prompts are offered";
const NO_SESSIONS: &str = "no session of the protocol is kept: each request stands alone";
const NO_RESOURCES: &str = "no resources are offered";
const ASKS_NOTHING: &str = "the server asks its caller for nothing";

/// Passes everything on to the port, with the token. It answers to its own port in `Host` and `Origin`.
fn proxy(port: u16, token: String) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let own = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let token = token.clone();
            std::thread::spawn(move || {
                let _ = pass_on(stream, own, port, &token);
            });
        }
    });
    own
}

fn pass_on(mut caller: TcpStream, own: u16, port: u16, token: &str) -> std::io::Result<()> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        if caller.read(&mut byte)? == 0 {
            return Ok(());
        }
        head.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&head).replace(&format!(":{own}"), &format!(":{port}"));
    let mut sent = String::new();
    for line in head.trim_end().lines() {
        if !line.to_ascii_lowercase().starts_with("connection:") {
            let _ = write!(sent, "{line}\r\n");
        }
    }
    // One request a connection: the next one needs the token too.
    let _ = write!(
        sent,
        "Connection: close\r\nAuthorization: Bearer {token}\r\n\r\n"
    );
    let mut daemon = TcpStream::connect(("127.0.0.1", port))?;
    daemon.write_all(sent.as_bytes())?;
    let (mut from, mut to) = (caller.try_clone()?, daemon.try_clone()?);
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Both);
    });
    std::io::copy(&mut daemon, &mut caller)?;
    caller.shutdown(Shutdown::Both)
}

fn run(revision: &'static str) {
    let suite = "node_modules/@modelcontextprotocol/conformance/dist/index.js";
    let unchecked = "the server against the official conformance suite";
    let Some(suite) = peer("mcp_node", suite, unchecked) else {
        return;
    };
    let node = format!("node_modules/node-linux-{}/bin/node", machine());
    let Some(node) = peer("mcp_node", &node, unchecked) else {
        return;
    };
    let home = Home::new("");
    let daemon = home.daemon();
    let port = daemon.base.rsplit(':').next().unwrap().parse().unwrap();
    let own = proxy(port, token(&home, "conformance"));
    let (_, excused) = NOT_APPLICABLE
        .iter()
        .find(|(known, _)| *known == revision)
        .unwrap();
    let mut baseline = String::from("server:\n");
    for (scenario, why) in *excused {
        let _ = writeln!(baseline, "  - {scenario} # {why}");
    }
    let file = home.path().join("baseline.yml");
    std::fs::write(&file, baseline).unwrap();
    let output = Command::new("timeout")
        .arg(Duration::from_secs(280).as_secs().to_string())
        .arg(node)
        .arg(suite)
        .args(["server", "--url", &format!("http://127.0.0.1:{own}/mcp")])
        .args(["--requirements", revision, "--expected-failures"])
        .arg(&file)
        .arg("-o")
        .arg(home.path().join("results"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{errors}");
    assert!(said.contains("tools-list"), "{said}");
}

fn machine() -> &'static str {
    match std::env::consts::ARCH {
        "aarch64" => "arm64",
        _ => "x64",
    }
}

#[test]
fn the_handshake_era_conforms() {
    run("2025-11-25");
}

#[test]
fn the_stateless_era_conforms() {
    run("2026-07-28");
}
