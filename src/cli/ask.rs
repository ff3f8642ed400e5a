//! `leverframe ask`: one message in a temporary session, and its answer.

use std::io::Read as _;
use std::path::PathBuf;

use futures_util::StreamExt as _;

use crate::cli::approval_card;
use crate::cli::exit::{Failure, usage};
use crate::cli::find::{self, submit};
use crate::cli::terminal::{Cli, Format, Terminal, cell};
use crate::client::attachment;
use crate::protocol::command::{Accepted, BudgetRequest};
use crate::protocol::enums::{ApprovalKind, ApprovalState, ContinuationState};
use crate::protocol::event::{EventFilter, StreamItem};
use crate::protocol::ids::ContinuationId;
use crate::protocol::options::{ModelParameters, ToolChoice, TurnOptions};
use crate::protocol::problem::ProblemKind;
use crate::protocol::request::{Ask, Command, GetContinuation, Outcome, Request};
use crate::protocol::session::Continuation;
use crate::text::untrusted::reveal;

/// What happens when the turn waits for an approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnApproval {
    /// Show it and end with status 6; the turn goes on once somebody decides.
    Leave,
    /// Wait until somebody decides.
    Wait,
}

/// Flags of `ask` that narrow or tune the turn.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct AskOptions {
    /// Offer only this tool; can be given again
    #[arg(long, value_name = "TOOL", conflicts_with = "no_tools")]
    pub allow_tool: Vec<String>,
    /// Offer no tool
    #[arg(long)]
    pub no_tools: bool,
    /// Instruction for the model in this turn; can be given again
    #[arg(long, value_name = "TEXT")]
    pub hint: Vec<String>,
    /// Sampling temperature, 0 to 2
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true)]
    pub temperature: Option<f64>,
    /// Nucleus sampling (top_p), above 0 and at most 1
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true)]
    pub top_p: Option<f64>,
    /// auto, none, required, or the name of a tool
    #[arg(long, value_name = "CHOICE")]
    pub tool_choice: Option<String>,
}

impl From<AskOptions> for TurnOptions {
    fn from(flags: AskOptions) -> Self {
        let named = flags.no_tools || !flags.allow_tool.is_empty();
        Self {
            allow_tools: named.then_some(flags.allow_tool),
            hints: flags.hint,
            parameters: ModelParameters {
                temperature: flags.temperature,
                top_p: flags.top_p,
                tool_choice: flags.tool_choice.map(ToolChoice::from),
            },
            ..Self::default()
        }
    }
}

/// What is asked beside the words.
#[derive(Debug, Clone, Default)]
pub struct Question<'a> {
    /// `<provider>/<model>`; none = that of the channel.
    pub model: Option<String>,
    /// Whether the model is asked even where a response is cached.
    pub fresh: bool,
    /// What the turn may use.
    pub options: TurnOptions,
    /// Files of this machine that come with it.
    pub files: &'a [PathBuf],
}

/// Longest message, in bytes.
const LONGEST: u64 = 256 * 1024;

/// The question with its files. `words` of `-` read standard input.
pub fn command(
    terminal: &mut Terminal<'_>,
    words: &[String],
    asked: Question<'_>,
) -> Result<Ask, Failure> {
    Ok(Ask {
        channel: "cli".to_owned(),
        conversation: None,
        text: text(terminal, words)?,
        model: asked.model,
        budgets: BudgetRequest::default(),
        fresh: asked.fresh,
        options: asked.options,
        attachments: asked
            .files
            .iter()
            .map(|file| attachment::read(file).map_err(|why| usage!("--attach {why}")))
            .collect::<Result<_, _>>()?,
    })
}

