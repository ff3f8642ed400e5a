//! The built-in script through the real daemon: what a person without any model can see.

use serde_json::json;

use crate::end_to_end_models::stories::{answered, ask, attempts, model_steps};
use crate::support::daemon::Home;
use crate::support::fake_telegram::FakeTelegram;
use crate::support::fake_telegram::state::User;

fn with_autonomy(level: &str) -> Home {
    let permanent = if level == "full" {
        "permanent_full = true\n"
    } else {
        ""
    };
    Home::new(&format!(
        "[channels.api]\nautonomy = \"{level}\"\n{permanent}"
    ))
}

#[tokio::test]
async fn two_things_ask_twice_once_or_never() {
    for (level, expected) in [("supervised", 2), ("semi_auto", 1), ("full", 0)] {
        let home = with_autonomy(level);
        let daemon = home.daemon();
        let continuation = ask(&daemon, "two things").await;
        let path = format!("/v1/continuations/{continuation}");
        let wanted = if expected == 0 {
            "completed"
        } else {
            "awaiting_approval"
        };
        daemon
            .wait(&path, wanted, |body| body["state"] == wanted)
            .await;
        let asked = daemon.pending_approvals().await;
        assert_eq!(asked.len(), expected, "{level}: {asked:#?}");
        for approval in &asked {
            assert_eq!(daemon.decide(approval, "approve").await.0, 200);
        }
        let done = daemon.wait_state(&continuation, "completed").await;
        let note = home.workspace("api").join("scripted-note.txt");
        let lines = std::fs::read_to_string(note).unwrap();
        assert_eq!(lines.lines().count(), 1, "{level}: once");
        let text = done["response"]["text"].as_str().unwrap();
        assert!(text.contains("list_files says"), "{level}: {text}");
        assert!(text.contains("write_file says"), "{level}: {text}");
    }
}

#[tokio::test]
async fn a_refusal_is_waited_for_and_both_attempts_are_counted() {
    let home = Home::new("");
    let daemon = home.daemon();
    let began = std::time::Instant::now();
    let done = answered(&daemon, "fail").await;
    assert!(began.elapsed().as_millis() >= 2_000, "it asked to wait");
    assert_eq!(attempts(&daemon, &done).await, 2);
    let text = done["response"]["text"].as_str().unwrap();
    assert!(text.contains("second attempt"), "{text}");
    assert_eq!(done["usage"]["cost_usd"], 0.0);
}

#[tokio::test]
async fn a_broken_stream_is_resumed_and_answered_once() {
    let home = Home::new("");
    let daemon = home.daemon();
    let continuation = ask(&daemon, "break").await;
    daemon.wait_state(&continuation, "interrupted").await;
    let path = format!("/v1/continuations/{continuation}/resume");
    daemon.post(&path, json!({})).await;
    let done = daemon.wait_state(&continuation, "completed").await;
    let text = done["response"]["text"].as_str().unwrap();
    assert!(text.starts_with("This is the whole answer, once"), "{text}");
    assert!(!text.contains("I was about to"), "{text}");
}

#[tokio::test]
async fn wrong_calls_never_run_and_odd_answers_are_told() {
    let home = Home::new("[channels.api]\nautonomy = \"full\"\npermanent_full = true\n");
    let daemon = home.daemon();
    for (phrase, told) in [
        ("bad arguments", "not a complete JSON object"),
        ("unknown tool", "no tool `open_the_pod_bay_doors`"),
    ] {
        let done = answered(&daemon, phrase).await;
        let call = &done["tool_calls"][0];
        assert_eq!(call["state"], "failed", "{done:#}");
        assert_eq!(call["attempts"], 0, "it never started");
        assert!(call["result"].as_str().unwrap().contains(told), "{call:#}");
    }
    for (phrase, told) in [
        ("refuse", "I will not do that."),
        ("cut short", "cut at the output limit"),
        ("remember the milk", "remembered for this session"),
        ("help", "`two things`"),
        ("hello", "no AI model"),
    ] {
        let done = answered(&daemon, phrase).await;
        let text = done["response"]["text"].as_str().unwrap();
        assert!(text.contains(told), "{phrase}: {text}");
    }
    assert!(!home.workspace("api").join("scripted-note.txt").exists());
}

#[tokio::test]
async fn a_turn_that_never_ends_is_stopped_by_its_budget() {
    let home = Home::new("[channels.api]\nautonomy = \"semi_auto\"\n");
    let daemon = home.daemon();
    let continuation = ask(&daemon, "loop").await;
    let asked = daemon.wait_approval().await;
    assert_eq!(asked["kind"], "budget", "{asked:#}");
    assert_eq!(asked["continuation_id"], continuation.as_str());
}

/// The second call of a conversation sends what the first sent, and says that it was known.
#[tokio::test]
async fn the_second_call_of_a_conversation_reports_cached_tokens() {
    let home = Home::new("");
    let daemon = home.daemon();
    let session = daemon.session().await;
    let mut cached = Vec::new();
    for text in ["SAY:one", "SAY:two"] {
        let id = daemon.send(&session, text).await;
        let done = daemon.wait_state(&id, "completed").await;
        let steps = model_steps(&daemon, &done).await;
        let usage = &steps[0]["usage"];
        cached.push((
            usage["cached_input_tokens"].as_u64().unwrap(),
            usage["input_tokens"].as_u64().unwrap(),
        ));
    }
    assert_eq!(cached[0].0, 0, "nothing was sent before");
    assert!(cached[1].0 > 100 && cached[1].0 < cached[1].1, "{cached:?}");
}

#[tokio::test]
async fn on_a_real_channel_the_first_line_says_what_answers() {
    let telegram = FakeTelegram::start();
    let home = Home::new(&format!(
        "[model]\ndefault = \"scripted/demo\"\nallow_scripted_on_channels = true\n\n\
         [channels.team]\nkind = \"telegram\"\ntoken_env = \"TEAM_TOKEN\"\napi_base = \"{}\"\n\
         allowed_users = [\"100\"]\n",
        telegram.url()
    ));
    let token = telegram.state().token.clone();
    let daemon = home.daemon_with(&[("TEAM_TOKEN", &token)]);
    telegram.user_says(100, &User::new(100, "Ben"), "SAY:good morning");
    telegram
        .wait_until("an answer", |state| {
            state
                .messages
                .iter()
                .any(|m| m.chat == 100 && m.text.contains("good morning"))
        })
        .await;
    let answer = telegram
        .messages(100)
        .into_iter()
        .find(|m| m.text.contains("good morning"))
        .unwrap();
    let first = answer.text.lines().next().unwrap();
    assert!(first.contains("built-in script, no AI model"), "{answer:?}");
    // What is stored is what the model said; on a local channel nothing stands before it.
    let done = answered(&daemon, "SAY:good morning").await;
    assert_eq!(done["response"]["text"], "good morning");
}
