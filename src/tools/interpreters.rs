//! What sessions keep running between calls: at most one interpreter of a kind for each session.
//!
//! No interpreter is used by two calls at once, none outlives its session or this table, and none that ended is replaced
//! unnoticed: the next call hears why.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::OwnedMutexGuard;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::clock::Clock;
use crate::protocol::enums::{InterpreterKind, InterpreterState};
use crate::protocol::ids::SessionId;
use crate::protocol::tool::{Interpreter, InterpreterCommand};
use crate::tools::output::first;
use crate::tools::tool::{InterpreterTable, ToolContext, ToolHost};

/// Why nothing of a call ran that was cancelled.
pub const CANCELLED: &str = "cancelled before it started";
/// Most bytes of a command that are told of it, and most commands of one.
const SHOWN: usize = 400;
const RECENT: usize = 20;

/// Bounds of a table.
#[derive(Debug, Clone, Copy)]
pub struct InterpreterLimits {
    /// Most interpreters at once. The one that was idle longest ends for another session.
    pub most: usize,
    /// How long one may be idle.
    pub idle: Duration,
}

impl Default for InterpreterLimits {
    fn default() -> Self {
        Self {
            most: 8,
            idle: Duration::from_secs(600),
        }
    }
}

/// The interpreters of one kind. Each is ended by being dropped.
pub struct Interpreters<I> {
    shared: Arc<Shared<I>>,
}

struct Shared<I> {
    kind: InterpreterKind,
    limits: InterpreterLimits,
    clock: Clock,
    slots: Mutex<HashMap<SessionId, Slot<I>>>,
}

/// What is known of a session. It stays when its interpreter ends.
struct Slot<I> {
    /// Lets one call in after the other.
    queue: Arc<tokio::sync::Mutex<()>>,
    /// The interpreter between two calls; a call that uses it has it.
    kept: Option<I>,
    /// Whether a call has the right to use it.
    is_leased: bool,
    /// What is told of it; none = there is none.
    row: Option<Interpreter>,
    /// Fires when the interpreter of now is ended from elsewhere.
    ended: CancellationToken,
    /// Why the last one is gone; told once.
    lost: Option<String>,
    /// Whether none was started yet in this process.
    is_first: bool,
    /// Commands of people that the model has not heard of.
    by_people: u32,
    /// Since when no call uses it.
    free_since: Instant,
    /// Ends it when it was idle too long.
    deadline: Option<AbortOnDropHandle<()>>,
}

impl<I> Default for Slot<I> {
    fn default() -> Self {
        Self {
            queue: Arc::default(),
            kept: None,
            is_leased: false,
            row: None,
            ended: CancellationToken::new(),
            lost: None,
            is_first: true,
            by_people: 0,
            free_since: Instant::now(),
            deadline: None,
        }
    }
}

impl<I> Slot<I> {
    /// Ends what is there; what is given back is to be dropped outside of the lock.
    fn end(&mut self, why: &str) -> Option<I> {
        if self.row.take().is_some() {
            self.lost = Some(why.to_owned());
        }
        std::mem::take(&mut self.ended).cancel();
        self.deadline = None;
        self.kept.take()
    }
}

impl<I> Shared<I> {
    fn slots(&self) -> MutexGuard<'_, HashMap<SessionId, Slot<I>>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends one that no call has used since it was free for too long.
    fn end_idle(&self, session: SessionId) {
        let mut slots = self.slots();
        let idle = slots
            .get_mut(&session)
            .filter(|slot| !slot.is_leased && slot.free_since.elapsed() >= self.limits.idle);
        let minutes = match self.limits.idle.as_secs().div_ceil(60).max(1) {
            1 => "a minute".to_owned(),
            minutes => format!("{minutes} minutes"),
        };
        let ended = idle.map(|slot| slot.end(&format!("it was idle for {minutes}")));
        drop(slots);
        drop(ended);
    }
}

