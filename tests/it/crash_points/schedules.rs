//! Schedules: a scenario, and the point and time at which each daemon dies before the one that may finish.

use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use serde_json::json;

use crate::crash_points::drive::{End, Patience, Run};
use crate::crash_points::points;
use crate::crash_points::scenario::Scenario;
use crate::support::record;

/// How often a point may be reached before the rest is taken to be alike.
const NTH_LIMIT: u32 = 6;
/// Schedules under way at once. They mostly wait (a chat is sent one message a second), so more than the processors.
const AT_ONCE: usize = 4;
/// Fewest schedules that may be called the suite.
const AT_LEAST: usize = 80;

/// Deaths that leave something of every kind in flight: a model's answer, an effect that happened, one that
/// may not have, a reply that was delivered, one that was not. Recovery itself dies after these.
const LEFT_IN_FLIGHT: &[&str] = &[
    "llm.mid_stream:1",
    "tool.started:2",
    "tool.effect_done:2",
    "send.started:1",
    "send.effect_done:1",
];

/// The schedules of everything but plain approval: where each daemon dies, one after the other.
const OTHERS: &[(Scenario, &[&[&str]])] = &[
    (
        Scenario::Deny,
        &[
            &["propose.post:1"],
            &["decide.pre_commit:1"],
            &["decide.post:1"],
            &["final.pre_commit:1"],
            &["final.post:1"],
        ],
    ),
    (
        Scenario::DenyAndStop,
        &[
            &["park.post:1"],
            &["decide.pre_commit:1"],
            &["decide.post:1"],
        ],
    ),
    (
        Scenario::Edit,
        &[
            &["decide.pre_commit:1"],
            &["decide.post:1"],
            &["decide.pre_commit:2"],
            &["decide.post:2"],
            &["tool.started:1"],
            &["tool.effect_done:1"],
            &["result.post:1"],
        ],
    ),
    (
        Scenario::CancelWaiting,
        &[
            &["propose.post:1"],
            &["park.post:1"],
            &["cancel.pre_commit:1"],
            &["cancel.post:1"],
        ],
    ),
    (
        Scenario::CancelRunning,
        &[
            &["tool.started:1"],
            &["cancel.pre_commit:1"],
            &["cancel.post:1"],
            &["tool.effect_done:1"],
            &["result.pre_commit:1"],
            &["result.post:1"],
        ],
    ),
    (
        Scenario::Expiry,
        &[
            &["park.post:1"],
            &["expire.pre_commit:1"],
            &["expire.post:1"],
            &["expire.pre_commit:1", "expire.post:1"],
        ],
    ),
    (
        Scenario::Parallel,
        &[
            &["propose.pre_commit:1"],
            &["propose.post:1"],
            &["tool.started:1"],
            &["tool.started:2"],
            &["tool.effect_done:2"],
            &["result.pre_commit:2"],
            &["decide.pre_commit:1"],
            &["decide.post:1"],
            &["decide.pre_commit:2"],
            &["decide.post:2"],
            &["decide.pre_commit:3"],
            &["decide.post:3"],
            &["tool.started:3"],
            &["tool.effect_done:3"],
            &["result.pre_commit:3"],
            &["result.post:3"],
            &["tool.started:4"],
            &["tool.effect_done:4"],
            &["result.pre_commit:4"],
            &["result.post:4"],
            &["tool.effect_done:3", "decide.post:1"],
        ],
    ),
    (
        Scenario::Unknown,
        &[
            &["tool.started:1", "decide.pre_commit:1"],
            &["tool.started:1", "decide.post:1"],
            &["tool.started:1", "resume.post:1"],
            &["tool.started:1", "tool.started:1"],
            &["tool.started:1", "tool.effect_done:1"],
            &["tool.started:1", "result.pre_commit:1"],
            &["tool.started:1", "result.post:1"],
            &["tool.effect_done:1", "decide.pre_commit:1"],
            &["tool.effect_done:1", "decide.post:1"],
            &["tool.effect_done:1", "resume.post:1"],
            &["result.pre_commit:1", "decide.post:1"],
        ],
    ),
    (
        Scenario::GiveUp,
        &[
            &["tool.started:1"],
            &["tool.started:1", "decide.pre_commit:1"],
            &["tool.started:1", "decide.post:1"],
            &["tool.effect_done:1", "decide.post:1"],
            &["tool.effect_done:1", "final.pre_commit:1"],
        ],
    ),
    (
        Scenario::Reply,
        &[
            &["send.started:1", "decide.pre_commit:1"],
            &["send.started:1", "decide.post:1"],
            &["send.started:1", "send.started:1"],
            &["send.started:1", "send.effect_done:1"],
            &["send.effect_done:1", "decide.pre_commit:1"],
            &["send.effect_done:1", "decide.post:1"],
            &["final.pre_commit:1"],
            &["final.post:1"],
        ],
    ),
    (
        Scenario::ReplyFromList,
        &[
            &["send.started:1", "settle.pre_commit:1"],
            &["send.started:1", "settle.post:1"],
            &["send.effect_done:1", "settle.pre_commit:1"],
            &["send.effect_done:1", "settle.post:1"],
        ],
    ),
    (
        Scenario::Drop,
        &[
            &["send.started:1"],
            &["send.started:1", "decide.pre_commit:1"],
            &["send.started:1", "decide.post:1"],
            &["send.effect_done:1", "decide.post:1"],
        ],
    ),
    (
        Scenario::Queue,
        &[
            &["ingest.pre_commit:1"],
            &["ingest.post_commit:1"],
            &["ingest.pre_commit:2"],
            &["ingest.post_commit:2"],
            &["claim.post:1"],
            &["claim.post:2"],
            &["final.pre_commit:1"],
            &["final.post:1"],
            &["final.post:2"],
            &["send.started:1"],
            &["send.effect_done:1"],
            &["send.effect_done:2"],
        ],
    ),
    (
        Scenario::Changed,
        &[
            &["decide.pre_commit:1"],
            &["decide.post:1"],
            &["tool.started:1"],
            &["tool.effect_done:1"],
        ],
    ),
    (
        Scenario::Compact,
        &[
            &["compact.pre_model:1"],
            &["compact.post_model:1"],
            &["compact.pre_commit:1"],
            &["compact.post_commit:1"],
            &["compact.pre_model:1", "compact.post_commit:1"],
            &["compact.pre_commit:1", "compact.pre_commit:1"],
            &["final.post:3"],
            &["final.post:4", "compact.post_model:1"],
        ],
    ),
];

