//! `[log]`: where its files lie and how long they get.

use crate::config::error::ConfigError;
use crate::config::inputs::{Inputs, Section, field};
use crate::config::log::LogFileSettings;

/// The settings of the files.
pub fn resolve(inputs: &Inputs<'_>) -> Result<LogFileSettings, ConfigError> {
    let config = inputs.config();
    let table = &config.log;
    let section = Section::new(inputs, &["log"], table);
    let path = match &table.file {
        None => None,
        Some(file) if file.starts_with(['/', '~']) => Some(inputs.path(file)),
        Some(file) => {
            let fault = section.fault("file", format!("`{file}` is not an absolute path"));
            return Err(fault
                .expected("a path like /var/log/leverframe/leverframe.log")
                .into());
        }
    };
    Ok(LogFileSettings {
        path,
        max_bytes: section.number(field!(table.max_mib), 16, 1..=4096)? << 20,
        keep: section.number(field!(table.keep), 1, 0..=100)?,
    })
}
