//! `leverframe log` and `GET /v1/log`: the newest lines of the daemon, by level, without secrets.

use serde_json::Value;

use crate::support::daemon::Home;
use crate::take_overs::daemon::cli;

const SECRET: &str = "SECRET-of-the-model-1234567";

fn texts(log: &Value) -> Vec<String> {
    let lines = log["lines"].as_array().unwrap().iter();
    lines
        .map(|line| line["text"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_is_read_by_level_and_followed_by_number() {
    let home = Home::new("");
    let daemon = home.daemon_with(&[("LEVERFRAME_LOG", "info,leverframe::activity=debug")]);
    let session = daemon.session().await;
    let turn = daemon.send(&session, "SAY:hello").await;
    daemon.wait_state(&turn, "completed").await;
    let has_turn = |log: &Value| texts(log).iter().any(|text| text.starts_with("turn "));
    let log = daemon.wait("/v1/log", "a line of the turn", has_turn).await;
    assert_eq!(log["filter"], "info,leverframe::activity=debug");
    let numbers: Vec<u64> = log["lines"]
        .as_array()
        .unwrap()
        .iter()
        .map(|line| line["number"].as_u64().unwrap())
        .collect();
    assert!(numbers.is_sorted(), "{numbers:?}");

    let errors = daemon.get("/v1/log?level=error").await;
    assert_eq!(texts(&errors), [""; 0], "{errors:#}");
    let last = log["last"].as_u64().unwrap();
    let turn = daemon.send(&session, "FAIL:auth").await;
    daemon.wait_state(&turn, "failed").await;
    let path = format!("/v1/log?after={last}");
    let new = daemon
        .wait(&path, "a line of the second turn", has_turn)
        .await;
    assert!(new["lines"][0]["number"].as_u64().unwrap() > last);
    assert!(
        !texts(&new).iter().any(|text| text.contains("SAY:hello")),
        "{new:#}"
    );

    let (status, text) = cli(&home, &["log", "--limit", "2"]).await;
    assert_eq!((status, text.lines().count()), (Some(0), 2), "{text}");
    let (status, text) = cli(&home, &["log", "--level", "error"]).await;
    assert_eq!(status, Some(0));
    assert!(text.contains("no line; the daemon writes `info,"), "{text}");
    let (status, text) = cli(&home, &["log", "--level", "loud"]).await;
    assert_eq!(status, Some(2));
    assert!(
        text.contains("expected one of error, warn, info, debug, trace"),
        "{text}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn no_secret_is_in_the_lines_that_are_kept() {
    let home = Home::new(
        "[providers.one]\nkind = \"openai-chat\"\nbase_url = \"http://127.0.0.1:9\"\napi_key_env = \"ONE_KEY\"\n",
    );
    let daemon = home.daemon_with(&[("ONE_KEY", SECRET), ("LEVERFRAME_LOG", "debug")]);
    let session = daemon.session().await;
    let turn = daemon.send(&session, &format!("SAY:it is {SECRET}")).await;
    daemon.wait_state(&turn, "completed").await;
    let seen = |log: &Value| texts(log).iter().any(|text| text.contains("[redacted]"));
    let log = daemon
        .wait("/v1/log?level=debug", "a line with the text", seen)
        .await;
    assert!(!log.to_string().contains(SECRET), "{log:#}");
}