/// Asks, waits for the end of the turn, and prints the answer.
pub async fn run<C>(cli: &mut Cli<'_>, command: C, on_approval: OnApproval) -> Result<(), Failure>
where
    C: Request<Wire = Command, Answer = Outcome, Reply = Accepted>,
{
    let accepted = submit(cli.client, command).await?;
    let continuation = follow(cli, accepted.continuation_id, on_approval).await?;
    if cli.terminal.format == Format::Json {
        cli.terminal.json(&continuation)?;
    }
    end(cli, &continuation).await
}

/// The words as one message; `-` reads standard input.
pub fn text(terminal: &mut Terminal<'_>, words: &[String]) -> Result<String, Failure> {
    if words != ["-"] {
        return Ok(words.join(" "));
    }
    let mut text = String::new();
    (&mut *terminal.input)
        .take(LONGEST + 1)
        .read_to_string(&mut text)
        .map_err(|error| usage!("standard input: {error}"))?;
    if text.len() as u64 > LONGEST {
        return Err(usage!("standard input is longer than {LONGEST} bytes"));
    }
    Ok(text)
}

/// The continuation once there is something to say. Subscribes before it reads, and after a lost
/// connection subscribes and reads again once.
async fn follow(
    cli: &mut Cli<'_>,
    id: ContinuationId,
    on_approval: OnApproval,
) -> Result<Continuation, Failure> {
    let mut told = false;
    let mut lost = 0;
    loop {
        let filter = EventFilter {
            continuation_id: Some(id),
            ..EventFilter::default()
        };
        let mut events = cli.client.events(filter).await?;
        loop {
            let now = cli.client.call(GetContinuation { id }).await?;
            if now.state.is_terminal() || now.state == ContinuationState::Interrupted {
                return Ok(now);
            }
            if now.state == ContinuationState::AwaitingApproval {
                match on_approval {
                    OnApproval::Leave => return Ok(now),
                    OnApproval::Wait if !told => {
                        told = true;
                        cli.terminal
                            .note("waiting for an approval: `leverframe approvals list`")?;
                    }
                    OnApproval::Wait => {}
                }
            }
            match next_state(&mut events).await {
                Ok(()) => {}
                Err(problem) if problem.kind == ProblemKind::Unavailable && lost < 1 => {
                    lost += 1;
                    break;
                }
                Err(problem) => return Err(problem.into()),
            }
        }
    }
}

/// Waits for an event that changes the state.
async fn next_state(
    events: &mut crate::client::console_client::EventStream,
) -> Result<(), crate::protocol::problem::Problem> {
    while let Some(item) = events.next().await {
        match item? {
            StreamItem::Event(event) => {
                if event.body.continuation_state().is_some() {
                    return Ok(());
                }
            }
            StreamItem::Reset => return Ok(()),
        }
    }
    Err(crate::protocol::problem::Problem::new(
        ProblemKind::Unavailable,
        "connection lost",
        "the event stream ended",
    ))
}

async fn end(cli: &mut Cli<'_>, continuation: &Continuation) -> Result<(), Failure> {
    match continuation.state {
        ContinuationState::Completed => {
            if let (Format::Human, Some(response)) = (cli.terminal.format, &continuation.response) {
                cli.terminal.line(&reveal(&response.text))?;
                // Programs read the answer from standard output, people see both.
                for file in &continuation.files {
                    cli.terminal
                        .note(&format!("File: {}", cell(&file.line())))?;
                }
                if !continuation.citations.is_empty() {
                    cli.terminal.note("Sources:")?;
                }
                for line in continuation.citations.lines() {
                    cli.terminal.note(&format!("  {}", cell(&line)))?;
                }
            }
            Ok(())
        }
        ContinuationState::AwaitingApproval => {
            if cli.terminal.format == Format::Human {
                let mut verb = "approve ID";
                for id in &continuation.approvals {
                    let approval = find::approval(cli.client, &id.to_string()).await?;
                    if approval.state == ApprovalState::Pending {
                        approval_card::show(&mut cli.terminal, &approval)?;
                        if approval.kind == ApprovalKind::Question {
                            verb = "answer ID TEXT";
                        }
                    }
                }
                cli.terminal.note(&format!(
                    "{} waits: `leverframe approvals {verb}`, then `leverframe continuations show {}`",
                    continuation.id, continuation.id
                ))?;
            }
            Err(Failure::Waiting)
        }
        ContinuationState::Pending
        | ContinuationState::Running
        | ContinuationState::Streaming
        | ContinuationState::Interrupted
        | ContinuationState::Failed
        | ContinuationState::Cancelled
        | ContinuationState::Expired => {
            let why = continuation
                .error
                .as_ref()
                .map(|error| format!(": {}", cell(&error.message)))
                .unwrap_or_default();
            Err(Failure::Ended(format!(
                "{}: {}{why}",
                continuation.id, continuation.state
            )))
        }
    }
}
