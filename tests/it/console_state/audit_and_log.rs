//! Audit & log: people's doings first, and the log in place of the audit.

use leverframe::console::message::DaemonMessage;
use leverframe::protocol::doctor::AuditRow;
use leverframe::protocol::enums::LogLevel;
use leverframe::protocol::log::{Log, LogLine};
use leverframe::protocol::request::{Answer, GetLog, Query};
use leverframe::tui::message::Effect;

use crate::console_frames::driver::Driver;
use crate::console_frames::fixture;
use crate::console_frames::fleet::{Engine, opened, row};

/// Rows of which the engine wrote all but each tenth.
fn mostly_engine(count: u64) -> Engine {
    let row = |n: u64| AuditRow {
        actor: if n.is_multiple_of(10) {
            "ana"
        } else {
            "engine"
        }
        .to_owned(),
        actor_id: if n.is_multiple_of(10) {
            "telegram:481516"
        } else {
            "engine"
        }
        .to_owned(),
        ..row(n)
    };
    Engine {
        rows: (1..=count).map(row).collect(),
        ..Engine::default()
    }
}

fn listed(driver: &Driver) -> Vec<u64> {
    driver.state.screens.audit.list.order.clone()
}

#[test]
fn the_audit_opens_with_what_people_did_and_says_what_it_hides() {
    let engine = mostly_engine(40);
    let mut driver = opened(80, 24, "9", &engine);
    assert_eq!(listed(&driver), [40, 30, 20, 10]);
    let text = driver.text();
    assert!(
        text.contains("Audit  4 of 40, people only; p shows all"),
        "{text}"
    );
    driver.press("p");
    engine.serve(&mut driver);
    assert_eq!(listed(&driver).len(), 40);
    assert!(driver.text().contains("Audit  40"), "{}", driver.text());
    driver.press("p");
    assert_eq!(listed(&driver), [40, 30, 20, 10]);
}

#[test]
fn people_are_looked_for_beyond_the_first_page() {
    let engine = mostly_engine(350);
    let mut driver = opened(120, 40, "9", &engine);
    for _ in 0..5 {
        driver.wait(600);
        engine.serve(&mut driver);
    }
    // A page has ten rows of people; twenty are enough until somebody moves.
    assert_eq!(listed(&driver).len(), 20);
    assert!(
        driver.text().contains("20 of 200+, people only"),
        "{}",
        driver.text()
    );
    driver.press("G");
    engine.serve(&mut driver);
    assert_eq!(listed(&driver).len(), 30);
}

#[test]
fn rows_of_the_engine_alone_are_not_an_empty_audit() {
    let engine = mostly_engine(9);
    let mut driver = opened(80, 24, "9", &engine);
    let text = driver.text();
    assert!(
        text.contains("These rows hold no action of a person"),
        "{text}"
    );
}

fn line(number: u64, level: LogLevel, text: &str) -> LogLine {
    LogLine {
        number,
        at: fixture::ago(200 - i64::try_from(number).unwrap()),
        level,
        target: "leverframe::engine".to_owned(),
        text: text.to_owned(),
    }
}

fn asked(driver: &mut Driver) -> Option<GetLog> {
    let effects = std::mem::take(&mut driver.effects);
    effects.into_iter().find_map(|effect| match effect {
        Effect::Query(Query::GetLog(query)) => Some(query),
        _ => None,
    })
}

fn answers(driver: &mut Driver, query: GetLog, lines: Vec<LogLine>) {
    let last = lines.last().map_or(0, |line| line.number);
    let log = Log {
        lines,
        last: last.max(query.after.unwrap_or(0)),
        filter: "info".to_owned(),
    };
    driver.answer(Query::GetLog(query), Answer::GetLog(log));
    driver.draw();
}

/// The log with these lines.
pub fn log(width: u16, height: u16) -> Driver {
    let mut driver = Driver::with(width, height, fixture::busy());
    driver.press("9 l");
    let query = asked(&mut driver).unwrap();
    assert_eq!((query.level, query.after), (Some(LogLevel::Info), None));
    let lines = vec![
        line(
            101,
            LogLevel::Info,
            "turn channel=team state=completed duration_ms=84",
        ),
        line(102, LogLevel::Warn, "the platform asked to wait 3 s"),
        line(
            105,
            LogLevel::Error,
            "a hook failed hook=scan error=exit status 2",
        ),
    ];
    answers(&mut driver, query, lines);
    driver
}

fn texts(driver: &Driver) -> Vec<u64> {
    driver.state.screens.audit.log.list.order.clone()
}

#[test]
fn the_log_follows_while_it_is_shown_and_stands_still_under_the_cursor() {
    let mut driver = log(120, 40);
    assert_eq!(texts(&driver), [105, 102, 101]);
    assert!(
        driver.text().contains("info and above  following"),
        "{}",
        driver.text()
    );
    driver.wait(1_000);
    assert_eq!(asked(&mut driver), None, "not so soon");
    driver.wait(1_500);
    let query = asked(&mut driver).unwrap();
    assert_eq!(query.after, Some(105));
    answers(&mut driver, query, vec![line(107, LogLevel::Info, "new")]);
    assert_eq!(texts(&driver)[0], 107);
    driver.press("j j");
    driver.wait(2_500);
    let query = asked(&mut driver).unwrap();
    answers(&mut driver, query, vec![line(108, LogLevel::Info, "newer")]);
    assert_eq!(texts(&driver)[0], 107);
    assert!(driver.text().contains("1 newer above"), "{}", driver.text());
    driver.press("F");
    assert_eq!(texts(&driver)[0], 108);
    driver.press("1");
    driver.effects.clear();
    driver.wait(10_000);
    assert_eq!(asked(&mut driver), None, "only while it is shown");
}

#[test]
fn levels_are_asked_and_words_filter_while_they_are_typed() {
    let mut driver = log(120, 40);
    driver.press("/");
    driver.type_text("hook");
    assert_eq!(texts(&driver), [105]);
    assert!(driver.text().contains("1 of 3"), "{}", driver.text());
    driver.press("enter esc");
    assert_eq!(texts(&driver).len(), 3);
    driver.effects.clear();
    driver.press("e");
    let query = asked(&mut driver).unwrap();
    assert_eq!((query.level, query.after), (Some(LogLevel::Debug), None));
    answers(&mut driver, query, Vec::new());
    let text = driver.text();
    assert!(text.contains("the daemon writes `info`"), "{text}");
    driver.press("e");
    assert!(driver.text().contains("errors alone"), "{}", driver.text());
    // Back to the audit, then out of it.
    driver.press("esc");
    assert!(driver.text().contains("┌ Audit"), "{}", driver.text());
}

#[test]
fn the_log_of_a_daemon_that_is_gone_asks_nothing() {
    let mut driver = log(120, 40);
    driver.hear(DaemonMessage::Disconnected { why: "gone".into() });
    driver.effects.clear();
    for _ in 0..3 {
        driver.wait(2_500);
    }
    assert_eq!(asked(&mut driver), None);
    let deadline = driver.state.next_deadline().unwrap();
    assert!(
        deadline > driver.now().steady,
        "it would spin: {deadline:?}"
    );
}
