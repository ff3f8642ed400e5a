//! What settings are made of, and numbers read from it: what the modules that resolve one table each share.

use std::path::PathBuf;

use crate::config::environment::Environment;
use crate::config::error::{ConfigError, ConfigLocation, Fault};
use crate::config::file::ConfigFile;
use crate::config::flags::Flags;
use crate::config::loaded_file::LoadedFile;
use crate::config::paths::{self, FileChoice};
use crate::config::secret::Secret;
use crate::config::secrets::{self, SecretSource};
use crate::config::settings::Paths;
use crate::protocol::budget::Limit;
use crate::protocol::mcp::{FIND_TOOLS, MCP_PREFIX, READ_RESOURCE, covers_servers, server_of};
use crate::protocol::options::{ModelParameters, ToolChoice};

/// Everything that settings are made of.
#[derive(Debug, Clone, Copy)]
pub struct Inputs<'a> {
    /// The command line.
    pub flags: &'a Flags,
    /// The environment.
    pub environment: &'a Environment,
    /// The file, when there is one.
    pub file: Option<&'a LoadedFile>,
    /// Where things are.
    pub paths: &'a Paths,
    /// Whether the file was named by somebody.
    pub choice: FileChoice,
    /// Names of the tools that exist.
    pub tools: &'a [&'a str],
    /// Those of them that exist whatever the file says.
    pub built_in: &'a [&'a str],
}

impl<'a> Inputs<'a> {
    /// A fault at a key of the file.
    pub fn fault(&self, keys: &[&str], problem: impl Into<String>) -> Fault {
        match self.file {
            Some(file) => file.fault(keys, problem),
            None => Fault::new(ConfigLocation::Default, problem).key(keys.join(".")),
        }
    }

    /// The file's content; empty when there is no file.
    pub fn config(&self) -> std::borrow::Cow<'a, ConfigFile> {
        match self.file {
            Some(file) => std::borrow::Cow::Borrowed(&file.config),
            None => std::borrow::Cow::Owned(ConfigFile::default()),
        }
    }

    /// A path as the file writes it.
    pub fn path(&self, given: &str) -> PathBuf {
        paths::expand(given, self.environment, &self.paths.config_dir)
    }
}

/// A table of the file that is resolved, with the keys that lead to it.
#[derive(Debug, Clone, Copy)]
pub struct Section<'a, T> {
    /// What the settings are made of.
    pub inputs: &'a Inputs<'a>,
    /// From the root of the file to the table.
    pub keys: &'a [&'a str],
    /// What the table says.
    pub table: &'a T,
}

/// A field of a table with its name.
macro_rules! field {
    ($table:ident . $name:ident) => {
        (stringify!($name), $table.$name)
    };
}
pub(crate) use field;

/// The names of fields of a table, each with whether the file gives it.
macro_rules! given_keys {
    ($table:ident: $($name:ident),+ $(,)?) => {
        [$((stringify!($name), $table.$name.is_some())),+]
    };
}
pub(crate) use given_keys;

