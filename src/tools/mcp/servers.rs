//! All servers: each is connected when somebody asks for it, and let go when nobody does.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Map, Value};
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;

use crate::clock::{Clock, Timestamp};
use crate::config::mcp::{McpPlace, McpServerSettings};
use crate::protocol::enums::{McpEra, McpServerState};
use crate::protocol::mcp::{McpIdentity, McpPrompt, McpResource, McpToolDefinition};
use crate::text::quote::quote;
use crate::text::redact::Redactor;
use crate::tools::sandbox::Sandbox;
use crate::tools::tool::{EffectDisposition, ToolHost, ToolOutcome};

/// Changes that wait for a slow reader.
const CHANGES: usize = 256;

/// What servers run in.
#[derive(Clone)]
pub struct Surroundings {
    /// How programs are confined.
    pub sandbox: Sandbox,
    /// The directory of data: a program without a directory of its own gets one below it.
    pub data_dir: PathBuf,
    /// Directories that no program sees: data, configuration, sockets. Absolute, canonical.
    pub hidden: Vec<PathBuf>,
    /// Takes secrets out of what servers log.
    pub redactor: Redactor,
    /// For the time of a connection.
    pub clock: Clock,
}

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

/// How a server is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerStatus {
    /// What it does now.
    pub state: McpServerState,
    /// Why it failed, or what it waits for; none = nothing.
    pub problem: Option<String>,
    /// Which generation of the protocol it speaks; none = it was never connected.
    pub era: Option<McpEra>,
    /// Version of the protocol; none = it was never connected.
    pub protocol_version: Option<String>,
    /// Who it says it is; none = it was never connected.
    pub identity: Option<McpIdentity>,
    /// When it was connected; none = it is not.
    pub connected_at: Option<Timestamp>,
    /// How often it was connected again.
    pub restarts: u64,
    /// Process id above its program; none = none runs.
    pub pid: Option<u32>,
    /// The newest lines of its log, the oldest first; at most 200. Without secrets, and revealed.
    pub log: Vec<String>,
    /// Where its program runs: the level of the sandbox, or `unsandboxed`; none = it is no program.
    pub sandbox: Option<String>,
}

/// One call.
#[derive(Debug, Clone)]
pub struct CallRequest {
    /// Name of the tool on the server.
    pub tool: String,
    /// Digest of the definition that is trusted: another one gets no call.
    pub definition_sha256: String,
    /// The server that is trusted: another one gets no call. Its version does not matter.
    pub identity: McpIdentity,
    /// The arguments.
    pub arguments: Map<String, Value>,
}

/// How a call ended.
#[derive(Debug, Clone)]
pub struct CallOutcome {
    /// What the model reads, and what is known of the effect.
    pub outcome: ToolOutcome,
    /// The structured result, where it fits the schema that the tool declares.
    pub structured: Option<Value>,
}

/// All servers. Clones share them.
#[derive(Clone)]
pub struct McpServers {
    inner: Arc<Inner>,
}

struct Inner {
    servers: Mutex<BTreeMap<String, McpServerSettings>>,
    stopped: Mutex<BTreeSet<String>>,
    surroundings: Surroundings,
    changes: broadcast::Sender<String>,
}

impl McpServers {
    /// Servers by name. None of them is connected yet.
    pub fn new(servers: BTreeMap<String, McpServerSettings>, surroundings: Surroundings) -> Self {
        Self {
            inner: Arc::new(Inner {
                servers: Mutex::new(servers),
                stopped: Mutex::default(),
                surroundings,
                changes: broadcast::channel(CHANGES).0,
            }),
        }
    }

    /// Takes other settings: servers that are gone or changed are let go. Others stay as they are.
    pub fn configure(&self, servers: BTreeMap<String, McpServerSettings>) {
        *self
            .inner
            .servers
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = servers;
    }

