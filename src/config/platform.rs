//! How a channel reaches its platform, as the configuration says.
//!
//! Nothing here connects.

use serde::Deserialize;

use crate::config::program::ProgramSettings;
use crate::config::secret::Secret;

/// How certain it is who wrote a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SenderIdentity {
    /// The platform vouches for the id.
    Authenticated,
    /// Somebody says so: no decision counts from there.
    Claimed,
}

/// How a channel reaches its platform.
#[derive(Debug, Clone, PartialEq)]
pub struct PlatformSettings {
    /// The bot's token.
    pub token: Option<Secret>,
    /// Slack's app-level token.
    pub app_token: Option<Secret>,
    /// The secret of signatures.
    pub secret: Option<Secret>,
    /// Base URL; empty where there is none.
    pub api_base: String,
    /// Where a webhook channel sends what the agent says.
    pub callback_url: Option<String>,
    /// Where the platform sends updates; none = it is asked for them.
    pub webhook_url: Option<String>,
    /// The program of a bridge.
    pub program: Option<ProgramSettings>,
}

impl PlatformSettings {
    /// Every secret in it.
    pub fn secrets(&self) -> impl Iterator<Item = &Secret> {
        let program = self.program.iter().flat_map(|program| &program.secrets);
        [&self.token, &self.app_token, &self.secret]
            .into_iter()
            .flatten()
            .chain(program)
    }
}
