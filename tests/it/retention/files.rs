//! Files of artifacts: durable before their row, gone only after it, and never while somebody copies.

use std::path::{Path, PathBuf};

use leverframe::protocol::artifact::ArtifactRef;
use leverframe::protocol::enums::ToolCallState;
use leverframe::store::artifacts::TEXT;
use leverframe::store::check::check_artifacts;
use leverframe::store::commands::finish_tool::FinishTool;

use crate::retention::pieces::{settle, started};
use crate::retention::world::{DAY_MS, sound, sweep};
use crate::support::world::World;

/// A turn whose call ended with this artifact.
pub async fn turn_with(world: &World, conversation: &str, artifact: ArtifactRef) {
    let (id, call_id) = started(world, conversation).await;
    world
        .ok(FinishTool {
            call_id,
            epoch: world.epoch(),
            attempt: 1,
            state: ToolCallState::Succeeded,
            content: "a part".to_owned(),
            is_error: false,
            duration_ms: 1,
            artifact: Some(artifact),
            cached: None,
            resolve: None,
        })
        .await;
    world.finish(id, 1).await;
    settle(world).await;
}

fn files(world: &World) -> Vec<PathBuf> {
    fn walk(dir: &Path, into: &mut Vec<PathBuf>) {
        let Ok(entries) = std::fs::read_dir(dir) else {
            return;
        };
        for entry in entries {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, into);
            } else {
                into.push(path);
            }
        }
    }
    let mut found = Vec::new();
    walk(&world.dir.join("artifacts"), &mut found);
    found
}

#[tokio::test]
async fn a_file_without_a_row_is_kept_for_a_day_and_then_goes() {
    let world = World::new().await;
    let now = world.clock.now();
    let put = world
        .store
        .put_artifact(b"never named".to_vec(), TEXT, now)
        .await
        .unwrap();
    drop(put);
    let orphan = files(&world).remove(0);
    // What a writer that died left behind, and a file that is none of ours.
    let unfinished = orphan.with_extension("01ABC.new");
    std::fs::copy(&orphan, &unfinished).unwrap();
    // As old as the first, by the clock of this world.
    let at = std::fs::metadata(&orphan).unwrap().modified().unwrap();
    std::fs::File::open(&unfinished)
        .unwrap()
        .set_modified(at)
        .unwrap();
    let foreign = orphan.with_file_name("notes.txt");
    std::fs::write(&foreign, "not ours").unwrap();

    world.clock.advance_millis(DAY_MS - 60_000);
    assert_eq!(sweep(&world).await.artifact_files, 0);
    assert_eq!(files(&world).len(), 3, "young ones stay");
    world.clock.advance_millis(3600 * 1000);
    let report = sweep(&world).await;
    assert_eq!(report.artifact_files, 2);
    assert_eq!(files(&world), vec![foreign]);
}

#[tokio::test]
async fn an_artifact_goes_with_the_last_turn_that_needs_it() {
    let world = World::new().await;
    for conversation in ["a", "b"] {
        let now = world.clock.now();
        let put = world
            .store
            .put_artifact(b"whole".to_vec(), TEXT, now)
            .await
            .unwrap();
        turn_with(&world, conversation, put.artifact.clone()).await;
        world.clock.advance_millis(20 * DAY_MS);
    }
    assert_eq!(files(&world).len(), 1);
    // 40 days after the first, 20 after the second.
    let report = sweep(&world).await;
    assert_eq!((report.continuations, report.artifacts), (1, 0));
    assert_eq!(files(&world).len(), 1);
    sound(&world).await;

    world.clock.advance_millis(20 * DAY_MS);
    let (_, last) = world.running("c").await;
    world.finish(last, 1).await;
    settle(&world).await;
    let guard = world.store.artifact_guard().await;
    let report = sweep(&world).await;
    assert_eq!((report.continuations, report.artifacts), (1, 1));
    assert_eq!(files(&world).len(), 1, "somebody copies: the file stays");
    // Whoever stores another one meanwhile does not wait.
    let now = world.clock.now();
    let other = world
        .store
        .put_artifact(b"other".to_vec(), TEXT, now)
        .await
        .unwrap();
    drop((guard, other));
    let report = sweep(&world).await;
    assert_eq!(report.artifact_files, 1);
    assert_eq!(files(&world).len(), 1, "only the young one is left");
    assert_eq!(world.count("SELECT count(*) FROM artifacts").await, 0);
    sound(&world).await;
}

#[tokio::test]
async fn a_missing_or_changed_file_is_found() {
    let world = World::new().await;
    let now = world.clock.now();
    let put = world
        .store
        .put_artifact(b"whole".to_vec(), TEXT, now)
        .await
        .unwrap();
    turn_with(&world, "a", put.artifact.clone()).await;
    sound(&world).await;
    let file = files(&world).remove(0);
    let look = || async {
        let dir = world.dir.clone();
        let found = world
            .store
            .read(move |reader| check_artifacts(reader, &dir))
            .await
            .unwrap();
        found
            .iter()
            .map(|one| format!("{} {}", one.invariant, one.detail))
            .collect::<Vec<_>>()
            .concat()
    };
    std::fs::write(&file, "WHOLE").unwrap();
    assert!(look().await.starts_with("I25") && look().await.contains("another content"));
    let error = world.store.artifact(put.artifact.hash).await.unwrap_err();
    assert!(
        error.to_string().contains("does not have the content"),
        "{error}"
    );
    std::fs::write(&file, "whole and more").unwrap();
    assert!(
        look().await.contains("14 bytes, the row says 5"),
        "{}",
        look().await
    );
    std::fs::remove_file(&file).unwrap();
    assert!(look().await.contains("cannot be read"));
    // The same content again repairs it.
    drop(
        world
            .store
            .put_artifact(b"whole".to_vec(), TEXT, now)
            .await
            .unwrap(),
    );
    assert_eq!(look().await, "");
}

#[tokio::test]
async fn a_crash_at_any_time_leaves_no_row_without_its_file() {
    let mut world = World::new().await;
    for n in 0..4 {
        let now = world.clock.now();
        let content = format!("whole {n}").into_bytes();
        let put = world.store.put_artifact(content, TEXT, now).await.unwrap();
        if n % 2 == 0 {
            turn_with(&world, &format!("c{n}"), put.artifact.clone()).await;
        }
        drop(put);
        world = world.crash().await;
        sound(&world).await;
    }
    assert_eq!(files(&world).len(), 4);
    assert_eq!(world.count("SELECT count(*) FROM artifacts").await, 2);
}
