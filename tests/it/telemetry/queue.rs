//! The queue has a bound: a flood of events in front of a collector that hangs is counted and holds nobody up.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use futures_util::{StreamExt as _, stream};
use leverframe::client::console_client::{ConsoleClient, EventStream};
use leverframe::clock::Timestamp;
use leverframe::config::telemetry::TelemetrySettings;
use leverframe::protocol::event::{Event, EventBody, EventFilter, StreamItem};
use leverframe::protocol::ids::ContinuationId;
use leverframe::protocol::problem::Problem;
use leverframe::protocol::request::{Answer, Envelope, Outcome, Query};
use leverframe::protocol::session::Usage;
use leverframe::protocol::telemetry::{ExportOutcome, Signal};
use leverframe::telemetry::exporter::{Exporter, Parts};
use leverframe::telemetry::report::TelemetryReport;
use leverframe::text::redact::Redactor;

use crate::support::daemon::DEADLINE;
use crate::support::fake_http::Reply;
use crate::telemetry::collector::Collector;

/// Turns that end at once.
const TURNS: u64 = 10_000;

/// An engine that ends many turns at once, and has no log.
struct Flood;

#[async_trait]
impl ConsoleClient for Flood {
    async fn submit(&self, _envelope: Envelope) -> Result<Outcome, Problem> {
        Err(Problem::internal("no commands"))
    }

    async fn query(&self, _query: Query) -> Result<Answer, Problem> {
        Err(Problem::internal("no answers"))
    }

    async fn events(&self, _filter: EventFilter) -> Result<EventStream, Problem> {
        let events = stream::iter(1..=TURNS).map(|seq| {
            Ok(StreamItem::Event(Arc::new(Event {
                seq: Some(seq),
                at: Timestamp(1_800_000_000_000),
                session_id: None,
                continuation_id: Some(ContinuationId::generate()),
                body: EventBody::ContinuationCompleted {
                    preview: "hello".to_owned(),
                    usage: Usage::default(),
                },
            })))
        });
        Ok(events.chain(stream::pending()).boxed())
    }

    fn description(&self) -> String {
        "a flood".to_owned()
    }
}

#[derive(Default)]
struct Counts {
    dropped: AtomicU64,
}

impl TelemetryReport for Counts {
    fn count(&self, signal: Signal, outcome: ExportOutcome, count: u64) {
        if (signal, outcome) == (Signal::Spans, ExportOutcome::Dropped) {
            self.dropped.fetch_add(count, Ordering::Relaxed);
        }
    }

    fn problem(&self, _why: Option<&str>) {}
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_queue_drops_and_counts() {
    let collector = Collector::answering(|_| Reply::Hang);
    let counts = Arc::new(Counts::default());
    let exporter = Exporter::start(Parts {
        settings: TelemetrySettings {
            endpoint: collector.url().to_owned(),
            headers: BTreeMap::new(),
            secrets: Vec::new(),
            service_name: "test".to_owned(),
            sample_ratio: 1.0,
        },
        instance: "test".to_owned(),
        providers: BTreeMap::new(),
        client: Arc::new(Flood),
        redactor: Redactor::default(),
        report: counts.clone(),
    })
    .await
    .unwrap();
    let deadline = Instant::now() + DEADLINE;
    // 2048 wait, and 512 may be on their way.
    while counts.dropped.load(Ordering::Relaxed) < TURNS - 2048 - 512 {
        assert!(Instant::now() < deadline, "nothing was dropped");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let begun = Instant::now();
    exporter.stop().await;
    assert!(begun.elapsed() < Duration::from_secs(8));
}
