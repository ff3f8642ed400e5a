//! Configuration layers and the errors a user can cause.

// Helpers of a suite fail the test by panicking.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod errors;
mod layers;
mod ownership;
mod paths;
mod places;
mod reload;
mod secrets;
mod template;

use std::path::{Path, PathBuf};

use leverframe::config::environment::{Directories, Environment};
use leverframe::config::error::ConfigError;
use leverframe::config::flags::Flags;
use leverframe::config::layers::{load, load_console};
use leverframe::config::settings::{ConsoleSettings, Settings};

/// The tools the suites know.
const TOOLS: &[&str] = &[
    "read_file",
    "write_file",
    "list_files",
    "search_files",
    "execute_command",
    "remember",
    "recall",
];

/// A configuration file with data directory and home of its own.
pub struct Case {
    dir: tempfile::TempDir,
    flags: Flags,
    variables: Vec<(String, String)>,
}

impl Case {
    pub fn new(text: &str) -> Self {
        let case = Self::without_file();
        std::fs::write(case.file(), text).unwrap();
        case
    }

    fn without_file() -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join(".config/leverframe")).unwrap();
        let variables = vec![("HOME".to_owned(), dir.path().to_str().unwrap().to_owned())];
        let flags = Flags::default();
        Self {
            dir,
            flags,
            variables,
        }
    }

    fn home(&self) -> &Path {
        self.dir.path()
    }

    pub fn file(&self) -> PathBuf {
        self.home().join(".config/leverframe/config.toml")
    }

    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    pub fn flags(mut self, change: impl FnOnce(&mut Flags)) -> Self {
        change(&mut self.flags);
        self
    }

    fn environment(&self) -> Environment {
        let variables: Environment = self.variables.iter().cloned().collect();
        variables.with_directories(Directories {
            config: self.home().join(".config"),
            data: self.home().join(".local/share"),
            runtime: None,
        })
    }

    fn load(&self) -> Result<Settings, ConfigError> {
        load(&self.flags, &self.environment(), TOOLS)
    }

    #[track_caller]
    pub fn settings(&self) -> Settings {
        self.load().unwrap_or_else(|error| panic!("{error}"))
    }

    #[track_caller]
    pub fn console(&self) -> ConsoleSettings {
        load_console(&self.flags, &self.environment()).unwrap_or_else(|error| panic!("{error}"))
    }

    #[track_caller]
    pub fn error(&self) -> ConfigError {
        self.load().expect_err("this configuration was accepted")
    }
}
