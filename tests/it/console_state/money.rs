//! Cache & cost and Doctor: what they ask and when, that nothing moves under the cursor, what is sent and only after a
//! yes, and that what has no price is never shown as free.

use std::sync::Arc;

use leverframe::console::access::Access;
use leverframe::console::message::DaemonMessage;
use leverframe::protocol::cache::{CacheCounts, CachePurge};
use leverframe::protocol::doctor::{Doctor, Standing};
use leverframe::protocol::enums::CostGrouping;
use leverframe::protocol::event::{Event, EventBody};
use leverframe::protocol::problem::{Problem, ProblemKind};
use leverframe::protocol::request::{
    Answer, Command, GetCache, GetDoctor, PinCacheEntry, PurgeCache, Query, ResetHook,
};
use leverframe::protocol::session::Usage;
use leverframe::protocol::snapshot::Page;
use leverframe::tui::message::Effect;
use leverframe::tui::state::doctor::{Key, Word};

use crate::console_frames::driver::Driver;
use crate::console_frames::fixture;
use crate::console_frames::money::{
    answer, answer_doctor, costs, costs_query, diagnosis, doctor, entries, finding, hook, money,
    report, stats,
};

fn sent(driver: &Driver) -> Vec<Command> {
    let submitted = driver.effects.iter().filter_map(|effect| match effect {
        Effect::Submit(command) => Some(command.clone()),
        _ => None,
    });
    submitted.collect()
}

/// What was asked since the last time.
fn asked(driver: &mut Driver) -> Vec<Query> {
    let effects = std::mem::take(&mut driver.effects);
    let queries = effects.into_iter().filter_map(|effect| match effect {
        Effect::Query(query) => Some(query),
        _ => None,
    });
    queries.collect()
}

fn kept(driver: &Driver) -> Vec<String> {
    driver.state.screens.cache_cost.list.order.clone()
}

fn list(driver: &mut Driver, cursor: Option<&str>, ids: &[u8], next: Option<&str>) {
    driver.answer(
        entries(cursor),
        Answer::ListCacheEntries(Page {
            items: ids.iter().copied().map(answer).collect(),
            next_cursor: next.map(str::to_owned),
        }),
    );
}

fn model_finished(driver: &mut Driver, error: Option<&str>) {
    let event = Event {
        seq: Some(500 + driver.steady),
        at: driver.now().wall,
        session_id: None,
        continuation_id: None,
        body: EventBody::ModelFinished {
            model: "local/qwen3:8b".to_owned(),
            step: 1,
            usage: Usage::default(),
            latency_ms: 12,
            error: error.map(str::to_owned),
            stop: None,
            answered_by: None,
            notes: Vec::new(),
        },
    };
    driver.hear(DaemonMessage::Event(Arc::new(event)));
}

#[test]
fn it_asks_when_it_opens_and_after_what_concerns_it_and_never_unseen() {
    let mut driver = Driver::with(120, 40, fixture::busy());
    model_finished(&mut driver, None);
    driver.wait(60_000);
    assert_eq!(asked(&mut driver), []);
    driver.press("7");
    let round = [
        Query::GetCache(GetCache {}),
        costs_query(CostGrouping::Channel),
        entries(None),
    ];
    assert_eq!(asked(&mut driver), round);
    // Nothing more while that is under way, and nothing without a reason.
    model_finished(&mut driver, None);
    driver.wait(5_000);
    assert_eq!(asked(&mut driver), []);
    money(&mut driver);
    driver.wait(600);
    assert_eq!(asked(&mut driver), round);
    money(&mut driver);
    driver.wait(600_000);
    assert_eq!(asked(&mut driver), []);
    // Another grouping is asked for once, and what is shown is of that grouping.
    driver.press("tab");
    assert_eq!(asked(&mut driver), [costs_query(CostGrouping::Model)]);
    assert!(driver.text().contains("Spending by model"));
    assert!(!driver.text().contains("$3.50"), "{}", driver.text());
    driver.answer(
        costs_query(CostGrouping::Model),
        Answer::GetCosts(costs(CostGrouping::Model)),
    );
    assert!(
        driver.text().contains("local/qwen3:8b"),
        "{}",
        driver.text()
    );
}

