//! The nine tools for sessions.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::mcp_server::host::{Era, McpHost, text};
use crate::support::daemon::Home;

const ERAS: [(Era, &str); 2] = [(Era::Handshake, "old"), (Era::Stateless, "new")];

#[tokio::test(flavor = "multi_thread")]
async fn both_eras_see_the_nine_tools_and_the_built_in_ones_with_schemas() {
    let home = Home::new("[channels.mcp]\nblock = [\"write_file\"]\n");
    let daemon = home.daemon();
    for (era, name) in ERAS {
        let host = McpHost::new(&home, &daemon, name, era);
        let tools = host.ask("tools/list", json!({})).await.unwrap()["tools"].clone();
        let tools = tools.as_array().unwrap();
        let names: Vec<&str> = tools
            .iter()
            .map(|tool| tool["name"].as_str().unwrap())
            .collect();
        assert!(names.is_sorted(), "{names:?}");
        for name in [
            "ask",
            "await_continuation",
            "cancel",
            "end_session",
            "get_session",
            "list_sessions",
            "resume",
            "send_message",
            "start_session",
            "read_file",
            "execute_command",
        ] {
            assert!(names.contains(&name), "{name} not in {names:?}");
        }
        // What the channel blocks is not offered, and nothing decides or changes a level.
        for name in ["write_file", "decide", "approve", "set_policy"] {
            assert!(!names.contains(&name), "{name}");
        }
        let tool = |name: &str| tools.iter().find(|tool| tool["name"] == name).unwrap();
        let fields = |name: &str| -> Vec<String> {
            let fields = tool(name)["inputSchema"]["properties"].as_object().unwrap();
            let mut names: Vec<String> = fields.keys().cloned().collect();
            names.sort();
            names
        };
        assert_eq!(
            fields("start_session"),
            ["idempotency_key", "model", "title"]
        );
        let message = fields("send_message");
        for field in [
            "session_id",
            "text",
            "model",
            "budgets",
            "fresh",
            "idempotency_key",
        ] {
            assert!(message.contains(&field.to_owned()), "{message:?}");
        }
        assert!(!message.contains(&"options".to_owned()));
        assert_eq!(fields("get_session"), ["session_id"]);
        assert_eq!(tool("get_session")["annotations"]["readOnlyHint"], true);
        assert_eq!(tool("ask")["annotations"]["openWorldHint"], true);
        assert_eq!(tool("cancel")["annotations"]["idempotentHint"], true);
        assert_eq!(tool("read_file")["annotations"]["readOnlyHint"], true);
        assert_eq!(
            tool("execute_command")["annotations"]["destructiveHint"],
            true
        );
        assert_eq!(tool("ask")["outputSchema"]["type"], "object");
        let unknown = host
            .ask(
                "tools/call",
                json!({ "name": "set_policy", "arguments": {} }),
            )
            .await
            .unwrap_err();
        assert_eq!(unknown["code"], -32602);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_runs_from_its_start_to_its_end() {
    let home = Home::new("[channels.mcp]\nautonomy = \"semi_auto\"\n");
    let daemon = home.daemon();
    for (era, name) in ERAS {
        let host = McpHost::new(&home, &daemon, name, era);
        let session = host
            .structure("start_session", json!({ "title": "Work" }))
            .await;
        let id = session["session_id"].clone();
        assert_eq!(session["title"], "Work");
        let sent = host
            .structure(
                "send_message",
                json!({ "session_id": id, "text": "SAY:hello" }),
            )
            .await;
        let turn = sent["continuation_id"].clone();
        let end = host
            .structure(
                "await_continuation",
                json!({ "continuation_id": turn, "timeout_ms": 20_000 }),
            )
            .await;
        assert_eq!(
            (&end["status"], &end["answer"]),
            (&json!("completed"), &json!("hello"))
        );
        let answer = host.call("ask", json!({ "text": "SAY:once" })).await;
        assert_eq!(text(&answer), "once");
        let seen = host
            .structure("get_session", json!({ "session_id": id }))
            .await;
        assert_eq!(seen["turns"], 1);
        let ended = host
            .structure("end_session", json!({ "session_id": id }))
            .await;
        assert_eq!(ended["state"], "ended");
        let again = host
            .structure("end_session", json!({ "session_id": id }))
            .await;
        assert_eq!(again["state"], "ended");
        let files = host.call("list_files", json!({ "path": "." })).await;
        assert_ne!(files["isError"], true, "{files:#}");
        // The record names the surface and who it was.
        let turn = daemon
            .get(&format!("/v1/continuations/{}", turn.as_str().unwrap()))
            .await;
        assert_eq!(turn["surface"], "mcp");
        assert_eq!(turn["requester"]["display"], format!("token {name}"));
        let audit = daemon
            .get(&format!("/v1/audit?actor=token%20{name}&limit=20"))
            .await;
        let rows = audit["items"].as_array().unwrap();
        assert_eq!(rows[0]["action"], "tool.called", "{audit:#}");
        assert_eq!(rows[0]["surface"], "mcp");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_sees_or_touches_what_is_somebody_elses() {
    let home = Home::new("");
    let daemon = home.daemon();
    let mut one = McpHost::new(&home, &daemon, "one", Era::Stateless);
    let mut two = McpHost::new(&home, &daemon, "one.two", Era::Stateless);
    one.tasks = true;
    two.tasks = true;
    let session = one.structure("start_session", json!({})).await["session_id"].clone();
    let sent = one
        .structure(
            "send_message",
            json!({ "session_id": session, "text": "SLOW:200\nSAY:x" }),
        )
        .await;
    let turn = sent["continuation_id"].clone();
    let unknown_session = "ses_0000000000000000000000000A";
    let unknown_turn = "con_0000000000000000000000000A";
    let foreign = daemon.session().await;
    for (tool, arguments) in [
        ("get_session", json!({ "session_id": session })),
        ("end_session", json!({ "session_id": session })),
        (
            "send_message",
            json!({ "session_id": session, "text": "SAY:x" }),
        ),
        ("await_continuation", json!({ "continuation_id": turn })),
        ("cancel", json!({ "continuation_id": turn })),
        ("resume", json!({ "continuation_id": turn })),
    ] {
        let theirs = two.call(tool, arguments.clone()).await;
        assert_eq!(theirs["isError"], true, "{tool}");
        let mut nobodys = arguments.clone();
        let mut words = text(&theirs).to_owned();
        if nobodys.get("session_id").is_some() {
            nobodys["session_id"] = json!(unknown_session);
            words = words.replace(session.as_str().unwrap(), unknown_session);
        } else {
            nobodys["continuation_id"] = json!(unknown_turn);
            words = words.replace(turn.as_str().unwrap(), unknown_turn);
        }
        let unknown = two.call(tool, nobodys.clone()).await;
        assert_eq!(text(&unknown), words, "{tool}");
        if nobodys.get("session_id").is_some() {
            nobodys["session_id"] = json!(foreign);
            let of_the_api = two.call(tool, nobodys).await;
            let words = words.replace(unknown_session, &foreign);
            assert_eq!(text(&of_the_api), words, "{tool}");
        }
    }
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let answers: Vec<Value> = {
            let mut answers = Vec::new();
            for id in [turn.as_str().unwrap(), unknown_turn, "x"] {
                let params = json!({ "taskId": id, "inputResponses": {} });
                answers.push(two.ask(method, params).await.unwrap_err());
            }
            answers
        };
        assert_eq!(answers[0]["code"], -32602, "{method}");
        assert!(
            answers.iter().all(|answer| *answer == answers[0]),
            "{method}: {answers:?}"
        );
    }
    let list = two
        .structure("list_sessions", json!({ "limit": 500 }))
        .await;
    assert_eq!(list["sessions"], json!([]));
    let list = one.structure("list_sessions", json!({})).await;
    assert_eq!(list["sessions"].as_array().unwrap().len(), 1);
    for arguments in [
        json!({ "channel": "api" }),
        json!({ "prefix": "" }),
        json!({ "limit": 0 }),
    ] {
        let refused = two.call("list_sessions", arguments).await;
        let sessions = &refused["structuredContent"]["sessions"];
        assert!(
            refused["isError"] == true || *sessions == json!([]),
            "{refused}"
        );
    }
    assert_eq!(
        one.structure("cancel", json!({ "continuation_id": turn }))
            .await["status"],
        "cancelled"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_key_is_the_same_thing_and_one_turn_is_open_at_a_time() {
    let home = Home::new("");
    let daemon = home.daemon();
    let host = McpHost::new(&home, &daemon, "editor", Era::Stateless);
    let start = |title: &str| json!({ "title": title, "idempotency_key": "k" });
    let first = host.structure("start_session", start("A")).await;
    let again = host.structure("start_session", start("A")).await;
    assert_eq!(first["session_id"], again["session_id"]);
    let other = host.call("start_session", start("B")).await;
    assert!(text(&other).contains("key"), "{other}");
    let id = first["session_id"].clone();
    let message = |text: &str, key: Option<&str>| {
        let mut message = json!({ "session_id": id, "text": text });
        if let Some(key) = key {
            message["idempotency_key"] = json!(key);
        }
        message
    };
    let slow = "SLOW:400\nSAY:x";
    let sent = host
        .structure("send_message", message(slow, Some("m")))
        .await;
    let turn = sent["continuation_id"].clone();
    let repeated = host
        .structure("send_message", message(slow, Some("m")))
        .await;
    assert_eq!(repeated["continuation_id"], turn);
    assert_eq!(repeated["repeated"], true);
    let changed = host.call("send_message", message("SAY:y", Some("m"))).await;
    assert!(text(&changed).contains("idempotency key"), "{changed}");
    let busy = host.call("send_message", message("SAY:z", None)).await;
    assert_eq!(busy["isError"], true);
    assert!(text(&busy).contains("busy"), "{busy}");
    let queued = daemon
        .get(&format!("/v1/sessions/{}", id.as_str().unwrap()))
        .await;
    assert_eq!(queued["queued"], 0);
    let cancel = json!({ "continuation_id": turn, "reason": "enough" });
    let cancelled = host.structure("cancel", cancel.clone()).await;
    assert_eq!(
        (&cancelled["status"], &cancelled["already_final"]),
        (&json!("cancelled"), &json!(false))
    );
    let twice = host.structure("cancel", cancel).await;
    assert_eq!(
        (&twice["status"], &twice["already_final"]),
        (&json!("cancelled"), &json!(true))
    );
    let sent = host
        .structure("send_message", message("SAY:kept", None))
        .await;
    let turn = sent["continuation_id"].clone();
    host.structure("await_continuation", json!({ "continuation_id": turn }))
        .await;
    let late = host
        .structure("cancel", json!({ "continuation_id": turn }))
        .await;
    assert_eq!(
        (&late["already_final"], &late["answer"]),
        (&json!(true), &json!("kept"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn waits_are_bounded_and_tell_their_progress() {
    let home = Home::new("");
    let daemon = home.daemon();
    let host = McpHost::new(&home, &daemon, "editor", Era::Stateless);
    let session = host.structure("start_session", json!({})).await["session_id"].clone();
    let sent = host
        .structure(
            "send_message",
            json!({ "session_id": session, "text": "SLOW:320\nSAY:end" }),
        )
        .await;
    let turn = sent["continuation_id"].clone();
    let wait = |timeout: Value| json!({ "continuation_id": turn, "timeout_ms": timeout });
    let began = Instant::now();
    let now = host.structure("await_continuation", wait(json!(0))).await;
    assert_eq!(now["status"], "running");
    assert!(began.elapsed() < Duration::from_secs(5));
    for wrong in [json!(-1), json!("1000"), json!(1.5), json!(1e30)] {
        let refused = host.call("await_continuation", wait(wrong.clone())).await;
        assert_eq!(refused["isError"], true, "{wrong}");
        assert!(text(&refused).contains("timeout_ms"), "{refused}");
    }
    let more = host
        .call(
            "await_continuation",
            json!({ "continuation_id": turn, "zzz": 1 }),
        )
        .await;
    assert!(text(&more).contains("zzz"), "{more}");
    // 2^63 counts as the longest wait; the turn ends before that.
    let params = json!({
        "name": "await_continuation",
        "arguments": wait(json!(9_223_372_036_854_775_808_u64)),
        "_meta": { "progressToken": "p" },
    });
    let (_, messages) = McpHost::send(host.request("tools/call", params)).await;
    let told: Vec<f64> = messages
        .iter()
        .filter(|message| message["method"] == "notifications/progress")
        .map(|message| {
            assert_eq!(message["params"]["progressToken"], "p");
            message["params"]["progress"].as_f64().unwrap()
        })
        .collect();
    assert!(!told.is_empty(), "{messages:?}");
    assert!(told.windows(2).all(|pair| pair[0] < pair[1]), "{told:?}");
    let end = &messages.last().unwrap()["result"]["structuredContent"];
    assert!(end["answer"].as_str().unwrap().ends_with("end"), "{end}");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_stops_waiting_ends_only_what_it_asked_for() {
    let home = Home::new("");
    let daemon = home.daemon();
    let host = McpHost::new(&home, &daemon, "editor", Era::Stateless);
    let session = host.structure("start_session", json!({})).await["session_id"].clone();
    let sent = host
        .structure(
            "send_message",
            json!({ "session_id": session, "text": "SLOW:100\nSAY:end" }),
        )
        .await;
    let turn = sent["continuation_id"].as_str().unwrap().to_owned();
    let params = json!({ "name": "await_continuation", "arguments": { "continuation_id": turn } });
    let left = host
        .request("tools/call", params)
        .timeout(Duration::from_millis(300))
        .send()
        .await;
    assert!(left.is_err(), "the caller goes away");
    daemon.wait_state(&turn, "completed").await;
    let params = json!({ "name": "ask", "arguments": { "text": "SLOW:900\nSAY:never" } });
    let asked = tokio::spawn(
        host.request("tools/call", params)
            .timeout(Duration::from_secs(2))
            .send(),
    );
    let open = |body: &Value| {
        let items = body["items"].as_array().unwrap();
        items
            .iter()
            .any(|item| item["request"]["text"].as_str().unwrap().contains("never"))
    };
    let list = daemon
        .wait("/v1/continuations?state=running", "the turn", open)
        .await;
    let id = list["items"][0]["id"].as_str().unwrap().to_owned();
    assert!(asked.await.unwrap().is_err(), "the caller goes away");
    let ended = daemon.wait_state(&id, "cancelled").await;
    assert!(
        ended["error"]["message"]
            .as_str()
            .unwrap()
            .contains("stopped waiting"),
        "{ended:#}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_takes_more_than_its_share() {
    let home = Home::new("");
    let daemon = home.daemon();
    let host = McpHost::new(&home, &daemon, "editor", Era::Stateless);
    let mut first = Value::Null;
    for n in 0..32 {
        let session = host
            .structure("start_session", json!({ "title": n.to_string() }))
            .await;
        first = session["session_id"].clone();
    }
    let refused = host.call("start_session", json!({})).await;
    assert!(text(&refused).contains("too many sessions"), "{refused}");
    let refused = host.call("ask", json!({ "text": "SAY:x" })).await;
    assert!(text(&refused).contains("too many sessions"), "{refused}");
    // Somebody else has a share of its own.
    let other = McpHost::new(&home, &daemon, "other", Era::Stateless);
    other.structure("start_session", json!({})).await;
    let sent = host
        .structure(
            "send_message",
            json!({ "session_id": first, "text": "SLOW:2000\nSAY:x" }),
        )
        .await;
    let wait = json!({ "continuation_id": sent["continuation_id"], "timeout_ms": 30_000 });
    let calls: Vec<_> = (0..20)
        .map(|_| {
            let (host, wait) = (host.clone(), wait.clone());
            tokio::spawn(async move { host.call("await_continuation", wait).await })
        })
        .collect();
    let deadline = Instant::now() + crate::support::daemon::DEADLINE;
    while calls.iter().filter(|call| call.is_finished()).count() < 4 {
        assert!(Instant::now() < deadline, "the calls are not counted");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    other.structure("list_sessions", json!({})).await;
    let id = sent["continuation_id"].as_str().unwrap();
    daemon
        .post(&format!("/v1/continuations/{id}/cancel"), json!({}))
        .await;
    let mut refused = 0;
    for call in calls {
        let ended = call.await.unwrap();
        if text(&ended).contains("too many calls") {
            refused += 1;
        } else {
            assert_eq!(ended["structuredContent"]["status"], "cancelled");
        }
    }
    assert_eq!(refused, 4);
}
