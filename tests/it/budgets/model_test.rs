//! Testing a model costs what its calls cost: they are reserved, settled and counted like those of a turn.

use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::model_profiles::server::{Abilities, ChatServer, KEY, home, run};
use crate::support::daemon::{Daemon, Home};
use crate::support::fake_http::{FakeHttp, Reply};

/// 120 tokens in and 12 out in a test with two calls of the tool: 0.00012 + 0.00012 dollars.
const PRICED: &str = "prices.\"this-model\" = { input = 1.0, output = 10.0 }";
const COST: f64 = 0.000_24;

fn near(value: &Value, expected: f64) {
    let found = value
        .as_f64()
        .unwrap_or_else(|| panic!("no number: {value}"));
    assert!((found - expected).abs() < 1e-9, "{found}, not {expected}");
}

async fn item(daemon: &Daemon, name: &str) -> Value {
    let costs = daemon.get("/v1/costs?by=channel").await;
    let items = costs["items"].as_array().unwrap();
    let found = items.iter().find(|item| item["name"] == name);
    found
        .cloned()
        .unwrap_or_else(|| panic!("no {name}: {costs}"))
}

/// Of the test's own turn: the only continuation there is.
async fn turn(daemon: &Daemon, state: &str) -> Value {
    let list = daemon
        .wait("/v1/continuations", "the turn of the test", |body| {
            body["items"][0]["state"] == state
        })
        .await;
    list["items"][0].clone()
}

#[tokio::test]
async fn a_test_is_counted_on_the_channel_it_came_through_with_and_without_a_daemon() {
    let server = ChatServer::start(Abilities::default());
    let home = home(server.http.url(), PRICED);
    // Nothing runs, nothing is there: its calls are counted where a daemon finds them.
    let ran = run(&home, &["models", "test", "--json"]);
    assert_eq!(ran.status, Some(0), "{}{}", ran.out, ran.err);
    let test: Value = serde_json::from_str(&ran.out).unwrap();
    near(&test["usage"]["cost_usd"], COST);

    let daemon = home.daemon_with(&[("HOUSE_KEY", KEY)]);
    let mut cli = item(&daemon, "cli").await;
    assert_eq!((&cli["calls"], &cli["failed"]), (&json!(3), &json!(0)));
    assert_eq!(
        (&cli["input_tokens"], &cli["output_tokens"]),
        (&json!(120), &json!(12))
    );
    near(&cli["cost_usd"], COST);

    let test = daemon.post("/v1/models/test", json!({})).await;
    near(&test["usage"]["cost_usd"], COST);
    let api = item(&daemon, "api").await;
    assert_eq!(api["calls"], 3);
    near(&api["cost_usd"], COST);
    let ended = turn(&daemon, "completed").await;
    assert_eq!(ended["channel"], "api", "{ended}");
    assert_eq!(ended["request"]["text"], "models test house/this-model");
    near(&ended["usage"]["cost_usd"], COST);
    let said = ended["response"]["text"].as_str().unwrap();
    assert!(
        said.contains("streaming ok") && said.contains("tools ok"),
        "{said}"
    );

    // Through the daemon, and over the command line too.
    assert_eq!(run(&home, &["models", "test", "--yes"]).status, Some(0));
    cli = item(&daemon, "cli").await;
    assert_eq!(cli["calls"], 6);
    near(&cli["cost_usd"], 2.0 * COST);
    let shown = run(&home, &["costs", "--by", "model"]).out;
    let row = shown
        .lines()
        .find(|line| line.starts_with("house/this-model"));
    let words: Vec<&str> = row
        .unwrap_or_else(|| panic!("{shown}"))
        .split_whitespace()
        .collect();
    assert_eq!(words[1..5], ["9", "0", "360", "36"], "{shown}");

    let checked = run(&home, &["doctor", "--check"]);
    assert_eq!(checked.status, Some(0), "{}", checked.out);

    // It is no turn of anybody: there is nothing to repeat.
    let id = ended["id"].as_str().unwrap();
    let (status, problem) = daemon
        .request(
            "POST",
            &format!("/v1/continuations/{id}/retry"),
            Some(json!({})),
        )
        .await;
    assert_eq!(status, 422, "{problem}");
    assert!(
        problem["hint"].as_str().unwrap().contains("models test"),
        "{problem}"
    );
}

