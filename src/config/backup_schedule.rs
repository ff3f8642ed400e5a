//! `[backup]`: which of its settings can be used.

use crate::config::backup::{BackupSettings, BackupTable};
use crate::config::error::ConfigError;
use crate::config::inputs::{Inputs, Section, field};
use crate::config::paths::resolved;
use crate::protocol::duration::seconds;

/// Shortest and longest time between two backups, in seconds.
const EVERY: std::ops::RangeInclusive<i64> = 60..=366 * 24 * 3600;
/// Most backups of one kind that can be kept.
const MOST: u32 = 3660;

/// The settings; none = no backup is made by itself.
pub fn resolve(inputs: &Inputs<'_>) -> Result<Option<BackupSettings>, ConfigError> {
    let config = inputs.config();
    let table = &config.backup;
    if *table == BackupTable::default() {
        return Ok(None);
    }
    let section = Section::new(inputs, &["backup"], table);
    let fault = |key: &str, problem: String| section.fault(key, problem);
    let Some(every) = &table.every else {
        let fault = fault(
            "every",
            "is missing: without it the daemon makes no backup".to_owned(),
        );
        return Err(fault.expected("a time like 24h or 1d").into());
    };
    let every_seconds = seconds(every)
        .filter(|seconds| EVERY.contains(seconds))
        .ok_or_else(|| {
            fault("every", format!("`{every}` cannot be used"))
                .expected("a time from 1m to 366d, like 24h or 1d")
        })?;
    let Some(folder) = &table.folder else {
        let fault = fault(
            "folder",
            "is missing: the daemon needs a place for backups".to_owned(),
        );
        return Err(fault
            .expected("a directory outside of the data directory")
            .into());
    };
    if !folder.starts_with(['/', '~']) {
        let fault = fault("folder", format!("`{folder}` is not an absolute path"));
        return Err(fault
            .expected("a path like /var/backups/leverframe or ~/backups")
            .into());
    }
    let folder = inputs.path(folder);
    if resolved(&folder).starts_with(resolved(&inputs.paths.data_dir)) {
        let fault = fault(
            "folder",
            format!("{} lies in the data directory", folder.display()),
        );
        let step = "Name a directory outside it, best on another disk: a fault must not hit both";
        return Err(fault.next_step(step).into());
    }
    Ok(Some(BackupSettings {
        every_seconds,
        folder,
        keep_daily: section.number(field!(table.keep_daily), 7, 0..=MOST)?,
        keep_weekly: section.number(field!(table.keep_weekly), 4, 0..=MOST)?,
        verify: table.verify.unwrap_or(true),
    }))
}
