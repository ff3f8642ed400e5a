//! Each limit on its own: what it forbids, what it leaves alone, and what a person adds to it.

use leverframe::protocol::budget::Limit;
use leverframe::protocol::enums::{ApprovalKind, ContinuationState, DecisionKind};
use leverframe::protocol::event::{BudgetLevel, EventBody};
use leverframe::protocol::ids::ContinuationId;
use leverframe::protocol::session::Usage;
use leverframe::store::EventsAfter;
use leverframe::store::commands::ask_budget::AskBudget;
use leverframe::store::commands::reserve_model::{Reservation, ReserveModel};
use leverframe::store::commands::settle_abandoned_calls::SettleAbandonedCalls;
use leverframe::store::commands::settle_model::SettleModel;
use leverframe::store::input::{BudgetKind, SharedLimits};

use crate::support::world::{World, approval, turn};

const TODAY: i64 = 20_000;

/// A call of this many tokens and dollars within these limits.
pub(crate) fn call(
    world: &World,
    continuation_id: ContinuationId,
    tokens: u64,
    cost: Option<f64>,
    limits: SharedLimits,
) -> ReserveModel {
    ReserveModel {
        continuation_id,
        epoch: world.epoch(),
        step: 1,
        attempt: 1,
        model: "local/priced".to_owned(),
        estimated_tokens: tokens,
        estimated_cost_usd: cost,
        estimated_input_tokens: None,
        limits,
    }
}

fn tokens(most: u64) -> Limit {
    Limit {
        max_tokens: Some(most),
        max_cost_usd: None,
    }
}

fn dollars(most: f64) -> Limit {
    Limit {
        max_tokens: None,
        max_cost_usd: Some(most),
    }
}

/// Limits of which one is set, which it is, and whether it is in money.
fn each() -> Vec<(BudgetKind, SharedLimits)> {
    let none = SharedLimits {
        day: TODAY,
        ..SharedLimits::default()
    };
    vec![
        (
            BudgetKind::SessionTokens,
            SharedLimits {
                session: tokens(100),
                ..none
            },
        ),
        (
            BudgetKind::SessionCost,
            SharedLimits {
                session: dollars(1.0),
                ..none
            },
        ),
        (
            BudgetKind::ChannelTokens,
            SharedLimits {
                channel: tokens(100),
                ..none
            },
        ),
        (
            BudgetKind::ChannelCost,
            SharedLimits {
                channel: dollars(1.0),
                ..none
            },
        ),
        (
            BudgetKind::DayTokens,
            SharedLimits {
                all: tokens(100),
                ..none
            },
        ),
        (
            BudgetKind::DayCost,
            SharedLimits {
                all: dollars(1.0),
                ..none
            },
        ),
    ]
}

/// Tokens and dollars of a part of the limit.
fn part(budget: BudgetKind, percent: u32) -> (u64, Option<f64>) {
    if budget.is_money() {
        (1, Some(f64::from(percent) / 100.0))
    } else {
        (u64::from(percent), Some(0.0))
    }
}

async fn spend(
    world: &World,
    id: ContinuationId,
    budget: BudgetKind,
    percent: u32,
    limits: SharedLimits,
) {
    let (tokens, cost) = part(budget, percent);
    let attempt_id = world.reserve(call(world, id, tokens, cost, limits)).await;
    world
        .ok(SettleModel {
            attempt_id,
            usage: Usage {
                input_tokens: tokens,
                cost_usd: cost,
                ..Usage::default()
            },
            error: Some("529".to_owned()),
            active_ms: 0,
        })
        .await;
}

async fn attempts(world: &World) -> u64 {
    world
        .store
        .with_writer(|conn| {
            conn.query_row("SELECT count(*) FROM model_attempts", [], |row| row.get(0))
                .unwrap()
        })
        .await
        .unwrap()
}

#[tokio::test]
async fn every_limit_counts_failed_and_open_calls_and_names_itself() {
    for (budget, limits) in each() {
        let world = World::new().await;
        let (_, id) = world.running("chat").await;
        // A call that failed was paid for all the same.
        spend(&world, id, budget, 50, limits).await;
        let (tokens, cost) = part(budget, 40);
        world.reserve(call(&world, id, tokens, cost, limits)).await;
        let before = attempts(&world).await;
        let (tokens, cost) = part(budget, 20);
        let Reservation::Exhausted(stop) = world.ok(call(&world, id, tokens, cost, limits)).await
        else {
            panic!("{budget:?}: 50 % used, 40 % reserved and 20 % more were allowed");
        };
        let scale = if budget.is_money() { 0.01 } else { 1.0 };
        assert_eq!((stop.budget, stop.day), (budget, TODAY));
        for (found, wanted) in [(stop.limit, 100.0), (stop.used, 90.0), (stop.asked, 20.0)] {
            assert!(
                (found - wanted * scale).abs() < 1e-9,
                "{budget:?}: {stop:?}"
            );
        }
        assert_eq!(attempts(&world).await, before, "a refusal wrote a row");
        // What fits exactly is allowed.
        let (tokens, cost) = part(budget, 10);
        world.reserve(call(&world, id, tokens, cost, limits)).await;
        world.sound().await;
    }
}

