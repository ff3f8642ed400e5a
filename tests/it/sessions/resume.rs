//! The way back to an earlier session, over HTTP and from the command line.

use serde_json::json;

use crate::sessions::{plain_home, run, said};

#[tokio::test]
async fn an_earlier_session_is_resumed_and_the_active_one_ends_with_what_is_open() {
    let home = plain_home();
    let daemon = home.daemon();
    let start = json!({"conversation": "ticket-7"});
    let first = daemon.post("/v1/sessions", start.clone()).await;
    let first = first["id"].as_str().unwrap();
    let turn = daemon.send(first, "SAY:one").await;
    daemon.wait_state(&turn, "completed").await;
    let path = format!("/v1/sessions/{first}");
    let (status, _) = daemon.request("DELETE", &path, None).await;
    assert_eq!(status, 200);
    // Not written in before it is resumed; the refusal says how to go on.
    let (status, refusal) = daemon
        .request(
            "POST",
            &format!("{path}/messages"),
            Some(json!({"text": "two"})),
        )
        .await;
    assert_eq!(status, 422, "{refusal:#}");
    assert!(
        refusal["detail"].as_str().unwrap().contains("resume it"),
        "{refusal:#}"
    );

    let second = daemon.post("/v1/sessions", start).await;
    let second = second["id"].as_str().unwrap();
    assert_ne!(first, second);
    let open = daemon.send(second, "SLOW:2000\nSAY:never").await;
    daemon.wait_state(&open, "running").await;
    let resumed = daemon.post(&format!("{path}/resume"), json!({})).await;
    assert_eq!(
        (&resumed["id"], &resumed["state"]),
        (&json!(first), &json!("active"))
    );
    daemon.wait_state(&open, "cancelled").await;
    let ended = daemon.get(&format!("/v1/sessions/{second}")).await;
    assert_eq!(ended["state"], "ended");
    let again = daemon.post(&format!("{path}/resume"), json!({})).await;
    assert_eq!(again["state"], "active", "twice is once");
    let turn = daemon.send(first, "SAY:three").await;
    daemon.wait_state(&turn, "completed").await;

    let output = run(&home, &["sessions", "resume", second]);
    assert!(output.status.success(), "{}", said(&output));
    assert!(
        said(&output).contains("resumed: ticket-7 of api"),
        "{}",
        said(&output)
    );
    let active = daemon.get("/v1/sessions?state=active").await;
    assert_eq!(active["items"][0]["id"], second);
    let audit = daemon.get("/v1/audit").await.to_string();
    assert!(audit.contains("session.resumed"), "{audit}");
}

#[tokio::test]
async fn a_session_of_one_question_is_not_resumed() {
    let home = plain_home();
    let daemon = home.daemon();
    let asked = daemon.post("/v1/ask", json!({"text": "SAY:one"})).await;
    let turn = asked["continuation_id"].as_str().unwrap();
    let done = daemon.wait_state(turn, "completed").await;
    let session = done["session_id"].as_str().unwrap();
    let (status, refusal) = daemon
        .request("POST", &format!("/v1/sessions/{session}/resume"), None)
        .await;
    assert_eq!(status, 422, "{refusal:#}");
    assert!(
        refusal["detail"].as_str().unwrap().contains("one question"),
        "{refusal:#}"
    );
}
