//! Spans of the calendar.

use jiff::Timestamp as Moment;
use jiff::tz::TimeZone;
use leverframe::clock::Timestamp;
use leverframe::engine::stats::spans::spans;
use leverframe::protocol::enums::StatsStep;

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
