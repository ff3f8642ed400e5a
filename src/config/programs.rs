//! Programs of the operator that run for long: tool servers and bridges.
//!
//! Nothing here starts one, and no secret is written in the file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use crate::config::error::ConfigError;
use crate::config::headers::holds_credential;
use crate::config::inputs::{Inputs, Section};
use crate::config::paths;
use crate::config::program::ProgramSettings;
use crate::config::secret::Secret;
use crate::config::secrets;

/// Most parts of a command.
const MAX_PARTS: usize = 1000;

/// The keys of a table that describe a program.
#[derive(Debug, Clone, Copy)]
pub struct ProgramKeys<'a> {
    /// `command`.
    pub command: &'a [String],
    /// `directory`.
    pub directory: Option<&'a str>,
    /// `environment`.
    pub environment: Option<&'a BTreeMap<String, String>>,
    /// `environment_env`.
    pub environment_env: Option<&'a [String]>,
    /// `environment_files`.
    pub environment_files: Option<&'a BTreeMap<String, String>>,
    /// `read`.
    pub read: Option<&'a [String]>,
    /// `write`.
    pub write: Option<&'a [String]>,
    /// `network`.
    pub network: Option<bool>,
    /// `sandbox`.
    pub sandbox: Option<bool>,
}

/// The keys of a table that describe a program.
macro_rules! program_keys {
    ($table:ident, $command:expr) => {
        crate::config::programs::ProgramKeys {
            command: $command,
            directory: $table.directory.as_deref(),
            environment: $table.environment.as_ref(),
            environment_env: $table.environment_env.as_deref(),
            environment_files: $table.environment_files.as_ref(),
            read: $table.read.as_deref(),
            write: $table.write.as_deref(),
            network: $table.network,
            sandbox: $table.sandbox,
        }
    };
}
pub(crate) use program_keys;

/// The program that the keys of `table` describe.
///
/// # Errors
/// What is wrong, at its key.
pub fn resolve(
    inputs: &Inputs<'_>,
    table: &[&str],
    keys: ProgramKeys<'_>,
) -> Result<ProgramSettings, ConfigError> {
    Section::new(inputs, table, &keys).program()
}

impl Section<'_, ProgramKeys<'_>> {
    fn program(&self) -> Result<ProgramSettings, ConfigError> {
        let keys = self.table;
        let has_zero = keys.command.iter().any(|part| part.contains('\0'));
        let named = (keys.command.first()).is_some_and(|program| !program.trim().is_empty());
        if !named || has_zero || keys.command.len() > MAX_PARTS {
            let fault = self.fault("command", "names no program");
            return Err(fault
                .expected("[\"program\", \"argument\", …], which no shell reads")
                .into());
        }
        let sandbox = keys.sandbox.unwrap_or(true);
        if !sandbox && keys.write.is_some() {
            let fault = self.fault("write", "without a sandbox the program can write anywhere");
            return Err(fault
                .next_step("Leave `write` out, or `sandbox = false`")
                .into());
        }
        let mut program = ProgramSettings {
            command: keys.command.to_vec(),
            directory: keys.directory.map(|path| self.inputs.path(path)),
            environment: BTreeMap::new(),
            read: self.paths("read", keys.read)?,
            write: self.paths("write", keys.write)?,
            network: keys.network.unwrap_or(false),
            sandbox,
            secrets: Vec::new(),
            missing: Vec::new(),
        };
        self.fill_environment(&mut program)?;
        Ok(program)
    }

    fn paths(&self, key: &str, given: Option<&[String]>) -> Result<Vec<PathBuf>, ConfigError> {
        let given = given.unwrap_or_default();
        if given.iter().any(|path| path.trim().is_empty()) {
            return Err(self
                .fault(key, "an entry is empty")
                .expected("paths")
                .into());
        }
        let data = paths::resolved(&self.inputs.paths.data_dir);
        for path in given.iter().map(|path| self.inputs.path(path)) {
            let real = paths::resolved(&path);
            if real.starts_with(&data) || data.starts_with(&real) {
                let problem = format!("{} overlaps the data directory", path.display());
                let fault = self.fault(key, problem);
                return Err(fault.expected("a place outside the data directory").into());
            }
        }
        Ok(given.iter().map(|path| self.inputs.path(path)).collect())
    }

    fn fill_environment(&self, program: &mut ProgramSettings) -> Result<(), ConfigError> {
        let keys = self.table;
        let empty = BTreeMap::new();
        let plain = keys.environment.unwrap_or(&empty);
        let files = keys.environment_files.unwrap_or(&empty);
        let passed = keys.environment_env.unwrap_or_default();
        let names = (plain.keys().map(|name| ("environment", name)))
            .chain(passed.iter().map(|name| ("environment_env", name)))
            .chain(files.keys().map(|name| ("environment_files", name)));
        let mut seen = BTreeSet::new();
        for (key, name) in names {
            let simple = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let starts = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
            if !starts || !name.chars().all(simple) {
                let fault = self.fault(key, format!("`{name}` is no name of a variable"));
                return Err(fault.expected("letters, digits and `_`").into());
            }
            if !seen.insert(name) {
                let fault = self.fault(key, format!("`{name}` is given twice"));
                return Err(fault.next_step("Keep one of the two").into());
            }
        }
        for (name, value) in plain {
            if holds_credential(name) {
                let problem = format!("`{name}` holds a credential in plain text");
                let fault = self.fault("environment", problem);
                let step = "Name it in environment_env, or its file in environment_files";
                return Err(fault.next_step(step).into());
            }
            if value.contains('\0') {
                let fault = self.fault("environment", format!("`{name}` holds a zero byte"));
                return Err(fault.into());
            }
            program.environment.insert(name.clone(), Secret::new(value));
        }
        for name in passed {
            match self.inputs.environment.secret(name) {
                Some(value) => {
                    let value = Secret::new(value);
                    program.secrets.push(value.clone());
                    program.environment.insert(name.clone(), value);
                }
                // The program may do without it, and says so otherwise. The doctor names it.
                None => program.missing.push(name.clone()),
            }
        }
        for (name, file) in files {
            let value = secrets::read_private_file(&self.inputs.path(file))?;
            program.secrets.push(value.clone());
            program.environment.insert(name.clone(), value);
        }
        Ok(())
    }
}
