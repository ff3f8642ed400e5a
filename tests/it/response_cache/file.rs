//! The file: what is kept, for how long, how much of it, and every way in which it can go wrong.

use std::path::PathBuf;

use leverframe::clock::Timestamp;
use leverframe::protocol::cache::CachePurge;
use leverframe::protocol::enums::{CacheEviction, CacheMissReason, CacheScope};
use leverframe::protocol::session::Usage;
use leverframe::protocol::snapshot::PageRequest;
use leverframe::store::response_cache::counters::{CounterKey, CounterKind, Delta};
use leverframe::store::response_cache::{
    CacheError, CacheState, NewEntry, Options, Picture, ResponseCache,
};

const NOW: Timestamp = Timestamp(1_800_000_000_000);
const HOUR: i64 = 3_600_000;

struct World {
    dir: tempfile::TempDir,
    options: Options,
    cache: ResponseCache,
}

impl World {
    fn new() -> Self {
        Self::with(|_| {})
    }

    fn with(change: impl FnOnce(&mut Options)) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut options = Options {
            path: dir.path().join("response_cache.db"),
            ttl_ms: HOUR as u64,
            max_entries: 500,
            max_bytes: 64 << 20,
            max_results: 3,
            max_result_bytes: 1000,
        };
        change(&mut options);
        let cache = ResponseCache::new(options.clone());
        Self {
            dir,
            options,
            cache,
        }
    }

    fn path(&self) -> PathBuf {
        self.options.path.clone()
    }

    async fn look(&self, n: u8, now: Timestamp) -> CacheState {
        self.cache.look([n; 32], [n; 16], now).await
    }

    async fn has(&self, n: u8) -> bool {
        matches!(self.look(n, NOW).await, CacheState::Found(_))
    }

    /// Keeps an answer and waits until it is found, which is at once: looks wait behind it.
    async fn keep(&self, n: u8) {
        self.cache.keep(entry(n));
        assert!(self.has(n).await, "{n} was just kept");
    }

    /// The same file, opened anew.
    async fn again(&mut self) {
        self.cache.close().await;
        self.cache = ResponseCache::new(self.options.clone());
    }

    async fn counted(&self, counted: CounterKind) -> u64 {
        let picture = self.cache.picture().await;
        let rows = picture.rows.iter().filter(|row| row.key.counted == counted);
        rows.map(|row| row.sum.times).sum()
    }
}

fn entry(n: u8) -> NewEntry {
    NewEntry {
        key: [n; 32],
        asked: [n; 16],
        channel: if n < 100 { "team" } else { "ops" }.to_owned(),
        scope: CacheScope::Channel,
        requester: "telegram:1".to_owned(),
        model: "local/m".to_owned(),
        question: format!("question {n}"),
        answer: format!("answer {n}"),
        usage: Usage {
            input_tokens: 100,
            output_tokens: 20,
            cached_input_tokens: 10,
            cache_write_tokens: 5,
            cost_usd: Some(0.25),
        },
        stored_at: NOW,
    }
}

#[tokio::test]
async fn what_was_kept_comes_back_whole_also_after_a_restart() {
    let mut world = World::new();
    assert_eq!(world.look(1, NOW).await, CacheState::Nothing);
    world.keep(1).await;
    world.again().await;
    let CacheState::Found(found) = world.look(1, NOW).await else {
        panic!("it was kept");
    };
    let kept = entry(1);
    assert_eq!(
        (found.answer, found.model, found.usage, found.stored_at),
        (kept.answer, kept.model, kept.usage, kept.stored_at)
    );
    // The same question under another key is told apart from one that nobody asked.
    assert_eq!(
        world.cache.look([9; 32], [1; 16], NOW).await,
        CacheState::Changed
    );
    assert!(world.cache.knows_question([1; 16]).await);
    assert!(!world.cache.knows_question([2; 16]).await);
    let mode = std::os::unix::fs::PermissionsExt::mode(
        &std::fs::metadata(world.path()).unwrap().permissions(),
    );
    assert_eq!(mode & 0o777, 0o600);
}

#[tokio::test]
async fn nothing_is_opened_before_it_is_used() {
    let world = World::new();
    assert!(!world.cache.is_there());
    world.cache.close().await;
    assert!(!world.path().exists());
}