#[tokio::test]
async fn a_limit_leaves_alone_what_is_not_its_own() {
    for (budget, limits) in each() {
        let world = World::new().await;
        let (_, id) = world.running("chat").await;
        spend(&world, id, budget, 95, limits).await;
        let (_, other) = world.running("elsewhere").await;
        let (tokens, cost) = part(budget, 20);
        let another_session = world.ok(call(&world, other, tokens, cost, limits)).await;
        let tomorrow = SharedLimits {
            day: TODAY + 1,
            ..limits
        };
        let another_day = world.ok(call(&world, id, tokens, cost, tomorrow)).await;
        let granted = |reservation: &Reservation| matches!(reservation, Reservation::Granted(_));
        let of_session = matches!(budget, BudgetKind::SessionTokens | BudgetKind::SessionCost);
        assert_eq!(granted(&another_session), of_session, "{budget:?}");
        assert_eq!(granted(&another_day), !of_session, "{budget:?}");
    }
}

#[tokio::test]
async fn a_call_without_a_price_is_capped_by_tokens_only() {
    let world = World::new().await;
    let (_, id) = world.running("chat").await;
    let limits = SharedLimits {
        day: TODAY,
        all: Limit {
            max_tokens: Some(100),
            max_cost_usd: Some(0.0),
        },
        ..SharedLimits::default()
    };
    let attempt_id = world.reserve(call(&world, id, 60, None, limits)).await;
    world
        .ok(SettleModel {
            attempt_id,
            usage: Usage {
                input_tokens: 60,
                ..Usage::default()
            },
            error: None,
            active_ms: 0,
        })
        .await;
    let stop = world.ok(call(&world, id, 60, None, limits)).await;
    assert!(
        matches!(&stop, Reservation::Exhausted(stop) if stop.budget == BudgetKind::DayTokens),
        "{stop:?}"
    );
    let priced = world.ok(call(&world, id, 1, Some(0.01), limits)).await;
    assert!(
        matches!(&priced, Reservation::Exhausted(stop) if stop.budget == BudgetKind::DayCost),
        "{priced:?}"
    );
    // What costs nothing is no matter of money.
    world.reserve(call(&world, id, 1, Some(0.0), limits)).await;
    world.sound().await;
}

#[tokio::test]
async fn a_turn_has_a_limit_in_money_that_a_decision_raises() {
    let world = World::new().await;
    let mut message = turn("chat", None);
    message.limits.max_cost_usd = Some(1.0);
    let session = world.ok(message).await.session_id.unwrap();
    let id = world.claim(session).await.unwrap();
    let limits = SharedLimits::default();
    world.reserve(call(&world, id, 1, Some(0.8), limits)).await;
    let Reservation::Exhausted(stop) = world.ok(call(&world, id, 1, Some(0.4), limits)).await
    else {
        panic!("$1.20 of $1 were reserved")
    };
    assert_eq!(stop.budget, BudgetKind::Cost);
    answer(
        &world,
        id,
        BudgetKind::Cost,
        DecisionKind::Approve,
        Some(0.2),
    )
    .await;
    world.claim(session).await.unwrap();
    world.reserve(call(&world, id, 1, Some(0.4), limits)).await;
    world.sound().await;
}

/// Asks for more and answers.
async fn answer(
    world: &World,
    continuation_id: ContinuationId,
    budget: BudgetKind,
    word: DecisionKind,
    extra: Option<f64>,
) {
    let question = approval(ApprovalKind::Budget, "budget");
    let gate = question.id;
    world
        .ok(AskBudget {
            continuation_id,
            epoch: world.epoch(),
            budget,
            extra: Some(if budget.is_money() { 1.0 } else { 100.0 }),
            day: budget.is_of_a_day().then_some(TODAY),
            limit: 100.0,
            used: 95.0,
            approval: question,
            active_ms: 0,
        })
        .await;
    let mut command = world.decide_command(gate, word, "anna").await;
    command.extra = extra;
    world.ok(command).await;
}

