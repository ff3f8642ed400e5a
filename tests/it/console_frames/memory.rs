//! The Memory screen, drawn: scopes, facts, hygiene, routines; clean and complete at every size, whatever was remembered.

use leverframe::clock::Day;
use leverframe::console::message::DaemonMessage;
use leverframe::protocol::command::BudgetRequest;
use leverframe::protocol::enums::*;
use leverframe::protocol::hygiene::*;
use leverframe::protocol::ids::{HygieneRunId, MemoryId, RoutineId, RoutineRunId};
use leverframe::protocol::memory::*;
use leverframe::protocol::request::{
    Answer, GetContinuation, GetMemory, ListMemories, Query, SearchMemories,
};
use leverframe::protocol::routine::*;
use leverframe::protocol::snapshot::Page;
use leverframe::text::bars::bars;
use leverframe::tui::message::Effect;
use leverframe::tui::state::memory_cells::schedule;
use proptest::prelude::*;

use crate::console_frames::any_size::{HOSTILE, assert_clean};
use crate::console_frames::driver::Driver;
use crate::console_frames::fixture::{self, NOW, ago, busy};
use crate::console_frames::screens::check;

fn bytes(n: u8) -> [u8; 16] {
    [1, 0x9a, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, n]
}

pub fn id(n: u8) -> MemoryId {
    MemoryId::from_bytes(bytes(n))
}

pub fn run_id(n: u8) -> HygieneRunId {
    HygieneRunId::from_bytes(bytes(n))
}

pub fn memory(n: u8, text: &str) -> Memory {
    Memory {
        id: id(n),
        scope: MemoryScope::Channel,
        session_id: None,
        channel: Some("telegram".into()),
        kind: MemoryKind::Fact,
        text: text.into(),
        author: MemoryAuthor::Model,
        author_id: "local/qwen3:8b".into(),
        person_id: Some("telegram:481516".into()),
        source: Some(fixture::continuation_id(2)),
        message_ref: Some("77".into()),
        confidence: 0.8,
        taint: vec![],
        pinned: false,
        state: MemoryState::Active,
        archived_by: None,
        superseded_by: None,
        uses: 14,
        created_at: ago(86_400 * 3),
        updated_at: ago(3600 * i64::from(n)),
        last_used_at: Some(ago(7200)),
        expires_at: None,
    }
}

/// What the engine remembers in these tests.
#[derive(Clone)]
pub struct Kept {
    pub facts: Vec<Memory>,
    /// Pages of the list; the rest comes with a cursor.
    pub page: usize,
    pub review: MemoryReview,
    pub report: HygieneReport,
    pub runs: Vec<HygieneRun>,
    pub routines: Vec<Routine>,
    pub summary: Option<Summary>,
}

fn group(reason: HygieneReason, count: u64) -> HygieneGroup {
    HygieneGroup {
        scope: Some(MemoryScope::Channel),
        channel: Some("telegram".into()),
        what: "memories".into(),
        reason,
        count,
        bytes: count * 40,
    }
}

pub fn run(n: u8, state: HygieneState) -> HygieneRun {
    HygieneRun {
        id: run_id(n),
        state,
        by: "operator".into(),
        report: HygieneReport {
            archived: 12,
            removed: 3,
            bytes: 600,
            groups: vec![group(HygieneReason::Retention, 12)],
            ..HygieneReport::default()
        },
        restored: 0,
        freed_bytes: 8192,
        duration_ms: Some(31),
        at: ago(3600 * 5),
        undo_until: NOW.plus_seconds(86_400 * 2 + 60),
    }
}

