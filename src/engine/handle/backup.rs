//! Writing a backup while everything goes on.

use std::path::{Path, PathBuf};

use crate::config::backup_files::{self, Secrets};
use crate::engine::caller::Caller;
use crate::engine::core::Engine;
use crate::protocol::backup::BackupReport;
use crate::protocol::problem::{Problem, ProblemKind};
use crate::store::backup::BackupRequest;
use crate::store::backup_check;
use crate::store::commands::record_backup::RecordBackup;
use crate::store::input::ActorRef;

/// Which backup to write.
#[derive(Debug)]
pub struct Order {
    /// Where to.
    file: PathBuf,
    /// Who wants it.
    by: ActorRef,
    /// Where it is unpacked and checked before it counts; none = it is not.
    check_in: Option<PathBuf>,
    /// Whether the daemon removes it some day.
    scheduled: bool,
}

impl Order {
    /// One that the daemon makes by itself.
    pub fn scheduled(file: &Path, check_in: Option<PathBuf>) -> Self {
        Self {
            file: file.to_owned(),
            by: ActorRef::engine(),
            check_in,
            scheduled: true,
        }
    }
}

/// Writes the one that somebody asked for.
pub async fn on_demand(
    engine: &Engine,
    caller: &Caller,
    path: String,
) -> Result<BackupReport, Problem> {
    let order = Order {
        file: PathBuf::from(path),
        by: caller.reference(),
        check_in: None,
        scheduled: false,
    };
    write(engine, &order).await
}

/// Writes it. One at a time: two would only fight for the disk.
pub async fn write(engine: &Engine, order: &Order) -> Result<BackupReport, Problem> {
    let Some(_only) = engine.maintenance.try_backup() else {
        return Err(Problem::conflict(
            "a backup is being written",
            "another backup has not ended yet",
        )
        .hint("try again when it has"));
    };
    let made = make(engine, order).await;
    let outcome = if made.is_ok() { "ok" } else { "error" };
    engine.store.metrics().backup(outcome);
    let report = made?;
    tracing::info!(path = %report.path, by = %order.by.label, size = report.size, "backup written");
    engine
        .write(RecordBackup {
            by: order.by.clone(),
            path: report.path.clone(),
            last_event_seq: report.last_event_seq,
            created_at: report.created_at,
            scheduled: order.scheduled,
        })
        .await?;
    Ok(report)
}

async fn make(engine: &Engine, order: &Order) -> Result<BackupReport, Problem> {
    let settings = &engine.settings;
    // The demo has no configuration of its own, and must not read anybody's.
    let found = if settings.demo {
        backup_files::BackupFiles::default()
    } else {
        backup_files::collect(&settings.paths, &engine.redactor, Secrets::Registered)
    };
    let request = BackupRequest {
        file: order.file.clone(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        created_at: engine.clock.now(),
        extras: found.files,
        notes: found.notes,
    };
    let mut report = engine.store.backup(request).await?;
    if let Some(within) = &order.check_in {
        let broken = check(engine, &order.file, within.clone()).await?;
        report.notes.extend(broken);
    }
    Ok(report)
}

/// Restores it into a directory that goes away again. One that is damaged is removed: nobody must rely on it.
///
/// One whose database breaks a rule stays. The running database breaks it too, so no other backup would be better.
/// Answers these rules, and notes them for the engine's problems.
async fn check(engine: &Engine, file: &Path, within: PathBuf) -> Result<Vec<String>, Problem> {
    let (path, now) = (file.to_owned(), engine.clock.now());
    let checked = tokio::task::spawn_blocking(move || backup_check::run(&path, &within, now)).await;
    let why = match checked {
        Ok(Ok(found)) if found.damage.is_empty() => {
            let broken = found.violations;
            if !broken.is_empty() {
                tracing::warn!(file = %file.display(), rules = broken.join("; "), "the backup stays, and its database breaks rules");
            }
            engine.backups.set_broken_rules(broken.clone());
            return Ok(broken);
        }
        Ok(Ok(found)) => found.damage.join("; "),
        Ok(Err(error)) => Problem::from(error).detail,
        Err(error) => error.to_string(),
    };
    let left = match std::fs::remove_file(file) {
        Ok(()) => String::new(),
        Err(error) => format!(", and it cannot be removed: {error}"),
    };
    Err(Problem::new(
        ProblemKind::Internal,
        "the backup is not sound",
        format!("{} did not pass its check: {why}{left}", file.display()),
    ))
}
