//! What a server offers, with the names that models would call it by. Pure.
//!
//! No two tools of a catalogue have one name for models.

use std::collections::{BTreeMap, BTreeSet};

use crate::mcp::client::offer::ToolList;
use crate::protocol::mcp::{McpIdentity, McpToolDefinition};
use crate::tools::mcp::definition::{definition_sha256, exposed_name};

/// What a server offers, checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Catalogue {
    /// Who it is.
    pub identity: McpIdentity,
    /// Its tools that can be used, as it defines them, by name. Their texts are as they came: reveal them.
    pub tools: Vec<McpToolDefinition>,
    /// Tools that cannot be used, by name, and why.
    pub invalid: BTreeMap<String, String>,
    /// What is odd about a tool that can be used, by name: characters that nobody sees, a text that is cut for models.
    pub odd: BTreeMap<String, String>,
    /// What it tells models about its use.
    pub instructions: Option<String>,
    /// What is odd about its answers; those of `invalid` and `odd` among them.
    pub warnings: Vec<String>,
    /// Whether it offers resources.
    pub has_resources: bool,
    /// Whether it offers prompts.
    pub has_prompts: bool,
}

impl Catalogue {
    /// The catalogue of a list of tools, of the server with that name in the configuration.
    pub(super) fn new(server: &str, identity: McpIdentity, list: ToolList) -> Self {
        let ToolList {
            tools: offered,
            mut invalid,
            mut odd,
            mut warnings,
        } = list;
        let mut names = BTreeSet::new();
        let mut tools = Vec::new();
        for (name, definition) in offered {
            match exposed_name(server, &name) {
                Ok(exposed) if names.insert(exposed.clone()) => tools.push(definition),
                Ok(exposed) => {
                    odd.remove(&name);
                    invalid.insert(name, format!("another tool is already called `{exposed}`"));
                }
                Err(why) => {
                    odd.remove(&name);
                    invalid.insert(name, why);
                }
            }
        }
        let told = |(name, why): (&String, &String)| format!("`{name}`: {why}");
        let left_out = |(name, why): (&String, &String)| format!("`{name}` is left out: {why}");
        warnings.extend(invalid.iter().map(left_out));
        warnings.extend(odd.iter().map(told));
        Self {
            identity,
            tools,
            invalid,
            odd,
            instructions: None,
            warnings,
            has_resources: false,
            has_prompts: false,
        }
    }

    /// The definition of a tool that has this digest.
    pub(super) fn offers(&self, tool: &str, sha256: &str) -> Option<&McpToolDefinition> {
        let definition = self
            .tools
            .iter()
            .find(|definition| definition.name == tool)?;
        (definition_sha256(definition) == sha256).then_some(definition)
    }
}
