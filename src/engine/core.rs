//! The engine's shared state, and who is running what.
//!
//! There is no task per session at rest: a session gets one when something is pending, and the task ends when
//! nothing is. Single flight per session is the map below plus the store's own check.

use std::collections::{HashMap, HashSet};
use std::pin::Pin;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, Semaphore, broadcast, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::clock::{Clock, Timestamp};
use crate::config::settings::{ChannelSettings, Settings};
use crate::engine::context::prefix::Prefix;
use crate::engine::embeddings::Embeddings;
use crate::engine::hooks::Hooks;
use crate::engine::hygiene::Hygiene;
use crate::engine::response_cache::Caching;
use crate::engine::tool_cache::ToolCache;
use crate::engine::turn::driver;
use crate::engine::turn::input::Halt;
use crate::engine::turn::open_call::OpenCall;
use crate::model::registry::Models;
use crate::model::request::ToolDefinition;
use crate::protocol::channel::{ChannelCapabilities, ChannelHealth};
use crate::protocol::ids::{ContinuationId, OutboxId, SessionId, ToolCallId};
use crate::protocol::problem::Problem;
use crate::protocol::snapshot::{Draining, OpenStream};
use crate::protocol::words::ChannelKind;
use crate::store::Store;
use crate::store::commands::claim::Claim;
use crate::store::commands::set_held::SetHeld;
use crate::store::error::StoreError;
use crate::text::redact::Redactor;
use crate::tools::registry::Registry;
use crate::tools::sandbox::Sandbox;

/// An emergency stop in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// Since when.
    pub since: Timestamp,
    /// Who and why.
    pub reason: String,
}

/// What a bridge told us about itself.
#[derive(Debug, Clone)]
pub struct BridgeState {
    /// What the platform can do.
    pub capabilities: ChannelCapabilities,
    /// Last reported health.
    pub health: Option<ChannelHealth>,
    /// The exchange that consoles were last told of.
    pub told_exchange_at: Option<Timestamp>,
    /// Account name on the platform.
    pub account: Option<String>,
}

/// What the engine is made of.
pub struct Parts {
    /// The database.
    pub store: Store,
    /// Resolved configuration.
    pub settings: Settings,
    /// Providers.
    pub models: Models,
    /// Tools.
    pub tools: Registry,
    /// How programs are confined.
    pub sandbox: Sandbox,
    /// Time.
    pub clock: Clock,
    /// Secrets that must never be stored or shown.
    pub redactor: Redactor,
}

struct RunningSession {
    /// Something became pending while this session's task was about to end.
    again: bool,
    /// A claim is under way: it may end in a continuation being driven.
    claiming: bool,
    /// The continuation being driven, and how to make it let go.
    current: Option<(ContinuationId, watch::Sender<Option<Halt>>)>,
}

impl RunningSession {
    /// Whether a turn is being taken up or driven.
    fn is_busy(&self) -> bool {
        self.claiming || self.current.is_some()
    }
}

/// How many turns are being taken up or driven.
fn busy(running: &HashMap<SessionId, RunningSession>) -> usize {
    running.values().filter(|entry| entry.is_busy()).count()
}

/// The engine. Cheap to clone; all clones are one engine.
#[derive(Clone)]
pub struct Engine {
    shared: Arc<Shared>,
}

