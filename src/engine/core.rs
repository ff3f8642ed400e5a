//! The engine's parts, and the few things that all of them share.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, PoisonError, RwLock};

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::agents;
use crate::agents::run_tool::RunAgent;
use crate::clock::{Clock, Timestamp};
use crate::config::paths::hidden_from_tools;
use crate::config::settings::{ChannelSettings, Settings};
use crate::engine::backups::state::Backups;
use crate::engine::context::prefix::Prefix;
use crate::engine::dataset_uploads::Datasets;
use crate::engine::delivery::Delivery;
use crate::engine::embeddings::state::Embeddings;
use crate::engine::emergency::{ActiveStop, Emergency};
use crate::engine::gate_callers::GateCallers;
use crate::engine::hooks::Hooks;
use crate::engine::hygiene::state::Hygiene;
use crate::engine::known_tokens::Tokens;
use crate::engine::listener::Listener;
use crate::engine::log_lines::LogLines;
use crate::engine::maintenance::Maintenance;
use crate::engine::mcp::state::ToolServers;
use crate::engine::open_calls::OpenCalls;
use crate::engine::response_cache::state::Caching;
use crate::engine::scheduler::Scheduler;
use crate::engine::sessions::Sessions;
use crate::engine::skills::state::Skills;
use crate::engine::telemetry::Telemetry;
use crate::engine::tool_cache::state::ToolCache;
use crate::engine::turn::input::Halt;
use crate::model::registry::Models;
use crate::model::request::ToolDefinition;
use crate::protocol::approval::Approval;
use crate::protocol::chat::is_of_client;
use crate::protocol::event::{Event, EventBody};
use crate::protocol::ids::{ApprovalId, ContinuationId, SessionId};
use crate::protocol::problem::Problem;
use crate::protocol::session::Session;
use crate::store::Store;
use crate::store::command::WriteCommand;
use crate::store::error::StoreError;
use crate::store::input::ChannelFloods;
use crate::store::queries::turn::TurnRows;
use crate::store::reader::Reader;
use crate::text::redact::Redactor;
use crate::tools::mcp::{McpServers, Surroundings};
use crate::tools::registry::{Registry, RegistryError};
use crate::tools::sandbox::Sandbox;
use crate::tools::service::Services;
use crate::tools::tool::Tool;

/// What the engine is made of.
pub struct Parts {
    pub store: Store,
    pub settings: Settings,
    pub models: Models,
    pub tools: Registry,
    /// How programs are confined.
    pub sandbox: Sandbox,
    pub clock: Clock,
    /// Secrets that must never be stored or shown.
    pub redactor: Redactor,
    /// The newest lines of the log.
    pub log: LogLines,
}

/// The engine. Cheap to clone; all clones are one engine.
///
/// A clone goes by the configuration that was in use when it was made, so that one piece of work sees one
/// configuration. Whatever lives longer than that asks for [`Engine::current`] at each piece.
#[derive(Clone)]
pub struct Engine {
    shared: Arc<Shared>,
    pub settings: Arc<Settings>,
    pub models: Arc<Models>,
    /// What every request of a channel begins with: built once, so that it stays the same.
    prefixes: Arc<HashMap<String, Arc<Prefix>>>,
    /// What pauses conversations.
    pub floods: ChannelFloods,
}

/// What a reload of the configuration replaces.
#[derive(Clone)]
struct Configuration {
    settings: Arc<Settings>,
    models: Arc<Models>,
    prefixes: Arc<HashMap<String, Arc<Prefix>>>,
    floods: ChannelFloods,
}

