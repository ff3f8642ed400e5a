//! Whatever happens in which order: every message is in what the next turn is sent, in the archive, or covered by a
//! committed summary.

use std::collections::BTreeMap;

use leverframe::protocol::ids::SessionId;
use proptest::prelude::*;

use crate::retention::world::{DAY_MS, sweep};
use crate::store::random::{Op, op, step};
use crate::support::world::World;

#[derive(Debug, Clone, Copy)]
enum Act {
    Store(Op),
    Days(i64),
    Sweep,
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        20 => op().prop_map(Act::Store),
        12 => any::<u8>().prop_map(|n| Act::Store(Op::Compact(n))),
        12 => Just(Act::Store(Op::Complete)),
        12 => Just(Act::Store(Op::Claim)),
        8 => (0..3_u8).prop_map(|n| Act::Store(Op::Ingest(n))),
        1 => (1_i64..40).prop_map(Act::Days),
        1 => Just(Act::Sweep),
    ]
}

type Id = [u8; 16];

/// A completed turn as it was seen.
#[derive(Debug, Clone)]
struct Seen {
    session: Id,
    position: i64,
    ended_at: i64,
    put_away: bool,
}

async fn completed(world: &World) -> BTreeMap<Id, Seen> {
    world
        .store
        .with_writer(|conn| {
            conn.prepare(
                "SELECT id, session_id, position, ended_at, archived_at IS NOT NULL FROM continuations
                 WHERE state = 'completed'",
            )
            .unwrap()
            .query_map([], |row| {
                let seen = Seen {
                    session: row.get(1)?,
                    position: row.get(2)?,
                    ended_at: row.get(3)?,
                    put_away: row.get(4)?,
                };
                Ok((row.get(0)?, seen))
            })
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap()
        })
        .await
        .unwrap()
}

async fn covered(world: &World) -> BTreeMap<Id, (i64, u64)> {
    world
        .store
        .with_writer(|conn| {
            conn.prepare("SELECT session_id, covers_to, turns FROM summaries")
                .unwrap()
                .query_map([], |row| Ok((row.get(0)?, (row.get(1)?, row.get(2)?))))
                .unwrap()
                .collect::<Result<_, _>>()
                .unwrap()
        })
        .await
        .unwrap()
}

/// What the store holds against what was ever seen in it.
async fn nothing_is_lost(
    world: &World,
    ever: &mut BTreeMap<Id, Seen>,
    put_away: &mut BTreeMap<Id, u64>,
) {
    let now = completed(world).await;
    let covered = covered(world).await;
    for (id, seen) in &now {
        let before = ever.insert(*id, seen.clone());
        if seen.put_away && !before.is_some_and(|before| before.put_away) {
            *put_away.entry(seen.session).or_default() += 1;
        }
        let to = covered.get(&seen.session).map_or(0, |(to, _)| *to);
        assert_eq!(
            seen.put_away,
            seen.position <= to,
            "neither sent nor covered, or both: {seen:?}"
        );
    }
    let month_ago = world.clock.now().as_millis() - 30 * DAY_MS;
    for (id, seen) in ever.iter() {
        if !now.contains_key(id) {
            assert!(seen.ended_at < month_ago, "gone before its time: {seen:?}");
        }
    }
    // A summary counts what it stands for.
    for (session, (_, turns)) in &covered {
        assert_eq!(put_away.get(session), Some(turns));
    }
    // What the next turn is sent is what nobody put away, in order, whole.
    for session in covered.keys() {
        let sent = world
            .store
            .read({
                let session = SessionId::from_bytes(*session);
                move |reader| {
                    let reach = leverframe::store::queries::compactions::Reach {
                        counted: 1000,
                        oldest: 0,
                        newest: 1000,
                    };
                    reader.compactable(session, 1, reach)
                }
            })
            .await
            .unwrap();
        assert_eq!(sent.uncovered, sent.newest.len());
        for turn in &sent.newest {
            let proposed = turn.calls.len();
            let results = turn
                .steps
                .iter()
                .filter(|step| {
                    matches!(
                        step.body,
                        leverframe::protocol::session::StepBody::ToolResult { .. }
                    )
                })
                .count();
            assert_eq!(proposed, results, "a call without its result");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_message_is_lost(acts in prop::collection::vec(act(), 60..160)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut world = World::new().await;
            let (mut ever, mut put_away) = (BTreeMap::new(), BTreeMap::new());
            for act in acts {
                match act {
                    Act::Store(op) => world = step(world, op).await,
                    Act::Days(days) => world.clock.advance_millis(days * DAY_MS),
                    Act::Sweep => drop(sweep(&world).await),
                }
                nothing_is_lost(&world, &mut ever, &mut put_away).await;
            }
            world.sound().await;
        });
    }
}
