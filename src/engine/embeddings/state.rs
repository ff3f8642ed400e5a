//! What is known of searches by meaning: what was searched for lately, and how calls went.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::engine::lock::lock;
use crate::store::vectors::Meaning;

/// After a search that failed, turns look for words only for this long: a person is not kept waiting at each step.
const REST: Duration = Duration::from_secs(60);
/// Searches whose meaning is kept: the steps of a turn search for the same.
const KEPT: usize = 32;
/// What the engine holds of it.
#[derive(Debug, Default)]
pub struct Embeddings {
    state: Mutex<State>,
    /// Searches of the agent in memory since this process started.
    recalls: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    /// Calls that failed, since the process started.
    failures: u64,
    /// Why the last one did; none = it went well.
    error: Option<String>,
    /// When a search failed last, and why.
    rests: Option<(Instant, String)>,
    /// Meanings of the last searches.
    kept: VecDeque<(String, Arc<Meaning>)>,
}

impl Embeddings {
    /// Counts a search of the agent in memory.
    pub fn count_recall(&self) {
        self.recalls.fetch_add(1, Ordering::Relaxed);
    }

    /// Searches of the agent in memory since this process started.
    pub fn recalls(&self) -> u64 {
        self.recalls.load(Ordering::Relaxed)
    }

    /// Notes how a call ended.
    pub fn note(&self, ended: Result<(), &str>) {
        let mut state = lock(&self.state);
        match ended {
            Ok(()) => state.error = None,
            Err(why) => {
                state.failures += 1;
                state.error = Some(why.to_owned());
            }
        }
    }

    /// What a text means, where it was searched for lately.
    pub fn known(&self, text: &str) -> Option<Arc<Meaning>> {
        let state = lock(&self.state);
        let found = state.kept.iter().find(|(known, _)| known == text);
        found.map(|(_, meaning)| Arc::clone(meaning))
    }

    pub fn keep(&self, text: String, meaning: &Arc<Meaning>) {
        let mut state = lock(&self.state);
        state.rests = None;
        state.kept.truncate(KEPT - 1);
        state.kept.push_front((text, Arc::clone(meaning)));
    }

    /// Turns do not ask for a while.
    pub fn rest(&self, why: &str) {
        lock(&self.state).rests = Some((Instant::now(), why.to_owned()));
    }

    /// Calls that failed since the process started, and why the last one did; none = it went well.
    pub fn failures(&self) -> (u64, Option<String>) {
        let state = lock(&self.state);
        (state.failures, state.error.clone())
    }

    /// Why turns do not ask at the moment.
    pub fn resting(&self) -> Option<String> {
        let state = lock(&self.state);
        let (since, why) = state.rests.as_ref()?;
        (since.elapsed() < REST).then(|| why.clone())
    }
}
