//! Where the engine is, and whether this console may change anything.

/// Whether the engine lives in this process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hosting {
    /// It does; leaving the console may end it.
    Embedded {
        /// Channels that people outside depend on.
        live_channels: Vec<String>,
    },
    /// It lives elsewhere and stays.
    Attached,
}

/// Whether commands may be sent at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Yes.
    Operate,
    /// No: `--read-only`. Not even the emergency stop.
    ReadOnly,
}
