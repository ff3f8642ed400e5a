//! Channels looked at without an engine: what their platform says of the account.

use anyhow::Context as _;
use serde_json::Value;

use crate::channels::build;
use crate::channels::slack::manifest;
use crate::client::webhooks::Webhooks;
use crate::clock::Clock;
use crate::config::environment::Environment;
use crate::config::flags::Flags;
use crate::config::layers;
use crate::protocol::doctor::Finding;
use crate::runtime::start::tool_names;

/// What a person pastes to make an app of Slack with this name.
pub fn slack_manifest(name: &str) -> Value {
    manifest::manifest(name)
}

/// Asks the platform of a configured channel whether its account is set up as it must be.
///
/// # Errors
/// The configuration has a fault, or no such channel.
pub async fn check(
    flags: &Flags,
    environment: &Environment,
    channel: &str,
) -> anyhow::Result<Vec<Finding>> {
    let settings = layers::load(flags, environment, tool_names())?;
    let settings = settings
        .channels
        .get(channel)
        .with_context(|| format!("there is no channel `{channel}`"))?;
    let bridge = build::build(channel, settings, &Clock::System, &Webhooks::default());
    match bridge {
        Some(bridge) => Ok(bridge.check().await),
        None => Ok(Vec::new()),
    }
}
