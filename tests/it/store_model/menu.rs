//! What a walk may do next: mostly what brings the open turns on, sometimes what is not allowed.

use leverframe::protocol::enums::{
    ApprovalKind, ApprovalState, Autonomy, CompactionState, ContinuationState, DecisionKind,
    Disposition, Effect, OutboxClass, OutboxState, ToolCallState,
};
use leverframe::store::commands::resolve_delivery::Settlement;
use leverframe::store::input::BudgetKind;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::Union;

use crate::store_model::menu_wild::wild;
use crate::store_model::model::Model;
use crate::store_model::rules_gate::ENGINE;
use crate::store_model::step::{
    Ended, Item, Judged, Look, Named, Offer, Plan, Question, Sent, Shown, Step, Target,
};

/// Turns that a walk keeps open at once.
const OPEN: usize = 4;

pub(crate) type Menu = Vec<(u32, BoxedStrategy<Step>)>;

fn item() -> impl Strategy<Value = Item> {
    (
        prop_oneof![3 => Just(0_usize), 1 => Just(1)],
        select(vec!["bot", "token:ci"]),
        proptest::option::weighted(0.6, 0..4_u8),
        prop_oneof![5 => Just(1_u8), 1 => Just(2)],
        0..2_u8,
        any::<bool>(),
    )
        .prop_map(|(channel, principal, key, body, chat, cursor)| Item {
            channel,
            principal,
            key,
            body,
            chat,
            cursor,
        })
}

pub(crate) fn question() -> impl Strategy<Value = Question> {
    (
        prop_oneof![2 => Just(None), 2 => Just(Some(30_i64)), 3 => Just(Some(3600))],
        prop_oneof![2 => Just(0_u8), 2 => Just(1), 1 => Just(2)],
    )
        .prop_map(|(lives, cards)| Question { lives, cards })
}

pub(crate) fn plan() -> impl Strategy<Value = Plan> {
    let verdict = prop_oneof![
        4 => Just(Judged::Ready),
        5 => question().prop_map(Judged::Ask),
        2 => select(vec![ToolCallState::Blocked, ToolCallState::Denied, ToolCallState::Failed])
            .prop_map(Judged::Refused),
    ];
    (select(Effect::ALL.to_vec()), verdict).prop_map(|(effect, verdict)| Plan { effect, verdict })
}

fn key() -> impl Strategy<Value = Option<i64>> {
    prop_oneof![2 => Just(None), 2 => Just(Some(30_i64)), 1 => Just(Some(3600))]
}

pub(crate) fn offer() -> impl Strategy<Value = Offer> {
    prop_oneof![
        3 => Just(Offer::Nothing),
        2 => Just(Offer::LookUp),
        2 => Just(Offer::Key(None)),
        3 => Just(Offer::Key(Some(30))),
    ]
}

fn look() -> impl Strategy<Value = Look> {
    prop_oneof![
        2 => (0..3_u8).prop_map(Look::Arrived),
        2 => Just(Look::Not),
        1 => Just(Look::Unclear),
    ]
}

pub(crate) fn look_up(part: usize) -> BoxedStrategy<Step> {
    (proptest::bool::weighted(0.9), look())
        .prop_map(move |(last_attempt, look)| Step::EndLookUp {
            part,
            last_attempt,
            look,
        })
        .boxed()
}

pub(crate) fn ended() -> impl Strategy<Value = Ended> {
    prop_oneof![
        6 => Just(Ended::Well),
        2 => Just(Ended::Badly),
        2 => question().prop_map(Ended::Unknown),
        1 => Just(Ended::UnknownUnasked),
        1 => Just(Ended::Nonsense),
    ]
}

pub(crate) fn sent() -> impl Strategy<Value = Sent> {
    prop_oneof![
        6 => (1..3_u8).prop_map(Sent::Yes),
        2 => select(vec![0_i64, 30, 120]).prop_map(Sent::Later),
        3 => Just(Sent::Never),
        // What nobody knows is asked about, without a deadline: it stays unknown until somebody says.
        2 => (0..3_u8).prop_map(|cards| Sent::Unknown(Some(Question { lives: None, cards }))),
    ]
}

