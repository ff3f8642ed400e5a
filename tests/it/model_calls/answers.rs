//! Answers that say nothing, calls that nobody can read, and answers that want to go on.

use serde_json::json;

use crate::model_calls::server::{ModelServer, ask, calls, claude, home, says, steps, text};
use crate::support::fake_platform::FakePlatform;

const ONE: &str = "[model]\ndefault = \"one/m\"\n[channels.api]\nautonomy = \"semi_auto\"";

#[tokio::test]
async fn silence_after_results_is_nudged_once() {
    let list = || calls("list_files", "{}");
    let one = ModelServer::chat(vec![list(), says(""), says("Nothing there.")]);
    let home = home(ONE, &[("one", &one)]);
    let daemon = home.daemon();
    let session = daemon.session().await;
    let done = ask(&daemon, &session, "look", "completed").await;
    assert_eq!(done["response"]["text"], "Nothing there.");
    let requests = one.seen();
    assert_eq!(requests.len(), 3);
    let last = requests[2]["messages"].as_array().unwrap().last().unwrap();
    assert_eq!(last["role"], "user");
    assert!(
        last["content"]
            .as_str()
            .unwrap()
            .contains("Answer the user now"),
        "{last}"
    );
    let notes = steps(&daemon, &done, "model").await[1]["notes"].to_string();
    assert!(
        notes.contains("gave no answer to the results of its calls; asked once more"),
        "{notes}"
    );
    // Three answers of 105 tokens were paid.
    assert_eq!(done["usage"]["input_tokens"], 300);
}

#[tokio::test]
async fn two_silences_are_the_operator_s_and_the_chat_hears_nothing() {
    let one = ModelServer::chat(vec![calls("list_files", "{}"), says(""), says("")]);
    let platform = FakePlatform::start(false);
    let config = format!(
        "{ONE}\n[channels.team]\nkind = \"scripted\"\napi_base = \"{}\"\nautonomy = \"semi_auto\"\nallowed_users = [\"u1\"]",
        platform.api_base("native")
    );
    let home = home(&config, &[("one", &one)]);
    let daemon = home.daemon();
    platform.say("c1", "u1", "look");
    let turns = daemon
        .wait("/v1/continuations", "a completed turn", |page| {
            page["items"][0]["state"] == "completed"
        })
        .await;
    let done = &turns["items"][0];
    assert_eq!(done["response"]["text"], "(no answer)");
    let outbox = daemon.get("/v1/outbox").await;
    let finals: Vec<_> = outbox["items"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|item| item["class"] == "final")
        .collect();
    assert!(finals.is_empty(), "{finals:?}");
    assert_eq!(one.seen().len(), 3);
}

#[tokio::test]
async fn malformed_arguments_are_answered_twice_and_then_the_turn_fails() {
    let bad = || calls("read_file", "{\"path\": \"REA");
    let one = ModelServer::chat(vec![bad(), bad(), bad(), says("never reached")]);
    let home = home(ONE, &[("one", &one)]);
    let daemon = home.daemon();
    let session = daemon.session().await;
    let failed = ask(&daemon, &session, "read", "failed").await;
    assert_eq!(failed["error"]["code"], "model_malformed_call");
    assert_eq!(one.seen().len(), 3);
    let results = steps(&daemon, &failed, "tool_result").await;
    assert_eq!(results.len(), 2);
    for result in &results {
        let content = result["content"].as_str().unwrap();
        assert!(content.contains("not a complete JSON object"), "{content}");
        assert_eq!(result["is_error"], true);
    }
    assert!(failed["approvals"].as_array().unwrap().is_empty());

    // A good call between them starts the count anew.
    let good = calls("list_files", "{}");
    let one = ModelServer::chat(vec![bad(), bad(), good, bad(), bad(), says("there")]);
    let home = crate::model_calls::server::home(ONE, &[("one", &one)]);
    let daemon = home.daemon();
    let session = daemon.session().await;
    let done = ask(&daemon, &session, "read", "completed").await;
    assert_eq!(done["response"]["text"], "there");
}

#[tokio::test]
async fn unknown_tools_and_wrong_arguments_come_back_as_results() {
    let one = ModelServer::chat(vec![
        calls("rm_rf", "{}"),
        calls("list_files", "{\"nonsense\": 1}"),
        says("I see."),
    ]);
    let home = home(ONE, &[("one", &one)]);
    let daemon = home.daemon();
    let session = daemon.session().await;
    let done = ask(&daemon, &session, "go", "completed").await;
    let results = steps(&daemon, &done, "tool_result").await;
    let said = |n: usize| results[n]["content"].as_str().unwrap().to_owned();
    assert!(
        said(0).contains("rm_rf") && said(0).contains("list_files"),
        "{}",
        said(0)
    );
    assert!(said(1).contains("nonsense"), "{}", said(1));
    assert!(done["approvals"].as_array().unwrap().is_empty());
}

#[tokio::test]
async fn a_paused_answer_goes_back_as_it_is_and_counts_as_a_step() {
    let thinking = json!({"type": "thinking", "thinking": "", "signature": "sig-1"});
    let one = ModelServer::claude(vec![
        claude(&[thinking, text("So far.")], "pause_turn"),
        claude(&[text("Done.")], "end_turn"),
    ]);
    let home = home(ONE, &[("one", &one)]);
    let daemon = home.daemon();
    let session = daemon.session().await;
    let done = ask(&daemon, &session, "go", "completed").await;
    assert_eq!(done["response"]["text"], "Done.");
    assert_eq!(steps(&daemon, &done, "model").await.len(), 2);
    let requests = one.seen();
    let last = requests[1]["messages"].as_array().unwrap().last().unwrap();
    assert_eq!(last["role"], "assistant");
    assert!(last.to_string().contains("sig-1"), "{last}");

    // One that never ends meets the limit of steps.
    for _ in 0..12 {
        one.next(claude(&[text("More.")], "pause_turn"));
    }
    let waits = daemon.send(&session, "go on").await;
    let waits = daemon.wait_state(&waits, "awaiting_approval").await;
    assert_eq!(steps(&daemon, &waits, "model").await.len(), 8);
    // Text alone goes back unchanged, too, with nothing behind it.
    let requests = one.seen();
    let last = requests[3]["messages"].as_array().unwrap().last().unwrap();
    assert_eq!(last["role"], "assistant", "{last}");
    assert!(last.to_string().contains("More."), "{last}");
}
