//! Random memories under random settings: the run does what the preview said, both do what the rules say (said here once
//! more, the slow way), and a run that is taken back leaves everything as it was.

use std::collections::{BTreeMap, BTreeSet};

use leverframe::protocol::hygiene::HygieneReport;
use leverframe::protocol::ids::MemoryId;
use proptest::prelude::*;

use crate::hygiene::world::{
    DAY_MS, Row, WORDS, engine, everything, preview, start, tidy_anyway, undo,
};
use crate::support::world::World;

#[derive(Debug, Clone)]
struct Drawn {
    scope: usize,
    /// 0 = at rest, 1 = with an open turn, 2 = gone.
    session: usize,
    channel: usize,
    state: usize,
    word: usize,
    confidence: u8,
    pinned: bool,
    uses: u64,
    created: i64,
    changed: i64,
    used: Option<i64>,
    expires: Option<i64>,
    vector: bool,
}

fn drawn() -> impl Strategy<Value = Drawn> {
    let place = (0..3_usize, 0..3_usize, 0..2_usize, 0..3_usize, 0..4_usize);
    let worth = (0..4_u8, prop::bool::weighted(0.15), 0..3_u64, any::<bool>());
    let times = (
        0..50_i64,
        0..50_i64,
        prop::option::of(0..50_i64),
        prop::option::weighted(0.2, -3..3_i64),
    );
    (place, worth, times).prop_map(|(place, worth, times)| Drawn {
        scope: place.0,
        session: place.1,
        channel: place.2,
        state: place.3,
        word: place.4,
        confidence: worth.0,
        pinned: worth.1,
        uses: worth.2,
        vector: worth.3,
        created: times.0,
        changed: times.1,
        used: times.2,
        expires: times.3,
    })
}

struct Sessions {
    rest: [u8; 16],
    open: [u8; 16],
}

impl Drawn {
    fn row(&self, sessions: &Sessions) -> Row {
        let ago = |days: i64| start() - days * DAY_MS;
        let scope = ["session", "channel", "global"][self.scope];
        let state = ["proposed", "active", "superseded"][self.state];
        let session = [sessions.rest, sessions.open, [9; 16]][self.session];
        // Those of a session that is there are of its channel.
        let placed = scope == "session" && self.session < 2;
        let channel = if placed {
            "team"
        } else {
            ["team", "other"][self.channel]
        };
        Row {
            id: MemoryId::generate(),
            scope,
            session: (scope == "session").then_some(session),
            channel: (scope != "global").then_some(channel),
            state,
            text: format!("{} {}", WORDS[self.word], WORDS[(self.word + 1) % 4]),
            confidence: f64::from(self.confidence) / 4.0,
            pinned: self.pinned && state == "active",
            uses: self.uses,
            created_at: ago(self.created.max(self.changed)),
            updated_at: ago(self.changed),
            last_used_at: self.used.map(ago),
            expires_at: self.expires.map(|days| start() + days * DAY_MS),
        }
    }
}

/// What goes and why, by the words of the rules and not by those of the program.
fn expected(
    rows: &[Row],
    sessions: &Sessions,
    days: [i64; 3],
    most: usize,
) -> BTreeMap<MemoryId, &'static str> {
    let mut goes = BTreeMap::new();
    let touched = |row: &Row| {
        let used = row.last_used_at.unwrap_or(0);
        row.updated_at.max(row.created_at).max(used)
    };
    let safe = |row: &Row| row.pinned || row.session == Some(sessions.open);
    for row in rows.iter().filter(|row| !safe(row)) {
        let kept = match row.scope {
            "session" => days[0],
            "channel" => days[1],
            _ => days[2],
        };
        if row.expires_at.is_some_and(|end| end <= start()) {
            goes.insert(row.id, "expired");
        } else if row.session == Some([9; 16]) {
            goes.insert(row.id, "orphan");
        } else if kept > 0 && touched(row) < start() - kept * DAY_MS {
            goes.insert(row.id, "retention");
        }
    }
    let places: BTreeSet<_> = rows.iter().map(|row| (row.scope, row.channel)).collect();
    for place in places {
        let left: Vec<(usize, &Row)> = rows
            .iter()
            .enumerate()
            .filter(|(_, row)| (row.scope, row.channel) == place && !goes.contains_key(&row.id))
            .collect();
        let surplus = left.len().saturating_sub(most);
        let mut may: Vec<_> = left.into_iter().filter(|(_, row)| !safe(row)).collect();
        may.sort_by(|(a, x), (b, y)| {
            x.confidence
                .total_cmp(&y.confidence)
                .then(x.uses.cmp(&y.uses))
                .then(touched(x).cmp(&touched(y)))
                .then(a.cmp(b))
        });
        goes.extend(
            may.into_iter()
                .take(surplus)
                .map(|(_, row)| (row.id, "size")),
        );
    }
    goes
}