pub fn routine(n: u8, name: &str, schedule: &str, enabled: bool) -> Routine {
    Routine {
        id: RoutineId::from_bytes(bytes(n)),
        name: name.into(),
        schedule: schedule.into(),
        time_zone: None,
        prompt: "What is new in the inbox?".into(),
        channel: "telegram".into(),
        conversation: "481516".into(),
        model: None,
        budgets: BudgetRequest::default(),
        autonomy_ceiling: Autonomy::SemiAuto,
        park: false,
        missed: MissedRuns::Skip,
        jitter_seconds: 0,
        enabled,
        by: "operator".into(),
        version: 1,
        due_at: enabled.then(|| NOW.plus_seconds(7260)),
        begin_at: None,
        last_run: Some(RoutineRun {
            id: RoutineRunId::from_bytes(bytes(n)),
            routine_id: RoutineId::from_bytes(bytes(n)),
            state: RoutineRunState::Started,
            detail: None,
            continuation_id: Some(fixture::continuation_id(40 + n)),
            continuation_state: Some(ContinuationState::Completed),
            due_at: Some(ago(3600)),
            at: ago(3600),
        }),
        created_at: ago(86_400),
        updated_at: ago(86_400),
    }
}

pub fn kept() -> Kept {
    let proposed = Memory {
        state: MemoryState::Proposed,
        taint: vec!["result of fetch (https://example.org/page)".into()],
        uses: 0,
        last_used_at: None,
        ..memory(3, "The staging server is atlas-2.")
    };
    let pinned = Memory {
        pinned: true,
        author: MemoryAuthor::Operator,
        author_id: "ana".into(),
        confidence: 1.0,
        ..memory(1, "Ana wants answers in Portuguese.")
    };
    let local = Memory {
        scope: MemoryScope::Session,
        session_id: Some(fixture::session_id(2)),
        channel: Some("desk".into()),
        expires_at: Some(NOW.plus_seconds(86_400 * 3)),
        ..memory(2, "The report is due on Friday.")
    };
    let twice = Memory {
        updated_at: ago(3600 * 4),
        ..memory(4, "Ana would like answers in Portuguese.")
    };
    Kept {
        facts: vec![pinned.clone(), local, proposed.clone(), twice.clone()],
        page: 100,
        review: MemoryReview {
            proposed: vec![proposed],
            duplicates: vec![vec![pinned, twice]],
            ..MemoryReview::default()
        },
        report: HygieneReport {
            groups: vec![
                group(HygieneReason::Retention, 2),
                group(HygieneReason::Expired, 1),
            ],
            memories: vec![id(2), id(4)],
            archived: 2,
            removed: 1,
            bytes: 120,
            ..HygieneReport::default()
        },
        runs: vec![run(1, HygieneState::Done), run(2, HygieneState::Undone)],
        routines: vec![
            routine(1, "morning", "0 9 * * MON-FRI", true),
            routine(2, "watch", "every 90m", false),
        ],
        summary: None,
    }
}

