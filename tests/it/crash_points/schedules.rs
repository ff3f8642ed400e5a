//! One kill at every reachable (point, nth time), two schedules at a time.

use std::collections::VecDeque;
use std::future::Future;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use crate::crash_points::drive::{End, Run};
use crate::crash_points::operator::Approves;
use crate::crash_points::points;

/// How often a point may be reached before the rest is taken to be alike.
const NTH_LIMIT: u32 = 6;
/// Schedules under way at once.
const AT_ONCE: usize = 2;
/// Deaths that leave something of every kind in flight: a model's answer, an effect that happened, one that
/// may not have, a reply that was delivered, one that was not. Recovery itself dies after these.
const LEFT_IN_FLIGHT: &[&str] = &[
    "llm.mid_stream:1",
    "tool.started:2",
    "tool.effect_done:2",
    "send.started:1",
    "send.effect_done:1",
];

/// Results of all schedules.
#[derive(Default)]
struct Tally {
    schedules: usize,
    failures: Vec<String>,
}

impl Tally {
    fn note(&mut self, name: &str, began: Instant, failure: Option<String>) {
        self.schedules += 1;
        let took = began.elapsed().as_millis();
        match failure {
            None => eprintln!("{name}: held ({took} ms)"),
            Some(what) => {
                eprintln!("{name}: BROKEN ({took} ms)");
                self.failures.push(format!("=== {name}\n{what}"));
            }
        }
    }

    fn settle(self) {
        let (schedules, violations) = (self.schedules, self.failures.len());
        eprintln!("crash schedules: {schedules}, violations: {violations}");
        assert!(schedules > 0 || only().is_some(), "nothing was tried");
        assert!(violations == 0, "{}", self.failures.join("\n\n"));
    }
}

fn blocking<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime")
        .block_on(work)
}

/// Works through jobs, [`AT_ONCE`] at a time.
fn work_through<J: Send>(jobs: Vec<J>, work: impl Fn(J, &Mutex<Tally>) + Sync) -> Tally {
    let queue = Mutex::new(VecDeque::from(jobs));
    let tally = Mutex::new(Tally::default());
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let job = queue
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .pop_front();
                    match job {
                        Some(job) => work(job, &tally),
                        None => break,
                    }
                }
            });
        }
    });
    tally.into_inner().unwrap_or_else(PoisonError::into_inner)
}

fn note(tally: &Mutex<Tally>, name: &str, began: Instant, failure: Option<String>) {
    tally
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .note(name, began, failure);
}

/// The schedule that was asked for alone, if one was.
fn only() -> Option<String> {
    std::env::var("LEVERFRAME_CRASH_ONLY").ok()
}

/// Dies at a point of a turn, then goes on. Whether the point was reached at all.
async fn one(crash: &str, approves: Approves) -> (End, Option<String>) {
    let mut run = Run::new(approves);
    let (end, daemon) = run.until_crash(crash).await;
    match (end, daemon) {
        (End::Quiet, Some(mut daemon)) => run.stop(&mut daemon),
        (End::Quiet | End::Killed, _) => run.finish().await,
    }
    (end, run.verdict().await)
}

/// How the command is approved: both ways where a decision dies, else by turns.
fn ways(point: &str, nth: u32) -> &'static [Approves] {
    if point.starts_with("decide.") {
        &[Approves::OverHttp, Approves::ByButton]
    } else if nth.is_multiple_of(2) {
        &[Approves::ByButton]
    } else {
        &[Approves::OverHttp]
    }
}

#[test]
fn kill_nine_at_every_point_of_a_turn_loses_nothing_and_repeats_nothing() {
    let points: Vec<String> = points::in_source()
        .into_iter()
        .filter(|name| !points::OF_THE_START.contains(&name.as_str()))
        .filter(|name| !points::COVERED_ELSEWHERE.contains(&name.as_str()))
        .collect();
    assert!(points.len() >= 15, "only {points:?} are left in the source");
    let tally = work_through(points, |point, tally| {
        for nth in 1..=NTH_LIMIT {
            let crash = format!("{point}:{nth}");
            let mut reached = false;
            for approves in ways(&point, nth) {
                let name = match approves {
                    Approves::OverHttp => crash.clone(),
                    Approves::ByButton => format!("{crash} by button"),
                };
                if only().is_some_and(|only| only != name) {
                    reached = true;
                    continue;
                }
                let began = Instant::now();
                let (end, mut failure) = blocking(one(&crash, *approves));
                reached |= end == End::Killed;
                if end == End::Quiet && nth == 1 && failure.is_none() {
                    failure = Some(format!("no turn reaches {point} any more"));
                }
                note(tally, &name, began, failure);
            }
            if !reached {
                break;
            }
        }
    });
    tally.settle();
}

/// Dies at a point of a turn, dies again while recovering from it, then goes on.
async fn twice(first: &str, second: &str) -> Option<String> {
    let mut run = Run::new(Approves::OverHttp);
    let (end, daemon) = run.until_crash(first).await;
    drop(daemon);
    if end == End::Quiet {
        return Some(format!("{first} was not reached"));
    }
    if run.world.start(Some(second)).is_some() {
        return Some(format!("{second} was not reached"));
    }
    run.finish().await;
    run.verdict().await
}

#[test]
fn kill_nine_during_recovery_is_recovered_from_as_if_it_had_not_happened() {
    let known = points::in_source();
    let mut jobs = Vec::new();
    for second in ["recover.mid:1", "recover.post:1"] {
        let point = second.split(':').next().unwrap();
        assert!(known.contains(point), "{point} is not in the source");
        jobs.extend(LEFT_IN_FLIGHT.iter().map(|first| (*first, second)));
    }
    let tally = work_through(jobs, |(first, second), tally| {
        let name = format!("{first} then {second}");
        if only().is_some_and(|only| only != name) {
            return;
        }
        let began = Instant::now();
        note(tally, &name, began, blocking(twice(first, second)));
    });
    tally.settle();
}

#[test]
fn kill_nine_while_a_database_is_made_leaves_one_that_can_be_made() {
    let known = points::in_source();
    for crash in ["migrate.mid:1", "recover.mid:1", "recover.post:1"] {
        let point = crash.split(':').next().unwrap();
        assert!(known.contains(point), "{point} is not in the source");
    }
    let jobs = vec!["migrate.mid:1", "recover.mid:1", "recover.post:1"];
    let tally = work_through(jobs, |crash, tally| {
        let began = Instant::now();
        let failure = blocking(async {
            let mut run = Run::new(Approves::OverHttp);
            if run.world.start(Some(crash)).is_some() {
                return Some(format!("{crash} was not reached"));
            }
            run.finish().await;
            run.verdict().await
        });
        note(
            tally,
            &format!("{crash} at the first start"),
            began,
            failure,
        );
    });
    tally.settle();
}
