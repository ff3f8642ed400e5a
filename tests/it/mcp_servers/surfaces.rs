//! Command line, HTTP and agents: the same servers.

use serde_json::json;

use crate::mcp_servers::scripted::{Scripted, restart, seen, table, tool, trust, turn};
use crate::support::daemon::Home;
use crate::take_overs::daemon::cli;

#[tokio::test]
async fn the_command_line_shows_tests_trusts_stops_and_starts() {
    let home = Home::new(&table("one", ""));
    let mut note = tool("note", "Writes a \u{1b}[31mnote.");
    note["annotations"] = json!({"readOnlyHint": false, "destructiveHint": true});
    let _scripted = Scripted::new(&home, "one", &[note]);
    let daemon = home.daemon();
    let review = seen(&daemon, "one").await;
    let sha256 = review["offered_sha256"].as_str().unwrap().to_owned();

    let (status, said) = cli(&home, &["mcp", "show", "one"]).await;
    assert_eq!(status, Some(0), "{said}");
    for part in [
        "nobody trusts it yet",
        "NEW      mcp__one__note",
        "claims: does more than read, may destroy",
        "scripted 1.0",
        &sha256,
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(!said.contains('\u{1b}'), "a terminal would act on it");
    let (status, said) = cli(&home, &["mcp", "trust", "one"]).await;
    assert_eq!(status, Some(6), "{said}");
    assert!(said.contains("Nothing was trusted"), "{said}");
    let (status, said) = cli(&home, &["mcp", "trust", "one", "--sha256", &sha256]).await;
    assert_eq!(status, Some(0), "{said}");
    assert!(said.contains("agents get 1 tool"), "{said}");
    let (status, said) = cli(&home, &["mcp", "list"]).await;
    assert!(status == Some(0) && said.contains("one"), "{said}");
    let (_, said) = cli(&home, &["mcp", "stop", "one"]).await;
    assert!(
        said.contains("stopped") && said.contains("leverframe mcp start one"),
        "{said}"
    );
    let doctor = daemon.get("/v1/doctor").await["findings"].to_string();
    assert!(doctor.contains("outside of the sandbox"), "{doctor}");
    assert!(doctor.contains("leverframe mcp start one"), "{doctor}");
    let (status, said) = cli(&home, &["mcp", "test", "one"]).await;
    assert_ne!(status, Some(0), "a stopped server stays stopped: {said}");
    let (status, said) = cli(&home, &["mcp", "start", "one"]).await;
    assert_eq!(status, Some(0), "{said}");
    let (status, said) = cli(&home, &["mcp", "test", "one"]).await;
    assert!(status == Some(0) && said.contains("answered in"), "{said}");
    let (status, said) = cli(&home, &["mcp", "distrust", "one"]).await;
    assert!(
        status == Some(0) && said.contains("nobody trusts it yet"),
        "{said}"
    );
    let (status, said) = cli(&home, &["mcp", "show", "other"]).await;
    assert!(status == Some(1) && said.contains("servers: one"), "{said}");
    let audit = daemon.get("/v1/audit").await.to_string();
    for action in [
        "mcp.trusted",
        "mcp.distrusted",
        "mcp.stopped",
        "mcp.started",
    ] {
        assert!(audit.contains(action), "{action}: {audit}");
    }
}

#[tokio::test]
async fn resources_and_prompts_are_there_for_people_and_resources_for_agents() {
    let home = Home::new(&format!(
        "[channels.api]\nautonomy = \"full\"\npermanent_full = true\ntaint_guard_in_full = false\n{}",
        table("one", "")
    ));
    let scripted = Scripted::new(&home, "one", &[tool("note", "Writes.")]);
    let daemon = home.daemon();
    let session = daemon.session().await;
    let read = "TOOL:read_resource{\"server\":\"one\"}\nTHEN TOOL:read_resource{\"server\":\"one\",\"uri\":\"note://one\"}\nSAY:done";
    trust(&daemon, "one").await;
    // It has them from now on: agents get them once somebody has seen that.
    scripted.has_resources();
    restart(&daemon, "one").await;
    let asked = daemon.wait_question("server_pin", "It has resources").await;
    let calls = turn(&daemon, &session, read).await;
    assert_eq!(calls[0].0, "failed", "nobody trusts them yet: {calls:?}");
    daemon.decide(&asked, "approve").await;
    let calls = turn(&daemon, &session, read).await;
    assert!(calls[0].1.contains("note://one: one, A note."), "{calls:?}");
    assert!(calls[1].1.contains("the note says 42"), "{calls:?}");

    let (_, said) = cli(&home, &["mcp", "resources", "one"]).await;
    assert!(said.contains("note://one"), "{said}");
    let (_, said) = cli(&home, &["mcp", "resources", "one", "note://one"]).await;
    assert!(said.contains("the note says 42"), "{said}");
    let (_, said) = cli(&home, &["mcp", "prompts", "one"]).await;
    assert!(said.contains("sum of=…"), "{said}");
    let (_, said) = cli(&home, &["mcp", "prompts", "one", "sum", "of=it"]).await;
    assert!(said.contains("Sum it up."), "{said}");
    let body = json!({ "uri": "note://one" });
    let text = daemon
        .post("/v1/mcp/servers/one/resources/read", body)
        .await;
    assert!(text["text"].as_str().unwrap().contains("42"), "{text}");
    let body = json!({ "prompt": "sum", "arguments": {"of": "it"} });
    let text = daemon.post("/v1/mcp/servers/one/prompts/get", body).await;
    assert!(
        text["text"].as_str().unwrap().contains("Sum it up."),
        "{text}"
    );
}

#[tokio::test]
async fn a_server_that_cannot_start_is_told_with_its_reason_and_holds_nothing_up() {
    let home = Home::new(
        "[mcp.gone]\ncommand = [\"/nowhere/at/all\"]\nsandbox = false\nenvironment_env = [\"NOT_SET_ANYWHERE\"]\n",
    );
    let daemon = home.daemon();
    let found = daemon
        .wait("/v1/mcp/servers/gone", "it failed", |body| {
            body["state"] == "failed"
        })
        .await;
    assert!(found["problem"].as_str().is_some(), "{found}");
    let doctor = daemon.get("/v1/doctor").await["findings"].to_string();
    assert!(doctor.contains("cannot connect"), "{doctor}");
    assert!(doctor.contains("does without NOT_SET_ANYWHERE"), "{doctor}");
    let session = daemon.session().await;
    let calls = turn(&daemon, &session, "SAY:fine").await;
    assert!(calls.is_empty(), "{calls:?}");
}
