//! What the exporter tells of itself: to the doctor and the metrics, which do not know the exporter.

use crate::protocol::telemetry::{ExportOutcome, Signal};

/// Hears how the exporter does.
pub trait TelemetryReport: Send + Sync {
    /// So many spans or log records had this end.
    fn count(&self, signal: Signal, outcome: ExportOutcome, count: u64);
    /// The collector gets nothing, and why; none = it gets everything again.
    fn problem(&self, why: Option<&str>);
}
