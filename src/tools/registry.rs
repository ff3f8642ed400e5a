//! The registry: which tools there are, in one fixed order, with their schemas compiled once.
//!
//! No schema is ever fetched: a reference out of a schema is an error when the tool is added.

use std::collections::HashMap;
use std::sync::Arc;

use jsonschema::Validator;
use serde_json::Value;

use crate::config::settings::Settings;
use crate::protocol::enums::{Access, Effect};
use crate::protocol::mcp::MCP_PREFIX;
use crate::tools::apply_patch::apply_patch;
use crate::tools::ask_operator::AskOperator;
use crate::tools::bash::{Bash, SHELLS};
use crate::tools::canonical;
use crate::tools::datasets::DatasetTool;
use crate::tools::edit_file::edit_file;
use crate::tools::execute_command::ExecuteCommand;
use crate::tools::http_fetch::HttpFetch;
use crate::tools::http_tool::HttpTool;
use crate::tools::list_files::ListFiles;
use crate::tools::load_skill::load_skill;
use crate::tools::memory::{Remember, recall};
use crate::tools::move_file::{delete_file, move_file};
use crate::tools::python::executable;
use crate::tools::python::load_dataset::LoadDataset;
use crate::tools::python::tool::Python;
use crate::tools::read_file::ReadFile;
use crate::tools::sandbox::Sandbox;
use crate::tools::search_files::SearchFiles;
use crate::tools::send_file::SendFile;
use crate::tools::tool::{DependsOn, Tool, ToolSpec, reads};
use crate::tools::write_file::WriteFile;

/// Violations named in one message.
const MAX_NAMED: usize = 5;
/// Longest text of one violation, in bytes.
const MAX_VIOLATION: usize = 300;

/// A tool that cannot be added.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RegistryError {
    /// The name is taken.
    #[error("there are two tools called `{0}`")]
    Duplicate(String),
    /// Its schema is not a usable JSON Schema.
    #[error("the schema of the tool `{tool}` cannot be used: {problem}")]
    Schema {
        /// The tool.
        tool: String,
        /// What is wrong.
        problem: String,
    },
    /// It lets its results be given again though its calls do more than read.
    #[error(
        "the tool `{tool}` declares its results cacheable, but a call of it may do more than read ({access}, {effect})"
    )]
    Cacheable {
        /// The tool.
        tool: String,
        /// What it touches.
        access: Access,
        /// Its recovery class.
        effect: Effect,
    },
}

/// A call that cannot be carried out. The model reads the message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// No tool of that name.
    #[error("there is no tool `{name}`{} Tools: {}", nearest.as_ref().map_or_else(|| ".".to_owned(), |near| format!("; did you mean `{near}`?")), tools.join(", "))]
    UnknownTool {
        /// The name given, shortened.
        name: String,
        /// The most similar name, if one is similar.
        nearest: Option<String>,
        /// Names of the tools that are of no server.
        tools: Vec<String>,
    },
    /// The arguments do not fit the schema.
    #[error("the arguments of `{tool}` do not fit its schema: {}", violations.join("; "))]
    Arguments {
        /// The tool.
        tool: String,
        /// Where and what, one violation an entry.
        violations: Vec<String>,
    },
}

/// What the model is told about a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Definition {
    /// Name.
    pub name: String,
    /// When to use it.
    pub description: String,
    /// JSON Schema of its arguments.
    pub input_schema: Value,
}

#[derive(Clone)]
struct Entry {
    tool: Arc<dyn Tool>,
    validator: Arc<Validator>,
    digest: String,
}

/// Names of the built-in tools in the registry's order, for checking lists before anything is built.
pub const BUILTIN_NAMES: &[&str] = &[
    "read_file",
    "write_file",
    "edit_file",
    "apply_patch",
    "move_file",
    "delete_file",
    "list_files",
    "search_files",
    "execute_command",
    "remember",
    "recall",
    "send_file",
    "ask_operator",
    "list_datasets",
    "describe_dataset",
    "query_dataset",
];

/// Makes a tool of a name that nobody added; none = the name is of no such tool.
pub type ToolFamily = fn(&str) -> Option<Arc<dyn Tool>>;

