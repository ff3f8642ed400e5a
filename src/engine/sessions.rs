//! Which sessions have a task, what each of them drives, and who may begin.
//!
//! There is no task per session at rest: a session gets one when something is pending, and the task ends when
//! nothing is. Single flight per session is the map below plus the store's own check.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, watch};

use crate::engine::lock::lock;
use crate::engine::turn::input::Halt;
use crate::protocol::ids::{ContinuationId, SessionId, ToolCallId};
use crate::protocol::snapshot::Draining;

/// External agents that run at once: each takes some hundred MiB.
const MAX_AGENTS: usize = 2;

/// A session that has a task, or is about to get one.
#[derive(Debug, Default)]
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

/// Who runs.
#[derive(Debug)]
pub struct Sessions {
    /// Sessions with a task. Rings whenever one begins or ends to be driven.
    running: watch::Sender<HashMap<SessionId, RunningSession>>,
    /// Sessions that wait for a task.
    woken: Mutex<Vec<SessionId>>,
    wake: Notify,
    permits: Arc<Semaphore>,
    /// Sessions whose turns are runs of external agents.
    agents: Mutex<HashSet<SessionId>>,
    /// Their permits are their own: the calls of such a run are turns that need one of the others.
    agent_permits: Arc<Semaphore>,
    /// Running work ends, nothing begins.
    draining: watch::Sender<Option<Draining>>,
    /// Conversations that were taken over since this process started: (channel, conversation).
    taken_over: Mutex<HashSet<(String, String)>>,
    /// Runs of calls (with the number of the start) that were looked up since this process started.
    probed: Mutex<HashSet<(ToolCallId, u32)>>,
}

impl Sessions {
    /// Nothing runs. At most `max_running` turns are driven at once.
    pub fn new(max_running: usize) -> Self {
        Self {
            running: watch::Sender::new(HashMap::new()),
            woken: Mutex::default(),
            wake: Notify::new(),
            permits: Arc::new(Semaphore::new(max_running.max(1))),
            agents: Mutex::default(),
            agent_permits: Arc::new(Semaphore::new(MAX_AGENTS)),
            draining: watch::Sender::new(None),
            taken_over: Mutex::default(),
            probed: Mutex::default(),
        }
    }

    /// Asks for a task for a session. Where it has one, that task looks once more before it ends.
    pub fn wake(&self, session: SessionId) {
        let is_new = self.running.send_if_modified(|running| {
            if let Some(entry) = running.get_mut(&session) {
                entry.again = true;
                return false;
            }
            running.insert(session, RunningSession::default());
            true
        });
        if is_new {
            lock(&self.woken).push(session);
            self.wake.notify_one();
        }
    }

    /// Waits for sessions that need a task, and answers each once. Cancel-safe. One task asks.
    pub async fn next_woken(&self) -> Vec<SessionId> {
        loop {
            let woken = std::mem::take(&mut *lock(&self.woken));
            if !woken.is_empty() {
                return woken;
            }
            self.wake.notified().await;
        }
    }

    /// The turns of a session are runs of an external agent.
    pub fn add_agent(&self, session: SessionId) {
        lock(&self.agents).insert(session);
    }

    /// Waits for the right to drive one turn of a session; none = nothing is driven any more.
    pub async fn permit(&self, session: SessionId) -> Option<OwnedSemaphorePermit> {
        let permits = if lock(&self.agents).contains(&session) {
            &self.agent_permits
        } else {
            &self.permits
        };
        permits.clone().acquire_owned().await.ok()
    }

    /// Says whether a session's task takes a turn up.
    pub fn set_claiming(&self, session: SessionId, claiming: bool) {
        self.change(session, |entry| entry.claiming = claiming);
    }

    /// A session's task drives a turn from now on. The answer says when it must let go.
    pub fn begin_turn(
        &self,
        session: SessionId,
        continuation: ContinuationId,
    ) -> watch::Receiver<Option<Halt>> {
        let (halt, halted) = watch::channel(None);
        self.change(session, |entry| {
            entry.claiming = false;
            entry.current = Some((continuation, halt));
        });
        halted
    }

    /// The turn that a session's task drove is over.
    pub fn end_turn(&self, session: SessionId) {
        self.change(session, |entry| entry.current = None);
    }

    /// A session's task ends. Answers `true` where it must look once more instead.
    pub fn leave(&self, session: SessionId, may_begin: bool) -> bool {
        let mut again = false;
        self.running
            .send_modify(|running| match running.get_mut(&session) {
                Some(entry) if entry.again && may_begin => {
                    entry.again = false;
                    entry.claiming = false;
                    again = true;
                }
                Some(_) | None => {
                    running.remove(&session);
                }
            });
        again
    }

    fn change(&self, session: SessionId, change: impl FnOnce(&mut RunningSession)) {
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

    /// Waits until [`Sessions::running_count`] is another than this.
    pub async fn running_count_changes(&self, from: usize) {
        let mut running = self.running.subscribe();
        // An error means that there is no engine any more.
        let _ = running.wait_for(|running| busy(running) != from).await;
    }

    /// Number of continuations being driven, or just being taken up.
    pub fn running_count(&self) -> usize {
        busy(&self.running.borrow())
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

    /// Makes the drivers of cancelled continuations let go.
    pub fn cancel_all(&self, cancelled: Vec<ContinuationId>) {
        for continuation in cancelled {
            self.halt(continuation, Halt::Cancelled);
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

    /// How far draining is; none = the engine does not drain.
    pub fn draining(&self) -> Option<Draining> {
        *self.draining.borrow()
    }

    /// Begins nothing any more, and says how far that is.
    pub fn drain(&self, left: Draining) {
        self.draining.send_replace(Some(left));
    }

    /// Follows [`Sessions::draining`].
    pub fn draining_changes(&self) -> watch::Receiver<Option<Draining>> {
        self.draining.subscribe()
    }

    /// Holds the agent of a conversation (channel, conversation); whether it was not held.
    pub fn take_over(&self, place: &(String, String)) -> bool {
        lock(&self.taken_over).insert(place.clone())
    }

    /// Lets the agent of a conversation go on.
    pub fn give_back(&self, place: &(String, String)) {
        lock(&self.taken_over).remove(place);
    }

    /// Whether a person holds the agent of a conversation since this process started.
    pub fn is_taken_over(&self, place: &(String, String)) -> bool {
        lock(&self.taken_over).contains(place)
    }

    /// Notes that a run of a call is looked up; `false` = it was before.
    pub fn begin_probe(&self, run: (ToolCallId, u32)) -> bool {
        lock(&self.probed).insert(run)
    }

    /// A look was not made: it may be made again.
    pub fn forget_probe(&self, run: (ToolCallId, u32)) {
        lock(&self.probed).remove(&run);
    }
}