pub(crate) fn shown() -> impl Strategy<Value = Shown> {
    prop_oneof![
        6 => Just(Shown::Right),
        2 => Just(Shown::RightDigestOnly),
        1 => Just(Shown::WrongDigest),
        1 => Just(Shown::WrongRevision),
    ]
}

pub(crate) fn decide(model: &Model, gate: usize, words: Vec<DecisionKind>) -> BoxedStrategy<Step> {
    // The engine answers what it could look up, and nothing else.
    let engine = matches!(
        model.gates[gate].kind,
        ApprovalKind::ResolveUnknown | ApprovalKind::Resend
    );
    (
        select(words),
        shown(),
        proptest::bool::weighted(0.3),
        proptest::option::of(0..20_u8),
        prop_oneof![4 => 0..2_u8, 1 => Just(if engine { ENGINE } else { 1 })],
    )
        .prop_map(
            move |(word, shown, for_session, extra, person)| Step::Decide {
                gate,
                word,
                shown,
                for_session,
                extra,
                person,
            },
        )
        .boxed()
}

pub(crate) fn assign(gate: usize) -> BoxedStrategy<Step> {
    (shown(), proptest::option::of(0..3_u8), 0..2_u8)
        .prop_map(move |(shown, to, person)| Step::Assignment {
            gate,
            shown,
            to,
            person,
        })
        .boxed()
}

pub(crate) fn ingest(model: &Model) -> BoxedStrategy<Step> {
    let mut targets = vec![
        (6, Just(Target::Chat).boxed()),
        (1, Just(Target::Temporary).boxed()),
    ];
    if !model.sessions.is_empty() {
        targets.push((
            1,
            (0..model.sessions.len()).prop_map(Target::Session).boxed(),
        ));
    }
    let retry = if model.turns.is_empty() {
        Just(None).boxed()
    } else {
        proptest::option::weighted(0.1, 0..model.turns.len()).boxed()
    };
    (
        item(),
        Union::new_weighted(targets),
        1..3_u32,
        proptest::bool::weighted(0.2),
        any::<bool>(),
        retry,
    )
        .prop_map(
            |(item, target, queue, unlimited, notice, retry)| Step::Ingest {
                item,
                target,
                queue,
                unlimited,
                notice,
                retry,
            },
        )
        .boxed()
}

/// What brings a turn on.
fn turn_steps(model: &Model, turn: usize, menu: &mut Menu) {
    let mut on = |weight, step: Step| menu.push((weight, Just(step).boxed()));
    let waits = model.waiting_gates(turn) > 0;
    match model.turns[turn].state {
        ContinuationState::Pending => on(
            30,
            Step::Claim {
                session: model.turns[turn].session,
            },
        ),
        ContinuationState::Running => {
            on(1, Step::Park { turn, notice: true });
            if waits && model.started(turn).is_empty() {
                on(
                    20,
                    Step::Park {
                        turn,
                        notice: false,
                    },
                );
            }
            on(
                if waits { 14 } else { 1 },
                Step::Yield {
                    turn,
                    interrupted: false,
                },
            );
            on(
                2,
                Step::Yield {
                    turn,
                    interrupted: true,
                },
            );
            let open: Vec<usize> = (0..model.tries.len())
                .filter(|n| model.tries[*n].turn == turn && model.tries[*n].used.is_none())
                .collect();
            if let Some(attempt) = open.last().copied() {
                on(
                    1,
                    Step::FailTurn {
                        turn,
                        attempt: Some(attempt),
                        notice: true,
                    },
                );
                menu.push((
                    40,
                    (proptest::collection::vec(plan(), 1..4), 1..50_u32)
                        .prop_map(move |(plans, tokens)| Step::Propose {
                            turn,
                            attempt,
                            tokens,
                            plans,
                        })
                        .boxed(),
                ));
                menu.push((
                    12,
                    (0..4_u8, 1..50_u32)
                        .prop_map(move |(parts, tokens)| Step::FinishTurn {
                            turn,
                            attempt: Some(attempt),
                            tokens,
                            parts,
                        })
                        .boxed(),
                ));
                menu.push((
                    3,
                    (1..50_u32)
                        .prop_map(move |tokens| Step::Settle { attempt, tokens })
                        .boxed(),
                ));
                menu.push((
                    1,
                    (1..50_u32)
                        .prop_map(move |tokens| Step::Reserve { turn, tokens })
                        .boxed(),
                ));
            } else {
                menu.push((
                    if model.unanswered(turn) { 1 } else { 40 },
                    (1..50_u32)
                        .prop_map(move |tokens| Step::Reserve { turn, tokens })
                        .boxed(),
                ));
                menu.push((
                    1,
                    (0..3_u8)
                        .prop_map(move |parts| Step::FinishTurn {
                            turn,
                            attempt: None,
                            tokens: 0,
                            parts,
                        })
                        .boxed(),
                ));
            }
            menu.push((
                1,
                (select(BudgetKind::ALL.to_vec()), question())
                    .prop_map(move |(budget, question)| Step::AskBudget {
                        turn,
                        budget,
                        question,
                    })
                    .boxed(),
            ));
        }
        ContinuationState::Interrupted => on(if waits { 3 } else { 10 }, Step::Resume { turn }),
        _ => {}
    }
    if !model.turns[turn].state.is_terminal() {
        menu.push((
            1,
            any::<bool>()
                .prop_map(move |notice| Step::Cancel { turn, notice })
                .boxed(),
        ));
        menu.push((
            1,
            item()
                .prop_map(move |item| Step::OnceCancel { item, turn })
                .boxed(),
        ));
    }
}