impl Kept {
    pub fn answer(&self, query: &Query) -> Option<Answer> {
        let listed = |filter: &MemoryFilter| -> Vec<Memory> {
            let facts = self.facts.iter().filter(|one| {
                filter.scope.is_none_or(|scope| one.scope == scope)
                    && (filter.channel.is_none() || one.channel == filter.channel)
                    && match filter.state {
                        Some(state) => one.state == state,
                        None => one.state != MemoryState::Archived,
                    }
            });
            facts.cloned().collect()
        };
        Some(match query {
            Query::GetMemoryStats(_) => Answer::GetMemoryStats(MemoryStats {
                groups: self
                    .facts
                    .iter()
                    .map(|one| MemoryGroup {
                        scope: one.scope,
                        channel: one.channel.clone(),
                        state: one.state,
                        count: 1,
                        pinned: u64::from(one.pinned),
                        bytes: one.text.len() as u64,
                    })
                    .collect(),
                ..MemoryStats::default()
            }),
            Query::ListMemories(ListMemories { filter, page }) => {
                let all = listed(filter);
                let from: usize = page.cursor.as_ref().map_or(0, |at| at.parse().unwrap());
                let most = self.page.max(if page.cursor.is_some() {
                    0
                } else {
                    page.limit.unwrap() as usize / 100 * self.page
                });
                let items: Vec<Memory> = all.iter().skip(from).take(most).cloned().collect();
                let next = from + items.len();
                Answer::ListMemories(Page {
                    items,
                    next_cursor: (next < all.len()).then(|| next.to_string()),
                })
            }
            Query::SearchMemories(SearchMemories { text, filter, .. }) => {
                let mut found = listed(filter);
                found.retain(|one| one.text.contains(text.as_str()));
                let by = SearchMethod::ALL.iter().cycle();
                let hits = found.into_iter().zip(by).map(|(memory, by)| MemoryHit {
                    memory,
                    found_by: *by,
                });
                Answer::SearchMemories(MemoryMatch {
                    items: hits.collect(),
                    ..MemoryMatch::default()
                })
            }
            Query::GetMemory(GetMemory { id }) => {
                let one = self.facts.iter().find(|one| one.id == *id)?;
                Answer::GetMemory(one.clone())
            }
            Query::ReviewMemories(_) => Answer::ReviewMemories(self.review.clone()),
            Query::GetSessionSummary(_) => Answer::GetSessionSummary(self.summary.clone()),
            Query::GetHygiene(_) => Answer::GetHygiene(HygieneStatus {
                retention_days: [(MemoryScope::Session, 30), (MemoryScope::Global, 0)].into(),
                max_memories: 5000,
                undo_days: 7,
                last: self.runs.first().cloned(),
                next_at: Some(NOW.plus_seconds(7260)),
                growth: (0..12)
                    .map(|n| Growth {
                        day: Day(20_000 + n),
                        memories: 4 + n as u64,
                        ..Growth::default()
                    })
                    .collect(),
                ..HygieneStatus::default()
            }),
            Query::PreviewHygiene(_) => Answer::PreviewHygiene(self.report.clone()),
            Query::ListHygieneRuns(_) => Answer::ListHygieneRuns(Page {
                items: self.runs.clone(),
                next_cursor: None,
            }),
            Query::ListRoutines(_) => Answer::ListRoutines(Page {
                items: self.routines.clone(),
                next_cursor: None,
            }),
            Query::GetContinuation(GetContinuation { id }) => {
                let mut found = fixture::continuation(2, ContinuationState::Completed);
                found.id = *id;
                Answer::GetContinuation(found)
            }
            _ => return None,
        })
    }

    /// Answers everything that was asked since, until nothing more is asked. All that was asked.
    pub fn settle(&self, driver: &mut Driver) -> Vec<Query> {
        let mut asked = Vec::new();
        for _ in 0..50 {
            let effects = std::mem::take(&mut driver.effects);
            let mut quiet = true;
            for effect in effects {
                match effect {
                    Effect::Query(query) => {
                        quiet = false;
                        asked.push(query.clone());
                        match self.answer(&query) {
                            Some(answer) => driver.answer(query, answer),
                            None => refuse(driver, query),
                        }
                    }
                    other => driver.effects.push(other),
                }
            }
            if quiet {
                return asked;
            }
        }
        panic!("it never stops asking: {asked:?}");
    }
}

fn refuse(driver: &mut Driver, query: Query) {
    use leverframe::protocol::problem::Problem;
    driver.hear(DaemonMessage::Answered {
        query: Box::new(query),
        result: Err(Box::new(Problem::not_found("thing", "x"))),
    });
}

/// The screen with these keys pressed and everything answered.
pub fn at(width: u16, height: u16, kept: &Kept, keys: &str) -> Driver {
    let mut driver = Driver::with(width, height, busy());
    driver.effects.clear();
    for key in std::iter::once("8").chain(keys.split_whitespace()) {
        driver.press(key);
        kept.settle(&mut driver);
    }
    driver
}

#[test]
fn scopes_and_facts() {
    check("memory", |w, h| at(w, h, &kept(), ""));
    check("memory_fact", |w, h| at(w, h, &kept(), "j j j"));
}