/// All tools, built-in first, in the order in which they were added. It never changes once it is in use: another one
/// takes its place.
#[derive(Clone, Default)]
pub struct Registry {
    entries: Vec<Entry>,
    /// Where each is among them.
    places: HashMap<String, usize>,
    /// Tools of names that nobody can list. No model is told of them.
    family: Option<ToolFamily>,
}

impl Registry {
    /// The built-in tools; programs run at the sandbox level given.
    pub fn builtin(sandbox: &Sandbox) -> Result<Self, RegistryError> {
        let mut registry = Self::default();
        registry.add(Arc::new(ReadFile::default()))?;
        registry.add(Arc::new(WriteFile::default()))?;
        registry.add(Arc::new(edit_file()))?;
        registry.add(Arc::new(apply_patch()))?;
        registry.add(Arc::new(move_file()))?;
        registry.add(Arc::new(delete_file()))?;
        registry.add(Arc::new(ListFiles::default()))?;
        registry.add(Arc::new(SearchFiles::default()))?;
        registry.add(Arc::new(ExecuteCommand::new(sandbox.clone())))?;
        registry.add(Arc::new(Remember::default()))?;
        registry.add(Arc::new(recall()))?;
        registry.add(Arc::new(SendFile::default()))?;
        registry.add(Arc::new(AskOperator::default()))?;
        for tool in DatasetTool::all() {
            registry.add(Arc::new(tool))?;
        }
        Ok(registry)
    }

    /// Adds what the configuration asks for; programs run at the sandbox level given. A Python that cannot be used is left
    /// out: the doctor says why. Blocks while it is looked at.
    pub fn add_configured(
        &mut self,
        settings: &Settings,
        sandbox: &Sandbox,
    ) -> Result<(), RegistryError> {
        if !settings.skills.folders.is_empty() {
            self.add(Arc::new(load_skill()))?;
        }
        if let Some(python) = &settings.python {
            match executable::find(python) {
                Ok(found) => {
                    let directories = settings.dataset_directories();
                    let python = Python::new(sandbox.clone(), found, python, directories);
                    let python = Arc::new(python);
                    self.add(Arc::clone(&python) as Arc<dyn Tool>)?;
                    self.add(Arc::new(LoadDataset::new(python)))?;
                }
                Err(why) => {
                    tracing::warn!(%why, "there is no tool `python`: cannot use any Python");
                }
            }
        }
        if let Some(fetch) = &settings.fetch {
            self.add(Arc::new(HttpFetch::new(fetch.clone())))?;
        }
        if let Some(bash) = settings.bash {
            let directory = settings.paths.data_dir.join(SHELLS);
            self.add(Arc::new(Bash::new(sandbox.clone(), bash, directory)))?;
        }
        for (name, tool) in &settings.http_tools {
            self.add(Arc::new(HttpTool::new(name, tool.clone())))?;
        }
        Ok(())
    }

    /// Adds a tool after the others.
    pub fn add(&mut self, tool: Arc<dyn Tool>) -> Result<(), RegistryError> {
        self.add_known(tool, None)
    }

    /// The same with the schema as it was compiled for another registry, where the tool declares the same there.
    pub fn add_known(
        &mut self,
        tool: Arc<dyn Tool>,
        former: Option<&Self>,
    ) -> Result<(), RegistryError> {
        let spec = tool.spec();
        if self.entry(&spec.name).is_some() {
            return Err(RegistryError::Duplicate(spec.name.to_string()));
        }
        // Of a tool that reaches elsewhere the engine looks at each call.
        let of_workspace = spec
            .cacheable
            .is_some_and(|cacheable| cacheable.depends_on == DependsOn::Workspace);
        if of_workspace && !(reads(spec.access) && spec.effect == Effect::ReadOnly) {
            return Err(RegistryError::Cacheable {
                tool: spec.name.to_string(),
                access: spec.access,
                effect: spec.effect,
            });
        }
        let name = spec.name.to_string();
        let digest = canonical::definition_digest(spec);
        let known = former.and_then(|former| former.entry(&name));
        let validator = match known.filter(|known| known.digest == digest) {
            Some(known) => Arc::clone(&known.validator),
            None => {
                let compiled = jsonschema::validator_for(&spec.input_schema);
                Arc::new(compiled.map_err(|error| RegistryError::Schema {
                    tool: name.clone(),
                    problem: error.to_string(),
                })?)
            }
        };
        self.places.insert(name, self.entries.len());
        self.entries.push(Entry {
            tool,
            validator,
            digest,
        });
        Ok(())
    }