#[tokio::test]
async fn a_used_up_budget_refuses_a_test_before_anything_is_sent() {
    for table in [
        "[budgets.day]",
        "[channels.api.budget]",
        "[budgets.session]",
        "[budgets]",
    ] {
        let server = ChatServer::start(Abilities::default());
        let home = home(
            server.http.url(),
            &format!("{PRICED}\n{table}\nmax_cost_usd = 0.001"),
        );
        let daemon = home.daemon_with(&[("HOUSE_KEY", KEY)]);
        let (status, problem) = daemon
            .request("POST", "/v1/models/test", Some(json!({})))
            .await;
        assert_eq!(status, 409, "{table}: {problem}");
        assert_eq!(problem["title"], "budget used up");
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.starts_with("max_cost_usd of "), "{detail}");
        assert!(
            detail.contains("more than the whole budget of $0.0010"),
            "{detail}"
        );
        assert!(server.bodies().is_empty(), "{table}: it was asked");
        let failed = turn(&daemon, "failed").await;
        assert_eq!(failed["error"]["code"], "test", "{failed}");
        let costs = daemon.get("/v1/costs").await;
        assert_eq!(costs["total"]["calls"], 0, "{costs}");
        assert_eq!(
            daemon.get("/v1/approvals?state=pending").await["items"],
            json!([])
        );
        if table == "[budgets.day]" {
            let ran = run(&home, &["models", "test", "--yes"]);
            assert_eq!(ran.status, Some(5), "{}", ran.err);
            assert!(
                ran.err.contains("max_cost_usd of all channels today"),
                "{}",
                ran.err
            );
        }
    }
}

/// A server that does not answer while it is told not to; and whether it was asked.
fn holding() -> (FakeHttp, Arc<AtomicBool>, Arc<Mutex<u32>>) {
    let holds = Arc::new(AtomicBool::new(true));
    let asked = Arc::new(Mutex::new(0));
    let (held, count) = (Arc::clone(&holds), Arc::clone(&asked));
    let http = FakeHttp::start(move |request| {
        if request.path == "/v1/chat/completions" {
            *count.lock().unwrap() += 1;
        }
        if held.load(Ordering::SeqCst) {
            Reply::Hang
        } else {
            Reply::Json(500, json!({"error": {"message": "no luck"}}))
        }
    });
    (http, holds, asked)
}

fn begin(home: &Home) -> std::process::Child {
    let mut command: Command = home.command();
    command
        .args(["models", "test", "--yes"])
        .env("HOUSE_KEY", KEY)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

#[tokio::test]
async fn a_test_that_is_cut_off_counts_as_it_was_reserved_and_is_never_resumed() {
    let (http, _holds, asked) = holding();
    let home = home(http.url(), PRICED);
    let mut daemon = home.daemon_with(&[("HOUSE_KEY", KEY)]);
    // Cancelled by a person.
    let child = begin(&home);
    let running = turn(&daemon, "running").await;
    daemon
        .wait("/v1/costs", "the call is reserved", |_| {
            *asked.lock().unwrap() == 1
        })
        .await;
    let id = running["id"].as_str().unwrap();
    daemon
        .post(&format!("/v1/continuations/{id}/cancel"), json!({}))
        .await;
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(5), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("cancelled the test"));
    let cli = item(&daemon, "cli").await;
    assert_eq!(
        (&cli["calls"], &cli["failed"]),
        (&json!(1), &json!(1)),
        "{cli}"
    );
    assert!(cli["cost_usd"].as_f64().unwrap() > 0.001, "{cli}");

    // The process dies: the next start counts the call and makes no turn of the test.
    let mut child = begin(&home);
    daemon
        .wait("/v1/costs", "the call is reserved", |_| {
            *asked.lock().unwrap() == 2
        })
        .await;
    daemon.kill();
    let _ = child.wait();
    let alone = run(&home, &["models", "test", "--yes"]);
    assert_eq!(alone.status, Some(5), "{}", alone.err);
    assert!(alone.err.contains("did not end by itself"), "{}", alone.err);
    let daemon = home.daemon_with(&[("HOUSE_KEY", KEY)]);
    let failed = turn(&daemon, "failed").await;
    assert_eq!(failed["error"]["code"], "interrupted", "{failed}");
    let cli = item(&daemon, "cli").await;
    assert_eq!(
        (&cli["calls"], &cli["failed"]),
        (&json!(2), &json!(2)),
        "{cli}"
    );
    assert_eq!(*asked.lock().unwrap(), 2, "it was asked again");
    let checked = run(&home, &["doctor", "--check"]);
    assert_eq!(checked.status, Some(0), "{}", checked.out);
}

#[tokio::test]
async fn a_failed_call_of_a_test_counts_as_failed() {
    let (http, holds, _) = holding();
    holds.store(false, Ordering::SeqCst);
    let home = home(http.url(), PRICED);
    let daemon = home.daemon_with(&[("HOUSE_KEY", KEY)]);
    let test = daemon.post("/v1/models/test", json!({})).await;
    assert_eq!(test["checks"][0]["verdict"], "no", "{test}");
    let api = item(&daemon, "api").await;
    assert_eq!(
        (&api["calls"], &api["failed"]),
        (&json!(1), &json!(1)),
        "{api}"
    );
}
