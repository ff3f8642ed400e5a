//! Statistics of 100 000 turns of 90 days, each with a model call, a tool call, a question and a message: what a
//! question over HTTP takes, by step and grouping.
//!
//! `cargo bench --bench stats`. `LEVERFRAME_BENCH_TURNS` makes it shorter.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    missing_docs,
    dead_code
)] // a bench is a test, and uses a part of the harness

#[path = "harness/daemon.rs"]
mod daemon;
mod harness;

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::Connection;

use crate::daemon::{Daemon, load};

/// Questions of each kind.
const ASKED: usize = 20;
const WRITE: &str =
    r#"{"text":"TOOL:write_file{\"path\":\"a.txt\",\"content\":\"hi\"}\nSAY:done"}"#;

/// Copies the newest row of a table so many times, over 90 days up to now, with these columns set anew.
fn copies(conn: &Connection, table: &str, turns: usize, anew: &[(&str, &str)]) {
    let mut names = conn
        .prepare(&format!("SELECT name FROM pragma_table_info('{table}')"))
        .unwrap();
    let names: Vec<String> = names
        .query_map([], |row| row.get(0))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let values: Vec<&str> = names
        .iter()
        .map(
            |name| match anew.iter().find(|(column, _)| column == name) {
                Some((_, value)) => value,
                None if name == "id" || name == "idempotency_key" => "randomblob(16)",
                None => name,
            },
        )
        .collect();
    conn.execute_batch(&format!(
        "WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {turns}),
            one AS (SELECT * FROM {table} ORDER BY rowid DESC LIMIT 1)
         INSERT INTO {table} ({}) SELECT {} FROM n, one",
        names.join(", "),
        values.join(", ")
    ))
    .unwrap();
}

fn fill(data: &Path, turns: usize) {
    let conn = Connection::open(data.join("leverframe.db")).unwrap();
    let at = format!("unixepoch() * 1000 - n * (90 * 86400000 / {turns})");
    conn.execute_batch("PRAGMA foreign_keys = OFF; BEGIN")
        .unwrap();
    copies(
        &conn,
        "continuations",
        turns,
        &[("position", "NULL"), ("ended_at", &at)],
    );
    let call = [
        ("position", "NULL"),
        ("finished_at", &at),
        ("idx", "n + 1"),
        ("idempotency_key", "hex(randomblob(16))"),
        ("duration_ms", "n % 977"),
    ];
    copies(&conn, "tool_calls", turns, &call);
    let question = [
        ("position", "NULL"),
        ("requested_at", &at),
        ("updated_at", &at),
        ("decided_at", &at),
    ];
    copies(&conn, "approvals", turns, &question);
    conn.execute_batch(&format!(
        "WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {turns})
         INSERT INTO outbox (id, channel, conversation, class, state, part, parts, text, created_at, updated_at, settled_at)
            SELECT randomblob(16), 'api', 'x', 'final', 'sent', 1, 1, 'done', {at}, {at}, {at} FROM n;
         WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {turns})
         INSERT INTO model_attempts (id, continuation_id, epoch, step, attempt, model, channel, estimated_tokens, input_tokens,
                output_tokens, cached_tokens, cache_write_tokens, cost_usd, started_at, settled_at)
            SELECT randomblob(16), (SELECT id FROM continuations ORDER BY position DESC LIMIT 1), 1, 1, 1, 'a/b', 'api',
                0, 900, 90, 500, 0, 0.01, {at}, {at} FROM n;
         UPDATE channel_accounts SET created_at = created_at - 91 * 86400000;
         COMMIT"
    ))
    .unwrap();
}

fn main() {
    let turns = std::env::var("LEVERFRAME_BENCH_TURNS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(100_000_usize);
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    {
        let daemon = Daemon::start(&data);
        let mut connection = daemon.connect();
        let session = connection.post("/v1/sessions", "{}");
        let path = format!("/v1/sessions/{}/messages", session["id"].as_str().unwrap());
        connection.post(&path, WRITE);
        let deadline = Instant::now() + Duration::from_secs(20);
        let approval = loop {
            let waiting = connection.get("/v1/approvals?state=pending");
            if let Some(approval) = waiting["items"].get(0) {
                break approval.clone();
            }
            assert!(Instant::now() < deadline, "nothing was asked");
        };
        let decide = format!(
            "/v1/approvals/{}/decision",
            approval["id"].as_str().unwrap()
        );
        let body = serde_json::json!({ "decision": "approve", "digest": approval["digest"] });
        connection.post(&decide, &body.to_string());
        while connection.get("/v1/continuations")["items"][0]["state"] != "completed" {
            assert!(Instant::now() < deadline, "the turn does not end");
        }
    }
    fill(&data, turns);
    let daemon = Daemon::start(&data);
    let mut connection = daemon.connect();
    println!("{turns} turns, load {}", load());
    for (name, path) in [
        ("24 hours", "/v1/stats?step=hour"),
        ("30 days", "/v1/stats"),
        ("30 days by channel", "/v1/stats?by=channel"),
        ("13 weeks", "/v1/stats?step=week"),
        ("13 weeks by tool", "/v1/stats?step=week&by=tool"),
        ("13 weeks by person", "/v1/stats?step=week&by=person"),
    ] {
        let samples = (0..ASKED)
            .map(|_| {
                let began = Instant::now();
                connection.get(path);
                began.elapsed()
            })
            .collect();
        harness::report(name, samples);
    }
}
