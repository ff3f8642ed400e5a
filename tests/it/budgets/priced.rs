//! A provider with a price, end to end: what a turn with a tool call and cached tokens costs to the last digit, a budget
//! in dollars that stops the right call, and what is added to it.

use serde_json::{Value, json};

use crate::model_calls::server::{ModelServer, ask};
use crate::model_profiles::server::{Ran, run};
use crate::support::daemon::Home;
use crate::support::fake_http::Reply;

/// Per million: 2 dollars in, 8 out, 0.5 from the cache. A call may use 1000 tokens of output.
const PRICED: &str = "prices.\"m\" = { input = 2.0, output = 8.0, cache_read = 0.5 }\n\
    models.\"m\" = { max_output_tokens = 1000 }\n";

fn answer(message: &Value, reason: &str, [input, cached, output]: [u64; 3]) -> Reply {
    Reply::Json(
        200,
        json!({
            "choices": [{"index": 0, "message": message, "finish_reason": reason}],
            "usage": {"prompt_tokens": input, "completion_tokens": output,
                "prompt_tokens_details": {"cached_tokens": cached}},
        }),
    )
}

fn says(text: &str, tokens: [u64; 3]) -> Reply {
    answer(
        &json!({"role": "assistant", "content": text}),
        "stop",
        tokens,
    )
}

fn lists(tokens: [u64; 3]) -> Reply {
    let call = json!({"id": "call_1", "type": "function",
        "function": {"name": "list_files", "arguments": "{}"}});
    let message = json!({"role": "assistant", "content": "", "tool_calls": [call]});
    answer(&message, "tool_calls", tokens)
}

fn near(value: &Value, expected: f64) {
    let found = value
        .as_f64()
        .unwrap_or_else(|| panic!("no number: {value}"));
    assert!((found - expected).abs() < 1e-9, "{found}, not {expected}");
}

fn priced(server: &ModelServer, budget: &str) -> Home {
    Home::new(&format!(
        "[model]\ndefault = \"rented/m\"\n[channels.api]\nautonomy = \"semi_auto\"\n{budget}\n{}",
        server.table("rented", PRICED)
    ))
}

/// 12 000 plain and 8 000 cached in, 500 out: 0.024 + 0.004 + 0.004 dollars.
const FIRST: [u64; 3] = [20_000, 8_000, 500];
/// 10 000 plain and 20 000 cached in, 1000 out: 0.020 + 0.010 + 0.008 dollars.
const SECOND: [u64; 3] = [30_000, 20_000, 1_000];
const TURN: f64 = 0.032 + 0.038;

#[tokio::test]
async fn every_view_shows_the_same_exact_cost() {
    let server = ModelServer::chat(vec![lists(FIRST), says("two files", SECOND)]);
    let home = priced(&server, "");
    let daemon = home.daemon();
    let session = daemon.session().await;
    let done = ask(&daemon, &session, "what is there?", "completed").await;
    assert_eq!(done["usage"]["input_tokens"], 50_000, "{done}");
    assert_eq!(done["usage"]["output_tokens"], 1_500);
    assert_eq!(done["usage"]["cached_input_tokens"], 28_000);
    near(&done["usage"]["cost_usd"], TURN);
    let of_session = daemon.get(&format!("/v1/sessions/{session}")).await;
    near(&of_session["usage"]["cost_usd"], TURN);
    for (by, name) in [
        ("channel", Some("api")),
        ("model", Some("rented/m")),
        ("day", None),
    ] {
        let costs = daemon.get(&format!("/v1/costs?by={by}")).await;
        assert_eq!(costs["items"].as_array().unwrap().len(), 1, "{costs}");
        let item = &costs["items"][0];
        if let Some(name) = name {
            assert_eq!(item["name"], name);
        }
        assert_eq!(item["calls"], 2);
        assert_eq!(item["cached_input_tokens"], 28_000);
        assert_eq!(item["unpriced_tokens"], 0);
        near(&item["cost_usd"], TURN);
        near(&costs["total"]["cost_usd"], TURN);
        // What the cached tokens would have cost as plain input, less what they did.
        near(&item["prompt_cache_saved_usd"], 0.028 * 1.5);
    }
    // What the header of a console shows.
    let snapshot = daemon.get("/v1/snapshot").await;
    near(&snapshot["engine"]["usage_today"]["cost_usd"], TURN);
    let shown = run(&home, &["costs", "--by", "channel"]).out;
    assert!(shown.contains("0.0700"), "{shown}");
}

