//! Whether a backup can be restored: it is, into a directory of its own that goes away again.
//!
//! The file, the data directory and whatever runs on it are not touched.

use std::fs::{DirBuilder, File};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::clock::Timestamp;
use crate::protocol::backup::{BackupManifest, BackupVerification};
use crate::protocol::ids::SessionId;
use crate::store::check;
use crate::store::error::StoreError;
use crate::store::offline::Offline;
use crate::store::restore::{RestoreError, place, read_manifest_of, unpack, verify};
use crate::store::schema::{self, DatabaseFile, SCHEMA_VERSION};
use crate::store::sql::Statements as _;

/// A directory that goes away with this value.
struct Unpacked(PathBuf);

impl Unpacked {
    fn new(within: &Path) -> Result<Self, RestoreError> {
        let path = within.join(format!(".leverframe-verify-{}", SessionId::generate()));
        DirBuilder::new()
            .mode(0o700)
            .create(&path)
            .map_err(|error| place(within, &error))?;
        Ok(Self(path))
    }
}

impl Drop for Unpacked {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            tracing::warn!(path = %self.0.display(), %error, "what was unpacked stays behind");
        }
    }
}

/// What the first member of a backup says, without a look at the rest.
pub fn manifest(file: &Path) -> Result<BackupManifest, RestoreError> {
    let input = File::open(file).map_err(|error| place(file, &error))?;
    read_manifest_of(file, input)
}

/// Restores a backup into a new directory in `within`, opens its database as this program would, and looks at all of it.
///
/// # Errors
/// Where it cannot be restored, with the reason. What is restored and does not keep every rule is no error: the answer
/// lists it.
pub fn run(file: &Path, within: &Path, now: Timestamp) -> Result<BackupVerification, RestoreError> {
    let began = Instant::now();
    let unpacked = Unpacked::new(within)?;
    let dir = &unpacked.0;
    let (manifest, config) = unpack(file, dir)?;
    // The checks of a restore: the database is sound and the one of the manifest, the audit chain holds, nothing that it
    // names is missing.
    verify(file, dir, &manifest, now)?;
    let database = dir.join("leverframe.db");
    if manifest.schema < SCHEMA_VERSION {
        drop(schema::open_writer(
            &database,
            DatabaseFile::Ours(manifest.schema),
        )?);
    }
    let offline = Offline::open(&database)?;
    let mut found = offline.read(|reader| {
        let count = |sql: &str| -> Result<u64, StoreError> { reader.conn.value(sql, []) };
        let last_event = count("SELECT coalesce(max(seq), 0) FROM events")?;
        let report = check::report(reader)?;
        let (mut violations, mut damage) = (Vec::new(), Vec::new());
        for rule in report.rules.iter().filter(|rule| rule.violations > 0) {
            let what = format!("{}: {} × {}", rule.invariant, rule.violations, rule.broken);
            if check::is_about_files(rule) {
                damage.push(what.clone());
            }
            violations.push(what);
        }
        if last_event != manifest.last_event_seq {
            let what = format!(
                "its newest event is {last_event}, its manifest says {}",
                manifest.last_event_seq
            );
            damage.push(what.clone());
            violations.push(what);
        }
        Ok(BackupVerification {
            path: file.display().to_string(),
            created_at: manifest.created_at,
            version: manifest.version.clone(),
            schema: manifest.schema,
            migrated_to: (manifest.schema < SCHEMA_VERSION).then_some(SCHEMA_VERSION),
            members: manifest.members.len() as u64,
            bytes: manifest.members.iter().map(|member| member.size).sum(),
            rules: report.rules.len() as u64,
            rows: report.rows,
            audit_rows: count("SELECT count(*) FROM audit")?,
            sessions: count("SELECT count(*) FROM sessions")?,
            continuations: count("SELECT count(*) FROM continuations")?,
            artifacts: count("SELECT count(*) FROM artifacts")?,
            config_files: config.len() as u64,
            violations,
            damage,
            duration_ms: 0,
        })
    })?;
    found.duration_ms = began.elapsed().as_millis() as u64;
    Ok(found)
}
