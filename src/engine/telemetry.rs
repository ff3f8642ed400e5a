//! What the exporter of traces and logs told of itself, for the doctor and the metrics.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::config::telemetry::TelemetrySettings;
use crate::protocol::doctor::Finding;
use crate::protocol::telemetry::{ExportOutcome, Signal};

const ABOUT: &str = "telemetry";
/// Whether this program was built with the exporter.
pub const IS_BUILT: bool = cfg!(feature = "otel");

/// What the exporter told.
#[derive(Debug, Default)]
pub struct Telemetry {
    spans: Counts,
    logs: Counts,
    problem: Mutex<Option<String>>,
}

/// What became of one kind of things since the start.
#[derive(Debug, Default)]
struct Counts {
    sent: AtomicU64,
    dropped: AtomicU64,
}

impl Telemetry {
    /// So many had this end.
    pub fn count(&self, signal: Signal, outcome: ExportOutcome, count: u64) {
        self.counter(signal, outcome)
            .fetch_add(count, Ordering::Relaxed);
    }

    /// Why the collector gets nothing; none = it gets everything.
    pub fn set_problem(&self, why: Option<String>) {
        *self.problem.lock().unwrap_or_else(PoisonError::into_inner) = why;
    }

    /// Everything that was counted.
    pub fn counts(&self) -> impl Iterator<Item = (Signal, ExportOutcome, u64)> {
        Signal::ALL.into_iter().flat_map(move |signal| {
            ExportOutcome::ALL.into_iter().map(move |outcome| {
                let count = self.counter(signal, outcome).load(Ordering::Relaxed);
                (signal, outcome, count)
            })
        })
    }

    /// What the doctor says of it.
    pub fn findings(&self) -> Vec<Finding> {
        let problem = self.problem.lock();
        let problem = problem.unwrap_or_else(PoisonError::into_inner).clone();
        let lost = |signal| {
            let counter = self.counter(signal, ExportOutcome::Dropped);
            counter.load(Ordering::Relaxed)
        };
        let (spans, logs) = (lost(Signal::Spans), lost(Signal::Logs));
        let problem = problem.map(|why| {
            Finding::warn(
                ABOUT,
                why,
                "look at the collector and at [telemetry]; turns go on without it",
            )
        });
        let dropped = (spans + logs > 0).then(|| {
            Finding::warn(
                ABOUT,
                format!("{spans} spans and {logs} log records were dropped since the start"),
                "the collector was away, too slow, or refused them; the log has the reason",
            )
        });
        problem.into_iter().chain(dropped).collect()
    }

    fn counter(&self, signal: Signal, outcome: ExportOutcome) -> &AtomicU64 {
        let counts = match signal {
            Signal::Spans => &self.spans,
            Signal::Logs => &self.logs,
        };
        match outcome {
            ExportOutcome::Sent => &counts.sent,
            ExportOutcome::Dropped => &counts.dropped,
        }
    }
}

/// What the doctor says of the collector that is configured.
pub fn configured(settings: &TelemetrySettings, is_built: bool) -> Finding {
    let endpoint = &settings.endpoint;
    if is_built {
        return Finding::ok(ABOUT, format!("traces and logs go to {endpoint}"));
    }
    Finding::warn(
        ABOUT,
        format!("{endpoint} gets nothing: this program was built without OpenTelemetry"),
        "build it with `--features otel`, or leave the endpoint out",
    )
}
