//! `GET /metrics` of the real binary after real work.

use serde_json::json;

use crate::support::daemon::{Daemon, Home, client};
use crate::support::fake_http::{FakeHttp, Reply};
use crate::take_overs::daemon::cli;
use crate::webhooks::world::{home, message, say, start, system};

/// A daemon that answered, failed to send, ran a tool, was refused a tool and waits for a person, with its home and the
/// system behind its channel.
pub async fn busy() -> (Home, Daemon, FakeHttp) {
    let refused = Reply::Json(410, json!({"error": "gone"}));
    let (http, _) = system(vec![Reply::Json(200, json!({})), refused]);
    let home = home(&format!(
        "callback_url = \"{}/in\"\nresponse_cache = \"user\"\n\n[channels.api]\nauto_approve = [\"list_files\"]\nescalation = \"night\"\n\n\
         [escalation.night]\nsteps = [{{ after = \"1s\", to = \"on-call\" }}]\n\n[budgets.day]\n\
         max_cost_usd = 5.0\nmax_tokens = 1000000",
        http.url()
    ));
    let daemon = start(&home, &[]).await;
    for (id, text, state) in [("m1", "SAY:one", "sent"), ("m2", "SAY:two", "failed")] {
        say(&daemon, &message(id, text), None).await;
        daemon
            .wait("/v1/outbox?limit=50", state, |all| {
                let items = all["items"].as_array().unwrap();
                items.iter().any(|item| item["state"] == state)
            })
            .await;
    }
    let session = daemon.session().await;
    for text in ["TOOL:list_files {}", "TOOL:no_such_tool {}", "FAIL:auth"] {
        let turn = daemon.send(&session, text).await;
        let ended = if text.starts_with("FAIL") {
            "failed"
        } else {
            "completed"
        };
        daemon.wait_state(&turn, ended).await;
    }
    let write = "TOOL:write_file {\"path\": \"a.txt\", \"content\": \"a\"}";
    let turn = daemon.send(&session, write).await;
    daemon.wait_state(&turn, "awaiting_approval").await;
    let asked = daemon.get("/v1/approvals?state=pending").await["items"][0].clone();
    let decision = json!({"decision": "deny", "digest": asked["digest"]});
    let path = format!("/v1/approvals/{}/decision", asked["id"].as_str().unwrap());
    daemon.post(&path, decision).await;
    daemon.wait_state(&turn, "completed").await;
    let other = daemon.session().await;
    let turn = daemon.send(&other, write).await;
    daemon.wait_state(&turn, "awaiting_approval").await;
    // Nobody is on call.
    daemon
        .wait("/v1/approvals?state=pending", "a skipped step", |all| {
            all["items"][0]["escalation"]["steps"][0]["outcome"] == "skipped"
        })
        .await;
    let (status, text) = cli(
        &home,
        &["backup", home.path().join("b.tar").to_str().unwrap()],
    )
    .await;
    assert_eq!(status, Some(0), "{text}");
    (home, daemon, http)
}

/// The text of a scrape with the admin's token.
pub async fn scrape(daemon: &Daemon) -> String {
    let answer = client()
        .get(format!("{}/metrics", daemon.base))
        .bearer_auth(&daemon.token)
        .send()
        .await
        .unwrap();
    assert_eq!(answer.status(), 200);
    assert_eq!(
        answer.headers()["content-type"],
        "text/plain; version=0.0.4; charset=utf-8"
    );
    answer.text().await.unwrap()
}