#[test]
fn what_to_look_through() {
    check("memory_review", |w, h| at(w, h, &kept(), "tab k tab j"));
}

#[test]
fn what_a_search_found_says_by_what() {
    let text = at(160, 45, &kept(), "f . enter j j").text();
    assert!(text.contains("found by"), "{text}");
    for by in ["words", "meaning", "both"] {
        assert!(text.contains(by), "{by}: {text}");
    }
    assert!(text.contains("its meaning"), "{text}");
    // How often it was needed is what a list says.
    let text = at(160, 45, &kept(), "j j").text();
    assert!(
        !text.contains("found by") && text.contains("uses"),
        "{text}"
    );
}

#[test]
fn hygiene() {
    check("memory_hygiene", |w, h| at(w, h, &kept(), "H j"));
    check("memory_hygiene_run", |w, h| at(w, h, &kept(), "H tab j"));
}

/// On a small terminal the list in use has the room, and what a run did is told without scrolling.
#[test]
fn hygiene_fits_a_small_terminal() {
    let text = at(80, 24, &kept(), "H j").text();
    assert!(
        text.contains("Hygiene preview") && text.contains("Remembered"),
        "{text}"
    );
    assert!(
        text.contains("expired") && text.contains("retention"),
        "{text}"
    );
    let text = at(80, 24, &kept(), "H tab j").text();
    assert!(
        text.contains("Runs") && text.contains("Hygiene run"),
        "{text}"
    );
    for words in ["archived", "undo", "state"] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

#[test]
fn routines() {
    check("memory_routines", |w, h| at(w, h, &kept(), "R j"));
}

#[test]
fn the_detail_says_where_it_came_from() {
    let mut driver = at(160, 45, &kept(), "j j j");
    let text = driver.text();
    for words in [
        "The staging server is atlas-2.",
        "model local/qwen3:8b",
        "telegram:481516, message 77",
        "0.80 (fact)",
        "untrusted was in context: result of",
        "It is recalled in every session",
        "proposed",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    // The list stands beside it.
    assert!(text.contains("Ana wants answers"), "{text}");
}

#[test]
fn an_empty_memory_teaches_and_an_unknown_one_says_so() {
    let mut nothing = kept();
    nothing.facts.clear();
    nothing.review = MemoryReview::default();
    nothing.report = HygieneReport::default();
    nothing.runs.clear();
    nothing.routines.clear();
    for (keys, words) in [
        ("", "Nothing is remembered here yet."),
        ("H", "Nothing to archive or remove."),
        ("R", "No routine yet."),
    ] {
        let mut driver = at(80, 24, &nothing, keys);
        let text = driver.text();
        assert!(text.contains(words), "{keys}: {text}");
        assert!(!text.contains("to review"), "{text}");
    }
    let mut driver = Driver::with(80, 24, busy());
    driver.press("8");
    let text = driver.text();
    assert!(text.contains("asking"), "{text}");
    let queries: Vec<Query> = driver
        .effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Query(query) => Some(query.clone()),
            _ => None,
        })
        .collect();
    for query in queries {
        refuse(&mut driver, query);
    }
    let text = driver.text();
    assert!(text.contains("no such thing"), "{text}");
}

#[test]
fn schedules_in_words() {
    for (written, words) in [
        ("0 9 * * *", "every day at 09:00"),
        ("30 18 * * mon-fri", "MON-FRI at 18:30"),
        ("*/15 * * * *", "every 15 minutes"),
        ("5 * * * *", "every hour at :05"),
        ("0 7 1 * *", "day 1 of every month at 07:00"),
        ("every 90m", "every 90m"),
        // What is not said exactly is said as it is written.
        ("0 9-17 * * *", "0 9-17 * * *"),
        ("*/7 * * * *", "*/7 * * * *"),
        ("0 9 1 1 *", "0 9 1 1 *"),
        ("0 9 * * 1", "0 9 * * 1"),
        ("0 0 9 * * *", "0 0 9 * * *"),
        ("99 9 * * *", "99 9 * * *"),
    ] {
        assert_eq!(schedule(written), words);
    }
}