#[test]
fn nothing_moves_under_the_cursor_and_what_is_gone_goes() {
    let mut driver = Driver::with(120, 40, fixture::busy());
    money(&mut driver);
    assert!(driver.state.screens.cache_cost.list.selected.is_none());
    driver.press("j j");
    assert_eq!(
        driver.state.screens.cache_cost.list.selected,
        Some(answer(2).id)
    );
    // A newer one arrives, the first is gone.
    driver.press("ctrl-r");
    list(&mut driver, None, &[0, 2, 3], None);
    let ids = |ns: &[u8]| ns.iter().map(|n| answer(*n).id).collect::<Vec<_>>();
    assert_eq!(kept(&driver), ids(&[2, 3, 0]), "it stands below");
    assert_eq!(
        driver.state.screens.cache_cost.list.selected,
        Some(answer(2).id)
    );
    driver.press("esc");
    driver.hear(DaemonMessage::Answered {
        query: Box::new(Query::GetCache(GetCache {})),
        result: Ok(Box::new(Answer::GetCache(stats()))),
    });
    driver.wait(1_000);
    driver.press("7 ctrl-r");
    driver.hear(DaemonMessage::Answered {
        query: Box::new(costs_query(CostGrouping::Channel)),
        result: Ok(Box::new(Answer::GetCosts(costs(CostGrouping::Channel)))),
    });
    driver.wait(1_000);
    list(&mut driver, None, &[0, 2, 3], None);
    assert_eq!(kept(&driver), ids(&[0, 2, 3]), "newest first again");
    // Back and again: nothing is selected.
    driver.press("j 2 7");
    assert!(driver.state.screens.cache_cost.list.selected.is_none());
}

#[test]
fn the_end_of_the_list_asks_for_what_is_older() {
    let mut driver = Driver::with(120, 40, fixture::busy());
    driver.press("7");
    driver.answer(Query::GetCache(GetCache {}), Answer::GetCache(stats()));
    driver.answer(
        costs_query(CostGrouping::Channel),
        Answer::GetCosts(costs(CostGrouping::Channel)),
    );
    list(&mut driver, None, &[1, 2], Some("c1"));
    asked(&mut driver);
    assert!(driver.text().contains("older ones"), "{}", driver.text());
    driver.press("j");
    assert_eq!(asked(&mut driver), []);
    driver.press("G");
    assert_eq!(asked(&mut driver), [entries(Some("c1"))]);
    // Once is enough.
    driver.press("G G");
    assert_eq!(asked(&mut driver), []);
    list(&mut driver, Some("c1"), &[3, 4], None);
    assert_eq!(kept(&driver).len(), 4);
    driver.press("G");
    assert_eq!(asked(&mut driver), []);
    assert_eq!(
        driver.state.screens.cache_cost.list.selected,
        Some(answer(4).id)
    );
    // The first page again: what lies beyond it stays.
    driver.press("ctrl-r");
    list(&mut driver, None, &[1, 2], Some("c1"));
    assert_eq!(kept(&driver).len(), 4);
}

#[test]
fn forgetting_says_what_is_lost_and_asks_first() {
    let mut driver = Driver::with(120, 40, fixture::busy());
    money(&mut driver);
    driver.press("x");
    assert!(driver.state.modals.is_empty(), "nothing is selected");
    driver.press("j x");
    let text = driver.text();
    assert!(text.contains("Remove this cached response?"), "{text}");
    assert!(text.contains("Given 7 times, 1.4 kB"), "{text}");
    assert!(
        text.contains("[ Cancel ]"),
        "the buttons are in sight: {text}"
    );
    driver.press("enter");
    assert!(sent(&driver).is_empty(), "Cancel has the focus");
    driver.press("x tab enter");
    let one = Command::PurgeCache(PurgeCache {
        what: CachePurge::Entry(answer(1).id),
    });
    assert_eq!(sent(&driver), std::slice::from_ref(&one));
    driver.press("X");
    let text = driver.text();
    assert!(
        text.contains("Purge the cached responses of telegram?"),
        "{text}"
    );
    assert!(
        text.contains("2 responses (0 pinned, given 21 times"),
        "{text}"
    );
    assert!(!text.contains("At least"), "{text}");
    driver.press("tab enter");
    let channel = Command::PurgeCache(PurgeCache {
        what: CachePurge::Channel("telegram".to_owned()),
    });
    assert_eq!(sent(&driver), [one, channel]);
    // Pinning changes nothing for good and asks nothing.
    driver.press("p");
    let pin = Command::PinCacheEntry(PinCacheEntry {
        id: answer(1).id,
        pinned: true,
    });
    assert_eq!(sent(&driver).last(), Some(&pin));
    // A console that may not act does not even ask.
    let mut driver = Driver::with(120, 40, fixture::busy());
    driver.state.model.access = Access::ReadOnly;
    money(&mut driver);
    driver.press("j x X p");
    assert!(driver.state.modals.is_empty() && sent(&driver).is_empty());
}

