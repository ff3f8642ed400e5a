//! How the last try went.

use std::sync::Mutex;

use tokio::sync::Notify;

use crate::clock::Timestamp;
use crate::engine::lock::lock;

/// A try that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedTry {
    /// Why.
    pub why: String,
    /// When.
    pub at: Timestamp,
    /// When it is tried again.
    pub again_at: Timestamp,
}

/// What the engine holds of the backups that it makes by itself.
#[derive(Debug, Default)]
pub struct Backups {
    failed: Mutex<Option<FailedTry>>,
    changed: Notify,
}

impl Backups {
    /// The last try, if it failed.
    pub fn failed(&self) -> Option<FailedTry> {
        lock(&self.failed).clone()
    }

    /// Notes how a try went; none = well.
    pub fn set_failed(&self, failed: Option<FailedTry>) {
        *lock(&self.failed) = failed;
    }

    /// What stands in the way, for people.
    pub fn problem(&self) -> Option<String> {
        self.failed()
            .map(|failed| format!("the backup of {} was not made: {}", failed.at, failed.why))
    }

    /// The configuration was read again: what failed is tried at once.
    pub fn configuration_changed(&self) {
        self.changed.notify_one();
    }

    /// Waits for [`Backups::configuration_changed`]. Cancel-safe.
    pub async fn until_configuration_changes(&self) {
        self.changed.notified().await;
    }
}
