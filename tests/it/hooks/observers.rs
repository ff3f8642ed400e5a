//! Observers: told of everything that was committed, in nobody's way.

use std::time::Instant;

use serde_json::{Value, json};

use crate::hooks::scripts::{configure, script, table};
use crate::support::daemon::{DEADLINE, Daemon, Home};
use crate::support::fake_platform::FakePlatform;

const POINTS: &[&str] = &[
    "after_tool_call",
    "session_start",
    "session_end",
    "approval_requested",
    "approval_decided",
    "message_received",
    "reply_sent",
];

async fn hook_at(daemon: &Daemon, name: &str, point: &str) -> Value {
    let hooks = daemon.get("/v1/hooks").await;
    let items = hooks["items"].as_array().unwrap();
    let found = items
        .iter()
        .find(|hook| hook["name"] == name && hook["point"] == point);
    found
        .unwrap_or_else(|| panic!("{name} at {point}: {hooks:#}"))
        .clone()
}

#[tokio::test]
async fn every_point_is_really_called() {
    let platform = FakePlatform::start(true);
    let home = Home::new(&format!(
        "[model]\ndefault = \"scripted/demo\"\nallow_scripted_on_channels = true\n\n\
         [channels.team]\nkind = \"scripted\"\napi_base = \"{}\"\nallowed_users = [\"ben\"]\n",
        platform.api_base("native")
    ));
    let told = home.path().join("told");
    std::fs::create_dir(&told).unwrap();
    // A file of its own for each: they are told at the same time.
    let path = script(
        home.path(),
        "all",
        &format!("cat > {}/$$; echo ignored", told.display()),
    );
    let points: Vec<String> = POINTS.iter().map(|point| format!("\"{point}\"")).collect();
    configure(
        &home,
        &table("all", &path, &points.join(", "), "channels = [\"team\"]"),
    );
    let daemon = home.daemon();
    platform.say(
        "room",
        "ben",
        "TOOL:write_file{\"path\":\"a.txt\",\"content\":\"a\"}\nSAY:written",
    );
    let approval = daemon.wait_approval().await;
    assert_eq!(daemon.decide(&approval, "approve").await.0, 200);
    // A word that people are asked is a reply too; the turn has to end before its session does.
    let turn = approval["continuation_id"].as_str().unwrap();
    daemon.wait_state(turn, "completed").await;
    daemon
        .wait("/v1/hooks", "a reply", |hooks| {
            let items = hooks["items"].as_array().unwrap();
            items.iter().any(|hook| {
                hook["name"] == "all"
                    && hook["point"] == "reply_sent"
                    && hook["counts"]["runs"] != 0
            })
        })
        .await;
    let session = approval["session_id"].as_str().unwrap();
    let (status, _) = daemon
        .request("DELETE", &format!("/v1/sessions/{session}"), None)
        .await;
    assert_eq!(status, 200);
    // Another channel is none of its business.
    let other = daemon.session().await;
    daemon.send(&other, "hello").await;
    for point in POINTS {
        daemon
            .wait("/v1/hooks", point, |hooks| {
                let items = hooks["items"].as_array().unwrap();
                items.iter().any(|hook| {
                    hook["name"] == "all" && hook["point"] == *point && hook["counts"]["runs"] != 0
                })
            })
            .await;
        let counts = &hook_at(&daemon, "all", point).await["counts"];
        assert_eq!(counts["failures"], 0, "{point}: {counts}");
    }
    assert_eq!(
        hook_at(&daemon, "all", "approval_decided").await["counts"]["runs"],
        1
    );
    assert_eq!(
        hook_at(&daemon, "all", "message_received").await["counts"]["runs"],
        1
    );
    let told: Vec<Value> = std::fs::read_dir(&told)
        .unwrap()
        .map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap())
        .map(|text| serde_json::from_str(&text).unwrap())
        .collect();
    let of = |point: &str| {
        told.iter()
            .find(|document| document["point"] == point)
            .unwrap()
    };
    assert!(
        told.iter().all(|document| document["channel"] == "team"),
        "{told:#?}"
    );
    assert!(
        of("message_received")["text"]
            .as_str()
            .unwrap()
            .ends_with("SAY:written")
    );
    assert_eq!(of("message_received")["requester"]["id"], "scripted:ben");
    assert_eq!(of("after_tool_call")["tool"], "write_file");
    assert_eq!(of("after_tool_call")["args"]["path"], "a.txt");
    let ended = of("after_tool_call");
    assert!(ended["result"].is_string(), "{ended:#}");
    assert_eq!(
        of("approval_decided")["event"]["approval"]["id"],
        approval["id"]
    );
}

