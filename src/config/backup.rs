//! `[backup]`: backups that the daemon makes by itself, and how many of them stay.

use std::path::PathBuf;

use serde::Deserialize;

/// `[backup]`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BackupTable {
    /// Time between two backups: `24h`, `1d`; left out: none is made by itself.
    pub every: Option<String>,
    /// Where they lie, outside of the data directory. It must be there: the daemon does not make it.
    pub folder: Option<String>,
    /// Days of which the newest backup is kept.
    pub keep_daily: Option<u32>,
    /// Weeks of which the newest backup is kept.
    pub keep_weekly: Option<u32>,
    /// Unpack each and check it before it counts.
    pub verify: Option<bool>,
}

/// Backups that the daemon makes by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackupSettings {
    /// Seconds between two.
    pub every_seconds: i64,
    /// Where they lie.
    pub folder: PathBuf,
    /// Days of which the newest is kept.
    pub keep_daily: u32,
    /// Weeks of which the newest is kept.
    pub keep_weekly: u32,
    /// Whether each is unpacked and checked.
    pub verify: bool,
}
