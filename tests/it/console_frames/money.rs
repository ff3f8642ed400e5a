//! Cache & cost and Doctor: frames at three sizes, and clean at any size whatever names, answers and errors hold.

use std::collections::BTreeMap;
use std::sync::Arc;

use leverframe::clock::Day;
use leverframe::console::message::DaemonMessage;
use leverframe::protocol::cache::{
    CacheCounts, CacheEntry, CacheGroup, CacheStats, ToolCacheCounts,
};
use leverframe::protocol::costs::{BudgetUsage, CostItem, Costs};
use leverframe::protocol::doctor::{CheckReport, Doctor, Finding, RuleResult, Standing};
use leverframe::protocol::enums::*;
use leverframe::protocol::event::{Event, EventBody};
use leverframe::protocol::hook::{Hook, HookCounts};
use leverframe::protocol::problem::{Problem, ProblemKind};
use leverframe::protocol::request::{
    Answer, GetCache, GetCacheEntry, GetCosts, GetDoctor, ListCacheEntries, ListHooks,
    ListMcpServers, ListModels, Query,
};
use leverframe::protocol::session::Usage;
use leverframe::protocol::snapshot::{Page, PageRequest};
use leverframe::tui::message::Effect;
use proptest::prelude::*;

use crate::console_frames::any_size::{HOSTILE, assert_clean};
use crate::console_frames::driver::Driver;
use crate::console_frames::fixture::{self, busy};
use crate::console_frames::models_dialog;
use crate::console_frames::screens::check;

fn item(name: &str, cost_usd: Option<f64>, unpriced_tokens: u64) -> CostItem {
    CostItem {
        name: name.to_owned(),
        calls: 120,
        failed: 3,
        input_tokens: 100_000,
        output_tokens: 20_000,
        cached_input_tokens: 74_000,
        cache_write_tokens: 0,
        cost_usd,
        unpriced_tokens,
        prompt_cache_saved_usd: cost_usd.map(|usd| usd / 10.0),
    }
}

fn today() -> Day {
    "2026-11-21".parse().unwrap()
}

pub fn costs(by: CostGrouping) -> Costs {
    let items = match by {
        CostGrouping::Channel => vec![
            item("desk", Some(0.25), 0),
            item("private", None, 120_000),
            item("telegram", Some(3.5), 4_000),
        ],
        CostGrouping::Model => vec![
            item("anthropic/claude-sonnet-5", Some(3.75), 0),
            item("local/qwen3:8b", None, 124_000),
        ],
        CostGrouping::Day => vec![
            item("2026-11-03", Some(0.75), 0),
            item("2026-11-12", Some(2.0), 0),
            item("2026-11-19", None, 124_000),
            item("2026-11-21", Some(1.0), 0),
        ],
    };
    let budget = |budget: &str, channel: Option<&str>, limit: f64, used: f64| BudgetUsage {
        budget: budget.to_owned(),
        channel: channel.map(str::to_owned),
        session_id: None,
        limit,
        used,
        reserved: if used < limit { used / 10.0 } else { 0.0 },
        resets_at: Some(fixture::NOW.plus_seconds(41_000)),
        percent: used / limit * 100.0,
    };
    Costs {
        by,
        since: "2026-10-23".parse().unwrap(),
        until: today(),
        items,
        total: CostItem {
            calls: 360,
            input_tokens: 300_000,
            output_tokens: 60_000,
            cached_input_tokens: 222_000,
            ..item("total", Some(3.75), 124_000)
        },
        prices_as_of: "2026-11-01".to_owned(),
        budgets: vec![
            budget("day_cost", None, 5.0, 1.0),
            budget("channel_tokens", Some("telegram"), 100_000.0, 104_000.0),
            BudgetUsage {
                session_id: Some(fixture::session_id(1)),
                resets_at: None,
                ..budget("session_cost", None, 2.0, 1.7)
            },
        ],
        more_sessions: 2,
    }
}

fn counts(hits: u64, missed: u64) -> CacheCounts {
    CacheCounts {
        lookups: hits + missed,
        hits: hits - hits / 4,
        coalesced: hits / 4,
        misses: BTreeMap::from([
            (CacheMissReason::NoEntry, missed / 2),
            (CacheMissReason::Changed, missed / 4),
            (CacheMissReason::ToolsUsed, missed / 4),
        ]),
        stores: missed / 2,
        input_tokens_saved: hits * 900,
        output_tokens_saved: hits * 100,
        cost_usd_saved: hits as f64 * 0.01,
        unpriced: 0,
        tools: ToolCacheCounts {
            hits: 12,
            misses: BTreeMap::from([(ToolCacheMiss::ALL[0], 3)]),
            ..ToolCacheCounts::default()
        },
        ..CacheCounts::default()
    }
}