fn decided(home: &Home, approval: &Value, words: &[&str]) -> Ran {
    let id = approval["id"].as_str().unwrap();
    let digest = approval["digest"].as_str().unwrap();
    let mut all = vec!["approvals", "approve", id, "--digest", digest];
    all.extend(words);
    run(home, &all)
}

#[tokio::test]
async fn a_budget_in_dollars_stops_the_call_that_does_not_fit_and_more_lets_it_go_on() {
    let server = ModelServer::chat(vec![
        lists(FIRST),
        says("two files", SECOND),
        says("still two", FIRST),
    ]);
    // The first turn fits; the next call may use at least 0.008, and 0.005 are left.
    let home = priced(&server, "budget = { max_cost_usd = 0.075 }");
    let daemon = home.daemon();
    let session = daemon.session().await;
    let first = ask(&daemon, &session, "what is there?", "completed").await;
    near(&first["usage"]["cost_usd"], TURN);
    let second = daemon.send(&session, "and now?").await;
    let approval = daemon.wait_approval().await;
    assert_eq!(approval["continuation_id"], second.as_str());
    let question = approval["question"].as_str().unwrap();
    assert!(
        question.starts_with("max_cost_usd of this channel today: $0.0700 of $0.0750 are used"),
        "{question}"
    );
    assert_eq!(
        server.seen().len(),
        2,
        "it was asked before somebody agreed"
    );

    // What adds nothing, or more than anybody means, or is no number, is refused by name.
    for amount in ["0", "-3", "2e12", "inf", "NaN"] {
        let ran = decided(&home, &approval, &["--extra", amount]);
        assert_eq!(ran.status, Some(2), "{amount}: {}{}", ran.out, ran.err);
        assert!(ran.err.contains("extra"), "{amount}: {}", ran.err);
        if !matches!(amount, "inf" | "NaN") {
            assert!(
                ran.err.contains("max_cost_usd of this channel"),
                "{amount}: {}",
                ran.err
            );
        }
    }
    let ran = decided(&home, &approval, &["--extra", "much"]);
    assert_eq!(ran.status, Some(2), "{}", ran.err);
    assert_eq!(server.seen().len(), 2);

    let ran = decided(&home, &approval, &["--extra", "0.5"]);
    assert_eq!(ran.status, Some(0), "{}{}", ran.out, ran.err);
    let done = daemon.wait_state(&second, "completed").await;
    near(&done["usage"]["cost_usd"], 0.032);
    let costs = daemon.get("/v1/costs?by=channel").await;
    near(&costs["total"]["cost_usd"], TURN + 0.032);
    let budgets = costs["budgets"].as_array().unwrap();
    let budget = budgets
        .iter()
        .find(|budget| budget["channel"] == "api")
        .unwrap();
    assert_eq!(budget["budget"], "channel_cost");
    near(&budget["limit"], 0.575);
    near(&budget["used"], TURN + 0.032);

    let audit = run(
        &home,
        &["audit", "list", "--json", "--action", "approval.decided"],
    );
    let row: Value = serde_json::from_str(audit.out.lines().next().unwrap()).unwrap();
    assert_eq!(row["subject"], approval["id"], "{row}");
    let detail: Value = serde_json::from_str(row["detail"].as_str().unwrap()).unwrap();
    assert_eq!(detail["kind"], "budget", "{row}");
    near(&detail["extra"], 0.5);
}

