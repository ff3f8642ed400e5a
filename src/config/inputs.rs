//! What settings are made of, and numbers read from it: what the modules that resolve one table each share.

use crate::config::environment::Environment;
use crate::config::error::{ConfigError, ConfigLocation, Fault};
use crate::config::file::ConfigFile;
use crate::config::flags::Flags;
use crate::config::loaded_file::LoadedFile;
use crate::config::paths::FileChoice;
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
}

/// A number of the file, or its default, within bounds.
pub fn number<T: PartialOrd + std::fmt::Display + Copy>(
    inputs: &Inputs<'_>,
    keys: &[&str],
    given: Option<T>,
    default: T,
    bounds: std::ops::RangeInclusive<T>,
) -> Result<T, ConfigError> {
    let Some(value) = given else {
        return Ok(default);
    };
    if bounds.contains(&value) {
        return Ok(value);
    }
    let expected = format!("a number from {} to {}", bounds.start(), bounds.end());
    let fault = inputs.fault(keys, format!("{value} is out of range"));
    Err(fault.expected(expected).into())
}

/// US dollars that can be configured as a limit.
pub const COST: std::ops::RangeInclusive<f64> = 0.0..=1_000_000.0;

/// A number of the file within bounds, where there is one.
pub fn given<T: PartialOrd + std::fmt::Display + Copy>(
    inputs: &Inputs<'_>,
    keys: &[&str],
    given: Option<T>,
    bounds: std::ops::RangeInclusive<T>,
) -> Result<Option<T>, ConfigError> {
    given
        .map(|value| number(inputs, keys, Some(value), value, bounds))
        .transpose()
}

/// Tokens and money of the table at these keys.
pub fn limit(inputs: &Inputs<'_>, keys: &[&str], table: Limit) -> Result<Limit, ConfigError> {
    let key = |name| [keys, &[name]].concat();
    Ok(Limit {
        max_tokens: given(
            inputs,
            &key("max_tokens"),
            table.max_tokens,
            0..=1_000_000_000_000,
        )?,
        max_cost_usd: given(inputs, &key("max_cost_usd"), table.max_cost_usd, COST)?,
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