#[tokio::test]
async fn an_answer_lives_as_long_as_it_may_and_a_clock_set_back_makes_none_immortal() {
    let world = World::new();
    world.keep(1).await;
    world.keep(2).await;
    let last = NOW.plus_millis(HOUR - 1);
    assert!(matches!(world.look(1, last).await, CacheState::Found(_)));
    assert_eq!(
        world.look(1, NOW.plus_millis(HOUR)).await,
        CacheState::Expired
    );
    assert_eq!(world.look(1, NOW).await, CacheState::Nothing, "it is gone");
    // The clock was an hour ahead when it was kept.
    assert_eq!(
        world.look(2, NOW.plus_millis(-1)).await,
        CacheState::Expired
    );
    assert_eq!(
        world
            .counted(CounterKind::Evicted(CacheEviction::Expired))
            .await,
        2
    );
}

#[tokio::test]
async fn the_one_used_longest_ago_goes_first_and_pinned_ones_stay() {
    let mut world = World::with(|options| options.max_entries = 3);
    for n in 1..=3 {
        world.keep(n).await;
    }
    assert!(world.has(1).await, "used after the others were kept");
    let id = hex(2);
    world.cache.pin(id[..4].to_owned(), true).await.unwrap();
    world.keep(4).await;
    // 2 is pinned, 1 was used last of the others.
    assert!(!world.has(3).await);
    assert!(world.has(1).await && world.has(2).await && world.has(4).await);
    assert!(matches!(
        world.look(2, NOW.plus_millis(9 * HOUR)).await,
        CacheState::Found(_)
    ));
    world.again().await;
    assert_eq!(world.cache.picture().await.entries, 3);
    world.cache.pin(id, false).await.unwrap();
    assert_eq!(
        world.look(2, NOW.plus_millis(9 * HOUR)).await,
        CacheState::Expired
    );
    assert_eq!(
        world
            .counted(CounterKind::Evicted(CacheEviction::Count))
            .await,
        1
    );
}

#[tokio::test]
async fn bytes_are_bounded_too() {
    let world = World::with(|options| options.max_bytes = 2500);
    for n in 1..=3 {
        world.cache.keep(NewEntry {
            answer: "x".repeat(1000),
            ..entry(n)
        });
    }
    let picture = world.cache.picture().await;
    assert_eq!((picture.entries, world.has(1).await), (2, false));
    assert!(picture.bytes <= 2500, "{}", picture.bytes);
    // A new answer in place of an old one counts once.
    world.keep(3).await;
    assert!(world.cache.picture().await.bytes < 1100);
    assert_eq!(
        world
            .counted(CounterKind::Evicted(CacheEviction::Size))
            .await,
        1
    );
}

fn hex(n: u8) -> String {
    format!("{n:02x}").repeat(8)
}

#[tokio::test]
async fn entries_are_listed_shown_and_forgotten_and_their_text_leaves_the_file() {
    let world = World::new();
    for n in [1, 2, 3, 100, 101] {
        world.keep(n).await;
    }
    let page = |limit, cursor| PageRequest {
        limit: Some(limit),
        cursor,
    };
    let first = world.cache.entries(None, page(2, None)).await.unwrap();
    let ids: Vec<String> = first.items.iter().map(|entry| entry.id.clone()).collect();
    assert_eq!(ids, [hex(101), hex(100)]);
    let rest = world
        .cache
        .entries(None, page(9, first.next_cursor))
        .await
        .unwrap();
    assert_eq!((rest.items.len(), rest.next_cursor), (3, None));
    let shown = world.cache.entry(hex(3)).await.unwrap();
    assert_eq!(shown.answer, "answer 3");
    assert_eq!(shown.hits, 1);
    assert_eq!(shown.expires_at, Some(NOW.plus_millis(HOUR)));
    for wrong in ["", "03", "zzzz", "ffff", "../../etc"] {
        assert!(
            matches!(
                world.cache.entry(wrong.to_owned()).await,
                Err(CacheError::NotFound(_))
            ),
            "{wrong}"
        );
    }
    let day = || "2027-01-15".to_owned();
    let what = CachePurge::Entry(hex(3));
    assert_eq!(world.cache.purge(what, day()).await.unwrap().entries, 1);
    let what = CachePurge::Channel("ops".to_owned());
    assert_eq!(world.cache.purge(what, day()).await.unwrap().entries, 2);
    assert!(world.has(1).await && world.has(2).await && !world.has(100).await);
    let purged = world.cache.purge(CachePurge::All, day()).await.unwrap();
    assert_eq!(purged.entries, 2);
    world.cache.close().await;
    for file in std::fs::read_dir(world.dir.path()).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains("answer 1") && !text.contains("question 2"));
    }
}