pub fn stats() -> CacheStats {
    let group = |name: &str, hits, missed| CacheGroup {
        name: name.to_owned(),
        counts: counts(hits, missed),
    };
    CacheStats {
        enabled: true,
        scopes: BTreeMap::from([("telegram".to_owned(), CacheScope::ALL[1])]),
        tool_channels: vec!["telegram".to_owned()],
        results: 14,
        result_bytes: 12_000,
        max_results: 500,
        max_result_bytes: 1_000_000,
        problem: None,
        entries: 3,
        pinned: 1,
        bytes: 4_200,
        max_entries: 1_000,
        max_bytes: 64_000_000,
        ttl_minutes: 60,
        prices_as_of: "2026-11-01".to_owned(),
        today: counts(8, 12),
        total: counts(420, 580),
        channels: vec![group("telegram", 420, 580)],
        models: vec![group("anthropic/claude-sonnet-5", 420, 580)],
        days: vec![
            group("2026-11-21", 8, 12),
            group("2026-11-20", 90, 10),
            group("2026-11-14", 0, 30),
            group("2026-11-02", 50, 50),
        ],
    }
}

pub fn answer(n: u8) -> CacheEntry {
    CacheEntry {
        id: format!("{n:02x}").repeat(8),
        channel: if n == 3 { "desk" } else { "telegram" }.to_owned(),
        scope: CacheScope::ALL[1],
        requester: "telegram:481516".to_owned(),
        model: "anthropic/claude-sonnet-5".to_owned(),
        question: format!("Where is the release checklist {n}?"),
        answer: "In docs/release.md, beside the changelog.".to_owned(),
        usage: Usage {
            cost_usd: (n != 2).then_some(0.25),
            ..fixture::usage()
        },
        bytes: 1_400,
        hits: u64::from(n) * 7,
        pinned: n == 3,
        stored_at: fixture::ago(i64::from(n) * 600),
        used_at: Some(fixture::ago(60)),
        expires_at: (n != 3).then(|| fixture::NOW.plus_seconds(1800)),
    }
}

pub fn finding(verdict: Standing, about: &str, detail: &str, fix: Option<&str>) -> Finding {
    Finding {
        verdict,
        about: about.to_owned(),
        detail: detail.to_owned(),
        fix: fix.map(str::to_owned),
    }
}

pub fn diagnosis() -> Doctor {
    Doctor {
        at: fixture::NOW,
        database: "/data/leverframe.db".to_owned(),
        live: true,
        findings: vec![
            finding(
                Standing::Ok,
                "version",
                "leverframe 0.1.0, SQLite 3.50.4",
                None,
            ),
            finding(
                Standing::Ok,
                "database",
                "schema 21, 412.3 MiB, log 4.1 MiB, 120.0 GiB free",
                None,
            ),
            finding(
                Standing::Warn,
                "sandbox",
                "none (bubblewrap is not installed)",
                Some("install bubblewrap and allow user namespaces: programs run unconfined"),
            ),
            finding(
                Standing::Fail,
                "channel team",
                "telegram, failed: 401 the token is not valid",
                Some("mend what it names, then restart"),
            ),
        ],
        check: None,
    }
}

pub fn report(violations: u64) -> CheckReport {
    let mut report = CheckReport {
        took_ms: 1_234,
        ..CheckReport::default()
    };
    for (name, violations) in [("I1", 0), ("I5", violations)] {
        report.add(RuleResult {
            invariant: name.to_owned(),
            broken: "a call ran without a verdict".to_owned(),
            rows: 4_100,
            violations,
            found: (0..violations).map(|n| format!("call {n}")).collect(),
        });
    }
    report
}

pub fn hook(name: &str, broken: bool) -> Hook {
    Hook {
        name: name.to_owned(),
        point: HookPoint::BeforeToolCall,
        priority: 100,
        built_in: false,
        dry_run: false,
        channels: vec!["telegram".to_owned()],
        tools: Vec::new(),
        timeout_ms: 5_000,
        counts: HookCounts {
            runs: 1_240,
            changes: 4,
            cancels: 2,
            failures: if broken { 5 } else { 0 },
            p95_us: 840,
            ..HookCounts::default()
        },
        broken_until: broken.then(|| fixture::NOW.plus_seconds(120)),
        refused: None,
        last_error: broken.then(|| "exit status 1: no such table".to_owned()),
    }
}

fn page<T>(items: Vec<T>) -> Page<T> {
    Page {
        items,
        next_cursor: None,
    }
}

