//! What is no longer wanted stops at once: the server sees its caller hang up, and what was used counts.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::end_to_end_models::patient_peer::{HALF, Manner, PatientPeer};
use crate::end_to_end_models::stories::{home, model_steps, start};
use crate::support::daemon::{Daemon, Home};

/// Generous: the machine may be busy. `cargo bench --bench model_calls` reports what it takes.
const AT_ONCE: Duration = Duration::from_secs(3);

async fn cancel(daemon: &Daemon, continuation: &str) -> (Instant, Value) {
    let began = Instant::now();
    let cancelled = daemon
        .post(
            &format!("/v1/continuations/{continuation}/cancel"),
            json!({"reason": "enough"}),
        )
        .await;
    assert_eq!(cancelled["state"], "cancelled", "{cancelled:#}");
    (began, cancelled)
}

/// The session is free again: its next message is answered.
async fn goes_on(daemon: &Daemon, peer: &PatientPeer, session: &str) {
    peer.set(Manner::AtOnce);
    let next = daemon.send(session, "next").await;
    let done = daemon.wait_state(&next, "completed").await;
    assert_eq!(done["response"]["text"], "re: next", "{done:#}");
}

/// The daemon's own check of everything it stores, with nothing left reserved.
fn check(home: &Home) {
    let report = home
        .command()
        .args(["doctor", "--check"])
        .output()
        .expect("it runs");
    assert!(
        report.status.success(),
        "{}",
        String::from_utf8_lossy(&report.stdout)
    );
    let database = rusqlite::Connection::open(home.data().join("leverframe.db")).unwrap();
    let open: u32 = database
        .query_row(
            "SELECT count(*) FROM model_attempts WHERE settled_at IS NULL",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(open, 0, "calls that are still reserved");
}

#[tokio::test]
async fn a_cancel_in_mid_stream_hangs_up_and_keeps_what_was_shown() {
    let peer = PatientPeer::start(Manner::HalfWay);
    let home = home("openai-chat", &peer.base_url);
    let daemon = start(&home);
    let session = daemon.session().await;
    let continuation = daemon.send(&session, "go on and on").await;
    daemon
        .wait("/v1/snapshot", "text is shown", |snapshot| {
            snapshot["streams"][0]["text"] == HALF
        })
        .await;
    let (began, cancelled) = cancel(&daemon, &continuation).await;
    let took = peer.wait_left(1).saturating_duration_since(began);
    assert!(took < AT_ONCE, "it hung up after {took:?}");

    let steps = model_steps(&daemon, &cancelled).await;
    assert_eq!(steps.len(), 1, "{steps:#?}");
    assert_eq!(steps[0]["text"], HALF);
    assert_eq!(steps[0]["stop"], "cancelled");
    assert!(
        steps[0]["notes"][0].as_str().unwrap().contains("estimated"),
        "{steps:#?}"
    );
    let used = &steps[0]["usage"];
    assert!(used["input_tokens"].as_u64().unwrap() > 10, "{used:#}");
    assert!(used["output_tokens"].as_u64().unwrap() > 0, "{used:#}");
    assert_eq!(&cancelled["usage"]["input_tokens"], &used["input_tokens"]);
    assert_eq!(&cancelled["usage"]["output_tokens"], &used["output_tokens"]);
    assert_eq!(cancelled["response"], Value::Null, "half an answer is none");
    goes_on(&daemon, &peer, &session).await;
    check(&home);
}

#[tokio::test]
async fn a_cancel_before_the_answer_begins_hangs_up_and_counts_what_was_sent() {
    let peer = PatientPeer::start(Manner::Silent);
    let home = home("openai-chat", &peer.base_url);
    let daemon = start(&home);
    let session = daemon.session().await;
    let continuation = daemon.send(&session, "say something").await;
    peer.wait_asked(1);
    let (began, cancelled) = cancel(&daemon, &continuation).await;
    let took = peer.wait_left(1).saturating_duration_since(began);
    assert!(took < AT_ONCE, "it hung up after {took:?}");
    assert!(model_steps(&daemon, &cancelled).await.is_empty());
    let used = &cancelled["usage"];
    assert!(used["input_tokens"].as_u64().unwrap() > 10, "{used:#}");
    assert_eq!(used["output_tokens"], 0, "{used:#}");
    goes_on(&daemon, &peer, &session).await;
    check(&home);
}

#[tokio::test]
async fn a_cancel_in_the_pause_before_another_try_ends_the_pause() {
    let peer = PatientPeer::start(Manner::Refuses);
    let home = home("openai-chat", &peer.base_url);
    let daemon = start(&home);
    let session = daemon.session().await;
    let continuation = daemon.send(&session, "too fast").await;
    peer.wait_asked(1);
    // Once the refusal is stored, the pause of a minute has begun.
    let path = format!("/v1/events?after=0&continuation={continuation}");
    until_event(&daemon, &path, "model.finished").await;
    cancel(&daemon, &continuation).await;
    goes_on(&daemon, &peer, &session).await;
    assert_eq!(peer.asked(), 2, "the cancelled turn did not ask again");
    check(&home);
}

/// Follows the stream of events until one of this kind came.
async fn until_event(daemon: &Daemon, path: &str, kind: &str) {
    let mut response = crate::support::daemon::client()
        .get(format!("{}{path}", daemon.base))
        .bearer_auth(&daemon.token)
        .send()
        .await
        .unwrap();
    let mut text = String::new();
    while !text.contains(&format!("event: {kind}")) {
        let bytes = response.chunk().await.unwrap().expect("the stream goes on");
        text.push_str(&String::from_utf8_lossy(&bytes));
    }
}

#[tokio::test]
async fn an_emergency_stop_hangs_up_and_the_turn_is_answered_after_the_release() {
    for manner in [Manner::HalfWay, Manner::Silent] {
        let peer = PatientPeer::start(manner);
        let home = home("openai-chat", &peer.base_url);
        let daemon = start(&home);
        let session = daemon.session().await;
        let continuation = daemon.send(&session, "work").await;
        peer.wait_asked(1);
        let path = format!("/v1/continuations/{continuation}");
        if manner == Manner::HalfWay {
            daemon
                .wait("/v1/snapshot", "text is shown", |snapshot| {
                    snapshot["streams"][0]["text"] == HALF
                })
                .await;
        }
        let began = Instant::now();
        daemon.post("/v1/emergency-stop", json!({})).await;
        let took = peer.wait_left(1).saturating_duration_since(began);
        assert!(took < AT_ONCE, "it hung up after {took:?}");
        let held = daemon.wait_state(&continuation, "pending").await;
        let before = held["usage"]["input_tokens"].as_u64().unwrap();
        assert!(before > 10, "what was dropped counts: {held:#}");
        // 4 096 tokens of output were reserved beside the input.
        assert!(
            before < 4_096,
            "as what was sent, not as all that was reserved: {held:#}"
        );

        peer.set(Manner::AtOnce);
        daemon
            .post("/v1/emergency-stop/release", json!({"waiting": "all"}))
            .await;
        let done = daemon
            .wait(&path, "it is answered", |body| body["state"] == "completed")
            .await;
        assert_eq!(done["response"]["text"], "re: work");
        let steps = model_steps(&daemon, &done).await;
        assert_eq!(steps.len(), 1, "the half answer is no step: {steps:#?}");
        assert!(done["usage"]["input_tokens"].as_u64().unwrap() >= before);
        check(&home);
    }
}
