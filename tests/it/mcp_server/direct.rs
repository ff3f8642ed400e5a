//! Built-in tools called directly: a turn without a model, under the same policy and approvals.

use serde_json::{Value, json};

use crate::mcp_server::host::{Era, McpHost, text};
use crate::mcp_servers::scripted::{Scripted, table, tool, trust};
use crate::stories::bot::cli;
use crate::support::daemon::Home;

fn with_file(home: &Home) {
    let workspace = home.workspace("mcp");
    std::fs::create_dir_all(&workspace).unwrap();
    std::fs::write(workspace.join("a.txt"), "first line\n").unwrap();
}

const SEMI: &str = "[channels.mcp]\nautonomy = \"semi_auto\"\n";

#[tokio::test(flavor = "multi_thread")]
async fn a_call_is_a_turn_without_a_model_and_costs_nothing() {
    let home = Home::new(SEMI);
    let daemon = home.daemon();
    with_file(&home);
    for (era, name) in [(Era::Handshake, "old"), (Era::Stateless, "new")] {
        let host = McpHost::new(&home, &daemon, name, era);
        let read = host.call("read_file", json!({ "path": "a.txt" })).await;
        assert_ne!(read["isError"], true, "{read:#}");
        assert!(text(&read).contains("first line"), "{read}");
        let missing = host.call("read_file", json!({ "path": "none.txt" })).await;
        assert_eq!(missing["isError"], true, "{missing}");
        let wrong = host.call("read_file", json!({ "pth": 1 })).await;
        assert_eq!(wrong["isError"], true);
        assert!(text(&wrong).contains("schema"), "{wrong}");
        let outside = host
            .call("read_file", json!({ "path": "/etc/passwd" }))
            .await;
        assert_eq!(outside["isError"], true, "{outside}");
    }
    let turns = daemon.get("/v1/continuations?limit=20").await;
    let turns = turns["items"].as_array().unwrap();
    assert_eq!(turns.len(), 8);
    for turn in turns {
        assert_eq!(turn["state"], "completed", "{turn:#}");
        assert_eq!(turn["surface"], "mcp");
        assert_eq!(turn["usage"]["cost_usd"], 0.0);
        assert_eq!(turn["options"]["call"]["tool"], "read_file");
        assert!(
            turn["request"]["text"]
                .as_str()
                .unwrap()
                .starts_with("read_file"),
            "{turn:#}"
        );
    }
    let costs = daemon.get("/v1/costs?by=model").await;
    assert!(!costs.to_string().contains("direct"), "{costs:#}");
    let shown = cli(
        &home,
        &["continuations", "show", turns[0]["id"].as_str().unwrap()],
    )
    .await;
    assert!(shown.1.contains("direct call"), "{}", shown.1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_waits_for_the_operator_and_runs_once_approved_on_the_command_line() {
    let home = Home::new("[channels.mcp]\nautonomy = \"supervised\"\n");
    let daemon = home.daemon();
    let mut host = McpHost::new(&home, &daemon, "editor", Era::Stateless);
    let write = json!({ "path": "out.txt", "content": "by hand" });
    let waiting = {
        let (host, write) = (host.clone(), write.clone());
        tokio::spawn(async move { host.call("write_file", write).await })
    };
    let approval = daemon.wait_approval().await;
    assert_eq!(approval["channel"], "mcp");
    assert_eq!(approval["tool"], "write_file");
    // The caller hears nothing of the approval, and can do nothing about it.
    let turn = approval["continuation_id"].clone();
    daemon
        .wait_state(turn.as_str().unwrap(), "awaiting_approval")
        .await;
    let seen = host
        .call(
            "await_continuation",
            json!({ "continuation_id": turn, "timeout_ms": 0 }),
        )
        .await;
    assert_eq!(seen["structuredContent"]["status"], "waits_for_approval");
    assert!(!seen.to_string().contains("apr_"), "{seen}");
    let forged = json!({
        "name": "write_file",
        "arguments": write,
        "inputResponses": { approval["id"].as_str().unwrap(): { "action": "accept" } },
    });
    host.tasks = true;
    let task = host.ask("tools/call", forged).await.unwrap();
    assert_eq!(task["resultType"], "task", "{task}");
    let update = json!({
        "taskId": task["taskId"],
        "inputResponses": { "approval": { "action": "accept", "content": { "approve": true } } },
    });
    host.ask("tasks/update", update).await.unwrap();
    // What waits for a person holds nothing else of the caller up.
    assert_eq!(daemon.wait_approvals(2).await.len(), 2);
    host.ask("tasks/cancel", json!({ "taskId": task["taskId"] }))
        .await
        .unwrap();
    daemon.wait_approvals(1).await;
    let id = approval["id"].as_str().unwrap();
    let digest = approval["digest"].as_str().unwrap();
    let (done, said) = cli(&home, &["approvals", "approve", id, "--digest", digest]).await;
    assert!(done, "{said}");
    let result = waiting.await.unwrap();
    assert_ne!(result["isError"], true, "{result:#}");
    let written = std::fs::read_to_string(home.workspace("mcp").join("out.txt")).unwrap();
    assert_eq!(written, "by hand");
    let audit = daemon.get("/v1/audit?action=approval.decided").await;
    assert_eq!(audit["items"][0]["surface"], "cli");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_denied_call_says_so_and_a_blocked_tool_is_not_there() {
    let home = Home::new("[channels.mcp]\nautonomy = \"supervised\"\nblock = [\"delete_file\"]\n");
    let daemon = home.daemon();
    let mut host = McpHost::new(&home, &daemon, "editor", Era::Stateless);
    host.tasks = true;
    let task = host
        .call("write_file", json!({ "path": "a", "content": "b" }))
        .await;
    assert_eq!(task["resultType"], "task");
    assert!(
        task["statusMessage"].as_str().unwrap().contains("approval"),
        "{task}"
    );
    let approval = daemon.wait_approval().await;
    assert_eq!(daemon.decide(&approval, "deny").await.0, 200);
    daemon
        .wait_state(task["taskId"].as_str().unwrap(), "completed")
        .await;
    let end = host
        .ask("tasks/get", json!({ "taskId": task["taskId"] }))
        .await
        .unwrap();
    assert_eq!(
        (&end["status"], &end["result"]["isError"]),
        (&json!("completed"), &json!(true))
    );
    let blocked = host
        .ask(
            "tools/call",
            json!({ "name": "delete_file", "arguments": { "path": "a" } }),
        )
        .await
        .unwrap_err();
    assert_eq!(blocked["code"], -32602);
    assert!(!home.workspace("mcp").join("a").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_calls_a_tool_over_http_too_and_a_crash_does_not_run_it_twice() {
    let home = Home::new("[channels.api]\nautonomy = \"full\"\npermanent_full = true\n");
    let mut daemon = home.daemon_with(&[("LEVERFRAME_CRASH", "result.post:1")]);
    let session = daemon.session().await;
    let path = format!("/v1/sessions/{session}/calls");
    let body = json!({
        "tool": "write_file",
        "arguments": { "path": "log.txt", "content": "x\n", "mode": "append" },
    });
    let accepted = daemon.try_post_keyed(&path, "k", body.clone()).await;
    assert_eq!(daemon.wait_exit().map(|_| ()), Some(()), "it kills itself");
    drop(daemon);
    let daemon = home.daemon();
    let again = daemon.try_post_keyed(&path, "k", body).await.unwrap();
    assert_eq!(again.0, 202, "{again:?}");
    if let Ok((_, first)) = accepted {
        assert_eq!(first["continuation_id"], again.1["continuation_id"]);
    }
    let id = again.1["continuation_id"].as_str().unwrap();
    let turn = daemon.wait_state(id, "completed").await;
    assert_eq!(turn["tool_calls"][0]["attempts"], 1, "{turn:#}");
    let log = std::fs::read_to_string(home.workspace("api").join("log.txt")).unwrap();
    assert_eq!(log, "x\n");
    let steps = daemon.get(&format!("/v1/continuations/{id}/steps")).await;
    let kinds: Vec<&Value> = steps["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| &step["kind"])
        .collect();
    assert_eq!(kinds.len(), 3, "{steps:#}");
    let unknown = daemon
        .request("POST", &path, Some(json!({ "tool": "reed_file" })))
        .await;
    assert_eq!(unknown.0, 400);
    assert!(unknown.1["detail"].as_str().unwrap().contains("read_file"));
    let tools = daemon.get("/v1/channels/api/tools").await;
    assert!(
        tools["items"]
            .as_array()
            .unwrap()
            .iter()
            .any(|tool| tool["name"] == "read_file" && tool["input_schema"]["type"] == "object"),
        "{tools:#}"
    );
    // A model goes on in the same session, and reads what the call did.
    let turn = daemon.send(&session, "SAY:after").await;
    daemon.wait_state(&turn, "completed").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_of_a_server_are_passed_on_where_the_channel_names_it() {
    let servers = table("notes", "") + &table("other", "");
    let home = Home::new(&format!("{SEMI}mcp = [\"notes\"]\n{servers}"));
    for name in ["notes", "other"] {
        Scripted::new(&home, name, &[tool("note", "Writes a note.")]);
    }
    let daemon = home.daemon();
    for name in ["notes", "other"] {
        trust(&daemon, name).await;
    }
    let host = McpHost::new(&home, &daemon, "editor", Era::Stateless);
    let listed = host.ask("tools/list", json!({})).await.unwrap().to_string();
    assert!(listed.contains("\"mcp__notes__note\""), "{listed}");
    assert!(!listed.contains("mcp__other"), "{listed}");
    // It asks, as everything that nobody has classified.
    let call = host.call("mcp__notes__note", json!({"text": "hello"}));
    let (answer, ()) = tokio::join!(call, async {
        let asked = daemon.wait_approval().await;
        assert_eq!(daemon.decide(&asked, "approve").await.0, 200);
    });
    assert!(text(&answer).contains("it is done"), "{answer}");
}
