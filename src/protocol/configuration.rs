//! What a reload of the configuration changes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::protocol::enums::ReloadEffect;

/// One setting that the configuration says otherwise than the engine goes by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SettingChange {
    /// Dotted key of the file, for example `channels.team.max_wait_seconds`.
    pub key: String,
    /// What the file said, as TOML; none = nothing. Where both are none, the content of a file that the key names
    /// changed, or what a command prints.
    pub before: Option<String>,
    /// What the file says, as TOML; none = nothing any more.
    pub after: Option<String>,
    /// When it comes into use.
    pub effect: ReloadEffect,
}

/// What a reload found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConfigurationReload {
    /// Whether it was only looked at.
    pub preview: bool,
    /// The configuration file.
    pub file: String,
    /// What differs from what the engine goes by, by key; empty = nothing.
    pub changes: Vec<SettingChange>,
}
