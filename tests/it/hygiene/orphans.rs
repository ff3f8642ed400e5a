//! What nothing belongs to any more: embeddings, summaries, entries of the index; and the caps of many rows.

use leverframe::protocol::hygiene::HygieneReport;

use crate::hygiene::world::{engine, everything, insert, preview, tidy, tidy_anyway};
use crate::support::world::World;

fn counted(report: &HygieneReport, what: &str) -> (u64, u64) {
    let groups = report.groups.iter().filter(|group| group.what == what);
    groups.fold((0, 0), |(count, bytes), group| {
        assert_eq!(group.reason.to_string(), "orphan");
        (count + group.count, bytes + group.bytes)
    })
}

#[tokio::test]
async fn embeddings_without_a_memory_go() {
    let world = World::new().await;
    insert(&world, 3, |_| 1).await;
    world.sql("INSERT INTO memory_vectors SELECT id, 'local/e', 3, digest, x'0000803f0000000000000000', 1 FROM memories;
        INSERT INTO memory_vectors VALUES (zeroblob(16), 'local/e', 2, zeroblob(32), zeroblob(8), 1);
        UPDATE memory_vectors SET digest = zeroblob(32) WHERE memory_id = (SELECT max(id) FROM memories)",
    )
    .await;
    let engine = engine(&world, "");
    let said = preview(&engine).await;
    // One of a text that its memory does not have.
    assert_eq!(counted(&said, "vectors"), (2, 8 + 12));
    let run = tidy(&engine).await.unwrap();
    assert_eq!(run.report, said);
    assert_eq!(world.count("SELECT count(*) FROM memory_vectors").await, 2);
    assert_eq!(counted(&preview(&engine).await, "vectors"), (0, 0));
}

#[tokio::test]
async fn summaries_of_sessions_that_are_gone_go() {
    let world = World::new().await;
    let (session, turn) = world.running("chat").await;
    world.finish(turn, 1).await;
    let id = session.to_bytes();
    world
        .store
        .with_writer(move |conn| {
            conn.execute("UPDATE continuations SET archived_at = ended_at", [])
                .unwrap();
            conn.pragma_update(None, "foreign_keys", false).unwrap();
            for session in [id, [3; 16]] {
                conn.execute(
                    "INSERT INTO summaries (session_id, version, text, covers_to, turns, model, at)
                     VALUES (?1, 1, 'what was said', 1, 1, 'local/m', 1)",
                    [session],
                )
                .unwrap();
            }
            conn.pragma_update(None, "foreign_keys", true).unwrap();
            conn.execute(
                "INSERT INTO compactions (id, session_id, state, epoch, model, turns, tokens_before, started_at, ended_at)
                 VALUES (zeroblob(16), ?1, 'done', 1, 'local/m', 1, 5, 1, 2)",
                [id],
            )
            .unwrap();
        })
        .await
        .unwrap();
    let engine = engine(&world, "");
    let said = preview(&engine).await;
    assert_eq!(counted(&said, "summaries"), (1, 13));
    assert_eq!(tidy(&engine).await.unwrap().report, said);
    assert_eq!(world.count("SELECT count(*) FROM summaries").await, 1);
    world.sound().await;
}

