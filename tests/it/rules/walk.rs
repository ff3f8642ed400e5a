//! Random walks over everything that can happen to rules, with time and crashes, beside a table that says what must be.

use leverframe::protocol::enums::{RuleScope, ToolCallState};
use leverframe::protocol::ids::RuleId;
use leverframe::store::commands::put_rule::{PutRule, RemoveRule, RuleFields};
use leverframe::store::commands::start_tool::{StartTool, StartToolOutcome};
use leverframe::store::input::Basis;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestRunner};

use crate::rules::world::{fields, leaning, put};
use crate::support::world::{World, by};

const RULES: usize = 3;

#[derive(Debug, Clone, Copy)]
enum Step {
    Put {
        rule: usize,
        enabled: bool,
        max: Option<u64>,
        lives: Option<i64>,
    },
    Remove(usize),
    Propose {
        rule: usize,
        calls: usize,
    },
    Start,
    Wait(i64),
    Crash,
}

fn step() -> impl Strategy<Value = Step> {
    let rule = 0..RULES;
    prop_oneof![
        4 => (rule.clone(), proptest::bool::weighted(0.8), proptest::option::of(0..4_u64),
            proptest::option::of(1..90_i64))
            .prop_map(|(rule, enabled, max, lives)| Step::Put { rule, enabled, max, lives }),
        1 => rule.clone().prop_map(Step::Remove),
        6 => (rule, 1..4_usize).prop_map(|(rule, calls)| Step::Propose { rule, calls }),
        4 => Just(Step::Start),
        2 => (1..60_i64).prop_map(Step::Wait),
        1 => Just(Step::Crash),
    ]
}

/// What must be known of a rule.
#[derive(Debug, Clone)]
struct Expected {
    id: RuleId,
    version: u64,
    uses: u64,
    fields: RuleFields,
}

impl Expected {
    fn holds(&self, now: leverframe::clock::Timestamp) -> bool {
        self.fields.enabled && self.fields.expires_at.is_none_or(|at| at > now)
    }

    fn allows(&self, now: leverframe::clock::Timestamp) -> bool {
        self.holds(now) && self.fields.max_uses.is_none_or(|max| self.uses < max)
    }
}

async fn walk(steps: Vec<Step>) {
    let mut world = World::new().await;
    let mut table: Vec<Option<Expected>> = vec![None; RULES];
    let mut ready = Vec::new();
    let mut turns = 0;
    for step in steps {
        let now = world.clock.now();
        match step {
            Step::Put {
                rule,
                enabled,
                max,
                lives,
            } => {
                let fields = RuleFields {
                    scope: RuleScope::Global,
                    session_id: None,
                    continuation_id: None,
                    enabled,
                    max_uses: max,
                    expires_at: lives.map(|seconds| now.plus_seconds(seconds)),
                    ..fields(leverframe::protocol::ids::SessionId::generate())
                };
                let (id, version, uses) = match &table[rule] {
                    Some(known) => (known.id, known.version, known.uses),
                    None => (RuleId::generate(), 0, 0),
                };
                let command = PutRule {
                    id,
                    version,
                    ..put(fields.clone())
                };
                if max.is_some_and(|max| max < uses) {
                    assert!(world.illegal(command).await.contains("is less"));
                    continue;
                }
                let made = world.ok(command).await;
                assert_eq!((made.version, made.uses), (version + 1, uses));
                table[rule] = Some(Expected {
                    id,
                    version: version + 1,
                    uses,
                    fields,
                });
            }
            Step::Remove(rule) => {
                if let Some(known) = table[rule].take() {
                    world
                        .ok(RemoveRule {
                            id: known.id,
                            by: by("anna"),
                        })
                        .await;
                }
            }
            Step::Propose { rule, calls } => {
                turns += 1;
                let (_, turn) = world.running(&format!("chat-{turns}")).await;
                let gone = RuleId::generate();
                let id = table[rule].as_ref().map_or(gone, |known| known.id);
                let new: Vec<_> = (0..calls).map(|_| leaning(id)).collect();
                let ids: Vec<_> = new.iter().map(|call| call.id).collect();
                world.propose(turn, new).await;
                let rows = world
                    .store
                    .read(move |reader| reader.turn(turn))
                    .await
                    .unwrap();
                for (call, row) in ids.into_iter().zip(&rows.calls) {
                    let allowed = match &mut table[rule] {
                        Some(known) if known.allows(now) => {
                            known.uses += 1;
                            true
                        }
                        Some(_) | None => false,
                    };
                    let expected = if allowed {
                        ToolCallState::Ready
                    } else {
                        ToolCallState::Denied
                    };
                    assert_eq!(row.call.state, expected);
                    assert_eq!(row.rule_id, allowed.then_some(id));
                    if allowed {
                        ready.push((call, id));
                    }
                }
            }
            Step::Start => {
                let Some((call_id, id)) = ready.pop() else {
                    continue;
                };
                let outcome = world
                    .ok(StartTool {
                        call_id,
                        epoch: world.epoch(),
                        digest: format!("digest-{call_id}"),
                        max_decision_age_ms: 60_000,
                        key_lifetime_ms: None,
                        basis: Some(Basis::Rule(id)),
                    })
                    .await;
                let known = table.iter().flatten().find(|known| known.id == id);
                let expected = if known.is_some_and(|known| known.holds(now)) {
                    StartToolOutcome::Started { attempt: 1 }
                } else {
                    StartToolOutcome::NoLongerAllowed
                };
                assert_eq!(outcome, expected);
            }
            Step::Wait(seconds) => world.clock.advance_millis(seconds * 1000),
            Step::Crash => {
                world = world.crash().await;
                // Their turns are interrupted: nothing of them starts before it is resumed.
                ready.clear();
            }
        }
        let stored = world.store.read(|reader| reader.rules()).await.unwrap();
        let mut uses: Vec<_> = stored
            .iter()
            .map(|rule| (rule.id, rule.version, rule.uses))
            .collect();
        let mut expected: Vec<_> = table
            .iter()
            .flatten()
            .map(|known| (known.id, known.version, known.uses))
            .collect();
        uses.sort();
        expected.sort();
        assert_eq!(uses, expected);
    }
    world.sound().await;
}

#[test]
fn rules_do_what_the_table_says_wherever_the_process_dies() {
    let mut runner = TestRunner::new(Config {
        cases: 24,
        rng_seed: RngSeed::Fixed(5),
        failure_persistence: None,
        max_shrink_time: 30_000,
        ..Config::default()
    });
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    runner
        .run(&proptest::collection::vec(step(), 20..50), |steps| {
            runtime.block_on(walk(steps));
            Ok(())
        })
        .unwrap();
}
