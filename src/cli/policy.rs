//! `leverframe policy show|set|allow|block|ask|clear`: how much a channel's agent may do by itself, and with which tools.
//!
//! Before a change the command says what it would have meant for the last calls. A person at a terminal confirms it.

use clap::{Args, Subcommand};

use crate::cli::exit::Failure;
use crate::cli::find::submit;
use crate::cli::table;
use crate::cli::terminal::{Cli, Format, Terminal, cell};
use crate::protocol::channel::Channel;
use crate::protocol::enums::Autonomy;
use crate::protocol::policy::{Policy, PolicyPatch, ToolListing, WhatIf};
use crate::protocol::request::{GetChannel, GetWhatIf, SetPolicy};
use crate::text::untrusted::limit_line;

/// Past calls that a change is tried on.
const CALLS: u32 = 50;

/// `policy`.
#[derive(Debug, Subcommand)]
pub enum PolicyCommands {
    /// Show the autonomy and the three lists of a channel
    Show {
        /// Channel name
        channel: String,
    },
    /// Change the autonomy, or replace whole lists
    Set {
        /// Channel name
        channel: String,
        /// supervised, semi_auto or full
        #[arg(long)]
        autonomy: Option<Autonomy>,
        /// Seconds until the level ends
        #[arg(long, value_name = "SECONDS", requires = "autonomy")]
        r#for: Option<u64>,
        /// Tools that run without approval, separated by commas; empty: none
        #[arg(long, value_name = "TOOLS")]
        auto_approve: Option<String>,
        /// Tools that never run
        #[arg(long, value_name = "TOOLS")]
        block: Option<String>,
        /// Tools that always ask
        #[arg(long, value_name = "TOOLS")]
        always_ask: Option<String>,
        /// How it is carried out
        #[command(flatten)]
        change: PolicyChange,
    },
    /// Make tools run without approval
    Allow {
        /// Which
        #[command(flatten)]
        of: PolicyTools,
    },
    /// Block tools
    Block {
        /// Which
        #[command(flatten)]
        of: PolicyTools,
    },
    /// Make tools always ask
    Ask {
        /// Which
        #[command(flatten)]
        of: PolicyTools,
    },
    /// Remove tools from all lists: the autonomy decides
    Clear {
        /// Which
        #[command(flatten)]
        of: PolicyTools,
    },
}

/// Tools of a channel.
#[derive(Debug, Args)]
pub struct PolicyTools {
    /// Channel name
    pub channel: String,
    /// Names, or a prefix with `*`; removes them from the other lists
    #[arg(required = true)]
    pub tools: Vec<String>,
    /// How it is carried out
    #[command(flatten)]
    pub change: PolicyChange,
}

/// How a change of a policy is carried out.
#[derive(Debug, Args)]
pub struct PolicyChange {
    /// Only show its effect on the last calls
    #[arg(long)]
    pub preview: bool,
    /// Do not ask
    #[arg(long)]
    pub yes: bool,
}

/// A change that somebody wants.
#[derive(Debug)]
enum Change {
    /// This one.
    Patch(PolicyPatch),
    /// Tools go into one list and out of the others, or out of all.
    Move(Vec<String>, ToolListing),
}