impl<'a, T> Section<'a, T> {
    /// The table at these keys.
    pub const fn new(inputs: &'a Inputs<'a>, keys: &'a [&'a str], table: &'a T) -> Self {
        Self {
            inputs,
            keys,
            table,
        }
    }

    /// The last of its keys.
    pub fn name(&self) -> &'a str {
        self.keys.last().copied().unwrap_or_default()
    }

    /// A fault of the whole table.
    pub fn fault_of_table(&self, problem: impl Into<String>) -> Fault {
        self.inputs.fault(self.keys, problem)
    }

    /// A fault at a key of the table.
    pub fn fault(&self, key: &str, problem: impl Into<String>) -> Fault {
        self.inputs.fault(&[self.keys, &[key]].concat(), problem)
    }

    /// A number of the table, or its default, within bounds.
    pub fn number<N: PartialOrd + std::fmt::Display + Copy>(
        &self,
        (key, given): (&str, Option<N>),
        default: N,
        bounds: std::ops::RangeInclusive<N>,
    ) -> Result<N, ConfigError> {
        Ok(self.given((key, given), bounds)?.unwrap_or(default))
    }

    /// A number of the table within bounds, where there is one.
    pub fn given<N: PartialOrd + std::fmt::Display + Copy>(
        &self,
        (key, given): (&str, Option<N>),
        bounds: std::ops::RangeInclusive<N>,
    ) -> Result<Option<N>, ConfigError> {
        match given {
            Some(value) if !bounds.contains(&value) => {
                let expected = format!("a number from {} to {}", bounds.start(), bounds.end());
                let fault = self.fault(key, format!("{value} is out of range"));
                Err(fault.expected(expected).into())
            }
            given => Ok(given),
        }
    }

    /// The secret that the keys `KEY_env`, `KEY_file` and `KEY_command` of the table name.
    pub fn secret(
        &self,
        key: &str,
        source: SecretSource<'_>,
    ) -> Result<Option<Secret>, ConfigError> {
        let inputs = self.inputs;
        let fault = |suffix: &str, problem| self.fault(&format!("{key}{suffix}"), problem);
        secrets::read(source, inputs.environment, &inputs.paths.config_dir, &fault)
    }
}

/// US dollars that can be configured as a limit.
pub const COST: std::ops::RangeInclusive<f64> = 0.0..=1_000_000.0;

/// Tokens and money of the table at these keys.
pub fn limit(inputs: &Inputs<'_>, keys: &[&str], table: Limit) -> Result<Limit, ConfigError> {
    let section = Section::new(inputs, keys, &table);
    Ok(Limit {
        max_tokens: section.given(field!(table.max_tokens), 0..=1_000_000_000_000)?,
        max_cost_usd: section.given(field!(table.max_cost_usd), COST)?,
    })
}

/// Whether an entry of a list of tools names tools of servers. They may not be known yet, but their server is configured.
pub fn names_server_tool(
    inputs: &Inputs<'_>,
    entry: &str,
    fault: &dyn Fn(String) -> Fault,
) -> Result<bool, ConfigError> {
    let config = inputs.config();
    if entry == FIND_TOOLS || entry == READ_RESOURCE {
        return Ok(true);
    }
    if covers_servers(entry) {
        return Ok(entry.starts_with(MCP_PREFIX));
    }
    let Some(rest) = entry.strip_prefix(MCP_PREFIX) else {
        return Ok(false);
    };
    match server_of(entry) {
        Some(server) if config.mcp.contains_key(server) => Ok(true),
        named => {
            let fault = fault(format!("`{entry}` names no tool of a server"));
            let fault = fault.nearest(named.unwrap_or(rest), config.mcp.keys().map(String::as_str));
            let expected = "`mcp__SERVER__TOOL` or `mcp__SERVER__*`, with a server under [mcp]";
            Err(fault.expected(expected).into())
        }
    }
}

/// How models are asked, as the table at `keys` says it. A tool that must be called exists.
pub fn parameters(
    inputs: &Inputs<'_>,
    keys: &[&str],
    given: ModelParameters,
) -> Result<ModelParameters, ConfigError> {
    let fault = |field, problem: String| inputs.fault(&[keys, &[field]].concat(), problem);
    if let Some(wrong) = given.problem() {
        let fault = fault(wrong.field, wrong.problem);
        return Err(fault.expected(wrong.expected).into());
    }
    if let Some(ToolChoice::Tool(name)) = &given.tool_choice
        && !inputs.tools.contains(&name.as_str())
        && !names_server_tool(inputs, name, &|problem| fault("tool_choice", problem))?
    {
        let fault = fault("tool_choice", format!("there is no tool `{name}`"));
        let words = ["auto", "none", "required"].into_iter();
        let fault = fault.nearest(name, words.chain(inputs.tools.iter().copied()));
        let tools = inputs.tools.join(", ");
        return Err(fault
            .expected(format!("auto, none, required, or one of {tools}"))
            .into());
    }
    Ok(given)
}
