//! `leverframe backup FILE` and `leverframe restore FILE`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::cli::connect;
use crate::cli::exit::{Failure, usage};
use crate::cli::find::submit;
use crate::cli::terminal::{Terminal, cell};
use crate::client::remote::connection::Limits;
use crate::config::environment::Environment;
use crate::config::flags::Flags;
use crate::config::settings::Paths;
use crate::protocol::backup::{BackupReport, BackupVerification, RestoreReport};
use crate::protocol::request::CreateBackup;
use crate::runtime::backup;

/// A large database on a slow disk takes minutes.
const LONGEST_BACKUP: Duration = Duration::from_secs(3600);

fn absolute(file: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(file).map_err(|error| Failure::at(file, error))
}

/// Has the daemon write a backup, or writes it when none runs.
pub async fn backup(
    terminal: &mut Terminal<'_>,
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
                .ok_or_else(|| usage!("{} is not a UTF-8 path", file.display()))?;
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
    terminal.show(&report, show_backup)
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
    terminal.line("The backup holds all conversations, but no secrets: store those elsewhere.")
}

fn bytes(size: u64) -> String {
    let size = size as f64;
    if size >= 1024.0 * 1024.0 {
        format!("{:.1} MiB", size / (1024.0 * 1024.0))
    } else {
        format!("{:.1} KiB", size / 1024.0)
    }
}

/// Restores a backup into a directory that goes away again, and says what that proved.
pub async fn verify(
    terminal: &mut Terminal<'_>,
    file: &Path,
    within: Option<PathBuf>,
) -> Result<(), Failure> {
    let file = absolute(file)?;
    let within = within.unwrap_or_else(std::env::temp_dir);
    let verified = tokio::task::spawn_blocking(move || backup::verify(&file, &within));
    let found = verified.await.map_err(anyhow::Error::from)??;
    terminal.show(&found, show_verification)?;
    if found.violations.is_empty() {
        return Ok(());
    }
    Err(Failure::Ended(format!(
        "{} can be restored, but {} of its checks fail: keep an earlier backup",
        found.path,
        found.violations.len()
    )))
}

fn show_verification(
    terminal: &mut Terminal<'_>,
    found: &BackupVerification,
) -> Result<(), Failure> {
    terminal.line(&format!(
        "{}  made {} by version {}  checked in {:.1} s",
        cell(&found.path),
        found.created_at,
        cell(&found.version),
        found.duration_ms as f64 / 1000.0
    ))?;
    let migrated = found
        .migrated_to
        .map_or_else(String::new, |to| format!(", migrated to {to}"));
    terminal.line(&format!(
        "restored: {} files, {}, each with the SHA-256 of the manifest; {} of them configuration",
        found.members,
        bytes(found.bytes),
        found.config_files
    ))?;
    terminal.line(&format!(
        "opened: schema {}{migrated}, {} sessions, {} turns",
        found.schema, found.sessions, found.continuations
    ))?;
    terminal.line(&format!(
        "{} rules over {} rows, {} violations",
        found.rules,
        found.rows,
        found.violations.len()
    ))?;
    terminal.line(&format!(
        "the audit chain holds over {} rows; {} artifacts have the content of their names",
        found.audit_rows, found.artifacts
    ))?;
    for violation in &found.violations {
        terminal.line(&format!("does not hold: {}", cell(violation)))?;
    }
    Ok(())
}

/// Puts a backup back.
pub async fn restore(
    terminal: &mut Terminal<'_>,
    file: &Path,
    force: bool,
    paths: &Paths,
) -> Result<(), Failure> {
    let file = absolute(file)?;
    let paths = paths.clone();
    let restored = tokio::task::spawn_blocking(move || backup::restore_into(&paths, &file, force));
    let report = restored.await.map_err(anyhow::Error::from)??;
    terminal.show(&report, show_restore)
}

fn show_restore(terminal: &mut Terminal<'_>, report: &RestoreReport) -> Result<(), Failure> {
    terminal.line(&format!(
        "restored {} (made {}) into {}",
        report.backup, report.created_at, report.data_dir
    ))?;
    if let Some(aside) = &report.moved_aside {
        terminal.line(&format!("the earlier data directory is now {aside}"))?;
    }
    for file in &report.config_files {
        terminal.line(&format!("configuration written: {file}"))?;
    }
    let found = report.uncertain;
    terminal.line(&format!(
        "These may have continued since the backup: {} turns, {} calls, {} messages; {} questions wait.",
        found.turns, found.calls, found.deliveries, found.questions
    ))?;
    terminal.line(
        "It starts in quarantine: no channel connects, nothing is sent and nothing runs until you release it.\n\
         Secrets are not part of a backup: check that the variables and key files of the configuration are there.\n\
         Next: leverframe --daemon     then: leverframe release   (lists what is uncertain, and asks)",
    )
}
