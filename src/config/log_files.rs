//! `[log]`: where its files lie and how long they get.

use crate::config::error::ConfigError;
use crate::config::inputs::{Inputs, number};
use crate::config::log::LogFileSettings;
use crate::config::paths::expand;

/// The settings of the files.
pub fn resolve(inputs: &Inputs<'_>) -> Result<LogFileSettings, ConfigError> {
    let config = inputs.config();
    let table = &config.log;
    let path = match &table.file {
        None => None,
        Some(file) if file.starts_with(['/', '~']) => {
            Some(expand(file, inputs.environment, &inputs.paths.config_dir))
        }
        Some(file) => {
            let fault = inputs.fault(
                &["log", "file"],
                format!("`{file}` is not an absolute path"),
            );
            return Err(fault
                .expected("a path like /var/log/leverframe/leverframe.log")
                .into());
        }
    };
    Ok(LogFileSettings {
        path,
        max_bytes: number(inputs, &["log", "max_mib"], table.max_mib, 16, 1..=4096)? << 20,
        keep: number(inputs, &["log", "keep"], table.keep, 1, 0..=100)?,
    })
}
