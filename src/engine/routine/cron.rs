//! The fields of a cron expression, and when they come next. Pure.
//!
//! Written here because what is wrong in a text is named by field and position, and because what a schedule does
//! where a clock is put forward or back is a promise to its owner:
//!
//! - A time that does not exist is made up for at the first moment after the gap; several of one gap become one run.
//! - A time that exists twice runs once, the first time.
//! - A schedule for every hour (its hour field begins with `*`) is one of elapsed time: it skips what does not exist
//!   and runs in both of two equal hours.

use jiff::civil::Date;
use jiff::tz::{AmbiguousOffset, AmbiguousTimestamp, TimeZone};
use jiff::{Timestamp, ToSpan as _};

/// Days looked through: a fifth Monday in February comes every 28 years, and every 40 around 2100.
const DAYS: u32 = 41 * 366;

/// What is wrong with a cron expression.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CronError {
    /// Too few or too many fields.
    #[error(
        "a cron schedule has five fields (minute hour day month weekday), or six with seconds before them; this has {0}"
    )]
    Fields(usize),
    /// A field is wrong.
    #[error("field {field} ({name}) at character {at}: `{part}` {wrong}; {expected}")]
    Field {
        /// From 1, as written.
        field: usize,
        name: &'static str,
        /// Character of the text, from 1.
        at: usize,
        /// The part that is wrong.
        part: String,
        wrong: &'static str,
        /// What is expected there, with an example.
        expected: &'static str,
    },
    /// No day matches, ever.
    #[error("no date matches the fields day `{day}` and month `{month}`: it would never run")]
    Never { day: String, month: String },
}

/// What a field allows.
struct Spec {
    name: &'static str,
    min: u8,
    max: u8,
    names: &'static [&'static str],
    expected: &'static str,
}

const SECOND: Spec = Spec {
    name: "second",
    min: 0,
    max: 59,
    names: &[],
    expected: "expected one number from 0 to 59, for example 0 (a routine runs once a minute at most)",
};
const MINUTE: Spec = Spec {
    name: "minute",
    min: 0,
    max: 59,
    names: &[],
    expected: "expected 0 to 59, a range, a list, * or a step, for example 30, 0,30 or */15",
};
const HOUR: Spec = Spec {
    name: "hour",
    min: 0,
    max: 23,
    names: &[],
    expected: "expected 0 to 23, a range, a list, * or a step, for example 9, 8-18 or */2",
};
const DAY: Spec = Spec {
    name: "day of month",
    min: 1,
    max: 31,
    names: &[],
    expected: "expected 1 to 31, L (the last), a range, a list, * or a step, for example 1,15 or L",
};
const MONTH: Spec = Spec {
    name: "month",
    min: 1,
    max: 12,
    names: &[
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ],
    expected: "expected 1 to 12 or JAN to DEC, a range, a list, * or a step, for example 3-9 or JAN,JUL",
};
const WEEKDAY: Spec = Spec {
    name: "weekday",
    min: 0,
    max: 7,
    names: &["sun", "mon", "tue", "wed", "thu", "fri", "sat"],
    expected: "expected 0 to 7 or SUN to SAT (0 and 7 are Sunday), a range, a list, *, 1#2 (the second Monday) or \
               5L (the last Friday), for example MON-FRI",
};

/// A parsed expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cron {
    second: u8,
    minutes: u64,
    hours: u64,
    days: u64,
    last_day: bool,
    months: u64,
    weekdays: u64,
    /// Weekdays by their number in the month, first to fifth, then the last.
    numbered: [u64; 6],
    any_day: bool,
    any_weekday: bool,
    every_hour: bool,
}

/// One field under way.
struct Reading<'a> {
    spec: &'static Spec,
    field: usize,
    at: usize,
    part: &'a str,
}

