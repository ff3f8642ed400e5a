//! Spans of time as people count them: clock hours, local days, weeks from Monday. A day of 23 or 25 hours is one day.

use jiff::tz::TimeZone;
use jiff::{Span, Timestamp as Moment, Unit, Zoned, ZonedRound};

use crate::clock::Timestamp;
use crate::protocol::enums::StatsStep;
use crate::protocol::problem::Problem;
use crate::protocol::stats::{MOST_SPANS, StatsSpan};

/// Spans when no beginning is asked for.
const DEFAULT_SPANS: i64 = 30;

/// The spans from the one that holds `since` to the one that ends at `until` or later.
pub fn spans(
    step: StatsStep,
    since: Option<Timestamp>,
    until: Timestamp,
    zone: &TimeZone,
) -> Result<Vec<StatsSpan>, Problem> {
    if let Some(since) = since
        && since >= until
    {
        return Err(Problem::invalid(format!(
            "`since` ({since}) is not before `until` ({until})"
        )));
    }
    walk(step, since, until, zone)
        .map_err(|error| Problem::invalid(format!("`since` or `until` is out of range: {error}")))
        .and_then(|spans| {
            if spans.len() > MOST_SPANS {
                return Err(Problem::invalid(format!(
                    "more than {MOST_SPANS} spans of a{} {step} lie between `since` and `until`: take a longer `step` or \
                     a later `since`",
                    if step == StatsStep::Hour { "n" } else { "" }
                )));
            }
            Ok(spans)
        })
}

fn walk(
    step: StatsStep,
    since: Option<Timestamp>,
    until: Timestamp,
    zone: &TimeZone,
) -> Result<Vec<StatsSpan>, jiff::Error> {
    let zoned = |at: Timestamp| Moment::from_millisecond(at.0).map(|at| at.to_zoned(zone.clone()));
    let mut from = match since {
        Some(since) => begin(step, &zoned(since)?)?,
        None => {
            let last = begin(step, &zoned(until.plus_millis(-1))?)?;
            let back = length(step).checked_mul(1 - DEFAULT_SPANS)?;
            begin(step, &last.checked_add(back)?)?
        }
    };
    let mut spans = Vec::new();
    while at(&from) < until && spans.len() <= MOST_SPANS {
        let next = begin(step, &from.checked_add(length(step))?)?;
        spans.push(StatsSpan {
            from: at(&from),
            until: at(&next),
        });
        from = next;
    }
    Ok(spans)
}

fn at(zoned: &Zoned) -> Timestamp {
    Timestamp(zoned.timestamp().as_millisecond())
}

fn length(step: StatsStep) -> Span {
    match step {
        StatsStep::Hour => Span::new().hours(1),
        StatsStep::Day => Span::new().days(1),
        StatsStep::Week => Span::new().weeks(1),
    }
}

/// When the span begins that holds a time.
fn begin(step: StatsStep, at: &Zoned) -> Result<Zoned, jiff::Error> {
    match step {
        StatsStep::Hour => at.round(
            ZonedRound::new()
                .smallest(Unit::Hour)
                .mode(jiff::RoundMode::Trunc),
        ),
        StatsStep::Day => at.start_of_day(),
        StatsStep::Week => {
            let since_monday = i64::from(at.weekday().to_monday_zero_offset());
            let monday = at.date().checked_sub(Span::new().days(since_monday))?;
            monday.to_zoned(at.time_zone().clone())?.start_of_day()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(text: &str) -> Timestamp {
        Timestamp(text.parse::<Moment>().unwrap().as_millisecond())
    }

    fn lengths(step: StatsStep, since: &str, until: &str, zone: &str) -> Vec<u64> {
        let zone = TimeZone::get(zone).unwrap();
        let spans = spans(step, Some(time(since)), time(until), &zone).unwrap();
        for pair in spans.windows(2) {
            assert_eq!(pair[0].until, pair[1].from);
        }
        assert!(spans[0].from <= time(since));
        let last = spans.last().unwrap();
        assert!(last.from < time(until) && last.until >= time(until));
        spans
            .iter()
            .map(|span| span.until.millis_since(span.from) / 3_600_000)
            .collect()
    }

    #[test]
    fn a_day_is_as_long_as_its_clock_says() {
        let (since, until) = ("2026-10-24T12:00:00Z", "2026-10-26T12:00:00Z");
        assert_eq!(
            lengths(StatsStep::Day, since, until, "Europe/Berlin"),
            [24, 25, 24]
        );
        assert_eq!(lengths(StatsStep::Day, since, until, "UTC"), [24, 24, 24]);
        let (since, until) = ("2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z");
        assert_eq!(lengths(StatsStep::Day, since, until, "Europe/Berlin"), [23]);
        // Hours go on through the change, each of them as long as the others.
        let hours = lengths(StatsStep::Hour, since, until, "Europe/Berlin");
        assert_eq!(hours, [1; 23]);
    }

    #[test]
    fn a_week_begins_on_monday() {
        let zone = TimeZone::UTC;
        let sunday = time("2026-11-29T23:59:59Z");
        let spans = spans(StatsStep::Week, Some(sunday), sunday.plus_seconds(2), &zone).unwrap();
        let begins: Vec<String> = spans.iter().map(|span| span.from.to_string()).collect();
        assert_eq!(begins, ["2026-11-23T00:00:00Z", "2026-11-30T00:00:00Z"]);
    }

    #[test]
    fn what_lies_on_a_boundary_needs_no_further_span() {
        let zone = TimeZone::UTC;
        let midnight = time("2026-11-27T00:00:00Z");
        let day = spans(
            StatsStep::Day,
            Some(midnight.plus_seconds(-1)),
            midnight,
            &zone,
        )
        .unwrap();
        assert_eq!((day.len(), day[0].until), (1, midnight));
        let month = spans(StatsStep::Day, None, midnight, &zone).unwrap();
        assert_eq!((month.len(), month[29].until), (30, midnight));
        let long = spans(StatsStep::Hour, Some(Timestamp(0)), midnight, &zone);
        let why = long.unwrap_err().to_string();
        assert!(why.contains("longer `step`"), "{why}");
        assert!(spans(StatsStep::Day, Some(midnight), midnight, &zone).is_err());
    }
}