#[tokio::test]
async fn the_index_is_made_to_agree_with_the_memories() {
    for (harm, rows) in [
        // What is missing is added.
        ("INSERT INTO memory_fts (memory_fts, rowid, text) SELECT 'delete', position, text FROM memories WHERE position IN (2, 4)", 2),
        // What is too much, or says other words, is only found by building it anew.
        ("INSERT INTO memory_fts (rowid, text) VALUES (99, 'gamma')", 5),
        ("INSERT INTO memory_fts (memory_fts, rowid, text) SELECT 'delete', position, text FROM memories WHERE position = 3;
          INSERT INTO memory_fts (rowid, text) VALUES (3, 'delta')", 5),
    ] {
        let world = World::new().await;
        insert(&world, 5, |_| 1).await;
        let before = everything(&world).await;
        world.sql(harm).await;
        assert_ne!(everything(&world).await.found, before.found, "{harm}");
        let engine = engine(&world, "");
        let said = preview(&engine).await;
        assert_eq!(counted(&said, "index"), (rows, 0), "{harm}");
        assert_eq!(tidy(&engine).await.unwrap().report, said, "{harm}");
        assert_eq!(everything(&world).await, before, "{harm}");
        assert_eq!(counted(&preview(&engine).await, "index"), (0, 0), "{harm}");
    }
}

#[tokio::test]
async fn many_memories_go_in_pieces_and_the_report_names_the_first() {
    let world = World::new().await;
    insert(&world, 4100, |_| 1).await;
    let engine = engine(&world, "max_memories = 100\n");
    let said = preview(&engine).await;
    assert_eq!((said.archived, said.memories.len()), (4000, 500));
    assert!(
        said.too_much.is_empty(),
        "a cap is no sign of a wrong clock"
    );
    let run = tidy(&engine).await.unwrap();
    assert_eq!(run.report, said);
    // Equal in all else, the oldest go.
    assert_eq!(
        world
            .count("SELECT max(position) FROM memories WHERE state = 'archived'")
            .await,
        4000
    );
    world.sound().await;
}

#[tokio::test]
async fn what_a_session_was_remembered_by_goes_with_it() {
    let world = World::new().await;
    let (session, done) = world.running("chat").await;
    world.finish(done, 1).await;
    let id = session.to_bytes();
    world
        .store
        .with_writer(move |conn| {
            conn.execute("INSERT INTO summaries (session_id, version, text, covers_to, turns, model, at) VALUES (?1, 1, 'x', 1, 1, 'local/m', 1)", [id]).unwrap();
            conn.execute(
                "INSERT INTO compactions (id, session_id, state, epoch, model, turns, tokens_before, started_at, ended_at)
                 VALUES (zeroblob(16), ?1, 'done', 1, 'local/m', 1, 5, 1, 2)",
                [id],
            )
            .unwrap();
            // As if its turns were swept already.
            conn.execute_batch(
                "PRAGMA foreign_keys = OFF; DELETE FROM outbox; DELETE FROM steps; DELETE FROM model_attempts;
                 DELETE FROM inbox; DELETE FROM continuations; DELETE FROM events;
                 UPDATE sessions SET state = 'ended', updated_at = 1; PRAGMA foreign_keys = ON;",
            )
            .unwrap();
        })
        .await
        .unwrap();
    let swept = crate::retention::world::sweep(&world).await;
    assert_eq!(swept.sessions, 1);
    assert_eq!(
        world
            .count("SELECT (SELECT count(*) FROM summaries) + (SELECT count(*) FROM compactions)")
            .await,
        0
    );
    assert_eq!(
        world
            .count("SELECT count(*) FROM pragma_foreign_key_check")
            .await,
        0
    );
}

#[tokio::test]
async fn a_run_gives_space_back() {
    let world = World::new().await;
    insert(&world, 6000, |_| 60).await;
    let engine = engine(&world, "undo_days = 1\n");
    tidy_anyway(&engine).await;
    world
        .clock
        .advance_millis(2 * crate::hygiene::world::DAY_MS);
    let before = world.count("SELECT * FROM pragma_page_count").await;
    let run = tidy(&engine).await.unwrap();
    assert_eq!(run.report.removed, 6000);
    let after = world.count("SELECT * FROM pragma_page_count").await;
    assert!(after < before, "{before} to {after}");
    // The end of the run and the sizes of the day are written after it.
    let freed = (before - after) * 4096;
    assert!(
        run.freed_bytes >= freed && run.freed_bytes - freed < 65_536,
        "{} and {freed}",
        run.freed_bytes
    );
}
