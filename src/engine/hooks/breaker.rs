//! When a hook that keeps failing is left alone. Pure: the caller says what time it is.
//!
//! After [`FAILURES`] failures in a row nothing is asked for [`REST_SECONDS`]; then one call is let through, and only
//! its success lets the others through again.

use crate::clock::Timestamp;

/// Failures in a row that open it.
pub const FAILURES: u32 = 5;
/// Seconds it stays open.
pub const REST_SECONDS: i64 = 60;

/// Whether a call may be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BreakerVerdict {
    /// Yes. Say how it ended.
    Go,
    /// No, until then, or until the one call that is being tried ended well.
    Wait(Timestamp),
}

/// How often a hook failed in a row, and what follows from it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Breaker {
    failures: u32,
    open_until: Option<Timestamp>,
    trying: bool,
}

impl Breaker {
    /// Asks for a call now.
    pub fn enter(&mut self, now: Timestamp) -> BreakerVerdict {
        match self.open_until {
            None => BreakerVerdict::Go,
            Some(until) if now < until || self.trying => BreakerVerdict::Wait(until),
            Some(_) => {
                self.trying = true;
                BreakerVerdict::Go
            }
        }
    }

    /// A call ended well.
    pub fn succeeded(&mut self) {
        *self = Self::default();
    }

    /// A call failed.
    pub fn failed(&mut self, now: Timestamp) {
        self.trying = false;
        self.failures = self.failures.saturating_add(1);
        if self.failures >= FAILURES {
            self.open_until = Some(now.plus_seconds(REST_SECONDS));
        }
    }

    /// A call was given up before it ended: it says nothing about the hook.
    pub fn given_up(&mut self) {
        self.trying = false;
    }

    /// Until when nothing is asked.
    pub fn open_until(&self) -> Option<Timestamp> {
        self.open_until
    }
}