/// Carries a subcommand out.
pub async fn run(cli: &mut Cli<'_>, command: PolicyCommands) -> Result<(), Failure> {
    let (name, change, wanted) = match command {
        PolicyCommands::Show { channel } => {
            return cli.query(GetChannel { name: channel }, print).await;
        }
        PolicyCommands::Set {
            channel,
            autonomy,
            r#for,
            auto_approve,
            block,
            always_ask,
            change,
        } => {
            let patch = PolicyPatch {
                autonomy,
                expires_in_seconds: r#for,
                auto_approve: auto_approve.map(entries),
                block: block.map(entries),
                always_ask: always_ask.map(entries),
                if_version: None,
            };
            if patch == PolicyPatch::default() {
                return Err(Failure::usage(
                    "nothing to set: name --autonomy, --auto-approve, --block or --always-ask",
                ));
            }
            (channel, change, Change::Patch(patch))
        }
        PolicyCommands::Allow { of } => (
            of.channel,
            of.change,
            Change::Move(of.tools, ToolListing::RunsAlone),
        ),
        PolicyCommands::Block { of } => (
            of.channel,
            of.change,
            Change::Move(of.tools, ToolListing::Blocked),
        ),
        PolicyCommands::Ask { of } => (
            of.channel,
            of.change,
            Change::Move(of.tools, ToolListing::AlwaysAsks),
        ),
        PolicyCommands::Clear { of } => (
            of.channel,
            of.change,
            Change::Move(of.tools, ToolListing::Level),
        ),
    };
    let before = cli.client.call(GetChannel { name: name.clone() }).await?;
    let patch = PolicyPatch {
        // Somebody else may change it while this one is looked at.
        if_version: Some(before.policy.version),
        ..wanted.patch(&before.policy)
    };
    let what_if = GetWhatIf {
        channel: name.clone(),
        patch: patch.clone(),
        limit: Some(CALLS),
    };
    if cli.terminal.format == Format::Human || change.preview {
        let mut what_if = cli.client.call(what_if).await?;
        // The others go on as they did.
        what_if
            .calls
            .retain(|call| call.was != call.would_be.decision);
        cli.terminal.show(&what_if, print_what_if)?;
    }
    if change.preview {
        return Ok(());
    }
    if cli.terminal.is_attended() && !change.yes {
        let answer = cli
            .terminal
            .ask(&format!("change the policy of {}? [y/N]", cell(&name)))?;
        if !matches!(answer.as_str(), "y" | "Y" | "yes") {
            return Err(Failure::ended("nothing was changed"));
        }
    }
    let after = submit(
        cli.client,
        SetPolicy {
            channel: name,
            patch,
        },
    )
    .await?;
    cli.terminal.show(&after, print)
}

/// A list as the command line has it: names with commas between them; nothing = an empty list.
fn entries(text: String) -> Vec<String> {
    text.split(',')
        .map(str::trim)
        .filter(|entry| !entry.is_empty())
        .map(str::to_owned)
        .collect()
}

impl Change {
    /// What it changes of a policy.
    fn patch(&self, policy: &Policy) -> PolicyPatch {
        match self {
            Self::Patch(patch) => patch.clone(),
            Self::Move(tools, standing) => policy.placing(tools, *standing),
        }
    }
}

fn print(terminal: &mut Terminal<'_>, channel: &Channel) -> Result<(), Failure> {
    let policy = &channel.policy;
    let until = match (policy.expires_at, policy.reverts_to) {
        (Some(at), Some(level)) => format!(" until {at}, then {level}"),
        (Some(at), None) => format!(" until {at}"),
        (None, _) => String::new(),
    };
    terminal.line(&format!("channel       {}", cell(&channel.name)))?;
    terminal.line(&format!("autonomy      {}{until}", policy.autonomy))?;
    for (name, list) in [
        ("auto_approve", &policy.auto_approve),
        ("block", &policy.block),
        ("always_ask", &policy.always_ask),
    ] {
        let entries = if list.is_empty() {
            "-".to_owned()
        } else {
            cell(&list.join(", "))
        };
        terminal.line(&format!("{name:<12}  {entries}"))?;
    }
    terminal.line(&format!("version       {}", policy.version))
}

/// Prints which of the last calls would have run under another policy.
pub fn print_what_if(terminal: &mut Terminal<'_>, what_if: &WhatIf) -> Result<(), Failure> {
    terminal.line(&format!(
        "under {} {} of the last {} calls would have run without you; {} of them asked then",
        what_if.autonomy, what_if.would_run, what_if.considered, what_if.newly_unattended
    ))?;
    let heads = ["AT", "VERDICT", "RISK", "TOOL", "ARGUMENTS", "RULE"];
    table::rows(
        terminal,
        &heads,
        "no such call yet",
        &what_if.calls,
        |call| {
            vec![
                call.at.to_string(),
                format!("{} -> {}", call.was, call.would_be.decision),
                call.risk.to_string(),
                cell(&call.tool),
                limit_line(&call.preview, 60),
                cell(&call.would_be.rule),
            ]
        },
    )
}
