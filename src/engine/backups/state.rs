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
    broken_rules: Mutex<Vec<String>>,
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

    /// The rules that the database of the newest checked backup breaks; empty = none.
    pub fn broken_rules(&self) -> Vec<String> {
        lock(&self.broken_rules).clone()
    }

    /// Notes the rules that the database of a backup breaks.
    pub fn set_broken_rules(&self, rules: Vec<String>) {
        *lock(&self.broken_rules) = rules;
    }

    /// What stands in the way, for people.
    pub fn problem(&self) -> Option<String> {
        if let Some(failed) = self.failed() {
            return Some(format!(
                "the backup of {} was not made: {}",
                failed.at, failed.why
            ));
        }
        let rules = self.broken_rules();
        (!rules.is_empty()).then(|| {
            format!(
                "the newest backup was made, but its database breaks rules: {}",
                rules.join("; ")
            )
        })
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
