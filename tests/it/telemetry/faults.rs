//! Collectors that are away, hang, refuse, or take a part.

use std::time::{Duration, Instant};

use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTracePartialSuccess, ExportTraceServiceResponse,
};
use prost::Message as _;
use serde_json::json;

use crate::monitoring::scrape::{scrape, value};
use crate::support::daemon::{Daemon, Home};
use crate::support::fake_http::Reply;
use crate::telemetry::collector::Collector;

fn home(collector: &Collector) -> Home {
    Home::new(&format!("[telemetry]\nendpoint = \"{}\"", collector.url()))
}

async fn say(daemon: &Daemon) {
    let session = daemon.session().await;
    let turn = daemon.send(&session, "SAY:hello").await;
    daemon.wait_state(&turn, "completed").await;
}

/// What the doctor says about telemetry, once it says this.
async fn doctor(daemon: &Daemon, says: &str) {
    let about = |body: &serde_json::Value| {
        let findings = body["findings"].as_array().cloned().unwrap_or_default();
        findings.iter().any(|one| {
            one["about"] == "telemetry"
                && one["verdict"] == "warn"
                && one["detail"]
                    .as_str()
                    .is_some_and(|text| text.contains(says))
        })
    };
    daemon.wait("/v1/doctor", says, about).await;
}

async fn counted(daemon: &Daemon, signal: &str, outcome: &str) -> u64 {
    let sample =
        format!("leverframe_telemetry_items_total{{signal=\"{signal}\",outcome=\"{outcome}\"}}");
    let count = value(&scrape(daemon).await, &sample).expect("a sample");
    format!("{count}").parse().expect("a whole number")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collector_that_is_away_gets_everything_later() {
    let collector = Collector::start();
    collector.refuse(true);
    let home = home(&collector);
    let daemon = home.daemon();
    say(&daemon).await;
    doctor(&daemon, "the collector takes nothing: ").await;
    assert_eq!(counted(&daemon, "spans", "sent").await, 0);
    say(&daemon).await;
    collector.refuse(false);
    collector
        .wait("both turns", |seen| {
            seen.named("invoke_agent api").len() == 2
        })
        .await;
    assert_eq!(counted(&daemon, "spans", "dropped").await, 0);
    let findings = daemon
        .wait("/v1/doctor", "no warning", |body| {
            let findings = body["findings"].as_array().unwrap();
            !findings
                .iter()
                .any(|one| one["about"] == "telemetry" && one["verdict"] != "ok")
        })
        .await;
    assert!(findings.to_string().contains(collector.url()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collector_that_hangs_stops_no_turn_and_no_end() {
    let collector = Collector::answering(|_| Reply::Hang);
    let home = home(&collector);
    let mut daemon = home.daemon();
    for _ in 0..3 {
        say(&daemon).await;
    }
    let begun = Instant::now();
    assert!(daemon.terminate().success());
    // Five seconds are for what is left.
    assert!(begun.elapsed() < Duration::from_secs(12));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_collector_refuses_is_counted() {
    let collector = Collector::answering(|request| {
        if request.path == "/v1/logs" {
            return Reply::Json(403, json!({}));
        }
        let partial = ExportTraceServiceResponse {
            partial_success: Some(ExportTracePartialSuccess {
                rejected_spans: 1,
                error_message: "one is enough".to_owned(),
            }),
        };
        let body = partial.encode_to_vec();
        let mut bytes = format!(
            "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
            body.len()
        )
        .into_bytes();
        bytes.extend(body);
        Reply::Raw(bytes)
    });
    let home = home(&collector);
    let daemon = home.daemon();
    say(&daemon).await;
    collector
        .wait("the turn", |seen| {
            !seen.named("invoke_agent api").is_empty()
        })
        .await;
    doctor(&daemon, "dropped since the start").await;
    doctor(&daemon, "403").await;
    assert!(counted(&daemon, "spans", "dropped").await >= 1);
    assert!(counted(&daemon, "logs", "dropped").await >= 1);
    assert_eq!(counted(&daemon, "logs", "sent").await, 0);
}