fn hostile(n: usize) -> Kept {
    let h = |k: usize| HOSTILE[(n + k) % HOSTILE.len()].repeat(1 + (n + k) % 3);
    let mut kept = kept();
    for (k, one) in kept.facts.iter_mut().enumerate() {
        one.text = format!("{}{}", h(k), h(k + 1));
        one.author_id = h(k + 2);
        one.person_id = Some(h(k + 3));
        one.message_ref = Some(h(k + 4));
        one.taint = vec![h(k + 5)];
        one.channel = Some(h(k + 6));
    }
    kept.review.proposed = vec![kept.facts[2].clone()];
    for run in &mut kept.runs {
        run.by = h(1);
        run.report.note = Some(h(2));
        run.report.groups[0].channel = Some(h(3));
        run.report.groups[0].what = h(4);
    }
    kept.report.groups[0].channel = Some(h(5));
    for (k, one) in kept.routines.iter_mut().enumerate() {
        one.name = h(k);
        one.prompt = h(k + 1);
        one.schedule = h(k + 2);
        one.channel = h(k + 3);
        one.conversation = h(k + 4);
        one.by = h(k + 5);
        one.model = Some(h(k + 6));
        one.last_run.as_mut().unwrap().detail = Some(h(k + 7));
    }
    kept.summary = Some(Summary {
        session_id: fixture::session_id(2),
        version: 2,
        text: HOSTILE.join("\n"),
        turns: 9,
        model: h(1),
        taint: vec![h(2)],
        at: ago(60),
    });
    kept
}

/// Keys that bring up every part and question of the screen.
const TOURS: &[&str] = &[
    "",
    "j",
    "j enter",
    "j enter ctrl-d",
    "j j s",
    "tab k",
    "tab k tab j",
    "tab j j",
    "j e",
    "n",
    "j x",
    "j j j a",
    "j space j S",
    "/",
    "/ o",
    "f",
    "H",
    "H j",
    "H j enter",
    "H r",
    "H tab j",
    "H tab j enter",
    "H u",
    "R",
    "R j",
    "R j r",
    "R j j t",
];

#[test]
fn hostile_memories_never_reach_a_cell() {
    for (width, height) in [(80, 24), (160, 45), (48, 14)] {
        for n in 0..HOSTILE.len() {
            let kept = hostile(n);
            for keys in TOURS {
                let mut driver = at(width, height, &kept, keys);
                assert_clean(&mut driver, &format!("{keys:?} at {width}x{height}, {n}"));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn it_draws_at_any_size(width in 0u16..=200, height in 0u16..=80, n in 0usize..30, which in 0usize..TOURS.len()) {
        let mut driver = at(width, height, &hostile(n), TOURS[which]);
        assert_clean(&mut driver, TOURS[which]);
    }

    #[test]
    fn a_chart_has_one_column_for_each_of_the_newest_days(values in proptest::collection::vec(any::<u64>(), 0..80), columns in 0usize..60) {
        let chart: Vec<char> = bars(&values, columns).chars().collect();
        prop_assert_eq!(chart.len(), values.len().min(columns));
        let newest = &values[values.len() - chart.len()..];
        if let Some(most) = newest.iter().max().filter(|most| **most > 0) {
            for (value, bar) in newest.iter().zip(&chart) {
                prop_assert_eq!(value == most, *bar == '█' && value == most);
            }
            // What is more is never drawn lower.
            for (a, x) in newest.iter().zip(&chart) {
                for (b, y) in newest.iter().zip(&chart) {
                    prop_assert!(a > b || x <= y);
                }
            }
        }
    }
}
