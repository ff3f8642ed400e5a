//! Backing up and restoring a data directory that no process serves.

use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use crate::clock::Clock;
use crate::config::backup_files::{self, Secrets};
use crate::config::environment::Environment;
use crate::config::flags::Flags;
use crate::config::layers;
use crate::config::settings::Paths;
use crate::protocol::backup::{BackupReport, BackupVerification, RestoreReport};
use crate::protocol::problem::{Problem, ProblemKind};
use crate::runtime::start;
use crate::store::backup::{BackupRequest, backup_at_rest};
use crate::store::backup_check;
use crate::store::restore::{Existing, RestoreRequest};
use crate::text::redact::Redactor;

/// Name of this process in a lock file.
const INSTANCE: &str = "backup";

/// Backs up the data directory of `paths` into `file`, which is absolute.
pub fn at_rest(
    paths: &Paths,
    flags: &Flags,
    environment: &Environment,
    file: &Path,
) -> Result<BackupReport, Problem> {
    // Without its secrets (a variable that only the service has) a configuration is still worth keeping.
    let (redactor, secrets) = match layers::load(flags, environment, start::tool_names()) {
        Ok(settings) => (start::redactor(&settings), Secrets::Registered),
        Err(error) => {
            tracing::debug!(%error, "cannot read the secrets of the configuration");
            (Redactor::new(), Secrets::Unknown)
        }
    };
    let found = backup_files::collect(paths, &redactor, secrets);
    let request = BackupRequest {
        file: file.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        created_at: Clock::System.now(),
        extras: found.files,
        notes: found.notes,
    };
    backup_at_rest(&paths.data_dir, INSTANCE, &request).map_err(Problem::from)
}

/// Restores the backup `file` into a new directory in `within`, and looks at all of it.
pub fn verify(file: &Path, within: &Path) -> Result<BackupVerification, Problem> {
    backup_check::run(file, within, Clock::System.now()).map_err(Problem::from)
}

/// Puts the backup `file` into the data directory of `paths`, and its configuration where none is. With `force`, a
/// database that is there is moved aside.
pub fn restore_into(paths: &Paths, file: &Path, force: bool) -> Result<RestoreReport, Problem> {
    let existing = if force {
        Existing::MoveAside
    } else {
        Existing::Refuse
    };
    let now = Clock::System.now();
    let stamp = jiff::Timestamp::from_millisecond(now.as_millis()).map_or_else(
        |_| now.as_millis().to_string(),
        |at| at.strftime("%Y%m%dT%H%M%SZ").to_string(),
    );
    let restored = crate::store::restore::restore(&RestoreRequest {
        file: file.to_owned(),
        data_dir: paths.data_dir.clone(),
        existing,
        instance: INSTANCE.to_owned(),
        now,
        stamp: stamp.clone(),
    })?;
    let mut config_files = Vec::new();
    for (inside, content) in &restored.config {
        let target = match inside.as_str() {
            "config.toml" => paths.config_file.clone(),
            other => paths.config_dir.join(other),
        };
        let written = put(&target, content, &stamp).map_err(|error| {
            Problem::new(
                ProblemKind::Unavailable,
                "could not restore the configuration",
                format!("{}: {error}", target.display()),
            )
            .hint(format!(
                "the database was: it lies in {}; take the configuration out of the backup with tar",
                paths.data_dir.display()
            ))
        })?;
        config_files.extend(written.map(|path| path.display().to_string()));
    }
    Ok(RestoreReport {
        backup: file.display().to_string(),
        created_at: restored.manifest.created_at,
        data_dir: paths.data_dir.display().to_string(),
        moved_aside: restored.moved_aside.map(|path| path.display().to_string()),
        config_files,
        uncertain: restored.uncertain,
    })
}

/// Writes a configuration file where none is, else beside the one that is; none when the same is there already.
fn put(target: &Path, content: &[u8], stamp: &str) -> std::io::Result<Option<PathBuf>> {
    if let Some(parent) = target.parent() {
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(parent)?;
    }
    let ending = |ending: &str| {
        let mut name = target.as_os_str().to_owned();
        name.push(ending);
        PathBuf::from(name)
    };
    for path in [
        target.to_owned(),
        ending(".from-backup"),
        ending(&format!(".from-backup-{stamp}")),
    ] {
        let file = std::fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path);
        match file {
            Ok(mut file) => {
                file.write_all(content)?;
                file.sync_all()?;
                return Ok(Some(path));
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                if std::fs::read(&path).is_ok_and(|there| there == content) {
                    return Ok(None);
                }
            }
            Err(error) => return Err(error),
        }
    }
    Err(std::io::Error::other(
        "copies of earlier backups exist already",
    ))
}