/// What brings a call on.
fn call_steps(model: &Model, call: usize, menu: &mut Menu) {
    let running = model.turns[model.calls[call].turn].state == ContinuationState::Running;
    let state = model.calls[call].state;
    // A keyed run died and its key will be erasure: that it is asked about again and waits until then is so rare that
    // it is helped.
    let died = model.runs.iter().any(|run| {
        run.call == call && run.outcome == Some(ToolCallState::Ready) && run.key_until.is_some()
    }) && model.calls[call].effect == Effect::Keyed;
    if died && running && state == ToolCallState::Approved {
        menu.push((40, Just(Step::Clock(31)).boxed()));
    }
    if died && running && state == ToolCallState::Awaiting {
        let gate = model.calls[call].gate.unwrap_or_default();
        menu.push((60, decide(model, gate, vec![DecisionKind::Approve])));
    }
    if running && matches!(state, ToolCallState::Ready | ToolCallState::Approved) {
        menu.push((
            40,
            (proptest::bool::weighted(0.9), key())
                .prop_map(move |(right_plan, key_lives)| Step::StartTool {
                    call,
                    right_plan,
                    key_lives,
                })
                .boxed(),
        ));
        menu.push((1, Just(Step::RefuseCall { call }).boxed()));
        menu.push((
            1,
            any::<bool>()
                .prop_map(move |sent| Step::RecordHooks { call, sent })
                .boxed(),
        ));
        menu.push((
            if died { 40 } else { 4 },
            question()
                .prop_map(move |question| Step::ReopenApproval { call, question })
                .boxed(),
        ));
    }
    if state == ToolCallState::Started {
        menu.push((
            24,
            (ended(), proptest::bool::weighted(0.95))
                .prop_map(move |(ended, last_attempt)| Step::FinishTool {
                    call,
                    last_attempt,
                    ended,
                })
                .boxed(),
        ));
    }
}

/// What a question may get.
fn gate_steps(model: &Model, gate: usize, menu: &mut Menu) {
    let row = &model.gates[gate];
    match row.state {
        ApprovalState::Pending => {
            let mut words = row.offered.clone();
            if row.kind == ApprovalKind::Execute {
                words.extend([DecisionKind::Approve; 4]);
            }
            menu.push((14, decide(model, gate, words)));
            menu.push((1, decide(model, gate, vec![DecisionKind::Snooze])));
            menu.push((1, Just(Step::QueueCards { gate }).boxed()));
            menu.push((2, assign(gate)));
            menu.push((1, Just(Step::RecordUnknownCall { gate }).boxed()));
            if row.kind == ApprovalKind::Execute {
                menu.push((
                    4,
                    (shown(), 0..2_u8)
                        .prop_map(move |(shown, cards)| Step::Revise { gate, shown, cards })
                        .boxed(),
                ));
            }
        }
        ApprovalState::Approved => menu.push((
            5,
            decide(
                model,
                gate,
                vec![DecisionKind::Revoke, DecisionKind::Approve],
            ),
        )),
        _ => {}
    }
}

