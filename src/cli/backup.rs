//! `leverframe backup FILE` and `leverframe restore FILE`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::cli::connect;
use crate::cli::exit::Failure;
use crate::cli::find::submit;
use crate::cli::terminal::{Format, Terminal};
use crate::client::remote::connection::Limits;
use crate::config::environment::Environment;
use crate::config::flags::Flags;
use crate::config::settings::Paths;
use crate::protocol::backup::{BackupReport, RestoreReport};
use crate::protocol::request::CreateBackup;
use crate::runtime::backup;

/// A large database on a slow disk takes minutes.
const LONGEST_BACKUP: Duration = Duration::from_secs(3600);

fn absolute(file: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(file)
        .map_err(|error| Failure::Usage(format!("{}: {error}", file.display())))
}

/// Has the daemon write a backup, or writes it when none runs.
pub async fn backup(
    terminal: &mut Terminal<'_>,
    format: Format,
    file: &Path,
    paths: &Paths,
    flags: &Flags,
) -> Result<(), Failure> {
    let file = absolute(file)?;
    let limits = Limits {
        request: LONGEST_BACKUP,
        ..Limits::default()
    };
    let report = match connect::daemon_within(&paths.data_dir, limits).await {
        Ok(client) => {
            let path = file
                .to_str()
                .ok_or_else(|| Failure::Usage(format!("{} is not a UTF-8 path", file.display())))?;
            let command = CreateBackup {
                path: path.to_owned(),
            };
            submit(&client, command).await?
        }
        Err(Failure::NothingRunning(_)) => {
            let (paths, flags) = (paths.clone(), flags.clone());
            let made = tokio::task::spawn_blocking(move || {
                backup::at_rest(&paths, &flags, &Environment::capture(), &file)
            });
            made.await.map_err(anyhow::Error::from)??
        }
        Err(failure) => return Err(failure),
    };
    match format {
        Format::Json => terminal.json(&report),
        Format::Human => show_backup(terminal, &report),
    }
}

fn show_backup(terminal: &mut Terminal<'_>, report: &BackupReport) -> Result<(), Failure> {
    terminal.line(&format!(
        "{}  {}  in {:.1} s",
        report.path,
        bytes(report.size),
        report.duration_ms as f64 / 1000.0
    ))?;
    terminal.line(&format!(
        "{} sessions, {} turns ({} open), {} questions waiting, {} artifacts, {} configuration files",
        report.sessions,
        report.continuations,
        report.open_continuations,
        report.pending_approvals,
        report.artifacts,
        report.config_files
    ))?;
    for note in &report.notes {
        terminal.line(&format!("note: {note}"))?;
    }
    terminal.line("It holds everything that was said. Secrets are not in it; keep those elsewhere.")
}

fn bytes(size: u64) -> String {
    let size = size as f64;
    if size >= 1024.0 * 1024.0 {
        format!("{:.1} MiB", size / (1024.0 * 1024.0))
    } else {
        format!("{:.1} KiB", size / 1024.0)
    }
}

/// Puts a backup back.
pub async fn restore(
    terminal: &mut Terminal<'_>,
    format: Format,
    file: &Path,
    force: bool,
    paths: &Paths,
) -> Result<(), Failure> {
    let file = absolute(file)?;
    let paths = paths.clone();
    let restored = tokio::task::spawn_blocking(move || backup::restore_into(&paths, &file, force));
    let report = restored.await.map_err(anyhow::Error::from)??;
    match format {
        Format::Json => terminal.json(&report),
        Format::Human => show_restore(terminal, &report),
    }
}

fn show_restore(terminal: &mut Terminal<'_>, report: &RestoreReport) -> Result<(), Failure> {
    terminal.line(&format!(
        "restored {} (made {}) into {}",
        report.backup, report.created_at, report.data_dir
    ))?;
    if let Some(aside) = &report.moved_aside {
        terminal.line(&format!("what was there before lies in {aside}"))?;
    }
    for file in &report.config_files {
        terminal.line(&format!("configuration written: {file}"))?;
    }
    let found = report.uncertain;
    terminal.line(&format!(
        "Uncertain, because it may have gone on since: {} turns, {} calls, {} messages; {} questions wait.",
        found.turns, found.calls, found.deliveries, found.questions
    ))?;
    terminal.line(
        "It starts in quarantine: no channel connects, nothing is sent and nothing runs until you release it.\n\
         Secrets are not part of a backup: check that the variables and key files of the configuration are there.\n\
         Next: leverframe --daemon     then: leverframe release   (lists what is uncertain, and asks)",
    )
}
