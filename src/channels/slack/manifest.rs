//! What the app has to be at Slack: scopes, events and the command, and the manifest that people paste.
//!
//! Source: <https://docs.slack.dev/reference/app-manifest>.

use serde_json::{Value, json};

use crate::protocol::slash::SlashCommand;

/// The command that people type in Slack. Names such as `/status` are Slack's own.
pub const COMMAND: &str = "/leverframe";

/// Where an app is made and changed.
pub const APPS: &str = "https://api.slack.com/apps";

/// A scope of the bot token, and what fails without it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scope {
    /// Its name.
    pub name: &'static str,
    /// What the bot cannot do without it, in words.
    pub without: &'static str,
    /// Whether messages come and go without it.
    pub optional: bool,
}

const fn needs(name: &'static str, without: &'static str) -> Scope {
    Scope {
        name,
        without,
        optional: false,
    }
}

const fn wants(name: &'static str, without: &'static str) -> Scope {
    Scope {
        name,
        without,
        optional: true,
    }
}

/// Every scope of the bot token.
pub const SCOPES: &[Scope] = &[
    needs("chat:write", "it cannot write"),
    needs("app_mentions:read", "it does not hear who mentions it"),
    needs("im:history", "it does not hear direct messages"),
    needs("im:write", "it cannot send approval cards to people"),
    needs("commands", "it has no command"),
    wants(
        "channels:history",
        "it hears only mentions in public channels",
    ),
    wants("groups:history", "it does not hear private channels"),
    wants(
        "mpim:history",
        "it does not hear direct messages of several people",
    ),
    wants(
        "channels:read",
        "public channels have ids in place of names",
    ),
    wants("groups:read", "private channels have ids in place of names"),
    wants("im:read", "direct messages have no title"),
    wants(
        "mpim:read",
        "direct messages of several people have no title",
    ),
    wants("users:read", "people have ids in place of names"),
    wants("files:read", "it cannot read files that people send"),
    wants("files:write", "it cannot send files"),
];

/// Events that the app subscribes to.
pub const EVENTS: &[&str] = &[
    "app_mention",
    "app_uninstalled",
    "message.channels",
    "message.groups",
    "message.im",
    "message.mpim",
    "tokens_revoked",
];

/// The manifest of an app with this name, for "From a manifest" at [`APPS`].
pub fn manifest(name: &str) -> Value {
    let scopes: Vec<&str> = SCOPES.iter().map(|scope| scope.name).collect();
    let hint: Vec<&str> = SlashCommand::ALL
        .iter()
        .map(|command| command.as_str())
        .collect();
    json!({
        "_metadata": { "major_version": 2 },
        "display_information": {
            "name": name,
            "description": "An agent whose calls people approve",
        },
        "features": {
            "app_home": {
                "home_tab_enabled": false,
                "messages_tab_enabled": true,
                "messages_tab_read_only_enabled": false,
            },
            "bot_user": { "display_name": name, "always_online": false },
            "slash_commands": [{
                "command": COMMAND,
                "description": "Talk to the agent, or give it a command",
                "usage_hint": format!("TEXT, or {}", hint.join(" ")),
                "should_escape": true,
            }],
        },
        "oauth_config": { "scopes": { "bot": scopes } },
        "settings": {
            "event_subscriptions": { "bot_events": EVENTS },
            "interactivity": { "is_enabled": true },
            "org_deploy_enabled": false,
            "socket_mode_enabled": true,
            "token_rotation_enabled": false,
        },
    })
}

/// The scopes of the list that are not among those given.
pub fn missing(given: &[String]) -> Vec<Scope> {
    SCOPES
        .iter()
        .filter(|scope| !given.iter().any(|one| one == scope.name))
        .copied()
        .collect()
}
