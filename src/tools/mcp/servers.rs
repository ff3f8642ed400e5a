//! All servers: each is connected when somebody asks for it, and let go when nobody does.
//!
//! No call reaches a server that offers something else than what is trusted.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use serde_json::{Map, Value};
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::config::mcp::McpServerSettings;
use crate::mcp::client::call::CallTimes;
use crate::mcp::client::caller::Caller;
use crate::mcp::client::request::RequestError;
use crate::mcp::client::result;
use crate::protocol::enums::McpServerState;
use crate::protocol::mcp::{McpPrompt, McpResource};
use crate::tools::mcp::call::{CallOutcome, CallRequest};
use crate::tools::mcp::catalogue::Catalogue;
use crate::tools::mcp::link::Use;
use crate::tools::mcp::server::Server;
use crate::tools::mcp::status::ServerStatus;
use crate::tools::mcp::surroundings::Surroundings;
use crate::tools::output::fit;
use crate::tools::tool::{EffectDisposition, ToolHost, ToolOutcome};

/// Changes that wait for a slow reader.
const CHANGES: usize = 256;

/// All servers. Clones share them.
#[derive(Clone)]
pub struct McpServers {
    inner: Arc<Inner>,
}

struct Inner {
    servers: Mutex<BTreeMap<String, Arc<Server>>>,
    surroundings: Surroundings,
    changes: broadcast::Sender<String>,
    tasks: TaskTracker,
}

impl McpServers {
    /// Servers by name. None of them is connected yet.
    pub fn new(servers: BTreeMap<String, McpServerSettings>, surroundings: Surroundings) -> Self {
        let all = Self {
            inner: Arc::new(Inner {
                servers: Mutex::default(),
                surroundings,
                changes: broadcast::channel(CHANGES).0,
                tasks: TaskTracker::new(),
            }),
        };
        all.configure(servers);
        all
    }