#[tokio::test]
async fn an_observer_that_hangs_delays_no_turn_and_what_it_misses_is_counted() {
    let home = Home::new(
        "[channels.api]\nauto_approve = [\"list_files\"]\n[budgets]\nmax_tool_calls = 40\n",
    );
    let path = script(home.path(), "hang", "sleep 600");
    let more = table(
        "hang",
        &path,
        "\"after_tool_call\", \"message_received\"",
        "",
    )
    .replace("timeout_ms = 10000", "timeout_ms = 30000");
    configure(&home, &more);
    let mut daemon = home.daemon();
    let calls = "TOOL:list_files{}\n".repeat(16);
    let began = Instant::now();
    for n in 0..20 {
        let done = daemon
            .post(
                "/v1/ask?wait=15",
                json!({"text": format!("{calls}SAY:done {n}")}),
            )
            .await;
        assert_eq!(done["state"], "completed", "{done:#}");
        assert_eq!(done["tool_calls"].as_array().unwrap().len(), 16);
    }
    // One call of the hook alone may take 30 s.
    assert!(began.elapsed() < 3 * DEADLINE, "{:?}", began.elapsed());
    // 320 happened; one is being told of, 256 wait.
    daemon
        .wait("/v1/hooks", "what was dropped", |hooks| {
            let items = hooks["items"].as_array().unwrap();
            items.iter().any(|hook| {
                hook["point"] == "after_tool_call" && hook["counts"]["dropped"] == 320 - 256 - 1
            })
        })
        .await;
    let slow = hook_at(&daemon, "hang", "after_tool_call").await;
    assert_eq!(slow["counts"]["runs"], 0);
    let patient = hook_at(&daemon, "hang", "message_received").await;
    assert_eq!(patient["counts"]["dropped"], 0, "{patient:#}");
    // And it is in the way of no end.
    let began = Instant::now();
    assert!(daemon.terminate().success());
    assert!(began.elapsed() < DEADLINE);
}

#[tokio::test]
async fn an_observer_that_keeps_failing_is_left_alone() {
    let home = Home::new("[channels.api]\nauto_approve = [\"list_files\"]\n");
    let path = script(home.path(), "broken", "exit 1");
    configure(&home, &table("broken", &path, "\"after_tool_call\"", ""));
    let daemon = home.daemon();
    let calls = "TOOL:list_files{}\n".repeat(8);
    let body = json!({"text": format!("{calls}SAY:done")});
    let done = daemon.post("/v1/ask?wait=15", body).await;
    assert_eq!(done["state"], "completed", "{done:#}");
    let hooks = daemon
        .wait("/v1/hooks", "all of them are counted", |hooks| {
            let items = hooks["items"].as_array().unwrap();
            items.iter().any(|hook| {
                let of = |field: &str| hook["counts"][field].as_u64().unwrap();
                hook["name"] == "broken" && of("failures") + of("skipped") == 8
            })
        })
        .await;
    let broken = hook_at(&daemon, "broken", "after_tool_call").await;
    assert_eq!(broken["counts"]["failures"], 5, "{hooks:#}");
    assert_eq!(broken["counts"]["skipped"], 3, "{hooks:#}");
    assert!(broken["broken_until"].is_string(), "{broken:#}");
}

#[tokio::test]
async fn every_decision_is_told_once_also_one_that_is_used_at_once() {
    let home = Home::new("");
    let told = home.path().join("told");
    let path = script(
        home.path(),
        "all",
        &format!("cat >> {0}; echo >> {0}", told.display()),
    );
    configure(&home, &table("all", &path, "\"approval_decided\"", ""));
    let daemon = home.daemon();
    for n in 1..=2_usize {
        let session = daemon.session().await;
        let write = format!("TOOL:write_file{{\"path\":\"{n}.txt\",\"content\":\"a\"}}\nSAY:done");
        let turn = daemon.send(&session, &write).await;
        let approval = daemon.wait_approval().await;
        let id = approval["id"].as_str().unwrap();
        let mut body = json!({"decision": "approve", "digest": approval["digest"]});
        if n == 2 {
            body["decision"] = "answer".into();
            body["answer"] = "it is there already".into();
        }
        let path = format!("/v1/approvals/{id}/decision");
        let (status, said) = daemon.request("POST", &path, Some(body)).await;
        assert_eq!(status, 200, "{said}");
        daemon.wait_state(&turn, "completed").await;
        daemon
            .wait("/v1/hooks", "it was told", |hooks| {
                let items = hooks["items"].as_array().unwrap();
                items
                    .iter()
                    .any(|hook| hook["name"] == "all" && hook["counts"]["runs"] == n)
            })
            .await;
    }
    let words: Vec<Value> = std::fs::read_to_string(&told)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .map(|document| document["event"]["approval"]["decision"]["decision"].clone())
        .collect();
    assert_eq!(words, [json!("approve"), json!("answer")]);
}
