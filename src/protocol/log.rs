//! Lines of the daemon's log; the daemon keeps the newest ones in memory.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::protocol::enums::LogLevel;

/// Default number of lines in an answer.
pub const DEFAULT_LINES: u32 = 500;
/// Most lines in an answer.
pub const MAX_LINES: u32 = 2000;

/// A line of the log without secrets and without line breaks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LogLine {
    /// Line number. It rises with each line, also across restarts of the daemon.
    pub number: u64,
    /// When it was written.
    pub at: Timestamp,
    /// Severity of the line.
    pub level: LogLevel,
    /// The module that wrote it.
    pub target: String,
    /// The message, with its fields as `name=value`.
    pub text: String,
}

/// A part of the log.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Log {
    /// The lines, oldest first.
    pub lines: Vec<LogLine>,
    /// Pass as `after` for the lines that follow.
    pub last: u64,
    /// The log filter of the daemon, for example `info`: the key `filter` of `[log]`.
    pub filter: String,
}
