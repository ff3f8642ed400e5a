//! The writing thread: groups, classes, isolation of failures, a bounded queue, a full disk.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use leverframe::protocol::enums::OutboxClass;
use leverframe::store::command::{Durability, WriteCommand, WriteTx};
use leverframe::store::commands::probe::Probe;
use leverframe::store::commands::queue_notice::QueueNotice;
use leverframe::store::commands::set_emergency_stop::SetEmergencyStop;
use leverframe::store::commands::start_session::StartSession;
use leverframe::store::error::StoreError;
use leverframe::store::input::NewNotice;

use crate::support::world::{World, by, turn};

/// Fails after its inner command has written, or not at all.
struct ThenFail<C>(C, Arc<AtomicU32>);

impl<C: WriteCommand> WriteCommand for ThenFail<C> {
    type Output = ();
    const DURABILITY: Durability = Durability::Relaxed;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<(), StoreError> {
        self.1.fetch_add(1, Ordering::SeqCst);
        self.0.apply(tx)?;
        Err(StoreError::KeyConflict)
    }
}

fn session(conversation: &str) -> StartSession {
    StartSession {
        channel: "team".to_owned(),
        conversation: conversation.to_owned(),
        title: None,
        model: None,
    }
}

#[tokio::test]
async fn a_failing_command_takes_only_itself_down() {
    let world = World::new().await;
    let before = world.store.last_seq();
    let runs = Arc::new(AtomicU32::new(0));
    let (good, bad, other) = tokio::join!(
        world.store.write(session("a")),
        world.store.write(ThenFail(session("b"), Arc::clone(&runs))),
        world.store.write(session("c")),
    );
    assert!(good.is_ok() && other.is_ok());
    assert!(matches!(bad, Err(StoreError::KeyConflict)));
    assert_eq!(runs.load(Ordering::SeqCst), 1);
    // Its session and its event are gone, and leave no hole.
    assert_eq!(world.store.last_seq(), before + 2);
    let found = world
        .store
        .read(|reader| reader.active_session("team", "b"))
        .await
        .unwrap();
    assert_eq!(found, None);
    world.sound().await;
}

/// Says something in both logs.
fn held(reason: &str) -> (StartSession, SetEmergencyStop) {
    let hold = SetEmergencyStop {
        held: Some(reason.to_owned()),
        by: by("anna"),
        drop_full: false,
    };
    (session(reason), hold)
}