#[tokio::test]
async fn what_a_person_adds_counts_for_that_session_channel_or_day_alone() {
    for (budget, limits) in each() {
        let world = World::new().await;
        let (session, id) = world.running("chat").await;
        spend(&world, id, budget, 95, limits).await;
        let (tokens, cost) = part(budget, 20);
        let again = || call(&world, id, tokens, cost, limits);
        assert!(matches!(world.ok(again()).await, Reservation::Exhausted(_)));
        answer(&world, id, budget, DecisionKind::Approve, None).await;
        world.claim(session).await.unwrap();
        world.reserve(again()).await;
        // 95 + 20 + 20 + 60 of 200.
        let (tokens, cost) = part(budget, 60);
        world.reserve(call(&world, id, tokens, cost, limits)).await;
        let (tokens, cost) = part(budget, 30);
        let Reservation::Exhausted(stop) = world.ok(call(&world, id, tokens, cost, limits)).await
        else {
            panic!("{budget:?}: more was allowed than added");
        };
        let limit = if budget.is_money() { 2.0 } else { 200.0 };
        assert!((stop.limit - limit).abs() < 1e-9, "{stop:?}");
        if budget.is_of_a_day() {
            // Tomorrow begins without it.
            let tomorrow = SharedLimits {
                day: TODAY + 1,
                ..limits
            };
            let (tokens, cost) = part(budget, 120);
            let stop = world.ok(call(&world, id, tokens, cost, tomorrow)).await;
            assert!(matches!(stop, Reservation::Exhausted(_)), "{budget:?}");
        } else {
            let (_, other) = world.running("elsewhere").await;
            let (tokens, cost) = part(budget, 120);
            let stop = world.ok(call(&world, other, tokens, cost, limits)).await;
            assert!(matches!(stop, Reservation::Exhausted(_)), "{budget:?}");
        }
        world.sound().await;
    }
}

#[tokio::test]
async fn a_refused_budget_ends_the_turn_and_tells_the_chat() {
    let world = World::new().await;
    let (_, id) = world.running("chat").await;
    let question = approval(ApprovalKind::Budget, "budget");
    let gate = question.id;
    world
        .ok(AskBudget {
            continuation_id: id,
            epoch: world.epoch(),
            budget: BudgetKind::DayCost,
            extra: Some(1.0),
            day: Some(TODAY),
            limit: 1.0,
            used: 1.0,
            approval: question,
            active_ms: 0,
        })
        .await;
    let mut command = world.decide_command(gate, DecisionKind::Deny, "anna").await;
    command.refusal_notice = Some("no more budget".to_owned());
    world.ok(command).await;
    let state = world
        .store
        .read(move |reader| reader.turn(id))
        .await
        .unwrap()
        .state;
    assert_eq!(state, ContinuationState::Failed);
    let (notices, grants): (u64, u64) = world
        .store
        .with_writer(|conn| {
            conn.query_row(
                "SELECT (SELECT count(*) FROM outbox WHERE text = 'no more budget' AND class = 'notice'),
                    (SELECT count(*) FROM budget_grants)",
                [],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )
            .unwrap()
        })
        .await
        .unwrap();
    assert_eq!((notices, grants), (1, 0));
    world.sound().await;
}

#[tokio::test]
async fn calls_that_nobody_listens_to_settle_at_their_estimates() {
    let world = World::new().await;
    let limits = SharedLimits {
        day: TODAY,
        ..SharedLimits::default()
    };
    let (_, given_up) = world.running("chat").await;
    world
        .reserve(call(&world, given_up, 70, Some(0.07), limits))
        .await;
    let settled = world
        .ok(SettleAbandonedCalls {
            continuation_id: given_up,
            reason: "the call was given up".to_owned(),
        })
        .await;
    assert_eq!(settled, 1);
    let (_, crashed) = world.running("elsewhere").await;
    world
        .reserve(call(&world, crashed, 30, Some(0.03), limits))
        .await;
    let world = world.crash().await;
    let usage = world
        .store
        .read(|reader| reader.usage_on(TODAY))
        .await
        .unwrap();
    assert_eq!(usage.input_tokens, 100);
    assert!((usage.cost_usd.unwrap() - 0.1).abs() < 1e-9, "{usage:?}");
    let rows = world
        .store
        .read(|reader| {
            let day = leverframe::clock::Day(TODAY);
            reader.spend(day, day)
        })
        .await
        .unwrap();
    assert_eq!(rows.len(), 1);
    assert_eq!((rows[0].calls, rows[0].failed), (2, 2), "{rows:?}");
    world.sound().await;
}

#[tokio::test]
async fn a_limit_that_is_nearly_used_up_is_told_once() {
    for (budget, limits) in each() {
        let world = World::new().await;
        let (_, id) = world.running("chat").await;
        let before = world.store.read(|reader| reader.max_seq()).await.unwrap();
        for percent in [70, 8, 3, 3] {
            spend(&world, id, budget, percent, limits).await;
        }
        let (_, other) = world.running("elsewhere").await;
        spend(&world, other, budget, 3, limits).await;
        let EventsAfter::Events(events) = world.store.events_after(before, 500).await.unwrap()
        else {
            panic!("no events");
        };
        let told: Vec<_> = events
            .iter()
            .filter_map(|event| match &event.body {
                EventBody::BudgetReached {
                    budget: word,
                    level: BudgetLevel::Warning,
                    limit: Some(limit),
                    used: Some(used),
                } => Some((word.clone(), used / limit)),
                _ => None,
            })
            .collect();
        assert_eq!(told.len(), 1, "{budget:?}: {events:?}");
        assert_eq!(told[0].0, budget.as_str());
        assert!((0.8..1.0).contains(&told[0].1), "{told:?}");
    }
}
