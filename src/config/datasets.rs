//! `[datasets]`: how long tables are kept that people send, and how large they are.

use crate::config::error::ConfigError;
use crate::config::inputs::{Inputs, Section, field};
use crate::config::settings::DatasetSettings;

/// Bytes of a MiB.
const MIB: u64 = 1024 * 1024;
/// MiB that `max_mib` can be at most.
const MAX_MIB: u64 = 4096;
/// MiB that `max_total_mib` can be at most.
const MAX_TOTAL_MIB: u64 = 1024 * 1024;
/// Days that `keep_days` can be at most.
const MAX_DAYS: u32 = 3650;

/// The settings.
pub fn resolve(inputs: &Inputs<'_>) -> Result<DatasetSettings, ConfigError> {
    let table = &inputs.config().datasets;
    let section = Section::new(inputs, &["datasets"], table);
    let keep_days = section.number(field!(table.keep_days), 30, 0..=MAX_DAYS)?;
    let max_mib = section.number(field!(table.max_mib), 256, 1..=MAX_MIB)?;
    let max_total_mib = section.number(field!(table.max_total_mib), 1024, 1..=MAX_TOTAL_MIB)?;
    Ok(DatasetSettings {
        keep_days,
        max_bytes: max_mib * MIB,
        max_total_bytes: max_total_mib * MIB,
    })
}
