//! Random walks over everything that can happen to routines: commands, time, restarts, kills and
//! emergency stops. Whatever the order, every time that was due is in the history exactly once, as a run or in the
//! count of a line that says why there was none, and every run has one turn.

use std::collections::{BTreeMap, BTreeSet};

use leverframe::clock::Timestamp;
use leverframe::protocol::command::Waiting;
use leverframe::protocol::enums::{MissedRuns, RoutineRunState};
use leverframe::protocol::problem::ProblemKind;
use leverframe::protocol::request::{Command, EmergencyStop, ReleaseEmergencyStop, RemoveRoutine};
use leverframe::protocol::routine::{RoutinePatch, RoutineRun};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestRunner};

use crate::routines::world::Place;

const NAMES: [&str; 3] = ["one", "two", "three"];
/// Minutes between two runs of each.
const MINUTES: [i64; 3] = [3, 10, 60];

#[derive(Debug, Clone, Copy)]
enum Step {
    Add(usize, bool),
    Enable(usize, bool),
    Edit(usize),
    Remove(usize),
    Run(usize),
    Wait(i64),
    Restart(i64),
    Kill,
    Hold(bool),
}

fn step() -> impl Strategy<Value = Step> {
    let which = 0..NAMES.len();
    prop_oneof![
        3 => (which.clone(), any::<bool>()).prop_map(|(n, once)| Step::Add(n, once)),
        2 => (which.clone(), any::<bool>()).prop_map(|(n, on)| Step::Enable(n, on)),
        1 => which.clone().prop_map(Step::Edit),
        1 => which.clone().prop_map(Step::Remove),
        2 => which.prop_map(Step::Run),
        6 => prop_oneof![0_i64..200, 0_i64..20_000].prop_map(Step::Wait),
        2 => prop_oneof![Just(0_i64), 0_i64..20_000].prop_map(Step::Restart),
        1 => Just(Step::Kill),
        1 => any::<bool>().prop_map(Step::Hold),
    ]
}

/// What must have been settled of a routine: times from this one on, a step apart.
#[derive(Debug, Clone, Copy)]
struct Expected {
    /// The first time that is not settled before; none = it does not run by itself.
    from: Option<Timestamp>,
    /// How many were due before the last change.
    before: u64,
}

impl Expected {
    fn due(self, length_ms: u64, to: Timestamp) -> u64 {
        let since = |from: Timestamp| {
            if to < from {
                0
            } else {
                to.millis_since(from) / length_ms + 1
            }
        };
        self.before + self.from.map_or(0, since)
    }
}

/// How many due times a line of the history settles.
fn settles(run: &RoutineRun) -> u64 {
    let Some(_) = run.due_at else { return 0 };
    let detail = run.detail.as_deref().unwrap_or_default();
    let number = |text: &str| text.split(' ').next().and_then(|n| n.parse().ok());
    match detail.strip_prefix("makes up for ") {
        Some(rest) => number(rest).unwrap(),
        None if detail.contains(" missed since ") => number(detail).unwrap(),
        None => 1,
    }
}

struct Walk {
    place: Option<Place>,
    expected: BTreeMap<usize, Expected>,
    /// Turns that runs of removed routines began.
    removed: u64,
    held: bool,
}

impl Walk {
    fn place(&self) -> &Place {
        self.place.as_ref().unwrap()
    }

    fn length(n: usize) -> u64 {
        MINUTES[n] as u64 * 60_000
    }

    /// What was due until now is counted before the step changes.
    fn cut(&mut self, n: usize, enabled: bool) {
        let now = self.place().world.clock.now();
        let expected = self.expected[&n];
        let before = expected.due(Self::length(n), now);
        let from = match (expected.from, enabled) {
            (Some(from), true) => {
                // It goes on in its step.
                let passed = before - expected.before;
                Some(from.plus_millis((passed * Self::length(n)) as i64))
            }
            (None, true) => Some(now.plus_millis(Self::length(n) as i64)),
            (_, false) => None,
        };
        self.expected.insert(n, Expected { from, before });
    }

    async fn change(&self, n: usize, patch: RoutinePatch) {
        self.place().change(NAMES[n], patch).await;
    }