#[test]
fn what_has_no_price_is_never_free() {
    let mut driver = Driver::with(120, 40, fixture::busy());
    money(&mut driver);
    let text = driver.text();
    let line = |text: &str, name: &str| {
        let found = text.lines().find(|line| line.contains(name));
        found.unwrap_or_else(|| panic!("{name}: {text}")).to_owned()
    };
    let unpriced = line(&text, "private ");
    assert!(
        unpriced.contains("$?") && !unpriced.contains("$0"),
        "{unpriced}"
    );
    let partly = line(&text, "telegram ");
    assert!(partly.contains("$3.50 + $?"), "{partly}");
    let entry = line(&text, "checklist 2?");
    assert!(entry.contains("$?") && !entry.contains("$0"), "{entry}");
    // Savings of answers without a price are as unknown.
    let mut unpriced = stats();
    unpriced.today = CacheCounts {
        lookups: 4,
        hits: 4,
        unpriced: 4,
        ..CacheCounts::default()
    };
    driver.press("ctrl-r");
    driver.answer(Query::GetCache(GetCache {}), Answer::GetCache(unpriced));
    let text = driver.text();
    let saved = line(&text, "saved  ");
    assert!(
        saved.contains("$? today") && !saved.contains("$0"),
        "{saved}"
    );
    let mut wide = Driver::with(160, 45, fixture::busy());
    money(&mut wide);
    let text = wide.text();
    let budget = line(&text, "telegram today");
    assert!(
        budget.contains("USED UP") && budget.contains("104.0k tokens of 100.0k tokens"),
        "{budget}"
    );
    let reserved = line(&text, "all today");
    assert!(
        reserved.contains("$1.00 of $5.00, $0.10 of it reserved")
            && reserved.contains("anew in 11h"),
        "{reserved}"
    );
    // By tokens where nothing had a price.
    let mut free = costs(CostGrouping::Channel);
    for item in &mut free.items {
        item.cost_usd = None;
    }
    free.total.cost_usd = None;
    driver.press("ctrl-r");
    driver.answer(costs_query(CostGrouping::Channel), Answer::GetCosts(free));
    let text = driver.text();
    assert!(
        text.contains("$? since") && text.contains("bars are tokens"),
        "{text}"
    );
    let desk = line(&text, "desk ");
    let left = desk.split("││").next().unwrap();
    assert!(left.contains('█'), "{text}");
}

#[test]
fn what_cannot_be_known_is_said() {
    let mut driver = Driver::with(120, 40, fixture::busy());
    driver.press("7");
    assert!(driver.text().contains("asking …"));
    for query in [
        Query::GetCache(GetCache {}),
        costs_query(CostGrouping::Channel),
        entries(None),
    ] {
        let problem = Problem::new(
            ProblemKind::Forbidden,
            "no",
            "the token has not the scope read",
        );
        driver.hear(DaemonMessage::Answered {
            query: Box::new(query),
            result: Err(Box::new(problem)),
        });
    }
    let text = driver.text();
    assert_eq!(
        text.matches("not known: no: the token").count(),
        3,
        "{text}"
    );
}

fn rows(driver: &Driver) -> Vec<(Word, String)> {
    let panel = &driver.state.screens.doctor;
    let rows = panel.list.order.iter().filter_map(|key| panel.row(key));
    rows.map(|row| (row.word, row.about.clone())).collect()
}

#[test]
fn problems_stand_first_and_a_fix_unfolds() {
    let mut driver = Driver::with(80, 24, fixture::busy());
    doctor(&mut driver);
    let found = rows(&driver);
    let names: Vec<&str> = found
        .iter()
        .filter(|(word, _)| *word == Word::Problem)
        .map(|(_, about)| about.as_str())
        .collect();
    assert_eq!(
        names,
        [
            "channel team",
            "hook deploy-gate",
            "model anthropic/claude-sonnet-5"
        ]
    );
    assert!(found.is_sorted_by_key(|(word, _)| *word), "{found:?}");
    assert!(driver.state.screens.doctor.list.selected.is_none());
    let text = driver.text();
    assert!(text.contains("Doctor  problems 3, warnings 1"), "{text}");
    assert!(!text.contains("fix:"), "{text}");
    driver.press("enter");
    assert!(!driver.text().contains("fix:"), "nothing is selected");
    driver.press("j enter");
    assert!(
        driver
            .text()
            .contains("fix: mend what it names, then restart")
    );
    driver.press("esc");
    assert!(!driver.text().contains("fix:"));
    driver.press("G");
    let text = driver.text();
    assert!(
        text.contains("MCP servers") && text.contains("none is configured"),
        "{text}"
    );
}

