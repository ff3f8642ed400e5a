//! Result of a configuration reload.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::protocol::enums::ReloadEffect;

/// A setting whose value in the configuration differs from the one in use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SettingChange {
    /// Dotted key in the file, for example `channels.team.max_wait_seconds`.
    pub key: String,
    /// Previous value as TOML; none = not set. Both values are none when a referenced file or the
    /// output of a command changed.
    pub before: Option<String>,
    /// New value as TOML; none = not set any more.
    pub after: Option<String>,
    /// When the change takes effect.
    pub effect: ReloadEffect,
}

/// What a reload found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConfigurationReload {
    /// Whether the reload only compared.
    pub preview: bool,
    /// Path of the configuration file.
    pub file: String,
    /// Settings that differ from those in use, by key; empty = none.
    pub changes: Vec<SettingChange>,
}
