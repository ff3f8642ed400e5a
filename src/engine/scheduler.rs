//! The bells of the tasks that sleep until something is due: deadlines, routines, and notices that work goes on.

use std::sync::Mutex;

use tokio::sync::Notify;

use crate::clock::Timestamp;
use crate::engine::lock::lock;

/// Who is rung when what is due changes.
#[derive(Debug, Default)]
pub struct Scheduler {
    deadlines: Notify,
    routines: Notify,
    turns: Notify,
    next_routine: Mutex<Option<(String, Timestamp)>>,
}

impl Scheduler {
    /// Approvals or other deadlines changed: the deadline task looks again.
    pub fn deadlines_changed(&self) {
        self.deadlines.notify_one();
    }

    /// Waits for [`Scheduler::deadlines_changed`]. Cancel-safe.
    pub async fn until_deadlines_change(&self) {
        self.deadlines.notified().await;
    }

    /// Routines changed: their task looks again.
    pub fn routines_changed(&self) {
        self.routines.notify_one();
    }

    /// Waits for [`Scheduler::routines_changed`]. Cancel-safe.
    pub async fn until_routines_change(&self) {
        self.routines.notified().await;
    }

    /// A turn has come, or goes on.
    pub fn turn_came(&self) {
        self.turns.notify_one();
    }

    /// Waits for [`Scheduler::turn_came`]. Cancel-safe.
    pub async fn until_turn_comes(&self) {
        self.turns.notified().await;
    }

    /// The routine that begins next, and when.
    pub fn next_routine(&self) -> Option<(String, Timestamp)> {
        lock(&self.next_routine).clone()
    }

    /// Notes which routine begins next; whether that is news.
    pub fn set_next_routine(&self, next: Option<(String, Timestamp)>) -> bool {
        let mut known = lock(&self.next_routine);
        let is_news = *known != next;
        *known = next;
        is_news
    }
}
