//! Work that only one may do at a time, and what consoles were told of problems.

use std::sync::{Arc, Mutex};

use tokio::sync::{MutexGuard, OwnedMutexGuard};

use crate::engine::lock::lock;

/// The rights to the work that only one may do.
#[derive(Debug, Default)]
pub struct Maintenance {
    backup: tokio::sync::Mutex<()>,
    sweep: tokio::sync::Mutex<()>,
    reload: tokio::sync::Mutex<()>,
    rehearsal: Arc<tokio::sync::Mutex<()>>,
    told_problems: Mutex<Vec<String>>,
}

impl Maintenance {
    /// The right to write a backup, until it is dropped; none = one is being written.
    pub fn try_backup(&self) -> Option<MutexGuard<'_, ()>> {
        self.backup.try_lock().ok()
    }

    /// The right to remove what is old or to be erased, until it is dropped; none = that is under way.
    pub fn try_sweep(&self) -> Option<MutexGuard<'_, ()>> {
        self.sweep.try_lock().ok()
    }

    /// The right to rehearse a command, until it is dropped; none = one is being rehearsed.
    pub fn try_rehearsal(&self) -> Option<OwnedMutexGuard<()>> {
        Arc::clone(&self.rehearsal).try_lock_owned().ok()
    }

    /// The right to change the configuration, until it is dropped.
    pub async fn reload(&self) -> MutexGuard<'_, ()> {
        self.reload.lock().await
    }

    /// Whether consoles were told of exactly these problems.
    pub fn told(&self, problems: &[String]) -> bool {
        *lock(&self.told_problems) == problems
    }

    /// Notes what consoles were told.
    pub fn note_told(&self, problems: Vec<String>) {
        *lock(&self.told_problems) = problems;
    }
}
