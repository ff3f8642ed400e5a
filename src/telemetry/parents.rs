//! Which turns are a part of a caller's trace, as the engine knows them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::client::console_client::ConsoleClient;
use crate::protocol::ids::ContinuationId;
use crate::protocol::request::GetContinuation;
use crate::protocol::trace_parent::TraceParent;

/// Turns that are remembered; the oldest go first.
const MOST_TURNS: usize = 10_000;

/// Asks the engine once for each turn.
#[derive(Clone)]
pub struct Parents {
    client: Arc<dyn ConsoleClient>,
    known: Arc<Mutex<BTreeMap<ContinuationId, Option<TraceParent>>>>,
}

impl Parents {
    /// Knows no turn yet.
    pub fn new(client: Arc<dyn ConsoleClient>) -> Self {
        Self {
            client,
            known: Arc::default(),
        }
    }

    /// The trace that a turn is a part of; none where it is a trace of its own, and where nobody knows.
    pub async fn of(&self, id: ContinuationId) -> Option<TraceParent> {
        let known = self.turns().get(&id).copied();
        if let Some(parent) = known {
            return parent;
        }
        // A line of the log about a failure would name the turn, and so be asked about in its turn.
        let turn = self.client.call(GetContinuation { id }).await.ok();
        let parent = turn
            .and_then(|turn| turn.options)
            .and_then(|options| options.trace);
        let mut turns = self.turns();
        if turns.len() >= MOST_TURNS {
            turns.pop_first();
        }
        turns.insert(id, parent);
        parent
    }

    fn turns(&self) -> MutexGuard<'_, BTreeMap<ContinuationId, Option<TraceParent>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
