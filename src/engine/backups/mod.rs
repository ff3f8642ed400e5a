//! Backups that the daemon makes by itself: when, and which of them go.
//!
//! Only files that the database knows as made this way are ever removed, and only while they still are what was written
//! then. One that is damaged never counts, so that no good one goes for it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::clock::Timestamp;
use crate::config::backup::BackupSettings;
use crate::engine::backups::keep::superfluous;
use crate::engine::backups::state::FailedTry;
use crate::engine::core::Engine;
use crate::engine::handle::backup;
use crate::engine::views::announce_if_changed;
use crate::protocol::problem::{Problem, ProblemKind};
use crate::store::backup_check;
use crate::store::commands::record_backup::ForgetBackups;
use crate::store::input::ActorRef;
use crate::store::queries::backups::MadeBackup;

pub mod doctor;
pub mod keep;
pub mod state;

/// Seconds until what failed is tried again.
const RETRY_SECONDS: i64 = 15 * 60;
/// Longest sleep: the wall clock may jump.
const LONGEST_SLEEP: Duration = Duration::from_secs(600);

/// Runs until the engine stops. Without `[backup]` it only waits for one.
pub async fn run(engine: Engine) {
    let mut quarantine = engine.emergency.quarantine_changes();
    loop {
        let engine = engine.current();
        let free = !*quarantine.borrow_and_update();
        let sleep = match engine.settings.backup.clone() {
            Some(settings) if free => Some(look(&engine, &settings).await),
            Some(_) | None => None,
        };
        let timer = async {
            match sleep {
                Some(sleep) => tokio::time::sleep(sleep).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = timer => {}
            () = engine.backups.until_configuration_changes() => {
                if let Some(failed) = engine.backups.failed() {
                    let again_at = engine.clock.now();
                    engine.backups.set_failed(Some(FailedTry { again_at, ..failed }));
                }
            }
            changed = quarantine.changed() => if changed.is_err() { return },
            () = engine.shutdown.cancelled() => return,
        }
    }
}

/// Makes the one that is due; how long to sleep then.
async fn look(engine: &Engine, settings: &BackupSettings) -> Duration {
    let made = match made(engine).await {
        Ok(made) => made,
        Err(problem) => {
            tracing::warn!(%problem, "cannot list the backups");
            return LONGEST_SLEEP;
        }
    };
    let now = engine.clock.now();
    let due = next_at(engine, settings, &made);
    if due > now {
        return Duration::from_millis(due.millis_since(now)).min(LONGEST_SLEEP);
    }
    match make(engine, settings, now).await {
        Ok(()) => {
            engine.backups.set_failed(None);
            announce_if_changed(engine).await;
            // Looked at once more: when the next is due.
            Duration::ZERO
        }
        // A person writes one: soon enough.
        Err(problem) if problem.kind == ProblemKind::Conflict => Duration::from_secs(60),
        Err(problem) => {
            let retry = RETRY_SECONDS.min(settings.every_seconds);
            tracing::error!(%problem, retry_seconds = retry, "the scheduled backup failed");
            engine.backups.set_failed(Some(FailedTry {
                why: problem.detail,
                at: now,
                again_at: now.plus_seconds(retry),
            }));
            announce_if_changed(engine).await;
            Duration::from_secs(retry.unsigned_abs()).min(LONGEST_SLEEP)
        }
    }
}

/// Those that the daemon made and that are not gone.
async fn made(engine: &Engine) -> Result<Vec<MadeBackup>, Problem> {
    engine.read_here(|reader| reader.made_backups()).await
}

/// When the next one is due.
fn next_at(engine: &Engine, settings: &BackupSettings, made: &[MadeBackup]) -> Timestamp {
    if let Some(failed) = engine.backups.failed() {
        return failed.again_at;
    }
    let now = engine.clock.now();
    match made.iter().map(|one| one.created_at).max() {
        Some(last) if last <= now => last.plus_seconds(settings.every_seconds),
        // None yet, or at a time that has not come: the clock was set back.
        Some(_) | None => now,
    }
}

/// Name of the file of a moment: the second, without signs that file systems do not take.
fn file_name(at: Timestamp) -> String {
    let text = at.to_string();
    let second = text.split(['.', 'Z']).next().unwrap_or(&text);
    let digits: String = second.chars().filter(char::is_ascii_alphanumeric).collect();
    format!("leverframe-{digits}Z.tar")
}

async fn make(engine: &Engine, settings: &BackupSettings, now: Timestamp) -> Result<(), Problem> {
    let folder = &settings.folder;
    // Not made here: an empty directory may be the place of a disk that is not mounted.
    if !folder.is_dir() {
        return Err(Problem::unavailable(
            "no backup can be written there",
            format!(
                "{} is not there: make it, or mount its disk",
                folder.display()
            ),
        ));
    }
    let file = folder.join(file_name(now));
    let checked = settings.verify.then(|| folder.clone());
    backup::write(engine, &backup::Order::scheduled(&file, checked)).await?;
    remove_superfluous(engine, settings).await
}

/// Removes what is kept no longer.
async fn remove_superfluous(engine: &Engine, settings: &BackupSettings) -> Result<(), Problem> {
    let made = made(engine).await?;
    let times: Vec<Timestamp> = made.iter().map(|one| one.created_at).collect();
    let gone: Vec<MadeBackup> = superfluous(&times, settings.keep_daily, settings.keep_weekly)
        .into_iter()
        .filter_map(|at| made.get(at).cloned())
        .collect();
    if gone.is_empty() {
        return Ok(());
    }
    let removal = tokio::task::spawn_blocking(move || {
        gone.into_iter()
            .filter(is_removed)
            .collect::<Vec<MadeBackup>>()
    });
    let removed: Vec<MadeBackup> = removal
        .await
        .map_err(|error| Problem::internal(error.to_string()))?;
    let paths: Vec<String> = removed.into_iter().map(|one| one.path).collect();
    if paths.is_empty() {
        return Ok(());
    }
    let forget = ForgetBackups {
        by: ActorRef::engine(),
        paths,
    };
    engine.write(forget).await
}

/// Removes the file of a backup, if it still is that backup. Whether it needs no more thought.
fn is_removed(made: &MadeBackup) -> bool {
    let path = PathBuf::from(&made.path);
    match backup_check::manifest(&path) {
        Ok(manifest) if manifest.created_at == made.created_at => {}
        Ok(_) | Err(_) if !path.exists() => {
            // Its disk may only be away.
            return path.parent().is_some_and(Path::is_dir);
        }
        Ok(_) => {
            tracing::warn!(path = %path.display(), "keeping an old backup file: it is another backup now");
            return true;
        }
        Err(error) => {
            tracing::warn!(path = %path.display(), %error, "keeping an old backup file: it is not a backup of Leverframe any more");
            return true;
        }
    }
    match std::fs::remove_file(&path) {
        Ok(()) => {
            tracing::info!(path = %path.display(), "removed an old backup");
            true
        }
        Err(error) => {
            tracing::warn!(path = %path.display(), %error, "cannot remove an old backup");
            false
        }
    }
}
