//! Random histories, swept at random times: nothing live goes. What is live is said here once more, in other words
//! than in the store.

use std::collections::{BTreeMap, BTreeSet};

use leverframe::protocol::enums::ContinuationState;
use leverframe::protocol::ids::ContinuationId;
use leverframe::protocol::snapshot::PageRequest;
use leverframe::store::queries::continuations::ContinuationFilter;
use proptest::prelude::*;

use crate::retention::world::{DAY_MS, sound, sweep};
use crate::store::random::{Op, op, step};
use crate::support::record::fact;
use crate::support::world::{World, turn};

#[derive(Debug, Clone, Copy)]
enum Act {
    Store(Op),
    Days(i64),
    Sweep,
    Retry,
    SweepAndCrash,
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        24 => op().prop_map(Act::Store),
        3 => (1_i64..40).prop_map(Act::Days),
        3 => Just(Act::Sweep),
        1 => Just(Act::Retry),
        1 => Just(Act::SweepAndCrash),
    ]
}

type Id = [u8; 16];

#[derive(Debug, Clone, PartialEq, Eq)]
struct Turn {
    id: Id,
    session: Id,
    position: i64,
    completed: bool,
    ended_at: Option<i64>,
    retry_of: Option<Id>,
    /// Rows of it in each table.
    parts: BTreeMap<&'static str, u64>,
    /// Latest change of anything of it that a person or a platform sees.
    touched: i64,
    waits: bool,
}

struct Look {
    turns: Vec<Turn>,
    /// Sessions that stay active: in use, open or paused.
    in_use: BTreeSet<Id>,
    messages_under_way: BTreeSet<Id>,
    young_keys: BTreeSet<Id>,
    pending: BTreeSet<Id>,
}

const PARTS: [(&str, &str); 8] = [
    (
        "steps",
        "SELECT count(*) FROM steps WHERE continuation_id = ?1",
    ),
    (
        "calls",
        "SELECT count(*) FROM tool_calls WHERE continuation_id = ?1",
    ),
    (
        "starts",
        "SELECT count(*) FROM tool_attempts a JOIN tool_calls t ON t.id = a.call_id WHERE t.continuation_id = ?1",
    ),
    (
        "approvals",
        "SELECT count(*) FROM approvals WHERE continuation_id = ?1",
    ),
    (
        "buttons",
        "SELECT count(*) FROM card_tokens k JOIN approvals a ON a.id = k.approval_id WHERE a.continuation_id = ?1",
    ),
    (
        "messages",
        "SELECT count(*) FROM outbox WHERE continuation_id = ?1",
    ),
    (
        "keys",
        "SELECT count(*) FROM inbox WHERE continuation_id = ?1",
    ),
    (
        "models",
        "SELECT count(*) FROM model_attempts WHERE continuation_id = ?1",
    ),
];

async fn look(world: &World) -> Look {
    let now = world.clock.now().as_millis();
    world
        .store
        .with_writer(move |conn| {
            let ids = |query: &str| -> BTreeSet<Id> {
                let mut statement = conn.prepare(query).unwrap();
                statement
                    .query_map([], |row| row.get(0))
                    .unwrap()
                    .collect::<Result<_, _>>()
                    .unwrap()
            };
            let mut turns: Vec<Turn> = conn
                .prepare(
                    "SELECT id, session_id, position, state = 'completed', ended_at, retry_of FROM continuations ORDER BY position",
                )
                .unwrap()
                .query_map([], |row| {
                    Ok(Turn {
                        id: row.get(0)?,
                        session: row.get(1)?,
                        position: row.get(2)?,
                        completed: row.get(3)?,
                        ended_at: row.get(4)?,
                        retry_of: row.get(5)?,
                        parts: BTreeMap::new(),
                        touched: 0,
                        waits: false,
                    })
                })
                .unwrap()
                .collect::<Result<_, _>>()
                .unwrap();
            for turn in &mut turns {
                for (name, query) in PARTS {
                    let count = conn.query_row(query, [turn.id], |row| row.get(0)).unwrap();
                    turn.parts.insert(name, count);
                }
                let (touched, waits): (i64, bool) = conn
                    .query_row(
                        "SELECT max(coalesce((SELECT max(updated_at) FROM approvals WHERE continuation_id = ?1), 0),
                            coalesce((SELECT max(updated_at) FROM outbox WHERE continuation_id = ?1), 0)),
                         EXISTS (SELECT 1 FROM approvals WHERE continuation_id = ?1 AND state IN ('pending', 'approved'))
                            OR EXISTS (SELECT 1 FROM outbox WHERE continuation_id = ?1 AND state IN ('pending', 'sending', 'unknown'))
                            OR EXISTS (SELECT 1 FROM model_attempts WHERE continuation_id = ?1 AND settled_at IS NULL)",
                        [turn.id],
                        |row| Ok((row.get(0)?, row.get(1)?)),
                    )
                    .unwrap();
                (turn.touched, turn.waits) = (touched, waits);
            }
            let week_ago = now - 7 * DAY_MS;
            let in_use = ids(&format!(
                "SELECT id FROM sessions s WHERE state = 'active' AND (updated_at >= {week_ago} OR paused = 1
                    OR EXISTS (SELECT 1 FROM continuations c WHERE c.session_id = s.id AND c.ended_at IS NULL)
                    OR EXISTS (SELECT 1 FROM approvals a WHERE a.session_id = s.id AND a.state = 'pending'))"
            ));
            Look {
                turns,
                in_use,
                messages_under_way: ids("SELECT id FROM outbox WHERE state IN ('pending', 'sending', 'unknown')"),
                young_keys: ids(&format!("SELECT id FROM inbox WHERE received_at >= {}", now - 8 * DAY_MS)),
                pending: ids("SELECT id FROM approvals WHERE state IN ('pending', 'approved')"),
            }
        })
        .await
        .unwrap()
}

