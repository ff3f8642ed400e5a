//! Any command on anything: what a walk tries whether it fits or not.

use leverframe::protocol::enums::DecisionKind;
use leverframe::store::input::BudgetKind;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::Union;

use crate::store_model::menu::{
    Menu, assign, decide, ended, ingest, look_up, offer, plan, question, sent, settlement, shown,
};
use crate::store_model::model::Model;
use crate::store_model::step::Step;

/// Any command on anything, whether it fits or not.
pub(crate) fn wild(model: &Model) -> BoxedStrategy<Step> {
    let mut menu: Menu = Vec::new();
    if !model.sessions.is_empty() {
        let session = 0..model.sessions.len();
        menu.push((
            1,
            session
                .clone()
                .prop_map(|session| Step::Claim { session })
                .boxed(),
        ));
        menu.push((
            1,
            session
                .clone()
                .prop_map(|session| Step::EndSession { session })
                .boxed(),
        ));
        menu.push((
            2,
            (session, proptest::option::of(any::<bool>()))
                .prop_map(|(session, paused)| Step::UpdateSession { session, paused })
                .boxed(),
        ));
    }
    if !model.turns.is_empty() {
        let turn = 0..model.turns.len();
        menu.push((
            4,
            (
                turn.clone(),
                any::<bool>(),
                question(),
                select(BudgetKind::ALL.to_vec()),
                0..8_u8,
            )
                .prop_map(|(turn, flag, question, budget, which)| match which {
                    0 => Step::Park { turn, notice: flag },
                    1 => Step::Cancel { turn, notice: flag },
                    2 => Step::Resume { turn },
                    3 => Step::Yield {
                        turn,
                        interrupted: flag,
                    },
                    4 => Step::AskBudget {
                        turn,
                        budget,
                        question,
                    },
                    5 => Step::FailTurn {
                        turn,
                        attempt: None,
                        notice: flag,
                    },
                    6 => Step::FinishTurn {
                        turn,
                        attempt: None,
                        tokens: 0,
                        parts: 1,
                    },
                    _ => Step::Reserve { turn, tokens: 5 },
                })
                .boxed(),
        ));
        if !model.tries.is_empty() {
            menu.push((
                4,
                (
                    turn,
                    0..model.tries.len(),
                    proptest::collection::vec(plan(), 1..3),
                    0..4_u8,
                )
                    .prop_map(|(turn, attempt, plans, which)| match which {
                        0 => Step::Settle { attempt, tokens: 9 },
                        1 => Step::FailTurn {
                            turn,
                            attempt: Some(attempt),
                            notice: false,
                        },
                        2 => Step::FinishTurn {
                            turn,
                            attempt: Some(attempt),
                            tokens: 9,
                            parts: 1,
                        },
                        _ => Step::Propose {
                            turn,
                            attempt,
                            tokens: 9,
                            plans,
                        },
                    })
                    .boxed(),
            ));
        }
    }
    if !model.calls.is_empty() {
        menu.push((
            4,
            (
                0..model.calls.len(),
                any::<bool>(),
                ended(),
                question(),
                0..5_u8,
            )
                .prop_map(|(call, flag, ended, question, which)| match which {
                    0 => Step::StartTool {
                        call,
                        right_plan: flag,
                        key_lives: Some(30),
                    },
                    1 => Step::FinishTool {
                        call,
                        last_attempt: flag,
                        ended,
                    },
                    2 => Step::RefuseCall { call },
                    3 => Step::RecordHooks { call, sent: flag },
                    _ => Step::ReopenApproval { call, question },
                })
                .boxed(),
        ));
    }
    if !model.gates.is_empty() {
        let gate = 0..model.gates.len();
        menu.push((
            4,
            Union::new(
                gate.clone()
                    .map(|gate| decide(model, gate, DecisionKind::ALL.to_vec())),
            )
            .boxed(),
        ));
        menu.push((1, Union::new(gate.clone().map(assign)).boxed()));
        menu.push((
            1,
            (gate, shown(), any::<bool>())
                .prop_map(|(gate, shown, revise)| {
                    if revise {
                        Step::Revise {
                            gate,
                            shown,
                            cards: 1,
                        }
                    } else {
                        Step::QueueCards { gate }
                    }
                })
                .boxed(),
        ));
    }
    if !model.parts.is_empty() {
        let part = 0..model.parts.len();
        menu.push((
            2,
            (part.clone(), offer())
                .prop_map(|(part, offer)| Step::BeginSend { part, offer })
                .boxed(),
        ));
        menu.push((
            2,
            (part.clone(), sent())
                .prop_map(|(part, sent)| Step::EndSend { part, sent })
                .boxed(),
        ));
        menu.push((
            1,
            part.clone()
                .prop_map(|part| Step::DropExpiredNotice { part })
                .boxed(),
        ));
        menu.push((1, part.clone().prop_flat_map(look_up).boxed()));
        menu.push((1, part.prop_flat_map(settlement).boxed()));
    }
    if menu.is_empty() {
        return ingest(model);
    }
    Union::new_weighted(menu)
        .prop_flat_map(|step| {
            let late = step.carries_epoch();
            proptest::bool::weighted(if late { 0.25 } else { 0.0 }).prop_map(move |stale| {
                if stale {
                    Step::Stale(Box::new(step.clone()))
                } else {
                    step.clone()
                }
            })
        })
        .boxed()
}