fn reasons(report: &HygieneReport) -> BTreeMap<(String, Option<String>, String), u64> {
    let key = |group: &leverframe::protocol::hygiene::HygieneGroup| {
        let scope = group.scope.expect("only memories go here");
        assert_eq!(group.what, "memories");
        (
            scope.to_string(),
            group.channel.clone(),
            group.reason.to_string(),
        )
    };
    report
        .groups
        .iter()
        .map(|group| (key(group), group.count))
        .collect()
}

async fn sessions(world: &World) -> Sessions {
    let (rest, done) = world.running("rest").await;
    world.finish(done, 1).await;
    let (open, _) = world.running("open").await;
    Sessions {
        rest: rest.to_bytes(),
        open: open.to_bytes(),
    }
}

async fn check(drawn: Vec<Drawn>, days: [i64; 3], most: usize) {
    let world = World::new().await;
    let sessions = sessions(&world).await;
    let rows: Vec<Row> = drawn.iter().map(|drawn| drawn.row(&sessions)).collect();
    let vectors: Vec<bool> = drawn.iter().map(|drawn| drawn.vector).collect();
    let written = rows.clone();
    world
        .store
        .with_writer(move |conn| {
            for (row, vector) in written.iter().zip(vectors) {
                row.insert(conn);
                if vector {
                    conn.execute(
                        "INSERT INTO memory_vectors SELECT id, 'local/e', 2, digest, x'0000803f00000000', 5
                         FROM memories WHERE id = ?1",
                        [row.id.to_bytes()],
                    )
                    .unwrap();
                }
            }
        })
        .await
        .unwrap();
    let config = format!(
        "session_days = {}\nchannel_days = {}\nglobal_days = {}\nmax_memories = {most}\nundo_days = 7\n",
        days[0], days[1], days[2]
    );
    let engine = engine(&world, &config);
    let before = everything(&world).await;

    let goes = expected(&rows, &sessions, days, most);
    let said = preview(&engine).await;
    assert_eq!(
        everything(&world).await,
        before,
        "a preview changes nothing"
    );
    let named: BTreeSet<MemoryId> = said.memories.iter().copied().collect();
    assert_eq!(named, goes.keys().copied().collect());
    let mut wanted: BTreeMap<(String, Option<String>, String), u64> = BTreeMap::new();
    for row in &rows {
        if let Some(why) = goes.get(&row.id) {
            let channel = row.channel.map(str::to_owned);
            *wanted
                .entry((row.scope.to_owned(), channel, (*why).to_owned()))
                .or_default() += 1;
        }
    }
    assert_eq!(reasons(&said), wanted);

    let run = tidy_anyway(&engine).await;
    assert_eq!(run.report, said, "the run does what the preview said");
    let after = everything(&world).await;
    assert_eq!(
        after.found, before.found,
        "nothing leaves the index when it is archived"
    );
    world.sound().await;
    let archived: u64 = after
        .rows
        .iter()
        .filter(|row| row.contains(&rusqlite::types::Value::Text("archived".to_owned())))
        .count() as u64;
    assert_eq!(archived, goes.len() as u64);
    assert_eq!(preview(&engine).await.archived, 0, "what is left stays");

    let back = undo(&engine, run.id).await.unwrap();
    assert_eq!(back.restored, goes.len() as u64);
    assert_eq!(everything(&world).await, before, "a run that is taken back");
    world.sound().await;

    // The same again, and this time it is too late to take it back.
    let again = tidy_anyway(&engine).await;
    assert_eq!(again.report, said);
    world.clock.advance_millis(7 * DAY_MS);
    let refused = undo(&engine, again.id).await;
    assert!(refused.is_err() || goes.is_empty(), "{refused:?}");
    world.sql("UPDATE memories SET pinned = 1 WHERE state = 'active'; UPDATE memories SET updated_at = 1900000000000, expires_at = NULL WHERE state <> 'archived'").await;
    let last = preview(&engine).await;
    assert_eq!(last.removed, goes.len() as u64);
    let run = tidy_anyway(&engine).await;
    assert_eq!(run.report, last);
    let left = everything(&world).await;
    let gone: Vec<Vec<u8>> = goes.keys().map(|id| id.to_bytes().to_vec()).collect();
    let names = |row: &Vec<rusqlite::types::Value>| {
        gone.iter()
            .any(|id| row.contains(&rusqlite::types::Value::Blob(id.clone())))
    };
    assert!(!left.rows.iter().any(names) && !left.vectors.iter().any(names));
    assert_eq!(left.indexed.len(), left.rows.len());
    world.sound().await;
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, max_shrink_iters: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_run_does_what_its_preview_said_and_can_be_taken_back(
        memories in prop::collection::vec(drawn(), 0..60),
        days in [0..40_i64, 0..40_i64, 0..40_i64],
        most in 1..12_usize,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(check(memories, days, most));
    }
}
