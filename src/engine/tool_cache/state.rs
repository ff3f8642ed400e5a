//! What is known of workspaces whose results are kept, and whether any is.

use crate::config::settings::Settings;
use crate::engine::tool_cache::workspaces::Workspaces;

/// Most results that are kept.
pub const MAX_RESULTS: u64 = 512;
/// Most bytes of them.
pub const MAX_RESULT_BYTES: u64 = 2 * 1024 * 1024;

/// What the engine knows for it, beside the file it shares with the response cache.
pub struct ToolCache {
    workspaces: Workspaces,
    enabled: bool,
}

impl ToolCache {
    /// What settings ask for.
    pub fn new(settings: &Settings) -> Self {
        let channels = settings.channels.values();
        Self {
            enabled: channels.clone().any(|channel| channel.tool_cache),
            workspaces: Workspaces::new(channels.map(|channel| channel.workspace.clone())),
        }
    }

    /// How often each workspace was changed by calls of ours.
    pub fn workspaces(&self) -> &Workspaces {
        &self.workspaces
    }

    /// Whether any channel keeps results.
    pub fn is_enabled(&self) -> bool {
        self.enabled
    }
}
