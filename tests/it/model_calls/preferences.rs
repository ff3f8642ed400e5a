//! Preferences of a session: models read them in every turn, as a part of the beginning that stays the same.

use serde_json::{Value, json};

use crate::model_calls::server::{ModelServer, ask, home};
use crate::support::daemon::Daemon;
use crate::take_overs::daemon::cli;

const ONE: &str = "[model]\ndefault = \"one/m\"\n[channels.api]\nresponse_cache = \"channel\"";

fn system(request: &Value) -> String {
    request["messages"][0]["content"]
        .as_str()
        .unwrap()
        .to_owned()
}

async fn set(daemon: &Daemon, session: &str, text: &str) -> (u16, Value) {
    let body = json!({ "preferences": text });
    daemon
        .request("PATCH", &format!("/v1/sessions/{session}"), Some(body))
        .await
}

#[tokio::test]
async fn a_session_keeps_its_preferences_and_its_beginning_over_turns_and_a_restart() {
    let one = ModelServer::chat(vec![]);
    let home = home(ONE, &[("one", &one)]);
    let mut daemon = home.daemon();
    let (session, other) = (daemon.session().await, daemon.session().await);
    ask(&daemon, &session, "hello", "completed").await;
    let text = "Answer in Welsh.\nNever use tables.\u{7}";
    let (status, changed) = set(&daemon, &session, text).await;
    assert_eq!(status, 200, "{changed}");
    assert_eq!(
        changed["preferences"],
        "Answer in Welsh.\nNever use tables."
    );
    ask(&daemon, &session, "one", "completed").await;
    ask(&daemon, &session, "two", "completed").await;
    ask(&daemon, &other, "three", "completed").await;
    daemon.kill();
    let daemon = home.daemon();
    let path = format!("/v1/sessions/{session}");
    let known = daemon.get(&path).await;
    assert_eq!(known["preferences"], changed["preferences"]);
    ask(&daemon, &session, "four", "completed").await;
    let (status, changed) = set(&daemon, &session, " ").await;
    assert_eq!((status, &changed["preferences"]), (200, &Value::Null));
    ask(&daemon, &session, "five", "completed").await;

    let seen: Vec<String> = one.seen().iter().map(system).collect();
    let [before, first, second, elsewhere, restarted, after] = seen.as_slice() else {
        panic!("{seen:#?}");
    };
    assert!(first.starts_with(before.as_str()), "{first}");
    let told = "set by its operator; follow them unless they contradict the above:\n\
        Answer in Welsh.\nNever use tables.\n";
    assert!(first.ends_with(told), "{first}");
    assert_eq!((first, first), (second, restarted));
    assert_eq!((before, before), (elsewhere, after));
}

#[tokio::test]
async fn an_answer_that_was_cached_under_other_preferences_is_not_given() {
    let one = ModelServer::chat(vec![]);
    let home = home(ONE, &[("one", &one)]);
    let daemon = home.daemon();
    for (text, requests) in [
        (None, 1),
        (None, 1),
        (Some("In Welsh."), 2),
        (Some("In Welsh."), 2),
    ] {
        let session = daemon.session().await;
        if let Some(text) = text {
            set(&daemon, &session, text).await;
        }
        ask(
            &daemon,
            &session,
            "what is the capital of Wales?",
            "completed",
        )
        .await;
        assert_eq!(one.seen().len(), requests, "{text:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn they_are_bounded_redacted_audited_and_set_from_the_command_line() {
    let one = ModelServer::chat(vec![]);
    let home = home(ONE, &[("one", &one)]);
    let daemon = home.daemon();
    let session = daemon.session().await;
    let (status, problem) = set(&daemon, &session, &"x".repeat(2049)).await;
    let text = problem.to_string();
    assert_eq!(status, 400, "{text}");
    assert!(text.contains("has 2049 bytes; at most 2048"), "{text}");
    let key =
        "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghij-AA";
    let (status, changed) = set(&daemon, &session, &format!("Use {key}.")).await;
    assert_eq!(status, 200);
    assert!(!changed.to_string().contains("abcdefghij"), "{changed}");

    let run = async |words: &[&str]| {
        let (status, text) = cli(
            &home,
            &[&["sessions", "preferences", &session], words].concat(),
        )
        .await;
        assert_eq!(status, Some(0), "{words:?}: {text}");
        text
    };
    let text = run(&["Answer", "in", "Welsh."]).await;
    assert!(text.starts_with("preferences set: "), "{text}");
    assert_eq!(run(&[]).await, "Answer in Welsh.\n");
    let (_, exported) = cli(&home, &["sessions", "export", &session]).await;
    assert!(exported.contains("- preferences: "), "{exported}");
    let text = run(&["--clear"]).await;
    assert!(text.starts_with("preferences removed: "), "{text}");
    assert_eq!(run(&[]).await, "this session has no preferences\n");

    let audit = daemon.get("/v1/audit?action=session.updated").await;
    let rows = audit["items"].as_array().unwrap();
    let details: Vec<&str> = rows
        .iter()
        .filter_map(|row| row["detail"].as_str())
        .collect();
    let wanted = [0, 16, 15].map(|bytes| format!("{{\"preferences_bytes\":{bytes}}}"));
    assert_eq!(details, wanted, "{audit:#}");
}
