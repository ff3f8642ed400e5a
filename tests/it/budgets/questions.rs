//! What a call is reserved at, which limits hold, and what people are asked.

use leverframe::clock::Day;
use leverframe::engine::budget;
use leverframe::engine::views::announce_if_changed;
use leverframe::protocol::command::DecisionRequest;
use leverframe::protocol::enums::{ApprovalKind, DecisionKind};
use leverframe::protocol::event::EventBody;
use leverframe::protocol::request::{Command, Decide};
use leverframe::store::commands::ask_budget::AskBudget;
use leverframe::store::commands::reserve_model::BudgetStop;
use leverframe::store::input::BudgetKind;
use proptest::prelude::*;

use crate::support::daemon::DEADLINE;
use crate::support::world::{START, World, approval, submit};

fn stop(kind: BudgetKind, limit: f64, used: f64, asked: f64) -> BudgetStop {
    BudgetStop {
        budget: kind,
        limit,
        used,
        asked,
        day: 20_000,
    }
}

#[test]
fn a_question_says_what_is_used_and_what_more_would_be() {
    for (stop, words) in [
        (
            stop(BudgetKind::DayCost, 5.0, 4.98, 0.06),
            "max_cost_usd of all channels today: $4.98 of $5.00 are used or reserved, and the next call may use $0.0600. \
             Continue with +$5.00?",
        ),
        (
            stop(BudgetKind::SessionTokens, 10_000.0, 9_000.0, 2_000.0),
            "max_tokens of this session: 9000 tokens of 10000 tokens are used or reserved, and the next call may use \
             2000 tokens. Continue with +10000 tokens?",
        ),
        (
            stop(BudgetKind::Tokens, 100.0, 0.0, 5_000.0),
            "max_tokens of this turn: one call may use 5000 tokens, more than the whole budget of 100 tokens. Continue \
             with +4900 tokens?",
        ),
    ] {
        assert_eq!(budget::of_stop(&stop).text, words);
    }
}

proptest! {
    #[test]
    fn what_is_offered_is_always_enough(
        kind in prop::sample::select(BudgetKind::ALL.to_vec()),
        limit in 0.0..1e6_f64,
        used in 0.0..2e6_f64,
        asked in 0.000_01..1e6_f64,
    ) {
        let question = budget::of_stop(&stop(kind, limit, used, asked));
        prop_assert!(limit + question.extra >= used + asked - 1e-9 || used + asked <= limit);
        prop_assert_eq!(question.day.is_some(), kind.is_of_a_day());
    }

    #[test]
    fn a_call_is_reserved_at_a_fifth_more_input_and_all_its_output(input in 0..10_000_000_u64, output: u32) {
        let most = budget::most(input, output);
        prop_assert!(most.input_tokens * 10 >= input * 12);
        prop_assert!(most.input_tokens <= input + input / 5 + 1);
        prop_assert_eq!(most.output_tokens, u64::from(output));
        // Writing to the cache costs more than plain input.
        let rates = leverframe::config::model_tables::Rates {
            input: 5.0,
            output: 25.0,
            cache_read: Some(0.5),
            cache_write: Some(6.25),
            ..Default::default()
        };
        let plain = leverframe::protocol::session::Usage { cache_write_tokens: 0, ..most };
        let cost = |usage| leverframe::model::prices::cost(Some(&rates), usage);
        if let (Some(most), Some(plain)) = (cost(&most), cost(&plain)) {
            prop_assert!(most >= plain);
        }
    }
}

#[tokio::test]
async fn what_a_person_adds_to_the_day_is_announced() {
    let world = World::new().await;
    let engine = world.engine("[budgets.day]\nmax_cost_usd = 5.0\n");
    let (_, turn) = world.running("chat").await;
    let question = approval(ApprovalKind::Budget, "budget");
    let (gate, digest) = (question.id, question.digest.clone());
    world
        .ok(AskBudget {
            continuation_id: turn,
            epoch: world.epoch(),
            budget: BudgetKind::DayCost,
            extra: Some(2.5),
            day: Some(Day::local(START).0),
            limit: 5.0,
            used: 4.9,
            approval: question,
            active_ms: 0,
        })
        .await;
    let mut events = world.store.subscribe();
    let decide = Decide {
        approval_id: gate,
        decision: DecisionRequest::new(DecisionKind::Approve, digest),
    };
    submit(&engine, Command::Decide(decide)).await.unwrap();
    let announced = async {
        loop {
            if let EventBody::EngineState { engine } = &events.recv().await.unwrap().body {
                return engine.budget_today_usd;
            }
        }
    };
    let limit = tokio::time::timeout(DEADLINE, announced).await;
    assert_eq!(limit.expect("the engine is announced"), Some(7.5));
    engine.stop().await;
}

#[tokio::test]
async fn a_new_day_is_announced_with_what_is_left_of_it() {
    let world = World::new().await;
    let engine = world.engine("[budgets.day]\nmax_cost_usd = 5.0\n");
    announce_if_changed(&engine).await;
    let mut events = world.store.subscribe();
    announce_if_changed(&engine).await;
    assert!(events.try_recv().is_err(), "nothing has changed");
    world.clock.advance_millis(24 * 3_600_000);
    announce_if_changed(&engine).await;
    let told = events.try_recv().expect("the new day is announced");
    let EventBody::EngineState { engine: status } = &told.body else {
        panic!("{told:?}");
    };
    assert_eq!(status.budget_today_usd, Some(5.0));
    engine.stop().await;
}
