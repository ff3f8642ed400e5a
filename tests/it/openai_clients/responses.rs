//! Responses: one object or the events that build it, conversations by name or by the response before.

use serde_json::{Value, json};

use crate::openai_clients::caller::{
    Events, Reply, assistant, home, post, requests, sessions, user,
};
use crate::support::daemon::Daemon;

const RESPONSES: &str = "/v1/responses";

async fn respond(daemon: &Daemon, body: Value) -> Reply {
    let reply = post(daemon, RESPONSES, &[], body).await;
    assert_eq!(reply.status, 200, "{reply:?}");
    reply
}

fn text(response: &Value) -> &str {
    response["output"][0]["content"][0]["text"]
        .as_str()
        .unwrap_or_else(|| panic!("no text: {response:#}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_response_follows_the_one_before_and_branches_from_an_older_one() {
    let home = home();
    let daemon = home.daemon();
    let first = respond(
        &daemon,
        json!({ "model": "api", "input": "SAY:one", "metadata": { "a": "b" } }),
    )
    .await;
    let body = &first.body;
    assert_eq!(text(body), "one");
    assert_eq!(body["object"], "response");
    assert_eq!(body["status"], "completed");
    assert_eq!(body["metadata"], json!({ "a": "b" }));
    assert_eq!(body["output"][0]["type"], "message");
    assert_eq!(body["output"][0]["content"][0]["type"], "output_text");
    assert!(body["usage"]["total_tokens"].as_u64().unwrap() > 0);
    let id = &body["id"];
    let second = respond(
        &daemon,
        json!({ "input": "SAY:two", "previous_response_id": id }),
    )
    .await;
    assert_eq!(second.body["previous_response_id"], *id);
    let all = sessions(&daemon).await;
    assert_eq!(all.len(), 1);
    assert_eq!(requests(&daemon, &all[0]).await, ["SAY:one", "SAY:two"]);
    // From the first again: the second is not in that conversation.
    let branch = json!({ "input": "SAY:three", "previous_response_id": id });
    respond(&daemon, branch).await;
    let all = sessions(&daemon).await;
    assert_eq!(all.len(), 2);
    let told = requests(&daemon, &all[0]).await.remove(0);
    assert!(told.starts_with("SAY:three\n\n[Earlier"), "{told}");
    assert!(
        told.contains("SAY:one") && !told.contains("SAY:two"),
        "{told}"
    );
    // As it is kept.
    let path = format!("{RESPONSES}/{}", id.as_str().unwrap());
    assert_eq!(text(&daemon.get(&path).await), "one");
    for path in [
        format!("{RESPONSES}/resp_1"),
        format!("{RESPONSES}/resp_01M8Z0K2X3Y4Z5A6B7C8D9E0F1"),
    ] {
        let (status, body) = daemon.request("GET", &path, None).await;
        assert_eq!(status, 404, "{body}");
        assert!(body["error"]["message"].is_string(), "{body}");
    }
    let lost =
        json!({ "input": "SAY:x", "previous_response_id": "resp_01M8Z0K2X3Y4Z5A6B7C8D9E0F1" });
    assert_eq!(post(&daemon, RESPONSES, &[], lost).await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_has_a_name_or_comes_whole() {
    let home = home();
    let daemon = home.daemon();
    respond(
        &daemon,
        json!({ "input": "SAY:one", "conversation": "conv_1" }),
    )
    .await;
    respond(
        &daemon,
        json!({ "input": "SAY:two", "conversation": { "id": "conv_1" } }),
    )
    .await;
    let all = sessions(&daemon).await;
    assert_eq!(requests(&daemon, &all[0]).await, ["SAY:one", "SAY:two"]);
    let first = respond(&daemon, json!({ "input": [user("SAY:hi")] })).await;
    let output = first.body["output"][0].clone();
    respond(
        &daemon,
        json!({ "input": [user("SAY:hi"), output, user("SAY:more")] }),
    )
    .await;
    respond(
        &daemon,
        json!({ "input": [user("SAY:hi"), assistant("hi"), user("SAY:less")] }),
    )
    .await;
    let all = sessions(&daemon).await;
    assert_eq!(all.len(), 3, "the last is another branch");
    for (fields, param) in [
        (json!({ "input": 7 }), "input"),
        (
            json!({ "input": "x", "text": { "format": { "type": "json_schema" } } }),
            "text",
        ),
        (
            json!({ "input": "x", "tools": [{ "type": "web_search" }] }),
            "tools",
        ),
        (json!({ "input": "x", "prompt": { "id": "p" } }), "prompt"),
        (
            json!({ "input": "x", "conversation": "a", "previous_response_id": "resp_1" }),
            "previous_response_id",
        ),
        (json!({ "input": "x", "conversation": 1 }), "conversation"),
    ] {
        let reply = post(&daemon, RESPONSES, &[], fields.clone()).await;
        assert_eq!(reply.status, 400, "{fields}: {reply:?}");
        assert_eq!(reply.body["error"]["param"], param, "{reply:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn events_build_the_response_in_order() {
    let home = home();
    let daemon = home.daemon();
    let body =
        json!({ "input": "SLOW:2\nSAY:the end", "stream": true, "instructions": "Be brief." });
    let mut events = Events::open(&daemon, RESPONSES, &[], &body).await;
    let mut all: Vec<Value> = Vec::new();
    while let Some((kind, data)) = events.next().await {
        let event: Value = serde_json::from_str(&data).unwrap();
        assert_eq!(event["type"], kind.as_str());
        assert_eq!(event["sequence_number"], all.len());
        all.push(event);
    }
    let mut kinds: Vec<&str> = all
        .iter()
        .map(|event| event["type"].as_str().unwrap())
        .collect();
    kinds.dedup();
    assert_eq!(
        kinds,
        [
            "response.created",
            "response.in_progress",
            "response.output_item.added",
            "response.content_part.added",
            "response.output_text.delta",
            "response.output_text.done",
            "response.content_part.done",
            "response.output_item.done",
            "response.completed",
        ]
    );
    let deltas: String = all
        .iter()
        .filter_map(|event| event["delta"].as_str())
        .collect();
    assert_eq!(deltas, "(1) (2) the end");
    let last = &all.last().unwrap()["response"];
    assert_eq!(text(last), deltas);
    assert_eq!(last["id"], all[0]["response"]["id"]);
    assert_eq!(last["instructions"], "Be brief.");
    assert!(last["usage"]["output_tokens"].as_u64().unwrap() > 0);
    assert_eq!(all[0]["response"]["output"], json!([]));
    assert_eq!(all[0]["response"]["status"], "in_progress");
    let failing = json!({ "input": "FAIL:auth", "stream": true });
    let events = Events::open(&daemon, RESPONSES, &[], &failing)
        .await
        .all()
        .await;
    let last: Value = serde_json::from_str(events.last().unwrap()).unwrap();
    assert_eq!(last["type"], "response.failed");
    assert_eq!(last["response"]["status"], "failed");
    assert_eq!(last["response"]["error"]["code"], "server_error");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_response_in_the_background_is_looked_at_until_it_is_there() {
    let home = home();
    let daemon = home.daemon();
    let call = "TOOL:write_file{\"path\":\"a.txt\",\"content\":\"x\"}\nSAY:written";
    let begun = respond(&daemon, json!({ "input": call, "background": true })).await;
    let path = format!("{RESPONSES}/{}", begun.body["id"].as_str().unwrap());
    let status = begun.body["status"].as_str().unwrap();
    assert!(["queued", "in_progress"].contains(&status), "{begun:?}");
    let approval = daemon.wait_approval().await;
    let waits = daemon
        .wait(&path, "the code", |body| text(body).contains("code "))
        .await;
    assert_eq!(waits["status"], "in_progress");
    assert!(
        text(&waits).contains(approval["short_code"].as_str().unwrap()),
        "{waits:#}"
    );
    assert_eq!(daemon.decide(&approval, "approve").await.0, 200);
    let done = daemon
        .wait(&path, "the answer", |body| body["status"] == "completed")
        .await;
    assert_eq!(text(&done), "written");
    // One that is given up.
    let call = call.replace("a.txt", "b.txt");
    let begun = respond(&daemon, json!({ "input": call, "background": true })).await;
    let turn = begun.header("leverframe-continuation");
    daemon.wait_approval().await;
    daemon
        .post(&format!("/v1/continuations/{turn}/cancel"), json!({}))
        .await;
    let path = format!("{RESPONSES}/{}", begun.body["id"].as_str().unwrap());
    let ended = daemon.get(&path).await;
    assert_eq!(ended["status"], "failed");
    assert!(ended["error"]["message"].is_string(), "{ended:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_of_tools_are_limited_where_the_client_wants_that() {
    let home = home();
    let daemon = home.daemon();
    let reply = respond(
        &daemon,
        json!({ "input": "loop", "max_tool_calls": 1, "background": true }),
    )
    .await;
    let approval = daemon.wait_approval().await;
    assert_eq!(approval["kind"], "budget");
    assert_eq!(
        approval["continuation_id"],
        reply.header("leverframe-continuation").as_str()
    );
}
