//! Arguments of `leverframe channels`.

use clap::{Args, Subcommand};

use crate::config::file::ChannelPlatform;
use crate::protocol::enums::{Autonomy, PairingState};

/// `channels`.
#[derive(Debug, Subcommand)]
pub enum ChannelCommands {
    /// List channels
    List {
        /// Go on, and print each row again that changes, until ctrl-c
        #[arg(long, short)]
        watch: bool,
    },
    /// Write a channel into the configuration file, and ask its platform whether it is set up
    Add(AddChannelArguments),
    /// Change how much a channel's agent may do by itself
    SetAutonomy {
        /// Channel name
        channel: String,
        /// supervised, semi_auto or full
        autonomy: Autonomy,
        /// Seconds the level holds
        #[arg(long, value_name = "SECONDS")]
        r#for: Option<u64>,
    },
    /// Of the last calls, which would have run without asking under another level
    WhatIf {
        /// Channel name
        channel: String,
        /// supervised, semi_auto or full
        autonomy: Autonomy,
        /// Past calls that are looked at
        #[arg(long, value_parser = clap::value_parser!(u32).range(1..=200))]
        limit: Option<u32>,
    },
    /// Stop taking from and sending to its platform
    Pause {
        /// Channel name
        channel: String,
    },
    /// Undo a pause
    Resume {
        /// Channel name
        channel: String,
    },
    /// Finish what was begun and take up nothing new; messages that come wait
    Drain {
        /// Channel name
        channel: String,
        /// Wait until nothing is left, and say what is
        #[arg(long)]
        wait: bool,
    },
    /// Take up work again after a drain
    Undrain {
        /// Channel name
        channel: String,
    },
    Conform(crate::cli::conform::ConformArguments),
    /// Ask the platform whether the account is set up, send a test message, and tell how that ended
    Test {
        /// Channel name
        channel: String,
        /// Send nothing
        #[arg(long, conflicts_with = "to")]
        no_message: bool,
        /// Conversation key; the one with the newest change where it is left out
        #[arg(long)]
        to: Option<String>,
        /// Seconds to wait for the end
        #[arg(long, value_name = "SECONDS", default_value_t = 30)]
        wait: u64,
    },
    /// List unknown senders who ask for access, and who has it
    Pairings {
        /// pending, accepted, refused, expired or revoked
        #[arg(long)]
        state: Option<PairingState>,
    },
    /// Grant access by the code that the sender was told: as a user, who decides nothing
    Pair {
        /// Code, or id of the pairing
        code: String,
        /// Keep them out instead, without a word to them
        #[arg(long)]
        deny: bool,
    },
    /// Revoke an access, or a refusal of it
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
    /// telegram, discord, slack, matrix, webhook or process; asked for where it is left out
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
    /// Webhook: variable that holds the secret of the signatures
    #[arg(long, value_name = "VARIABLE", conflicts_with = "secret_file")]
    pub secret_env: Option<String>,
    /// Webhook: file of mode 0600 that holds the secret of the signatures
    #[arg(long, value_name = "FILE")]
    pub secret_file: Option<String>,
    /// Base URL of the platform; Matrix: the homeserver
    #[arg(long, value_name = "URL")]
    pub api_base: Option<String>,
    /// Webhook: address that gets what the agent says
    #[arg(long, value_name = "URL")]
    pub callback_url: Option<String>,
    /// Telegram: public address of this daemon, to which Telegram sends updates
    #[arg(long, value_name = "URL")]
    pub webhook_url: Option<String>,
    /// Id of somebody whom the bot answers; can be given again. Without one, direct messages ask for access
    #[arg(long = "allow", value_name = "ID")]
    pub allowed_users: Vec<String>,
    /// Process: a variable NAME=VALUE of the program, or NAME to pass on one of the daemon's; can be given again
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
    /// Do not ask the platform
    #[arg(long)]
    pub no_check: bool,
    /// Process: program and arguments, behind --
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}
