//! Properties of the pure turn machine, under random inputs in any order.

use std::collections::HashMap;

use leverframe::engine::turn::effect::Effect;
use leverframe::engine::turn::input::{Call, CallStatus, Halt, Input};
use leverframe::engine::turn::machine::{Phase, Turn};
use leverframe::protocol::budget::{TurnLimits, TurnUsage};
use leverframe::protocol::ids::ToolCallId;
use proptest::prelude::*;

const LIMITS: TurnLimits = TurnLimits {
    max_steps: 4,
    max_tool_calls: 6,
    max_active_ms: 60_000,
    max_tokens: 10_000,
    max_cost_usd: None,
};

/// What a random world answers next.
#[derive(Debug, Clone)]
enum Step {
    /// The model ends with text.
    Say,
    /// The model proposes calls of these statuses (and whether each is read-only).
    Propose(Vec<(u8, bool)>),
    /// The model fails.
    FailModel,
    /// The nth running tool ends; true = its outcome is unknown.
    EndTool(usize, bool),
    /// The nth waiting call is decided while parked; true = approved.
    Decide(usize, bool),
    /// A start turned out to need a person again.
    AskAgain,
    /// Let go.
    Halt(Halt),
    /// A late report of something long settled.
    Nonsense(u8),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => Just(Step::Say),
        6 => proptest::collection::vec((0_u8..4, any::<bool>()), 1..4).prop_map(Step::Propose),
        1 => Just(Step::FailModel),
        8 => (0_usize..4, proptest::bool::weighted(0.2)).prop_map(|(n, unknown)| Step::EndTool(n, unknown)),
        6 => (0_usize..4, any::<bool>()).prop_map(|(n, yes)| Step::Decide(n, yes)),
        1 => Just(Step::AskAgain),
        1 => prop_oneof![Just(Halt::Cancelled), Just(Halt::Held), Just(Halt::ShuttingDown), Just(Halt::TakenOver)].prop_map(Step::Halt),
        2 => (0_u8..5).prop_map(Step::Nonsense),
    ]
}

/// An independent record of what is true of each call.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Truth {
    status: CallStatus,
    read_only: bool,
    /// Allowed by policy or by a person.
    allowed: bool,
    starts: u32,
}

/// A world that plays store, model, tools and people, and checks every effect.
struct World {
    turn: Turn,
    truth: HashMap<ToolCallId, Truth>,
    current: Vec<ToolCallId>,
    proposed: Option<Vec<(u8, bool)>>,
    model_open: bool,
    parked: bool,
    ended: bool,
    killed: bool,
}

impl World {
    fn new() -> Self {
        let mut world = Self {
            turn: Turn::restore(LIMITS, TurnUsage::default(), Vec::new()),
            truth: HashMap::new(),
            current: Vec::new(),
            proposed: None,
            model_open: false,
            parked: false,
            ended: false,
            killed: false,
        };
        world.input(Input::Claimed);
        world
    }

    fn running(&self) -> Vec<ToolCallId> {
        self.current
            .iter()
            .copied()
            .filter(|id| self.truth[id].status == CallStatus::Started)
            .collect()
    }

    fn waiting(&self) -> Vec<ToolCallId> {
        self.current
            .iter()
            .copied()
            .filter(|id| {
                matches!(
                    self.truth[id].status,
                    CallStatus::Awaiting | CallStatus::Indeterminate
                )
            })
            .collect()
    }

    fn calls(&self) -> Vec<Call> {
        self.current
            .iter()
            .map(|id| Call {
                id: *id,
                status: self.truth[id].status,
                parallel: self.truth[id].read_only,
            })
            .collect()
    }

    fn input(&mut self, input: Input) {
        let over_before = self.turn.is_over();
        let effects = self.turn.step(input);
        assert!(
            !over_before || effects.is_empty(),
            "effects after the end: {effects:?}"
        );
        for effect in effects {
            self.effect(effect);
        }
    }

