//! Schedules: what is understood, when it comes next, and what happens where a clock is put forward or back.

use leverframe::clock::Timestamp;
use leverframe::clock::zone;
use leverframe::engine::routine::schedule::{Schedule, begin_at};
use leverframe::protocol::ids::RoutineId;
use proptest::prelude::*;

fn at(text: &str) -> Timestamp {
    serde_json::from_value(serde_json::Value::String(text.to_owned())).expect("a time")
}

/// The first `count` times after `after`, as UTC.
fn times(schedule: &str, zone: &str, after: &str, count: usize) -> Vec<String> {
    let schedule = Schedule::parse(schedule).expect("a schedule");
    let zone = zone::find(Some(zone)).expect("a zone");
    let mut last = None;
    let mut now = at(after);
    (0..count)
        .map(|_| {
            now = schedule.next_after(&zone, last, now).expect("a time");
            last = Some(now);
            now.to_string()
        })
        .collect()
}

fn wrong(schedule: &str) -> String {
    Schedule::parse(schedule)
        .expect_err("not a schedule")
        .to_string()
}

#[test]
fn cron_in_its_usual_forms() {
    let utc = |schedule: &str, after: &str, count| times(schedule, "UTC", after, count);
    assert_eq!(
        utc("30 9 * * MON-FRI", "2026-05-08T09:29:59Z", 3),
        [
            "2026-05-08T09:30:00Z",
            "2026-05-11T09:30:00Z",
            "2026-05-12T09:30:00Z"
        ]
    );
    // Exactly then is not after then.
    assert_eq!(
        utc("30 9 * * *", "2026-05-08T09:30:00Z", 1),
        ["2026-05-09T09:30:00Z"]
    );
    assert_eq!(
        utc("*/20 8-9 1,15 * *", "2026-01-01T09:30:00Z", 2),
        ["2026-01-01T09:40:00Z", "2026-01-15T08:00:00Z"]
    );
    // Six fields: the second comes first.
    assert_eq!(
        utc("15 0 0 * * *", "2026-05-08T00:00:00Z", 1),
        ["2026-05-08T00:00:15Z"]
    );
    // 0 and 7 are Sunday.
    for sunday in ["0", "7", "SUN", "sun"] {
        assert_eq!(
            utc(&format!("0 0 * * {sunday}"), "2026-05-08T00:00:00Z", 1),
            ["2026-05-10T00:00:00Z"]
        );
    }
    // Where day and weekday are both restricted, either is enough.
    assert_eq!(
        utc("0 0 13 * FRI", "2026-05-07T00:00:00Z", 3),
        [
            "2026-05-08T00:00:00Z",
            "2026-05-13T00:00:00Z",
            "2026-05-15T00:00:00Z"
        ]
    );
    // The last day, also of December; the second Monday; the last Friday.
    assert_eq!(
        utc("0 0 L * *", "2026-11-30T12:00:00Z", 3),
        [
            "2026-12-31T00:00:00Z",
            "2027-01-31T00:00:00Z",
            "2027-02-28T00:00:00Z"
        ]
    );
    assert_eq!(
        utc("0 0 * * MON#2", "2026-05-01T00:00:00Z", 1),
        ["2026-05-11T00:00:00Z"]
    );
    assert_eq!(
        utc("0 0 * * 5L", "2026-12-01T00:00:00Z", 1),
        ["2026-12-25T00:00:00Z"]
    );
    assert_eq!(
        utc("@daily", "2026-05-08T00:00:00Z", 1),
        ["2026-05-09T00:00:00Z"]
    );
}

#[test]
fn the_leap_day_comes_also_after_a_century_without_one() {
    assert_eq!(
        times("0 12 29 2 *", "UTC", "2026-05-08T00:00:00Z", 2),
        ["2028-02-29T12:00:00Z", "2032-02-29T12:00:00Z"]
    );
    assert_eq!(
        times("0 12 29 2 *", "UTC", "2096-03-01T00:00:00Z", 1),
        ["2104-02-29T12:00:00Z"]
    );
}

