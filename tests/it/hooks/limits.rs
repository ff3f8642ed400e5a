//! The built-in rate limit, through the real binary: messages over HTTP and in chat, and tool calls.

use serde_json::{Value, json};

use crate::hooks::turns::{counts, result};
use crate::support::daemon::Home;
use crate::support::fake_platform::FakePlatform;

#[tokio::test]
async fn a_message_too_many_over_http_is_refused_with_429() {
    let home = Home::new("[hooks.rate_limit]\nmessages_per_minute = 2\n");
    let daemon = home.daemon();
    for _ in 0..2 {
        daemon
            .post("/v1/ask?wait=15", json!({"text": "hello"}))
            .await;
    }
    let (status, problem) = daemon
        .request("POST", "/v1/ask", Some(json!({"text": "hello"})))
        .await;
    assert_eq!(status, 429, "{problem}");
    let detail = problem["detail"].as_str().unwrap();
    assert!(
        detail.starts_with("more than 2 messages a minute from one person; again in"),
        "{detail}"
    );
    let session = daemon.session().await;
    let path = format!("/v1/sessions/{session}/messages");
    let (status, _) = daemon
        .request("POST", &path, Some(json!({"text": "hello"})))
        .await;
    assert_eq!(status, 429);
    assert_eq!(counts(&daemon, "rate_limit").await["cancels"], 2);
    let audit = daemon.get("/v1/audit?action=hook.cancelled").await;
    assert_eq!(
        audit["items"].as_array().unwrap().len(),
        1,
        "once a minute: {audit:#}"
    );
    let reset = "/v1/hooks/rate_limit/reset";
    assert_eq!(daemon.request("POST", reset, None).await.0, 200);
    daemon
        .post("/v1/ask?wait=15", json!({"text": "hello"}))
        .await;
}

#[tokio::test]
async fn in_chat_the_sender_is_told_once_and_every_message_is_kept_as_ignored() {
    let platform = FakePlatform::start(true);
    let home = Home::new(&format!(
        "[model]\ndefault = \"scripted/demo\"\nallow_scripted_on_channels = true\n\n\
         [channels.team]\nkind = \"scripted\"\napi_base = \"{}\"\nallowed_users = [\"ben\", \"eve\"]\n\n\
         [hooks.rate_limit]\nmessages_per_minute = 1\n",
        platform.api_base("native")
    ));
    for n in 1..=3 {
        platform.say("room", "ben", &format!("SAY:ben {n}"));
    }
    platform.say("room", "eve", "SAY:eve 1");
    let daemon = home.daemon();
    let has = |texts: &[&str]| {
        let visible = platform.visible();
        texts
            .iter()
            .all(|text| visible.iter().any(|seen| seen.text.contains(text)))
    };
    daemon
        .wait("/v1/snapshot", "the answers", |_| {
            has(&[
                "ben 1",
                "eve 1",
                "This message was not read: more than 1 messages",
            ])
        })
        .await;
    let told = platform
        .visible()
        .iter()
        .filter(|seen| seen.text.contains("not read"))
        .count();
    assert_eq!(told, 1);
    assert!(!has(&["ben 2"]) && !has(&["ben 3"]));
    assert_eq!(counts(&daemon, "rate_limit").await["cancels"], 2);
    drop(daemon);
    let conn = rusqlite::Connection::open(home.data().join("leverframe.db")).unwrap();
    let ignored: u32 = conn
        .query_row(
            "SELECT count(*) FROM inbox WHERE disposition = 'ignored' AND detail LIKE 'more than 1 messages%'",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(ignored, 2);
}

#[tokio::test]
async fn a_tool_call_too_many_is_cancelled_with_a_result() {
    let home = Home::new(
        "[channels.api]\nauto_approve = [\"list_files\"]\n[hooks.rate_limit]\nper_tool = { list_files = 1 }\n",
    );
    let daemon = home.daemon();
    let ask = || {
        daemon.post(
            "/v1/ask?wait=15",
            json!({"text": "TOOL:list_files{}\nSAY:done"}),
        )
    };
    let first: Value = ask().await;
    assert_eq!(first["tool_calls"][0]["state"], "succeeded", "{first:#}");
    let second = ask().await;
    assert_eq!(second["state"], "completed");
    assert!(
        result(&second).starts_with(
            "cancelled by the hook `rate_limit`: more than 1 calls of list_files a minute"
        ),
        "{second:#}"
    );
    let expected = json!({"runs": 4, "changes": 0, "cancels": 1, "failures": 0});
    assert_eq!(counts(&daemon, "rate_limit").await, expected);
}
