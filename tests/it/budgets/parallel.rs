//! Many calls at once against one limit: together they never pass it, and what they really used is all recorded.

use std::sync::Arc;

use leverframe::protocol::budget::Limit;
use leverframe::protocol::session::Usage;
use leverframe::store::commands::reserve_model::Reservation;
use leverframe::store::commands::settle_model::SettleModel;
use leverframe::store::input::SharedLimits;
use proptest::prelude::*;

use crate::budgets::limits::call;
use crate::support::world::World;

const TODAY: i64 = 20_000;
const CAP: f64 = 1.0;

/// One caller: calls until it is refused, each estimated at `estimate` and really costing the part of it.
#[derive(Debug, Clone)]
struct Caller {
    estimate: f64,
    parts: Vec<f64>,
}

fn callers() -> impl Strategy<Value = Vec<Caller>> {
    let caller = (0.01..0.2_f64, prop::collection::vec(0.1..1.0_f64, 1..4))
        .prop_map(|(estimate, parts)| Caller { estimate, parts });
    prop::collection::vec(caller, 50)
}

/// Makes all calls at once; what they really cost.
async fn race(world: Arc<World>, callers: Vec<Caller>) -> f64 {
    let limits = SharedLimits {
        day: TODAY,
        all: Limit {
            max_tokens: None,
            max_cost_usd: Some(CAP),
        },
        ..SharedLimits::default()
    };
    let mut turns = Vec::new();
    for n in 0..callers.len() {
        turns.push(world.running(&format!("chat {n}")).await.1);
    }
    let mut racing = tokio::task::JoinSet::new();
    for (caller, id) in callers.into_iter().zip(turns) {
        let world = Arc::clone(&world);
        racing.spawn(async move {
            let mut real = 0.0;
            for part in caller.parts {
                let reserve = call(&world, id, 10, Some(caller.estimate), limits);
                let Reservation::Granted(attempt_id) = world.ok(reserve).await else {
                    break;
                };
                // The call is under way while others ask.
                tokio::task::yield_now().await;
                let cost = caller.estimate * part;
                real += cost;
                world
                    .ok(SettleModel {
                        attempt_id,
                        usage: Usage {
                            input_tokens: 10,
                            cost_usd: Some(cost),
                            ..Usage::default()
                        },
                        error: None,
                        active_ms: 0,
                    })
                    .await;
            }
            real
        });
    }
    let mut real = 0.0;
    while let Some(one) = racing.join_next().await {
        real += one.unwrap();
    }
    real
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, ..ProptestConfig::default() })]

    #[test]
    fn fifty_callers_never_pass_a_limit_together(callers in callers()) {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let world = Arc::new(World::new().await);
            let real = race(Arc::clone(&world), callers).await;
            let recorded = world
                .store
                .read(|reader| reader.usage_on(TODAY))
                .await
                .unwrap()
                .cost_usd
                .unwrap();
            assert!(recorded <= CAP + 1e-6, "${recorded} of ${CAP}");
            assert!((recorded - real).abs() < 1e-6, "recorded ${recorded}, real ${real}");
            // The limit was in the way: the callers wanted more than it.
            assert!(recorded > CAP / 2.0, "${recorded} of ${CAP}");
            world.sound().await;
        });
    }
}

#[tokio::test]
async fn fifty_calls_that_are_all_under_way_when_the_process_dies_are_within_the_limit() {
    let world = World::new().await;
    let limits = SharedLimits {
        day: TODAY,
        all: Limit {
            max_tokens: None,
            max_cost_usd: Some(CAP),
        },
        ..SharedLimits::default()
    };
    let mut granted = 0;
    for n in 0..50 {
        let (_, id) = world.running(&format!("chat {n}")).await;
        let reservation = world.ok(call(&world, id, 10, Some(0.09), limits)).await;
        granted += u32::from(matches!(reservation, Reservation::Granted(_)));
    }
    assert_eq!(granted, 11, "calls of $0.09 within ${CAP}");
    let world = world.crash().await;
    let usage = world
        .store
        .read(|reader| reader.usage_on(TODAY))
        .await
        .unwrap();
    assert!((usage.cost_usd.unwrap() - 0.99).abs() < 1e-9, "{usage:?}");
    let (_, id) = world.running("another").await;
    let reservation = world.ok(call(&world, id, 10, Some(0.09), limits)).await;
    assert!(
        matches!(reservation, Reservation::Exhausted(_)),
        "a crash freed what it had reserved"
    );
    world.sound().await;
}
