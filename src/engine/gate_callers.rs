//! Who waits for the answer to a call of an external agent.
//!
//! Nothing here is kept: after a restart the callers come back by themselves, and what waits for a decision is read again.

use std::collections::{HashMap, HashSet};
use std::sync::Mutex;
use std::time::Duration;

use tokio::sync::watch;

use crate::engine::lock::lock;
use crate::protocol::ids::ContinuationId;

/// How long a caller may be away before its question ends: a daemon that restarts costs no question.
pub const AWAY: Duration = Duration::from_secs(15);

/// Callers that wait, by the key of what they ask.
#[derive(Debug)]
pub struct GateCallers {
    waiting: watch::Sender<HashMap<String, u32>>,
    jobs: Mutex<Jobs>,
}

/// What is known of the jobs whose programs end while they wait.
#[derive(Debug, Default)]
struct Jobs {
    /// Conversations of programs that run.
    running: HashSet<String>,
    /// The one question of each conversation that its program deferred.
    deferred: HashMap<String, ContinuationId>,
    /// Turns that nobody takes up before somebody asks under this key; none = before they are let go.
    held: HashMap<ContinuationId, Option<String>>,
}

impl Default for GateCallers {
    fn default() -> Self {
        Self {
            waiting: watch::Sender::new(HashMap::new()),
            jobs: Mutex::default(),
        }
    }
}

impl GateCallers {
    /// A caller of a request begins to wait.
    pub fn add(&self, request: &str) {
        self.waiting.send_modify(|waiting| {
            *waiting.entry(request.to_owned()).or_default() += 1;
        });
    }

    /// A caller of a request waits no longer.
    pub fn remove(&self, request: &str) {
        self.waiting.send_modify(|waiting| {
            if let Some(count) = waiting.get_mut(request) {
                *count -= 1;
                if *count == 0 {
                    waiting.remove(request);
                }
            }
        });
    }

    /// Waits until a caller waits for this, [`AWAY`] at most; whether one does.
    pub async fn is_waited_for(&self, request: &str) -> bool {
        let mut waiting = self.waiting.subscribe();
        let came = waiting.wait_for(|waiting| waiting.contains_key(request));
        matches!(tokio::time::timeout(AWAY, came).await, Ok(Ok(_)))
    }

    /// The program of a job runs from now on.
    pub fn begin_run(&self, conversation: &str) {
        lock(&self.jobs).running.insert(conversation.to_owned());
    }

    /// The program of a job runs no more.
    pub fn end_run(&self, conversation: &str) {
        lock(&self.jobs).running.remove(conversation);
    }

    /// Whether the program of a job runs in this conversation.
    pub fn is_run(&self, conversation: &str) -> bool {
        lock(&self.jobs).running.contains(conversation)
    }

    /// Notes that the program of a conversation ends while this turn waits. False = another one waits already: the program
    /// asks again about one call only.
    pub fn defer(&self, conversation: &str, turn: ContinuationId, request: &str) -> bool {
        let mut jobs = lock(&self.jobs);
        let known = *jobs.deferred.entry(conversation.to_owned()).or_insert(turn);
        if known == turn {
            jobs.held.insert(turn, Some(request.to_owned()));
        }
        known == turn
    }

    /// A turn that was deferred is over, or waits no longer.
    pub fn forget(&self, conversation: &str, turn: ContinuationId) {
        let mut jobs = lock(&self.jobs);
        jobs.held.remove(&turn);
        if jobs.deferred.get(conversation) == Some(&turn) {
            jobs.deferred.remove(conversation);
        }
    }

    /// Whether this is the question that the program of a conversation deferred.
    pub fn is_deferred(&self, conversation: &str, turn: ContinuationId) -> bool {
        lock(&self.jobs).deferred.get(conversation) == Some(&turn)
    }

    /// Holds a turn until [`GateCallers::let_go`].
    pub fn hold(&self, turn: ContinuationId) {
        lock(&self.jobs).held.insert(turn, None);
    }

    /// Lets a turn be taken up.
    pub fn let_go(&self, turn: ContinuationId) {
        lock(&self.jobs).held.remove(&turn);
    }

    /// Turns that nobody takes up now.
    pub fn held(&self) -> Vec<ContinuationId> {
        let jobs = lock(&self.jobs);
        let waiting = self.waiting.borrow();
        let is_held = |request: &Option<String>| match request {
            Some(request) => !waiting.contains_key(request),
            None => true,
        };
        let held = jobs.held.iter().filter(|(_, request)| is_held(request));
        held.map(|(turn, _)| *turn).collect()
    }
}