fn miss(times: u64) -> (CounterKey, Delta) {
    (
        CounterKey {
            day: "2027-01-15".to_owned(),
            channel: "team".to_owned(),
            model: "local/m".to_owned(),
            scope: CacheScope::Channel,
            counted: CounterKind::Miss(CacheMissReason::NoEntry),
        },
        Delta {
            times,
            input_tokens: 7,
            ..Delta::default()
        },
    )
}

#[tokio::test]
async fn counters_only_grow_whatever_goes() {
    let mut world = World::with(|options| options.max_entries = 1);
    let count = |world: &World, times| {
        let (key, delta) = miss(times);
        world.cache.count(key, delta);
    };
    let missed = CounterKind::Miss(CacheMissReason::NoEntry);
    count(&world, 2);
    count(&world, 3);
    assert_eq!(world.counted(missed).await, 5);
    world.again().await;
    assert_eq!(world.counted(missed).await, 5, "also in the file");
    for n in 1..=4 {
        world.keep(n).await;
    }
    let day = "2027-01-15".to_owned();
    world.cache.purge(CachePurge::All, day).await.unwrap();
    count(&world, 1);
    world.again().await;
    assert_eq!(world.counted(missed).await, 6);
    assert_eq!(world.counted(CounterKind::Store).await, 4);
    assert_eq!(
        world
            .counted(CounterKind::Evicted(CacheEviction::Count))
            .await,
        3
    );
    assert_eq!(
        world
            .counted(CounterKind::Evicted(CacheEviction::Purged))
            .await,
        1
    );
    let picture: Picture = world.cache.picture().await;
    let row = picture
        .rows
        .iter()
        .find(|row| row.key.counted == missed)
        .unwrap();
    assert_eq!(row.sum.input_tokens, 21);
}

#[tokio::test]
async fn a_file_that_is_no_database_is_made_anew() {
    let mut world = World::new();
    world.keep(1).await;
    world.cache.close().await;
    for garbage in [
        b"not a database at all, but long enough to be one".repeat(100),
        vec![0; 50],
    ] {
        std::fs::write(world.path(), &garbage).unwrap();
        world.again().await;
        assert_eq!(world.look(1, NOW).await, CacheState::Nothing);
        world.keep(1).await;
        world.cache.close().await;
    }
}

#[tokio::test]
async fn a_damaged_page_is_a_miss_and_never_an_answer() {
    let mut world = World::new();
    let long = "a long answer about lunch ".repeat(40);
    for n in 1..=20 {
        world.cache.keep(NewEntry {
            answer: format!("{n} {long}"),
            ..entry(n)
        });
    }
    world.cache.close().await;
    let mut bytes = std::fs::read(world.path()).unwrap();
    let mut changed = 0;
    for at in 0..bytes.len() - 5 {
        if &bytes[at..at + 5] == b"lunch" {
            bytes[at..at + 5].copy_from_slice(b"poker");
            changed += 1;
        }
    }
    assert!(changed > 100);
    std::fs::write(world.path(), &bytes).unwrap();
    world.again().await;
    for n in 1..=20 {
        assert_eq!(world.look(n, NOW).await, CacheState::Nothing, "{n}");
    }
    let damaged = world
        .counted(CounterKind::Evicted(CacheEviction::Damaged))
        .await;
    assert_eq!(damaged, 20);
    world.keep(1).await;
}

#[tokio::test]
async fn pages_of_nonsense_never_become_an_answer() {
    let mut world = World::new();
    for n in 1..=200 {
        world.cache.keep(entry(n));
    }
    world.cache.close().await;
    let whole = std::fs::read(world.path()).unwrap();
    for page in 1..whole.len() / 4096 {
        let mut bytes = whole.clone();
        bytes[page * 4096..(page + 1) * 4096].fill(0xa5);
        std::fs::write(world.path(), &bytes).unwrap();
        for suffix in ["-wal", "-shm"] {
            let _ = std::fs::remove_file(format!("{}{suffix}", world.path().display()));
        }
        world.again().await;
        for n in [1, 77, 200] {
            match world.look(n, NOW).await {
                CacheState::Found(found) => assert_eq!(found.answer, format!("answer {n}")),
                CacheState::Nothing | CacheState::Changed | CacheState::Unusable => {}
                CacheState::Expired => panic!("page {page}: {n} is not old"),
            }
        }
        // Whatever it was: a new answer is kept, at the latest the second time.
        world.cache.keep(entry(250));
        if !world.has(250).await {
            world.keep(250).await;
        }
    }
}

