//! What servers offer, in both eras.

use leverframe::protocol::enums::{McpEra, McpServerState};
use leverframe::tools::mcp::exposed_name;
use serde_json::json;

use crate::mcp_client::world::{SERVER, Scripted};

#[tokio::test]
async fn a_server_of_either_era_is_connected_and_says_who_it_is() {
    for (words, era, version) in [
        (&["legacy"][..], McpEra::Handshake, "2025-11-25"),
        (&["modern"], McpEra::Stateless, "2026-07-28"),
        (&[], McpEra::Stateless, "2026-07-28"),
    ] {
        let server = Scripted::new(words);
        assert_eq!(server.status().state, McpServerState::Idle);
        let catalogue = server.servers.catalogue(SERVER).await.unwrap();
        assert_eq!(catalogue.identity.name, "scripted", "{words:?}");
        assert!(catalogue.identity.place.contains("mcp_server.py"));
        assert_eq!(catalogue.instructions.as_deref(), Some("Be kind."));
        assert!(catalogue.has_resources && catalogue.has_prompts);
        let status = server.status();
        assert_eq!(status.state, McpServerState::Running);
        assert_eq!(status.era, Some(era), "{words:?}");
        assert_eq!(status.protocol_version.as_deref(), Some(version));
        assert_eq!(status.sandbox.as_deref(), Some("unsandboxed"));
        assert!(status.pid.is_some() && status.connected_at.is_some());
        let names: Vec<&str> = catalogue
            .tools
            .iter()
            .map(|tool| tool.name.as_str())
            .collect();
        assert!(names.is_sorted() && names.contains(&"echo"), "{names:?}");
        server.servers.shut_down().await;
        assert_eq!(server.status().pid, None);
    }
}

#[tokio::test]
async fn an_old_server_that_is_silent_about_the_new_era_is_connected_after_a_bounded_wait() {
    let server = Scripted::new(&["legacy", "silent"]);
    let began = std::time::Instant::now();
    server.servers.catalogue(SERVER).await.unwrap();
    assert_eq!(server.status().era, Some(McpEra::Handshake));
    // The SDK alone would wait for 10 s.
    assert!(began.elapsed().as_secs() < 10, "{:?}", began.elapsed());
}

#[tokio::test]
async fn endless_lists_are_cut_and_said_to_be() {
    for (word, most, warning) in [
        ("many", 256, "longer than 256"),
        ("endless", 20, "more than 20 pages"),
        ("circle", 2, "goes in a circle"),
    ] {
        let server = Scripted::new(&[word]);
        let catalogue = server.servers.catalogue(SERVER).await.unwrap();
        assert_eq!(catalogue.tools.len(), most, "{word}");
        let warned = catalogue.warnings.iter().any(|one| one.contains(warning));
        assert!(warned, "{word}: {:?}", catalogue.warnings);
    }
}

#[tokio::test]
async fn tools_that_cannot_be_used_are_left_out_with_a_reason_and_the_others_stay() {
    let server = Scripted::new(&["bad"]);
    let catalogue = server.servers.catalogue(SERVER).await.unwrap();
    for (name, why) in [
        ("no schema", "no schema of its arguments"),
        ("remote", "nothing is fetched"),
        ("circle", "refers to itself"),
        ("wide", "bytes"),
        ("deep", "nests deeper"),
        ("sp ace", "U+0020"),
        ("right\u{202e}mark", "U+202E"),
        ("p\u{430}yment", "U+0430"),
        ("regex", "no JSON Schema"),
    ] {
        let problem = catalogue
            .invalid
            .get(name)
            .unwrap_or_else(|| panic!("{name}"));
        assert!(problem.contains(why), "{name}: {problem}");
    }
    assert!(catalogue.invalid.contains_key(&"x".repeat(300)));
    let kept: Vec<&str> = catalogue
        .tools
        .iter()
        .map(|tool| tool.name.as_str())
        .collect();
    for name in ["echo", "wait", "hidden", "long", "mcp__other__delete"] {
        assert!(kept.contains(&name), "{name}");
    }
    // It keeps its own namespace, whatever it is called.
    let other = exposed_name(SERVER, "mcp__other__delete").unwrap();
    assert!(other.starts_with("mcp__odd__mcp_other_delete_"), "{other}");
    assert!(catalogue.odd["hidden"].contains("nobody sees"));
    assert!(catalogue.odd["long"].contains("2048"));
    let echo = catalogue
        .tools
        .iter()
        .find(|tool| tool.name == "echo")
        .unwrap();
    assert_eq!(echo.description, "Says it again.");
    for part in [
        "two tools `echo`",
        "a tool without a name",
        "`remote` is left out",
    ] {
        let warned = catalogue.warnings.iter().any(|one| one.contains(part));
        assert!(warned, "{part}: {:?}", catalogue.warnings);
    }
}

#[tokio::test]
async fn resources_and_prompts_are_listed_and_read() {
    for words in [&["legacy"][..], &["modern"]] {
        let server = Scripted::new(words);
        let resources = server.servers.resources(SERVER).await.unwrap();
        assert_eq!(
            (resources[0].uri.as_str(), resources[0].name.as_str()),
            ("note:1", "Note")
        );
        let text = server
            .servers
            .read_resource(SERVER, "note:1")
            .await
            .unwrap();
        assert_eq!(text, "[resource note:1]\na note");
        let prompts = server.servers.prompts(SERVER).await.unwrap();
        assert_eq!(prompts[0].name, "greet");
        assert!(prompts[0].arguments[0].required);
        let who = json!({"who": "Ada"}).as_object().cloned().unwrap();
        let said = server.servers.prompt(SERVER, "greet", who).await.unwrap();
        assert_eq!(said, "user: Greet Ada.\n");
    }
}

#[tokio::test]
async fn noise_and_a_line_without_end_do_not_end_a_connection() {
    for word in ["noise", "long"] {
        let server = Scripted::new(&[word]);
        assert_eq!(server.said("echo", json!({"text": "hi"})).await, "hi");
        let log = server.status().log.join("\n");
        let said = if word == "long" {
            "is dropped"
        } else {
            "no message"
        };
        assert!(log.contains(said), "{word}: {log}");
    }
}

#[tokio::test]
async fn a_change_of_a_list_is_told() {
    for era in ["legacy", "modern"] {
        let root = tempfile::tempdir().unwrap();
        let changed = root.path().join("changed");
        let server = Scripted::new(&[era, "change", changed.to_str().unwrap()]);
        let request = server.request("notify", json!({})).await;
        let mut changes = server.servers.changes();
        std::fs::write(&changed, "").unwrap();
        assert_eq!(server.send(request).await.outcome.content, "told");
        if era == "legacy" {
            let told = tokio::time::timeout(std::time::Duration::from_secs(10), changes.recv());
            assert_eq!(told.await.unwrap().unwrap(), SERVER);
        }
    }
}
