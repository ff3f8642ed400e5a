//! A developer drives the daemon over HTTP.

use serde_json::{Value, json};

use crate::support::daemon::{Daemon, Home};

const SUPERVISED: &str = "";

async fn write_waits(daemon: &Daemon) -> (String, Value) {
    let session = daemon.session().await;
    let text = "TOOL:write_file{\"path\":\"note.txt\",\"content\":\"hello\\n\"}\nSAY:done";
    let continuation = daemon.send(&session, text).await;
    let approval = daemon.wait_approval().await;
    assert_eq!(approval["continuation_id"], continuation.as_str());
    daemon.wait_state(&continuation, "awaiting_approval").await;
    (continuation, approval)
}

#[tokio::test]
async fn a_write_waits_for_its_approval_and_runs_once_after_it() {
    let home = Home::new(SUPERVISED);
    let daemon = home.daemon();
    let (continuation, approval) = write_waits(&daemon).await;
    let file = home.workspace("api").join("note.txt");
    assert!(!file.exists(), "the file was written before the approval");
    assert_eq!(approval["tool"], "write_file");
    assert_eq!(approval["risk"], "medium");
    assert!(
        approval["preview"]["unified"]
            .as_str()
            .unwrap()
            .contains("+hello"),
        "{approval:#}"
    );

    let (status, decided) = daemon.decide(&approval, "approve").await;
    assert_eq!(status, 200, "{decided:#}");
    let done = daemon.wait_state(&continuation, "completed").await;
    assert_eq!(done["response"]["text"], "done");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "hello\n");
    assert_eq!(done["tool_calls"][0]["state"], "succeeded");
    assert_eq!(done["tool_calls"][0]["attempts"], 1);

    // The same decision again is a success; another one is a conflict that names the winner (A1).
    assert_eq!(daemon.decide(&approval, "approve").await.0, 200);
    let (status, conflict) = daemon.decide(&approval, "deny").await;
    assert_eq!(status, 409, "{conflict:#}");
    assert_eq!(conflict["winner"]["decision"], "approve");
}

#[tokio::test]
async fn a_denied_call_gives_the_model_the_reason_and_the_turn_goes_on() {
    let home = Home::new(SUPERVISED);
    let daemon = home.daemon();
    let (continuation, approval) = write_waits(&daemon).await;
    let id = approval["id"].as_str().unwrap();
    let body =
        json!({ "decision": "deny", "digest": approval["digest"], "reason": "not on a Friday" });
    daemon
        .post(&format!("/v1/approvals/{id}/decision"), body)
        .await;
    let done = daemon.wait_state(&continuation, "completed").await;
    assert_eq!(done["tool_calls"][0]["state"], "denied");
    assert!(
        done["tool_calls"][0]["result"]
            .as_str()
            .unwrap()
            .contains("not on a Friday"),
        "{done:#}"
    );
    assert!(!home.workspace("api").join("note.txt").exists());
}

#[tokio::test]
async fn edited_arguments_are_what_runs_and_only_after_a_new_approval() {
    let home = Home::new(SUPERVISED);
    let daemon = home.daemon();
    let (continuation, approval) = write_waits(&daemon).await;
    let id = approval["id"].as_str().unwrap();
    let path = format!("/v1/approvals/{id}/decision");
    let args = json!({ "path": "other.txt", "content": "edited\n" });
    let edited = daemon
        .post(
            &path,
            json!({ "decision": "edit", "digest": approval["digest"], "args": args }),
        )
        .await;
    assert_eq!(edited["state"], "pending");
    assert_eq!(edited["revision"], 2);
    assert_ne!(edited["digest"], approval["digest"]);
    // The digest of what was shown before does not approve what is there now (A2).
    let (status, stale) = daemon.decide(&approval, "approve").await;
    assert_eq!(status, 409, "{stale:#}");
    assert_eq!(daemon.decide(&edited, "approve").await.0, 200);
    daemon.wait_state(&continuation, "completed").await;
    assert_eq!(
        std::fs::read_to_string(home.workspace("api").join("other.txt")).unwrap(),
        "edited\n"
    );
    assert!(!home.workspace("api").join("note.txt").exists());
}

