//! The one error of configuration: where, what, what was expected, and the next step. No message holds
//! the value of a secret.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::text::untrusted::reveal_line;

/// Where a setting came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConfigLocation {
    /// The configuration file.
    File {
        /// Which.
        path: PathBuf,
        /// Line, from 1.
        line: Option<usize>,
        /// Column in characters, from 1.
        column: Option<usize>,
    },
    /// An environment variable.
    Environment(String),
    /// A flag of the command line.
    Flag(&'static str),
    /// A file or directory that a setting names.
    Path(PathBuf),
    /// Nothing was given, and the default does not do.
    Default,
}

impl ConfigLocation {
    /// A file or directory.
    pub fn path(path: &Path) -> Self {
        ConfigLocation::Path(path.to_owned())
    }
}

/// What is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Where.
    pub place: ConfigLocation,
    /// Dotted key, for example `channels.team.autonomy`.
    pub key: Option<String>,
    /// What is wrong, in a few words.
    pub problem: String,
    /// What would have been right.
    pub expected: Option<String>,
    /// The known name that looks most like the unknown one.
    pub nearest: Option<String>,
    /// What to do.
    pub next_step: Option<String>,
}

/// A configuration that cannot be used. Exit status 2.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ConfigError(Box<Fault>);

impl ConfigError {
    /// What is wrong.
    pub fn fault(&self) -> &Fault {
        &self.0
    }
}

impl From<Fault> for ConfigError {
    fn from(fault: Fault) -> Self {
        Self(Box::new(fault))
    }
}

impl Fault {
    /// A fault with nothing but a place and a problem.
    pub fn new(place: ConfigLocation, problem: impl Into<String>) -> Self {
        Self {
            place,
            key: None,
            problem: problem.into(),
            expected: None,
            nearest: None,
            next_step: None,
        }
    }

    /// With the dotted key.
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// With what would have been right.
    pub fn expected(mut self, expected: impl Into<String>) -> Self {
        self.expected = Some(expected.into());
        self
    }

    /// With the name nearest to `word`, if one is near.
    pub fn nearest<'a>(mut self, word: &str, known: impl IntoIterator<Item = &'a str>) -> Self {
        self.nearest = nearest(word, known);
        self
    }

    /// With what to do.
    pub fn next_step(mut self, step: impl Into<String>) -> Self {
        self.next_step = Some(step.into());
        self
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            ConfigLocation::File { path, line, column } => {
                write!(f, "{}", reveal_line(&path.to_string_lossy()))?;
                if let (Some(line), Some(column)) = (line, column) {
                    write!(f, ":{line}:{column}")?;
                }
                f.write_str(": ")?;
            }
            ConfigLocation::Environment(name) => write!(f, "environment variable {name}: ")?,
            ConfigLocation::Flag(flag) => write!(f, "{flag}: ")?,
            ConfigLocation::Path(path) => write!(f, "{}: ", reveal_line(&path.to_string_lossy()))?,
            ConfigLocation::Default => {}
        }
        if let Some(key) = &self.key {
            write!(f, "{}: ", reveal_line(key))?;
        }
        write!(f, "{}", reveal_line(&self.problem))?;
        if let Some(expected) = &self.expected {
            write!(f, "; expected {}", reveal_line(expected))?;
        }
        if let Some(nearest) = &self.nearest {
            write!(f, "; did you mean `{nearest}`?")?;
        }
        if let Some(step) = &self.next_step {
            let stop = if self.nearest.is_some() { " " } else { ". " };
            write!(f, "{stop}{}", reveal_line(step))?;
        }
        Ok(())
    }
}

/// The known name that looks most like `word`: at most a third of it is different.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let word = word.to_lowercase();
    let limit = (word.chars().count() / 3).clamp(1, 4);
    let distances = known
        .into_iter()
        .map(|name| (strsim::osa_distance(&word, &name.to_lowercase()), name));
    let (distance, name) = distances.min()?;
    (distance <= limit).then(|| name.to_owned())
}
