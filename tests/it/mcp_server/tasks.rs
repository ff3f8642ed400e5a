//! Turns as tasks.

use serde_json::json;

use crate::mcp_server::host::{Era, McpHost};
use crate::support::daemon::Home;

/// The task once it has ended.
async fn ended(host: &McpHost, id: &str) -> serde_json::Value {
    let deadline = std::time::Instant::now() + crate::support::daemon::DEADLINE;
    loop {
        let task = host
            .ask("tasks/get", json!({ "taskId": id }))
            .await
            .unwrap();
        if task["status"] != "working" {
            return task;
        }
        assert!(std::time::Instant::now() < deadline, "{task}");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_is_a_task_only_for_who_says_so_on_the_request() {
    let home = Home::new("");
    let daemon = home.daemon();
    let mut host = McpHost::new(&home, &daemon, "editor", Era::Stateless);
    let plain = host.call("ask", json!({ "text": "SAY:now" })).await;
    assert_eq!(plain["structuredContent"]["answer"], "now");
    let refused = host
        .ask(
            "tasks/get",
            json!({ "taskId": plain["structuredContent"]["continuation_id"] }),
        )
        .await
        .unwrap_err();
    assert_eq!(refused["code"], -32021);
    host.tasks = true;
    let task = host
        .call("ask", json!({ "text": "SLOW:40\nSAY:later" }))
        .await;
    assert_eq!(task["resultType"], "task");
    let id = task["taskId"].as_str().unwrap().to_owned();
    assert!(id.starts_with("con_"), "{task}");
    let end = ended(&host, &id).await;
    assert_eq!(end["status"], "completed");
    let said = end["result"]["content"][0]["text"].as_str().unwrap();
    assert!(said.ends_with("later"), "{said}");
    let failed = host.call("ask", json!({ "text": "FAIL:auth" })).await;
    let end = ended(&host, failed["taskId"].as_str().unwrap()).await;
    assert_eq!(
        (&end["status"], &end["result"]["isError"]),
        (&json!("completed"), &json!(true))
    );
    let slow = host.call("ask", json!({ "text": "SLOW:900\nSAY:x" })).await;
    let id = slow["taskId"].clone();
    host.ask("tasks/cancel", json!({ "taskId": id }))
        .await
        .unwrap();
    assert_eq!(
        ended(&host, id.as_str().unwrap()).await["status"],
        "cancelled"
    );
    // Again is no error, and changes nothing.
    host.ask("tasks/cancel", json!({ "taskId": id }))
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_is_there_after_the_daemon_was_killed_before_its_first_step() {
    let home = Home::new("");
    let mut daemon = home.daemon();
    let mut host = McpHost::new(&home, &daemon, "editor", Era::Stateless);
    host.tasks = true;
    let task = host.call("ask", json!({ "text": "SLOW:400\nSAY:x" })).await;
    let id = task["taskId"].as_str().unwrap().to_owned();
    daemon.kill();
    drop(daemon);
    let daemon = home.daemon();
    let host = host.at(&daemon);
    let turn = daemon.get(&format!("/v1/continuations/{id}")).await;
    assert_eq!(turn["tool_calls"], json!([]));
    let found = host
        .ask("tasks/get", json!({ "taskId": id }))
        .await
        .unwrap();
    assert_eq!(found["taskId"], id.as_str());
    // Where it was interrupted, `resume` lets it go on: a task that waits for that has not ended.
    assert!(
        ["working", "completed"].contains(&found["status"].as_str().unwrap()),
        "{found}"
    );
    let resumed = host.call("resume", json!({ "continuation_id": id })).await;
    assert_eq!(resumed["taskId"], id.as_str());
    let end = ended(&host, &id).await;
    assert_eq!(end["status"], "completed");
}