#[tokio::test]
async fn the_same_idempotency_key_is_the_same_continuation() {
    let home = Home::new(SUPERVISED);
    let daemon = home.daemon();
    let session = daemon.session().await;
    let send = |text: &'static str| {
        let url = format!("{}/v1/sessions/{session}/messages", daemon.base);
        let request = crate::support::daemon::client()
            .post(url)
            .bearer_auth(&daemon.token)
            .header("Idempotency-Key", "key-1")
            .json(&json!({ "text": text }));
        async move {
            let response = request.send().await.expect("an answer");
            (
                response.status().as_u16(),
                response.json::<Value>().await.expect("JSON"),
            )
        }
    };
    let (first_status, first) = send("hello").await;
    let (second_status, second) = send("hello").await;
    assert_eq!((first_status, second_status), (202, 202));
    assert_eq!(first["continuation_id"], second["continuation_id"]);
    let (status, conflict) = send("something else").await;
    assert_eq!(status, 409, "{conflict:#}");
}

#[tokio::test]
async fn an_emergency_stop_kills_a_running_program_and_holds_until_released() {
    let home = Home::new("[channels.api]\nautonomy = \"supervised\"\n");
    let daemon = home.daemon();
    let session = daemon.session().await;
    let text =
        "TOOL:execute_command{\"argv\":[\"sleep\",\"300\"],\"timeout_seconds\":600}\nSAY:slept";
    let continuation = daemon.send(&session, text).await;
    let approval = daemon.wait_approval().await;
    assert_eq!(daemon.decide(&approval, "approve").await.0, 200);
    let path = format!("/v1/continuations/{continuation}");
    daemon
        .wait(&path, "the tool runs", |body| {
            body["tool_calls"][0]["state"] == "started"
        })
        .await;

    let began = std::time::Instant::now();
    let stopped = daemon
        .post("/v1/emergency-stop", json!({ "reason": "test" }))
        .await;
    assert!(
        began.elapsed() < std::time::Duration::from_secs(3),
        "took {:?}",
        began.elapsed()
    );
    assert!(stopped["held_since"].is_string(), "{stopped:#}");
    // It is answered once everything has let go.
    assert_eq!(daemon.get(&path).await["state"], "awaiting_approval");
    // Nobody knows whether a killed program had its effect: a question, not a guess (A9, E9).
    let asked = daemon.wait_approval().await;
    assert_eq!(asked["kind"], "resolve_unknown");
    daemon.wait_state(&continuation, "awaiting_approval").await;

    // While held, messages are kept and nothing runs.
    let other = daemon.session().await;
    let waiting = daemon.send(&other, "hello").await;
    assert_eq!(
        daemon.get(&format!("/v1/continuations/{waiting}")).await["state"],
        "pending"
    );

    assert_eq!(daemon.decide(&asked, "give_up").await.0, 200);
    daemon
        .post("/v1/emergency-stop/release", json!({ "waiting": "all" }))
        .await;
    daemon.wait_state(&waiting, "completed").await;
    let done = daemon.wait_state(&continuation, "completed").await;
    assert_eq!(done["tool_calls"][0]["state"], "abandoned");
}

#[tokio::test]
async fn autonomy_changes_live_and_the_what_if_counts_real_calls() {
    let home = Home::new(SUPERVISED);
    let daemon = home.daemon();
    let (continuation, approval) = write_waits(&daemon).await;
    daemon.decide(&approval, "approve").await;
    daemon.wait_state(&continuation, "completed").await;

    let what_if = daemon
        .get("/v1/channels/api/what-if?autonomy=full&limit=20")
        .await;
    assert_eq!(what_if["considered"], 1, "{what_if:#}");
    assert_eq!(what_if["newly_unattended"], 1);
    let channel = daemon.get("/v1/channels/api").await;
    let version = channel["policy"]["version"].clone();
    let patch = json!({ "autonomy": "full", "if_version": version });
    let (status, raised) = daemon
        .request("PATCH", "/v1/channels/api/policy", Some(patch.clone()))
        .await;
    assert_eq!(status, 200, "{raised:#}");
    assert_eq!(raised["policy"]["autonomy"], "full");
    assert!(
        raised["policy"]["expires_at"].is_string(),
        "full without expiry: {raised:#}"
    );
    let (status, moved) = daemon
        .request("PATCH", "/v1/channels/api/policy", Some(patch))
        .await;
    assert_eq!(status, 409, "{moved:#}");

    let session = daemon.session().await;
    let text = "TOOL:write_file{\"path\":\"free.txt\",\"content\":\"x\"}\nSAY:done";
    let continuation = daemon.send(&session, text).await;
    let done = daemon.wait_state(&continuation, "completed").await;
    let call = &done["tool_calls"][0];
    assert_eq!(call["verdict"]["decision"], "allow", "{done:#}");
    assert!(call["verdict"]["rule"].as_str().unwrap().contains("full"));
    let why = daemon
        .get(&format!(
            "/v1/tool-calls/{}/why",
            call["id"].as_str().unwrap()
        ))
        .await;
    assert!(why["story"].as_array().unwrap().len() >= 3, "{why:#}");
}

