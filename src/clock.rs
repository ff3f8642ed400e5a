//! The only source of the current time.
//!
//! Nothing else in the crate reads the wall clock; everything that needs "now" is handed a [`Clock`],
//! so a test can move time by hand and a clock jump can be simulated. Within a process the system clock never runs
//! backwards: a wall clock that is set back must not give an approval more time than it was given.

pub mod backoff;
pub mod quiet_hours;
pub mod rate;
pub mod zone;

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// A point in time: milliseconds since the Unix epoch, UTC. Serialised as RFC 3339 text.
///
/// Timestamps are information for people and deadlines; ordering of events is by `seq`, never by time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// Day of the week, date, time to the minute and offset, in the time zone of this machine.
    pub fn in_zone(self) -> String {
        self.zoned("%a %Y-%m-%d %H:%M %:z")
    }

    /// The same without the time.
    pub fn day_in_zone(self) -> String {
        self.zoned("%a %Y-%m-%d %:z")
    }

    /// The time to the minute in the time zone of this machine, with the day where it is not the day of `now`.
    pub fn near(self, now: Timestamp) -> String {
        if self.zoned("%F") == now.zoned("%F") {
            self.zoned("%H:%M")
        } else {
            self.zoned("%b %e %H:%M")
        }
    }

    /// The moment of a day and time of this machine: `2026-12-24 18:00`. None where it is not one.
    pub fn local(text: &str) -> Option<Self> {
        let at = text.parse::<jiff::civil::DateTime>().ok()?;
        let zoned = at.to_zoned(zone::shown_in()).ok()?;
        Some(Self(zoned.timestamp().as_millisecond()))
    }

    fn zoned(self, format: &str) -> String {
        match jiff::Timestamp::from_millisecond(self.0) {
            Ok(at) => at.to_zoned(zone::shown_in()).strftime(format).to_string(),
            Err(_) => self.to_string(),
        }
    }

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

/// A local day: days since 1970-01-01. Serialised as `2026-01-31`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Day(pub i64);

impl Day {
    /// The day of a time in the time zone of this machine, in UTC where that is not known.
    pub fn local(at: Timestamp) -> Self {
        let date = jiff::Timestamp::from_millisecond(at.0).map(|at| {
            at.to_zoned(jiff::tz::TimeZone::system())
                .date()
                .to_zoned(jiff::tz::TimeZone::UTC)
        });
        match date {
            Ok(Ok(midnight)) => Self(midnight.timestamp().as_second().div_euclid(86_400)),
            Ok(Err(_)) | Err(_) => Self(at.0.div_euclid(86_400_000)),
        }
    }

    /// The days of a month, written `2026-01`: the first one, and the first one of the next month.
    pub fn of_month(text: &str) -> Option<(Self, Self)> {
        let first: jiff::civil::Date = format!("{text}-01").parse().ok()?;
        let next = first.checked_add(jiff::Span::new().months(1)).ok()?;
        Some((
            first.to_string().parse().ok()?,
            next.to_string().parse().ok()?,
        ))
    }

    /// When it begins in the time zone of this machine; none = it is out of range.
    pub fn begins(self) -> Option<Timestamp> {
        let seconds = self.0.checked_mul(86_400)?;
        let date = jiff::Timestamp::from_second(seconds)
            .ok()?
            .to_zoned(jiff::tz::TimeZone::UTC)
            .date();
        let begin = date.to_zoned(jiff::tz::TimeZone::system()).ok()?;
        Some(Timestamp(begin.timestamp().as_millisecond()))
    }
}

impl std::fmt::Display for Day {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match jiff::Timestamp::from_second(self.0.saturating_mul(86_400)) {
            Ok(at) => write!(f, "{}", at.to_zoned(jiff::tz::TimeZone::UTC).date()),
            Err(_) => write!(f, "day {}", self.0),
        }
    }
}

impl std::str::FromStr for Day {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        text.parse::<jiff::civil::Date>()
            .and_then(|date| date.to_zoned(jiff::tz::TimeZone::UTC))
            .map(|at| Self(at.timestamp().as_second().div_euclid(86_400)))
            .map_err(|error| error.to_string())
    }
}

impl JsonSchema for Day {
    fn schema_name() -> Cow<'static, str> {
        "Day".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": "date", "description": "A day of the calendar." })
    }
}