/// One schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule {
    /// What happens.
    pub scenario: Scenario,
    /// Where each daemon dies (`point:nth`), one after the other; then one may finish.
    pub deaths: Vec<String>,
}

impl Schedule {
    fn new(scenario: Scenario, deaths: &[&str]) -> Self {
        Self {
            scenario,
            deaths: deaths.iter().map(|death| (*death).to_owned()).collect(),
        }
    }

    /// What `LEVERFRAME_CRASH_ONLY` takes.
    pub fn name(&self) -> String {
        format!("{}: {}", self.scenario.name(), self.deaths.join(", "))
    }
}

/// How a schedule ended.
#[derive(Debug)]
pub struct Ended {
    /// Whether every death came.
    pub died: bool,
    /// What is wrong, if anything.
    pub violation: Option<String>,
}

/// Plays a schedule.
pub async fn play(schedule: &Schedule, mutant: Option<&'static str>, patience: Patience) -> Ended {
    let mut run = Run::new(schedule.scenario, mutant, patience);
    for crash in &schedule.deaths {
        let (end, daemon) = run.until_crash(crash).await;
        if end == End::Quiet {
            if let Some(mut daemon) = daemon {
                run.stop(&mut daemon);
            }
            return Ended {
                died: false,
                violation: run.verdict().await,
            };
        }
    }
    run.finish().await;
    Ended {
        died: true,
        violation: run.verdict().await,
    }
}

/// Every schedule of scenarios beyond plain approval, those of recovery and of a first start.
pub fn listed() -> Vec<Schedule> {
    let mut all: Vec<Schedule> = OTHERS
        .iter()
        .flat_map(|(scenario, chains)| chains.iter().map(|deaths| Schedule::new(*scenario, deaths)))
        .collect();
    for second in ["recover.mid:1", "recover.post:1"] {
        all.extend(
            LEFT_IN_FLIGHT
                .iter()
                .map(|first| Schedule::new(Scenario::Approve, &[first, second])),
        );
    }
    for start in ["migrate.mid:1", "recover.mid:1", "recover.post:1"] {
        all.push(Schedule::new(Scenario::Approve, &[start]));
    }
    all
}

/// Points that a plain approval reaches: all but those of a start and those that only other scenarios reach.
pub fn of_a_turn() -> Vec<String> {
    points::in_source()
        .into_iter()
        .filter(|name| !points::OF_THE_START.contains(&name.as_str()))
        .filter(|name| !points::OF_OTHER_SCENARIOS.contains(&name.as_str()))
        .filter(|name| !points::ELSEWHERE.contains(&name.as_str()))
        .collect()
}

/// The schedules of plain approval at one point for the nth time: approved both ways where a decision dies, else by
/// turns.
pub fn of_a_point(point: &str, nth: u32) -> Vec<Schedule> {
    let ways: &[Scenario] = if point.starts_with("decide.") {
        &[Scenario::Approve, Scenario::ApproveByButton]
    } else if nth.is_multiple_of(2) {
        &[Scenario::ApproveByButton]
    } else {
        &[Scenario::Approve]
    };
    let crash = format!("{point}:{nth}");
    ways.iter()
        .map(|way| Schedule::new(*way, &[&crash]))
        .collect()
}

