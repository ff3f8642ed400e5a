//! Lines of the daemon's log, as it keeps the newest of them in memory.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::protocol::enums::LogLevel;

/// Lines of one answer where nothing else is said.
pub const DEFAULT_LINES: u32 = 500;
/// Lines of one answer at most.
pub const MAX_LINES: u32 = 2000;

/// A line of the log. Secrets are taken out of it, and it has no line break.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LogLine {
    /// Its number. A later line has a larger one, also in a later run of the daemon.
    pub number: u64,
    /// When it was written.
    pub at: Timestamp,
    /// How serious it is.
    pub level: LogLevel,
    /// The part of the program that wrote it.
    pub target: String,
    /// What it says, with its fields as `name=value`.
    pub text: String,
}

/// A part of the log.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Log {
    /// The lines, oldest first.
    pub lines: Vec<LogLine>,
    /// Ask for what comes after this number next.
    pub last: u64,
    /// What the daemon writes at all, for example `info`: the key `filter` of `[log]`.
    pub filter: String,
}