impl Reading<'_> {
    fn wrong(&self, wrong: &'static str) -> CronError {
        CronError::Field {
            field: self.field,
            name: self.spec.name,
            at: self.at,
            part: self.part.chars().take(40).collect(),
            wrong,
            expected: self.spec.expected,
        }
    }

    fn value(&self, text: &str) -> Result<u8, CronError> {
        let named = self
            .spec
            .names
            .iter()
            .position(|name| text.eq_ignore_ascii_case(name));
        if let Some(index) = named {
            return Ok(index as u8 + self.spec.min);
        }
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(self.wrong("is not understood"));
        }
        text.parse()
            .ok()
            .filter(|value| (self.spec.min..=self.spec.max).contains(value))
            .ok_or_else(|| self.wrong("is out of range"))
    }

    /// `*`, `5`, `1-5`, each with `/STEP`.
    fn range(&self) -> Result<u64, CronError> {
        let (range, step) = match self.part.split_once('/') {
            Some((range, step)) => {
                let step = step.parse::<u8>().ok().filter(|step| *step > 0);
                (
                    range,
                    Some(step.ok_or_else(|| self.wrong("has no step above 0"))?),
                )
            }
            None => (self.part, None),
        };
        let (first, last) = match (range, range.split_once('-')) {
            ("*", _) => (self.spec.min, self.spec.max),
            (_, Some((first, last))) => (self.value(first)?, self.value(last)?),
            (_, None) => {
                let first = self.value(range)?;
                (first, if step.is_some() { self.spec.max } else { first })
            }
        };
        if first > last {
            return Err(self.wrong("runs backwards"));
        }
        Ok((first..=last)
            .step_by(usize::from(step.unwrap_or(1)))
            .fold(0, |bits, value| bits | 1 << value))
    }
}

/// Sunday is 0, also where it is written 7.
fn sunday(bits: u64) -> u64 {
    (bits | bits >> 7) & 0x7f
}

impl Cron {
    /// Reads five fields, or six with the second before them.
    pub fn parse(text: &str) -> Result<Self, CronError> {
        let mut fields: Vec<(usize, &str)> = Vec::new();
        let mut at = 1;
        for field in text.split(char::is_whitespace) {
            if !field.is_empty() {
                fields.push((at, field));
            }
            at += field.chars().count() + 1;
        }
        let (second, rest) = match fields.len() {
            5 => (0, &fields[..]),
            6 => {
                let (at, part) = fields[0];
                let reading = Reading {
                    spec: &SECOND,
                    field: 1,
                    at,
                    part,
                };
                (reading.value(part)?, &fields[1..])
            }
            other => return Err(CronError::Fields(other)),
        };
        let mut cron = Self {
            second,
            minutes: 0,
            hours: 0,
            days: 0,
            last_day: false,
            months: 0,
            weekdays: 0,
            numbered: [0; 6],
            any_day: rest[2].1.starts_with(['*', '?']),
            any_weekday: rest[4].1.starts_with(['*', '?']),
            every_hour: rest[1].1.starts_with('*'),
        };
        let before = fields.len() - rest.len();
        for (index, spec) in [&MINUTE, &HOUR, &DAY, &MONTH, &WEEKDAY]
            .into_iter()
            .enumerate()
        {
            let (mut at, field) = rest[index];
            for part in field.split(',') {
                let reading = Reading {
                    spec,
                    field: before + index + 1,
                    at,
                    part,
                };
                cron.add(index, &reading)?;
                at += part.chars().count() + 1;
            }
        }
        cron.weekdays = sunday(cron.weekdays);
        // Every date of a leap year and a common one comes round within the days that are looked through.
        let from = jiff::civil::date(2026, 1, 1);
        if cron.next_day(from).is_none() {
            return Err(CronError::Never {
                day: rest[2].1.to_owned(),
                month: rest[3].1.to_owned(),
            });
        }
        Ok(cron)
    }

    fn add(&mut self, index: usize, reading: &Reading<'_>) -> Result<(), CronError> {
        let part = reading.part;
        match index {
            0 => self.minutes |= reading.range()?,
            1 => self.hours |= reading.range()?,
            2 if part.eq_ignore_ascii_case("l") => self.last_day = true,
            2 | 4 if part == "?" => {
                let all = if index == 2 {
                    &mut self.days
                } else {
                    &mut self.weekdays
                };
                *all = u64::MAX;
            }
            2 => self.days |= reading.range()?,
            3 => self.months |= reading.range()?,
            _ => {
                let numbered = match part.split_once('#') {
                    Some((weekday, number)) => {
                        let number = number.parse::<usize>().ok().filter(|n| (1..=5).contains(n));
                        let number = number
                            .ok_or_else(|| reading.wrong("has no number from 1 to 5 behind #"))?;
                        Some((number - 1, weekday))
                    }
                    None => part
                        .strip_suffix(['L', 'l'])
                        .filter(|weekday| !weekday.is_empty())
                        .map(|weekday| (5, weekday)),
                };
                match numbered {
                    Some((number, weekday)) => {
                        self.numbered[number] |= sunday(1 << reading.value(weekday)?);
                    }
                    None => self.weekdays |= reading.range()?,
                }
            }
        }
        Ok(())
    }