    /// How a server is; none = there is none of that name.
    pub fn status(&self, server: &str) -> Option<ServerStatus> {
        let settings = self.settings(server)?;
        let stopped = self
            .inner
            .stopped
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        Some(ServerStatus {
            state: if stopped.contains(server) {
                McpServerState::Stopped
            } else {
                McpServerState::Idle
            },
            problem: None,
            era: None,
            protocol_version: None,
            identity: None,
            connected_at: None,
            restarts: 0,
            pid: None,
            log: Vec::new(),
            sandbox: match &settings.place {
                McpPlace::Program(program) if program.sandbox => {
                    Some(self.inner.surroundings.sandbox.level_word_so_far())
                }
                McpPlace::Program(_) => Some("unsandboxed".to_owned()),
                McpPlace::Address(_) => None,
            },
        })
    }

    fn settings(&self, server: &str) -> Option<McpServerSettings> {
        let servers = self
            .inner
            .servers
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        servers.get(server).cloned()
    }

    /// What a server offers; connects where it must. The error says why that is not known.
    pub async fn catalogue(&self, server: &str) -> Result<Catalogue, String> {
        Err(self.not_connected(server))
    }

    /// Calls a tool, where the server still offers that definition and is the same server.
    pub async fn call(
        &self,
        server: &str,
        _call: CallRequest,
        _host: &dyn ToolHost,
        _cancel: &CancellationToken,
    ) -> CallOutcome {
        CallOutcome {
            outcome: ToolOutcome {
                content: self.not_connected(server),
                is_error: true,
                disposition: EffectDisposition::ConfirmedNoEffect,
                partial: false,
            },
            structured: None,
        }
    }

    fn not_connected(&self, server: &str) -> String {
        match self.settings(server) {
            Some(_) => format!("the server `{server}` is not connected"),
            None => format!("there is no server `{server}`"),
        }
    }

    /// The resources that a server offers. The error says why they are not known.
    pub async fn resources(&self, server: &str) -> Result<Vec<McpResource>, String> {
        Err(self.not_connected(server))
    }

    /// The text of a resource. The error says why there is none.
    pub async fn read_resource(&self, server: &str, _uri: &str) -> Result<String, String> {
        Err(self.not_connected(server))
    }

    /// The prompts that a server offers. The error says why they are not known.
    pub async fn prompts(&self, server: &str) -> Result<Vec<McpPrompt>, String> {
        Err(self.not_connected(server))
    }

    /// The text of a prompt with its arguments. The error says why there is none.
    pub async fn prompt(
        &self,
        server: &str,
        _name: &str,
        _arguments: Map<String, Value>,
    ) -> Result<String, String> {
        Err(self.not_connected(server))
    }

    /// Lets a server go, and keeps it so until [`Self::start`].
    pub fn stop(&self, server: &str) {
        let mut stopped = self
            .inner
            .stopped
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        stopped.insert(server.to_owned());
        // Nobody may be listening.
        let _ = self.inner.changes.send(server.to_owned());
    }

    /// Connects a server anew, in the background.
    pub fn start(&self, server: &str) {
        let mut stopped = self
            .inner
            .stopped
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        stopped.remove(server);
        // Nobody may be listening.
        let _ = self.inner.changes.send(server.to_owned());
    }

    /// Names of servers whose state or list changed, from now on.
    pub fn changes(&self) -> broadcast::Receiver<String> {
        self.inner.changes.subscribe()
    }

    /// Lets all servers go, and waits until nothing of them runs.
    pub async fn shut_down(&self) {}
}

/// Where a server is, in words: its program with the arguments, or its address. Holds no secret.
pub fn place(settings: &McpServerSettings) -> String {
    match &settings.place {
        McpPlace::Program(program) => {
            let words: Vec<_> = program.command.iter().map(|word| quote(word)).collect();
            words.join(" ")
        }
        McpPlace::Address(address) => address.url.clone(),
    }
}

/// The place that a pin holds: with working directory and names of variables, or origin and path.
pub fn identity_place(settings: &McpServerSettings) -> String {
    match &settings.place {
        McpPlace::Program(program) => {
            let mut place = place(settings);
            if let Some(directory) = &program.directory {
                place.push_str(&format!(" in {}", directory.display()));
            }
            if !program.environment.is_empty() {
                let names: Vec<&str> = program.environment.keys().map(String::as_str).collect();
                place.push_str(&format!(" with {}", names.join(", ")));
            }
            place
        }
        McpPlace::Address(address) => {
            let url = address.url.as_str();
            url.split(['?', '#']).next().unwrap_or(url).to_owned()
        }
    }
}