    /// Adds the tools of names that nobody can list.
    pub fn add_family(&mut self, family: ToolFamily) {
        self.family = Some(family);
    }

    fn entry(&self, name: &str) -> Option<&Entry> {
        self.places.get(name).and_then(|at| self.entries.get(*at))
    }

    fn of_family(&self, name: &str) -> Option<Arc<dyn Tool>> {
        self.family.and_then(|family| family(name))
    }

    /// A tool by its exact name.
    pub fn get(&self, name: &str) -> Option<Arc<dyn Tool>> {
        match self.entry(name) {
            Some(entry) => Some(Arc::clone(&entry.tool)),
            None => self.of_family(name),
        }
    }

    /// A tool by its exact name; the error names the nearest one and others.
    pub fn lookup(&self, name: &str) -> Result<Arc<dyn Tool>, CallError> {
        self.get(name).ok_or_else(|| self.unknown(name))
    }

    /// Names in order.
    pub fn names(&self) -> impl Iterator<Item = &str> + '_ {
        self.specs().map(|spec| spec.name.as_ref())
    }

    /// Tools in order.
    pub fn all(&self) -> impl Iterator<Item = &Arc<dyn Tool>> + '_ {
        self.entries.iter().map(|entry| &entry.tool)
    }

    /// Specs in order.
    pub fn specs(&self) -> impl Iterator<Item = &ToolSpec> + '_ {
        self.all().map(|tool| tool.spec())
    }

    /// What the model is told, in order; the same bytes every time.
    pub fn definitions(&self) -> Vec<Definition> {
        self.specs()
            .map(|spec| Definition {
                name: spec.name.to_string(),
                description: spec.description.to_string(),
                input_schema: spec.input_schema.clone(),
            })
            .collect()
    }

    /// Lower-case hex SHA-256 of a tool's definition; approvals are bound to it.
    pub fn definition_digest(&self, name: &str) -> Option<String> {
        match self.entry(name) {
            Some(entry) => Some(entry.digest.clone()),
            None => (self.of_family(name)).map(|tool| canonical::definition_digest(tool.spec())),
        }
    }

    /// Checks arguments against a tool's schema.
    pub fn validate(&self, name: &str, args: &Value) -> Result<(), CallError> {
        let Some(entry) = self.entry(name) else {
            // These take whatever their programs take: an object, which every call has.
            return match self.of_family(name) {
                Some(_) => Ok(()),
                None => Err(self.unknown(name)),
            };
        };
        let mut violations: Vec<String> = Vec::new();
        for error in entry.validator.iter_errors(args) {
            if violations.len() == MAX_NAMED {
                violations.push("and more".to_owned());
                break;
            }
            let path = error.instance_path().to_string();
            let place = if path.is_empty() {
                "arguments".to_owned()
            } else {
                path
            };
            // The violation without the value itself, which can be long and is known to the model.
            let text = format!("{place}: {}", error.masked());
            let kept = crate::tools::output::first(&text, MAX_VIOLATION);
            violations.push(kept.to_owned());
        }
        if violations.is_empty() {
            Ok(())
        } else {
            Err(CallError::Arguments {
                tool: name.to_owned(),
                violations,
            })
        }
    }

    fn unknown(&self, name: &str) -> CallError {
        let name: String = name.chars().take(64).collect();
        let nearest = self
            .names()
            .map(|known| (strsim::jaro_winkler(known, &name), known))
            .max_by(|left, right| left.0.total_cmp(&right.0))
            .filter(|(similarity, _)| *similarity > 0.75)
            .map(|(_, known)| known.to_owned());
        // Those of servers are many, and found otherwise.
        let own = self.names().filter(|known| !known.starts_with(MCP_PREFIX));
        CallError::UnknownTool {
            name,
            nearest,
            tools: own.map(str::to_owned).collect(),
        }
    }
}
