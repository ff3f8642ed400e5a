//! `leverframe events` prints what is stored, and follows what comes.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use serde_json::Value;

use crate::support::daemon::Home;
use crate::take_overs::daemon::cli;

fn objects(text: &str) -> Vec<Value> {
    text.lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn events_are_those_of_the_log_by_kind_session_and_number() {
    let home = Home::new("");
    let daemon = home.daemon();
    let (one, other) = (daemon.session().await, daemon.session().await);
    for session in [&one, &other] {
        let turn = daemon.send(session, "SAY:hello").await;
        daemon.wait_state(&turn, "completed").await;
    }
    let (status, text) = cli(&home, &["events", "--json"]).await;
    assert_eq!(status, Some(0), "{text}");
    let all = objects(&text);
    let last = daemon.get("/v1/snapshot").await["seq"].as_u64().unwrap();
    assert_eq!(all.last().unwrap()["seq"].as_u64(), Some(last));
    let first = all[0]["seq"].as_u64().unwrap();
    assert_eq!(all.len() as u64, last - first + 1, "all of so few");
    assert_eq!(first & u64::from(u32::MAX), 1);

    let (_, text) = cli(
        &home,
        &[
            "events",
            "--json",
            "--session",
            &one,
            "--kind",
            "continuation.",
            "--kind",
            "message",
        ],
    )
    .await;
    let some = objects(&text);
    assert!(
        some.iter().all(|event| event["session_id"] == one.as_str()),
        "{text}"
    );
    let kinds: Vec<&str> = some
        .iter()
        .map(|event| event["kind"].as_str().unwrap())
        .collect();
    assert!(
        kinds.contains(&"message.received") && kinds.contains(&"continuation.completed"),
        "{kinds:?}"
    );
    assert!(
        kinds
            .iter()
            .all(|kind| kind.starts_with("continuation.") || kind.starts_with("message"))
    );
    let (_, text) = cli(
        &home,
        &["events", "--json", "--after", &(last - 2).to_string()],
    )
    .await;
    assert_eq!(objects(&text).len(), 2);
    let (_, text) = cli(&home, &["events", "--kind", "session.started"]).await;
    assert!(
        text.contains("session.started") && text.contains(&other),
        "{text}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn watched_events_come_as_they_happen() {
    let home = Home::new("");
    let daemon = home.daemon();
    let session = daemon.session().await;
    let mut watching = home
        .command()
        .args(["events", "--watch", "--json", "--kind", "continuation."])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(watching.stdout.take().unwrap()).lines();
    // It watches once the events of a message come: earlier ones are not shown.
    let reader = std::thread::spawn(move || lines.next().unwrap().unwrap());
    let deadline = std::time::Instant::now() + crate::support::daemon::DEADLINE;
    while !reader.is_finished() {
        assert!(std::time::Instant::now() < deadline, "no event was printed");
        let turn = daemon.send(&session, "SAY:hello").await;
        daemon.wait_state(&turn, "completed").await;
    }
    let first: Value = serde_json::from_str(&reader.join().unwrap()).unwrap();
    assert!(
        first["kind"].as_str().unwrap().starts_with("continuation."),
        "{first}"
    );
    watching.kill().unwrap();
    watching.wait().unwrap();
}
