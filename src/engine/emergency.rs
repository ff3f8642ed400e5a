//! Whether an emergency stop is in force, and whether the database is a restored copy in quarantine.
//!
//! Every model call, tool start and send asks here first.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::{MutexGuard, watch};

use crate::clock::Timestamp;
use crate::engine::lock::lock;
use crate::store::commands::set_emergency_stop::SetEmergencyStop;

/// An emergency stop in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActiveStop {
    pub since: Timestamp,
    /// Who and why.
    pub reason: String,
}

/// The stop state of an engine.
#[derive(Debug)]
pub struct Emergency {
    held: watch::Sender<Option<ActiveStop>>,
    /// How often a stop was pressed. It changes under the lock of `held`.
    presses: AtomicU64,
    /// Held while a stop or a release is recorded, so that store and memory see them in one order.
    recording: tokio::sync::Mutex<()>,
    quarantine: watch::Sender<bool>,
    /// A stop in force that could not be stored yet.
    unrecorded: Mutex<Option<SetEmergencyStop>>,
}

impl Emergency {
    /// As the store remembers it.
    pub fn new(held: Option<ActiveStop>) -> Self {
        Self {
            held: watch::Sender::new(held),
            presses: AtomicU64::new(0),
            recording: tokio::sync::Mutex::default(),
            quarantine: watch::Sender::new(false),
            unrecorded: Mutex::default(),
        }
    }

    /// Whether a stop is in force.
    pub fn is_held(&self) -> bool {
        self.held.borrow().is_some()
    }

    /// The stop in force.
    pub fn held(&self) -> Option<ActiveStop> {
        self.held.borrow().clone()
    }

    /// Follows stops and releases.
    pub fn changes(&self) -> watch::Receiver<Option<ActiveStop>> {
        self.held.subscribe()
    }

    /// Puts a stop in force. An earlier one stays as it is, but a release that is under way does not end it any more.
    pub fn hold(&self, stop: ActiveStop) {
        self.held.send_if_modified(|held| {
            self.presses.fetch_add(1, Ordering::SeqCst);
            let is_first = held.is_none();
            held.get_or_insert(stop);
            is_first
        });
    }

    /// How often a stop was pressed: what a release has seen.
    pub fn presses(&self) -> u64 {
        self.presses.load(Ordering::SeqCst)
    }

    /// The right to record a stop or a release, until it is dropped. A stop is in force before it has this.
    pub async fn recording(&self) -> MutexGuard<'_, ()> {
        self.recording.lock().await
    }

    /// Ends a stop, and forgets that it was still to be recorded. False = one was pressed since `seen`: it stays.
    pub fn release(&self, seen: u64) -> bool {
        let mut is_released = false;
        self.held.send_if_modified(|held| {
            is_released = self.presses() == seen;
            is_released && held.take().is_some()
        });
        if is_released {
            lock(&self.unrecorded).take();
        }
        is_released
    }

    /// Keeps a stop that the full disk could not take.
    pub fn record_later(&self, stop: SetEmergencyStop) {
        *lock(&self.unrecorded) = Some(stop);
    }

    /// Takes the stop that is still to be recorded.
    pub fn take_unrecorded(&self) -> Option<SetEmergencyStop> {
        lock(&self.unrecorded).take()
    }

    /// Whether the database is a restored copy that waits for release: no bridge connects until then.
    pub fn is_quarantined(&self) -> bool {
        *self.quarantine.borrow()
    }

    /// Follows the quarantine.
    pub fn quarantine_changes(&self) -> watch::Receiver<bool> {
        self.quarantine.subscribe()
    }

    /// Begins or ends the quarantine.
    pub fn set_quarantine(&self, quarantine: bool) {
        self.quarantine.send_replace(quarantine);
    }
}
