//! `leverframe why CALL`.

use crate::cli::exit::{Failure, usage};
use crate::cli::terminal::{Cli, Terminal, cell};
use crate::protocol::ids::ToolCallId;
use crate::protocol::request::ExplainCall;
use crate::protocol::session::Why;

/// Explains why a call ran, asked or was refused.
pub async fn run(cli: &mut Cli<'_>, call: &str) -> Result<(), Failure> {
    let tool_call_id: ToolCallId = call.parse().map_err(|error| {
        usage!("{error}; `leverframe continuations show ID` lists the calls of a turn")
    })?;
    cli.query(ExplainCall { tool_call_id }, show).await
}

fn show(terminal: &mut Terminal<'_>, why: &Why) -> Result<(), Failure> {
    let call = &why.call;
    terminal.line(&format!(
        "{}  {}  {}",
        call.id,
        cell(&call.name),
        call.state
    ))?;
    terminal.line(&format!("arguments {}", cell(&call.args.to_string())))?;
    terminal.line(&format!(
        "class     {}, {}, {} risk",
        call.access, call.effect, call.risk
    ))?;
    for reason in &call.risk_reasons {
        terminal.line(&format!("          {}", cell(reason)))?;
    }
    terminal.line(&format!(
        "verdict   {}: {}",
        call.verdict.decision,
        cell(&call.verdict.rule)
    ))?;
    let author = why.policy_author.as_deref().unwrap_or("the configuration");
    terminal.line(&format!(
        "policy    version {} of channel {}, by {}",
        call.verdict.policy_version,
        cell(&why.channel),
        cell(author)
    ))?;
    for taint in &why.taint {
        terminal.line(&format!("untrusted {}", cell(taint)))?;
    }
    for line in &why.story {
        terminal.line(&format!("- {}", cell(line)))?;
    }
    Ok(())
}
