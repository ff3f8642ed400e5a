//! Answers that break off, and providers that ask to be left alone: one reply in the end, never two halves.

use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::model_calls::server::{ModelServer, ask, breaks_off, busy, fails, home, says, steps};
use crate::support::daemon::{DEADLINE, Daemon};

const ONE: &str = "[model]\ndefault = \"one/m\"";

/// The event stream of a daemon.
pub async fn events(daemon: &Daemon, query: &str) -> TcpStream {
    let address = daemon.base.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).await.unwrap();
    let text = format!(
        "GET /v1/events?{query} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {}\r\n\r\n",
        daemon.token
    );
    stream.write_all(text.as_bytes()).await.unwrap();
    stream
}

/// Everything up to and with the first line after `needle`.
pub async fn until(stream: &mut TcpStream, needle: &str) -> String {
    let mut text = String::new();
    let mut buffer = [0; 8192];
    loop {
        if let Some(at) = text.find(needle)
            && text[at + needle.len()..].contains("\n\n")
        {
            return text;
        }
        let size = tokio::time::timeout(DEADLINE, stream.read(&mut buffer))
            .await
            .unwrap_or_else(|_| panic!("no {needle:?} in {text:?}"))
            .unwrap();
        assert!(size > 0, "ended before {needle:?}: {text:?}");
        text.push_str(&String::from_utf8_lossy(&buffer[..size]));
    }
}

fn notes_of_engine(steps: &[Value]) -> Vec<&str> {
    steps
        .iter()
        .map(|step| step["text"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn an_answer_that_breaks_off_waits_to_be_resumed_and_gives_one_reply() {
    let one = ModelServer::chat(vec![breaks_off("Half an ans"), says("The whole answer.")]);
    let home = home(ONE, &[("one", &one)]);
    let daemon = home.daemon();
    let session = daemon.session().await;
    let turn = ask(&daemon, &session, "hello", "interrupted").await;
    assert_eq!(one.seen().len(), 1, "nothing is asked again by itself");
    assert_eq!(turn["error"]["code"], "interrupted");
    assert!(turn["response"].is_null());
    let kept = steps(&daemon, &turn, "operator_note").await;
    assert_eq!(
        notes_of_engine(&kept),
        ["The answer broke off after:\nHalf an ans"]
    );
    assert_eq!(kept[0]["by"], "engine");

    let id = turn["id"].as_str().unwrap();
    daemon
        .post(
            &format!("/v1/continuations/{id}/resume"),
            serde_json::json!({}),
        )
        .await;
    let done = daemon.wait_state(id, "completed").await;
    assert_eq!(done["response"]["text"], "The whole answer.");
    assert!(done["error"].is_null());
    let requests = one.seen();
    assert_eq!(
        requests[0]["messages"], requests[1]["messages"],
        "the half is never replayed"
    );
    assert_eq!(steps(&daemon, &done, "final").await.len(), 1);

    // Nor later, as history.
    ask(&daemon, &session, "and now?", "completed").await;
    let later = one.seen()[2]["messages"].to_string();
    assert!(
        later.contains("The whole answer.") && !later.contains("Half an ans"),
        "{later}"
    );
}

#[tokio::test]
async fn a_stream_that_breaks_before_any_text_is_asked_again() {
    let one = ModelServer::chat(vec![breaks_off(""), says("fine")]);
    let home = home(ONE, &[("one", &one)]);
    let daemon = home.daemon();
    let session = daemon.session().await;
    let done = ask(&daemon, &session, "hello", "completed").await;
    assert_eq!(done["response"]["text"], "fine");
    assert_eq!(one.seen().len(), 2);
}

#[tokio::test]
async fn a_wait_of_an_hour_is_not_sat_through() {
    let one = ModelServer::chat(vec![fails(429, "retry-after: 3600\r\n", "slow down")]);
    let home = home(ONE, &[("one", &one)]);
    let daemon = home.daemon();
    let session = daemon.session().await;
    let turn = ask(&daemon, &session, "hello", "interrupted").await;
    assert_eq!(one.seen().len(), 1);
    let message = turn["error"]["message"].as_str().unwrap();
    assert!(
        message.starts_with("one/m asks to wait 3600 s; resume the turn after 20"),
        "{message}"
    );
    assert!(steps(&daemon, &turn, "operator_note").await.is_empty());
    let id = turn["id"].as_str().unwrap();
    daemon
        .post(
            &format!("/v1/continuations/{id}/resume"),
            serde_json::json!({}),
        )
        .await;
    let done = daemon.wait_state(id, "completed").await;
    assert_eq!(done["response"]["text"], "ok");
}

#[tokio::test]
async fn a_stand_in_answers_where_the_first_one_asks_for_an_hour() {
    let one = ModelServer::chat(vec![fails(429, "retry-after: 3600\r\n", "slow down")]);
    let two = ModelServer::claude(Vec::new());
    let config = format!("{ONE}\nfallback = [\"two/n\"]");
    let home = home(&config, &[("one", &one), ("two", &two)]);
    let daemon = home.daemon();
    let session = daemon.session().await;
    let done = ask(&daemon, &session, "hello", "completed").await;
    assert_eq!((one.seen().len(), two.seen().len()), (1, 1));
    assert_eq!(done["response"]["text"], "ok");
}

#[tokio::test]
async fn who_waits_for_the_answer_of_a_turn_hears_that_it_was_interrupted() {
    let one = ModelServer::chat(vec![breaks_off("Half"), breaks_off("Half")]);
    let home = home(ONE, &[("one", &one)]);
    let daemon = home.daemon();
    let asked = serde_json::json!({"text": "hello"});
    let (status, turn) = daemon.request("POST", "/v1/ask?wait=15", Some(asked)).await;
    assert_eq!(
        (status, &turn["state"]),
        (200, &Value::from("interrupted")),
        "{turn:#}"
    );
    let out = tokio::task::spawn_blocking({
        let mut command = home.command();
        command.args(["ask", "hello"]);
        move || command.output().unwrap()
    })
    .await
    .unwrap();
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert_eq!(out.status.code(), Some(1), "{said}");
    assert!(said.contains("interrupted: the answer broke off"), "{said}");
}

#[tokio::test]
async fn consoles_hear_when_the_next_try_is_due() {
    let one = ModelServer::chat(vec![fails(429, "retry-after: 1\r\n", "slow down"), busy()]);
    let home = home(ONE, &[("one", &one)]);
    let daemon = home.daemon();
    let session = daemon.session().await;
    let mut stream = events(&daemon, "").await;
    until(&mut stream, ": open").await;
    daemon.send(&session, "hello").await;
    let text = until(&mut stream, "event: continuation.completed\ndata: ").await;
    let starts: Vec<Value> = text
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line.strip_prefix("data: ")?).ok())
        .filter(|event| event["kind"] == "model.started")
        .collect();
    let waits: Vec<bool> = starts
        .iter()
        .map(|event| event["not_before"].is_string())
        .collect();
    assert_eq!(waits, [false, true, false, true, false], "{starts:#?}");
    let at = |event: &Value, field: &str| -> jiff::Timestamp {
        event[field].as_str().unwrap().parse().unwrap()
    };
    let announced = at(&starts[1], "not_before");
    assert!(
        announced >= at(&starts[1], "at") + Duration::from_millis(900),
        "{starts:#?}"
    );
    assert!(at(&starts[2], "at") >= announced, "{starts:#?}");
    assert_eq!(starts[1]["attempt"], starts[2]["attempt"]);
}