#[test]
fn a_time_that_does_not_exist_runs_once_right_after_the_gap() {
    // Berlin: 02:00 becomes 03:00 on 29 March 2026, at 01:00 UTC.
    assert_eq!(
        times("30 2 * * *", "Europe/Berlin", "2026-03-28T00:00:00Z", 3),
        [
            "2026-03-28T01:30:00Z",
            "2026-03-29T01:00:00Z",
            "2026-03-30T00:30:00Z"
        ]
    );
    // New York: 8 March 2026, at 07:00 UTC. Several times of one gap are one run.
    assert_eq!(
        times(
            "0,20,40 2 * * *",
            "America/New_York",
            "2026-03-07T12:00:00Z",
            4
        ),
        [
            "2026-03-08T07:00:00Z",
            "2026-03-09T06:00:00Z",
            "2026-03-09T06:20:00Z",
            "2026-03-09T06:40:00Z"
        ]
    );
    // 03:00 itself is no second run.
    assert_eq!(
        times("0 2,3 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", 2),
        ["2026-03-29T01:00:00Z", "2026-03-30T00:00:00Z"]
    );
}

#[test]
fn a_time_that_exists_twice_runs_once() {
    // Berlin: 03:00 becomes 02:00 on 25 October 2026, at 01:00 UTC.
    assert_eq!(
        times("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", 2),
        ["2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"]
    );
    // New York: 1 November 2026, at 06:00 UTC.
    assert_eq!(
        times(
            "*/30 1 * * *",
            "America/New_York",
            "2026-10-31T12:00:00Z",
            3
        ),
        [
            "2026-11-01T05:00:00Z",
            "2026-11-01T05:30:00Z",
            "2026-11-02T06:00:00Z"
        ]
    );
    // Asked between the two: the second one is not due.
    assert_eq!(
        times("30 2 * * *", "Europe/Berlin", "2026-10-25T00:45:00Z", 1),
        ["2026-10-26T01:30:00Z"]
    );
}

#[test]
fn a_schedule_for_every_hour_goes_by_elapsed_time() {
    assert_eq!(
        times("15 * * * *", "Europe/Berlin", "2026-03-29T00:00:00Z", 3),
        [
            "2026-03-29T00:15:00Z",
            "2026-03-29T01:15:00Z",
            "2026-03-29T02:15:00Z"
        ]
    );
    assert_eq!(
        times("15 * * * *", "Europe/Berlin", "2026-10-25T00:00:00Z", 3),
        [
            "2026-10-25T00:15:00Z",
            "2026-10-25T01:15:00Z",
            "2026-10-25T02:15:00Z"
        ]
    );
    // Half an hour, at another time of the year: Lord Howe, 5 April 2026.
    assert_eq!(
        times(
            "*/30 * * * *",
            "Australia/Lord_Howe",
            "2026-04-04T14:00:00Z",
            4
        ),
        [
            "2026-04-04T14:30:00Z",
            "2026-04-04T15:00:00Z",
            "2026-04-04T15:30:00Z",
            "2026-04-04T16:00:00Z"
        ]
    );
}

#[test]
fn a_day_that_a_zone_skipped_is_made_up_for() {
    // Samoa had no 30 December 2011.
    assert_eq!(
        times("0 12 30 12 *", "Pacific/Apia", "2011-12-01T00:00:00Z", 2),
        ["2011-12-30T10:00:00Z", "2012-12-29T22:00:00Z"]
    );
    // A gap at midnight: Beirut, 29 March 2026, 00:00 becomes 01:00.
    assert_eq!(
        times("0 0 * * *", "Asia/Beirut", "2026-03-28T12:00:00Z", 2),
        ["2026-03-28T22:00:00Z", "2026-03-29T21:00:00Z"]
    );
}