#[tokio::test]
async fn an_amount_belongs_to_a_budget_and_to_a_yes() {
    let write = json!({"id": "call_1", "type": "function",
        "function": {"name": "write_file", "arguments": "{\"path\":\"a\",\"content\":\"b\"}"}});
    let message = json!({"role": "assistant", "content": "", "tool_calls": [write]});
    let server = ModelServer::chat(vec![answer(&message, "tool_calls", [10, 0, 1])]);
    let home = Home::new(&format!(
        "[model]\ndefault = \"rented/m\"\n[channels.api]\nautonomy = \"supervised\"\n{}",
        server.table("rented", PRICED)
    ));
    let daemon = home.daemon();
    let session = daemon.session().await;
    daemon.send(&session, "write it").await;
    let approval = daemon.wait_approval().await;
    assert_eq!(approval["kind"], "execute");
    let ran = decided(&home, &approval, &["--extra", "5"]);
    assert_eq!(ran.status, Some(2), "{}{}", ran.out, ran.err);
    assert!(
        ran.err.contains("a question about a budget") && ran.err.contains("of kind execute"),
        "{}",
        ran.err
    );
    let still = daemon.get("/v1/approvals?state=pending").await;
    assert_eq!(still["items"][0]["id"], approval["id"]);
}

#[tokio::test]
async fn sessions_with_a_budget_are_listed_by_how_far_it_is_used_up() {
    let home = Home::new(
        "[model]\ndefault = \"scripted/demo\"\n[budgets.session]\nmax_tokens = 1000000\nmax_cost_usd = 5.0\n",
    );
    let daemon = home.daemon();
    let mut idle = Vec::new();
    for _ in 0..22 {
        idle.push(daemon.session().await);
    }
    let (little, much) = (idle[3].clone(), idle[7].clone());
    let turn = daemon.send(&little, "hello").await;
    daemon.wait_state(&turn, "completed").await;
    for _ in 0..2 {
        let turn = daemon
            .send(&much, "hello again, with more words than before")
            .await;
        daemon.wait_state(&turn, "completed").await;
    }
    let costs = daemon.get("/v1/costs").await;
    let budgets: Vec<&Value> = costs["budgets"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|budget| budget["budget"] == "session_tokens")
        .collect();
    assert_eq!(
        (budgets.len(), &costs["more_sessions"]),
        (20, &json!(2)),
        "{costs}"
    );
    assert_eq!(budgets[0]["session_id"], much.as_str());
    assert_eq!(budgets[1]["session_id"], little.as_str());
    let used = daemon.get(&format!("/v1/sessions/{much}")).await["usage"].clone();
    let tokens = used["input_tokens"].as_f64().unwrap() + used["output_tokens"].as_f64().unwrap();
    near(&budgets[0]["used"], tokens);
    near(&budgets[0]["limit"], 1e6);
    near(&budgets[0]["percent"], tokens / 1e4);
    near(&budgets[0]["reserved"], 0.0);
    assert!(
        budgets[0]["resets_at"].is_null(),
        "a session has no midnight"
    );
    // The others are equal: the newest comes first.
    assert_eq!(budgets[2]["session_id"], idle[21].as_str());
    let shown = run(&home, &["costs"]).out;
    assert!(
        shown.contains(&format!(
            "budget of session {much}: {tokens:.0} tokens of 1000000 tokens"
        )),
        "{shown}"
    );
    assert!(shown.contains("$0.00 of $5.00"), "{shown}");
    assert!(shown.contains("and 2 more open sessions"), "{shown}");
    // What ended has no budget to use up any more.
    let (status, _) = daemon
        .request("DELETE", &format!("/v1/sessions/{much}"), None)
        .await;
    assert!((200..300).contains(&status), "{status}");
    let costs = daemon.get("/v1/costs").await;
    assert!(!costs["budgets"].to_string().contains(&much), "{costs}");
    assert_eq!(costs["more_sessions"], 1);
}
