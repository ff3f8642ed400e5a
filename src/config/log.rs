//! `[log]`: where a daemon writes its lines, and how long the files get.

use std::path::PathBuf;

use serde::Deserialize;

/// `[log]`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LogTable {
    /// Filter, for example `leverframe=debug`.
    pub filter: Option<String>,
    /// JSON lines.
    pub json: Option<bool>,
    /// A daemon writes into this file in place of standard error.
    pub file: Option<String>,
    /// Size at which a log file is put aside, in MiB.
    pub max_mib: Option<u64>,
    /// Log files that were put aside and are kept.
    pub keep: Option<u32>,
}

/// Files of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogFileSettings {
    /// What a daemon writes into; none = standard error.
    pub path: Option<PathBuf>,
    /// Bytes at which a file is put aside.
    pub max_bytes: u64,
    /// How many of those are kept.
    pub keep: u32,
}
