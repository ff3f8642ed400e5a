//! What can be said about an installation that nothing runs on: doctor and audit read the files themselves.
//!
//! Nothing is written, locked or recovered here.

use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::clock::Clock;
use crate::config::environment::Environment;
use crate::config::layers::{self, Flags};
use crate::config::paths::locate;
use crate::engine::doctor::{Facts, Process, findings};
use crate::protocol::doctor::{AuditAnchor, AuditReport, AuditRow, CheckReport, Doctor};
use crate::protocol::snapshot::{AuditFilter, Page, PageRequest};
use crate::runtime::start::tool_names;
use crate::store::error::StoreError;
use crate::store::files::look;
use crate::store::offline::Offline;
use crate::store::{anchors, check};
use crate::tools::sandbox::Sandbox;

/// Why a database was not looked at.
#[derive(Debug, thiserror::Error)]
pub enum OfflineError {
    /// There is none, or it is not one of ours with this program's schema. Nothing was touched.
    #[error("{0}")]
    Unusable(String),
    /// A process took the database over while it was read.
    #[error("{0} was taken over by a process while it was read: ask again")]
    Disturbed(PathBuf),
    /// Anything else.
    #[error("{0:#}")]
    Other(#[from] anyhow::Error),
}

impl From<StoreError> for OfflineError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NotFound { .. }
            | StoreError::Foreign(_)
            | StoreError::Newer { .. }
            | StoreError::Older { .. } => Self::Unusable(error.to_string()),
            other => Self::Other(other.into()),
        }
    }
}

/// The database of a data directory.
pub fn database_of(data_dir: &Path) -> PathBuf {
    data_dir.join("leverframe.db")
}

fn verify(database: &Offline, path: &Path) -> Result<CheckReport, OfflineError> {
    let begun = std::time::Instant::now();
    let mut report = database.read(check::report)?;
    if database.was_disturbed() {
        return Err(OfflineError::Disturbed(path.to_owned()));
    }
    report.took_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    Ok(report)
}

/// Verifies the rules of one database file, wherever it lies.
pub fn check_file(path: &Path) -> Result<Doctor, OfflineError> {
    let database = Offline::open(path)?;
    Ok(Doctor {
        at: Clock::System.now(),
        database: path.display().to_string(),
        live: false,
        findings: Vec::new(),
        check: Some(verify(&database, path)?),
    })
}

/// How the installation on a data directory is, that nothing runs on.
pub fn doctor(
    flags: &Flags,
    environment: &Environment,
    with_check: bool,
) -> Result<Doctor, OfflineError> {
    let (paths, _) = locate(
        flags.config.as_deref(),
        flags.data_dir.as_deref(),
        environment,
    )
    .context("finding the data directory")?;
    let path = database_of(&paths.data_dir);
    let settings = layers::load(flags, environment, tool_names());
    let opened = match Offline::open(&path) {
        Err(StoreError::NotFound { .. }) if !with_check => None,
        Err(error) if with_check => return Err(error.into()),
        other => Some(other),
    };
    let check = match &opened {
        Some(Ok(database)) if with_check => Some(verify(database, &path)?),
        Some(_) | None => None,
    };
    let sandbox = Sandbox::probe();
    let files = look(&path);
    let facts = Facts {
        now: Clock::System.now(),
        settings: settings.as_ref().map_err(ToString::to_string),
        data_dir: &paths.data_dir,
        files: &files,
        database: opened.map(|opened| {
            opened
                .and_then(|database| database.read(|reader| reader.database_facts()))
                .map_err(|error| error.to_string())
        }),
        process: Process {
            sandbox: (sandbox.level_word(), sandbox.is_confined()),
            channels: None,
            problems: Vec::new(),
            cache: None,
        },
    };
    Ok(Doctor {
        at: facts.now,
        database: path.display().to_string(),
        live: false,
        findings: findings(&facts),
        check,
    })
}

/// Rows of the audit of a database that nothing runs on.
pub struct OfflineAudit {
    database: Offline,
    data_dir: PathBuf,
}

impl OfflineAudit {
    /// Opens the audit of a data directory.
    pub fn open(data_dir: &Path) -> Result<Self, OfflineError> {
        Ok(Self {
            database: Offline::open(&database_of(data_dir))?,
            data_dir: data_dir.to_owned(),
        })
    }

    /// A page of rows.
    pub fn rows(
        &self,
        filter: &AuditFilter,
        page: &PageRequest,
    ) -> Result<Page<AuditRow>, OfflineError> {
        Ok(self
            .database
            .read(|reader| reader.audit_rows(filter, page))?)
    }

    /// Walks the whole audit.
    pub fn verify(&self, given: Option<&AuditAnchor>) -> Result<AuditReport, OfflineError> {
        let noted = anchors::expected(&self.data_dir);
        Ok(self
            .database
            .read(|reader| reader.audit_report(&noted, given))?)
    }
}
