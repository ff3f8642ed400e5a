//! What a call costs that gave no answer: an estimate where the server may have worked on it, nothing where it refused or
//! was not reached.

use serde_json::Value;

use crate::model_calls::server::{ModelServer, ask, breaks_off, fails, says};
use crate::support::daemon::{Daemon, Home};
use crate::support::fake_http::Reply;

/// A dollar for a million tokens in, ten for a million out.
const PRICED: &str = "[providers.one.prices]\nm = { input = 1.0, output = 10.0 }";

fn home(one: &ModelServer) -> Home {
    let model = "[model]\ndefault = \"one/m\"\n[engine]\nmax_model_attempts = 1";
    Home::new(&format!("{model}\n{}", one.table("one", PRICED)))
}

/// Tokens in, tokens out and dollars of a turn; the books of the day must say the same.
async fn spent(daemon: &Daemon, turn: &Value) -> (u64, u64, f64) {
    let id = turn["id"].as_str().unwrap();
    let turn = daemon.get(&format!("/v1/continuations/{id}")).await;
    let costs = daemon.get("/v1/costs?by=model").await;
    let read = |usage: &Value| {
        (
            usage["input_tokens"].as_u64().unwrap(),
            usage["output_tokens"].as_u64().unwrap(),
            usage["cost_usd"].as_f64().unwrap(),
        )
    };
    let (of_turn, of_day) = (read(&turn["usage"]), read(&costs["total"]));
    assert_eq!((of_turn.0, of_turn.1), (of_day.0, of_day.1), "{costs:#}");
    assert!((of_turn.2 - of_day.2).abs() < 1e-9, "{costs:#}");
    of_turn
}

#[tokio::test]
async fn an_answer_that_broke_off_is_paid_by_an_estimate() {
    let half = "Half of an answer. ".repeat(40);
    let one = ModelServer::chat(vec![breaks_off(&half)]);
    let home = home(&one);
    let daemon = home.daemon();
    let session = daemon.session().await;
    let turn = ask(&daemon, &session, "hello", "interrupted").await;
    let (input, output, cost) = spent(&daemon, &turn).await;
    // The server said nothing of tokens: about four characters each, of what was sent and of what came.
    let sent = one.seen()[0].to_string().len() as u64;
    assert!((sent / 8..sent / 2).contains(&input), "{input} of {sent}");
    let came = half.len() as u64;
    assert!((came / 8..came / 2).contains(&output), "{output} of {came}");
    let priced = (input as f64 + 10.0 * output as f64) / 1e6;
    assert!((cost - priced).abs() < 1e-9, "{cost} {priced}");
}

#[tokio::test]
async fn a_call_that_was_refused_costs_nothing() {
    for reply in [
        fails(401, "", "no such key"),
        fails(500, "", "out of order"),
        fails(429, "", "slow down"),
    ] {
        let one = ModelServer::chat(vec![reply]);
        let home = home(&one);
        let daemon = home.daemon();
        let session = daemon.session().await;
        let turn = ask(&daemon, &session, "hello", "failed").await;
        assert_eq!(one.seen().len(), 1);
        let (input, output, cost) = spent(&daemon, &turn).await;
        assert_eq!((input, output), (0, 0));
        assert!(cost.abs() < 1e-12, "{cost}");
        // Nothing stays reserved for it either: the next call has the whole budget.
        one.next(says("fine"));
        let done = ask(&daemon, &session, "again", "completed").await;
        assert_eq!(done["usage"]["input_tokens"], 100);
    }
}

#[tokio::test]
async fn a_try_that_broke_before_its_text_counts_beside_the_one_that_answered() {
    let one = ModelServer::chat(vec![breaks_off(""), says("fine")]);
    let model = "[model]\ndefault = \"one/m\"";
    let home = Home::new(&format!("{model}\n{}", one.table("one", PRICED)));
    let daemon = home.daemon();
    let session = daemon.session().await;
    let done = ask(&daemon, &session, "hello", "completed").await;
    assert_eq!(one.seen().len(), 2);
    // The one that answered reported 100 and 5.
    let sent = one.seen()[0].to_string().len() as u64;
    let (input, output, _) = spent(&daemon, &done).await;
    assert!(input > 100 + sent / 8, "{input} of {sent}");
    assert!(output > 5, "{output}");
}

#[tokio::test]
async fn a_call_that_was_sent_and_never_answered_is_paid_by_an_estimate() {
    for silent in [Reply::Hang, Reply::Reset] {
        let one = ModelServer::chat(vec![silent]);
        let prices = format!("first_byte_timeout_seconds = 1\n{PRICED}");
        let model = "[model]\ndefault = \"one/m\"\n[engine]\nmax_model_attempts = 1";
        let home = Home::new(&format!("{model}\n{}", one.table("one", &prices)));
        let daemon = home.daemon();
        let session = daemon.session().await;
        let turn = ask(&daemon, &session, "hello", "failed").await;
        let (input, output, cost) = spent(&daemon, &turn).await;
        let sent = one.seen()[0].to_string().len() as u64;
        assert!((sent / 8..sent / 2).contains(&input), "{input} of {sent}");
        assert_eq!(output, 0);
        assert!((cost - input as f64 / 1e6).abs() < 1e-9, "{cost}");
    }
}
