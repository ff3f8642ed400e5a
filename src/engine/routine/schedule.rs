//! When a routine is due. Pure: nothing here reads the clock, and the next time is always after the one it is asked
//! about, so that no time is due twice.

use jiff::tz::TimeZone;

use crate::clock::Timestamp;
use crate::engine::routine::cron::{Cron, CronError};
use crate::protocol::ids::RoutineId;

/// Shortest interval, in seconds.
const MIN_SECONDS: i64 = 60;
/// Longest interval, in seconds.
const MAX_SECONDS: i64 = 366 * 24 * 3600;
/// Missed times that are counted; more of them are as many.
const COUNTED: u32 = 1000;

/// What is wrong with a schedule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleError {
    /// Nothing there.
    #[error("the schedule is empty")]
    Empty,
    /// Not an interval.
    #[error(
        "at character {at}: `{part}` is no length of time; expected a number with w, d, h or m, for example `every 90m`, `every 2h30m` or `every 1d`"
    )]
    Interval {
        /// Character, from 1.
        at: usize,
        /// What stands there.
        part: String,
    },
    /// Too often, or hardly ever.
    #[error("an interval is 1 minute to 366 days; this is {seconds} s")]
    Range {
        /// What it would be.
        seconds: i64,
    },
    /// A nickname that does not exist.
    #[error("`{0}` is not known; expected @hourly, @daily, @weekly, @monthly or @yearly")]
    Nickname(String),
    /// Not cron.
    #[error(transparent)]
    Cron(#[from] CronError),
}

/// The next step after any of these.
pub const HINT: &str = "examples: `0 9 * * MON-FRI` (weekdays at nine), `*/15 8-18 * * *`, `0 6 1 * *` (the first of the month), \
         `every 90m`; `leverframe routine upcoming --schedule TEXT` shows when it would run";

/// When something is due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Schedule {
    /// At these local times.
    Cron(Box<Cron>),
    /// Every so many seconds of elapsed time, counted from one due time to the next.
    Every(i64),
}

impl Schedule {
    /// Reads `every 2h30m`, a nickname like `@daily`, or five or six fields of cron.
    pub fn parse(text: &str) -> Result<Self, ScheduleError> {
        let whole = text.trim_end();
        let text = whole.trim_start();
        if text.is_empty() {
            return Err(ScheduleError::Empty);
        }
        if let Some(nickname) = text.strip_prefix('@') {
            let fields = match nickname.to_ascii_lowercase().as_str() {
                "hourly" => "0 * * * *",
                "daily" | "midnight" => "0 0 * * *",
                "weekly" => "0 0 * * 0",
                "monthly" => "0 0 1 * *",
                "yearly" | "annually" => "0 0 1 1 *",
                _ => return Err(ScheduleError::Nickname(text.chars().take(40).collect())),
            };
            return Ok(Self::Cron(Box::new(Cron::parse(fields)?)));
        }
        match text.get(..5) {
            Some(word) if word.eq_ignore_ascii_case("every") => {
                let before = whole.chars().count() - text.chars().count();
                interval(&text[5..], before + 6).map(Self::Every)
            }
            Some(_) | None => Ok(Self::Cron(Box::new(Cron::parse(whole)?))),
        }
    }

    /// The first time after `after`. An interval counts on from `last`, the time it was due last, or from `after`
    /// where it never was. None = never again.
    pub fn next_after(
        &self,
        zone: &TimeZone,
        last: Option<Timestamp>,
        after: Timestamp,
    ) -> Option<Timestamp> {
        match self {
            Self::Cron(cron) => {
                let after = jiff::Timestamp::from_millisecond(after.0).ok()?;
                let next = cron.next_after(zone, after)?;
                Some(Timestamp(next.as_millisecond()))
            }
            Self::Every(seconds) => {
                let length = seconds * 1000;
                let last = last.unwrap_or(after);
                let passed = after.0.checked_sub(last.0)?;
                let intervals = passed.div_euclid(length).max(0) + 1;
                intervals
                    .checked_mul(length)
                    .and_then(|ms| last.0.checked_add(ms))
                    .map(Timestamp)
            }
        }
    }

    /// How many times were due from `due` on until `now`, `due` included; 1000 at most.
    pub fn count(&self, zone: &TimeZone, due: Timestamp, now: Timestamp) -> u32 {
        match self {
            Self::Every(seconds) => {
                let passed = now.millis_since(due) / (seconds.unsigned_abs() * 1000);
                u32::try_from(passed + 1).unwrap_or(u32::MAX).min(COUNTED)
            }
            Self::Cron(_) => {
                let mut at = Some(due);
                let mut count = 0;
                while let Some(time) = at.filter(|time| *time <= now && count < COUNTED) {
                    count += 1;
                    at = self.next_after(zone, None, time);
                }
                count
            }
        }
    }
}

/// Seconds of a text like `2h 30m`, whose first character is character `at` of the schedule.
fn interval(text: &str, at: usize) -> Result<i64, ScheduleError> {
    let mut rest = text;
    let mut seconds: i64 = 0;
    let mut last_unit = i64::MAX;
    loop {
        rest = rest.trim_start();
        let here = at + text.chars().count() - rest.chars().count();
        if rest.is_empty() && last_unit < i64::MAX {
            break;
        }
        let part = || {
            rest.split_whitespace()
                .next()
                .unwrap_or_default()
                .chars()
                .take(40)
                .collect()
        };
        let fault = || ScheduleError::Interval {
            at: here,
            part: part(),
        };
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let number: i64 = rest[..digits].parse().map_err(|_| fault())?;
        rest = rest[digits..].trim_start();
        let letters = rest.bytes().take_while(u8::is_ascii_alphabetic).count();
        let unit = match rest[..letters].to_ascii_lowercase().as_str() {
            "w" | "week" | "weeks" => 7 * 24 * 3600,
            "d" | "day" | "days" => 24 * 3600,
            "h" | "hour" | "hours" => 3600,
            "m" | "min" | "minute" | "minutes" => 60,
            "s" | "sec" | "second" | "seconds" => 1,
            _ => return Err(fault()),
        };
        // Longest first, each once: `30m 2h` is a slip more often than meant.
        if unit >= last_unit {
            return Err(fault());
        }
        last_unit = unit;
        rest = &rest[letters..];
        seconds = seconds.saturating_add(number.saturating_mul(unit));
    }
    if (MIN_SECONDS..=MAX_SECONDS).contains(&seconds) {
        Ok(seconds)
    } else {
        Err(ScheduleError::Range { seconds })
    }
}

/// When a run that is due then really begins: `jitter_seconds` later at most, another time for every routine and
/// every run, and the same one however often it is asked.
pub fn begin_at(id: RoutineId, due: Timestamp, jitter_seconds: u32) -> Timestamp {
    let mut mix = u128::from_be_bytes(id.to_bytes()) as u64 ^ due.0.unsigned_abs();
    // The finaliser of SplitMix64.
    mix = (mix ^ mix >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mix = (mix ^ mix >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mix ^= mix >> 31;
    let delay = mix % (u64::from(jitter_seconds) * 1000 + 1);
    due.plus_millis(delay as i64)
}