    /// Takes other settings: servers that are gone or changed are let go. Others stay as they are.
    pub fn configure(&self, servers: BTreeMap<String, McpServerSettings>) {
        let mut let_go = Vec::new();
        {
            let mut known = self.known();
            known.retain(|name, server| {
                let stays = servers.get(name) == Some(server.settings());
                if !stays {
                    let_go.push(Arc::clone(server));
                }
                stays
            });
            for (name, settings) in servers {
                known.entry(name).or_insert_with_key(|name| {
                    Arc::new(Server::new(
                        name,
                        settings,
                        self.inner.surroundings.clone(),
                        self.inner.changes.clone(),
                        self.inner.tasks.clone(),
                    ))
                });
            }
        }
        for server in let_go {
            server.let_go(McpServerState::Stopped);
        }
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Server>>> {
        let servers = self.inner.servers.lock();
        servers.unwrap_or_else(PoisonError::into_inner)
    }

    fn server(&self, name: &str) -> Result<Arc<Server>, String> {
        let server = self.known().get(name).cloned();
        server.ok_or_else(|| format!("there is no tool server `{name}`"))
    }

    async fn using(&self, name: &str) -> Result<(Arc<Server>, Use), String> {
        let server = self.server(name)?;
        let using = server.connect().await?;
        Ok((server, using))
    }

    /// How a server is; none = there is none of that name.
    pub fn status(&self, server: &str) -> Option<ServerStatus> {
        let server = self.server(server).ok()?;
        Some(server.status())
    }

    /// What a server offers; connects where it must. The error says why that is not known.
    pub async fn catalogue(&self, server: &str) -> Result<Catalogue, String> {
        let (server, using) = self.using(server).await?;
        let catalogue = server.catalogue(&using.0).await;
        let catalogue = catalogue.map_err(|error| failed(&server, &error))?;
        Ok(Catalogue::clone(&catalogue))
    }

    /// The next look at what a server offers asks the server, whatever is known of it.
    pub fn forget_list(&self, server: &str) {
        if let Ok(server) = self.server(server) {
            server.forget_list();
        }
    }

    /// Calls a tool, where the server still offers that definition and is the same server.
    pub async fn call(
        &self,
        server: &str,
        call: CallRequest,
        host: &dyn ToolHost,
        cancel: &CancellationToken,
    ) -> CallOutcome {
        let name = server;
        let server = match self.server(name) {
            Ok(server) => server,
            Err(why) => return CallOutcome::not_sent(why),
        };
        let output_schema = tokio::select! {
            ready = ready(&server, &call) => ready,
            () = cancel.cancelled() => Err("cancelled before it was sent".to_owned()),
        };
        let (using, output_schema) = match output_schema {
            Ok(ready) => ready,
            Err(why) => return CallOutcome::not_sent(why),
        };
        let times = CallTimes {
            idle: server.settings().idle_timeout,
            longest: server.settings().max_duration,
        };
        let caller = OfHost { server: name, host };
        let connection = using.connection();
        let calling = connection.call(&call.tool, call.arguments, times, &caller, cancel);
        match calling.await {
            Ok(result) => {
                server.is_sound();
                let read = result::read(&result, output_schema.as_ref());
                CallOutcome {
                    outcome: ToolOutcome {
                        content: cut(read.text, server.settings().max_result_bytes),
                        is_error: read.is_error,
                        disposition: EffectDisposition::Done,
                        partial: false,
                    },
                    structured: read.structured,
                }
            }
            Err(error) => {
                let why = failed(&server, &error);
                match error {
                    RequestError::NotDone(_) => CallOutcome::not_sent(why),
                    RequestError::NeedsLogin(_) => {
                        server.needs_login();
                        CallOutcome::not_sent(why)
                    }
                    RequestError::Unknown(_) => {
                        CallOutcome::failed(why, EffectDisposition::Unknown)
                    }
                }
            }
        }
    }

    /// The resources that a server offers. The error says why they are not known.
    pub async fn resources(&self, server: &str) -> Result<Vec<McpResource>, String> {
        let (server, using) = self.using(server).await?;
        let resources = using.connection().resources().await;
        resources.map_err(|error| failed(&server, &error))
    }

    /// The text of a resource, at most 1 MiB. The error says why there is none.
    pub async fn read_resource(&self, server: &str, uri: &str) -> Result<String, String> {
        let (server, using) = self.using(server).await?;
        let text = using.connection().read_resource(uri).await;
        text.map(fit).map_err(|error| failed(&server, &error))
    }

    /// The prompts that a server offers. The error says why they are not known.
    pub async fn prompts(&self, server: &str) -> Result<Vec<McpPrompt>, String> {
        let (server, using) = self.using(server).await?;
        let prompts = using.connection().prompts().await;
        prompts.map_err(|error| failed(&server, &error))
    }

    /// The text of a prompt with its arguments, at most 1 MiB. The error says why there is none.
    pub async fn prompt(
        &self,
        server: &str,
        name: &str,
        arguments: Map<String, Value>,
    ) -> Result<String, String> {
        let (server, using) = self.using(server).await?;
        let text = using.connection().prompt(name, arguments).await;
        text.map(fit).map_err(|error| failed(&server, &error))
    }

    /// Lets a server go, and keeps it so until [`Self::start`].
    pub fn stop(&self, server: &str) {
        if let Ok(server) = self.server(server) {
            server.let_go(McpServerState::Stopped);
        }
    }

    /// Connects a server anew, in the background.
    pub fn start(&self, server: &str) {
        let Ok(server) = self.server(server) else {
            return;
        };
        server.let_go(McpServerState::Idle);
        self.inner.tasks.spawn(async move {
            // How it went is in its status.
            let _ = server.connect().await;
        });
    }

    /// Names of servers whose state or list changed, from now on.
    pub fn changes(&self) -> broadcast::Receiver<String> {
        self.inner.changes.subscribe()
    }

    /// Lets all servers go, and waits until nothing of them runs.
    pub async fn shut_down(&self) {
        let servers: Vec<Arc<Server>> = self.known().values().cloned().collect();
        for server in servers {
            server.let_go(McpServerState::Stopped);
        }
        self.inner.tasks.close();
        self.inner.tasks.wait().await;
    }
}

/// The connection for a call and the schema of its results, where what is trusted is still what is offered.
async fn ready(server: &Arc<Server>, call: &CallRequest) -> Result<(Use, Option<Value>), String> {
    let using = server.connect().await?;
    let catalogue = server.catalogue(&using.0).await;
    let catalogue = catalogue.map_err(|error| failed(server, &error))?;
    let (now, then) = (&catalogue.identity, &call.identity);
    if now.name != then.name || now.place != then.place {
        server.tell();
        return Err(format!(
            "not sent: the server is another one than an operator trusts (it calls itself `{}`); an operator has to look at it",
            crate::mcp::client::visible(&now.name)
        ));
    }
    match catalogue.offers(&call.tool, &call.definition_sha256) {
        Some(definition) => Ok((using, definition.output_schema.clone())),
        None => {
            server.tell();
            Err(format!(
                "not sent: the server does not offer `{}` any more as an operator trusts it; an operator has to look at the change",
                call.tool
            ))
        }
    }
}

fn failed(server: &Server, error: &RequestError) -> String {
    server.said(&error.to_string())
}

/// A result cut to so many bytes, with a note.
fn cut(text: String, most: usize) -> String {
    if text.len() <= most {
        return fit(text);
    }
    let kept = text.floor_char_boundary(most);
    fit(format!(
        "{}\n[… {} bytes left out: the server sent more than max_result_kib …]",
        &text[..kept],
        text.len() - kept
    ))
}

/// Whom a call speaks to, and in whose name.
struct OfHost<'a> {
    server: &'a str,
    host: &'a dyn ToolHost,
}

#[async_trait]
impl Caller for OfHost<'_> {
    fn progress(&self, text: &str) {
        self.host.progress(text);
    }

    fn omitted(&self) {
        self.host.omitted();
    }

    async fn ask(&self, question: &str, choices: &[String]) -> Result<String, String> {
        let asked_by = format!("the tool server {}", self.server);
        self.host.ask(&asked_by, question, choices).await
    }
}
