//! `leverframe metrics`: what Prometheus scrapes, for whoever looks by hand or collects it from a file.

use crate::cli::exit::Failure;
use crate::cli::terminal::{Format, Terminal, cell};
use crate::client::console_client::ConsoleClient;
use crate::protocol::request::GetMetrics;

/// Prints them.
pub async fn run(
    client: &dyn ConsoleClient,
    terminal: &mut Terminal<'_>,
    format: Format,
) -> Result<(), Failure> {
    let metrics = client.call(GetMetrics {}).await?;
    match format {
        Format::Json => terminal.json(&metrics),
        Format::Human => metrics
            .text
            .lines()
            .try_for_each(|line| terminal.line(&cell(line))),
    }
}
