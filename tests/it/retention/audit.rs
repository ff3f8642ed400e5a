//! The audit can lose its oldest part, and only that, and it shows.

use leverframe::store::commands::set_channel_paused::SetChannelPaused;
use leverframe::store::commands::sweep_audit::PruneAudit;

use crate::retention::pieces::with_call;
use crate::retention::world::{DAY_MS, sound, sweep};
use crate::support::record::fact;
use crate::support::world::{World, by};

async fn note(world: &World, times: usize) {
    for n in 0..times {
        world
            .ok(SetChannelPaused {
                channel: "team".to_owned(),
                paused: n.is_multiple_of(2),
                by: by("anna"),
            })
            .await;
    }
}

async fn verdict(world: &World) -> Result<u64, String> {
    world
        .store
        .read(|reader| reader.verify_audit())
        .await
        .unwrap()
        .map_err(|broken| broken.reason)
}

/// Runs SQL with the guards of the audit taken away, as somebody with an editor would.
async fn tamper(world: &World, sql: &'static str) {
    world
        .store
        .with_writer(move |conn| {
            conn.execute_batch(
                "DROP TRIGGER audit_is_append_only_delete; DROP TRIGGER audit_is_append_only_update;",
            )
            .unwrap();
            conn.execute_batch(sql).unwrap();
        })
        .await
        .unwrap();
}

/// A year of audit, then some days that are kept.
async fn pruned() -> (World, u64) {
    let world = World::new().await;
    with_call(&world, "old").await;
    note(&world, 700).await;
    world.clock.advance_millis(390 * DAY_MS);
    with_call(&world, "new").await;
    note(&world, 20).await;
    world.clock.advance_millis(20 * DAY_MS);
    let report = sweep(&world).await;
    (world, report.audit_rows)
}

#[tokio::test]
async fn the_old_part_goes_and_the_rest_still_verifies() {
    let (world, gone) = pruned().await;
    assert!(gone > 700, "{gone} rows");
    let kept = world.count("SELECT count(*) FROM audit").await;
    assert_eq!(verdict(&world).await, Ok(kept));
    assert_eq!(
        world
            .count("SELECT count(*) FROM audit WHERE action = 'audit.pruned'")
            .await,
        1
    );
    sound(&world).await;

    // Not every six hours a new part.
    world.clock.advance_millis(DAY_MS / 4);
    assert_eq!(sweep(&world).await.audit_rows, 0);
    // The chain goes on in the next process, and over the next part.
    let world = world.restart().await;
    note(&world, 3).await;
    world.clock.advance_millis(401 * DAY_MS);
    note(&world, 3).await;
    assert!(sweep(&world).await.audit_rows > 20);
    assert!(verdict(&world).await.is_ok());
    assert_eq!(world.count("SELECT count(*) FROM audit_segments").await, 2);
    sound(&world).await;
    fact(
        "retention",
        "audit",
        &serde_json::json!({"pruned": gone, "kept": kept, "verifies": true}),
    );
}

#[tokio::test]
async fn a_death_between_record_and_removal_leaves_a_chain_that_verifies() {
    let world = World::new().await;
    note(&world, 50).await;
    let command = PruneAudit {
        from: 1,
        to: 30,
        by: by("anna"),
    };
    world.ok(command).await;
    let world = world.crash().await;
    assert!(
        world.count("SELECT count(*) FROM audit").await > 50,
        "nothing is removed yet"
    );
    assert!(verdict(&world).await.is_ok());
    assert!(
        sweep(&world).await.audit_rows >= 30,
        "the next sweep removes it"
    );
    assert!(verdict(&world).await.is_ok());
}

#[tokio::test]
async fn only_what_was_put_aside_can_be_removed() {
    let (world, _) = pruned().await;
    let refused = world
        .store
        .with_writer(|conn| {
            conn.execute(
                "DELETE FROM audit WHERE seq = (SELECT max(seq) FROM audit)",
                [],
            )
        })
        .await
        .unwrap();
    assert!(refused.is_err());
    let first = world.count("SELECT min(seq) FROM audit").await;
    let last = world.count("SELECT max(seq) FROM audit").await;
    for (from, to) in [
        (1, first),
        (first, last),
        (first + 1, last - 1),
        (first, first - 1),
    ] {
        let why = world
            .illegal(PruneAudit {
                from,
                to,
                by: by("anna"),
            })
            .await;
        assert!(why.contains("cannot be archived"), "{why}");
    }
}

#[tokio::test]
async fn tampering_is_seen_after_pruning() {
    for (sql, expected) in [
        ("UPDATE audit SET detail = '{}' WHERE seq = (SELECT max(seq) - 5 FROM audit)", "does not fit"),
        ("DELETE FROM audit WHERE seq = (SELECT max(seq) - 5 FROM audit)", "is missing"),
        // The oldest rows that are kept.
        ("DELETE FROM audit WHERE seq < (SELECT min(seq) + 3 FROM audit)", "is missing"),
        // Putting more aside without the engine.
        (
            "INSERT INTO audit_segments SELECT seq, 1, hash, at FROM audit WHERE seq = (SELECT max(seq) - 5 FROM audit);
             DELETE FROM audit WHERE seq <= (SELECT max(to_seq) FROM audit_segments)",
            "no row says that the engine did it",
        ),
    ] {
        let (world, _) = pruned().await;
        tamper(&world, sql).await;
        let seen = verdict(&world).await.expect_err(sql);
        assert!(seen.contains(expected), "{sql}: {seen}");
    }
}