#[tokio::test]
async fn another_version_is_made_anew_and_another_programs_file_is_left_alone() {
    let mut world = World::new();
    world.keep(1).await;
    world.cache.close().await;
    let change = |sql: &str| {
        let conn = rusqlite::Connection::open(world.options.path.clone()).unwrap();
        conn.execute_batch(sql).unwrap();
    };
    change("PRAGMA user_version = 99");
    world.again().await;
    assert_eq!(world.look(1, NOW).await, CacheState::Nothing);
    world.keep(1).await;
    world.cache.close().await;
    let change = |sql: &str| {
        let conn = rusqlite::Connection::open(world.options.path.clone()).unwrap();
        conn.execute_batch(sql).unwrap();
    };
    change("DROP TABLE entries");
    world.again().await;
    // What is missing shows only when it is asked for; the next question finds a new file.
    assert_eq!(world.look(1, NOW).await, CacheState::Unusable);
    world.keep(1).await;
    world.cache.close().await;
    std::fs::remove_file(world.path()).unwrap();
    let foreign = rusqlite::Connection::open(world.path()).unwrap();
    foreign
        .execute_batch("PRAGMA application_id = 77; CREATE TABLE precious (x); INSERT INTO precious VALUES (1)")
        .unwrap();
    world.again().await;
    assert_eq!(world.look(1, NOW).await, CacheState::Unusable);
    let why = world.cache.problem().unwrap();
    assert!(why.contains("another program"), "{why}");
    let kept: i64 = foreign
        .query_row("SELECT count(*) FROM precious", [], |row| row.get(0))
        .unwrap();
    assert_eq!(kept, 1);
}

#[tokio::test]
async fn a_file_that_vanishes_or_is_replaced_is_a_miss_and_the_next_answer_is_kept() {
    let world = World::new();
    world.keep(1).await;
    std::fs::remove_file(world.path()).unwrap();
    assert_eq!(world.look(1, NOW).await, CacheState::Nothing);
    world.keep(1).await;
    assert!(world.path().exists());
    // Everything at once, and a directory in its place.
    for suffix in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{}{suffix}", world.path().display()));
    }
    std::fs::create_dir(world.path()).unwrap();
    assert_eq!(world.look(1, NOW).await, CacheState::Unusable);
    assert!(world.cache.problem().is_some());
    std::fs::remove_dir(world.path()).unwrap();
    // Tried again by itself, half a second later.
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
    while world.look(1, NOW).await == CacheState::Unusable {
        assert!(std::time::Instant::now() < deadline);
        tokio::task::yield_now().await;
    }
    world.keep(1).await;
    assert_eq!(world.cache.problem(), None);
}

#[tokio::test]
async fn a_locked_file_is_a_miss_until_it_is_let_go() {
    let world = World::new();
    world.keep(1).await;
    let other = rusqlite::Connection::open(world.path()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    // A writer elsewhere: what is there can be read, nothing can be kept.
    assert!(world.has(1).await);
    world.cache.keep(entry(2));
    assert_eq!(world.look(2, NOW).await, CacheState::Nothing);
    other.execute_batch("ROLLBACK").unwrap();
    world.keep(2).await;
    // Nobody else gets in.
    world.cache.close().await;
    other
        .execute_batch("PRAGMA locking_mode = EXCLUSIVE; BEGIN IMMEDIATE")
        .unwrap();
    let shut_out = ResponseCache::new(world.options.clone());
    assert_eq!(
        shut_out.look([1; 32], [1; 16], NOW).await,
        CacheState::Unusable
    );
    let why = shut_out.problem().unwrap();
    assert!(why.contains("another program"), "{why}");
    let picture = shut_out.picture().await;
    assert!(picture.problem.is_some());
    drop(other);
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
    while shut_out.look([1; 32], [1; 16], NOW).await == CacheState::Unusable {
        assert!(std::time::Instant::now() < deadline);
        tokio::task::yield_now().await;
    }
    assert_eq!(shut_out.problem(), None);
}

#[tokio::test]
async fn a_use_that_is_only_in_memory_counts_when_room_is_made() {
    let world = World::with(|options| options.max_entries = 3);
    for n in 1..=3 {
        world.cache.keep(entry(n));
    }
    assert!(world.has(1).await);
    world.cache.keep(entry(4));
    assert!(world.has(1).await, "it was used last");
    assert!(!world.has(2).await);
}
