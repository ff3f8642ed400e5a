//! What an answer cites: what its turn read, found in what was recorded of it.

use serde_json::{Value, json};

use crate::model_calls::server::{ModelServer, ask, calls, home, says, steps};
use crate::support::daemon::Daemon;
use crate::take_overs::daemon::cli;

const ONE: &str = "[model]\ndefault = \"one/m\"\n[channels.api]\nautonomy = \"semi_auto\"";

async fn add(daemon: &Daemon, text: &str) -> Value {
    let place = json!({ "scope": "channel", "channel": "api" });
    daemon
        .post("/v1/memory", json!({ "place": place, "text": text }))
        .await
}

fn cited(turn: &Value) -> Vec<String> {
    let items = turn["citations"]["items"].as_array();
    items
        .into_iter()
        .flatten()
        .map(|item| {
            format!(
                "{} {}",
                item["kind"].as_str().unwrap(),
                item["source"].as_str().unwrap()
            )
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_cites_what_its_turn_read_and_nothing_else() {
    let long = "lamp\n".repeat(4000);
    let one = ModelServer::chat(vec![
        calls("search_files", "{\"pattern\": \"lamp\"}"),
        calls("read_file", "{\"path\": \"./notes.md\"}"),
        calls("read_file", "{\"path\": \"missing.md\"}"),
        calls("list_files", "{}"),
        calls("recall", "{\"query\": \"tides\"}"),
        says("the lamp is red"),
        says("as I said"),
    ]);
    let home = home(ONE, &[("one", &one)]);
    let daemon = home.daemon();
    let workspace = home.workspace("api");
    std::fs::create_dir_all(workspace.join("sub")).unwrap();
    std::fs::write(workspace.join("notes.md"), "the lamp is red\n").unwrap();
    std::fs::write(workspace.join("sub/a.md"), "a lamp: 3: of mine\nlamp\n").unwrap();
    std::fs::write(workspace.join("unread.md"), "nothing\n").unwrap();
    let memory = add(&daemon, "tides come twice a day").await;
    let memory = format!("memory {}", memory["id"].as_str().unwrap());
    let session = daemon.session().await;

    let turn = ask(&daemon, &session, "which colour?", "completed").await;
    let mut found = cited(&turn);
    // The search tells files in the order of the directory; the note was found by it before it was read.
    found[..2].sort();
    assert_eq!(found, ["file notes.md", "file sub/a.md", memory.as_str()]);
    let last = steps(&daemon, &turn, "final").await;
    assert_eq!(last[0]["citations"], turn["citations"]);
    assert_eq!(last[0]["text"], "the lamp is red");
    // Models read their answers as they gave them.
    let next = ask(&daemon, &session, "sure?", "completed").await;
    assert_eq!(next.get("citations"), None, "{next:#}");
    let request = one.seen().pop().unwrap()["messages"].to_string();
    assert!(!request.contains("sub/a.md\\\"}"), "{request}");

    let id = turn["id"].as_str().unwrap();
    let (_, text) = cli(&home, &["continuations", "show", id]).await;
    assert!(text.contains(&format!("source    {memory}\n")), "{text}");
    let (_, text) = cli(&home, &["sessions", "export", &session]).await;
    assert!(text.contains("- source: "), "{text}");

    // A large result is read in part, and what it was cut from is an artifact.
    std::fs::write(workspace.join("long.md"), &long).unwrap();
    one.next(calls("read_file", "{\"path\": \"long.md\"}"));
    let large = ask(&daemon, &session, "all of it", "completed").await;
    assert_eq!(cited(&large), ["file long.md"]);
}

#[tokio::test]
async fn an_artifact_is_cited_by_its_hash_and_twenty_sources_at_most() {
    let one = ModelServer::chat(vec![]);
    let home = home(ONE, &[("one", &one)]);
    let daemon = home.daemon();
    let workspace = home.workspace("api");
    std::fs::create_dir_all(&workspace).unwrap();
    for number in 0..23 {
        std::fs::write(
            workspace.join(format!("{number:02}.md")),
            "lamp\n".repeat(500),
        )
        .unwrap();
    }
    let session = daemon.session().await;
    one.next(calls(
        "search_files",
        "{\"pattern\": \"lamp\", \"limit\": 1000}",
    ));
    let first = ask(&daemon, &session, "where?", "completed").await;
    let hash = first["tool_calls"][0]["artifact"]["hash"].as_str().unwrap();
    let args = json!({ "path": format!("artifact:{hash}") }).to_string();
    one.next(calls("read_file", &args));
    let second = ask(&daemon, &session, "and the rest?", "completed").await;
    assert_eq!(cited(&second), [format!("artifact artifact:{hash}")]);

    for number in 0..23 {
        std::fs::write(workspace.join(format!("{number:02}.md")), "lamp\n").unwrap();
    }
    one.next(calls("search_files", "{\"pattern\": \"lamp\"}"));
    let third = ask(&daemon, &session, "again", "completed").await;
    assert_eq!(cited(&third).len(), 20);
    assert_eq!(third["citations"]["more"], 3);
}

#[tokio::test]
async fn a_memory_that_was_found_for_the_message_is_cited() {
    let one = ModelServer::chat(vec![]);
    let home = home(ONE, &[("one", &one)]);
    let daemon = home.daemon();
    let first = add(&daemon, "the ferry to Skye leaves at nine").await;
    // What is newer stands in every prompt, and is no source of one answer.
    for number in 0..15 {
        add(&daemon, &format!("shelf number {number}: oak")).await;
    }
    let session = daemon.session().await;
    let turn = ask(&daemon, &session, "when does the ferry leave?", "completed").await;
    let wanted = format!("memory {}", first["id"].as_str().unwrap());
    assert_eq!(cited(&turn), [wanted]);
}

#[tokio::test]
async fn what_a_person_answers_in_place_of_a_tool_is_no_source() {
    let read = |path: &str| calls("read_file", &json!({ "path": path }).to_string());
    let one = ModelServer::chat(vec![read("a.md"), read("b.md"), says("done")]);
    let config = "[model]\ndefault = \"one/m\"\n[channels.api]\nalways_ask = [\"read_file\"]";
    let home = home(config, &[("one", &one)]);
    let daemon = home.daemon();
    std::fs::create_dir_all(home.workspace("api")).unwrap();
    for name in ["a.md", "b.md"] {
        std::fs::write(home.workspace("api").join(name), "hello").unwrap();
    }
    let session = daemon.session().await;
    let turn = daemon.send(&session, "read both").await;
    let approval = daemon.wait_approval().await;
    let path = format!(
        "/v1/approvals/{}/decision",
        approval["id"].as_str().unwrap()
    );
    let body = json!({
        "decision": "answer", "digest": approval["digest"], "answer": "it is empty",
    });
    let (status, answered) = daemon.request("POST", &path, Some(body)).await;
    assert_eq!(status, 200, "{answered}");
    let approval = daemon.wait_approval().await;
    assert_eq!(daemon.decide(&approval, "approve").await.0, 200);
    let done = daemon.wait_state(&turn, "completed").await;
    assert_eq!(cited(&done), ["file b.md"], "{done:#}");
}