/// Schedules of a plain approval that there may be; how often a point is reached is seen only by trying.
pub fn possible() -> Vec<Schedule> {
    of_a_turn()
        .iter()
        .flat_map(|point| (1..=NTH_LIMIT).flat_map(|nth| of_a_point(point, nth)))
        .collect()
}

/// Runs a future to its end on this thread.
pub fn blocking<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime")
        .block_on(work)
}

/// Works through jobs, [`AT_ONCE`] at a time.
pub fn work_through<J: Send>(jobs: Vec<J>, work: impl Fn(J) + Sync) {
    let at_once = std::env::var("LEVERFRAME_CRASH_AT_ONCE")
        .ok()
        .and_then(|number| number.parse().ok())
        .unwrap_or(AT_ONCE);
    let queue = Mutex::new(VecDeque::from(jobs));
    std::thread::scope(|scope| {
        for _ in 0..at_once {
            scope.spawn(|| {
                loop {
                    let job = queue
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .pop_front();
                    match job {
                        Some(job) => work(job),
                        None => break,
                    }
                }
            });
        }
    });
}

/// Results of all schedules.
#[derive(Default)]
struct Tally {
    schedules: usize,
    scenarios: BTreeMap<&'static str, usize>,
    points: BTreeMap<String, usize>,
    failures: Vec<String>,
}

impl Tally {
    fn note(&mut self, schedule: &Schedule, began: Instant, violation: Option<String>) {
        self.schedules += 1;
        *self.scenarios.entry(schedule.scenario.name()).or_default() += 1;
        for death in &schedule.deaths {
            let point = death.split(':').next().unwrap_or(death);
            *self.points.entry(point.to_owned()).or_default() += 1;
        }
        let (name, took) = (schedule.name(), began.elapsed().as_millis());
        match violation {
            None => eprintln!("{name}: held ({took} ms)"),
            Some(what) => {
                eprintln!("{name}: BROKEN ({took} ms)");
                self.failures.push(format!("=== {name}\n{what}"));
            }
        }
    }
}

/// A unit of work: a point of a plain approval, as often as it is reached; or one schedule.
enum Job {
    Point(String),
    One(Schedule),
}

fn try_one(schedule: &Schedule, must_die: bool, tally: &Mutex<Tally>) -> bool {
    let began = Instant::now();
    let ended = blocking(play(schedule, None, Patience::LONG));
    let violation = match ended.violation {
        None if !ended.died && must_die => Some("the point was not reached".to_owned()),
        // Past the last time that a point is reached there is no schedule, only a turn without a death.
        None if !ended.died => return false,
        other => other,
    };
    tally
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .note(schedule, began, violation);
    ended.died
}

#[test]
fn kill_nine_at_every_point_loses_nothing_and_repeats_nothing() {
    let began = Instant::now();
    let known = points::in_source();
    let turn = of_a_turn();
    assert!(turn.len() >= 15, "only {turn:?} are left in the source");
    let only = std::env::var("LEVERFRAME_CRASH_ONLY").ok();
    let mut jobs: Vec<Job> = turn.into_iter().map(Job::Point).collect();
    jobs.extend(listed().into_iter().map(Job::One));
    if let Some(only) = &only {
        jobs = listed()
            .into_iter()
            .chain(possible())
            .filter(|schedule| schedule.name() == *only)
            .map(Job::One)
            .collect();
        assert!(!jobs.is_empty(), "there is no schedule `{only}`");
    }
    let tally = Mutex::new(Tally::default());
    work_through(jobs, |job| match job {
        Job::One(schedule) => {
            try_one(&schedule, true, &tally);
        }
        Job::Point(point) => {
            for nth in 1..=NTH_LIMIT {
                let mut reached = false;
                for schedule in of_a_point(&point, nth) {
                    reached |= try_one(&schedule, nth == 1, &tally);
                }
                if !reached {
                    break;
                }
            }
        }
    });
    let tally = tally.into_inner().unwrap_or_else(PoisonError::into_inner);
    let violations = tally.failures.len();
    eprintln!(
        "crash schedules: {}, violations: {violations}, {} s",
        tally.schedules,
        began.elapsed().as_secs()
    );
    assert!(violations == 0, "{}", tally.failures.join("\n\n"));
    if only.is_some() {
        return;
    }
    let missed: Vec<&String> = known
        .iter()
        .filter(|point| !tally.points.contains_key(*point))
        .filter(|point| !points::ELSEWHERE.contains(&point.as_str()))
        .collect();
    assert!(missed.is_empty(), "no schedule dies at {missed:?}");
    assert!(
        tally.schedules >= AT_LEAST && tally.scenarios.len() == Scenario::ALL.len(),
        "{} schedules of {} scenarios are not the suite",
        tally.schedules,
        tally.scenarios.len()
    );
    record::fact(
        "crash",
        "schedules",
        &json!({
            "schedules": tally.schedules,
            "violations": violations,
            "scenarios": tally.scenarios,
            "points": tally.points,
        }),
    );
}
