//! The table of results: what is found again, how much is kept, and what damage does.

use std::time::Instant;

use leverframe::clock::Timestamp;
use leverframe::protocol::cache::CachePurge;
use leverframe::store::response_cache::{
    KeptResult, Made, NewResult, Options, ResponseCache, ResultLookup,
};

use crate::support::daemon::DEADLINE;

const NOW: Timestamp = Timestamp(1_800_000_000_000);
const TTL: u64 = 30_000;
const MADE: Made = Made {
    epoch: 7,
    changes: 2,
};

struct World {
    dir: tempfile::TempDir,
    cache: ResponseCache,
}

fn options(dir: &tempfile::TempDir) -> Options {
    Options {
        path: dir.path().join("response_cache.db"),
        ttl_ms: 3_600_000,
        max_entries: 500,
        max_bytes: 64 << 20,
        max_results: 3,
        max_result_bytes: 1_000,
    }
}

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let cache = ResponseCache::new(options(&dir));
        Self { dir, cache }
    }

    async fn look_at(&self, n: u8, made: Made, at: Timestamp) -> ResultLookup {
        let deadline = Instant::now() + DEADLINE;
        loop {
            let look = self.cache.look_for_result([n; 32], [n; 32], made, TTL, at);
            let look = look.await;
            // On a busy machine the thread may answer too late, which is a miss and nothing else.
            let problem = self.cache.problem().unwrap_or_default();
            let late = problem.contains("no answer within");
            if look != ResultLookup::Unusable || !late || Instant::now() > deadline {
                return look;
            }
        }
    }

    async fn has(&self, n: u8) -> bool {
        matches!(self.look_at(n, MADE, NOW).await, ResultLookup::Found(_))
    }

    fn keep(&self, n: u8, content: &str) {
        self.cache.keep_result(NewResult {
            key: [n; 32],
            asked: [n; 32],
            channel: if n < 100 { "team" } else { "ops" }.to_owned(),
            content: content.to_owned(),
            ran_ms: 40,
            made: MADE,
            stored_at: NOW,
        });
    }

    /// Changes the file behind its back.
    async fn spoil(&mut self, sql: &str) {
        self.cache.close().await;
        let path = self.dir.path().join("response_cache.db");
        let conn = rusqlite::Connection::open(path).unwrap();
        conn.execute_batch(sql).unwrap();
        self.cache = ResponseCache::new(options(&self.dir));
    }
}

#[tokio::test]
async fn a_result_comes_back_as_it_was_until_it_is_too_old_and_no_clock_set_back_makes_it_younger()
{
    let world = World::new();
    assert_eq!(world.look_at(1, MADE, NOW).await, ResultLookup::Nothing);
    world.keep(1, "a.txt");
    let kept = KeptResult {
        content: "a.txt".to_owned(),
        ran_ms: 40,
        stored_at: NOW,
    };
    for after in [0, 29_999] {
        let found = world.look_at(1, MADE, NOW.plus_millis(after)).await;
        assert_eq!(found, ResultLookup::Found(kept.clone()), "{after}");
    }
    let too_late = world.look_at(1, MADE, NOW.plus_millis(30_000)).await;
    assert_eq!(too_late, ResultLookup::Expired);
    assert_eq!(world.look_at(1, MADE, NOW).await, ResultLookup::Nothing);
    world.keep(1, "a.txt");
    let too_early = world.look_at(1, MADE, NOW.plus_millis(-1)).await;
    assert_eq!(too_early, ResultLookup::Expired);
}

#[tokio::test]
async fn a_result_of_before_a_change_or_of_another_process_is_stale() {
    let world = World::new();
    for other in [
        Made { epoch: 8, ..MADE },
        Made { changes: 3, ..MADE },
        Made { changes: 1, ..MADE },
    ] {
        world.keep(1, "a.txt");
        assert_eq!(world.look_at(1, other, NOW).await, ResultLookup::Stale);
        assert_eq!(world.look_at(1, MADE, NOW).await, ResultLookup::Nothing);
    }
}

#[tokio::test]
async fn the_same_call_under_another_policy_is_told_apart_from_one_that_nobody_made() {
    let world = World::new();
    world.keep(1, "a.txt");
    let look = |asked| world.cache.look_for_result([9; 32], asked, MADE, TTL, NOW);
    assert_eq!(look([1; 32]).await, ResultLookup::OtherPolicy);
    assert_eq!(look([2; 32]).await, ResultLookup::Nothing);
}

#[tokio::test]
async fn what_was_used_longest_ago_goes_first_by_number_and_by_bytes() {
    let world = World::new();
    for n in 1..=3 {
        world.keep(n, "x");
    }
    // The oldest is used once more.
    assert!(world.has(1).await);
    world.keep(4, "x");
    assert!(!world.has(2).await);
    assert!(world.has(1).await && world.has(3).await && world.has(4).await);
    world.keep(5, &"x".repeat(999));
    let picture = world.cache.picture().await;
    assert_eq!((picture.results, picture.result_bytes), (2, 1_000));
    assert!(world.has(4).await && world.has(5).await);
    // Kept anew it replaces itself.
    world.keep(5, "y");
    let picture = world.cache.picture().await;
    assert_eq!((picture.results, picture.result_bytes), (2, 2));
}

#[tokio::test]
async fn whatever_is_damaged_is_not_there() {
    for sql in [
        "UPDATE results SET content = 'b.txt'",
        "UPDATE results SET stored_at = stored_at + 1",
        "UPDATE results SET changes = 3",
        "UPDATE results SET ran_ms = 1",
    ] {
        let mut world = World::new();
        world.keep(1, "a.txt");
        assert!(world.has(1).await);
        world.spoil(sql).await;
        let made = Made {
            changes: if sql.contains("changes") { 3 } else { 2 },
            ..MADE
        };
        let look = world.look_at(1, made, NOW.plus_millis(1)).await;
        assert_eq!(look, ResultLookup::Nothing, "{sql}");
        world.keep(1, "a.txt");
        assert!(world.has(1).await, "{sql}");
    }
    // A table that is gone: the file is made anew.
    let mut world = World::new();
    world.keep(1, "a.txt");
    world.spoil("DROP TABLE results").await;
    assert_eq!(world.look_at(1, MADE, NOW).await, ResultLookup::Unusable);
    assert_eq!(world.look_at(1, MADE, NOW).await, ResultLookup::Nothing);
    world.keep(1, "a.txt");
    assert!(world.has(1).await);
}

#[tokio::test]
async fn a_purge_takes_those_of_a_channel_or_all_and_overwrites_them() {
    let world = World::new();
    world.keep(1, "needle one");
    world.keep(101, "needle two");
    let day = || "2027-01-15".to_owned();
    let purge = world
        .cache
        .purge(CachePurge::Channel("ops".to_owned()), day());
    let purged = purge.await.unwrap();
    assert_eq!((purged.entries, purged.results, purged.bytes), (0, 1, 10));
    assert!(world.has(1).await && !world.has(101).await);
    let purged = world.cache.purge(CachePurge::All, day()).await.unwrap();
    assert_eq!(purged.results, 1);
    assert!(!world.has(1).await);
    world.cache.close().await;
    for file in std::fs::read_dir(world.dir.path()).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        assert!(!String::from_utf8_lossy(&bytes).contains("needle"));
    }
}