/// State behind every clone.
pub struct Shared {
    /// The database.
    pub store: Store,
    /// Resolved configuration.
    pub settings: Settings,
    /// Providers.
    pub models: Models,
    /// Tools.
    pub tools: Registry,
    /// What every request of a channel begins with: built once, so that it stays the same.
    prefixes: HashMap<String, Arc<Prefix>>,
    /// How programs are confined.
    pub sandbox: Sandbox,
    /// Time.
    pub clock: Clock,
    /// Secrets.
    pub redactor: Redactor,
    /// When this process started.
    pub started_at: Timestamp,
    /// Emergency stop; checked before every model call, tool start and send.
    pub held: watch::Sender<Option<Held>>,
    /// Whether the database is a restored copy that waits for release: no bridge connects until it is false.
    pub quarantine: watch::Sender<bool>,
    /// Held while a backup is written.
    pub backing_up: tokio::sync::Mutex<()>,
    /// Running work ends, nothing begins.
    pub draining: watch::Sender<Option<Draining>>,
    /// An emergency stop in force that could not be stored yet.
    pub unrecorded_stop: Mutex<Option<SetHeld>>,
    /// The problems that consoles were last told of.
    pub told_problems: Mutex<Vec<String>>,
    /// Open model streams.
    pub streams: Mutex<HashMap<ContinuationId, OpenStream>>,
    /// Model calls under way.
    pub open_calls: Mutex<HashMap<ContinuationId, OpenCall>>,
    /// How long turns waited for a place among a provider's calls, until their drivers take it off their time.
    pub waits: Mutex<HashMap<ContinuationId, Duration>>,
    /// Bridges by channel.
    pub bridges: Mutex<HashMap<String, BridgeState>>,
    /// Parts that a bridge holds and has not begun to send, with their channel: each is handed out once.
    /// Rings when one is given back.
    pub handed_out: watch::Sender<HashMap<OutboxId, String>>,
    /// Conversations where a typing indicator is due: (channel, conversation).
    pub typing: broadcast::Sender<(String, String)>,
    /// (channel, paused) whenever an operator pauses or resumes one.
    pub pauses: broadcast::Sender<(String, bool)>,
    /// Runs of calls (with the number of the start) that were looked up since this process started.
    pub probed: Mutex<HashSet<(ToolCallId, u32)>>,
    /// Approvals or deadlines changed: the deadline task looks again.
    pub deadlines: Notify,
    /// Fires when the process stops.
    pub shutdown: CancellationToken,
    /// Everything that must end before the store closes.
    pub tasks: TaskTracker,
    /// Held by the one sweep under way.
    pub sweeping: tokio::sync::Mutex<()>,
    /// Cached responses.
    pub response_cache: Caching,
    /// What is called around turns.
    pub hooks: Hooks,
    /// Searches of the agent in memory since this process started.
    pub recalls: AtomicU64,
    /// Routines changed: the scheduler looks again.
    pub routines: Notify,
    /// The routine that begins next, and when.
    pub next_routine: Mutex<Option<(String, Timestamp)>>,
    /// Kept results of tools.
    pub tool_cache: ToolCache,
    /// Hygiene of the memory.
    pub hygiene: Hygiene,
    /// Conversations that were taken over since this process started: (channel, conversation).
    pub taken_over: Mutex<HashSet<(String, String)>>,
    /// Searches by meaning.
    pub embeddings: Embeddings,
    /// Sessions with a task. Rings whenever one begins or ends to be driven.
    running: watch::Sender<HashMap<SessionId, RunningSession>>,
    permits: Arc<Semaphore>,
}

/// Locks a mutex; a poisoned one is used as it is, because no code panics while it holds these.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl std::ops::Deref for Engine {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.shared
    }
}

