//! `[memory.hygiene]` and its variable: how long memories are kept, how many, and how long a run can be taken back.

use crate::config::error::{ConfigError, ConfigLocation, Fault};
use crate::config::inputs::{Inputs, Section, field};
use crate::config::settings::HygieneSettings;

const RETENTION_DAYS: &str = "LEVERFRAME_MEMORY_RETENTION_DAYS";
/// Longest time that can be configured: a hundred years.
const LONGEST_DAYS: u32 = 36_500;

/// The settings. The variable stands for `retention_days`: what the file says of one scope comes before both.
pub fn resolve(inputs: &Inputs<'_>) -> Result<HygieneSettings, ConfigError> {
    let config = inputs.config();
    let table = &config.memory.hygiene;
    let section = Section::new(inputs, &["memory", "hygiene"], table);
    let days = |field, default| section.number(field, default, 0..=LONGEST_DAYS);
    let written = days(field!(table.retention_days), 30)?;
    let usual = match inputs.environment.get(RETENTION_DAYS) {
        None => written,
        Some(value) => value
            .trim()
            .parse()
            .ok()
            .filter(|days| *days <= LONGEST_DAYS)
            .ok_or_else(|| {
                let place = ConfigLocation::Environment(RETENTION_DAYS.to_owned());
                let expected =
                    format!("a whole number of days from 0 (for ever) to {LONGEST_DAYS}");
                Fault::new(place, format!("`{value}` cannot be used")).expected(expected)
            })?,
    };
    Ok(HygieneSettings {
        session_days: days(field!(table.session_days), usual)?,
        channel_days: days(field!(table.channel_days), usual)?,
        global_days: days(field!(table.global_days), usual)?,
        max_memories: section.number(field!(table.max_memories), 10_000, 1..=1_000_000)?,
        undo_days: section.number(field!(table.undo_days), 7, 1..=365)?,
    })
}