#[test]
fn intervals_count_on_from_the_time_that_was_due() {
    let every = Schedule::parse("every 2h30m").unwrap();
    let zone = zone::find(Some("UTC")).unwrap();
    let start = at("2026-05-08T00:00:00Z");
    let next = |last, now: &str| every.next_after(&zone, last, at(now)).unwrap().to_string();
    assert_eq!(next(None, "2026-05-08T00:00:00Z"), "2026-05-08T02:30:00Z");
    assert_eq!(
        next(Some(start), "2026-05-08T02:29:59Z"),
        "2026-05-08T02:30:00Z"
    );
    assert_eq!(
        next(Some(start), "2026-05-08T02:30:00Z"),
        "2026-05-08T05:00:00Z"
    );
    // Years later there is one next time, and the clock may also have been put back.
    assert_eq!(
        next(Some(start), "2031-05-08T00:00:01Z"),
        "2031-05-08T01:00:00Z"
    );
    assert_eq!(
        next(Some(start), "2020-01-01T00:00:00Z"),
        "2026-05-08T02:30:00Z"
    );
    for (text, seconds) in [
        ("every 90m", 5400),
        ("EVERY 1d", 86400),
        ("every 1 week 2 days", 777_600),
        ("every 1h30m30s", 5430),
        ("  every  1m ", 60),
    ] {
        assert_eq!(
            Schedule::parse(text),
            Ok(Schedule::Every(seconds)),
            "{text}"
        );
    }
}

#[test]
fn missed_times_are_counted_up_to_a_thousand() {
    let zone = zone::find(Some("Europe/Berlin")).unwrap();
    let due = at("2026-05-08T07:00:00Z");
    let count = |schedule: &str, now: &str| {
        Schedule::parse(schedule)
            .unwrap()
            .count(&zone, due, at(now))
    };
    assert_eq!(count("0 9 * * *", "2026-05-08T07:00:00Z"), 1);
    assert_eq!(count("0 9 * * *", "2026-05-11T06:59:59Z"), 3);
    assert_eq!(count("every 1h", "2026-05-08T09:30:00Z"), 3);
    assert_eq!(count("every 1m", "2046-05-08T09:30:00Z"), 1000);
    assert_eq!(count("* * * * *", "2046-05-08T09:30:00Z"), 1000);
}

#[test]
fn what_is_wrong_is_named_by_field_and_place_with_an_example() {
    assert_eq!(
        wrong("0 25 * * *"),
        "field 2 (hour) at character 3: `25` is out of range; expected 0 to 23, a range, a list, * or a step, \
         for example 9, 8-18 or */2"
    );
    assert_eq!(
        wrong("0 9 * * MON,FUN"),
        "field 5 (weekday) at character 13: `FUN` is not understood; expected 0 to 7 or SUN to SAT (0 and 7 are \
         Sunday), a range, a list, *, 1#2 (the second Monday) or 5L (the last Friday), for example MON-FRI"
    );
    for (text, part) in [
        ("", "the schedule is empty"),
        ("   ", "the schedule is empty"),
        ("0 9 * *", "this has 4"),
        ("0 0 9 * * * 2026", "this has 7"),
        ("*/5 0 9 * * *", "field 1 (second) at character 1: `*/5`"),
        (
            "60 * * * *",
            "field 1 (minute) at character 1: `60` is out of range",
        ),
        (
            "0  9 0 * *",
            "field 3 (day of month) at character 6: `0` is out of range",
        ),
        (
            "0 18-9 * * *",
            "field 2 (hour) at character 3: `18-9` runs backwards",
        ),
        ("*/0 * * * *", "`*/0` has no step above 0"),
        ("*/-1 * * * *", "`*/-1` has no step above 0"),
        (
            "0 9 * 13 *",
            "field 4 (month) at character 7: `13` is out of range",
        ),
        ("0 9 * * 1#6", "`1#6` has no number from 1 to 5 behind #"),
        ("0 9 , * *", "field 3 (day of month) at character 5: ``"),
        ("0 9 1- * *", "`1-` is not understood"),
        ("0 9 * * ☃", "`☃` is not understood"),
        ("0 0 31 2 *", "no date matches"),
        ("0 0 31 4,6,9,11 *", "no date matches"),
        ("@noon", "`@noon` is not known; expected @hourly"),
        ("every", "at character 6: ``"),
        ("every day", "at character 7: `day`"),
        ("every 2 parsecs", "at character 7: `2`"),
        ("every 30m 2h", "at character 11: `2h`"),
        ("every 59s", "this is 59 s"),
        ("every 0m", "this is 0 s"),
        ("every 400d", "an interval is 1 minute to 366 days"),
        ("every 99999999999999999999d", "at character 7"),
        (
            "every 9999999999999999d",
            "an interval is 1 minute to 366 days",
        ),
    ] {
        let error = wrong(text);
        assert!(error.contains(part), "{text:?}: {error}");
    }
}

