//! A configuration file with its text, so that an error names the line.

use std::collections::BTreeMap;
use std::path::Path;

use crate::config::error::{ConfigError, Fault};
use crate::config::file::ConfigFile;
use crate::config::toml_text::TomlText;

/// A file that was read, with its text for positions in errors.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LoadedFile {
    /// What it says.
    pub config: ConfigFile,
    text: TomlText,
}

impl LoadedFile {
    /// Reads a file; none when there is none.
    pub fn read(path: &Path) -> Result<Option<Self>, ConfigError> {
        Self::text(path)?.map(Self::of).transpose()
    }

    /// The text of a file that is not understood yet; none when there is none.
    pub fn text(path: &Path) -> Result<Option<TomlText>, ConfigError> {
        TomlText::read(
            path,
            "Name a readable file with --config or LEVERFRAME_CONFIG",
        )
    }

    /// Reads text as if it were the file at `path`.
    pub fn parse(path: &Path, text: impl Into<String>) -> Result<Self, ConfigError> {
        Self::of(TomlText::new(path, text))
    }

    /// Understands a text.
    pub fn of(text: TomlText) -> Result<Self, ConfigError> {
        Ok(Self {
            config: text.parse()?,
            text,
        })
    }

    /// Every value of this file as TOML, by dotted key.
    pub fn values(&self) -> BTreeMap<String, String> {
        self.text.values()
    }

    /// A fault at a key of this file; at the nearest table around it when the key is not written.
    pub fn fault(&self, keys: &[&str], problem: impl Into<String>) -> Fault {
        self.text.fault(keys, problem)
    }
}
