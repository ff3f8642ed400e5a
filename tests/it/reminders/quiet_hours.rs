//! Quiet hours over days, midnight and clock changes, and the deadlines that stand still in them.

use jiff::tz::TimeZone;
use leverframe::clock::Timestamp;
use leverframe::clock::quiet_hours::{QuietHours, QuietTimes};
use leverframe::clock::zone;
use proptest::prelude::*;

const MINUTE: i64 = 60_000;

fn hours(text: &str) -> QuietHours {
    QuietHours::new(text, TimeZone::UTC).unwrap()
}

fn berlin(text: &str) -> QuietHours {
    QuietHours::new(text, zone::find(Some("Europe/Berlin")).unwrap()).unwrap()
}

fn at(text: &str) -> Timestamp {
    let at: jiff::Timestamp = text.parse().unwrap();
    Timestamp(at.as_millisecond())
}

#[test]
fn the_first_minute_is_quiet_and_the_last_one_is_not() {
    let night = hours("22:00-07:00");
    assert_eq!(night.end(at("2026-03-01T21:59:59Z")), None);
    let morning = at("2026-03-02T07:00:00Z");
    assert_eq!(night.end(at("2026-03-01T22:00:00Z")), Some(morning));
    assert_eq!(night.end(at("2026-03-02T06:59:59Z")), Some(morning));
    assert_eq!(night.end(morning), None);
    assert_eq!(night.next_start(morning), Some(at("2026-03-02T22:00:00Z")));
    let noon = hours("12:00-13:30");
    assert_eq!(
        noon.end(at("2026-03-01T12:10:00Z")),
        Some(at("2026-03-01T13:30:00Z"))
    );
    assert_eq!(noon.end(at("2026-03-01T23:00:00Z")), None);
}

#[test]
fn a_clock_change_moves_the_end_with_the_clock() {
    let night = berlin("22:00-07:00");
    // The night before summer time has eight hours, the one before winter time ten.
    assert_eq!(
        night.end(at("2026-03-28T21:00:00Z")),
        Some(at("2026-03-29T05:00:00Z"))
    );
    assert_eq!(
        night.end(at("2026-10-24T20:00:00Z")),
        Some(at("2026-10-25T06:00:00Z"))
    );
    // 02:30 comes twice; the quiet hours last until the second time.
    let twice = berlin("01:00-02:30");
    let second = at("2026-10-25T01:30:00Z");
    assert_eq!(twice.end(at("2026-10-25T00:20:00Z")), Some(second));
    assert_eq!(twice.end(at("2026-10-25T01:20:00Z")), Some(second));
    // 02:30 does not come at all: they end when the clock shows it next.
    assert_eq!(
        twice.end(at("2026-03-29T00:30:00Z")),
        Some(at("2026-03-29T01:30:00Z"))
    );
    assert!(night.clock(at("2026-03-29T05:00:00Z")).starts_with("07:00"));
}

#[test]
fn what_is_no_time_of_day_is_refused_with_the_words() {
    for wrong in [
        "22:00",
        "22-07",
        "24:00-07:00",
        "22:60-07:00",
        "7:0-9:00",
        "a-b",
        "22:00-22:00",
        "-",
        "+2:00-07:00",
    ] {
        let error = QuietHours::new(wrong, TimeZone::UTC).unwrap_err();
        assert!(error.contains('`'), "{wrong}: {error}");
    }
    assert_eq!(hours("7:00-9:00"), hours("07:00-09:00"));
}

#[test]
fn somebody_may_be_asked_while_one_of_them_is_awake() {
    let (early, late) = (hours("20:00-04:00"), hours("23:00-09:00"));
    let night = at("2026-03-01T23:30:00Z");
    let both = QuietTimes {
        channel: None,
        people: vec![Some(&early), Some(&late)],
    };
    assert_eq!(both.end(night), Some(at("2026-03-02T04:00:00Z")));
    assert_eq!(both.end(at("2026-03-01T21:00:00Z")), None);
    let one = QuietTimes {
        channel: None,
        people: vec![Some(&early), None],
    };
    assert_eq!(one.end(night), None);
    let channel = QuietTimes {
        channel: Some(&late),
        people: vec![None],
    };
    assert_eq!(channel.end(night), Some(at("2026-03-02T09:00:00Z")));
    assert_eq!(QuietTimes::default().end(night), None);
}

#[test]
fn hours_that_never_end_still_give_a_deadline() {
    let (day, night) = (hours("07:00-22:00"), hours("22:00-07:00"));
    let times = QuietTimes {
        channel: Some(&day),
        people: vec![Some(&night)],
    };
    assert!(times.deadline(at("2026-03-01T12:00:00Z"), 60) > at("2026-03-01T12:00:00Z"));
}

fn minutes() -> impl Strategy<Value = (u16, u16)> {
    (0..1440_u16, 0..1440_u16).prop_filter("they differ", |(from, to)| from != to)
}

fn written((from, to): (u16, u16)) -> QuietHours {
    let time = |minute: u16| format!("{:02}:{:02}", minute / 60, minute % 60);
    hours(&format!("{}-{}", time(from), time(to)))
}

proptest! {
    /// Minute by minute: so much time as was given passes outside quiet hours, and the deadline is not in them.
    #[test]
    fn a_deadline_leaves_as_much_time_as_was_given(
        channel in proptest::option::of(minutes()),
        people in prop::collection::vec(proptest::option::of(minutes()), 0..3),
        start in 0..20_000_i64,
        life in 1..3_000_i64,
    ) {
        let channel = channel.map(written);
        let people: Vec<Option<QuietHours>> =
            people.into_iter().map(|hours| hours.map(written)).collect();
        let times = QuietTimes {
            channel: channel.as_ref(),
            people: people.iter().map(Option::as_ref).collect(),
        };
        let start = Timestamp(start * MINUTE);
        let mut at = start;
        let mut awake = 0;
        // Where somebody is awake for a minute of each day at least.
        while awake < life && at.0 < start.0 + 4_000 * 1440 * MINUTE {
            if times.end(at).is_none() {
                awake += 1;
            } else if awake == 0 && at.0 > start.0 + 2 * 1440 * MINUTE {
                return Ok(());
            }
            at = at.plus_millis(MINUTE);
        }
        prop_assume!((at.0 - start.0) / (1440 * MINUTE) < 300);
        prop_assert_eq!(times.deadline(start, life * 60), at);
    }
}
