//! `leverframe routine list|show|add|edit|enable|disable|remove|run|history|upcoming`.

use std::io::Read as _;

use clap::{Args, Subcommand};

use crate::cli::exit::{Failure, usage};
use crate::cli::find::submit;
use crate::cli::list;
use crate::cli::terminal::{Cli, Format, Terminal, cell};
use crate::client::console_client::ConsoleClient;
use crate::client::listing::next_run;
use crate::protocol::command::BudgetRequest;
use crate::protocol::enums::{Autonomy, MissedRuns};
use crate::protocol::request::{
    AddRoutine, ChangeRoutine, GetRoutine, ListRoutineRuns, ListRoutines, ListUpcomingRuns,
    RemoveRoutine, RunRoutine,
};
use crate::protocol::routine::{Routine, RoutinePatch, RoutineRun};
use crate::protocol::snapshot::PageRequest;
use crate::text::untrusted::reveal;

/// Longest prompt read from standard input, in bytes; the engine takes less.
const MAX_INPUT: u64 = 64 * 1024;

/// `routine`.
#[derive(Debug, Subcommand)]
pub enum RoutineCommands {
    /// List routines with their next runs
    List,
    /// Show a routine
    Show {
        /// Name or id
        routine: String,
    },
    /// Add a routine: `routine add morning --schedule "0 9 * * MON-FRI" --prompt "What is new?"`
    Add {
        /// Name: 1 to 32 of a-z, 0-9, _ and -
        name: String,
        /// What it is
        #[command(flatten)]
        fields: RoutineFlags,
        /// Add it disabled: the schedule does not start it
        #[arg(long)]
        disabled: bool,
    },
    /// Change the given settings of a routine
    Edit {
        /// Name or id
        routine: String,
        /// New name
        #[arg(long)]
        name: Option<String>,
        /// What it is
        #[command(flatten)]
        fields: RoutineFlags,
    },
    /// Enable a routine: it runs on its schedule
    Enable {
        /// Name or id
        routine: String,
    },
    /// Disable a routine: its schedule does not start it
    Disable {
        /// Name or id
        routine: String,
    },
    /// Remove a routine with its history; its turns stay
    Remove {
        /// Name or id
        routine: String,
    },
    /// Run a routine now, enabled or not
    Run {
        /// Name or id
        routine: String,
    },
    /// List the runs of a routine, newest first
    History {
        /// Name or id
        routine: String,
        /// At most this many
        #[arg(long, value_parser = clap::value_parser!(u32).range(1..=500))]
        limit: Option<u32>,
    },
    /// Show the next times of a schedule or a routine
    Upcoming {
        /// Name or id
        #[arg(required_unless_present = "schedule")]
        routine: Option<String>,
        /// Cron or `every 90m`
        #[arg(long, conflicts_with = "routine")]
        schedule: Option<String>,
        /// IANA name; by default that of the machine
        #[arg(long, value_name = "ZONE", requires = "schedule")]
        time_zone: Option<String>,
        /// How many times to show
        #[arg(long, value_parser = clap::value_parser!(u32).range(1..=50))]
        limit: Option<u32>,
    },
}

/// What can be set of a routine.
#[derive(Debug, Args)]
pub struct RoutineFlags {
    /// Cron of five or six fields (minute hour day month weekday), or `every 2h30m`
    #[arg(long)]
    schedule: Option<String>,
    /// IANA name, for example Europe/Berlin; empty = that of the machine
    #[arg(long, value_name = "ZONE")]
    time_zone: Option<String>,
    /// Prompt for the bot; `-` reads standard input
    #[arg(long)]
    prompt: Option<String>,
    /// Channel of its conversation; `routine` by default
    #[arg(long)]
    channel: Option<String>,
    /// Conversation; needed on a chat platform
    #[arg(long)]
    conversation: Option<String>,
    /// PROVIDER/MODEL; empty = that of the session
    #[arg(long)]
    model: Option<String>,
    /// Most US dollars of one run
    #[arg(long, value_name = "USD")]
    max_cost_usd: Option<f64>,
    /// Most model calls of one run
    #[arg(long, value_name = "N")]
    max_steps: Option<u32>,
    /// Most tool calls of one run
    #[arg(long, value_name = "N")]
    max_tool_calls: Option<u32>,
    /// Most tokens of one run
    #[arg(long, value_name = "N")]
    max_tokens: Option<u64>,
    /// Most seconds of model and engine time of one run
    #[arg(long, value_name = "S")]
    max_duration_seconds: Option<u32>,
    /// Highest autonomy of its runs: supervised, semi_auto or full
    #[arg(long, value_name = "LEVEL")]
    ceiling: Option<Autonomy>,
    /// Calls that ask wait for a person; `--park false` denies them
    #[arg(long, num_args = 0..=1, default_missing_value = "true", value_name = "BOOL")]
    park: Option<bool>,
    /// Runs that were due while no daemon ran: skip or run_once
    #[arg(long, value_name = "WORD")]
    missed: Option<MissedRuns>,
    /// Random delay of a run, up to this many seconds
    #[arg(long, value_name = "S")]
    jitter: Option<u32>,
}

