//! `leverframe summary`: what somebody who takes over a shift must know.

use crate::cli::audit::moment;
use crate::cli::exit::Failure;
use crate::cli::terminal::{Format, Terminal};
use crate::client::console_client::ConsoleClient;
use crate::client::summary_lines;
use crate::clock::Clock;
use crate::protocol::request::GetShiftSummary;

/// Prints the summary since a time, or of the last eight hours.
pub async fn run(
    client: &dyn ConsoleClient,
    terminal: &mut Terminal<'_>,
    format: Format,
    since: Option<String>,
) -> Result<(), Failure> {
    let since = since
        .as_deref()
        .map(|text| moment(text, &Clock::System))
        .transpose()?;
    let summary = client.call(GetShiftSummary { since }).await?;
    match format {
        Format::Json => terminal.json(&summary),
        Format::Human => summary_lines::lines(&summary)
            .iter()
            .try_for_each(|line| terminal.line(line)),
    }
}
