//! The queries of the current screen, and when it may send them again.
//!
//! No round of questions begins before the last one is answered.

use crate::console::time::Millis;
use crate::protocol::request::Query;
use crate::tui::state::screen::Screen;

/// Least milliseconds between two rounds of questions that events caused.
const PAUSE_MS: u64 = 500;

/// Questions of the screen that is shown.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct InFlightQueries {
    /// What it shows may be old.
    pub(super) stale: bool,
    /// Asked and not answered.
    pub(super) open: Vec<(Screen, Query)>,
    /// When it was asked last.
    pub(super) asked: Option<Millis>,
}

impl InFlightQueries {
    /// Ask as soon as may be.
    pub fn now(&mut self) {
        self.stale = true;
        self.asked = None;
    }

    /// Something that concerns the screen happened.
    pub fn later(&mut self) {
        self.stale = true;
    }

    /// Ask again when the last round is so many milliseconds old.
    pub fn poll(&mut self, steady: Millis, every_ms: u64) {
        self.stale |= self.asked.is_some_and(|at| steady.since(at) >= every_ms);
    }

    /// Whether answers are awaited for this screen.
    pub fn is_open(&self, screen: Screen) -> bool {
        self.open.iter().any(|(asker, _)| *asker == screen)
    }

    /// Whether an answer to this is awaited.
    pub fn has(&self, query: &Query) -> bool {
        self.open.iter().any(|(_, asked)| asked == query)
    }

    /// Whose question this was.
    pub(super) fn answered(&mut self, query: &Query) -> Option<Screen> {
        let at = self.open.iter().position(|(_, asked)| asked == query)?;
        Some(self.open.remove(at).0)
    }

    /// Nothing that was asked is answered any more.
    pub fn lost(&mut self) {
        self.open.clear();
        self.now();
    }

    /// When the next round may be asked for this screen; none = nothing is to be asked.
    pub fn due(&self, screen: Screen) -> Option<Millis> {
        (self.stale && !self.is_open(screen))
            .then(|| self.asked.map_or(Millis(0), |at| at.plus(PAUSE_MS)))
    }
}
