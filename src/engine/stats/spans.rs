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
