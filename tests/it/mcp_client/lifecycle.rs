//! Programs of servers: started when somebody asks, tried again, let go, and gone with all that they started.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use leverframe::config::mcp::McpPlace;
use leverframe::protocol::enums::McpServerState;
use leverframe::tools::tool::EffectDisposition::{ConfirmedNoEffect, Unknown};
use serde_json::json;

use crate::mcp_client::world::{SERVER, Scripted, lives, none, program, secret, settings};
use crate::tools::harness::eventually;

#[tokio::test]
async fn a_death_in_a_call_ends_that_call_and_the_next_one_runs_on_a_new_server() {
    let server = Scripted::new(&["log", "about-to-die"]);
    let echo = server.request("echo", json!({"text": "again"})).await;
    let first = server.status();
    let died = server.call("die", none()).await;
    assert_eq!(died.outcome.disposition, Unknown);
    assert!(
        died.outcome.content.contains("ended before it answered"),
        "{died:?}"
    );
    let failed = server.until(McpServerState::Failed).await;
    let problem = failed.problem.unwrap();
    assert!(
        problem.contains("ended by itself") && problem.contains("about-to-die"),
        "{problem}"
    );
    // The next call waits for its turn.
    assert_eq!(server.send(echo).await.outcome.content, "again");
    let second = server.status();
    assert_eq!((first.restarts, second.restarts), (0, 1));
    assert_ne!(first.pid, second.pid);
}

#[tokio::test]
async fn a_server_that_never_greets_or_cannot_start_fails_clearly_and_waits_grow() {
    let mut absent = program(&[]);
    absent.command = vec!["/no/such/program".to_owned()];
    let server = Scripted::with(settings(McpPlace::Program(absent)));
    let began = Instant::now();
    for _ in 0..3 {
        let why = server.servers.catalogue(SERVER).await.unwrap_err();
        assert!(why.contains("cannot be used"), "{why}");
    }
    // 1 s and 2 s, less a quarter.
    assert!(
        began.elapsed() >= Duration::from_millis(2200),
        "{:?}",
        began.elapsed()
    );
    assert_eq!(server.status().state, McpServerState::Failed);
}

#[tokio::test]
async fn a_call_that_is_cancelled_before_its_server_greets_is_not_sent() {
    let server = Scripted::new(&["mute"]);
    let cancel = server.cancel.clone();
    let request = Scripted::new(&[]).request("echo", none()).await;
    let (called, ()) = tokio::join!(server.send(request), async {
        server.until(McpServerState::Starting).await;
        cancel.cancel();
    });
    assert_eq!(called.outcome.disposition, ConfirmedNoEffect);
    // What was begun does not hold up the end.
    let began = Instant::now();
    server.servers.shut_down().await;
    assert!(began.elapsed() < Duration::from_secs(10));
}

#[tokio::test]
async fn many_askers_start_one_program() {
    let server = Scripted::new(&[]);
    let asking = (0..8).map(|_| server.servers.catalogue(SERVER));
    for catalogue in futures_util::future::join_all(asking).await {
        catalogue.unwrap();
    }
    assert_eq!(server.status().restarts, 0);
}

#[tokio::test]
async fn an_idle_server_is_let_go_and_comes_back() {
    let mut short = settings(McpPlace::Program(program(&[])));
    short.keep = Duration::from_millis(300);
    let server = Scripted::with(short);
    assert_eq!(server.said("wait", json!({"seconds": 1})).await, "waited");
    let pid = server.status().pid.unwrap();
    let idle = server.until(McpServerState::Idle).await;
    assert_eq!(idle.pid, None);
    assert!(idle.identity.is_some());
    eventually("the program is gone", || !lives(pid)).await;
    assert_eq!(server.said("echo", json!({"text": "back"})).await, "back");
}

#[tokio::test]
async fn nothing_that_a_server_started_outlives_it() {
    let server = Scripted::new(&[]);
    let child: u32 = server.said("spawn", none()).await.parse().unwrap();
    assert!(lives(child));
    let above = server.status().pid.unwrap();
    server.servers.stop(SERVER);
    eventually("the child is gone", || !lives(child)).await;
    eventually("the supervisor is gone", || !lives(above)).await;
    assert_eq!(server.status().state, McpServerState::Stopped);
}

#[tokio::test]
async fn a_person_stops_and_starts_a_server() {
    let server = Scripted::new(&[]);
    let wait = server.request("wait", none()).await;
    let (called, ()) = tokio::join!(server.send(wait), async {
        tokio::task::yield_now().await;
        server.servers.stop(SERVER);
    });
    assert!(called.outcome.is_error);
    let why = server.servers.catalogue(SERVER).await.unwrap_err();
    assert!(why.contains("a person stopped"), "{why}");
    server.servers.start(SERVER);
    server.until(McpServerState::Running).await;
    assert_eq!(server.said("echo", json!({"text": "on"})).await, "on");
}

#[tokio::test]
async fn other_settings_let_only_changed_servers_go() {
    let server = Scripted::new(&[]);
    server.servers.catalogue(SERVER).await.unwrap();
    let pid = server.status().pid.unwrap();
    let same = settings(McpPlace::Program(program(&[])));
    server
        .servers
        .configure(BTreeMap::from([(SERVER.to_owned(), same.clone())]));
    assert_eq!(server.status().pid, Some(pid));
    let mut other = same;
    other.trusted = true;
    server
        .servers
        .configure(BTreeMap::from([(SERVER.to_owned(), other)]));
    eventually("the program is gone", || !lives(pid)).await;
    assert_eq!(server.status().state, McpServerState::Idle);
    server.servers.configure(BTreeMap::new());
    assert!(server.servers.status(SERVER).is_none());
    let why = server.servers.catalogue(SERVER).await.unwrap_err();
    assert!(why.contains("no tool server"), "{why}");
}

#[tokio::test]
async fn a_program_finds_nothing_of_our_environment() {
    let mut own = program(&[]);
    own.environment = BTreeMap::from([("GREETING".to_owned(), secret("hello"))]);
    let server = Scripted::with(settings(McpPlace::Program(own)));
    let said = server.said("env", none()).await;
    let found: BTreeMap<String, String> = serde_json::from_str(&said).unwrap();
    for name in found.keys() {
        let known = [
            "PATH", "HOME", "LANG", "TZ", "GREETING", "PWD", "LC_CTYPE", "SHLVL", "_",
        ];
        assert!(known.contains(&name.as_str()), "{name}");
    }
    assert_eq!(found["GREETING"], "hello");
    assert!(found["HOME"].ends_with("/mcp/odd"), "{}", found["HOME"]);
}

#[tokio::test]
async fn a_log_holds_no_known_secret_and_no_escape() {
    let server = Scripted::new(&["log", "Bearer abcdefghijklmnopqrstuvwxyz \u{1b}[31mred"]);
    server.servers.catalogue(SERVER).await.unwrap();
    eventually("the line is kept", || !server.status().log.is_empty()).await;
    let log = server.status().log.join("\n");
    assert!(
        log.contains("[redacted]") && !log.contains("abcdefghij"),
        "{log}"
    );
    assert!(!log.contains('\u{1b}') && log.contains("<U+001B>"), "{log}");
}
