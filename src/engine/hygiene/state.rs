//! Who may tidy the memory now, and what stands in the way.

use std::sync::Mutex;
use std::time::Duration;

use tokio::sync::MutexGuard;

use crate::engine::lock::lock;

/// How long somebody waits for the one before: what a start takes up is short.
const PATIENCE: Duration = Duration::from_secs(1);
/// What the engine holds of it.
#[derive(Debug, Default)]
pub struct Hygiene {
    /// Held while a run or an undo is under way, and while a start takes up what was left.
    one: tokio::sync::Mutex<()>,
    /// Why the last run by itself was not begun.
    problem: Mutex<Option<String>>,
}

impl Hygiene {
    /// Notes what stands in its way, for people; none = nothing does.
    pub fn set_problem(&self, problem: Option<String>) {
        *lock(&self.problem) = problem;
    }

    /// What stands in its way, for people.
    pub fn problem(&self) -> Option<String> {
        lock(&self.problem).clone()
    }

    /// Whether a run or an undo is under way.
    pub fn is_running(&self) -> bool {
        self.one.try_lock().is_err()
    }

    /// The right to be the only one, until it is dropped; none = somebody has it for longer than `PATIENCE`.
    pub async fn only(&self) -> Option<MutexGuard<'_, ()>> {
        tokio::time::timeout(PATIENCE, self.one.lock()).await.ok()
    }
}