#[test]
fn an_unknown_zone_names_near_ones() {
    let error = |name| zone::find(Some(name)).expect_err("no zone").to_string();
    assert!(
        error("Europe/Berln").contains("did you mean Europe/Berlin"),
        "{}",
        error("Europe/Berln")
    );
    assert!(
        error("Berlin").contains("Europe/Berlin"),
        "{}",
        error("Berlin")
    );
    assert!(
        error("new york").contains("America/New_York"),
        "{}",
        error("new york")
    );
    assert!(error("☃☃☃").contains("names are like `Europe/Berlin`"));
    // The database is files: a name is no path out of it.
    for path in [
        "../../etc/passwd",
        "/etc/localtime",
        "Europe/../../../etc/hostname",
        "",
    ] {
        assert!(zone::find(Some(path)).is_err(), "{path}");
    }
}

#[test]
fn jitter_is_within_bounds_stays_the_same_and_differs_between_routines() {
    let due = at("2026-05-08T07:00:00Z");
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..50 {
        let id = RoutineId::generate();
        let begin = begin_at(id, due, 600);
        assert!((0..=600_000).contains(&begin.millis_since(due)) && begin >= due);
        assert_eq!(begin, begin_at(id, due, 600));
        assert_eq!(begin_at(id, due, 0), due);
        seen.insert(begin);
    }
    assert!(seen.len() > 40, "{} of 50 differ", seen.len());
}

/// Values of a field, at least one.
fn values(from: u8, to: u8) -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        Just((from..=to).collect::<Vec<u8>>()),
        proptest::collection::btree_set(from..=to, 1..4).prop_map(|set| set.into_iter().collect()),
    ]
}

fn written(values: &[u8], all: usize) -> String {
    if values.len() == all {
        return "*".to_owned();
    }
    let texts: Vec<String> = values.iter().map(u8::to_string).collect();
    texts.join(",")
}

