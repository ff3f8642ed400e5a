//! The store against a model: random walks over every command, crashes, restarts, restored copies and time, compared
//! with the model's tables row by row after each step.
//!
//! A run whose walks did not take every arrow of the tables and use every command fails: a test that looks away is
//! worse than none. `LEVERFRAME_MODEL_CASES=N` runs N walks from a random seed; without it the seed is fixed.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::unused_self,
    reason = "helpers of tests, which clippy.toml does not see as tests"
)]
#![allow(
    clippy::redundant_closure,
    reason = "a function's path is not general over the reader's lifetime"
)]

mod carry_out;
mod carry_out_holds;
mod carry_out_memory;
mod carry_out_operators;
mod coverage;
mod menu;
mod menu_wild;
mod model;
mod picture;
mod rules_delivery;
mod rules_gate;
mod rules_hold;
mod rules_memory;
mod rules_turn;
mod step;
mod system;
mod table;

use leverframe::protocol::enums::{DecisionKind, Effect, OutboxClass};
use leverframe::store::commands::resolve_delivery::Settlement;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestError, TestRunner};
use proptest_state_machine::{ReferenceStateMachine, StateMachineTest};

use crate::store_model::model::{Model, Outcome};
use crate::store_model::step::{
    Item, Judged, Named, Offer, Plan, Question, Sent, Shown, Step, Target,
};
use crate::store_model::system::System;
use crate::support::world::START;

/// Walks of a plain run, on each of two threads.
const CASES: u32 = 32;
/// Steps of a walk.
const STEPS: std::ops::Range<usize> = 80..140;

/// The model as proptest drives it.
struct Reference;

impl ReferenceStateMachine for Reference {
    type State = Model;
    type Transition = Named;

    fn init_state() -> BoxedStrategy<Model> {
        Just(Model::new(START.as_millis())).boxed()
    }

    fn transitions(model: &Model) -> BoxedStrategy<Named> {
        menu::steps(model)
    }

    fn apply(model: Model, step: &Named) -> Model {
        model.follow(step)
    }

    fn preconditions(model: &Model, step: &Named) -> bool {
        model.placed(step).is_some()
    }
}

/// The store as proptest drives it.
struct Walk;

impl StateMachineTest for Walk {
    type SystemUnderTest = System;
    type Reference = Reference;

    fn init_test(_: &Model) -> System {
        System::new()
    }

    fn apply(mut system: System, model: &Model, step: Named) -> System {
        let step = model.placed(&step).unwrap();
        system.apply(model, &step);
        coverage::count(model, &step);
        system
    }

    fn check_invariants(system: &System, model: &Model) {
        system.compare(model);
    }
}

fn walks(cases: u32, seed: RngSeed) {
    let config = Config {
        cases,
        rng_seed: seed,
        max_shrink_iters: 1500,
        max_shrink_time: 60_000,
        failure_persistence: None,
        ..Config::default()
    };
    let mut runner = TestRunner::new(config.clone());
    let outcome = runner.run(
        &Reference::sequential_strategy(STEPS),
        |(model, steps, seen)| {
            coverage::walk();
            Walk::test_sequential(config.clone(), model, steps, seen);
            Ok(())
        },
    );
    match outcome {
        Ok(()) => {}
        Err(TestError::Fail(reason, (_, steps, _))) => {
            let walk: Vec<String> = steps
                .iter()
                .map(|named| format!("{:?}", named.step))
                .collect();
            panic!(
                "{reason}\nafter {} steps:\n{}",
                steps.len(),
                walk.join("\n")
            );
        }
        Err(other) => panic!("{other}"),
    }
}

/// Takes the steps in order, named by places.
fn along(steps: Vec<Step>) -> Model {
    coverage::walk();
    let (mut model, mut system) = (Model::new(START.as_millis()), System::new());
    for step in steps {
        model = model.apply(&step);
        system.apply(&model, &step);
        coverage::count(&model, &step);
        system.compare(&model);
    }
    model
}

/// Walks to arrows that take so many steps in a row that chance seldom finds them.
fn rare_walks() {
    let start = Step::StartTool {
        call: 0,
        right_plan: true,
        key_lives: Some(30),
    };
    let claim = Step::Claim { session: 0 };
    let ingest = Step::Ingest {
        item: Item {
            channel: 0,
            principal: "bot",
            key: None,
            body: 1,
            chat: 0,
            cursor: false,
        },
        target: Target::Chat,
        queue: 1,
        unlimited: false,
        notice: false,
        retry: None,
    };
    // What allowed the same for the session does not count any more after a restore, nor does the permission.
    let model = along(vec![
        ingest.clone(),
        claim.clone(),
        Step::Reserve { turn: 0, tokens: 1 },
        Step::Propose {
            turn: 0,
            attempt: 0,
            tokens: 1,
            plans: vec![Plan {
                effect: Effect::Idempotent,
                verdict: Judged::Ask(Question {
                    lives: None,
                    cards: 0,
                }),
            }],
        },
        Step::Decide {
            gate: 0,
            word: DecisionKind::Approve,
            shown: Shown::Right,
            for_session: true,
            extra: None,
            person: 0,
        },
        Step::Restore,
    ]);
    assert!(model.grants.is_empty());
    // A keyed run dies with its process, and its key is forgotten before the next start.
    let died = vec![
        ingest,
        claim.clone(),
        Step::Reserve { turn: 0, tokens: 1 },
        Step::Propose {
            turn: 0,
            attempt: 0,
            tokens: 1,
            plans: vec![Plan {
                effect: Effect::Keyed,
                verdict: Judged::Ready,
            }],
        },
        start.clone(),
        Step::Crash,
        Step::Resume { turn: 0 },
        claim,
    ];
    let late = vec![Step::Clock(31), start];
    let model = along([died.clone(), late.clone()].concat());
    assert_eq!(model.last, Outcome::KeyRanOut);
    // The same, asked about again and allowed meanwhile.
    let asked = vec![
        Step::ReopenApproval {
            call: 0,
            question: Question {
                lives: None,
                cards: 1,
            },
        },
        Step::Decide {
            gate: 0,
            word: DecisionKind::Approve,
            shown: Shown::Right,
            for_session: false,
            extra: None,
            person: 0,
        },
    ];
    let model = along([died, asked, late].concat());
    assert_eq!(model.last, Outcome::KeyRanOut);
    for settlement in [Settlement::Sent, Settlement::SendAgain, Settlement::Drop] {
        along(vec![
            Step::QueueNotice {
                channel: 0,
                chat: 0,
                class: OutboxClass::Notice,
            },
            Step::BeginSend {
                part: 0,
                offer: Offer::Nothing,
            },
            Step::EndSend {
                part: 0,
                sent: Sent::Never,
            },
            Step::ResolveDelivery {
                part: 0,
                settlement,
            },
        ]);
    }
}

#[test]
fn the_store_does_what_the_model_says() {
    rare_walks();
    let cases = std::env::var("LEVERFRAME_MODEL_CASES")
        .ok()
        .map(|text| text.parse::<u32>().expect("a number of walks"));
    let halves: Vec<_> = [1_u64, 2]
        .map(|seed| {
            std::thread::spawn(move || match cases {
                Some(cases) => walks(cases.div_ceil(2), RngSeed::Random),
                None => walks(CASES, RngSeed::Fixed(seed)),
            })
        })
        .into_iter()
        .collect();
    for half in halves {
        if let Err(panic) = half.join() {
            std::panic::resume_unwind(panic);
        }
    }
    coverage::report(cases.is_none_or(|cases| cases >= 2 * CASES));
}
