//! One piece at a time: at most 500 rows, whole turns, and what a sweep counts is what goes.

use leverframe::protocol::channel::SendIdempotency;
use leverframe::protocol::enums::{DecisionKind, Effect};
use leverframe::protocol::ids::{ContinuationId, ToolCallId};
use leverframe::store::commands::end_session::EndSession;
use leverframe::store::commands::remove::{CHUNK, Remove};
use leverframe::store::commands::start_tool::StartToolOutcome;
use leverframe::store::commands::sweep_events::SweepEvents;
use leverframe::store::commands::sweep_history::OldHistory;
use leverframe::store::input::NewCallOutcome;
use leverframe::store::queries::sweep::SweepRules;

use crate::retention::world::{DAY_MS, all_rows, sound, sweep, try_sweep};
use crate::support::record::fact;
use crate::support::world::{World, by, gated, turn};

/// A turn whose call was approved and ran, then its answer is sent or not.
pub async fn with_call(world: &World, conversation: &str) {
    let (id, call_id) = started(world, conversation).await;
    world.succeed(call_id, 1).await;
    world.finish(id, 1).await;
    settle(world).await;
}

/// A turn whose call was approved and runs.
pub async fn started(world: &World, conversation: &str) -> (ContinuationId, ToolCallId) {
    let (_, id) = world.running(conversation).await;
    let (mut call, approval) = gated(Effect::NonIdempotent);
    if let NewCallOutcome::Ask(question) = &mut call.outcome {
        question.expires_at = None;
    }
    let (call_id, digest) = (call.id, call.digest.clone());
    world.propose(id, vec![call]).await;
    let decide = world
        .decide_command(approval, DecisionKind::Approve, "anna")
        .await;
    world.ok(decide).await;
    let outcome = world.start(call_id, &digest).await;
    assert_eq!(outcome, StartToolOutcome::Started { attempt: 1 });
    (id, call_id)
}

/// Everything that waits to be sent is sent.
pub async fn settle(world: &World) {
    use leverframe::store::commands::begin_send::BeginSend;
    use leverframe::store::commands::end_send::{EndSend, SendOutcome};
    use leverframe::store::queries::outbox::NextOutbox;
    loop {
        let now = world.clock.now();
        let next = world
            .store
            .read(move |reader| reader.next_outbox("team", now))
            .await
            .unwrap();
        let NextOutbox::Row(row) = next else { return };
        let epoch = world.epoch();
        let outbox_id = row.id;
        world
            .ok(BeginSend {
                outbox_id,
                epoch,
                idempotency: SendIdempotency::None,
            })
            .await;
        world
            .ok(EndSend {
                outbox_id,
                epoch,
                outcome: SendOutcome::Sent {
                    refs: vec![row.id.to_string()],
                },
                resend: None,
            })
            .await;
    }
}

fn rules(world: &World) -> SweepRules {
    leverframe::engine::sweeper::rules(&world.engine(""))
}

#[tokio::test]
async fn a_piece_removes_at_most_500_rows_and_only_whole_turns() {
    let world = World::new().await;
    for n in 0..40 {
        with_call(&world, &format!("c{n}")).await;
    }
    world.clock.advance_millis(60 * DAY_MS);
    let rules = rules(&world);
    let mut old = world.store.old_turns(rules, usize::MAX).await.unwrap();
    assert_eq!(old.turns.len(), 39, "all but the newest");
    let (mut pieces, mut largest) = (0, 0);
    while !old.turns.is_empty() {
        let before = all_rows(&world).await;
        let swept = world
            .ok(Remove {
                what: OldHistory {
                    rules,
                    continuations_to: old.continuations_to,
                    outbox_to: old.outbox_to,
                },
                keys: old.turns.clone(),
            })
            .await;
        let gone = before - all_rows(&world).await;
        assert_eq!(gone, swept.rows, "it counts what it removes");
        assert!(gone <= CHUNK, "{gone} rows in one piece");
        assert!(swept.taken > 0 && swept.removed == swept.taken as u64);
        old.turns.drain(..swept.taken);
        (pieces, largest) = (pieces + 1, largest.max(gone));
        sound(&world).await;
    }
    assert!(pieces > 1, "one piece proves nothing about the limit");
    assert_eq!(world.count("SELECT count(*) FROM continuations").await, 1);
    for table in [
        "SELECT count(*) FROM steps",
        "SELECT count(*) FROM tool_calls",
        "SELECT count(*) FROM approvals",
        "SELECT count(*) FROM inbox",
        "SELECT count(*) FROM model_attempts",
        "SELECT count(*) FROM card_tokens",
    ] {
        assert!(world.count(table).await <= 5, "{table}");
    }
    let events = world
        .ok(SweepEvents {
            to: world.store.last_seq(),
        })
        .await;
    assert!(events.rows <= CHUNK && events.rows > 0, "{events:?}");
    fact(
        "retention",
        "pieces",
        &serde_json::json!({"turns": 39, "pieces": pieces, "largest": largest, "limit": CHUNK}),
    );
}

