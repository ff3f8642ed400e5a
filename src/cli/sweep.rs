//! `leverframe sweep`.

use crate::cli::exit::Failure;
use crate::cli::terminal::{Cli, Terminal};
use crate::protocol::request::Sweep;
use crate::protocol::snapshot::SweepReport;

/// Sweeps, or counts what a sweep would remove.
pub async fn run(cli: &mut Cli<'_>, preview: bool) -> Result<(), Failure> {
    cli.submit(Sweep { preview }, show).await
}

fn show(terminal: &mut Terminal<'_>, report: &SweepReport) -> Result<(), Failure> {
    let done = if report.preview {
        "would go"
    } else {
        "removed"
    };
    for (count, what) in [
        (report.events, "events"),
        (report.continuations, "ended turns"),
        (report.keys, "keys of messages without a turn"),
        (report.approvals, "settled approvals without a turn"),
        (report.deliveries, "settled deliveries without a turn"),
        (report.compactions, "ended compactions"),
        (report.sessions, "ended sessions"),
        (report.artifacts, "artifacts"),
        (report.artifact_files, "files of artifacts"),
        (report.datasets, "datasets"),
        (report.dataset_files, "files of datasets"),
        (report.audit_rows, "rows of the audit"),
    ] {
        terminal.line(&format!("{count:>10}  {what} {done}"))?;
    }
    let done = if report.preview {
        "would expire"
    } else {
        "expired"
    };
    terminal.line(&format!(
        "{:>10}  idle sessions {done}",
        report.sessions_expired
    ))?;
    if report.preview {
        return terminal.line("nothing was changed");
    }
    terminal.line(&format!(
        "{:>10}  bytes freed, in {} ms",
        report.freed_bytes + report.artifact_bytes + report.dataset_bytes,
        report.duration_ms
    ))
}