impl Engine {
    /// An engine that does nothing yet; `recovery::begin` starts what is pending.
    pub fn new(parts: Parts, held: Option<Held>) -> Self {
        let permits = Arc::new(Semaphore::new(parts.settings.engine.max_running.max(1)));
        let started_at = parts.clock.now();
        let tool_definitions: Vec<ToolDefinition> = parts
            .tools
            .definitions()
            .into_iter()
            .map(|definition| ToolDefinition {
                name: definition.name.clone(),
                description: definition.description.clone(),
                input_schema: definition.input_schema,
            })
            .collect();
        let one_tool_per_step = parts.settings.engine.one_tool_per_step;
        let prefixes = parts.settings.channels.iter().map(|(name, settings)| {
            let note = settings.note.as_deref();
            let prefix = Prefix::new(name, note, one_tool_per_step, &tool_definitions);
            (name.clone(), Arc::new(prefix))
        });
        let workspaces = parts.settings.channels.values();
        let hooks = Hooks::new(
            &parts.settings.hooks,
            workspaces
                .map(|channel| channel.workspace.clone())
                .collect(),
            parts.clock.clone(),
            parts.redactor.clone(),
        );
        Self {
            shared: Arc::new(Shared {
                response_cache: Caching::new(&parts.settings),
                hooks,
                tool_cache: ToolCache::new(&parts.settings),
                prefixes: prefixes.collect(),
                store: parts.store,
                settings: parts.settings,
                models: parts.models,
                tools: parts.tools,
                sandbox: parts.sandbox,
                clock: parts.clock,
                redactor: parts.redactor,
                started_at,
                held: watch::Sender::new(held),
                quarantine: watch::Sender::new(false),
                backing_up: tokio::sync::Mutex::default(),
                draining: watch::Sender::new(None),
                unrecorded_stop: Mutex::default(),
                told_problems: Mutex::default(),
                streams: Mutex::default(),
                open_calls: Mutex::default(),
                waits: Mutex::default(),
                bridges: Mutex::default(),
                handed_out: watch::Sender::new(HashMap::new()),
                typing: broadcast::Sender::new(64),
                pauses: broadcast::Sender::new(16),
                probed: Mutex::default(),
                deadlines: Notify::new(),
                shutdown: CancellationToken::new(),
                tasks: TaskTracker::new(),
                sweeping: tokio::sync::Mutex::default(),
                recalls: AtomicU64::new(0),
                routines: Notify::new(),
                next_routine: Mutex::default(),
                hygiene: Hygiene::default(),
                taken_over: Mutex::default(),
                embeddings: Embeddings::default(),
                running: watch::Sender::new(HashMap::new()),
                permits,
            }),
        }
    }

    /// Whether an emergency stop is in force.
    pub fn is_held(&self) -> bool {
        self.held.borrow().is_some()
    }

    /// The settings of a channel.
    pub fn channel(&self, name: &str) -> Result<&ChannelSettings, Problem> {
        self.settings.channels.get(name).ok_or_else(|| {
            let known: Vec<&str> = self.settings.channels.keys().map(String::as_str).collect();
            Problem::not_found("channel", name)
                .hint(format!("configured channels: {}", known.join(", ")))
        })
    }

    /// What every request of a channel begins with.
    pub fn prefix(&self, channel: &str) -> Result<Arc<Prefix>, Problem> {
        match self.prefixes.get(channel) {
            Some(prefix) => Ok(Arc::clone(prefix)),
            None => self.channel(channel).and_then(|_| {
                Err(Problem::internal(format!(
                    "channel `{channel}` has no prefix"
                )))
            }),
        }
    }

    /// Whether replies on a channel go through a bridge (and so through the outbox).
    pub fn has_bridge(&self, channel: &str) -> bool {
        self.settings
            .channels
            .get(channel)
            .is_some_and(|settings| match settings.kind {
                ChannelKind::Telegram | ChannelKind::Scripted => true,
                ChannelKind::Desk
                | ChannelKind::Api
                | ChannelKind::Mcp
                | ChannelKind::Cli
                | ChannelKind::Routine => false,
            })
    }

    /// Makes sure that what is pending in a session gets run. Returns at once.
    pub fn wake(&self, session: SessionId) {
        if !self.may_begin() {
            return;
        }
        let is_new = self.running.send_if_modified(|running| {
            if let Some(entry) = running.get_mut(&session) {
                entry.again = true;
                return false;
            }
            let entry = RunningSession {
                again: false,
                claiming: false,
                current: None,
            };
            running.insert(session, entry);
            true
        });
        if !is_new {
            return;
        }
        let engine = self.clone();
        self.beside(async move { engine.run_session(session).await });
    }

    /// Runs a task beside everything else; a stop waits for its end. All of them are of one type, because each further
    /// one takes a few kilobytes of the binary.
    pub fn beside(&self, task: impl Future<Output = ()> + Send + 'static) {
        let task: Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(task);
        self.tasks.spawn(task);
    }