impl Serialize for Day {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Day {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
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

impl JsonSchema for Timestamp {
    fn schema_name() -> Cow<'static, str> {
        "Timestamp".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": "date-time", "description": "A moment, in UTC (RFC 3339)." })
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
    /// The machine's wall clock, or, where that was set back, the latest time seen plus the time that has really
    /// passed since. One per process.
    System,
    /// A clock that stands still until a test moves it.
    Manual(Arc<AtomicI64>),
}

impl Clock {
    /// A manual clock that starts at `start`.
    pub fn manual(start: Timestamp) -> Self {
        Clock::Manual(Arc::new(AtomicI64::new(start.0)))
    }

    /// The current time. Of the system clock: never earlier than any answer before, nor than what
    /// [`Clock::not_before`] was told.
    pub fn now(&self) -> Timestamp {
        match self {
            Clock::System => steady::now(),
            Clock::Manual(millis) => Timestamp(millis.load(Ordering::SeqCst)),
        }
    }

    /// From now on the system clock answers nothing earlier than `floor`, the newest time that was stored. A manual
    /// clock ignores it.
    pub fn not_before(&self, floor: Timestamp) {
        match self {
            Clock::System => steady::not_before(floor),
            Clock::Manual(_) => {}
        }
    }

    /// What is wrong with the machine's clock, for people: it is more than a minute behind the time that was seen
    /// before, or years behind this program. A manual clock is never wrong.
    pub fn doubt(&self) -> Option<String> {
        match self {
            Clock::System => doubt(steady::wall(), steady::now()),
            Clock::Manual(_) => None,
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

/// Before this program was written: 2026-01-01T00:00:00Z.
const TOO_EARLY: Timestamp = Timestamp(1_767_225_600_000);
/// A wall clock may be this far behind before anybody is told.
const TOLERATED_LAG_MS: u64 = 60_000;

fn doubt(wall: Timestamp, now: Timestamp) -> Option<String> {
    let behind = now.millis_since(wall);
    if behind > TOLERATED_LAG_MS {
        let minutes = (behind + 30_000) / 60_000;
        let behind = if minutes < 120 {
            format!("{minutes} min")
        } else {
            format!("{} h", (minutes + 30) / 60)
        };
        return Some(format!(
            "the system clock is {behind} behind the time seen before: deadlines go by the later one; set the clock"
        ));
    }
    (wall < TOO_EARLY).then(|| {
        "the system clock is years behind: times and deadlines count from there; set the clock"
            .to_owned()
    })
}

/// The process's one clock.
mod steady {
    use std::sync::{Mutex, PoisonError};
    use std::time::Instant;

    use crate::clock::Timestamp;

    /// A time that was told, and when by the clock that only moves forward.
    struct Anchor {
        at: Instant,
        told: Timestamp,
    }

    impl Anchor {
        fn now(&self) -> Timestamp {
            let passed = i64::try_from(self.at.elapsed().as_millis()).unwrap_or(i64::MAX);
            self.told.plus_millis(passed)
        }
    }

    static ANCHOR: Mutex<Option<Anchor>> = Mutex::new(None);

    /// What the machine says.
    pub(super) fn wall() -> Timestamp {
        let now = Timestamp(jiff::Timestamp::now().as_millisecond());
        #[cfg(feature = "test-hooks")]
        let now = now.plus_seconds(crate::clock::jump::seconds());
        now
    }

    pub(super) fn now() -> Timestamp {
        not_before(Timestamp(i64::MIN));
        let anchor = ANCHOR.lock().unwrap_or_else(PoisonError::into_inner);
        anchor.as_ref().map_or_else(wall, Anchor::now)
    }

    pub(super) fn not_before(floor: Timestamp) {
        let latest = wall().max(floor);
        let mut anchor = ANCHOR.lock().unwrap_or_else(PoisonError::into_inner);
        // Only a later time becomes the new anchor, so that rounding never adds up.
        if anchor.as_ref().is_none_or(|anchor| anchor.now() < latest) {
            *anchor = Some(Anchor {
                at: Instant::now(),
                told: latest,
            });
        }
    }
}

/// A wall clock that a test sets while the process runs.
#[cfg(feature = "test-hooks")]
pub mod jump {
    use std::path::PathBuf;
    use std::sync::OnceLock;

    static FILE: OnceLock<PathBuf> = OnceLock::new();

    /// From now on the wall clock is off by the whole seconds that this file says (none while it does not exist).
    pub fn follow(file: PathBuf) {
        let _ = FILE.set(file);
    }

    pub(super) fn seconds() -> i64 {
        FILE.get()
            .and_then(|file| std::fs::read_to_string(file).ok())
            .and_then(|text| text.trim().parse().ok())
            .unwrap_or(0)
    }
}
