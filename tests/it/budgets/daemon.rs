//! The program with limits in its configuration, driven over HTTP and the command line.

use serde_json::{Value, json};

use crate::support::daemon::{Daemon, Home};

/// Runs the program to its end; what it printed.
fn printed(home: &Home, arguments: &[&str]) -> String {
    let output = home
        .command()
        .args(arguments)
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(
        output.status.code(),
        Some(0),
        "{arguments:?}: {text}{errors}"
    );
    text
}

fn home(budgets: &str) -> Home {
    Home::new(&format!(
        "[model]\ndefault = \"scripted/demo\"\n\n{budgets}"
    ))
}

async fn asked(daemon: &Daemon) -> (String, Value) {
    let session = daemon.session().await;
    let turn = daemon.send(&session, "hello").await;
    let approval = daemon.wait_approval().await;
    assert_eq!(approval["kind"], "budget", "{approval}");
    (turn, approval)
}

#[tokio::test]
async fn a_limit_of_the_configuration_asks_and_what_is_added_lets_the_turn_go_on() {
    for (table, words) in [
        ("[budgets]\nmax_tokens = 10\n", "max_tokens of this turn"),
        (
            "[budgets.session]\nmax_tokens = 10\n",
            "max_tokens of this session",
        ),
        (
            "[budgets.channel]\nmax_tokens = 10\n",
            "max_tokens of this channel today",
        ),
        (
            "[channels.api.budget]\nmax_tokens = 10\n",
            "max_tokens of this channel today",
        ),
        (
            "[budgets.day]\nmax_tokens = 10\n",
            "max_tokens of all channels today",
        ),
    ] {
        let home = home(table);
        let mut daemon = home.daemon();
        let (turn, approval) = asked(&daemon).await;
        let question = approval["question"].as_str().unwrap();
        assert!(question.starts_with(words), "{table}: {question}");
        assert!(
            question.contains("more than the whole budget of 10 tokens"),
            "{question}"
        );
        let (status, body) = daemon.decide(&approval, "approve").await;
        assert_eq!(status, 200, "{body}");
        let done = daemon.wait_state(&turn, "completed").await;
        let used = done["usage"]["input_tokens"].as_u64().unwrap();
        assert!(used > 0, "{done}");
        let spent = used + done["usage"]["output_tokens"].as_u64().unwrap();

        let costs = daemon.get("/v1/costs?by=channel").await;
        assert_eq!(costs["items"][0]["name"], "api", "{costs}");
        assert_eq!(costs["items"][0]["calls"], 1);
        assert_eq!(costs["total"]["input_tokens"], used);
        // The scripted model costs nothing, which is known.
        assert_eq!(costs["total"]["cost_usd"], 0.0);
        let budgets = costs["budgets"].as_array().unwrap();
        if words.contains("today") {
            let budget = budgets
                .iter()
                .find(|budget| budget["channel"].is_null() || budget["channel"] == "api")
                .unwrap();
            assert!(budget["limit"].as_f64().unwrap() > 10.0, "{budget}");
            assert!(budget["used"].as_f64().unwrap() >= used as f64, "{budget}");
        } else if words.contains("session") {
            assert_eq!(budgets.len(), 1, "{costs}");
            assert_eq!(budgets[0]["session_id"], approval["session_id"], "{costs}");
            assert!(budgets[0]["limit"].as_f64().unwrap() > 10.0, "{costs}");
            assert_eq!(
                budgets[0]["used"].as_f64().unwrap() as u64,
                spent,
                "{costs}"
            );
        } else {
            assert!(budgets.is_empty(), "{costs}");
        }
        let by_model = printed(&home, &["costs", "--by", "model", "--since", "7d"]);
        assert!(by_model.contains("scripted/demo"), "{by_model}");
        let by_json: Value =
            serde_json::from_str(&printed(&home, &["--json", "costs", "--by", "channel"])).unwrap();
        assert_eq!(by_json["total"], costs["total"]);
        let shown = printed(&home, &["continuations", "show", &turn]);
        assert!(shown.contains("model     step 1  scripted/demo"), "{shown}");
        daemon.terminate();
    }
}

#[tokio::test]
async fn a_refused_budget_ends_the_turn_with_the_reason() {
    let home = home("[budgets.day]\nmax_tokens = 10\n");
    let daemon = home.daemon();
    let (turn, approval) = asked(&daemon).await;
    let (status, body) = daemon.decide(&approval, "deny").await;
    assert_eq!(status, 200, "{body}");
    let failed = daemon.wait_state(&turn, "failed").await;
    assert_eq!(failed["error"]["code"], "budget", "{failed}");
    let message = failed["error"]["message"].as_str().unwrap();
    assert!(message.contains("budget is used up"), "{message}");
    let costs = daemon.get("/v1/costs").await;
    assert_eq!(costs["total"]["calls"], 0, "{costs}");
}

#[tokio::test]
async fn a_request_lowers_a_budget_and_never_raises_it() {
    let home = home("[budgets.day]\nmax_tokens = 10\n");
    let daemon = home.daemon();
    let session = daemon.session().await;
    let path = format!("/v1/sessions/{session}/messages");
    let lowered = json!({"text": "hello", "budgets": {"max_tokens": 5, "max_cost_usd": 1000.0}});
    daemon.post(&path, lowered).await;
    let approval = daemon.wait_approval().await;
    let question = approval["question"].as_str().unwrap();
    assert!(
        question.starts_with("max_tokens of this turn"),
        "{question}"
    );
    // More than the turn's own limit asks for is given, and the day's still holds.
    let id = approval["id"].as_str().unwrap();
    let yes = json!({"decision": "approve", "digest": approval["digest"], "extra": 1_000_000});
    let (status, body) = daemon
        .request("POST", &format!("/v1/approvals/{id}/decision"), Some(yes))
        .await;
    assert_eq!(status, 200, "{body}");
    let list = daemon
        .wait("/v1/approvals?state=pending", "the next question", |body| {
            body["items"][0]["question"]
                .as_str()
                .is_some_and(|question| question.starts_with("max_tokens of all channels today"))
        })
        .await;
    assert_eq!(list["items"].as_array().unwrap().len(), 1);
    let (status, body) = daemon
        .request(
            "POST",
            &path,
            Some(json!({"text": "x", "budgets": {"max_cost_usd": -1.0}})),
        )
        .await;
    assert_eq!(status, 400, "{body}");
    for (query, word) in [
        ("since=yesterday", "since"),
        ("by=person", "by"),
        ("since=2026-02-01&until=2026-01-01", "since"),
    ] {
        let (status, body) = daemon
            .request("GET", &format!("/v1/costs?{query}"), None)
            .await;
        assert!((400..500).contains(&status), "{status} {body}");
        assert!(body["detail"].as_str().unwrap().contains(word), "{body}");
    }
}
