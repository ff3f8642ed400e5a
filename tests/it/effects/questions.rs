//! A call asks a person while it runs: the answer reaches it, and no question outlives it.

use serde_json::{Value, json};

use crate::effects::world::{World, call};
use crate::support::daemon::Daemon;

const ASK: &str = "TOOL:post_entry{\"text\":\"ask: Which colour?\"}\nSAY:done";
const ASKED: &str = "the service asks: Which colour?\n1. red\n2. blue";

async fn asked(daemon: &Daemon) -> (String, Value) {
    let session = daemon.session().await;
    let turn = daemon.send(&session, ASK).await;
    let question = daemon.wait_question("question", ASKED).await;
    (turn, question)
}

/// The answer to a question, as over HTTP.
async fn answer(daemon: &Daemon, question: &Value, text: &str) -> (u16, Value) {
    let path = format!(
        "/v1/approvals/{}/decision",
        question["id"].as_str().unwrap()
    );
    let body = json!({"decision": "answer", "digest": question["digest"], "answer": text});
    daemon.request("POST", &path, Some(body)).await
}

#[tokio::test]
async fn the_call_goes_on_with_the_choice_and_the_turn_runs_all_the_while() {
    let world = World::new();
    let daemon = world.daemon(None);
    let (turn, question) = asked(&daemon).await;
    assert_eq!(question["tool"], "post_entry");
    assert_eq!(question["args"]["choices"], json!(["red", "blue"]));
    let now = daemon.get(&format!("/v1/continuations/{turn}")).await;
    assert_eq!(
        (&now["state"], &call(&now)["state"]),
        (&json!("running"), &json!("started")),
        "{now:#}"
    );
    let (status, body) = answer(&daemon, &question, "2").await;
    assert_eq!(
        (status, &body["decision"]["answer"]),
        (200, &json!("blue")),
        "{body:#}"
    );
    let done = daemon.wait_state(&turn, "completed").await;
    assert_eq!(call(&done)["result"], "the answer is blue");
    assert_eq!(call(&done)["state"], "succeeded");
}

#[tokio::test]
async fn more_choices_than_buttons_are_answered_by_number_or_text() {
    let world = World::new();
    let daemon = world.daemon(None);
    for (said, meant) in [("9", "colour 9"), ("COLOUR 2", "colour 2")] {
        let session = daemon.session().await;
        let text = "TOOL:post_entry{\"text\":\"ask: Which of many?\"}\nSAY:done";
        let turn = daemon.send(&session, text).await;
        let question = daemon.wait_question("question", "9. colour 9").await;
        assert_eq!(question["args"]["choices"], json!([]));
        assert_eq!(answer(&daemon, &question, said).await.0, 200);
        let done = daemon.wait_state(&turn, "completed").await;
        assert_eq!(call(&done)["result"], format!("the answer is {meant}"));
    }
}

#[tokio::test]
async fn a_refusal_is_an_answer_too() {
    let world = World::new();
    let daemon = world.daemon(None);
    let (turn, question) = asked(&daemon).await;
    assert_eq!(daemon.decide(&question, "deny").await.0, 200);
    let done = daemon.wait_state(&turn, "completed").await;
    assert_eq!(call(&done)["result"], "the operator does not answer");
    assert_eq!(call(&done)["state"], "failed");
}

#[tokio::test]
async fn refusing_and_stopping_ends_the_call_with_its_turn() {
    let world = World::new();
    let daemon = world.daemon(None);
    let (turn, question) = asked(&daemon).await;
    assert_eq!(daemon.decide(&question, "deny_and_stop").await.0, 200);
    daemon.wait_state(&turn, "cancelled").await;
    assert!(daemon.pending_approvals().await.is_empty());
}

#[tokio::test]
async fn a_cancelled_turn_takes_its_question_back() {
    let world = World::new();
    let daemon = world.daemon(None);
    let (turn, question) = asked(&daemon).await;
    daemon
        .post(&format!("/v1/continuations/{turn}/cancel"), json!({}))
        .await;
    daemon.wait_state(&turn, "cancelled").await;
    let path = format!("/v1/approvals/{}", question["id"].as_str().unwrap());
    daemon
        .wait(&path, "the question is taken back", |now| {
            now["state"] == "revoked"
        })
        .await;
    assert_ne!(answer(&daemon, &question, "red").await.0, 200);
}

#[tokio::test]
async fn a_question_of_a_process_that_died_waits_for_nobody() {
    let world = World::new();
    let mut daemon = world.daemon(None);
    let (turn, question) = asked(&daemon).await;
    daemon.kill();
    let daemon = world.daemon(None);
    let path = format!("/v1/approvals/{}", question["id"].as_str().unwrap());
    assert_eq!(daemon.get(&path).await["state"], "revoked");
    // The call itself may have had its effect: a person says so.
    let unknown = daemon
        .wait_question("resolve_unknown", "did it happen")
        .await;
    assert_eq!(daemon.decide(&unknown, "give_up").await.0, 200);
    let done = daemon.wait_state(&turn, "completed").await;
    assert_eq!(call(&done)["state"], "abandoned");
}
