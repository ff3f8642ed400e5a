//! What a collector gets, and what becomes of it.

/// A kind of things that a collector gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// Parts of traces.
    Spans,
    /// Records of the log.
    Logs,
}

impl Signal {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Spans, Self::Logs];

    /// The word in metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Spans => "spans",
            Self::Logs => "logs",
        }
    }
}

/// What became of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportOutcome {
    /// The collector took them.
    Sent,
    /// There was no more room for them, or the collector refused them.
    Dropped,
}

impl ExportOutcome {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Sent, Self::Dropped];

    /// The word in metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sent => "sent",
            Self::Dropped => "dropped",
        }
    }
}