fn zones() -> impl Strategy<Value = &'static str> {
    proptest::sample::select(vec![
        "UTC",
        "Europe/Berlin",
        "America/New_York",
        "Australia/Lord_Howe",
        "America/Sao_Paulo",
        "Asia/Kathmandu",
        "Pacific/Apia",
        "Asia/Beirut",
    ])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// In UTC, what comes next is the first minute whose fields match, found by trying every minute.
    #[test]
    fn the_next_time_is_the_first_that_matches(
        minutes in values(0, 59), hours in values(0, 23), months in values(1, 12), days in values(1, 28),
        weekdays in values(0, 6), now in 0_i64..2_000_000_000,
    ) {
        let text = format!(
            "{} {} {} {} {}",
            written(&minutes, 60), written(&hours, 24), written(&days, 31), written(&months, 12), written(&weekdays, 7)
        );
        let schedule = Schedule::parse(&text).unwrap();
        let utc = zone::find(Some("UTC")).unwrap();
        let found = schedule.next_after(&utc, None, Timestamp(now * 1000)).unwrap();
        prop_assert!(found.0 > now * 1000);
        let (all_days, all_weekdays) = (days.len() == 31, weekdays.len() == 7);
        let matches = |second: i64| {
            let at = jiff::Timestamp::from_second(second).unwrap().to_zoned(jiff::tz::TimeZone::UTC);
            let day = days.contains(&(at.day() as u8));
            let weekday = weekdays.contains(&(at.weekday().to_sunday_zero_offset() as u8));
            let date = match (all_days, all_weekdays) {
                (true, _) => weekday,
                (false, true) => day,
                (false, false) => day || weekday,
            };
            minutes.contains(&(at.minute() as u8)) && hours.contains(&(at.hour() as u8))
                && months.contains(&(at.month() as u8)) && date
        };
        let second = found.0 / 1000;
        prop_assert!(second % 60 == 0 && matches(second), "{text}: {found}");
        // Hours first, then minutes: trying every minute of years takes too long.
        let mut at = (now / 60 + 1) * 60;
        for _ in 0..3000 {
            if at >= second {
                break;
            }
            prop_assert!(!matches(at), "{text}: {at} was passed over");
            at += 60;
        }
    }

    /// In every zone: the next time is after the one before, a minute away at least, and where it is not written so
    /// by the clock on the wall, that clock was put forward at this moment.
    #[test]
    fn times_only_grow_and_are_what_the_wall_says(
        minute in 0_u8..60, hour in proptest::option::of(0_u8..24), zone in zones(), now in 1_200_000_000_i64..2_000_000_000,
    ) {
        let text = match hour {
            Some(hour) => format!("{minute} {hour} * * *"),
            None => format!("{minute} * * * *"),
        };
        let schedule = Schedule::parse(&text).unwrap();
        let found = zone::find(Some(zone)).unwrap();
        let mut last = Timestamp(now * 1000);
        for n in 0..40 {
            let next = schedule.next_after(&found, None, last).unwrap();
            prop_assert!(next > last);
            prop_assert!(n == 0 || next.millis_since(last) >= 60_000, "{text} in {zone}: {last} then {next}");
            let wall = jiff::Timestamp::from_millisecond(next.0).unwrap().to_zoned(found.clone());
            let as_written = wall.minute() as u8 == minute && hour.is_none_or(|hour| wall.hour() as u8 == hour);
            let second_before = jiff::Timestamp::from_second(next.0 / 1000 - 1).unwrap().to_zoned(found.clone());
            let put_forward = wall.offset().seconds() > second_before.offset().seconds();
            prop_assert!(as_written || (put_forward && hour.is_some()), "{text} in {zone}: {wall}");
            last = next;
        }
    }

    /// No text makes it panic, and what is accepted is due some time.
    #[test]
    fn any_text_is_a_schedule_or_an_error(text in "[0-9*,/#LA-Za-z@ ?-]{0,24}", other in ".{0,40}") {
        for text in [text, format!("every {other}"), other] {
            if let Ok(schedule) = Schedule::parse(&text) {
                let utc = zone::find(Some("UTC")).unwrap();
                let now = Timestamp(1_780_000_000_000);
                prop_assert!(schedule.next_after(&utc, None, now).is_some_and(|next| next > now), "{text:?}");
            }
        }
    }

    /// Two runs of an interval are never closer than the interval, whenever the next one is asked for.
    #[test]
    fn an_interval_is_kept(seconds in 60_i64..100_000, waits in proptest::collection::vec(0_i64..500_000, 1..20)) {
        let every = Schedule::Every(seconds);
        let utc = zone::find(Some("UTC")).unwrap();
        let mut last = Timestamp(1_780_000_000_000);
        for wait in waits {
            let next = every.next_after(&utc, Some(last), last.plus_seconds(wait)).unwrap();
            prop_assert!(next.millis_since(last) >= seconds as u64 * 1000);
            prop_assert!(next > last.plus_seconds(wait));
            last = next;
        }
    }
}