#[tokio::test]
async fn a_group_is_numbered_and_chained_once_without_what_its_failed_commands_said() {
    let world = World::new().await;
    let before = world.store.last_seq();
    let stored = |conn: &rusqlite::Connection| -> (u64, u64) {
        conn.query_row(
            "SELECT (SELECT count(*) FROM events), (SELECT count(*) FROM audit)",
            [],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .unwrap()
    };
    let (events, rows) = world.store.with_writer(stored).await.unwrap();
    let mut published = world.store.subscribe();
    let runs = Arc::new(AtomicU32::new(0));
    // Queued before the writer looks again, so that they form one group.
    let (first, failed, last) = tokio::join!(
        world.store.write(held("a")),
        world.store.write(ThenFail(held("b"), Arc::clone(&runs))),
        world.store.write(held("c")),
    );
    assert!(first.is_ok() && last.is_ok());
    assert!(matches!(failed, Err(StoreError::KeyConflict)));
    assert_eq!(runs.load(Ordering::SeqCst), 1);
    let after = world.store.with_writer(stored).await.unwrap();
    assert_eq!(after, (events + 2, rows + 2));
    let numbers = [published.recv().await, published.recv().await].map(|event| event.unwrap().seq);
    assert_eq!(numbers, [Some(before + 1), Some(before + 2)]);
    assert!(
        published.try_recv().is_err(),
        "the failed command said something"
    );
    assert_eq!(world.store.last_seq(), before + 2);
    let chain = world.store.read(|reader| reader.verify_audit()).await;
    assert_eq!(chain.unwrap(), Ok(rows + 2));
    world.sound().await;
}

#[tokio::test]
async fn a_pair_is_both_or_neither() {
    let world = World::new().await;
    let runs = Arc::new(AtomicU32::new(0));
    let pair = (session("a"), ThenFail(session("b"), runs));
    assert!(world.store.write(pair).await.is_err());
    let found = world
        .store
        .read(|reader| reader.active_session("team", "a"))
        .await
        .unwrap();
    assert_eq!(found, None);
    assert_eq!(
        <(StartSession, ThenFail<StartSession>)>::DURABILITY,
        Durability::Durable
    );
}

/// Reads the class of the commit it is part of.
struct Synchronous<const DURABLE: bool>;

impl<const DURABLE: bool> WriteCommand for Synchronous<DURABLE> {
    type Output = i64;
    const DURABILITY: Durability = if DURABLE {
        Durability::Durable
    } else {
        Durability::Relaxed
    };

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<i64, StoreError> {
        tx.pragma_synchronous()
    }
}

#[tokio::test]
async fn the_strongest_command_of_a_group_decides_the_class() {
    let world = World::new().await;
    assert_eq!(world.ok(Synchronous::<false>).await, 1);
    assert_eq!(world.ok(Synchronous::<true>).await, 2);
    // While the writer stands still, both are queued and form one group.
    let store = world.store.clone();
    let (hold, held) = std::sync::mpsc::channel::<()>();
    let stopped = tokio::spawn(async move { store.with_writer(move |_| held.recv()).await });
    let (store, other) = (world.store.clone(), world.store.clone());
    let relaxed = tokio::spawn(async move { store.write(Synchronous::<false>).await });
    let durable = tokio::spawn(async move { other.write(Synchronous::<true>).await });
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    hold.send(()).unwrap();
    assert_eq!(relaxed.await.unwrap().unwrap(), 2);
    assert_eq!(durable.await.unwrap().unwrap(), 2);
    stopped.await.unwrap().unwrap().unwrap();
}

#[tokio::test]
async fn the_queue_is_bounded_and_a_dropped_caller_cancels_nothing() {
    use leverframe::store::writer::QUEUE_CAPACITY;
    let world = World::new().await;
    let store = world.store.clone();
    let (hold, held) = std::sync::mpsc::channel::<()>();
    let (entered, in_hook) = tokio::sync::oneshot::channel();
    let stopped = tokio::spawn(async move {
        store
            .with_writer(move |_| {
                entered.send(()).unwrap();
                held.recv()
            })
            .await
    });
    in_hook.await.unwrap();
    let mut callers = Vec::new();
    for n in 0..=QUEUE_CAPACITY {
        // Tokio's fairness budget would make a send wait before the queue is full.
        let mut future = Box::pin(tokio::task::coop::unconstrained(
            world.store.write(session(&format!("c{n}"))),
        ));
        assert!(futures_util::poll!(&mut future).is_pending());
        callers.push(future);
    }
    // All but the last are queued; their callers go away. The last never got in.
    drop(callers);
    hold.send(()).unwrap();
    stopped.await.unwrap().unwrap().unwrap();
    world.ok(session("end")).await;
    let count = world
        .store
        .read(|reader| reader.channel_row("team"))
        .await
        .unwrap()
        .active_sessions;
    assert_eq!(count as usize, QUEUE_CAPACITY + 1);
}

#[tokio::test]
async fn a_full_disk_is_said_and_recovered_from() {
    let world = World::new().await;
    world
        .store
        .with_writer(|conn| {
            let pages: i64 = conn
                .query_row("PRAGMA page_count", [], |row| row.get(0))
                .unwrap();
            conn.query_row(&format!("PRAGMA max_page_count = {pages}"), [], |_| Ok(()))
                .unwrap();
        })
        .await
        .unwrap();
    let big = || QueueNotice {
        notice: NewNotice {
            channel: "team".to_owned(),
            conversation: "chat".to_owned(),
            class: OutboxClass::Notice,
            text: "x".repeat(100_000),
            reply_to: None,
            continuation_id: None,
        },
    };
    let (full, small) = tokio::join!(
        world.store.write(big()),
        world.store.read(|reader| reader.max_seq())
    );
    assert!(matches!(full, Err(StoreError::Full(_))), "{full:?}");
    assert!(small.is_ok());
    assert!(world.store.problem().is_some());
    // A commit that changes nothing proves nothing about the disk.
    world.ok(Synchronous::<false>).await;
    world.ok(Synchronous::<true>).await;
    assert!(world.store.problem().is_some());
    let mut changes = world.store.problem_changes();
    changes.mark_unchanged();
    world
        .store
        .with_writer(|conn| {
            conn.query_row("PRAGMA max_page_count = 1073741823", [], |_| Ok(()))
                .unwrap();
        })
        .await
        .unwrap();
    world.ok(Probe).await;
    assert_eq!(world.store.problem(), None);
    assert!(changes.has_changed().unwrap(), "who waits for it is told");
    world.ok(big()).await;
    world.ok(turn("chat", None)).await;
    world.sound().await;
    crate::support::record::fault(
        "database-size-limit",
        "max_page_count lowered to the size of the database, then lifted",
        "the whole write fails, reads continue, and the problem remains until a durable change succeeds",
    );
}

#[tokio::test]
async fn a_reader_that_does_not_let_go_delays_nobody_and_the_log_shrinks_after_it() {
    let world = World::new().await;
    let log = world.dir.join("leverframe.db-wal");
    let size = || std::fs::metadata(&log).unwrap().len();
    let stuck = rusqlite::Connection::open(world.dir.join("leverframe.db")).unwrap();
    stuck.execute_batch("BEGIN").unwrap();
    let _: u64 = stuck
        .query_row("SELECT count(*) FROM events", [], |row| row.get(0))
        .unwrap();
    // More than the log may keep, which is copied and cut off as soon as nobody reads it.
    world
        .store
        .with_writer(|conn| {
            conn.execute_batch(
                "CREATE TABLE ballast (body BLOB); INSERT INTO ballast VALUES (zeroblob(70000000)); DROP TABLE ballast",
            )
            .unwrap();
        })
        .await
        .unwrap();
    // Waiting for the reader would take five seconds a commit.
    let commits = async {
        for n in 0..20 {
            world.ok(session(&format!("beside-{n}"))).await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(4), commits)
        .await
        .expect("a commit waited for the reader");
    assert!(size() > 64 * 1024 * 1024);
    stuck.execute_batch("COMMIT").unwrap();
    drop(stuck);
    let shrinks = async {
        let mut n = 0;
        while size() > 64 * 1024 * 1024 {
            n += 1;
            world.ok(session(&format!("after-{n}"))).await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(30), shrinks)
        .await
        .expect("the log stays as large as it was");
    world.sound().await;
}
