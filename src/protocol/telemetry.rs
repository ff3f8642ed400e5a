//! Signals for an OpenTelemetry collector, and the outcome of their export.

/// A kind of signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// Spans of traces.
    Spans,
    /// Log records.
    Logs,
}

impl Signal {
    /// All signals.
    pub const ALL: [Self; 2] = [Self::Spans, Self::Logs];

    /// The word in metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Spans => "spans",
            Self::Logs => "logs",
        }
    }
}

/// Outcome of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportOutcome {
    /// The collector accepted the records.
    Sent,
    /// The queue was full, or the collector refused the records.
    Dropped,
}

impl ExportOutcome {
    /// Both outcomes.
    pub const ALL: [Self; 2] = [Self::Sent, Self::Dropped];

    /// The word in metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sent => "sent",
            Self::Dropped => "dropped",
        }
    }
}