impl<I: Send + 'static> Interpreters<I> {
    /// An empty table.
    pub fn new(kind: InterpreterKind, limits: InterpreterLimits) -> Self {
        Self {
            shared: Arc::new(Shared {
                kind,
                limits,
                clock: Clock::System,
                slots: Mutex::default(),
            }),
        }
    }

    /// The right to use the interpreter of a session, once no other call has it. The error says why there is no room for
    /// one more. Whoever waits may give up at any time.
    pub async fn lock(&self, session: SessionId) -> Result<Lease<I>, String> {
        let queue = Arc::clone(&self.shared.slots().entry(session).or_default().queue);
        self.lease(session, queue.lock_owned().await)
    }

    /// The same at once; none = a call has it.
    pub fn try_lock(&self, session: SessionId) -> Option<Result<Lease<I>, String>> {
        let queue = Arc::clone(&self.shared.slots().entry(session).or_default().queue);
        let turn = queue.try_lock_owned().ok()?;
        Some(self.lease(session, turn))
    }

    /// The same for a call. A model waits its turn; a person does not, and hears `busy`.
    pub async fn lock_for(
        &self,
        context: &ToolContext<'_>,
        busy: &str,
    ) -> Result<Lease<I>, String> {
        let session = context.session_id;
        if context.host.is_person() {
            return self.try_lock(session).ok_or(busy)?;
        }
        tokio::select! {
            biased;
            () = context.cancel.cancelled() => Err(CANCELLED.to_owned()),
            lease = self.lock(session) => lease,
        }
    }

    fn lease(&self, session: SessionId, turn: OwnedMutexGuard<()>) -> Result<Lease<I>, String> {
        let mut slots = self.shared.slots();
        let mut ended = None;
        if slots.get(&session).is_none_or(|slot| slot.row.is_none()) {
            ended = self.make_room(&mut slots, session)?;
        }
        let slot = slots.entry(session).or_default();
        slot.deadline = None;
        slot.is_leased = true;
        let interpreter = slot.kept.take();
        let lease = Lease {
            shared: Arc::clone(&self.shared),
            session,
            ended: slot.ended.clone(),
            lost: slot.lost.clone(),
            is_first: slot.is_first,
            interpreter,
            _turn: turn,
        };
        drop(slots);
        drop(ended);
        Ok(lease)
    }

    /// Ends the one that was idle longest where there are too many; the error says that none is idle.
    fn make_room(
        &self,
        slots: &mut HashMap<SessionId, Slot<I>>,
        session: SessionId,
    ) -> Result<Option<I>, String> {
        let (most, noun) = (self.shared.limits.most, self.shared.kind.noun());
        let others = slots
            .iter()
            .filter(|(id, slot)| **id != session && (slot.is_leased || slot.row.is_some()));
        if others.count() < most {
            return Ok(None);
        }
        let idle = slots
            .iter_mut()
            .filter(|(id, slot)| **id != session && !slot.is_leased && slot.row.is_some())
            .min_by_key(|(_, slot)| slot.free_since);
        match idle {
            Some((_, slot)) => Ok(slot.end(&format!(
                "another session needed its place, as at most {most} are kept"
            ))),
            None => Err(format!(
                "{noun} cannot be started: {most} sessions run commands in theirs, and more are not kept; try again later"
            )),
        }
    }
}

impl<I: Send + 'static> InterpreterTable for Interpreters<I> {
    fn kind(&self) -> InterpreterKind {
        self.shared.kind
    }

    fn list(&self) -> Vec<Interpreter> {
        let slots = self.shared.slots();
        let mut rows: Vec<Interpreter> =
            slots.values().filter_map(|slot| slot.row.clone()).collect();
        rows.sort_by_key(|row| (row.started_at, row.session_id));
        rows
    }

    fn end(&self, session: SessionId, why: &str) -> bool {
        let mut slots = self.shared.slots();
        let Some(slot) = slots.get_mut(&session) else {
            return false;
        };
        let was_there = slot.row.is_some();
        let ended = slot.end(why);
        drop(slots);
        drop(ended);
        was_there
    }

    fn end_all(&self, why: &str) {
        let mut slots = self.shared.slots();
        let ended: Vec<Option<I>> = slots.values_mut().map(|slot| slot.end(why)).collect();
        drop(slots);
        drop(ended);
    }
}

/// The right of one call to use the interpreter of its session. What is in [`Lease::interpreter`] when this is dropped
/// is kept for the next call.
pub struct Lease<I: Send + 'static> {
    shared: Arc<Shared<I>>,
    session: SessionId,
    ended: CancellationToken,
    lost: Option<String>,
    is_first: bool,
    /// The interpreter; none = there is none yet. Take it out while a command runs: a call that is given up then ends it.
    pub interpreter: Option<I>,
    /// Given back last.
    _turn: OwnedMutexGuard<()>,
}

