//! `leverframe escalation`: who hears of what nobody decides, and drills that prove it.

use std::time::{Duration, Instant};

use clap::Subcommand;

use crate::cli::exit::{Failure, usage};
use crate::cli::find::submit;
use crate::cli::get;
use crate::cli::terminal::{Cli, Format, Terminal, cell};
use crate::protocol::escalation::{
    DrillRequest, EscalationDrill, EscalationStatus, StepOutcome, in_words,
};
use crate::protocol::request::{DrillEscalation, ListEscalations};

/// Between two looks at a drill.
const LOOK: Duration = Duration::from_millis(500);
/// Longest wait for a drill beyond the delays of its steps.
const PATIENCE: Duration = Duration::from_mins(30);

/// `escalation`.
#[derive(Debug, Subcommand)]
pub enum EscalationCommands {
    /// List the channels that escalate, with their steps and last drills
    List,
    /// Send test messages through all steps of a channel, and show which arrived; runs no tool
    Drill {
        /// Channel; optional if only one channel escalates
        channel: Option<String>,
        /// Skip the delays of the steps
        #[arg(long)]
        fast: bool,
    },
}

/// Runs it.
pub async fn run(cli: &mut Cli<'_>, command: EscalationCommands) -> Result<(), Failure> {
    match command {
        EscalationCommands::List => get::run(cli, Some("escalations")).await,
        EscalationCommands::Drill { channel, fast } => drill(cli, channel, fast).await,
    }
}

async fn drill(cli: &mut Cli<'_>, channel: Option<String>, fast: bool) -> Result<(), Failure> {
    let known = cli.client.call(ListEscalations {}).await?.items;
    let channel = match (channel, known.as_slice()) {
        (Some(channel), _) => channel,
        (None, [one]) => one.channel.clone(),
        (None, all) => {
            let names: Vec<&str> = all.iter().map(|one| one.channel.as_str()).collect();
            return Err(usage!(
                "which channel? {}",
                if names.is_empty() {
                    "none escalates: set `escalation` under [channels.NAME] to a name under [escalation]".to_owned()
                } else {
                    format!(
                        "`leverframe escalation drill CHANNEL` with one of {}",
                        names.join(", ")
                    )
                }
            ));
        }
    };
    let begun = submit(
        cli.client,
        DrillEscalation {
            request: DrillRequest { channel, fast },
        },
    )
    .await?;
    let delay = known.iter().find(|one| one.channel == begun.channel);
    let delay = delay
        .and_then(|one| one.steps.last())
        .filter(|_| !begun.fast)
        .map_or(0, |step| step.after_seconds);
    if cli.terminal.format == Format::Human && delay > 0 {
        cli.terminal.note(&format!(
            "the last step is {delay} s away; --fast does not wait"
        ))?;
    }
    let end = Instant::now() + PATIENCE + Duration::from_secs(delay);
    let ended = loop {
        let status = cli.client.call(ListEscalations {}).await?.items;
        let of_channel = |one: &EscalationStatus| one.channel == begun.channel;
        let drill = status
            .into_iter()
            .find(of_channel)
            .and_then(|one| one.drill);
        match drill {
            Some(drill) if drill.started_at != begun.started_at || drill.ended_at.is_some() => {
                break drill;
            }
            Some(_) | None => {}
        }
        if Instant::now() > end {
            return Err(Failure::Ended(format!(
                "the drill of {} has not ended; `leverframe escalation list` shows its state",
                begun.channel
            )));
        }
        tokio::time::sleep(LOOK).await;
    };
    cli.terminal.show(&ended, show)?;
    match ended.problem() {
        None => Ok(()),
        Some(_) => Err(Failure::Ended(format!(
            "the drill of {} did not reach everybody",
            ended.channel
        ))),
    }
}

fn show(terminal: &mut Terminal<'_>, drill: &EscalationDrill) -> Result<(), Failure> {
    terminal.line(&format!("{:<5} {:<32} {:<8} WHY", "STEP", "TO", "OUTCOME"))?;
    for step in &drill.escalation.steps {
        let to = in_words(&step.to, step.person.as_deref());
        terminal.line(
            format!(
                "{:<5} {:<32} {:<8} {}",
                step.step,
                cell(to.trim_end_matches(',')),
                step.outcome.as_str(),
                cell(step.detail.as_deref().unwrap_or_default())
            )
            .trim_end(),
        )?;
    }
    let sent =
        |step: &&crate::protocol::escalation::EscalationStep| step.outcome == StepOutcome::Sent;
    let sent = drill.escalation.steps.iter().filter(sent).count();
    terminal.line(&format!(
        "{sent} of {} steps arrived; nothing waited and nothing ran",
        drill.escalation.steps.len()
    ))
}
