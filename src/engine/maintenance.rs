//! Work that only one may do at a time, and what consoles were told of the engine.

use std::sync::{Arc, Mutex};

use tokio::sync::{MutexGuard, OwnedMutexGuard};

use crate::clock::Day;
use crate::engine::lock::lock;

/// What consoles know of the engine.
#[derive(Debug, Default)]
struct Announcement {
    problems: Vec<String>,
    /// The day whose spending they show; none = each of them began with a snapshot of this day.
    day: Option<Day>,
}

/// The rights to the work that only one may do.
#[derive(Debug, Default)]
pub struct Maintenance {
    backup: tokio::sync::Mutex<()>,
    sweep: tokio::sync::Mutex<()>,
    reload: tokio::sync::Mutex<()>,
    rehearsal: Arc<tokio::sync::Mutex<()>>,
    announced: Mutex<Announcement>,
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

    /// Whether consoles know exactly these problems, and that this is the day.
    pub fn is_announced(&self, problems: &[String], today: Day) -> bool {
        let mut announced = lock(&self.announced);
        let day = *announced.day.get_or_insert(today);
        announced.problems == problems && day == today
    }

    /// Notes what consoles were told.
    pub fn note_announced(&self, problems: Vec<String>, today: Day) {
        *lock(&self.announced) = Announcement {
            problems,
            day: Some(today),
        };
    }
}