fn part_steps(model: &Model, part: usize, menu: &mut Menu) {
    match model.parts[part].state {
        OutboxState::Pending => {
            menu.push((
                4,
                offer()
                    .prop_map(move |offer| Step::BeginSend { part, offer })
                    .boxed(),
            ));
            if model.parts[part].class == OutboxClass::Progress {
                menu.push((2, Just(Step::DropExpiredNotice { part }).boxed()));
            }
        }
        OutboxState::Sending => menu.push((
            6,
            sent()
                .prop_map(move |sent| Step::EndSend { part, sent })
                .boxed(),
        )),
        OutboxState::Unknown | OutboxState::Failed => {
            menu.push((3, settlement(part)));
            menu.push((2, look_up(part)));
        }
        _ => {}
    }
}

pub(crate) fn settlement(part: usize) -> BoxedStrategy<Step> {
    select(vec![
        Settlement::Sent,
        Settlement::SendAgain,
        Settlement::Drop,
    ])
    .prop_map(move |settlement| Step::ResolveDelivery { part, settlement })
    .boxed()
}

fn autonomy() -> impl Strategy<Value = Autonomy> {
    select(Autonomy::ALL.to_vec())
}

/// What is compacted, and how that ends.
fn memory_steps(model: &Model, menu: &mut Menu) {
    for session in 0..model.sessions.len() {
        let last = (0..model.turns.len())
            .rev()
            .find(|turn| model.turns[*turn].session == session);
        let running = model
            .compaction_of(session)
            .is_some_and(|at| model.compactions[at].state == CompactionState::Running);
        if let Some(turn) = last {
            let weight = if running { 1 } else { 4 };
            menu.push((
                weight,
                (0..=turn, 1..30_u32)
                    .prop_map(move |(turn, tokens)| Step::BeginCompaction { turn, tokens })
                    .boxed(),
            ));
        }
        if model.compaction_of(session).is_some() {
            let weight = if running { 6 } else { 1 };
            menu.push((
                weight,
                (0..5_u8, 1..30_u32)
                    .prop_map(move |(which, tokens)| match which {
                        0 => Step::FailCompaction { session, tokens },
                        1 => Step::RetryCompaction { session, tokens },
                        _ => Step::CommitCompaction { session, tokens },
                    })
                    .boxed(),
            ));
        }
    }
}