/// The value of a sample, by its whole name; the order of labels does not count.
pub fn value(text: &str, sample: &str) -> Option<f64> {
    let parts = |name: &str| -> Vec<String> {
        let name = name.trim_end_matches('}').replace('{', ",");
        let mut parts: Vec<String> = name.split(',').map(str::to_owned).collect();
        parts.sort();
        parts
    };
    let wanted = parts(sample);
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .filter_map(|line| line.rsplit_once(' '))
        .find(|(name, _)| parts(name) == wanted)
        .and_then(|(_, value)| value.parse().ok())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scrape_counts_what_happened_and_what_waits() {
    let (home, daemon, _http) = busy().await;
    let text = scrape(&daemon).await;
    for (sample, expected) in [
        ("leverframe_messages_received_total{channel=\"shop\"}", 2.0),
        ("leverframe_messages_received_total{channel=\"api\"}", 5.0),
        (
            "leverframe_turns_total{channel=\"shop\",state=\"completed\"}",
            2.0,
        ),
        (
            "leverframe_turns_total{channel=\"api\",state=\"failed\"}",
            1.0,
        ),
        (
            "leverframe_turn_duration_seconds_count{channel=\"shop\"}",
            2.0,
        ),
        (
            "leverframe_model_requests_total{model=\"scripted/demo\",outcome=\"error\"}",
            1.0,
        ),
        (
            "leverframe_tool_calls_total{tool=\"list_files\",state=\"succeeded\"}",
            1.0,
        ),
        // A name that a model makes up is no label.
        (
            "leverframe_tool_calls_total{tool=\"other\",state=\"failed\"}",
            1.0,
        ),
        (
            "leverframe_tool_duration_seconds_count{tool=\"list_files\"}",
            1.0,
        ),
        ("leverframe_policy_verdicts_total{verdict=\"ask\"}", 2.0),
        (
            "leverframe_approvals_requested_total{kind=\"execute\"}",
            2.0,
        ),
        (
            "leverframe_approvals_decided_total{kind=\"execute\",decision=\"deny\",surface=\"http\"}",
            1.0,
        ),
        (
            "leverframe_approval_wait_seconds_count{kind=\"execute\"}",
            1.0,
        ),
        ("leverframe_approvals_pending{kind=\"execute\"}", 1.0),
        ("leverframe_approvals_pending{kind=\"resend\"}", 0.0),
        (
            "leverframe_sends_total{channel=\"shop\",outcome=\"sent\"}",
            1.0,
        ),
        (
            "leverframe_sends_total{channel=\"shop\",outcome=\"failed\"}",
            1.0,
        ),
        (
            "leverframe_send_duration_seconds_count{channel=\"shop\"}",
            2.0,
        ),
        (
            "leverframe_deliveries{channel=\"shop\",state=\"failed\"}",
            1.0,
        ),
        (
            "leverframe_response_cache_lookups_total{outcome=\"miss\"}",
            2.0,
        ),
        (
            "leverframe_channel_up{channel=\"shop\",kind=\"webhook\"}",
            1.0,
        ),
        (
            "leverframe_channel_paused{channel=\"shop\",kind=\"webhook\"}",
            0.0,
        ),
        ("leverframe_continuations{state=\"awaiting_approval\"}", 1.0),
        ("leverframe_sessions_active", 3.0),
        ("leverframe_day_cost_limit_usd", 5.0),
        ("leverframe_day_tokens_limit", 1_000_000.0),
        ("leverframe_emergency_stop_engaged", 0.0),
        ("leverframe_store_writable", 1.0),
        ("leverframe_store_commit_failures_total", 0.0),
        ("leverframe_event_streams", 0.0),
        ("leverframe_backups_total{outcome=\"ok\"}", 1.0),
    ] {
        assert_eq!(value(&text, sample), Some(expected), "{sample}\n{text}");
    }
    for sample in [
        "leverframe_backup_last_success_timestamp_seconds",
        "leverframe_audit_head",
        "leverframe_event_log_head",
        "leverframe_database_size_bytes",
        "leverframe_data_free_bytes",
        "leverframe_approvals_oldest_pending_timestamp_seconds{kind=\"execute\"}",
        "leverframe_day_tokens",
        "process_start_time_seconds",
        "process_resident_memory_bytes",
        "process_open_fds",
        "process_max_fds",
        "process_cpu_seconds_total",
    ] {
        assert!(
            value(&text, sample).is_some_and(|value| value > 0.0),
            "{sample}\n{text}"
        );
    }
    // Nothing that tells one conversation or person from another.
    for word in ["ses_", "con_", "call_", "apr_", "ada", "no_such_tool"] {
        assert!(!text.contains(word), "{word}\n{text}");
    }
    let (status, shown) = cli(&home, &["metrics"]).await;
    assert_eq!(status, Some(0), "{shown}");
    assert!(shown.contains("leverframe_messages_received_total{channel=\"shop\"} 2"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_of_events_and_an_emergency_stop_show_in_a_scrape() {
    let home = Home::new("");
    let daemon = home.daemon();
    let stream = client()
        .get(format!("{}/v1/events", daemon.base))
        .bearer_auth(&daemon.token)
        .send()
        .await
        .unwrap();
    assert_eq!(
        value(&scrape(&daemon).await, "leverframe_event_streams"),
        Some(1.0)
    );
    drop(stream);
    let deadline = std::time::Instant::now() + crate::support::daemon::DEADLINE;
    while value(&scrape(&daemon).await, "leverframe_event_streams") != Some(0.0) {
        assert!(std::time::Instant::now() < deadline, "the stream stays");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    daemon.post("/v1/emergency-stop", json!({})).await;
    let text = scrape(&daemon).await;
    assert_eq!(value(&text, "leverframe_emergency_stop_engaged"), Some(1.0));
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_scrapes_without_a_token() {
    let home = Home::new("");
    let daemon = home.daemon();
    for token in [None, Some("wrong")] {
        let mut request = client().get(format!("{}/metrics", daemon.base));
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status(), 401);
        assert!(!answer.text().await.unwrap().contains("leverframe_"));
    }
}

/// A scrape of a large database takes as long as one of a small one: no statement walks over what is not open.
#[test]
fn no_statement_of_a_scrape_walks_over_a_table_that_grows() {
    let folder = tempfile::tempdir().unwrap();
    let opened = leverframe::store::Store::open(leverframe::store::OpenOptions {
        dir: folder.path().to_owned(),
        clock: leverframe::clock::Clock::System,
        readers: 1,
        instance: "test".to_owned(),
    })
    .unwrap();
    let conn = rusqlite::Connection::open(folder.path().join("leverframe.db")).unwrap();
    let source = include_str!("../../../src/store/queries/metrics.rs");
    let statements: Vec<&str> = source
        .split('"')
        .filter(|text| text.starts_with("SELECT "))
        .collect();
    assert!(statements.len() >= 5, "{statements:?}");
    for statement in statements {
        let mut plan = conn
            .prepare(&format!("EXPLAIN QUERY PLAN {statement}"))
            .unwrap();
        let steps: Vec<String> = plan
            .query_map([], |row| row.get("detail"))
            .unwrap()
            .map(Result::unwrap)
            .collect();
        let walks = steps
            .iter()
            .any(|step| step.starts_with("SCAN") && !step.contains("channel_accounts"));
        assert!(!walks, "{statement}\n{steps:?}");
    }
    drop(opened);
}