impl RoutineFlags {
    /// The same as a change of a routine with these limits.
    fn patch(self, before: BudgetRequest) -> Result<RoutinePatch, Failure> {
        let prompt = match self.prompt.as_deref() {
            Some("-") => {
                let mut text = String::new();
                std::io::stdin()
                    .take(MAX_INPUT)
                    .read_to_string(&mut text)
                    .map_err(|error| usage!("cannot read the prompt: {error}"))?;
                Some(text)
            }
            Some(_) | None => self.prompt,
        };
        let budgets = BudgetRequest {
            max_steps: self.max_steps.or(before.max_steps),
            max_tool_calls: self.max_tool_calls.or(before.max_tool_calls),
            max_duration_seconds: self.max_duration_seconds.or(before.max_duration_seconds),
            max_tokens: self.max_tokens.or(before.max_tokens),
            max_cost_usd: self.max_cost_usd.or(before.max_cost_usd),
        };
        Ok(RoutinePatch {
            name: None,
            schedule: self.schedule,
            time_zone: self.time_zone,
            prompt,
            channel: self.channel,
            conversation: self.conversation,
            model: self.model,
            budgets: (budgets != before).then_some(budgets),
            autonomy_ceiling: self.ceiling,
            park: self.park,
            missed: self.missed,
            jitter_seconds: self.jitter,
            enabled: None,
        })
    }
}

/// Carries out one of the commands.
pub async fn run(cli: &mut Cli<'_>, command: RoutineCommands) -> Result<(), Failure> {
    match command {
        RoutineCommands::List => list::run(cli, ListRoutines {}, false).await,
        RoutineCommands::Show { routine } => {
            let routine = one(cli.client, routine).await?;
            cli.terminal.show(&routine, show)
        }
        RoutineCommands::Add {
            name,
            fields,
            disabled,
        } => {
            let patch = RoutinePatch {
                name: Some(name),
                enabled: disabled.then_some(false),
                ..fields.patch(BudgetRequest::default())?
            };
            let add = AddRoutine { routine: patch };
            print(&mut cli.terminal, &submit(cli.client, add).await?)
        }
        RoutineCommands::Edit {
            routine,
            name,
            fields,
        } => {
            let before = one(cli.client, routine).await?;
            let patch = RoutinePatch {
                name,
                ..fields.patch(before.budgets)?
            };
            if patch == RoutinePatch::default() {
                return Err(Failure::usage(
                    "name a change; `leverframe routine edit --help` lists them",
                ));
            }
            let routine = before.id.to_string();
            print(
                &mut cli.terminal,
                &submit(cli.client, ChangeRoutine { routine, patch }).await?,
            )
        }
        RoutineCommands::Enable { routine } => enable(cli, routine, true).await,
        RoutineCommands::Disable { routine } => enable(cli, routine, false).await,
        RoutineCommands::Remove { routine } => {
            let id = submit(cli.client, RemoveRoutine { routine }).await?;
            cli.terminal
                .show_line(&serde_json::json!({ "removed": id }), || {
                    format!("{id}  removed")
                })
        }
        RoutineCommands::Run { routine } => {
            let run = submit(cli.client, RunRoutine { routine }).await?;
            cli.terminal.show_line(&run, || happened(&run))
        }
        RoutineCommands::History { routine, limit } => history(cli, routine, limit).await,
        RoutineCommands::Upcoming {
            routine,
            schedule,
            time_zone,
            limit,
        } => {
            let (schedule, time_zone) = match (routine, schedule) {
                (Some(routine), _) => {
                    let routine = one(cli.client, routine).await?;
                    (routine.schedule, routine.time_zone)
                }
                (None, Some(schedule)) => (schedule, time_zone),
                (None, None) => {
                    return Err(Failure::usage("name a routine or a --schedule"));
                }
            };
            let query = ListUpcomingRuns {
                schedule,
                time_zone,
                limit,
            };
            let times = cli.client.call(query).await?;
            times
                .items
                .iter()
                .try_for_each(|time| cli.terminal.show_line(time, || time.to_string()))
        }
    }
}

