//! What is allowed until a turn ends, or until a time: it ends then, whatever happens in between.

use std::path::PathBuf;

use leverframe::protocol::enums::{DecisionKind, DecisionScope, Effect, RuleScope};
use leverframe::store::commands::cancel::Cancel;
use leverframe::store::commands::decide::Decide;
use serde_json::{Value, json};

use crate::rules::daemon::cli as rules_cli;
use crate::rules::world::{fields, put};
use crate::stories::bot::cli;
use crate::support::daemon::{Daemon, Home};
use crate::support::world::{World, by, gated};

/// Writes the same file twice, then another one.
const TWICE: &str = "TOOL:write_file{\"path\":\"a.txt\",\"content\":\"x\",\"mode\":\"append\"}\n\
    THEN TOOL:write_file{\"path\":\"a.txt\",\"content\":\"x\",\"mode\":\"append\"}\n\
    THEN TOOL:write_file{\"path\":\"b.txt\",\"content\":\"x\",\"mode\":\"append\"}\nSAY:done";
const ONCE: &str =
    "TOOL:write_file{\"path\":\"a.txt\",\"content\":\"x\",\"mode\":\"append\"}\nSAY:done";

/// A turn with a permission for a shape and a rule, both until it ends.
#[tokio::test]
async fn permissions_and_rules_of_a_turn_end_in_the_transaction_that_ends_it() {
    let world = World::new().await;
    let (session, turn) = world.running("chat").await;
    let (call, gate) = gated(Effect::NonIdempotent);
    world.propose(turn, vec![call]).await;
    let decide = world
        .decide_command(gate, DecisionKind::Approve, "anna")
        .await;
    world
        .ok(Decide {
            scope: Some(DecisionScope::Turn),
            ..decide
        })
        .await;
    let of_turn = || {
        let mut fields = fields(session);
        fields.scope = RuleScope::Turn;
        fields.session_id = None;
        fields.continuation_id = Some(turn);
        put(fields)
    };
    let made = world.ok(of_turn()).await;
    assert_eq!(made.session_id, Some(session), "it follows from the turn");

    // A crash interrupts the turn; it has not ended.
    let world = world.crash().await;
    assert_eq!(world.recovery.interrupted, [turn]);
    let left = "SELECT (SELECT count(*) FROM session_grants WHERE continuation_id IS NOT NULL)
        + (SELECT count(*) FROM rules)";
    assert_eq!(world.count(left).await, 2);
    world.sound().await;
    world
        .ok(Cancel {
            continuation_id: turn,
            by: by("anna"),
            reason: None,
            notices: Vec::new(),
            under_way: None,
        })
        .await;
    assert_eq!(world.count(left).await, 0);
    let told = "SELECT count(*) FROM audit WHERE action IN ('grant.removed', 'rule.removed')";
    assert_eq!(world.count(told).await, 2);
    let late = world.illegal(of_turn()).await;
    assert!(late.contains("has ended"), "{late}");
    world.sound().await;
}

async fn decide(daemon: &Daemon, asked: &Value, with: Value) -> (u16, Value) {
    let mut body = json!({ "decision": "approve", "digest": asked["digest"] });
    for (name, value) in with.as_object().expect("an object") {
        body[name] = value.clone();
    }
    let path = format!("/v1/approvals/{}/decision", asked["id"].as_str().unwrap());
    daemon.request("POST", &path, Some(body)).await
}

async fn listed(daemon: &Daemon, path: &str) -> Vec<Value> {
    daemon.get(path).await["items"].as_array().unwrap().clone()
}

