//! Taking a data directory, and refusing one that is not ours to take.

use leverframe::clock::Clock;
use leverframe::protocol::enums::ContinuationState;
use leverframe::store::commands::release_quarantine::ReleaseQuarantine;
use leverframe::store::error::StoreError;
use leverframe::store::{EventsAfter, Store};

use crate::support::world::{START, World, by, options};

fn refusal(dir: &std::path::Path) -> StoreError {
    match Store::open(options(dir, &Clock::manual(START))) {
        Ok(_) => panic!("opened"),
        Err(error) => error,
    }
}

#[tokio::test]
async fn a_second_opener_is_refused_and_told_who() {
    let world = World::new().await;
    let StoreError::Locked { holder } = refusal(&world.dir) else {
        panic!("another refusal");
    };
    assert!(holder.contains(&std::process::id().to_string()), "{holder}");
    let dir = world.dir.clone();
    let store = world.store.clone();
    world.store.clone().close().await;
    assert!(matches!(
        store.write(crate::support::world::turn("chat", None)).await,
        Err(StoreError::Closed)
    ));
    let opened = Store::open(options(&dir, &Clock::manual(START))).unwrap();
    assert!(opened.recovery.clean && opened.recovery.epoch == 2);
}

#[tokio::test]
async fn foreign_and_newer_files_are_refused_untouched() {
    for (sql, newer) in [
        ("CREATE TABLE theirs (a)", false),
        (
            "PRAGMA application_id = 0x4c465231; CREATE TABLE ours (a); PRAGMA user_version = 99",
            true,
        ),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("leverframe.db");
        let conn = rusqlite::Connection::open(&path).unwrap();
        conn.execute_batch(sql).unwrap();
        drop(conn);
        let before = std::fs::read(&path).unwrap();
        let error = refusal(dir.path());
        if newer {
            assert!(
                matches!(
                    error,
                    StoreError::Newer {
                        found: 99,
                        supported: leverframe::store::schema::SCHEMA_VERSION
                    }
                ),
                "{error}"
            );
        } else {
            assert!(matches!(error, StoreError::Foreign(_)), "{error}");
        }
        assert_eq!(std::fs::read(&path).unwrap(), before);
    }
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("leverframe.db"), "not a database, but long enough to be read as a header, which it is not; one hundred bytes and more").unwrap();
    assert!(matches!(refusal(dir.path()), StoreError::Foreign(_)));
}

#[tokio::test]
async fn a_restored_copy_starts_in_quarantine() {
    let world = World::new().await;
    let (session, id) = world.running("chat").await;
    // A copy made while the first process ran, put back after it had gone on.
    let copy = tempfile::tempdir().unwrap();
    let target = copy.path().join("backup.db");
    let text = target.to_string_lossy().into_owned();
    world
        .store
        .with_writer(move |conn| conn.execute("VACUUM INTO ?1", [text]).unwrap())
        .await
        .unwrap();
    world.finish(id, 1).await;
    let dir = world.dir.clone();
    world.store.clone().close().await;
    std::fs::copy(&target, dir.join("leverframe.db")).unwrap();
    let opened = Store::open(options(&dir, &world.clock)).unwrap();
    assert!(opened.recovery.quarantine);
    let again = world.restore_handle(opened);
    let row = again
        .store
        .read(move |reader| reader.continuation(id))
        .await
        .unwrap();
    assert_eq!(row.state, ContinuationState::Interrupted);
    again.ingest("chat").await;
    assert_eq!(again.claim(session).await, None);
    again.ok(ReleaseQuarantine { by: by("anna") }).await;
    assert!(again.claim(session).await.is_some());
    again.sound().await;
}

/// An epoch in which nothing happened is no sign of a restored copy (it left no event, but a side-car).
#[tokio::test]
async fn an_uneventful_run_is_not_taken_for_a_restored_copy() {
    let world = World::new().await;
    world.ingest("chat").await;
    let dir = world.dir.clone();
    world.store.clone().close().await;
    for _ in 0..2 {
        let opened = Store::open(options(&dir, &world.clock)).unwrap();
        assert!(!opened.recovery.quarantine);
        opened.store.close().await;
    }
}

#[tokio::test]
async fn a_database_without_its_side_car_is_quarantined() {
    let world = World::new().await;
    let dir = world.dir.clone();
    world.store.clone().close().await;
    std::fs::remove_file(dir.join("epoch")).unwrap();
    let opened = Store::open(options(&dir, &world.clock)).unwrap();
    assert!(opened.recovery.quarantine);
}

#[tokio::test]
async fn a_cursor_that_is_not_kept_is_reset() {
    let world = World::new().await;
    world.ingest("chat").await;
    let last = world.store.last_seq();
    assert_eq!(
        world.store.events_after(last, 10).await.unwrap(),
        EventsAfter::Events(Vec::new())
    );
    assert_eq!(
        world.store.events_after(last + 1, 10).await.unwrap(),
        EventsAfter::Reset
    );
    let world = world.crash().await;
    // A number of the earlier epoch that a power loss could have taken.
    assert_eq!(
        world.store.events_after(last + 1, 10).await.unwrap(),
        EventsAfter::Reset
    );
    assert!(matches!(
        world.store.events_after(last, 10).await.unwrap(),
        EventsAfter::Events(_)
    ));
}