/// What every clone shares: plain dependencies, and owners of the state that changes. An owner lets nobody at its locks.
pub struct Shared {
    pub store: Store,
    configuration: RwLock<Configuration>,
    /// Tools that are of no server.
    own_tools: Arc<Registry>,
    tools: RwLock<Arc<Registry>>,
    /// How programs are confined.
    pub sandbox: Sandbox,
    /// Starts programs that serve for long.
    pub services: Services,
    pub clock: Clock,
    /// Secrets.
    pub redactor: Redactor,
    /// The newest lines of the log.
    pub log: LogLines,
    /// When this process started.
    pub started_at: Timestamp,
    /// Fires when the process stops.
    pub shutdown: CancellationToken,
    /// Everything that must end before the store closes.
    pub tasks: TaskTracker,
    /// What is called around turns.
    pub hooks: Hooks,
    pub sessions: Sessions,
    /// Model calls under way.
    pub open_calls: OpenCalls,
    pub delivery: Delivery,
    /// Emergency stop; asked before every model call, tool start and send.
    pub emergency: Emergency,
    /// What is due.
    pub scheduler: Scheduler,
    /// Work that only one may do.
    pub maintenance: Maintenance,
    /// Tables that people send.
    pub datasets: Datasets,
    pub response_cache: Caching,
    /// Kept results of tools.
    pub tool_cache: ToolCache,
    /// Backups that are made by themselves.
    pub backups: Backups,
    /// Hygiene of the memory.
    pub hygiene: Hygiene,
    /// Searches by meaning.
    pub embeddings: Embeddings,
    /// Instructions and skills that prompts hold.
    pub skills: Skills,
    pub servers: ToolServers,
    /// External agents that wait for an answer.
    pub gate: GateCallers,
    /// Named tokens.
    pub tokens: Tokens,
    /// What the TCP listener told of itself.
    pub listener: Listener,
    /// What the exporter of traces and logs told of itself.
    pub telemetry: Telemetry,
}

impl std::ops::Deref for Engine {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.shared
    }
}

impl Engine {
    /// An engine that does nothing yet; `start::begin` starts what is pending.
    pub fn new(mut parts: Parts, held: Option<ActiveStop>) -> Self {
        parts.tools.add_family(agents::tool);
        let runs = RunAgent::new(parts.settings.paths.data_dir.clone());
        if let Err(error) = parts.tools.add(Arc::new(runs)) {
            tracing::error!(%error, "cannot start external agents");
        }
        let started_at = parts.clock.now();
        let workspaces = parts.settings.channels.values();
        let hooks = Hooks::new(
            &parts.settings.hooks,
            workspaces
                .map(|channel| channel.workspace.clone())
                .collect(),
            parts.clock.clone(),
            parts.redactor.clone(),
        );
        let (sessions, response_cache, tool_cache) = (
            Sessions::new(parts.settings.engine.max_running),
            Caching::new(&parts.settings),
            ToolCache::new(&parts.settings),
        );
        let services = Services {
            sandbox: parts.sandbox.clone(),
            data_dir: parts.settings.paths.data_dir.clone(),
            // Such a program has no workspace.
            hidden: hidden_from_tools(&parts.settings.paths, Path::new("/"))
                .into_iter()
                .map(|path| path.canonicalize().unwrap_or(path))
                .collect(),
        };
        let servers = ToolServers::new(McpServers::new(
            parts.settings.mcp.clone(),
            Surroundings {
                services: services.clone(),
                redactor: parts.redactor.clone(),
                clock: parts.clock.clone(),
            },
        ));
        let own_tools = Arc::new(parts.tools);
        let configuration = Configuration::new(parts.settings, parts.models, &own_tools);
        Self::of(
            configuration.clone(),
            Arc::new(Shared {
                sessions,
                open_calls: OpenCalls::default(),
                delivery: Delivery::default(),
                emergency: Emergency::new(held),
                scheduler: Scheduler::default(),
                maintenance: Maintenance::default(),
                datasets: Datasets::default(),
                response_cache,
                tool_cache,
                backups: Backups::default(),
                hygiene: Hygiene::default(),
                embeddings: Embeddings::default(),
                skills: Skills::default(),
                servers,
                gate: GateCallers::default(),
                tokens: Tokens::default(),
                listener: Listener::default(),
                telemetry: Telemetry::default(),
                hooks,
                store: parts.store,
                configuration: RwLock::new(configuration),
                tools: RwLock::new(Arc::clone(&own_tools)),
                own_tools,
                services,
                sandbox: parts.sandbox,
                clock: parts.clock,
                redactor: parts.redactor,
                log: parts.log,
                started_at,
                shutdown: CancellationToken::new(),
                tasks: TaskTracker::new(),
            }),
        )
    }

