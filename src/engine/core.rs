//! The engine's shared state, and who is running what.
//!
//! There is no task per session at rest: a session gets one when something is pending, and the task ends when
//! nothing is. Single flight per session is the map below plus the store's own check.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, Semaphore, broadcast, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::clock::{Clock, Timestamp};
use crate::config::settings::{ChannelSettings, Settings};
use crate::engine::turn::driver;
use crate::engine::turn::input::Halt;
use crate::model::registry::Models;
use crate::model::request::ToolDefinition;
use crate::protocol::channel::{ChannelCapabilities, ChannelHealth};
use crate::protocol::ids::{ContinuationId, OutboxId, SessionId};
use crate::protocol::problem::Problem;
use crate::protocol::snapshot::OpenStream;
use crate::protocol::words::ChannelKind;
use crate::store::Store;
use crate::store::commands::claim::Claim;
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
    /// The continuation being driven, and how to make it let go.
    current: Option<(ContinuationId, watch::Sender<Option<Halt>>)>,
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
    /// The tools as models see them: built once, so that the prompt prefix stays the same.
    pub tool_definitions: Vec<ToolDefinition>,
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
    /// Open model streams.
    pub streams: Mutex<HashMap<ContinuationId, OpenStream>>,
    /// Bridges by channel.
    pub bridges: Mutex<HashMap<String, BridgeState>>,
    /// Parts that a bridge holds and has not begun to send, with their channel: each is handed out once.
    /// Rings when one is given back.
    pub handed_out: watch::Sender<HashMap<OutboxId, String>>,
    /// Conversations where a typing indicator is due: (channel, conversation).
    pub typing: broadcast::Sender<(String, String)>,
    /// (channel, paused) whenever an operator pauses or resumes one.
    pub pauses: broadcast::Sender<(String, bool)>,
    /// Approvals or deadlines changed: the deadline task looks again.
    pub deadlines: Notify,
    /// Fires when the process stops.
    pub shutdown: CancellationToken,
    /// Everything that must end before the store closes.
    pub tasks: TaskTracker,
    running: Mutex<HashMap<SessionId, RunningSession>>,
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
        let tool_definitions = parts
            .tools
            .definitions()
            .into_iter()
            .map(|definition| ToolDefinition {
                name: definition.name.clone(),
                description: definition.description.clone(),
                input_schema: definition.input_schema,
            })
            .collect();
        Self {
            shared: Arc::new(Shared {
                store: parts.store,
                settings: parts.settings,
                models: parts.models,
                tool_definitions,
                tools: parts.tools,
                sandbox: parts.sandbox,
                clock: parts.clock,
                redactor: parts.redactor,
                started_at,
                held: watch::Sender::new(held),
                quarantine: watch::Sender::new(false),
                backing_up: tokio::sync::Mutex::default(),
                streams: Mutex::default(),
                bridges: Mutex::default(),
                handed_out: watch::Sender::new(HashMap::new()),
                typing: broadcast::Sender::new(64),
                pauses: broadcast::Sender::new(16),
                deadlines: Notify::new(),
                shutdown: CancellationToken::new(),
                tasks: TaskTracker::new(),
                running: Mutex::default(),
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
        if self.is_held() || self.shutdown.is_cancelled() {
            return;
        }
        {
            let mut running = lock(&self.running);
            if let Some(entry) = running.get_mut(&session) {
                entry.again = true;
                return;
            }
            running.insert(
                session,
                RunningSession {
                    again: false,
                    current: None,
                },
            );
        }
        let engine = self.clone();
        self.tasks
            .spawn(async move { engine.run_session(session).await });
    }

    /// Runs a session's pending continuations one after the other, then ends.
    async fn run_session(&self, session: SessionId) {
        loop {
            let Ok(permit) = self.permits.clone().acquire_owned().await else {
                break;
            };
            let claimed = if self.is_held() || self.shutdown.is_cancelled() {
                None
            } else {
                let claim = Claim {
                    session_id: session,
                    epoch: self.store.epoch(),
                };
                self.store.write(claim).await.unwrap_or_else(|error| {
                    tracing::error!(%session, %error, "cannot claim");
                    None
                })
            };
            let Some(continuation) = claimed else {
                drop(permit);
                let mut running = lock(&self.running);
                match running.get_mut(&session) {
                    Some(entry)
                        if entry.again && !self.is_held() && !self.shutdown.is_cancelled() =>
                    {
                        entry.again = false;
                        continue;
                    }
                    Some(_) | None => {
                        running.remove(&session);
                        break;
                    }
                }
            };
            let (halt, halted) = watch::channel(None);
            if let Some(entry) = lock(&self.running).get_mut(&session) {
                entry.current = Some((continuation, halt));
            }
            if let Err(error) = driver::drive(self, session, continuation, halted).await {
                tracing::error!(%session, %continuation, error = format!("{error:#}"), "turn stopped");
            }
            lock(&self.streams).remove(&continuation);
            if let Some(entry) = lock(&self.running).get_mut(&session) {
                entry.current = None;
            }
            drop(permit);
        }
    }

    /// Makes the driver of a continuation let go, if it runs here.
    pub fn halt(&self, continuation: ContinuationId, halt: Halt) {
        for entry in lock(&self.running).values() {
            if let Some((current, sender)) = &entry.current
                && *current == continuation
            {
                sender.send_replace(Some(halt));
            }
        }
    }

    /// Makes every driver let go.
    pub fn halt_all(&self, halt: Halt) {
        for entry in lock(&self.running).values() {
            if let Some((_, sender)) = &entry.current {
                sender.send_replace(Some(halt));
            }
        }
    }

    /// Number of continuations being driven.
    pub fn running_count(&self) -> usize {
        lock(&self.running)
            .values()
            .filter(|entry| entry.current.is_some())
            .count()
    }

    /// Stops everything that runs and waits until it has let go.
    pub async fn stop(&self) {
        self.shutdown.cancel();
        self.halt_all(Halt::ShuttingDown);
        self.deadlines.notify_waiters();
        self.tasks.close();
        self.tasks.wait().await;
    }
}