async fn audited(daemon: &Daemon, action: &str) -> Value {
    let rows = listed(daemon, "/v1/audit?limit=100").await;
    let found = rows.into_iter().find(|row| row["action"] == action);
    found.unwrap_or_else(|| panic!("no {action}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shape_allowed_for_a_turn_ends_with_it_over_a_kill_too() {
    let home = Home::new("");
    let mut daemon = home.daemon();
    let session = daemon.session().await;
    let turn = daemon.send(&session, TWICE).await;
    let asked = daemon.wait_approval().await;
    let (status, decided) = decide(&daemon, &asked, json!({ "scope": "turn" })).await;
    assert_eq!(status, 200, "{decided}");
    // The same call again runs; another one asks.
    let other = daemon
        .wait("/v1/approvals?state=pending", "the other call", |list| {
            list["items"][0]["args"]["path"] == "b.txt"
        })
        .await["items"][0]
        .clone();
    let calls = daemon.get(&format!("/v1/continuations/{turn}")).await["tool_calls"].clone();
    assert_eq!(calls[1]["verdict"]["decision"], "allow", "{calls:#}");
    let why = calls[1]["verdict"]["rule"].as_str().unwrap();
    assert!(why.contains("allowed for this turn by"), "{why}");
    let grants = listed(&daemon, "/v1/rules/grants").await;
    assert_eq!(grants.len(), 1);
    assert_eq!(
        (&grants[0]["continuation_id"], &grants[0]["expires_at"]),
        (&json!(turn), &Value::Null)
    );

    daemon.kill();
    let daemon = home.daemon();
    assert_eq!(listed(&daemon, "/v1/rules/grants").await.len(), 1);
    assert_eq!(daemon.decide(&other, "approve").await.0, 200);
    daemon.wait_state(&turn, "completed").await;
    assert!(listed(&daemon, "/v1/rules/grants").await.is_empty());
    let ended = audited(&daemon, "grant.removed").await;
    assert!(
        ended["detail"].as_str().unwrap().contains("ended_with"),
        "{ended}"
    );
    let decided = audited(&daemon, "approval.decided").await;
    assert!(!decided["detail"].as_str().unwrap().contains("\"turn\""));
    // The next turn of the same session asks again.
    daemon.send(&session, ONCE).await;
    assert_eq!(daemon.wait_approval().await["args"]["path"], "a.txt");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_of_a_turn_reaches_no_other_turn_and_ends_with_it() {
    let home = Home::new("");
    let daemon = home.daemon();
    let session = daemon.session().await;
    let turn = daemon
        .send(&session, &TWICE.replace("path\":\"", "path\":\"notes/"))
        .await;
    let asked = daemon.wait_approval().await;
    let rule =
        json!({ "scope": "turn", "field": "path", "matcher": "exact", "value": "notes/a.txt" });
    let (status, decided) = decide(&daemon, &asked, json!({ "rule": rule })).await;
    assert_eq!(status, 200, "{decided}");
    daemon
        .wait("/v1/approvals?state=pending", "the other call", |list| {
            list["items"][0]["args"]["path"] == "notes/b.txt"
        })
        .await;
    let rules = listed(&daemon, "/v1/rules").await;
    assert_eq!(
        (
            &rules[0]["scope"],
            &rules[0]["continuation_id"],
            &rules[0]["session_id"]
        ),
        (&json!("turn"), &json!(turn), &json!(session))
    );
    assert_eq!(rules[0]["uses"], 1, "the second call of the turn ran by it");
    let (_, table) = cli(&home, &["rules", "list"]).await;
    assert!(table.contains("until its turn ends"), "{table}");
    // Somebody else's turn is not in its reach.
    let elsewhere = daemon.session().await;
    daemon
        .send(&elsewhere, &ONCE.replace("a.txt", "notes/a.txt"))
        .await;
    let waiting = daemon.wait_approvals(2).await;
    assert!(
        waiting
            .iter()
            .any(|one| one["args"]["path"] == "notes/a.txt")
    );
    let path = format!("/v1/continuations/{turn}/cancel");
    assert_eq!(daemon.request("POST", &path, Some(json!({}))).await.0, 200);
    assert!(listed(&daemon, "/v1/rules").await.is_empty());
    assert_eq!(audited(&daemon, "rule.removed").await["actor"], "engine");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shape_allowed_for_a_time_ends_then_over_a_restart_too() {
    let home = Home::new("");
    let offset: PathBuf = home.path().join("offset");
    let jump = |seconds: i64| {
        let new = offset.with_extension("new");
        std::fs::write(&new, seconds.to_string()).expect("the offset");
        std::fs::rename(&new, &offset).expect("the offset");
    };
    let environment = [("LEVERFRAME_CLOCK_OFFSET_FILE", offset.to_str().unwrap())];
    let mut daemon = home.daemon_with(&environment);
    let session = daemon.session().await;
    let first = daemon.send(&session, ONCE).await;
    let asked = daemon.wait_approval().await;
    for (with, says) in [
        (json!({ "expires_in_seconds": 60 }), "needs the scope"),
        (
            json!({ "scope": "once", "expires_in_seconds": 60 }),
            "needs the scope",
        ),
        (
            json!({ "scope": "session", "expires_in_seconds": 400 * 24 * 3600 }),
            "expected 0",
        ),
    ] {
        let (status, problem) = decide(&daemon, &asked, with).await;
        assert_eq!(status, 400, "{problem}");
        assert!(
            problem["detail"].as_str().unwrap().contains(says),
            "{problem}"
        );
    }
    let life = json!({ "scope": "session", "expires_in_seconds": 600 });
    let (status, decided) = decide(&daemon, &asked, life).await;
    assert_eq!(status, 200, "{decided}");
    assert!(decided["decision"]["until"].is_string(), "{decided}");
    daemon.wait_state(&first, "completed").await;
    let second = daemon.send(&session, ONCE).await;
    daemon.wait_state(&second, "completed").await;

    daemon.kill();
    jump(500);
    let mut daemon = home.daemon_with(&environment);
    let third = daemon.send(&session, ONCE).await;
    daemon.wait_state(&third, "completed").await;
    daemon.kill();
    jump(601);
    let daemon = home.daemon_with(&environment);
    assert!(listed(&daemon, "/v1/rules/grants").await.is_empty());
    daemon.send(&session, ONCE).await;
    assert_eq!(daemon.wait_approval().await["args"]["path"], "a.txt");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_line_says_how_long_a_shape_or_a_rule_holds() {
    let home = Home::new("");
    let daemon = home.daemon();
    let session = daemon.session().await;
    let approve = async |text: &str, flags: &[&str]| {
        let turn = daemon.send(&session, text).await;
        let asked = daemon.wait_approval().await;
        let id = asked["id"].as_str().unwrap();
        let digest = asked["digest"].as_str().unwrap();
        let words = [&["approvals", "approve", id, "--digest", digest], flags].concat();
        let (status, said) = rules_cli(&home, &words);
        if status != Some(0) {
            assert_eq!(status, Some(2), "{said}");
            daemon.decide(&asked, "deny").await;
        }
        daemon.wait_state(&turn, "completed").await;
        said
    };
    let refused = approve(ONCE, &["--expires", "30m"]).await;
    assert!(refused.contains("add --rule"), "{refused}");
    let refused = approve(ONCE, &["--rule", "--scope", "once"]).await;
    assert!(refused.contains("--scope once"), "{refused}");
    approve(ONCE, &["--shape", "--expires", "never"]).await;
    let grants = listed(&daemon, "/v1/rules/grants").await;
    assert_eq!(
        grants[0]["expires_at"],
        Value::Null,
        "as long as the session"
    );
    let (_, table) = cli(&home, &["rules", "grants"]).await;
    assert!(table.contains("with the session"), "{table}");
    let other = ONCE.replace("a.txt", "c.txt");
    approve(
        &other,
        &["--rule", "--scope", "session", "--expires", "30m"],
    )
    .await;
    let rules = listed(&daemon, "/v1/rules").await;
    assert_eq!(
        (&rules[0]["scope"], &rules[0]["session_id"]),
        (&json!("session"), &json!(session))
    );
    assert!(rules[0]["expires_at"].is_string());
}