    fn of(configuration: Configuration, shared: Arc<Shared>) -> Self {
        let Configuration {
            settings,
            models,
            prefixes,
            floods,
        } = configuration;
        Self {
            shared,
            settings,
            models,
            prefixes,
            floods,
        }
    }

    /// The same engine with the configuration of now.
    pub fn current(&self) -> Self {
        let configuration = self.shared.configuration.read();
        let configuration = configuration.unwrap_or_else(PoisonError::into_inner);
        Self::of(configuration.clone(), Arc::clone(&self.shared))
    }

    /// Goes by another configuration from now on. Turns under way end under the one that they began with.
    pub fn configure(&self, settings: Settings, models: Models) {
        let next = Configuration::new(settings, models, &self.own_tools);
        let configuration = self.shared.configuration.write();
        *configuration.unwrap_or_else(PoisonError::into_inner) = next;
    }

    /// The tools there are now.
    pub fn tools(&self) -> Arc<Registry> {
        Arc::clone(
            &self
                .shared
                .tools
                .read()
                .unwrap_or_else(PoisonError::into_inner),
        )
    }

    /// Those of servers are these from now on, beside those of the program and the configuration. Some that cannot be
    /// added are left out: names and why.
    pub fn set_server_tools(&self, tools: Vec<Arc<dyn Tool>>) -> Vec<RegistryError> {
        let mut next = Registry::clone(&self.own_tools);
        let mut wrong = Vec::new();
        let former = self.tools();
        for tool in tools {
            wrong.extend(next.add_known(tool, Some(&former)).err());
        }
        *self
            .shared
            .tools
            .write()
            .unwrap_or_else(PoisonError::into_inner) = Arc::new(next);
        wrong
    }

    /// Writes to the store. Whoever looks at its error uses [`Store::write`].
    pub async fn write<C: WriteCommand>(&self, command: C) -> Result<C::Output, Problem> {
        Ok(self.store.write(command).await?)
    }

