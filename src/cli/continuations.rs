//! `leverframe continuations list|show|resume|cancel|retry`.

use crate::cli::exit::Failure;
use crate::cli::find::{self, submit};
use crate::cli::list::{self, ListArguments};
use crate::cli::terminal::{Cli, Format, Terminal, cell};
use crate::client::listing::TableRow;
use crate::protocol::enums::{ContinuationState, ToolCallState};
use crate::protocol::request::{
    CancelContinuation, GetContinuation, ListContinuations, ListSteps, ResumeContinuation,
    RetryContinuation,
};
use crate::protocol::session::{Continuation, NO_MODEL, RefusedCalls, Step, StepBody};
use crate::text::untrusted::{limit_line, reveal};

/// Cells of the reason why a call failed.
const WHY_CELLS: usize = 240;

/// What to do with a continuation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    /// Look.
    Show,
    /// Let it go on.
    Resume,
    /// End it.
    Cancel {
        /// Shown in history.
        reason: Option<String>,
    },
    /// Start it again as a new one.
    Retry,
}

/// Lists continuations, newest change first.
pub async fn list(
    cli: &mut Cli<'_>,
    state: Option<ContinuationState>,
    list: ListArguments,
) -> Result<(), Failure> {
    let query = ListContinuations {
        state,
        session_id: None,
        page: list.page(),
    };
    list::run(cli, query, list.watch).await
}

/// The state, with what it waits for, or with the calls that nobody was asked about.
fn state_text(turn: &Continuation) -> String {
    if let Some(waits) = turn.waits() {
        return format!("{}, {waits}", turn.state);
    }
    match turn.refused_calls() {
        0 => turn.state.to_string(),
        refused => format!("{}, {}", turn.state, RefusedCalls::text(refused)),
    }
}

impl TableRow for Continuation {
    const HEADS: &'static [&'static str] =
        &["ID", "CHANNEL", "STATE", "STEPS", "CHANGED", "REQUEST"];
    const NOTHING: &'static str = "no continuations";

    fn cells(&self) -> Vec<String> {
        vec![
            self.id.to_string(),
            cell(&self.channel),
            state_text(self),
            self.steps.to_string(),
            self.updated_at.to_string(),
            limit_line(&self.request.text, 60),
        ]
    }
}

/// Acts on one continuation and shows it as it is then.
pub async fn act(cli: &mut Cli<'_>, id: &str, act: Act) -> Result<(), Failure> {
    let id = find::continuation(cli.client, id).await?;
    let continuation_id = id;
    let continuation = match act {
        Act::Show => cli.client.call(GetContinuation { id }).await?,
        Act::Resume => submit(cli.client, ResumeContinuation { continuation_id }).await?,
        Act::Cancel { reason } => {
            let cancel = CancelContinuation {
                continuation_id,
                reason,
            };
            submit(cli.client, cancel).await?
        }
        Act::Retry => submit(cli.client, RetryContinuation { continuation_id }).await?,
    };
    match cli.terminal.format {
        Format::Json => cli.terminal.json(&continuation),
        Format::Human => {
            let query = ListSteps {
                continuation_id: id,
            };
            let steps = cli.client.call(query).await?;
            show(&mut cli.terminal, &continuation, &steps.items)
        }
    }
}

/// What each model call took, and what was left out of it.
fn show_calls(terminal: &mut Terminal<'_>, steps: &[Step]) -> Result<(), Failure> {
    for step in steps {
        let StepBody::Model {
            model,
            usage,
            latency_ms,
            attempts,
            dropped,
            notes,
            ..
        } = &step.body
        else {
            continue;
        };
        if model == NO_MODEL {
            terminal.line(&format!("step      {}  {NO_MODEL}, no model", step.n))?;
            continue;
        }
        let cost = usage
            .cost_usd
            .map_or_else(|| "n/a".to_owned(), |cost| format!("{cost:.4}"));
        terminal.line(&format!(
            "model     step {}  {}  {} in ({} cached, {} written)  {} out  {cost} USD  {latency_ms} ms  attempts {attempts}",
            step.n,
            cell(model),
            usage.input_tokens,
            usage.cached_input_tokens,
            usage.cache_write_tokens,
            usage.output_tokens,
        ))?;
        for left_out in dropped {
            terminal.line(&format!("          left out: {}", cell(left_out)))?;
        }
        for note in notes {
            terminal.line(&format!("          {}", cell(note)))?;
        }
    }
    Ok(())
}

fn show(terminal: &mut Terminal<'_>, item: &Continuation, steps: &[Step]) -> Result<(), Failure> {
    terminal.line(&format!("{}  {}", item.id, state_text(item)))?;
    terminal.line(&format!("session   {}", item.session_id))?;
    terminal.line(&format!("channel   {}", cell(&item.channel)))?;
    terminal.line(&format!("requester {}", cell(&item.requester.display)))?;
    terminal.line(&format!("request   {}", reveal(&item.request.text)))?;
    if let Some(options) = &item.options {
        for line in options.lines() {
            terminal.line(&format!("option    {}", cell(&line)))?;
        }
    }
    show_calls(terminal, steps)?;
    for call in &item.tool_calls {
        terminal.line(&format!(
            "call      {}  {}  {}  {}",
            call.id,
            cell(&call.name),
            call.state,
            cell(&call.args.to_string())
        ))?;
        let failed = match call.state {
            ToolCallState::Failed
            | ToolCallState::Indeterminate
            | ToolCallState::Denied
            | ToolCallState::Blocked
            | ToolCallState::Expired
            | ToolCallState::Cancelled
            | ToolCallState::Abandoned => call.result.as_deref(),
            ToolCallState::Proposed
            | ToolCallState::Ready
            | ToolCallState::Awaiting
            | ToolCallState::Approved
            | ToolCallState::Started
            | ToolCallState::Succeeded
            | ToolCallState::SucceededByNote => None,
        };
        if let Some(why) = failed {
            terminal.line(&format!("          why: {}", limit_line(why, WHY_CELLS)))?;
        }
        if let Some(artifact) = &call.artifact {
            terminal.line(&format!(
                "          whole result: {} ({} bytes), GET /v1/artifacts/{}",
                artifact.hash.reference(),
                artifact.size,
                artifact.hash
            ))?;
        }
    }
    for approval in &item.approvals {
        terminal.line(&format!("approval  {approval}"))?;
    }
    if let Some(error) = &item.error {
        terminal.line(&format!(
            "error     {}: {}",
            cell(&error.code),
            cell(&error.message)
        ))?;
    }
    if let Some(response) = &item.response {
        terminal.line(&format!("response  {}", reveal(&response.text)))?;
    }
    for file in &item.files {
        terminal.line(&format!("file      {}", cell(&file.line())))?;
    }
    for line in item.citations.lines() {
        terminal.line(&format!("source    {}", cell(&line)))?;
    }
    Ok(())
}