#[tokio::test]
async fn bad_input_is_answered_with_what_to_do_and_changes_nothing() {
    let home = Home::new(SUPERVISED);
    let daemon = home.daemon();
    let session = daemon.session().await;
    let path = format!("/v1/sessions/{session}/messages");
    let (status, empty) = daemon
        .request("POST", &path, Some(json!({ "text": "  " })))
        .await;
    assert_eq!(status, 400, "{empty:#}");
    let (status, unknown) = daemon
        .request("GET", "/v1/sessions/ses_01JZZZZZZZZZZZZZZZZZZZZZZZ", None)
        .await;
    assert_eq!(status, 404, "{unknown:#}");
    for (text, expected) in [
        ("TOOL:no_such_tool{}\nSAY:ok", "no tool `no_such_tool`"),
        (
            "TOOL:read_file{\"path\":\"../../etc/passwd\"}\nSAY:ok",
            "workspace",
        ),
        ("TOOL:read_file{\"file\":\"x\"}\nSAY:ok", "schema"),
        ("BADARGS:write_file\nSAY:ok", "not a complete JSON object"),
    ] {
        let continuation = daemon.send(&session, text).await;
        let done = daemon.wait_state(&continuation, "completed").await;
        let result = done["tool_calls"][0]["result"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        assert!(result.contains(expected), "{text}: {result}");
    }
    let continuation = daemon.send(&session, "FAIL:auth").await;
    let failed = daemon.wait_state(&continuation, "failed").await;
    assert_eq!(
        failed["error"]["code"], "model_authentication",
        "{failed:#}"
    );
}

#[tokio::test]
async fn kill_nine_while_an_approval_waits_loses_nothing() {
    let home = Home::new(SUPERVISED);
    let mut daemon = home.daemon();
    let (continuation, approval) = write_waits(&daemon).await;
    daemon.kill();

    let daemon = home.daemon();
    let again = daemon.wait_approval().await;
    assert_eq!(again["id"], approval["id"]);
    assert_eq!(again["digest"], approval["digest"]);
    assert_eq!(daemon.decide(&again, "approve").await.0, 200);
    let done = daemon.wait_state(&continuation, "completed").await;
    assert_eq!(done["response"]["text"], "done");
    assert_eq!(done["tool_calls"][0]["attempts"], 1);
}

#[tokio::test]
async fn a_second_daemon_on_the_same_data_is_refused() {
    let home = Home::new(SUPERVISED);
    let _daemon = home.daemon();
    let second = home.command().args(["--daemon"]).output().expect("it runs");
    assert!(!second.status.success());
    let said = String::from_utf8_lossy(&second.stderr);
    assert!(said.contains("in use"), "{said}");
}

#[tokio::test]
async fn a_prefix_of_conversations_needs_its_channel() {
    let home = Home::new(SUPERVISED);
    let daemon = home.daemon();
    daemon.session().await;
    let path = "/v1/sessions?prefix=nobody";
    let (status, refused) = daemon.request("GET", path, None).await;
    assert_eq!(status, 400, "{refused:#}");
    assert!(refused.to_string().contains("channel"), "{refused:#}");
    let of_channel = daemon.get(&format!("{path}&channel=api")).await;
    assert_eq!(of_channel["items"], json!([]));
}

#[tokio::test]
async fn sigterm_in_each_state_ends_cleanly_and_the_turn_goes_on_after_it() {
    let home = Home::new(SUPERVISED);
    for text in [
        "hello",
        "SLOW:200",
        "TOOL:write_file{\"path\":\"a.txt\",\"content\":\"a\"}\nSAY:done",
    ] {
        let mut daemon = home.daemon();
        let session = daemon.session().await;
        let continuation = daemon.send(&session, text).await;
        let path = format!("/v1/continuations/{continuation}");
        daemon
            .wait(&path, "work began", |body| body["state"] != "pending")
            .await;
        let status = daemon.terminate();
        assert!(status.success(), "{text}: {status:?}\n{}", home.log());
        let mut daemon = home.daemon();
        let body = daemon
            .wait(&path, "it went on", |body| {
                body["state"] == "completed" || body["state"] == "awaiting_approval"
            })
            .await;
        if body["state"] == "awaiting_approval" {
            let approval = daemon.wait_approval().await;
            assert_eq!(daemon.decide(&approval, "deny_and_stop").await.0, 200);
            daemon.wait_state(&continuation, "cancelled").await;
        }
        assert!(daemon.terminate().success());
    }
}