    /// Runs a session's pending continuations one after the other, then ends.
    async fn run_session(&self, session: SessionId) {
        loop {
            if !self.writable().await {
                self.running.send_modify(|running| {
                    running.remove(&session);
                });
                break;
            }
            let Ok(permit) = self.permits.clone().acquire_owned().await else {
                break;
            };
            self.set_claiming(session, true);
            let claimed = if self.may_begin() {
                let claim = Claim {
                    session_id: session,
                    epoch: self.store.epoch(),
                };
                match self.store.write(claim).await {
                    Ok(claimed) => claimed,
                    Err(StoreError::Full(_)) => {
                        drop(permit);
                        self.set_claiming(session, false);
                        self.writable_again().await;
                        continue;
                    }
                    Err(error) => {
                        tracing::error!(%session, %error, "cannot claim");
                        None
                    }
                }
            } else {
                None
            };
            let Some(continuation) = claimed else {
                drop(permit);
                let mut again = false;
                self.running
                    .send_modify(|running| match running.get_mut(&session) {
                        Some(entry) if entry.again && self.may_begin() => {
                            entry.again = false;
                            entry.claiming = false;
                            again = true;
                        }
                        Some(_) | None => {
                            running.remove(&session);
                        }
                    });
                if again {
                    continue;
                }
                break;
            };
            let (halt, halted) = watch::channel(None);
            self.change_entry(session, |entry| {
                entry.claiming = false;
                entry.current = Some((continuation, halt.clone()));
            });
            // Whatever halted everybody before the line above has not told this turn.
            if self.shutdown.is_cancelled() {
                halt.send_replace(Some(Halt::ShuttingDown));
            } else if self.is_held() {
                halt.send_replace(Some(Halt::Held));
            }
            drop(halt);
            driver::drive(self, session, continuation, halted).await;
            lock(&self.streams).remove(&continuation);
            lock(&self.open_calls).remove(&continuation);
            lock(&self.waits).remove(&continuation);
            self.change_entry(session, |entry| entry.current = None);
            drop(permit);
        }
    }

    fn set_claiming(&self, session: SessionId, claiming: bool) {
        self.change_entry(session, |entry| entry.claiming = claiming);
    }

    fn change_entry(&self, session: SessionId, change: impl FnOnce(&mut RunningSession)) {
        self.running.send_modify(|running| {
            if let Some(entry) = running.get_mut(&session) {
                change(entry);
            }
        });
    }

    /// Waits until no turn is driven or being taken up here, `limit` at most. With a session: no turn of that session.
    pub async fn wait_for_turns(&self, only: Option<SessionId>, limit: Duration) {
        let mut running = self.running.subscribe();
        let ended = running.wait_for(|running| {
            running
                .iter()
                .filter(|(session, _)| only.is_none_or(|only| only == **session))
                .all(|(_, entry)| !entry.is_busy())
        });
        // Whoever waits goes on when the time is over, too.
        let _ = tokio::time::timeout(limit, ended).await;
    }

    /// Waits until [`Engine::running_count`] is another than this.
    pub async fn running_count_changes(&self, from: usize) {
        let mut running = self.running.subscribe();
        // An error means that there is no engine any more.
        let _ = running.wait_for(|running| busy(running) != from).await;
    }

    /// Makes the driver of a continuation let go, if it runs here.
    pub fn halt(&self, continuation: ContinuationId, halt: Halt) {
        for entry in self.running.borrow().values() {
            if let Some((current, sender)) = &entry.current
                && *current == continuation
            {
                sender.send_replace(Some(halt));
            }
        }
    }

    /// Makes every driver let go.
    pub fn halt_all(&self, halt: Halt) {
        for entry in self.running.borrow().values() {
            if let Some((_, sender)) = &entry.current {
                sender.send_replace(Some(halt));
            }
        }
    }

    /// Number of continuations being driven, or just being taken up.
    pub fn running_count(&self) -> usize {
        busy(&self.running.borrow())
    }

    /// Tells everything that runs to let go.
    pub fn let_go(&self) {
        self.shutdown.cancel();
        self.halt_all(Halt::ShuttingDown);
        self.deadlines.notify_waiters();
    }

    /// Stops everything that runs and waits until it has let go.
    pub async fn stop(&self) {
        self.let_go();
        self.tasks.close();
        self.tasks.wait().await;
        self.response_cache.file.close().await;
    }
}
