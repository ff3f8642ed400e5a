//! `ask_operator`: the agent asks, a person answers on any surface, and the turn goes on with the answer.

use serde_json::{Value, json};

use crate::stories::bot::{self, anna, ben, cli, shown};
use crate::support::daemon::Home;
use crate::support::fake_telegram::FakeTelegram;

const ASK: &str = "TOOL:ask_operator{\"question\":\"Deploy where?\",\"choices\":[\"staging\",\"production\"]}\nSAY:all done";
const OPEN: &str =
    "TOOL:ask_operator{\"question\":\"What is the name of the host?\"}\nSAY:all done";

fn call(turn: &Value) -> &Value {
    &turn["tool_calls"][0]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_waits_in_full_autonomy_too_and_its_number_is_its_choice() {
    let home = Home::new("[channels.api]\nautonomy = \"full\"\npermanent_full = true\n");
    let mut daemon = home.daemon();
    let session = daemon.session().await;
    let turn = daemon.send(&session, ASK).await;
    let asked = daemon
        .wait_question("question", "Deploy where?\n1. staging\n2. production")
        .await;
    assert_eq!(asked["risk"], "low");
    assert_eq!(
        asked["offered"],
        json!(["answer", "deny", "deny_and_stop", "snooze"])
    );
    // Nothing would run, so nothing can be allowed.
    let (status, problem) = daemon.decide(&asked, "approve").await;
    assert_eq!(problem["kind"], "not_offered", "{status} {problem}");

    daemon.kill();
    let daemon = home.daemon();
    let again = daemon.wait_question("question", "Deploy where?").await;
    assert_eq!(again["id"], asked["id"], "the question outlives the daemon");
    let (id, digest) = (
        asked["id"].as_str().unwrap(),
        asked["digest"].as_str().unwrap(),
    );
    let (ok, text) = cli(&home, &["approvals", "answer", id, "2", "--digest", digest]).await;
    assert!(ok, "{text}");
    let done = daemon.wait_state(&turn, "completed").await;
    assert_eq!(call(&done)["state"], "succeeded");
    assert_eq!(call(&done)["result"], "the operator answers: production");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_question_tells_the_model_and_the_turn_goes_on() {
    let home = Home::new("");
    let daemon = home.daemon();
    let session = daemon.session().await;
    let turn = daemon.send(&session, OPEN).await;
    let asked = daemon.wait_question("question", "name of the host").await;
    assert_eq!(daemon.decide(&asked, "deny").await.0, 200);
    let done = daemon.wait_state(&turn, "completed").await;
    let content = call(&done)["result"].as_str().unwrap();
    assert!(
        content.starts_with("the operator does not answer."),
        "{content}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_without_a_question_is_refused_before_anybody_is_asked() {
    let home = Home::new("");
    let daemon = home.daemon();
    let session = daemon.session().await;
    for args in [
        json!({"question": "  "}),
        json!({"question": "Which?", "choices": ["a", " "]}),
        json!({"question": "Which?", "choices": vec!["a"; 9]}),
        json!({"question": "x".repeat(1501)}),
    ] {
        let text = format!("TOOL:ask_operator{args}\nSAY:all done");
        let turn = daemon.send(&session, &text).await;
        let done = daemon.wait_state(&turn, "completed").await;
        assert_eq!(call(&done)["state"], "failed", "{done:#}");
    }
    assert!(daemon.pending_approvals().await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chat_answers_with_the_button_of_a_choice_or_in_its_own_words() {
    let telegram = FakeTelegram::start();
    let home = bot::home(
        &telegram,
        "allowed_users = [\"100\"]",
        "[people.anna]\nids = [\"telegram:200\"]\nrole = \"owner\"",
    );
    let daemon = bot::start(&home, &telegram, &[200], &[]);
    telegram.user_says(100, &ben(), ASK);
    let card = shown(&telegram, 200, "Deploy where?").await;
    assert_eq!(card.labels(), ["staging", "production", "Deny"]);
    telegram.user_clicks(200, card.message_id, "staging", &anna());
    shown(&telegram, 100, "all done").await;
    let turns = daemon.get("/v1/continuations").await;
    let turn = turns["items"][0]["id"].as_str().unwrap();
    let done = daemon.wait_state(turn, "completed").await;
    assert_eq!(call(&done)["result"], "the operator answers: staging");

    telegram.user_says(100, &ben(), OPEN);
    let asked = daemon.wait_question("question", "name of the host").await;
    let code = asked["short_code"].as_str().unwrap();
    shown(&telegram, 200, &format!("/answer {code} your text")).await;
    telegram.user_says(200, &anna(), &format!("/answer {code}"));
    shown(&telegram, 200, "What is the answer?").await;
    telegram.user_says(200, &anna(), &format!("/answer {code} db-2 in the cellar"));
    let turn = asked["continuation_id"].as_str().unwrap();
    let done = daemon.wait_state(turn, "completed").await;
    let content = &call(&done)["result"];
    assert_eq!(
        content, "the operator answers: db-2 in the cellar",
        "{done:#}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_tainted_turn_would_remember_is_asked_as_a_memory() {
    let home = Home::new("[channels.api]\nautonomy = \"full\"\npermanent_full = true\n");
    let daemon = home.daemon();
    let session = daemon.session().await;
    let message = json!({
        "text": "TOOL:remember{\"text\":\"the sky is green\"}\nSAY:all done",
        "attachments": [{"name": "a.txt", "data": "aGVsbG8K"}],
    });
    let sent = daemon
        .post(&format!("/v1/sessions/{session}/messages"), message)
        .await;
    let asked = daemon.wait_approval().await;
    assert_eq!(asked["kind"], "memory", "{asked:#}");
    assert_eq!(asked["preview"]["text"], "the sky is green");
    assert_eq!(
        asked["offered"],
        json!(["approve", "deny", "deny_and_stop", "edit", "snooze"])
    );
    assert_eq!(daemon.decide(&asked, "approve").await.0, 200);
    let turn = sent["continuation_id"].as_str().unwrap();
    let done = daemon.wait_state(turn, "completed").await;
    assert_eq!(call(&done)["state"], "succeeded", "{done:#}");
    let kept = daemon.get("/v1/memory").await;
    assert!(kept.to_string().contains("the sky is green"), "{kept:#}");
}