pub fn entries(cursor: Option<&str>) -> Query {
    Query::ListCacheEntries(ListCacheEntries {
        channel: None,
        page: PageRequest {
            limit: Some(100),
            cursor: cursor.map(str::to_owned),
        },
    })
}

pub fn costs_query(by: CostGrouping) -> Query {
    Query::GetCosts(GetCosts {
        by,
        since: None,
        until: None,
    })
}

/// Goes to Cache & cost and answers what it asks.
pub fn money(driver: &mut Driver) {
    driver.press("7");
    answer_money(driver, stats(), costs(CostGrouping::Channel), vec![1, 2, 3]);
}

pub fn answer_money(driver: &mut Driver, stats: CacheStats, costs: Costs, kept: Vec<u8>) {
    driver.answer(Query::GetCache(GetCache {}), Answer::GetCache(stats));
    driver.answer(costs_query(costs.by), Answer::GetCosts(costs));
    let kept = kept.into_iter().map(answer).collect();
    driver.answer(entries(None), Answer::ListCacheEntries(page(kept)));
    driver.draw();
}

/// Goes to Doctor and answers what it asks.
pub fn doctor(driver: &mut Driver) {
    driver.press("0");
    answer_doctor(
        driver,
        diagnosis(),
        vec![hook("audit", false), hook("deploy-gate", true)],
    );
}

pub fn answer_doctor(driver: &mut Driver, doctor: Doctor, hooks: Vec<Hook>) {
    driver.answer(
        Query::GetDoctor(GetDoctor { check: false }),
        Answer::GetDoctor(doctor),
    );
    driver.answer(
        Query::ListHooks(ListHooks {}),
        Answer::ListHooks(page(hooks)),
    );
    driver.answer(
        Query::ListMcpServers(ListMcpServers {}),
        Answer::ListMcpServers(page(Vec::new())),
    );
    driver.answer(
        Query::ListModels(ListModels {}),
        Answer::ListModels(page(models_dialog::known())),
    );
    driver.answer(
        costs_query(CostGrouping::Model),
        Answer::GetCosts(costs(CostGrouping::Model)),
    );
    driver.draw();
}

#[test]
fn cache_and_cost() {
    check("cache_cost", |w, h| {
        let mut driver = Driver::with(w, h, busy());
        money(&mut driver);
        driver.press("j j");
        driver
    });
}

#[test]
fn cache_and_cost_by_day() {
    check("cache_cost_days", |w, h| {
        let mut driver = Driver::with(w, h, busy());
        money(&mut driver);
        driver.press("tab tab");
        driver.answer(
            costs_query(CostGrouping::Day),
            Answer::GetCosts(costs(CostGrouping::Day)),
        );
        driver
    });
}

#[test]
fn cache_and_cost_in_numbers() {
    check("cache_cost_numbers", |w, h| {
        let mut driver = Driver::with(w, h, busy());
        money(&mut driver);
        driver.press("n");
        driver
    });
}

#[test]
fn a_kept_answer() {
    check("cached_response", |w, h| {
        let mut driver = Driver::with(w, h, busy());
        money(&mut driver);
        driver.press("j enter");
        let id = answer(1).id;
        driver.answer(
            Query::GetCacheEntry(GetCacheEntry { id }),
            Answer::GetCacheEntry(answer(1)),
        );
        driver
    });
}

#[test]
fn what_is_off_is_said() {
    check("cache_off", |w, h| {
        let mut driver = Driver::with(w, h, busy());
        driver.press("7");
        let nothing = Costs {
            items: Vec::new(),
            total: CostItem::default(),
            budgets: Vec::new(),
            ..costs(CostGrouping::Channel)
        };
        answer_money(&mut driver, CacheStats::default(), nothing, Vec::new());
        driver
    });
}

#[test]
fn doctor_with_problems() {
    check("doctor", |w, h| {
        let mut driver = Driver::with(w, h, busy());
        doctor(&mut driver);
        driver.press("j enter j j enter");
        driver
    });
}

#[test]
fn on_a_wide_screen_the_detail_stands_beside_the_list() {
    let mut driver = Driver::with(160, 45, busy());
    money(&mut driver);
    driver.press("j");
    let text = driver.text();
    let line = text.lines().find(|line| line.contains("> ")).unwrap();
    assert!(line.contains("Where is the release checklist 1?"), "{text}");
    assert!(text.contains("enter reads all of it"), "{text}");
    assert!(text.contains("docs/release.md"), "{text}");
    let mut driver = Driver::with(160, 45, busy());
    doctor(&mut driver);
    driver.press("j");
    let text = driver.text();
    assert!(
        text.contains("fix: mend what it names, then restart"),
        "{text}"
    );
}

