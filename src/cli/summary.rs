//! `leverframe summary`: what somebody who takes over a shift must know.

use crate::cli::audit::moment;
use crate::cli::exit::Failure;
use crate::cli::terminal::Cli;
use crate::client::summary_lines;
use crate::clock::Clock;
use crate::protocol::request::GetShiftSummary;

/// Prints the summary since a time, or of the last eight hours.
pub async fn run(cli: &mut Cli<'_>, since: Option<String>) -> Result<(), Failure> {
    let since = since
        .as_deref()
        .map(|text| moment(text, &Clock::System))
        .transpose()?;
    cli.query(GetShiftSummary { since }, |terminal, summary| {
        terminal.lines(&summary_lines::lines(summary))
    })
    .await
}