/// Ids of turns that must be there, whole, after a sweep now.
fn live(look: &Look, now: i64) -> BTreeSet<Id> {
    let month_ago = now - 30 * DAY_MS;
    let mut live: BTreeSet<Id> = look
        .turns
        .iter()
        .filter(|turn| {
            turn.ended_at.is_none_or(|at| at >= month_ago)
                || turn.waits
                || turn.touched >= month_ago
        })
        .map(|turn| turn.id)
        .collect();
    for session in &look.in_use {
        let of: Vec<&Turn> = look
            .turns
            .iter()
            .filter(|turn| turn.session == *session)
            .collect();
        // What the next turn is told, and what each open one is.
        let mut ends: Vec<i64> = of
            .iter()
            .filter(|turn| turn.ended_at.is_none())
            .map(|turn| turn.position)
            .collect();
        ends.push(i64::MAX);
        for end in ends {
            let told = of
                .iter()
                .rev()
                .filter(|turn| turn.completed && turn.position < end);
            live.extend(told.take(6).map(|turn| turn.id));
        }
    }
    loop {
        let repeated: Vec<Id> = look
            .turns
            .iter()
            .filter(|turn| live.contains(&turn.id))
            .filter_map(|turn| turn.retry_of)
            .filter(|id| !live.contains(id))
            .collect();
        if repeated.is_empty() {
            return live;
        }
        live.extend(repeated);
    }
}

/// Sweeps and compares; how many turns went.
async fn checked_sweep(world: &World) -> u64 {
    let before = look(world).await;
    let now = world.clock.now().as_millis();
    let live = live(&before, now);
    let report = sweep(world).await;
    let after = look(world).await;
    for turn in before.turns.iter().filter(|turn| live.contains(&turn.id)) {
        let left = after.turns.iter().find(|left| left.id == turn.id);
        assert_eq!(Some(turn), left, "a live turn was touched");
    }
    // And what is left is not there by accident: it is live, or the newest of all.
    let newest = before.turns.last().map(|turn| turn.id);
    let last_message: Option<[u8; 16]> = world
        .store
        .with_writer(|conn| {
            conn.query_row(
                "SELECT continuation_id FROM outbox ORDER BY position DESC LIMIT 1",
                [],
                |row| row.get(0),
            )
            .unwrap_or(None)
        })
        .await
        .unwrap();
    let kept_for: BTreeSet<Id> = after
        .turns
        .iter()
        .filter_map(|turn| turn.retry_of)
        .collect();
    for turn in &after.turns {
        assert!(
            live.contains(&turn.id)
                || Some(turn.id) == newest
                || Some(turn.id) == last_message
                || kept_for.contains(&turn.id),
            "an old turn stayed: {turn:?}"
        );
    }
    assert!(
        before
            .messages_under_way
            .is_subset(&after.messages_under_way)
    );
    assert!(before.young_keys.is_subset(&after.young_keys));
    assert!(before.pending.is_subset(&after.pending));
    assert!(before.in_use.is_subset(&after.in_use));
    report.continuations
}

async fn retry(world: &World, n: usize) {
    let ended = world
        .store
        .read(|reader| {
            Ok(reader
                .continuations(&ContinuationFilter::default(), &PageRequest::default())?
                .items)
        })
        .await
        .unwrap();
    let ended: Vec<ContinuationId> = ended
        .iter()
        .filter(|turn| {
            matches!(
                turn.state,
                ContinuationState::Completed
                    | ContinuationState::Cancelled
                    | ContinuationState::Expired
            )
        })
        .map(|turn| turn.id)
        .collect();
    if let Some(id) = ended.get(n % ended.len().max(1)) {
        let mut again = turn(&format!("c{}", n % 3), None);
        again.retry_of = Some(*id);
        world.ok(again).await;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_live_goes(acts in prop::collection::vec(act(), 20..90)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut world = World::new().await;
            for (n, act) in acts.into_iter().enumerate() {
                match act {
                    Act::Store(op) => world = step(world, op).await,
                    Act::Days(days) => world.clock.advance_millis(days * DAY_MS),
                    Act::Sweep => {
                        checked_sweep(&world).await;
                        sound(&world).await;
                    }
                    Act::Retry => retry(&world, n).await,
                    Act::SweepAndCrash => {
                        sweep(&world).await;
                        world = world.crash().await;
                        sound(&world).await;
                    }
                }
            }
            world.clock.advance_millis(35 * DAY_MS);
            checked_sweep(&world).await;
            sound(&world).await;
            fact("retention", "random-histories", &serde_json::json!({"cases": 24, "held": true}));
        });
    }
}