/// Both screens with hostile text in every place that quotes somebody.
fn hostile(driver: &mut Driver, n: usize) {
    let h = |k: usize| HOSTILE[(n + k) % HOSTILE.len()].to_owned();
    driver.press("7");
    let mut costs_of = costs(CostGrouping::Channel);
    for item in &mut costs_of.items {
        item.name = h(1);
    }
    costs_of.budgets[1].channel = Some(h(2));
    costs_of.prices_as_of = h(3);
    let mut stats_of = stats();
    stats_of.problem = n.is_multiple_of(2).then(|| h(4));
    stats_of.scopes = BTreeMap::from([(h(5), CacheScope::ALL[1])]);
    stats_of.channels[0].name = h(6);
    stats_of.tool_channels = vec![h(7)];
    answer_money(driver, stats_of, costs_of, Vec::new());
    let mut kept = answer(1);
    kept.channel = h(1);
    kept.model = h(2);
    kept.requester = h(3);
    kept.question = HOSTILE.concat();
    kept.answer = HOSTILE.join("\n");
    let id = kept.id.clone();
    driver.answer(
        entries(None),
        Answer::ListCacheEntries(page(vec![kept.clone()])),
    );
    // Nothing asked for this round: the screen asks when somebody wants it.
    driver.press("ctrl-r");
    driver.answer(
        entries(None),
        Answer::ListCacheEntries(page(vec![kept.clone()])),
    );
    assert_clean(driver, "cache & cost");
    driver.press("n");
    assert_clean(driver, "numbers");
    driver.press("n j");
    assert_clean(driver, "selected");
    driver.press("x");
    assert_clean(driver, "forget one");
    driver.press("esc X");
    assert_clean(driver, "forget a channel");
    driver.press("esc enter");
    driver.answer(
        Query::GetCacheEntry(GetCacheEntry { id }),
        Answer::GetCacheEntry(kept),
    );
    assert_clean(driver, "a cached response");
    driver.press("0");
    let mut found = diagnosis();
    for finding in &mut found.findings {
        finding.about = h(1);
        finding.detail = HOSTILE.concat();
        finding.fix = Some(h(2));
    }
    let mut broken = hook(&h(3), true);
    broken.last_error = Some(HOSTILE.concat());
    broken.refused = n.is_multiple_of(2).then(|| h(4));
    broken.tools = vec![h(5)];
    answer_doctor(driver, found, vec![broken]);
    let event = Event {
        seq: Some(900),
        at: fixture::NOW,
        session_id: None,
        continuation_id: None,
        body: EventBody::ModelFinished {
            model: "local/small".to_owned(),
            step: 1,
            usage: Usage::default(),
            latency_ms: 1,
            error: Some(HOSTILE.concat()),
            stop: None,
            answered_by: None,
            notes: Vec::new(),
        },
    };
    driver.hear(DaemonMessage::Event(Arc::new(event)));
    driver.press("ctrl-r");
    driver.answer(
        Query::ListModels(ListModels {}),
        Answer::ListModels(page(models_dialog::known())),
    );
    for _ in 0..driver.state.screens.doctor.rows.len() {
        driver.press("j enter");
    }
    assert_clean(driver, "doctor, all unfolded");
    driver.press("C");
    assert_clean(driver, "before a full check");
    driver.press("C");
    let mut checked = diagnosis();
    let mut broken = report(4);
    broken.rules[1].broken = HOSTILE.concat();
    broken.rules[1].found = vec![HOSTILE.concat()];
    checked.check = Some(broken);
    driver.answer(
        Query::GetDoctor(GetDoctor { check: true }),
        Answer::GetDoctor(checked),
    );
    driver.press("G enter g g enter");
    assert_clean(driver, "after a full check");
    for key in ["7", "0"] {
        driver.press(key);
        driver.press("ctrl-r");
        let open: Vec<Query> = driver
            .effects
            .iter()
            .filter_map(|effect| match effect {
                Effect::Query(query) => Some(query.clone()),
                _ => None,
            })
            .collect();
        for query in open {
            driver.hear(DaemonMessage::Answered {
                query: Box::new(query),
                result: Err(Box::new(Problem::new(
                    ProblemKind::Internal,
                    "no",
                    HOSTILE.concat(),
                ))),
            });
        }
        assert_clean(driver, "nothing is known");
    }
}

#[test]
fn hostile_text_is_revealed() {
    for (w, h) in [(80, 24), (160, 45), (48, 14), (30, 8)] {
        for n in 0..HOSTILE.len() {
            let mut driver = Driver::with(w, h, busy());
            hostile(&mut driver, n);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn every_size_draws(width in 0u16..=200, height in 0u16..=80, n in 0usize..10) {
        let mut driver = Driver::with(width, height, busy());
        hostile(&mut driver, n);
    }
}
