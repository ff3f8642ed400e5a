//! `leverframe metrics`: what Prometheus scrapes, for whoever looks by hand or collects it from a file.

use crate::cli::exit::Failure;
use crate::cli::terminal::{Cli, cell};
use crate::protocol::request::GetMetrics;

/// Prints them.
pub async fn run(cli: &mut Cli<'_>) -> Result<(), Failure> {
    cli.query(GetMetrics {}, |terminal, metrics| {
        let mut lines = metrics.text.lines();
        lines.try_for_each(|line| terminal.line(&cell(line)))
    })
    .await
}