    fn effect(&mut self, effect: Effect) {
        assert!(!self.ended, "an effect after the turn ended: {effect:?}");
        match effect {
            Effect::CallModel => {
                assert!(!self.model_open, "two model calls at once");
                assert!(
                    self.current
                        .iter()
                        .all(|id| self.truth[id].status == CallStatus::Settled),
                    "the model is asked while a call has no result"
                );
                let used = self.turn.used();
                assert!(
                    used.steps < LIMITS.max_steps && used.tokens < LIMITS.max_tokens,
                    "over budget: {used:?}"
                );
                self.model_open = true;
            }
            Effect::RecordCalls => {
                let proposed = self.proposed.take().expect("recording without a proposal");
                self.current.clear();
                for (kind, read_only) in proposed {
                    let id = ToolCallId::generate();
                    let status = match kind {
                        0 => CallStatus::Settled,
                        1 => CallStatus::Awaiting,
                        _ => CallStatus::Ready,
                    };
                    let allowed = status == CallStatus::Ready;
                    self.truth.insert(
                        id,
                        Truth {
                            status,
                            read_only,
                            allowed,
                            starts: 0,
                        },
                    );
                    self.current.push(id);
                }
                let calls = self.calls();
                self.input(Input::CallsRecorded { calls });
            }
            Effect::StartTool(id) => {
                let gates = self.waiting().len();
                let truth = self.truth[&id];
                assert!(truth.allowed, "a call starts that nobody allowed");
                assert!(
                    matches!(truth.status, CallStatus::Ready | CallStatus::Approved),
                    "a call starts from {:?}",
                    truth.status
                );
                assert!(!self.killed, "a call starts after the tools were killed");
                let others: Vec<_> = self.running();
                if truth.read_only && truth.status == CallStatus::Ready {
                    assert!(
                        others.iter().all(|other| self.truth[other].read_only),
                        "a reader beside a writer"
                    );
                } else {
                    assert_eq!(
                        gates, 0,
                        "a call that is not read-only starts before all decisions of its step"
                    );
                    assert!(
                        others.is_empty(),
                        "a call that is not read-only runs beside another"
                    );
                }
                let truth = self.truth.get_mut(&id).expect("known call");
                truth.status = CallStatus::Started;
                truth.starts += 1;
                assert_eq!(truth.starts, 1, "a call starts twice");
            }
            Effect::KillTools => {
                assert!(!self.running().is_empty(), "nothing to kill");
                self.killed = true;
            }
            Effect::Park => {
                assert!(!self.waiting().is_empty(), "parked without a gate");
                assert!(self.running().is_empty(), "parked while a tool runs");
                self.parked = true;
            }
            Effect::AskBudget(_)
            | Effect::Finish
            | Effect::Fail { .. }
            | Effect::Yield
            | Effect::Interrupt { .. } => {
                assert!(
                    self.running().is_empty(),
                    "ended while a tool runs: {effect:?}"
                );
                if effect == Effect::Finish {
                    assert!(
                        self.current
                            .iter()
                            .all(|id| self.truth[id].status == CallStatus::Settled),
                        "finished with an open call"
                    );
                }
                self.ended = true;
            }
        }
    }

