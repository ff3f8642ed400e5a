//! `leverframe channels list|set-autonomy|what-if|pause|resume|drain|undrain|test|conform|pairings|pair|revoke`.

use std::time::Duration;

use tokio::time::Instant;

use crate::cli::channel_arguments::ChannelCommands;
use crate::cli::exit::Failure;
use crate::cli::find::submit;
use crate::cli::list;
use crate::cli::table;
use crate::cli::terminal::{Cli, Format, cell};
use crate::cli::{conform, doctor, outbox, pairings, policy};
use crate::client::console_client::ConsoleClient;
use crate::client::listing::TableRow;
use crate::protocol::channel::Channel;
use crate::protocol::doctor::Standing;
use crate::protocol::enums::{Autonomy, OutboxState};
use crate::protocol::policy::PolicyPatch;
use crate::protocol::request::{
    CheckChannel, DrainChannel, GetChannel, GetDelivery, GetWhatIf, ListChannels, PauseChannel,
    ResumeChannel, SetPolicy, TestChannel,
};

/// Between two looks at what is left.
const LOOK: Duration = Duration::from_millis(200);

/// Carries a subcommand out.
pub async fn run(cli: &mut Cli<'_>, command: ChannelCommands) -> Result<(), Failure> {
    let channel = match command {
        ChannelCommands::List { watch } => {
            return list::run(cli, ListChannels {}, watch).await;
        }
        // It changes a file, and goes through no daemon.
        ChannelCommands::Add(_) => {
            return Err(Failure::usage("`channels add` needs no daemon"));
        }
        ChannelCommands::SetAutonomy {
            channel,
            autonomy,
            r#for,
        } => {
            return set_autonomy(cli, channel, autonomy, r#for).await;
        }
        ChannelCommands::WhatIf {
            channel,
            autonomy,
            limit,
        } => {
            let query = GetWhatIf {
                channel,
                patch: PolicyPatch::level(autonomy),
                limit,
            };
            return cli.query(query, policy::print_what_if).await;
        }
        ChannelCommands::Test {
            channel,
            no_message,
            to,
            wait,
        } => {
            check(cli, &channel, no_message).await?;
            if no_message {
                return Ok(());
            }
            return test(cli, channel, to, wait).await;
        }
        ChannelCommands::Drain {
            channel,
            wait: true,
        } => return drained(cli, channel).await,
        ChannelCommands::Drain {
            channel,
            wait: false,
        } => drain(cli.client, channel, true).await?,
        ChannelCommands::Undrain { channel } => drain(cli.client, channel, false).await?,
        ChannelCommands::Pairings { state } => {
            return pairings::list(cli, state).await;
        }
        ChannelCommands::Pair { code, deny } => {
            return pairings::pair(cli, code, deny).await;
        }
        ChannelCommands::Revoke { channel, user } => {
            return pairings::revoke(cli, &channel, &user).await;
        }
        ChannelCommands::Conform(arguments) => {
            return conform::run(&mut cli.terminal, arguments).await;
        }
        ChannelCommands::Pause { channel } => submit(cli.client, PauseChannel { channel }).await?,
        ChannelCommands::Resume { channel } => {
            submit(cli.client, ResumeChannel { channel }).await?
        }
    };
    table::list(&mut cli.terminal, &[channel])
}

async fn drain(
    client: &dyn ConsoleClient,
    channel: String,
    drain: bool,
) -> Result<Channel, Failure> {
    submit(client, DrainChannel { channel, drain }).await
}

/// Drains a channel and waits until nothing is left, as long as it takes.
async fn drained(cli: &mut Cli<'_>, channel: String) -> Result<(), Failure> {
    let name = channel.clone();
    let mut now = drain(cli.client, channel, true).await?;
    let mut told = String::new();
    loop {
        let left = left(&now);
        if left != told {
            cli.terminal.note(&left)?;
            told = left;
        }
        match now.draining {
            None => {
                return Err(Failure::Ended(format!(
                    "{name} works again: somebody ended the drain"
                )));
            }
            Some(drain) if drain.running == 0 && now.backlog == 0 => {
                table::list(&mut cli.terminal, &[now])?;
                // What a person has to decide is not finished, and no waiting here decides it.
                return if drain.waiting > 0 {
                    Err(Failure::Waiting)
                } else {
                    Ok(())
                };
            }
            Some(_) => tokio::time::sleep(LOOK).await,
        }
        let query = GetChannel { name: name.clone() };
        let channel = cli.client.call(query).await?;
        now = channel;
    }
}

/// What a channel that drains still has to do, in words.
fn left(channel: &Channel) -> String {
    match channel.draining {
        None => "takes up work".to_owned(),
        Some(drain) => format!(
            "draining: {} running, {} waiting for a person, {} unsent, {} queued",
            drain.running, drain.waiting, channel.backlog, drain.held_back
        ),
    }
}

/// Asks the platform about the account, and prints what it says. JSON has one value: of a test that goes on, the delivery.
async fn check(cli: &mut Cli<'_>, channel: &str, is_all: bool) -> Result<(), Failure> {
    let command = CheckChannel {
        channel: channel.to_owned(),
    };
    let findings = submit(cli.client, command).await?.items;
    let failed = findings.iter().any(|one| one.verdict == Standing::Fail);
    if cli.terminal.format == Format::Human || is_all || failed {
        doctor::print_findings(&mut cli.terminal, &findings)?;
    }
    if failed {
        return Err(Failure::Ended(format!(
            "{} is not set up; nothing was sent",
            cell(channel)
        )));
    }
    Ok(())
}

/// Sends a test and says how it ended.
async fn test(
    cli: &mut Cli<'_>,
    channel: String,
    conversation: Option<String>,
    wait: u64,
) -> Result<(), Failure> {
    let command = TestChannel {
        channel,
        conversation,
    };
    let mut item = submit(cli.client, command).await?;
    let end = Instant::now() + Duration::from_secs(wait);
    while matches!(item.state, OutboxState::Pending | OutboxState::Sending) && Instant::now() < end
    {
        tokio::time::sleep(LOOK).await;
        item = cli.client.call(GetDelivery { id: item.id }).await?;
    }
    cli.terminal.show(&item, outbox::print)?;
    match item.state {
        OutboxState::Sent => Ok(()),
        OutboxState::Unknown => Err(Failure::Waiting),
        OutboxState::Pending | OutboxState::Sending => Err(Failure::Ended(format!(
            "not sent after {wait} s; `leverframe channels list` says how {} is",
            cell(&item.channel)
        ))),
        state @ (OutboxState::Failed | OutboxState::Superseded | OutboxState::Abandoned) => Err(
            Failure::Ended(format!("the test was not delivered: {state}")),
        ),
    }
}

/// Changes a channel's level and shows the channel as it is then.
pub async fn set_autonomy(
    cli: &mut Cli<'_>,
    channel: String,
    autonomy: Autonomy,
    expires_in_seconds: Option<u64>,
) -> Result<(), Failure> {
    let patch = PolicyPatch {
        autonomy: Some(autonomy),
        expires_in_seconds,
        ..PolicyPatch::default()
    };
    let channel = submit(cli.client, SetPolicy { channel, patch }).await?;
    table::list(&mut cli.terminal, &[channel])
}

impl TableRow for Channel {
    const HEADS: &'static [&'static str] = &[
        "NAME", "KIND", "AUTONOMY", "STATE", "WAITING", "BACKLOG", "DETAIL",
    ];
    const NOTHING: &'static str = "no channels";

    fn cells(&self) -> Vec<String> {
        let mut autonomy = self.level_text(self.policy.autonomy);
        if let Some(until) = self.policy.expires_at {
            autonomy = format!("{autonomy} until {until}");
        }
        let state = if self.paused {
            "paused".to_owned()
        } else if self.held {
            "held".to_owned()
        } else if self.draining.is_some() {
            "draining".to_owned()
        } else {
            self.health.state.to_string()
        };
        vec![
            cell(&self.name),
            self.kind.to_string(),
            autonomy,
            state,
            self.pending_approvals.to_string(),
            self.backlog.to_string(),
            match self.draining {
                Some(_) => left(self),
                None => cell(self.health.detail.as_deref().unwrap_or("")),
            },
        ]
    }
}
