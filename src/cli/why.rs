//! `leverframe why CALL`.

use crate::cli::exit::Failure;
use crate::cli::terminal::{Format, Terminal, cell};
use crate::client::console_client::ConsoleClient;
use crate::protocol::ids::ToolCallId;
use crate::protocol::request::ExplainCall;

/// Explains why a call ran, asked or was refused.
pub async fn run(
    client: &dyn ConsoleClient,
    terminal: &mut Terminal<'_>,
    format: Format,
    call: &str,
) -> Result<(), Failure> {
    let tool_call_id: ToolCallId = call.parse().map_err(|error| {
        Failure::Usage(format!(
            "{error}; `leverframe continuations show ID` lists the calls of a turn"
        ))
    })?;
    let why = client.call(ExplainCall { tool_call_id }).await?;
    match format {
        Format::Json => terminal.json(&why),
        Format::Human => {
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
    }
}