    fn play(&mut self, step: Step) {
        match step {
            Step::Say if self.model_open => {
                self.model_open = false;
                self.input(Input::ModelSaid { tokens: 100 });
            }
            Step::Propose(calls) if self.model_open => {
                self.model_open = false;
                let count = calls.len() as u32;
                self.proposed = Some(calls);
                self.input(Input::ModelProposed {
                    tokens: 500,
                    calls: count,
                });
            }
            Step::FailModel if self.model_open => {
                self.model_open = false;
                self.input(Input::ModelFailed {
                    code: "model_unavailable",
                    message: String::new(),
                });
            }
            Step::EndTool(n, unknown) => {
                let running = self.running();
                if let Some(id) = running.get(n % running.len().max(1)).copied() {
                    let unknown = unknown && !self.truth[&id].read_only;
                    let status = if unknown {
                        CallStatus::Indeterminate
                    } else {
                        CallStatus::Settled
                    };
                    self.truth.get_mut(&id).expect("known call").status = status;
                    self.input(Input::ToolEnded { id, status });
                }
            }
            Step::Decide(n, yes) if self.parked => {
                let waiting = self.waiting();
                if let Some(id) = waiting.get(n % waiting.len().max(1)).copied() {
                    let truth = self.truth.get_mut(&id).expect("known call");
                    truth.status = if yes && truth.starts == 0 {
                        CallStatus::Approved
                    } else {
                        CallStatus::Settled
                    };
                    truth.allowed = truth.status == CallStatus::Approved;
                }
                if self.waiting().is_empty() && !self.turn.is_over() {
                    self.parked = false;
                    let calls = self.calls();
                    self.input(Input::GatesDecided { calls });
                }
            }
            Step::AskAgain => {
                // A start that was refused by the store: the call waits for a person again.
                let sequential = self
                    .running()
                    .into_iter()
                    .find(|id| !self.truth[id].read_only);
                if let Some(id) = sequential {
                    let truth = self.truth.get_mut(&id).expect("known call");
                    truth.status = CallStatus::Awaiting;
                    truth.allowed = false;
                    truth.starts = 0;
                    if self.killed {
                        truth.status = CallStatus::Settled;
                        self.input(Input::ToolEnded {
                            id,
                            status: CallStatus::Settled,
                        });
                    } else {
                        self.input(Input::CallBecame {
                            id,
                            status: CallStatus::Awaiting,
                        });
                    }
                }
            }
            Step::Halt(halt) if !self.parked => {
                self.model_open = false;
                self.killed = true;
                let before = self.running().len();
                if before == 0 {
                    self.killed = false;
                }
                self.input(Input::Halted(halt));
            }
            Step::Nonsense(kind) => {
                let stranger = ToolCallId::generate();
                if !self.model_open {
                    match kind {
                        0 => self.input(Input::ModelSaid { tokens: 1 }),
                        1 => self.input(Input::ModelFailed {
                            code: "late",
                            message: String::new(),
                        }),
                        _ => {}
                    }
                }
                match kind {
                    2 => self.input(Input::TimePassed { active_ms: 10 }),
                    3 if !self.running().is_empty() => {
                        self.input(Input::ToolEnded {
                            id: stranger,
                            status: CallStatus::Settled,
                        });
                    }
                    _ => {}
                }
            }
            Step::Say | Step::Propose(_) | Step::FailModel | Step::Decide(..) | Step::Halt(_) => {}
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    /// I9, I11, I14: a tool starts only when allowed and once, gates hold, the model waits for every result,
    /// and nothing follows the end.
    #[test]
    fn no_sequence_of_events_breaks_the_rules(steps in proptest::collection::vec(step(), 1..60)) {
        let mut world = World::new();
        for step in steps {
            world.play(step);
        }
    }
}

fn ready(parallel: bool) -> Call {
    Call {
        id: ToolCallId::generate(),
        status: CallStatus::Ready,
        parallel,
    }
}

fn proposed(calls: Vec<Call>) -> (Turn, Vec<Effect>) {
    let mut turn = Turn::restore(LIMITS, TurnUsage::default(), Vec::new());
    assert_eq!(turn.step(Input::Claimed), vec![Effect::CallModel]);
    let count = calls.len() as u32;
    assert_eq!(
        turn.step(Input::ModelProposed {
            tokens: 10,
            calls: count
        }),
        vec![Effect::RecordCalls]
    );
    let effects = turn.step(Input::CallsRecorded { calls });
    (turn, effects)
}

#[test]
fn readers_start_together_and_before_the_gates_are_decided() {
    let (one, two) = (ready(true), ready(true));
    let gate = Call {
        status: CallStatus::Awaiting,
        ..ready(false)
    };
    let (mut turn, effects) = proposed(vec![one, gate, two]);
    assert_eq!(
        effects,
        vec![Effect::StartTool(one.id), Effect::StartTool(two.id)]
    );
    assert_eq!(
        turn.step(Input::ToolEnded {
            id: one.id,
            status: CallStatus::Settled
        }),
        vec![]
    );
    assert_eq!(
        turn.step(Input::ToolEnded {
            id: two.id,
            status: CallStatus::Settled
        }),
        vec![Effect::Park]
    );
}

#[test]
fn writers_run_one_after_the_other_in_order() {
    let (one, two) = (ready(false), ready(false));
    let (mut turn, effects) = proposed(vec![one, two]);
    assert_eq!(effects, vec![Effect::StartTool(one.id)]);
    let after = turn.step(Input::ToolEnded {
        id: one.id,
        status: CallStatus::Settled,
    });
    assert_eq!(after, vec![Effect::StartTool(two.id)]);
    let after = turn.step(Input::ToolEnded {
        id: two.id,
        status: CallStatus::Settled,
    });
    assert_eq!(after, vec![Effect::CallModel]);
}

#[test]
fn a_turn_that_used_its_steps_asks_for_more_instead_of_calling() {
    let used = TurnUsage {
        steps: LIMITS.max_steps,
        ..TurnUsage::default()
    };
    let mut turn = Turn::restore(LIMITS, used, Vec::new());
    let effects = turn.step(Input::Claimed);
    assert!(
        matches!(effects.as_slice(), [Effect::AskBudget(_)]),
        "{effects:?}"
    );
    assert_eq!(turn.phase(), Phase::Over);
}

#[test]
fn a_stop_kills_first_and_parks_on_an_unknown_outcome() {
    let writer = ready(false);
    let (mut turn, _) = proposed(vec![writer]);
    assert_eq!(
        turn.step(Input::Halted(Halt::Held)),
        vec![Effect::KillTools]
    );
    let after = turn.step(Input::ToolEnded {
        id: writer.id,
        status: CallStatus::Indeterminate,
    });
    assert_eq!(after, vec![Effect::Park]);
    assert!(turn.is_over());
}

#[test]
fn who_takes_over_lets_a_running_tool_end_and_a_stop_still_kills_it() {
    let writer = ready(false);
    let (mut turn, _) = proposed(vec![writer]);
    assert_eq!(turn.step(Input::Halted(Halt::TakenOver)), []);
    let mut stopped = turn.clone();
    let ended = |turn: &mut Turn| {
        turn.step(Input::ToolEnded {
            id: writer.id,
            status: CallStatus::Settled,
        })
    };
    assert_eq!(ended(&mut turn), [Effect::Yield]);
    assert!(turn.is_over());
    assert_eq!(stopped.step(Input::Halted(Halt::Held)), [Effect::KillTools]);
    assert_eq!(ended(&mut stopped), [Effect::Yield]);
}

/// A call that was about to start when its turn had to let go, and then did not start, is waited for no longer.
#[test]
fn a_start_that_did_not_happen_ends_the_letting_go() {
    for halt in [Halt::Held, Halt::ShuttingDown] {
        let id = ToolCallId::generate();
        let call = Call {
            id,
            status: CallStatus::Ready,
            parallel: false,
        };
        let mut turn = Turn::restore(LIMITS, TurnUsage::default(), vec![call]);
        assert_eq!(turn.step(Input::Claimed), [Effect::StartTool(id)]);
        assert_eq!(turn.step(Input::Halted(halt)), [Effect::KillTools]);
        let status = CallStatus::Ready;
        assert_eq!(
            turn.step(Input::CallBecame { id, status }),
            [Effect::Yield],
            "{halt:?}"
        );
        assert!(turn.is_over());
    }
}
