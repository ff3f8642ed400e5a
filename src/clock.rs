//! The only source of the current time.
//!
//! Nothing else in the crate reads the wall clock; everything that needs "now" is handed a [`Clock`],
//! so a test can move time by hand and a clock jump can be simulated.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use serde::{Deserialize, Serialize};

/// A point in time: milliseconds since the Unix epoch, UTC. Serialised as RFC 3339 text.
///
/// Timestamps are information for people and deadlines; ordering of events is by `seq`, never by time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// Milliseconds since the Unix epoch.
    pub fn as_millis(self) -> i64 {
        self.0
    }

    /// This time moved by `millis` (may be negative), saturating at the ends of the range.
    pub fn plus_millis(self, millis: i64) -> Self {
        Self(self.0.saturating_add(millis))
    }

    /// This time moved by `seconds` (may be negative), saturating.
    pub fn plus_seconds(self, seconds: i64) -> Self {
        self.plus_millis(seconds.saturating_mul(1000))
    }

    /// Milliseconds from `earlier` to `self`, zero when `earlier` is later.
    pub fn millis_since(self, earlier: Timestamp) -> u64 {
        u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0)
    }
}

impl std::fmt::Display for Timestamp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match jiff::Timestamp::from_millisecond(self.0) {
            Ok(at) => write!(f, "{at}"),
            Err(_) => write!(f, "{}ms", self.0),
        }
    }
}

impl Serialize for Timestamp {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse::<jiff::Timestamp>()
            .map(|at| Timestamp(at.as_millisecond()))
            .map_err(serde::de::Error::custom)
    }
}

/// Where "now" comes from. Cheap to clone; all clones of a manual clock share the same time.
#[derive(Debug, Clone)]
pub enum Clock {
    /// The machine's wall clock.
    System,
    /// A clock that stands still until a test moves it.
    Manual(Arc<AtomicI64>),
}

impl Clock {
    /// A manual clock that starts at `start`.
    pub fn manual(start: Timestamp) -> Self {
        Clock::Manual(Arc::new(AtomicI64::new(start.0)))
    }

    /// The current time.
    pub fn now(&self) -> Timestamp {
        match self {
            Clock::System => Timestamp(jiff::Timestamp::now().as_millisecond()),
            Clock::Manual(millis) => Timestamp(millis.load(Ordering::SeqCst)),
        }
    }

    /// Moves a manual clock; the system clock ignores it.
    pub fn advance_millis(&self, by: i64) {
        match self {
            Clock::System => {}
            Clock::Manual(millis) => {
                millis.fetch_add(by, Ordering::SeqCst);
            }
        }
    }
}
