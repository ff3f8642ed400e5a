//! What the program of a server can reach in the sandbox.

use std::net::TcpListener;

use leverframe::config::mcp::McpPlace;
use leverframe::config::program::ProgramSettings;
use leverframe::protocol::enums::McpServerState;
use leverframe::tools::sandbox::Sandbox;
use serde_json::{Value, json};

use crate::mcp_client::world::{SERVER, Scripted, lives, none, program, script, secret, settings};
use crate::tools::harness::{eventually, sandbox};

fn confined(words: &[&str]) -> ProgramSettings {
    let mut program = program(words);
    program.sandbox = true;
    program.read = vec![script().parent().unwrap().to_owned()];
    program
}

fn scripted(program: ProgramSettings, sandbox: &Sandbox) -> Scripted {
    Scripted::in_sandbox(settings(McpPlace::Program(program)), sandbox)
}

#[tokio::test]
async fn without_a_proved_sandbox_nothing_starts() {
    let server = scripted(confined(&[]), &Sandbox::none("a test"));
    let why = server.servers.catalogue(SERVER).await.unwrap_err();
    assert!(
        why.contains("no sandbox is proved") && why.contains("sandbox = false"),
        "{why}"
    );
    assert_eq!(server.status().state, McpServerState::Failed);
}

#[tokio::test]
async fn a_server_sees_its_own_places_and_nothing_of_ours() {
    let Some(sandbox) = sandbox() else { return };
    let shared = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let shared = shared.path().canonicalize().unwrap();
    let other = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    std::fs::write(other.path().join("file"), "not for it").unwrap();
    let mut program = confined(&[]);
    program.write = vec![shared.clone()];
    program.environment = [("API_KEY".to_owned(), secret("a-secret-of-its-own"))].into();
    let server = scripted(program, &sandbox);
    let data = server.root.path().canonicalize().unwrap().join("data");
    std::fs::write(data.join("token"), "ours").unwrap();
    let read = |path: String| {
        let server = &server;
        async move { server.call("read", json!({ "path": path })).await.outcome }
    };
    assert!(
        read(data.join("token").display().to_string())
            .await
            .is_error
    );
    assert_eq!(
        read(data.display().to_string()).await.content.trim(),
        ".\n..\nmcp"
    );
    assert!(
        read(other.path().join("file").display().to_string())
            .await
            .is_error
    );
    let shadow = read("/etc/shadow".to_owned()).await.content;
    assert!(!shadow.contains("root:"), "{shadow}");
    // Its own places.
    let write = |path: String| {
        let server = &server;
        async move { server.call("write", json!({ "path": path })).await.outcome }
    };
    let file = shared.join("new");
    assert_eq!(write(file.display().to_string()).await.content, "written");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "written");
    let home = data.join("mcp").join(SERVER).join("note");
    assert_eq!(write(home.display().to_string()).await.content, "written");
    assert!(write(script().display().to_string()).await.is_error);
    // Its environment: what it was given, and no argument of a command tells it.
    let found: Value = serde_json::from_str(&server.said("env", none()).await).unwrap();
    assert_eq!(found["API_KEY"], "a-secret-of-its-own");
    assert_eq!(
        found["PATH"].as_str().unwrap().split(':').next(),
        Some("/usr/local/sbin")
    );
    let above = server.status().pid.unwrap();
    for process in std::fs::read_dir("/proc").unwrap().flatten() {
        let line = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line);
        assert!(!line.contains("a-secret-of-its-own"), "{line}");
    }
    assert!(lives(above));
    assert_eq!(server.status().sandbox.as_deref(), Some("bubblewrap"));
}

#[tokio::test]
async fn the_network_is_there_only_where_it_is_configured_and_memory_may_be_reserved() {
    let Some(sandbox) = sandbox() else { return };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let without = scripted(confined(&[]), &sandbox);
    assert!(
        without
            .call("connect", json!({ "port": port }))
            .await
            .outcome
            .is_error
    );
    // Runtimes reserve more than the address space of other programs.
    assert_eq!(
        without.said("limits", none()).await,
        (3_u64 << 30).to_string()
    );
    let mut program = confined(&[]);
    program.network = true;
    let with = scripted(program, &sandbox);
    assert_eq!(
        with.said("connect", json!({ "port": port })).await,
        "connected"
    );
}

#[tokio::test]
async fn what_a_confined_server_started_goes_with_it() {
    let Some(sandbox) = sandbox() else { return };
    let server = scripted(confined(&[]), &sandbox);
    server.said("spawn", none()).await;
    let above = server.status().pid.unwrap();
    let sleeping = || {
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        let lines = processes.map(|one| std::fs::read(one.path().join("cmdline")));
        lines
            .flatten()
            .filter(|line| line == b"sleep\x003611\0")
            .count()
    };
    server.servers.shut_down().await;
    eventually("the supervisor is gone", || !lives(above)).await;
    // Other tests of this kind may be running: theirs end as well.
    eventually("nothing sleeps", || sleeping() == 0).await;
}

#[tokio::test]
async fn no_place_of_ours_can_be_shown() {
    let Some(sandbox) = sandbox() else { return };
    for place in ["data", ""] {
        let mut program = confined(&[]);
        let server = scripted(program.clone(), &sandbox);
        let root = server.root.path().canonicalize().unwrap();
        program.read.push(root.join(place));
        server
            .servers
            .configure([(SERVER.to_owned(), settings(McpPlace::Program(program)))].into());
        let why = server.servers.catalogue(SERVER).await.unwrap_err();
        assert!(why.contains("would show"), "{why}");
    }
}
