//! From a channel's settings to its bridge.

use std::sync::Arc;

use crate::channels::channel::Bridge;
use crate::channels::discord::bridge::{DiscordBridge, DiscordOptions};
use crate::channels::matrix::bridge::{MatrixBridge, MatrixOptions};
use crate::channels::process::bridge::ProcessBridge;
use crate::channels::process::times::ProcessTimes;
use crate::channels::slack::bridge::{SlackBridge, SlackOptions};
use crate::channels::telegram::bridge::{TelegramBridge, TelegramOptions};
use crate::channels::webhook::bridge::WebhookBridge;
use crate::client::program::ProgramStarter;
use crate::client::webhooks::Webhooks;
use crate::clock::Clock;
use crate::config::settings::ChannelSettings;
use crate::protocol::enums::ChannelKind;

/// The bridge of a channel; none for channels that need no connection (the built-in ones)
/// and for scripted ones, which are made with their phrases by
/// [`crate::channels::scripted::ScriptedBridge::new`]. One of kind `process` is made with its program by [`process`].
///
/// A channel without a token still has a bridge: it fails at its start with the fix in words,
/// so that the console shows the channel as failed instead of not at all.
pub fn build(
    name: &str,
    settings: &ChannelSettings,
    clock: &Clock,
    webhooks: &Webhooks,
) -> Option<Box<dyn Bridge>> {
    match settings.kind {
        ChannelKind::Telegram => Some(Box::new(
            TelegramBridge::new(
                name,
                &settings.platform.api_base,
                settings.platform.token.clone(),
                clock.clone(),
                TelegramOptions::default(),
            )
            .with_webhook(settings.platform.webhook_url.clone(), webhooks.clone()),
        )),
        ChannelKind::Webhook => Some(Box::new(WebhookBridge::new(
            name,
            &settings.platform,
            webhooks.clone(),
            clock.clone(),
        ))),
        ChannelKind::Discord => Some(Box::new(DiscordBridge::new(
            name,
            &settings.platform.api_base,
            settings.platform.token.clone(),
            clock.clone(),
            DiscordOptions::default(),
        ))),
        ChannelKind::Slack => Some(Box::new(SlackBridge::new(
            name,
            &settings.platform.api_base,
            (
                settings.platform.token.clone(),
                settings.platform.app_token.clone(),
            ),
            clock.clone(),
            SlackOptions::default(),
        ))),
        ChannelKind::Matrix => Some(Box::new(MatrixBridge::new(
            name,
            &settings.platform.api_base,
            settings.platform.token.clone(),
            clock.clone(),
            MatrixOptions::default(),
        ))),
        ChannelKind::Process
        | ChannelKind::Desk
        | ChannelKind::Api
        | ChannelKind::Mcp
        | ChannelKind::Cli
        | ChannelKind::Gate
        | ChannelKind::Routine
        | ChannelKind::Scripted => None,
    }
}

/// The bridge of a channel of kind `process`, whose program `program` starts.
pub fn process(name: &str, program: Arc<dyn ProgramStarter>, clock: &Clock) -> Box<dyn Bridge> {
    let times = ProcessTimes::default();
    Box::new(ProcessBridge::new(name, program, clock.clone(), times))
}