impl<I: Send + 'static> Lease<I> {
    /// Fires when the interpreter is ended from elsewhere: its session ends, or a person ends it.
    pub fn ended(&self) -> &CancellationToken {
        &self.ended
    }

    /// What the model must know of an interpreter that is started now; none = it has lost none. Ask before it starts.
    pub async fn why_new(&self, host: &dyn ToolHost) -> Option<String> {
        let why = match &self.lost {
            Some(why) => why,
            None if self.is_first && host.ran_before().await => "the daemon was started again",
            None => return None,
        };
        let kind = self.shared.kind;
        Some(format!(
            "{} is new: {why}; {} are lost",
            kind.noun(),
            kind.state()
        ))
    }

    /// Keeps an interpreter that was just started. `pid` is the process above everything that belongs to it.
    pub fn start(&mut self, interpreter: I, pid: Option<u32>) {
        let now = self.shared.clock.now();
        self.interpreter = Some(interpreter);
        self.change(|slot, session, kind| {
            slot.lost = None;
            slot.is_first = false;
            slot.by_people = 0;
            slot.row = Some(Interpreter {
                session_id: session,
                kind,
                state: InterpreterState::Idle,
                started_at: now,
                last_used_at: now,
                commands: 0,
                running_since: None,
                command: None,
                pid,
                background: 0,
                recent: Vec::new(),
            });
        });
    }

    /// Says that a command runs from now on, of a person or a model. A model must know what comes back: people ran
    /// commands since its last one.
    pub fn begin(&mut self, command: &str, by_person: bool) -> Option<String> {
        let now = self.shared.clock.now();
        let mut others = 0;
        self.change(|slot, _, _| {
            if by_person {
                slot.by_people += 1;
            } else {
                others = std::mem::take(&mut slot.by_people);
            }
            if let Some(row) = &mut slot.row {
                let command = first(command, SHOWN).to_owned();
                row.state = InterpreterState::Running;
                row.running_since = Some(now);
                row.last_used_at = now;
                row.commands += 1;
                row.command = Some(command.clone());
                if row.recent.len() == RECENT {
                    row.recent.remove(0);
                }
                row.recent.push(InterpreterCommand {
                    at: now,
                    by_person,
                    command,
                    outcome: None,
                });
            }
        });
        let commands = if others == 1 { "a command" } else { "commands" };
        let noun = self.shared.kind.noun();
        (others > 0)
            .then(|| format!("a person ran {commands} in {noun} since your last one ({others})"))
    }

    /// Says how the command ended, and how many processes run on in the background.
    pub fn finish(&mut self, outcome: &str, background: usize) {
        self.change(|slot, _, _| {
            if let Some(row) = &mut slot.row {
                row.background = background as u64;
                if let Some(command) = row.recent.last_mut() {
                    command.outcome = Some(first(outcome, SHOWN).to_owned());
                }
            }
        });
    }

    /// Says that the interpreter is gone, and ends what is left of it. `why` is a clause: "it ended by itself".
    pub fn lose(&mut self, why: &str) {
        self.interpreter = None;
        self.change(|slot, _, _| {
            if slot.row.take().is_some() {
                slot.lost = Some(why.to_owned());
            }
        });
        self.lost = Some(why.to_owned());
    }

    /// Changes what is told of the interpreter, unless it was ended from elsewhere.
    fn change(&self, change: impl FnOnce(&mut Slot<I>, SessionId, InterpreterKind)) {
        let mut slots = self.shared.slots();
        if let Some(slot) = slots.get_mut(&self.session)
            && !self.ended.is_cancelled()
        {
            change(slot, self.session, self.shared.kind);
        }
    }
}

impl<I: Send + 'static> Drop for Lease<I> {
    fn drop(&mut self) {
        let now = self.shared.clock.now();
        let kept = self.interpreter.take();
        let mut slots = self.shared.slots();
        let Some(slot) = slots.get_mut(&self.session) else {
            return;
        };
        slot.is_leased = false;
        slot.free_since = Instant::now();
        if self.ended.is_cancelled() {
            drop(slots);
            drop(kept);
            return;
        }
        if let Some(row) = &mut slot.row {
            row.state = InterpreterState::Idle;
            row.running_since = None;
            row.last_used_at = now;
        }
        match kept {
            Some(kept) => {
                slot.kept = Some(kept);
                slot.deadline = deadline(&self.shared, self.session);
            }
            // It was taken out for a command that nobody waited for to its end.
            None if slot.row.take().is_some() => {
                slot.lost = Some("its last command was given up".to_owned());
            }
            None => {}
        }
    }
}

/// Ends an interpreter once it was idle too long; none = this process ends.
fn deadline<I: Send + 'static>(
    shared: &Arc<Shared<I>>,
    session: SessionId,
) -> Option<AbortOnDropHandle<()>> {
    let runtime = tokio::runtime::Handle::try_current().ok()?;
    let (shared, idle): (Weak<Shared<I>>, _) = (Arc::downgrade(shared), shared.limits.idle);
    Some(AbortOnDropHandle::new(runtime.spawn(async move {
        tokio::time::sleep(idle).await;
        if let Some(shared) = shared.upgrade() {
            shared.end_idle(session);
        }
    })))
}
