//! When to draw. Pure: time goes in, a decision comes out. Nothing changed = no frame, ever.

use crate::console::time::Millis;

/// Least time between two frames that nobody typed for: 30 a second.
const STREAM_INTERVAL: u64 = 33;

/// Why a frame is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// Somebody pressed a key or resized: now.
    Now,
    /// Something arrived: soon.
    Soon,
}

/// Decides when the next frame is drawn.
#[derive(Debug, Clone, Default)]
pub struct FrameScheduler {
    last: Option<Millis>,
    due: Option<Millis>,
}

impl FrameScheduler {
    /// Asks for a frame.
    pub fn request(&mut self, wanted: Wanted, now: Millis) {
        let at = match (wanted, self.last) {
            (Wanted::Now, _) | (Wanted::Soon, None) => now,
            (Wanted::Soon, Some(last)) => now.max(last.plus(STREAM_INTERVAL)),
        };
        self.request_at(at);
    }

    /// Asks for a frame at a time.
    pub fn request_at(&mut self, at: Millis) {
        self.due = Some(self.due.map_or(at, |due| due.min(at)));
    }

    /// When to draw next, when at all.
    pub fn due(&self) -> Option<Millis> {
        self.due
    }

    pub fn is_due(&self, now: Millis) -> bool {
        self.due.is_some_and(|due| due <= now)
    }

    /// A frame was drawn.
    pub fn drawn(&mut self, now: Millis) {
        self.last = Some(now);
        self.due = None;
    }
}