    fn matches(&self, date: Date) -> bool {
        if self.months >> date.month() & 1 == 0 {
            return false;
        }
        let day = date.day() as u8;
        let last = date.days_in_month() as u8;
        let by_day = self.days >> day & 1 == 1 || (self.last_day && day == last);
        let weekday = date.weekday().to_sunday_zero_offset() as u8;
        let nth = self.numbered[usize::from((day - 1) / 7)];
        let of_last = if day + 7 > last { self.numbered[5] } else { 0 };
        let by_weekday = (self.weekdays | nth | of_last) >> weekday & 1 == 1;
        // As every cron does it: where both are restricted, either is enough.
        if self.any_day || self.any_weekday {
            by_day && by_weekday
        } else {
            by_day || by_weekday
        }
    }

    /// The first matching day from here on.
    fn next_day(&self, from: Date) -> Option<Date> {
        let mut date = from;
        for _ in 0..DAYS {
            if self.matches(date) {
                return Some(date);
            }
            date = date.tomorrow().ok()?;
        }
        None
    }

    /// The next time after `after`; none = never again.
    pub fn next_after(&self, zone: &TimeZone, after: Timestamp) -> Option<Timestamp> {
        // The day before too: what a gap at midnight swallowed runs after it.
        let mut day = zone.to_datetime(after).date().yesterday().ok()?;
        loop {
            day = self.next_day(day)?;
            if let Some(found) = self.on(day, zone, after) {
                // Where clocks change around midnight, the day after may come first.
                let next = day.tomorrow().ok().filter(|next| self.matches(*next));
                let other = next.and_then(|next| self.on(next, zone, after));
                return Some(other.map_or(found, |other| found.min(other)));
            }
            day = day.tomorrow().ok()?;
        }
    }

    /// The first time after `after` among those of one day.
    fn on(&self, date: Date, zone: &TimeZone, after: Timestamp) -> Option<Timestamp> {
        let midnight = date.at(0, 0, 0, 0);
        let end = midnight.checked_add(1.day()).ok()?;
        let at = |ambiguous: AmbiguousOffset| match ambiguous {
            AmbiguousOffset::Unambiguous { offset } => Some(offset),
            AmbiguousOffset::Gap { .. } | AmbiguousOffset::Fold { .. } => None,
        };
        let starts = at(zone.to_ambiguous_timestamp(midnight).offset());
        let ends = at(zone.to_ambiguous_timestamp(end).offset());
        let times = (0..24_i8)
            .filter(|hour| self.hours >> hour & 1 == 1)
            .flat_map(|hour| {
                (0..60_i8)
                    .filter(|minute| self.minutes >> minute & 1 == 1)
                    .map(move |minute| date.at(hour, minute, self.second as i8, 0))
            });
        if let (Some(offset), Some(other)) = (starts, ends)
            && offset == other
        {
            // No clock is changed on this day.
            return times
                .filter_map(|time| offset.to_timestamp(time).ok())
                .find(|time| *time > after);
        }
        times
            .flat_map(|time| self.resolve(zone, zone.to_ambiguous_timestamp(time)))
            .flatten()
            .filter(|time| *time > after)
            .min()
    }

    /// When a local time of a day on which clocks change comes.
    fn resolve(&self, zone: &TimeZone, time: AmbiguousTimestamp) -> [Option<Timestamp>; 2] {
        match time.offset() {
            AmbiguousOffset::Unambiguous { .. } => [time.unambiguous().ok(), None],
            AmbiguousOffset::Gap { .. } if self.every_hour => [None; 2],
            AmbiguousOffset::Fold { .. } if self.every_hour => {
                [time.earlier().ok(), time.later().ok()]
            }
            // The moment at which the clock is put forward: read by the new offset, the time lies before it.
            AmbiguousOffset::Gap { .. } => {
                let before = time.earlier().ok();
                [before.and_then(|before| change_after(zone, before)), None]
            }
            AmbiguousOffset::Fold { .. } => [time.earlier().ok(), None],
        }
    }
}

fn change_after(zone: &TimeZone, before: Timestamp) -> Option<Timestamp> {
    zone.following(before)
        .next()
        .map(|change| change.timestamp())
}
