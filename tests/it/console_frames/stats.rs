//! Statistics: what is asked, four charts with their numbers, groups, and what is said where nothing is known.

use leverframe::clock::Timestamp;
use leverframe::protocol::enums::{StatsGrouping, StatsStep};
use leverframe::protocol::problem::Problem;
use leverframe::protocol::request::{Answer, GetStats, Query};
use leverframe::protocol::stats::{
    Stats, StatsApprovals, StatsDeliveries, StatsGroup, StatsModels, StatsNumbers, StatsSpan,
    StatsTools, StatsTurns,
};
use leverframe::tui::message::Effect;

use crate::console_frames::any_size::{HOSTILE, assert_clean};
use crate::console_frames::driver::Driver;
use crate::console_frames::fixture::busy;

fn numbers(n: u64) -> StatsNumbers {
    StatsNumbers {
        models: Some(StatsModels {
            calls: n,
            failed: n / 10,
            input_tokens: 1000 * n,
            output_tokens: 100 * n,
            cached_input_tokens: 640 * n,
            cache_write_tokens: 10 * n,
            cost_usd: Some(0.05 * n as f64),
            unpriced_tokens: 0,
        }),
        turns: Some(StatsTurns {
            completed: n,
            failed: n / 8,
            stopped: 0,
        }),
        approvals: Some(StatsApprovals {
            asked: n / 2,
            allowed: n / 3,
            denied: n / 9,
            expired: 1,
            median_wait_ms: Some(185_000),
        }),
        tools: Some(StatsTools {
            calls: 3 * n,
            failed: n / 7,
            median_ms: Some(40),
        }),
        deliveries: Some(StatsDeliveries {
            sent: n,
            failed: 0,
            unknown: 0,
        }),
    }
}

/// An answer to what is asked: groups with these names, of which the first five spans know nothing.
pub fn stats(asked: &GetStats, names: &[&str]) -> Stats {
    let (count, seconds) = match asked.step {
        StatsStep::Hour => (24, 3600),
        StatsStep::Day => (30, 24 * 3600),
        StatsStep::Week => (13, 7 * 24 * 3600),
    };
    let since = asked.since.unwrap();
    let spans = (0..count).map(|n| StatsSpan {
        from: since.plus_seconds(n * seconds),
        until: since.plus_seconds((n + 1) * seconds),
    });
    let groups = names.iter().enumerate().map(|(at, name)| StatsGroup {
        name: (*name).to_owned(),
        day_budget_usd: (asked.by != StatsGrouping::Model).then_some(2.0),
        total: numbers(400 / (at as u64 + 1)),
        points: (0..count)
            .map(|n| match n {
                0..5 => StatsNumbers::default(),
                n => numbers(u64::try_from(n).unwrap() * 7 % 23),
            })
            .collect(),
    });
    Stats {
        step: asked.step,
        by: asked.by,
        time_zone: "UTC".to_owned(),
        recorded_since: since.plus_seconds(5 * seconds),
        kept_since: None,
        spans: spans.collect(),
        groups: groups.collect(),
        more_groups: 0,
    }
}

/// What was asked since the last time.
fn asked(driver: &mut Driver) -> GetStats {
    let effects = std::mem::take(&mut driver.effects);
    let mut asked = effects.into_iter().filter_map(|effect| match effect {
        Effect::Query(Query::GetStats(query)) => Some(query),
        _ => None,
    });
    let query = asked.next().expect("statistics are asked for");
    assert_eq!(asked.next(), None, "once");
    query
}

fn answer(driver: &mut Driver, names: &[&str]) {
    let query = asked(driver);
    let answer = Answer::GetStats(stats(&query, names));
    driver.answer(Query::GetStats(query), answer);
}

fn open(width: u16, height: u16, line: &str) -> Driver {
    let mut driver = Driver::with(width, height, busy());
    driver.press(":");
    driver.type_text(line);
    driver.press("enter");
    driver
}

#[test]
fn four_charts_have_their_numbers_beside_them() {
    let mut driver = open(80, 24, "stats");
    answer(&mut driver, &["all"]);
    let text = driver.text();
    for words in [
        "Spend by day  30d",
        "$20.00 · 440.0k tokens · 400 calls",
        ", most $1.10, ╌ $2.00/day",
        "Prompt cache hits",
        "64 % · 256.0k read, 4.0k written",
        "Questions to people",
        "200 asked · 133 yes 44 no 1 late",
        "Errors",
        "50 turns 57 tools 40 models 0 sends",
        ", · not known",
    ] {
        assert!(text.contains(words), "{words}\n{text}");
    }
    // The line of the budget is where its amount is, and what is not known is dotted.
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines.iter().any(|line| line.contains("╌╌")), "{text}");
    assert!(lines.iter().any(|line| line.contains("·····")), "{text}");
    assert!(text.contains('█'), "{text}");
}