#[tokio::test]
async fn the_preview_counts_what_then_goes_and_changes_nothing() {
    let world = World::new().await;
    for n in 0..5 {
        with_call(&world, &format!("c{n}")).await;
    }
    let ended = world.ingest("ended").await.session_id.unwrap();
    world
        .ok(EndSession {
            session_id: ended,
            reason: "done".to_owned(),
            by: by("anna"),
        })
        .await;
    settle(&world).await;
    world.clock.advance_millis(60 * DAY_MS);
    // What is used today keeps the newest places.
    with_call(&world, "today").await;
    let before = all_rows(&world).await;
    let preview = try_sweep(&world, true).await.unwrap();
    assert_eq!(all_rows(&world).await, before, "a preview changes nothing");
    let done = sweep(&world).await;
    assert!(preview.preview && !done.preview);
    assert_eq!(preview.continuations, 6);
    assert_eq!(preview.sessions_expired, 5);
    assert_eq!(preview.sessions, 1, "the one that was ended long ago");
    assert!(preview.events > 50, "{preview:?}");
    let counts = |report: &leverframe::protocol::snapshot::SweepReport| {
        (
            report.events,
            report.continuations,
            report.keys,
            report.approvals,
            report.deliveries,
            report.sessions_expired,
            report.sessions,
            report.audit_rows,
            report.compactions,
        )
    };
    assert_eq!(counts(&preview), counts(&done));
    sound(&world).await;
    // The expired sessions go when they have been over for long enough.
    world.clock.advance_millis(31 * DAY_MS);
    assert_eq!(sweep(&world).await.sessions, 5);
    sound(&world).await;
}

#[tokio::test]
async fn the_window_of_a_session_in_use_stays_however_old() {
    let world = World::new().await;
    for _ in 0..20 {
        let (_, id) = world.running("busy").await;
        world.finish(id, 1).await;
    }
    settle(&world).await;
    world.clock.advance_millis(60 * DAY_MS);
    // A message of today: the session is in use.
    world.ingest("busy").await;
    let done = sweep(&world).await;
    assert_eq!(
        done.continuations, 14,
        "20 less the 6 that the next turn is told"
    );
    assert_eq!(done.sessions_expired, 0);
    sound(&world).await;
}

#[tokio::test]
async fn what_is_repeated_stays_as_long_as_what_repeats_it() {
    let world = World::new().await;
    let (_, first) = world.running("a").await;
    world.finish(first, 1).await;
    settle(&world).await;
    world.clock.advance_millis(60 * DAY_MS);
    let mut again = turn("b", None);
    again.retry_of = Some(first);
    let again = world.ok(again).await.session_id.unwrap();
    let claimed = world.claim(again).await.unwrap();
    world.finish(claimed, 1).await;
    settle(&world).await;
    assert_eq!(sweep(&world).await.continuations, 0);
    world.clock.advance_millis(60 * DAY_MS);
    let (_, last) = world.running("c").await;
    world.finish(last, 1).await;
    settle(&world).await;
    assert_eq!(
        sweep(&world).await.continuations,
        2,
        "both, the newer one first"
    );
    sound(&world).await;
}

#[tokio::test]
async fn a_paused_session_does_not_expire_and_a_quarantined_store_is_not_swept() {
    use leverframe::store::commands::update_session::UpdateSession;
    let world = World::new().await;
    let session_id = world.ingest("a").await.session_id.unwrap();
    let claimed = world.claim(session_id).await.unwrap();
    world.finish(claimed, 1).await;
    settle(&world).await;
    world
        .ok(UpdateSession {
            session_id,
            title: None,
            model: None,
            paused: Some(true),
            preferences: None,
            by: by("anna"),
        })
        .await;
    world.clock.advance_millis(20 * DAY_MS);
    assert_eq!(sweep(&world).await.sessions_expired, 0);

    world
        .store
        .with_writer(|conn| {
            conn.execute("INSERT INTO meta VALUES ('quarantine', '1')", [])
                .unwrap()
        })
        .await
        .unwrap();
    let refused = try_sweep(&world, false).await.unwrap_err();
    assert!(refused.detail.contains("restored copy"), "{refused:?}");
}