#[test]
fn a_row_under_the_cursor_keeps_its_place_when_it_changes() {
    let mut driver = Driver::with(80, 24, fixture::busy());
    doctor(&mut driver);
    driver.press("j j");
    let before = rows(&driver);
    let mut better = diagnosis();
    better.findings[3].verdict = Standing::Ok;
    better
        .findings
        .push(finding(Standing::Fail, "clock", "behind", None));
    driver.press("ctrl-r");
    answer_doctor(
        &mut driver,
        better.clone(),
        vec![hook("audit", false), hook("deploy-gate", true)],
    );
    let now = rows(&driver);
    let names = |rows: &[(Word, String)]| rows.iter().map(|row| row.1.clone()).collect::<Vec<_>>();
    assert_eq!(names(&now)[..before.len()], names(&before));
    assert_eq!(now[before.len()], (Word::Problem, "clock".to_owned()));
    assert_eq!(now[0].0, Word::Ok);
    driver.press("esc");
    driver.wait(1_000);
    driver.press("ctrl-r");
    answer_doctor(&mut driver, better, vec![]);
    assert!(rows(&driver).is_sorted_by_key(|(word, _)| *word));
}

fn checked(violations: u64) -> Doctor {
    Doctor {
        check: Some(report(violations)),
        ..diagnosis()
    }
}

#[test]
fn a_full_check_says_what_it_reads_before_it_reads() {
    let full = Query::GetDoctor(GetDoctor { check: true });
    let mut driver = Driver::with(80, 24, fixture::busy());
    doctor(&mut driver);
    asked(&mut driver);
    driver.press("C");
    assert_eq!(asked(&mut driver), []);
    let text = driver.text();
    assert!(
        text.contains("reads the whole database") && text.contains("412.3 MiB"),
        "{text}"
    );
    driver.press("esc C j C");
    assert_eq!(asked(&mut driver), [], "it was called off");
    driver.press("C");
    assert_eq!(asked(&mut driver), std::slice::from_ref(&full));
    assert!(driver.text().contains("full check: reading"));
    driver.press("C C");
    assert_eq!(asked(&mut driver), [], "one at a time");
    driver.answer(full.clone(), Answer::GetDoctor(checked(2)));
    let broken = driver
        .state
        .screens
        .doctor
        .rows
        .iter()
        .find(|row| row.key == Key::Rule("I5".to_owned()));
    let broken = broken.unwrap();
    assert_eq!(
        (broken.word, &broken.more[..]),
        (
            Word::Problem,
            &["call 0".to_owned(), "call 1".to_owned()][..]
        )
    );
    let summary = driver
        .state
        .screens
        .doctor
        .rows
        .iter()
        .find(|row| row.key == Key::Rules)
        .unwrap();
    assert!(
        summary
            .detail
            .starts_with("2 violations of 2 rules in 8.2k rows"),
        "{summary:?}"
    );
    // One without any, and one that did not come back.
    driver.press("C C");
    driver.answer(full.clone(), Answer::GetDoctor(checked(0)));
    assert!(
        driver
            .state
            .screens
            .doctor
            .rows
            .iter()
            .all(|row| row.about != "rule I5")
    );
    driver.press("C C");
    let problem = Problem::new(ProblemKind::Internal, "no answer", "within 30 s");
    driver.hear(DaemonMessage::Answered {
        query: Box::new(full),
        result: Err(Box::new(problem)),
    });
    let summary = driver
        .state
        .screens
        .doctor
        .rows
        .iter()
        .find(|row| row.key == Key::Rules)
        .unwrap();
    assert_eq!(summary.word, Word::NotKnown);
    assert!(summary.detail.contains("within 30 s"), "{summary:?}");
}

#[test]
fn only_a_hook_that_is_not_called_is_reset() {
    let mut driver = Driver::with(120, 40, fixture::busy());
    doctor(&mut driver);
    driver.press("r j r");
    assert!(sent(&driver).is_empty());
    driver.press("j");
    assert!(
        matches!(&driver.state.screens.doctor.list.selected, Some(Key::Hook(name, _)) if name == "deploy-gate")
    );
    driver.press("r");
    let reset = Command::ResetHook(ResetHook {
        name: "deploy-gate".to_owned(),
    });
    assert_eq!(sent(&driver), [reset]);
    driver.press("ctrl-r");
    answer_doctor(&mut driver, diagnosis(), vec![hook("deploy-gate", false)]);
    driver.press("r");
    assert_eq!(sent(&driver).len(), 1, "it is called already");
}

#[test]
fn the_last_failure_of_a_model_is_remembered() {
    let mut driver = Driver::with(80, 24, fixture::busy());
    model_finished(&mut driver, Some("it answered 503: overloaded"));
    driver.wait(180_000);
    doctor(&mut driver);
    let row = driver
        .state
        .screens
        .doctor
        .rows
        .iter()
        .find(|row| row.about == "model local/qwen3:8b")
        .unwrap();
    assert_eq!(row.word, Word::Warning);
    assert!(
        row.more[0].contains("3m ago: it answered 503: overloaded"),
        "{row:?}"
    );
    assert!(
        row.detail.contains("120 calls in 30 days, 3 failed"),
        "{row:?}"
    );
}
