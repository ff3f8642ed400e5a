//! Hours of the day in which nobody is to be disturbed. Nothing here reads the clock.

use jiff::Zoned;
use jiff::civil::{Date, Time};
use jiff::tz::TimeZone;

use crate::clock::Timestamp;

/// A time of each day, in a time zone. It may pass midnight.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuietHours {
    from: Time,
    to: Time,
    zone: TimeZone,
}

impl QuietHours {
    /// Reads `22:00-07:00`. The first time belongs to the quiet hours, the second does not.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub fn new(text: &str, zone: TimeZone) -> Result<Self, String> {
        let (from, to) = text
            .split_once('-')
            .ok_or_else(|| format!("`{text}` has no `-` between two times"))?;
        let (from, to) = (time(from)?, time(to)?);
        if from == to {
            return Err(format!("`{text}` begins when it ends"));
        }
        Ok(Self { from, to, zone })
    }

    /// When the quiet hours end that this time is in; none = it is in none.
    pub fn end(&self, at: Timestamp) -> Option<Timestamp> {
        let local = self.local(at)?;
        let (date, time) = (local.date(), local.time());
        let past_midnight = self.from > self.to;
        let ends_on = if past_midnight && time >= self.from {
            date.tomorrow().ok()?
        } else if time < self.to && (past_midnight || time >= self.from) {
            date
        } else {
            return None;
        };
        // In an hour that comes twice the second one counts.
        let end = self.instant(ends_on, self.to, |ambiguous| ambiguous.later())?;
        Some(end.max(at.plus_millis(1)))
    }

    /// When quiet hours begin next, after this time.
    pub fn next_start(&self, at: Timestamp) -> Option<Timestamp> {
        let local = self.local(at)?;
        let mut day = local.date();
        // A zone can leave out a day at most.
        for _ in 0..3 {
            let start = self.instant(day, self.from, |ambiguous| ambiguous.earlier())?;
            if start > at {
                return Some(start);
            }
            day = day.tomorrow().ok()?;
        }
        None
    }

    /// A time of day as people of this zone write it: `07:00`.
    pub fn clock(&self, at: Timestamp) -> String {
        self.local(at).map_or_else(
            || at.to_string(),
            |local| local.strftime("%H:%M %Z").to_string(),
        )
    }

    fn local(&self, at: Timestamp) -> Option<Zoned> {
        let at = jiff::Timestamp::from_millisecond(at.0).ok()?;
        Some(at.to_zoned(self.zone.clone()))
    }

    fn instant(
        &self,
        date: Date,
        time: Time,
        choose: impl FnOnce(jiff::tz::AmbiguousZoned) -> Result<Zoned, jiff::Error>,
    ) -> Option<Timestamp> {
        let ambiguous = self.zone.to_ambiguous_zoned(date.to_datetime(time));
        let zoned = choose(ambiguous).ok()?;
        Some(Timestamp(zoned.timestamp().as_millisecond()))
    }
}

fn time(text: &str) -> Result<Time, String> {
    let text = text.trim();
    let parts = text.split_once(':').and_then(|(hour, minute)| {
        let digits = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_digit());
        (digits(hour) && minute.len() == 2 && digits(minute))
            .then(|| Time::new(hour.parse().ok()?, minute.parse().ok()?, 0, 0).ok())
            .flatten()
    });
    parts.ok_or_else(|| format!("`{text}` is not a time of day"))
}

/// The quiet hours of a channel and of the people who are asked there.
#[derive(Debug, Clone, Default)]
pub struct QuietTimes<'a> {
    /// Of the channel.
    pub channel: Option<&'a QuietHours>,
    /// Of each person who is asked; none = this person has no quiet hours.
    pub people: Vec<Option<&'a QuietHours>>,
}

/// Steps that a deadline is looked for in, at most: a month of quiet hours of the channel and of nine people.
const STEPS: usize = 1_000;

impl QuietTimes<'_> {
    /// When somebody may be disturbed again; none = somebody may at this time. Where nobody is asked the channel
    /// decides.
    pub fn end(&self, at: Timestamp) -> Option<Timestamp> {
        if let Some(end) = self.channel.and_then(|hours| hours.end(at)) {
            return Some(end);
        }
        let ends: Option<Vec<Timestamp>> = self
            .people
            .iter()
            .map(|hours| hours.and_then(|hours| hours.end(at)))
            .collect();
        ends?.into_iter().min()
    }

    fn next_start(&self, at: Timestamp) -> Option<Timestamp> {
        let people = self.people.iter().copied().flatten();
        self.channel
            .into_iter()
            .chain(people)
            .filter_map(|hours| hours.next_start(at))
            .min()
    }

    /// When so many seconds have passed outside quiet hours.
    pub fn deadline(&self, from: Timestamp, seconds: i64) -> Timestamp {
        let mut at = from;
        let mut left = seconds.saturating_mul(1000);
        for _ in 0..STEPS {
            if let Some(end) = self.end(at) {
                at = end;
                continue;
            }
            let done = at.plus_millis(left);
            match self.next_start(at) {
                Some(start) if start < done => {
                    left -= start.0.saturating_sub(at.0);
                    at = start;
                }
                Some(_) | None => return done,
            }
        }
        at.plus_millis(left)
    }
}
