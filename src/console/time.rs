//! The two clocks of the console, as data. Nothing here reads one.

use crate::clock::Timestamp;

/// Milliseconds of a clock that only moves forward. Zero is when the console started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Hash)]
pub struct Millis(pub u64);

impl Millis {
    /// Later by `millis`.
    pub fn plus(self, millis: u64) -> Self {
        Self(self.0.saturating_add(millis))
    }

    /// Milliseconds since `earlier`; zero when that is later.
    pub fn since(self, earlier: Millis) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

/// Now, by both clocks: the steady one for intervals, the wall clock for ages and deadlines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Now {
    pub steady: Millis,
    pub wall: Timestamp,
}