#[test]
fn keys_choose_the_time_and_the_grouping_and_ask_once_each() {
    let mut driver = open(100, 30, "stats 24h channel");
    let query = asked(&mut driver);
    assert_eq!(
        (query.step, query.by),
        (StatsStep::Hour, StatsGrouping::Channel)
    );
    let day: Timestamp = driver.now().wall;
    let since = query.since.unwrap();
    assert_eq!(day.millis_since(since) / 3_600_000, 23);
    let first = Answer::GetStats(stats(&query, &["team", "desk"]));
    driver.answer(Query::GetStats(query.clone()), first);
    let text = driver.text();
    assert!(text.contains("Spend by hour  24h of team"), "{text}");
    assert!(text.contains("By channel  2"), "{text}");
    driver.press("j j");
    let text = driver.text();
    assert!(text.contains("24h of desk"), "{text}");
    driver.press(">");
    let longer = asked(&mut driver);
    assert_eq!(
        (longer.step, longer.by),
        (StatsStep::Day, StatsGrouping::Channel)
    );
    assert!(driver.text().contains("asking"), "{}", driver.text());
    driver.press("tab");
    // An answer to what was asked before is not shown as this one; then this one is asked for.
    let late = Answer::GetStats(stats(&longer, &["late"]));
    driver.answer(Query::GetStats(longer), late);
    assert!(!driver.text().contains("late"), "{}", driver.text());
    let by_model = asked(&mut driver);
    assert_eq!(
        (by_model.step, by_model.by),
        (StatsStep::Day, StatsGrouping::Model)
    );
    driver.answer(
        Query::GetStats(by_model.clone()),
        Answer::GetStats(stats(&by_model, &["a/b"])),
    );
    assert!(driver.text().contains("By model"), "{}", driver.text());
    driver.press("< <");
    assert!(driver.text().contains("24h"), "{}", driver.text());
    let mut wrong = open(80, 24, "stats 8d");
    let text = wrong.text();
    assert!(text.contains("expected 24h, 7d, 30d, 90d"), "{text}");
}

#[test]
fn they_are_asked_again_while_they_are_shown() {
    let mut driver = open(80, 24, "stats");
    answer(&mut driver, &["all"]);
    driver.wait(5_000);
    assert!(
        driver
            .effects
            .iter()
            .all(|effect| !matches!(effect, Effect::Query(_)))
    );
    driver.wait(31_000);
    driver.wait(1_000);
    answer(&mut driver, &["all"]);
    driver.press("1");
    driver.effects.clear();
    driver.wait(61_000);
    let again = |effect: &Effect| matches!(effect, Effect::Query(Query::GetStats(_)));
    assert!(!driver.effects.iter().any(again));
}

#[test]
fn where_nothing_happened_the_screen_says_since_when() {
    let mut driver = open(80, 24, "stats");
    let query = asked(&mut driver);
    let mut nothing = stats(&query, &["all"]);
    nothing.groups[0].total = StatsNumbers {
        turns: Some(StatsTurns::default()),
        ..StatsNumbers::default()
    };
    nothing.kept_since = query.since.map(|since| since.plus_seconds(9 * 24 * 3600));
    driver.answer(Query::GetStats(query), Answer::GetStats(nothing));
    let text = driver.text();
    for words in [
        "no data yet",
        "nothing happened in the last 30d",
        "recorded since",
        "stored since",
    ] {
        assert!(text.contains(words), "{words}\n{text}");
    }
    let mut failed = open(80, 24, "stats");
    let query = Query::GetStats(asked(&mut failed));
    failed.hear(leverframe::console::message::DaemonMessage::Answered {
        query: Box::new(query),
        result: Err(Box::new(Problem::internal("the disk is gone"))),
    });
    let text = failed.text();
    assert!(
        text.contains("not known") && text.contains("the disk is gone"),
        "{text}"
    );
}

#[test]
fn any_size_is_clean_whatever_the_names_are() {
    for (width, height) in [(1, 1), (20, 5), (40, 12), (80, 24), (120, 40), (200, 60)] {
        for line in [
            "stats",
            "stats channel",
            "stats 90d tool",
            "stats 24h person",
        ] {
            let mut driver = open(width, height, line);
            answer(&mut driver, HOSTILE);
            driver.press("j");
            assert_clean(&mut driver, line);
        }
    }
}