    async fn take(&mut self, step: Step) {
        match step {
            Step::Add(n, once) if !self.expected.contains_key(&n) => {
                let patch = RoutinePatch {
                    missed: Some(if once {
                        MissedRuns::RunOnce
                    } else {
                        MissedRuns::Skip
                    }),
                    ..RoutinePatch::default()
                };
                let schedule = format!("every {}m", MINUTES[n]);
                let made = self.place().add(NAMES[n], &schedule, patch).await;
                let expected = Expected {
                    from: made.due_at,
                    before: 0,
                };
                self.expected.insert(n, expected);
            }
            // What is due while everything is held would be lost with the step.
            Step::Enable(n, enabled) if self.expected.contains_key(&n) && !self.held => {
                self.cut(n, enabled);
                let patch = RoutinePatch {
                    enabled: Some(enabled),
                    ..RoutinePatch::default()
                };
                self.change(n, patch).await;
            }
            Step::Edit(n) if self.expected.contains_key(&n) => {
                let patch = RoutinePatch {
                    prompt: Some("SAY:edited".to_owned()),
                    ..RoutinePatch::default()
                };
                self.change(n, patch).await;
            }
            Step::Remove(n) if self.expected.remove(&n).is_some() => {
                let runs = self.place().runs(NAMES[n]).await;
                self.removed += runs
                    .iter()
                    .filter(|run| run.continuation_id.is_some())
                    .count() as u64;
                let routine = NAMES[n].to_owned();
                self.place()
                    .command(RemoveRoutine { routine })
                    .await
                    .unwrap();
            }
            Step::Run(n) => match self.place().run(NAMES[n]).await {
                Ok(run) => assert_eq!(run.state, RoutineRunState::Started),
                Err(problem) if problem.kind == ProblemKind::Conflict => {}
                Err(problem) => assert!(!self.expected.contains_key(&n), "{problem}"),
            },
            Step::Wait(seconds) => self.place().advance(seconds),
            Step::Restart(seconds) => {
                let place = self.place.take().unwrap();
                self.place = Some(place.restart(seconds).await);
            }
            Step::Kill => {
                let place = self.place.take().unwrap();
                self.place = Some(place.crash().await);
            }
            Step::Hold(held) => {
                self.held = held;
                let command = if held {
                    Command::EmergencyStop(EmergencyStop { reason: None })
                } else {
                    Command::ReleaseEmergencyStop(ReleaseEmergencyStop {
                        waiting: Waiting::All,
                        conversations: Vec::new(),
                    })
                };
                self.place().submit(command).await.unwrap();
            }
            Step::Add(..) | Step::Enable(..) | Step::Edit(_) | Step::Remove(_) => {}
        }
        // Three crashes within ten minutes hold the engine; a restart of this world forgets that it was held.
        self.held = self.place().engine.is_held();
    }

    async fn check(&self) {
        let mut turns = self.removed;
        for (&n, expected) in &self.expected {
            let runs = if self.held {
                self.place().runs(NAMES[n]).await
            } else {
                self.place().settled(NAMES[n]).await
            };
            let mut seen = BTreeSet::new();
            for run in &runs {
                assert!(
                    run.due_at.is_none_or(|due| seen.insert(due)),
                    "twice: {runs:#?}"
                );
                assert_eq!(
                    run.state == RoutineRunState::Started,
                    run.continuation_id.is_some()
                );
                turns += u64::from(run.continuation_id.is_some());
            }
            let settled: u64 = runs.iter().map(settles).sum();
            let now = self.place().world.clock.now();
            let due = expected.due(Self::length(n), now);
            if self.held {
                assert!(settled <= due, "{settled} of {due}: {runs:#?}");
            } else {
                assert_eq!(
                    settled, due,
                    "{} since {expected:?} until {now}: {runs:#?}",
                    NAMES[n]
                );
            }
        }
        let query = "SELECT count(*) FROM continuations WHERE unattended IS NOT NULL";
        let stored = self.place().world.count(query).await;
        assert_eq!(stored, turns);
        self.place().world.sound().await;
    }
}

#[test]
fn every_due_time_is_settled_once_whatever_happens() {
    let config = Config {
        cases: 40,
        rng_seed: RngSeed::Fixed(7),
        failure_persistence: None,
        max_shrink_iters: 200,
        ..Config::default()
    };
    let steps = proptest::collection::vec(step(), 10..30);
    TestRunner::new(config)
        .run(&steps, |steps| {
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .worker_threads(2)
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(async {
                let mut walk = Walk {
                    place: Some(Place::new().await),
                    expected: BTreeMap::new(),
                    removed: 0,
                    held: false,
                };
                for step in steps {
                    walk.take(step).await;
                    walk.check().await;
                }
                walk.place.take().unwrap().end().await;
            });
            Ok(())
        })
        .unwrap();
}