async fn one(client: &dyn ConsoleClient, routine: String) -> Result<Routine, Failure> {
    Ok(client.call(GetRoutine { routine }).await?)
}

async fn enable(cli: &mut Cli<'_>, routine: String, enabled: bool) -> Result<(), Failure> {
    let patch = RoutinePatch {
        enabled: Some(enabled),
        ..RoutinePatch::default()
    };
    print(
        &mut cli.terminal,
        &submit(cli.client, ChangeRoutine { routine, patch }).await?,
    )
}

fn print(terminal: &mut Terminal<'_>, routine: &Routine) -> Result<(), Failure> {
    terminal.show_line(routine, || {
        format!("{}  {}", cell(&routine.name), next_run(routine))
    })
}

/// A run in words.
fn happened(run: &RoutineRun) -> String {
    let turn = match (run.continuation_id, run.continuation_state) {
        (Some(turn), Some(state)) => format!("  {turn} {state}"),
        (Some(turn), None) => format!("  {turn}"),
        (None, _) => String::new(),
    };
    let detail = run
        .detail
        .as_deref()
        .map_or_else(String::new, |detail| format!("  {}", cell(detail)));
    format!("{}  {}{turn}{detail}", run.at, run.state)
}

fn show(terminal: &mut Terminal<'_>, routine: &Routine) -> Result<(), Failure> {
    let none = || "of the session".to_owned();
    let zone = routine
        .time_zone
        .as_deref()
        .map_or_else(|| "of the machine".to_owned(), cell);
    terminal.line(&format!(
        "{}  {}  {}",
        cell(&routine.name),
        routine.id,
        next_run(routine)
    ))?;
    terminal.line(&format!(
        "schedule  {}, time zone {zone}",
        cell(&routine.schedule)
    ))?;
    terminal.line(&format!(
        "goes to   {} {}",
        cell(&routine.channel),
        cell(&routine.conversation)
    ))?;
    terminal.line(&format!(
        "model     {}",
        routine.model.as_deref().map_or_else(none, cell)
    ))?;
    let gated = if routine.park {
        "wait for a person"
    } else {
        "are denied"
    };
    terminal.line(&format!(
        "by itself {} at most; calls that ask {gated}",
        routine.autonomy_ceiling
    ))?;
    let budgets = &routine.budgets;
    let limits: Vec<String> = [
        budgets.max_steps.map(|n| format!("{n} steps")),
        budgets.max_tool_calls.map(|n| format!("{n} tool calls")),
        budgets.max_duration_seconds.map(|n| format!("{n} s")),
        budgets.max_tokens.map(|n| format!("{n} tokens")),
        budgets.max_cost_usd.map(|usd| format!("${usd}")),
    ]
    .into_iter()
    .flatten()
    .collect();
    if !limits.is_empty() {
        terminal.line(&format!("limits    {}", limits.join(", ")))?;
    }
    terminal.line(&format!(
        "missed    {}, jitter {} s",
        routine.missed, routine.jitter_seconds
    ))?;
    terminal.line(&format!(
        "changed   {} by {}",
        routine.updated_at,
        cell(&routine.by)
    ))?;
    if let Some(run) = &routine.last_run {
        terminal.line(&format!("last run  {}", happened(run)))?;
    }
    terminal.line(&format!("prompt    {}", reveal(&routine.prompt)))
}

async fn history(cli: &mut Cli<'_>, routine: String, limit: Option<u32>) -> Result<(), Failure> {
    let page = PageRequest::first(limit);
    let query = ListRoutineRuns { routine, page };
    let page = cli.client.call(query).await?;
    if cli.terminal.format == Format::Human && page.items.is_empty() {
        return cli.terminal.note("no runs yet");
    }
    page.items
        .iter()
        .try_for_each(|run| cli.terminal.show_line(run, || happened(run)))
}
