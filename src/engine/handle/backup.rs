//! Writing a backup while everything goes on.

use std::path::PathBuf;

use crate::config::backup_files::{self, Secrets};
use crate::engine::caller::Caller;
use crate::engine::core::Engine;
use crate::engine::problem::from_backup;
use crate::protocol::backup::BackupReport;
use crate::protocol::problem::{Problem, ProblemKind};
use crate::store::backup::BackupRequest;

/// Writes it. One at a time: two would only fight for the disk.
pub async fn write(
    engine: &Engine,
    caller: &Caller,
    path: String,
) -> Result<BackupReport, Problem> {
    let Some(_only) = engine.maintenance.try_backup() else {
        return Err(Problem::new(
            ProblemKind::Conflict,
            "a backup is being written",
            "another backup has not ended yet",
        )
        .hint("try again when it has"));
    };
    let settings = &engine.settings;
    // The demo has no configuration of its own, and must not read anybody's.
    let found = if settings.demo {
        backup_files::BackupFiles::default()
    } else {
        backup_files::collect(&settings.paths, &engine.redactor, Secrets::Registered)
    };
    let made = engine
        .store
        .backup(BackupRequest {
            file: PathBuf::from(path),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            created_at: engine.clock.now(),
            extras: found.files,
            notes: found.notes,
        })
        .await
        .map_err(from_backup);
    let outcome = if made.is_ok() { "ok" } else { "error" };
    engine.store.metrics().backup(outcome);
    let report = made?;
    tracing::info!(path = %report.path, by = %caller.actor.label(), size = report.size, "backup written");
    engine
        .store
        .write(crate::store::commands::record_backup::RecordBackup {
            by: caller.reference(),
            path: report.path.clone(),
            last_event_seq: report.last_event_seq,
        })
        .await
        .map_err(crate::engine::problem::from_store)?;
    Ok(report)
}