/// What operators and time do.
fn engine_steps(model: &Model, menu: &mut Menu) {
    let mortal = model
        .gates
        .iter()
        .any(|gate| gate.state == ApprovalState::Pending && gate.expires.is_some());
    let unused = model
        .calls
        .iter()
        .any(|call| call.state == ToolCallState::Approved);
    menu.push((
        if mortal || unused { 8 } else { 2 },
        select(vec![1_i64, 31, 61, 61, 3600, 25_000, -600])
            .prop_map(Step::Clock)
            .boxed(),
    ));
    let overdue = model.gates.iter().any(|gate| {
        gate.state == ApprovalState::Pending && gate.expires.is_some_and(|at| at <= model.now)
    });
    menu.push((if overdue { 16 } else { 1 }, Just(Step::ExpireDue).boxed()));
    let flying = model
        .calls
        .iter()
        .any(|call| call.state == ToolCallState::Started && call.effect == Effect::Keyed);
    menu.push((if flying { 12 } else { 3 }, Just(Step::Crash).boxed()));
    menu.push((1, Just(Step::Probe).boxed()));
    menu.push((1, Just(Step::Tidy).boxed()));
    menu.push((1, Just(Step::SweepCompactions).boxed()));
    menu.push((1, Just(Step::TakeBack).boxed()));
    menu.push((1, Just(Step::Restart).boxed()));
    menu.push((1, Just(Step::Restore).boxed()));
    if model.quarantine {
        menu.push((25, Just(Step::ReleaseQuarantine).boxed()));
    } else {
        menu.push((1, Just(Step::ReleaseQuarantine).boxed()));
    }
    menu.push((
        2,
        (
            0..2_usize,
            proptest::option::weighted(0.9, autonomy()),
            proptest::option::of(Just(60_i64)),
            proptest::option::of(any::<bool>()),
        )
            .prop_map(
                |(channel, autonomy, lives, right_version)| Step::SetPolicy {
                    channel,
                    autonomy,
                    lives,
                    right_version,
                },
            )
            .boxed(),
    ));
    menu.push((
        2,
        (0..2_usize, autonomy())
            .prop_map(|(channel, autonomy)| Step::EnsureChannel { channel, autonomy })
            .boxed(),
    ));
    menu.push((
        1,
        (0..2_usize, any::<bool>())
            .prop_map(|(channel, paused)| Step::PauseChannel { channel, paused })
            .boxed(),
    ));
    let draining = model.channels.iter().any(|channel| channel.draining);
    menu.push((
        if draining { 6 } else { 1 },
        (0..2_usize, proptest::bool::weighted(0.3))
            .prop_map(|(channel, draining)| Step::DrainChannel { channel, draining })
            .boxed(),
    ));
    if !model.sessions.is_empty() {
        // What is held is given back, so that most of a walk is the agent's.
        let held = !model.holds.is_empty();
        menu.push((
            if held { 14 } else { 2 },
            (
                0..model.sessions.len(),
                1..3_u8,
                proptest::bool::weighted(0.3),
                0..if held { 8_u8 } else { 2 },
            )
                .prop_map(|(session, person, flag, which)| match which {
                    0 => Step::TakeOver {
                        session,
                        person,
                        force: flag,
                    },
                    1..=4 => Step::Say {
                        session,
                        person,
                        right_hold: !flag,
                    },
                    _ => Step::GiveBack {
                        session,
                        person,
                        force: flag,
                    },
                })
                .boxed(),
        ));
    }
    menu.push((
        1,
        proptest::option::of(0..3_u8)
            .prop_map(|who| Step::OnCall { who })
            .boxed(),
    ));
    menu.push((
        1,
        any::<bool>()
            .prop_map(|drop_full| Step::Hold { drop_full })
            .boxed(),
    ));
    menu.push((if model.held { 6 } else { 1 }, Just(Step::Release).boxed()));
    menu.push((
        1,
        any::<bool>()
            .prop_map(|keep_newest| Step::DropWaiting { keep_newest })
            .boxed(),
    ));
    menu.push((
        1,
        (
            0..2_usize,
            0..2_u8,
            select(vec![OutboxClass::Notice, OutboxClass::Progress]),
        )
            .prop_map(|(channel, chat, class)| Step::QueueNotice {
                channel,
                chat,
                class,
            })
            .boxed(),
    ));
    menu.push((
        1,
        (0..2_usize, 0..2_u8)
            .prop_map(|(channel, chat)| Step::StartSession { channel, chat })
            .boxed(),
    ));
    menu.push((
        2,
        (
            item(),
            select(vec![
                Disposition::Command,
                Disposition::Pairing,
                Disposition::Ignored,
                Disposition::Turn,
            ]),
            any::<bool>(),
        )
            .prop_map(|(item, disposition, notice)| Step::Record {
                item,
                disposition,
                notice,
            })
            .boxed(),
    ));
}

/// Every step that may follow.
pub(crate) fn steps(model: &Model) -> BoxedStrategy<Named> {
    let mut menu: Menu = Vec::new();
    let open = model
        .turns
        .iter()
        .filter(|turn| !turn.state.is_terminal())
        .count();
    menu.push((if open < OPEN { 16 } else { 2 }, ingest(model)));
    for turn in 0..model.turns.len() {
        turn_steps(model, turn, &mut menu);
    }
    for call in 0..model.calls.len() {
        call_steps(model, call, &mut menu);
    }
    for gate in 0..model.gates.len() {
        gate_steps(model, gate, &mut menu);
    }
    for part in 0..model.parts.len() {
        part_steps(model, part, &mut menu);
    }
    memory_steps(model, &mut menu);
    engine_steps(model, &mut menu);
    menu.push((24, wild(model)));
    let (label, names) = (model.label + 1, model.names.clone());
    Union::new_weighted(menu)
        .prop_map(move |step| Named {
            label,
            step: step
                .with_rows(&mut |kind, row| names[kind as usize].get(row).copied())
                .unwrap_or(step),
        })
        .boxed()
}