    /// Reads off the async threads.
    pub async fn read<T: Send + 'static>(
        &self,
        query: impl FnOnce(&Reader<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, Problem> {
        Ok(self.store.read(query).await?)
    }

    /// Reads here: one row, or few.
    pub async fn read_here<T>(
        &self,
        query: impl FnOnce(&Reader<'_>) -> Result<T, StoreError>,
    ) -> Result<T, Problem> {
        Ok(self.store.read_here(query).await?)
    }

    pub async fn session(&self, id: SessionId) -> Result<Session, Problem> {
        self.read_here(move |reader| reader.session(id)).await
    }

    pub async fn approval(&self, id: ApprovalId) -> Result<Approval, Problem> {
        self.read_here(move |reader| reader.approval(id)).await
    }

    /// What is stored of a turn.
    pub async fn turn_rows(&self, id: ContinuationId) -> Result<TurnRows, Problem> {
        self.read(move |reader| reader.turn(id)).await
    }

    /// Whether an emergency stop is in force.
    pub fn is_held(&self) -> bool {
        self.emergency.is_held()
    }

    pub fn channel(&self, name: &str) -> Result<&ChannelSettings, Problem> {
        self.settings.channels.get(name).ok_or_else(|| {
            let known: Vec<&str> = self.settings.channels.keys().map(String::as_str).collect();
            Problem::not_found("channel", name)
                .hint(format!("configured channels: {}", known.join(", ")))
        })
    }

    /// What every request of a channel begins with, with the instructions and skills that are trusted now.
    pub fn prefix(&self, channel: &str) -> Result<Arc<Prefix>, Problem> {
        let settings = self.channel(channel)?;
        let prefix = self.prefixes.get(channel);
        let prefix = prefix
            .ok_or_else(|| Problem::internal(format!("channel `{channel}` has no prefix")))?;
        Ok(self.skills.extend(channel, settings, prefix))
    }

    /// Whether untrusted content makes calls of a channel ask in `full` too.
    pub fn has_taint_guard(&self, channel: &str) -> bool {
        let settings = self.settings.channels.get(channel);
        settings.is_none_or(|settings| settings.taint_guard_in_full)
    }

    /// Whether what is said in a conversation leaves through a bridge.
    pub fn delivers(&self, channel: &str, conversation: &str) -> bool {
        self.has_bridge(channel) && !is_of_client(conversation)
    }

    /// Whether replies on a channel go through a bridge (and so through the outbox).
    pub fn has_bridge(&self, channel: &str) -> bool {
        self.settings
            .channels
            .get(channel)
            .is_some_and(|settings| settings.kind.has_bridge())
    }

    /// Whether turns may be taken up.
    pub fn may_begin(&self) -> bool {
        !self.is_held() && !self.shutdown.is_cancelled() && self.sessions.draining().is_none()
    }

    /// Makes sure that what is pending in a session gets run. Returns at once.
    pub fn wake(&self, session: SessionId) {
        if self.may_begin() {
            self.sessions.wake(session);
            self.scheduler.turn_came();
        }
    }

    /// Runs a task beside everything else; a stop waits for its end. All of them are of one type, because each further
    /// one takes a few kilobytes of the binary.
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let task: Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(task);
        self.tasks.spawn(task);
    }

    /// Tells whoever listens; may be lost.
    pub fn publish(
        &self,
        session_id: Option<SessionId>,
        continuation_id: Option<ContinuationId>,
        body: EventBody,
    ) {
        self.store.publish(Event {
            seq: None,
            at: self.clock.now(),
            session_id,
            continuation_id,
            body,
        });
    }

    /// Tells whoever listens to a turn; may be lost.
    pub fn publish_of(&self, rows: &TurnRows, body: EventBody) {
        self.publish(Some(rows.session_id), Some(rows.id), body);
    }

    /// What a tool must never see: our data, configuration and sockets, as far as they are not its workspace.
    pub fn hidden_directories(&self, workspace: &Path) -> Vec<PathBuf> {
        hidden_from_tools(&self.settings.paths, workspace)
            .into_iter()
            .map(|path| path.canonicalize().unwrap_or(path))
            .collect()
    }

    /// Where changes of files by tools are written down.
    pub fn file_changes(&self) -> PathBuf {
        self.settings.paths.data_dir.join("file_changes")
    }

    /// Ends what sessions keep running between calls: that of one session, or all of it. `why` is a clause for the model.
    pub fn end_interpreters(&self, session: Option<SessionId>, why: &str) {
        let tools = self.tools();
        let tables = tools.all().filter_map(|tool| tool.interpreters());
        for table in tables {
            match session {
                Some(session) => drop(table.end(session, why)),
                None => table.end_all(why),
            }
        }
    }

    /// Where throw-away copies of workspaces are while commands are rehearsed in them.
    pub fn rehearsals(&self) -> PathBuf {
        self.settings.paths.data_dir.join("rehearsals")
    }

    /// Tells everything that runs to let go.
    pub fn let_go(&self) {
        self.shutdown.cancel();
        self.sessions.halt_all(Halt::ShuttingDown);
        self.end_interpreters(None, "the program was stopped");
    }

    /// Stops everything that runs and waits until it has let go.
    pub async fn stop(&self) {
        self.let_go();
        self.tasks.close();
        self.tasks.wait().await;
        self.servers.connections.shut_down().await;
        self.store_all_health().await;
        self.response_cache.file.close().await;
    }
}

impl Configuration {
    fn new(settings: Settings, models: Models, tools: &Registry) -> Self {
        let tool_definitions: Vec<ToolDefinition> = tools
            .definitions()
            .into_iter()
            .map(|definition| ToolDefinition {
                name: definition.name.clone(),
                description: definition.description.clone(),
                input_schema: definition.input_schema,
            })
            .collect();
        let one_tool_per_step = settings.engine.one_tool_per_step;
        let channels = settings.channels.iter();
        let prefixes = channels.clone().map(|(name, channel)| {
            let note = channel.note.as_deref();
            let prefix = Prefix::new(name, note, one_tool_per_step, &tool_definitions);
            (name.clone(), Arc::new(prefix))
        });
        Self {
            prefixes: Arc::new(prefixes.collect()),
            floods: Arc::new(
                channels
                    .map(|(name, channel)| (name.clone(), channel.floods))
                    .collect(),
            ),
            settings: Arc::new(settings),
            models: Arc::new(models),
        }
    }
}
