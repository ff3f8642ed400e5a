//! Arguments of `leverframe channels`.

use clap::{Args, Subcommand};

use crate::config::file::ChannelPlatform;
use crate::protocol::enums::{Autonomy, PairingState};

/// `channels`.
#[derive(Debug, Subcommand)]
pub enum ChannelCommands {
    /// List channels
    List {
        /// Follow: print each row again when it changes, until ctrl-c
        #[arg(long, short)]
        watch: bool,
    },
    /// Add a channel to the configuration file, and check its account with the platform
    Add(AddChannelArguments),
    /// Change a channel's autonomy
    SetAutonomy {
        /// Channel name
        channel: String,
        /// supervised, semi_auto or full
        autonomy: Autonomy,
        /// Seconds until the level ends
        #[arg(long, value_name = "SECONDS")]
        r#for: Option<u64>,
    },
    /// Show which of the last calls would run without asking under another level
    WhatIf {
        /// Channel name
        channel: String,
        /// supervised, semi_auto or full
        autonomy: Autonomy,
        /// How many past calls to check
        #[arg(long, value_parser = clap::value_parser!(u32).range(1..=200))]
        limit: Option<u32>,
    },
    /// Pause a channel: it receives and sends nothing
    Pause {
        /// Channel name
        channel: String,
    },
    /// Resume a paused channel
    Resume {
        /// Channel name
        channel: String,
    },
    /// Drain a channel: running turns finish, and new messages wait
    Drain {
        /// Channel name
        channel: String,
        /// Wait until nothing is left, and print what remains
        #[arg(long)]
        wait: bool,
    },
    /// End a drain: the channel works again
    Undrain {
        /// Channel name
        channel: String,
    },
    Conform(crate::cli::conform::ConformArguments),
    /// Check the account with the platform, send a test message, and show its outcome
    Test {
        /// Channel name
        channel: String,
        /// Send nothing
        #[arg(long, conflicts_with = "to")]
        no_message: bool,
        /// Conversation key; by default the conversation with the newest change
        #[arg(long)]
        to: Option<String>,
        /// Seconds to wait for the outcome
        #[arg(long, value_name = "SECONDS", default_value_t = 30)]
        wait: u64,
    },
    /// List unknown senders who ask for access, and those who have it
    Pairings {
        /// pending, accepted, refused, expired or revoked
        #[arg(long)]
        state: Option<PairingState>,
    },
    /// Grant a sender access by their code, as a user who decides nothing
    Pair {
        /// Code, or id of the pairing
        code: String,
        /// Deny access instead; the sender gets no message
        #[arg(long)]
        deny: bool,
    },
    /// Revoke an access, or a denial of it
    Revoke {
        /// Channel name
        channel: String,
        /// Their id on the platform
        user: String,
    },
}

/// `channels add`.
#[derive(Debug, Default, Args)]
pub struct AddChannelArguments {
    /// Its name: 1 to 32 of a-z, 0-9, _ and -
    pub name: String,
    /// telegram, discord, slack, matrix, webhook or process; asks if left out
    #[arg(long)]
    pub kind: Option<ChannelPlatform>,
    /// Variable that holds the bot's token
    #[arg(long, value_name = "VARIABLE", conflicts_with = "token_file")]
    pub token_env: Option<String>,
    /// File of mode 0600 that holds the bot's token
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<String>,
    /// Slack: variable that holds the app-level token
    #[arg(long, value_name = "VARIABLE", conflicts_with = "app_token_file")]
    pub app_token_env: Option<String>,
    /// Slack: file of mode 0600 that holds the app-level token
    #[arg(long, value_name = "FILE")]
    pub app_token_file: Option<String>,
    /// Webhook: variable that holds the secret for signatures
    #[arg(long, value_name = "VARIABLE", conflicts_with = "secret_file")]
    pub secret_env: Option<String>,
    /// Webhook: file of mode 0600 that holds the secret for signatures
    #[arg(long, value_name = "FILE")]
    pub secret_file: Option<String>,
    /// Base URL of the platform; Matrix: the homeserver
    #[arg(long, value_name = "URL")]
    pub api_base: Option<String>,
    /// Webhook: address that gets the agent's replies
    #[arg(long, value_name = "URL")]
    pub callback_url: Option<String>,
    /// Telegram: public address of this daemon, to which Telegram sends updates
    #[arg(long, value_name = "URL")]
    pub webhook_url: Option<String>,
    /// Id of a person whom the bot answers; can be given again. Without one, direct messages ask for access
    #[arg(long = "allow", value_name = "ID")]
    pub allowed_users: Vec<String>,
    /// Process: variable NAME=VALUE for the program, or NAME to pass on the daemon's; can be given again
    #[arg(long, value_name = "NAME[=VALUE]")]
    pub env: Vec<String>,
    /// Process: directory or file that the program reads; can be given again
    #[arg(long, value_name = "PATH")]
    pub read: Vec<String>,
    /// Process: directory that the program changes; can be given again
    #[arg(long, value_name = "PATH")]
    pub write: Vec<String>,
    /// Slack: only print the manifest of an app with this name, to paste at api.slack.com/apps
    #[arg(long)]
    pub manifest: bool,
    /// Skip the check with the platform
    #[arg(long)]
    pub no_check: bool,
    /// Process: program and arguments, behind --
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}
