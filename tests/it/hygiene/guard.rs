//! What a run refuses: too much at once, the wrong time, two at a time; and when it runs by itself.

use leverframe::engine::hygiene;
use leverframe::protocol::enums::{HygieneState, MemoryScope};
use leverframe::protocol::event::EventBody;
use leverframe::protocol::hygiene::HygieneReport;
use leverframe::protocol::problem::ProblemKind;
use leverframe::protocol::request::{Answer, GetEngine, Query};
use leverframe::protocol::snapshot::PageRequest;
use leverframe::store::commands::set_emergency_stop::SetEmergencyStop;
use leverframe::store::input::ActorRef;

use crate::hygiene::world::{
    DAY_MS, engine, everything, insert, preview, status, tidy, tidy_anyway, undo,
};
use crate::support::world::{START, World};

const ARCHIVED: &str = "SELECT count(*) FROM memories WHERE state = 'archived'";

async fn problems(engine: &leverframe::engine::core::Engine) -> Vec<String> {
    match engine.answer(Query::GetEngine(GetEngine {})).await {
        Ok(Answer::GetEngine(status)) => status.problems,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_clock_that_jumps_years_ahead_wipes_nothing_by_itself() {
    let world = World::new().await;
    insert(&world, 150, |_| 0).await;
    let engine = engine(&world, "");
    let run = hygiene::run_now(&engine, ActorRef::engine(), false)
        .await
        .unwrap();
    assert_eq!((run.state, run.report.archived), (HygieneState::Done, 0));
    let before = everything(&world).await;

    world.clock.advance_millis(5 * 365 * DAY_MS);
    let said = preview(&engine).await;
    assert_eq!(said.archived, 150);
    let [excess] = said.too_much[..] else {
        panic!("{said:?}")
    };
    assert_eq!(
        (excess.scope, excess.count, excess.of),
        (MemoryScope::Channel, 150, 150)
    );

    let run = hygiene::run_now(&engine, ActorRef::engine(), false)
        .await
        .unwrap();
    assert_eq!((run.state, run.report.archived), (HygieneState::Stopped, 0));
    assert!(
        run.report.note.as_ref().unwrap().contains("150 of the 150"),
        "{run:?}"
    );
    assert_eq!(everything(&world).await, before);
    let told = problems(&engine).await;
    assert!(
        told.iter()
            .any(|text| text.contains("hygiene waits for a person")),
        "{told:?}"
    );
    // It is said once, and not tried again every ten minutes.
    assert!(status(&engine).await.next_at.unwrap() > world.clock.now());

    // A person is told too, nothing is noted, and a person who knows better goes on.
    let refused = tidy(&engine).await.unwrap_err();
    assert_eq!(refused.kind, ProblemKind::Conflict);
    assert!(refused.hint.unwrap().contains("--yes"));
    assert_eq!(world.count("SELECT count(*) FROM hygiene_runs").await, 2);
    let run = tidy_anyway(&engine).await;
    assert_eq!((run.state, run.report.archived), (HygieneState::Done, 150));
    assert_eq!(problems(&engine).await, Vec::<String>::new());
    assert_eq!(undo(&engine, run.id).await.unwrap().restored, 150);
    assert_eq!(everything(&world).await, before);
    world.sound().await;
}

#[tokio::test]
async fn a_clock_that_jumps_back_wipes_nothing_and_runs_go_on() {
    let world = World::new().await;
    insert(&world, 120, |n| n % 40).await;
    let engine = engine(&world, "");
    tidy(&engine).await.unwrap();
    let before = everything(&world).await;
    // The store stamps nothing earlier than what it has; the engine's clock does go back.
    world.clock.advance_millis(-10 * 365 * DAY_MS);
    assert_eq!(preview(&engine).await.archived, 0);
    assert_eq!(
        status(&engine).await.next_at,
        Some(world.clock.now()),
        "it is due, not in ten years"
    );
    let run = hygiene::run_now(&engine, ActorRef::engine(), false)
        .await
        .unwrap();
    assert_eq!(run.report.archived + run.report.removed, 0);
    assert_eq!(everything(&world).await, before);
    world.sound().await;
}

#[tokio::test]
async fn half_of_a_scope_and_a_small_scope_may_go_at_once() {
    for (all, old, goes) in [(100, 50, true), (100, 51, false), (99, 99, true)] {
        let world = World::new().await;
        insert(&world, all, move |n| if n < old { 60 } else { 1 }).await;
        let engine = engine(&world, "");
        let run = hygiene::run_now(&engine, ActorRef::engine(), false)
            .await
            .unwrap();
        assert_eq!(run.state == HygieneState::Done, goes, "{all} {old}");
        let expected = if goes { old as u64 } else { 0 };
        assert_eq!(world.count(ARCHIVED).await, expected, "{all} {old}");
    }
}

#[tokio::test]
async fn a_run_is_taken_back_once_and_within_its_days() {
    let world = World::new().await;
    insert(&world, 10, |n| n * 10).await;
    let engine = engine(&world, "undo_days = 3\n");
    let first = tidy(&engine).await.unwrap();
    assert_eq!(first.report.archived, 6);
    undo(&engine, first.id).await.unwrap();
    let twice = undo(&engine, first.id).await.unwrap_err();
    assert_eq!(twice.kind, ProblemKind::Conflict);

    let second = tidy(&engine).await.unwrap();
    world.clock.advance_millis(3 * DAY_MS - 1);
    assert_eq!(
        preview(&engine).await.removed,
        0,
        "it can still be taken back"
    );
    world.clock.advance_millis(1);
    let late = undo(&engine, second.id).await.unwrap_err();
    assert_eq!(late.kind, ProblemKind::Gone);
    assert_eq!(preview(&engine).await.removed, 6);
    let third = tidy(&engine).await.unwrap();
    assert_eq!(third.report.removed, 6);
    assert_eq!(world.count(ARCHIVED).await, third.report.archived);
    let id = second.id;
    let second = world
        .store
        .read(move |reader| reader.hygiene_run(id))
        .await
        .unwrap();
    assert_eq!(second.state, HygieneState::Removed);
    let gone = undo(&engine, second.id).await.unwrap_err();
    assert_eq!(gone.kind, ProblemKind::Gone);
    let nobody = undo(&engine, leverframe::protocol::ids::HygieneRunId::generate()).await;
    assert_eq!(nobody.unwrap_err().kind, ProblemKind::NotFound);
    world.sound().await;
    // Three runs and one undo of a person.
    let audited = "SELECT count(*) FROM audit WHERE action LIKE 'hygiene.%' AND actor = 'anna'";
    assert_eq!(world.count(audited).await, 4);
}

#[tokio::test]
async fn each_run_and_undo_is_told_and_the_sizes_are_noted() {
    let world = World::new().await;
    insert(&world, 10, |n| n * 10).await;
    let engine = engine(&world, "");
    let mut events = world.store.subscribe();
    let run = tidy(&engine).await.unwrap();
    undo(&engine, run.id).await.unwrap();
    let mut told = Vec::new();
    while let Ok(event) = events.try_recv() {
        if let EventBody::HygieneFinished { run } = &event.body {
            told.push((run.state, run.report.archived, run.restored));
            assert!(run.report.memories.is_empty(), "ids are read from the run");
        }
    }
    assert_eq!(
        told,
        [(HygieneState::Done, 6, 0), (HygieneState::Undone, 6, 6)]
    );
    world.clock.advance_millis(DAY_MS);
    tidy(&engine).await.unwrap();
    let status = status(&engine).await;
    let days: Vec<(u64, u64)> = status
        .growth
        .iter()
        .map(|day| (day.memories, day.archived))
        .collect();
    assert_eq!(
        days,
        [(10, 0), (3, 7)],
        "one row a day, the newest sizes in it"
    );
    assert_eq!((status.sizes.memories, status.sizes.archived), (3, 7));
    assert!(status.sizes.database_bytes > 0 && status.sizes.log_bytes > 0);
    assert!(status.growth[0].day < status.growth[1].day);
}

#[tokio::test]
async fn nothing_runs_by_itself_while_held_and_it_runs_when_released() {
    let world = World::new().await;
    insert(&world, 20, |n| (19 - n) * 10).await;
    let engine = engine(&world, "");
    let held = leverframe::engine::emergency::ActiveStop {
        since: START,
        reason: "stop".to_owned(),
    };
    engine.emergency.hold(held);
    let task = tokio::spawn(hygiene::run(engine.clone()));
    // It has looked: the sizes of the day are noted even now.
    let deadline = std::time::Instant::now() + crate::support::daemon::DEADLINE;
    while world.count("SELECT count(*) FROM growth").await == 0 {
        assert!(std::time::Instant::now() < deadline);
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    assert_eq!(world.count("SELECT count(*) FROM hygiene_runs").await, 0);
    assert!(engine.emergency.release(engine.emergency.presses()));
    while world
        .count("SELECT count(*) FROM hygiene_runs WHERE state = 'done'")
        .await
        == 0
    {
        assert!(std::time::Instant::now() < deadline);
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    assert_eq!(world.count(ARCHIVED).await, 16);
    engine.shutdown.cancel();
    task.await.unwrap();
}

#[tokio::test]
async fn a_quarantined_store_is_left_alone() {
    let world = World::new().await;
    insert(&world, 20, |n| n * 10).await;
    let engine = engine(&world, "");
    engine.emergency.set_quarantine(true);
    assert_eq!(
        tidy(&engine).await.unwrap_err().kind,
        ProblemKind::NotOffered
    );
    let task = tokio::spawn(hygiene::run(engine.clone()));
    // Whatever is queued behind it has seen what it did.
    world
        .ok(SetEmergencyStop {
            held: None,
            by: crate::support::world::by("anna"),
            drop_full: false,
        })
        .await;
    assert_eq!(preview(&engine).await.archived, 16, "looking is allowed");
    engine.shutdown.cancel();
    task.await.unwrap();
    assert_eq!(world.count("SELECT count(*) FROM hygiene_runs").await, 0);
    assert_eq!(world.count("SELECT count(*) FROM growth").await, 0);
}

#[tokio::test]
async fn a_run_that_is_stopped_in_the_middle_says_what_it_did() {
    let world = World::new().await;
    insert(&world, 3000, |_| 50).await;
    let engine = engine(&world, "");
    let stopped = engine.clone();
    let running = tokio::spawn(async move { tidy_or_not(&stopped).await });
    let deadline = std::time::Instant::now() + crate::support::daemon::DEADLINE;
    while world.count(ARCHIVED).await == 0 {
        assert!(std::time::Instant::now() < deadline);
    }
    engine.shutdown.cancel();
    running.await.unwrap();
    let run = world
        .store
        .read(|reader| reader.hygiene_runs(&PageRequest::default()))
        .await
        .unwrap()
        .items
        .remove(0);
    assert_eq!(run.state, HygieneState::Stopped, "{run:?}");
    let archived = world.count(ARCHIVED).await;
    assert_eq!(run.report.archived, archived);
    assert!(archived > 0 && archived < 3000, "{archived}");
    world.sound().await;
    // The rest is still due.
    let times = world
        .store
        .read(|reader| reader.hygiene_times())
        .await
        .unwrap();
    assert_eq!(times.0, None);
    let next = crate::hygiene::world::engine(&world, "");
    assert_eq!(tidy_anyway(&next).await.report.archived, 3000 - archived);
    assert_eq!(undo(&next, run.id).await.unwrap().restored, archived);
}

async fn tidy_or_not(engine: &leverframe::engine::core::Engine) {
    let caller = leverframe::engine::caller::Caller {
        actor: leverframe::protocol::command::Actor::Operator {
            uid: 0,
            name: "anna".to_owned(),
            person: None,
        },
        surface: leverframe::protocol::enums::Surface::Cli,
        key: None,
        trace: None,
    };
    let cut = leverframe::engine::handle::hygiene::run(engine, &caller, true).await;
    assert_eq!(cut.unwrap_err().kind, ProblemKind::Unavailable);
}

#[tokio::test]
async fn a_memory_that_is_used_after_the_look_stays() {
    use leverframe::protocol::enums::HygieneReason;
    use leverframe::protocol::ids::HygieneRunId;
    use leverframe::store::commands::clean_up_memories::CleanUpMemories;
    use leverframe::store::commands::run_hygiene::BeginHygiene;
    use leverframe::store::hygiene::Cuts;
    let world = World::new().await;
    insert(&world, 2, |_| 60).await;
    let engine = engine(&world, "");
    let said = preview(&engine).await;
    assert_eq!(said.archived, 2);
    world
        .sql("UPDATE memories SET last_used_at = 1800000000000 WHERE position = 1")
        .await;
    let run = HygieneRunId::generate();
    world
        .ok(BeginHygiene {
            id: run,
            by: ActorRef::engine(),
            undo_ms: DAY_MS,
            report: HygieneReport::default(),
        })
        .await;
    world
        .ok(CleanUpMemories {
            run,
            rules: leverframe::engine::memory_cleanup::rules(&engine),
            cuts: Cuts::default(),
            memories: vec![
                (1, HygieneReason::Retention),
                (2, HygieneReason::Retention),
                (7, HygieneReason::Size),
            ],
        })
        .await;
    assert_eq!(
        world
            .count("SELECT position FROM memories WHERE state = 'archived'")
            .await,
        2
    );
    assert_eq!(world.count(ARCHIVED).await, 1);
    let run = world
        .store
        .read(move |reader| reader.hygiene_run(run))
        .await
        .unwrap();
    assert_eq!(run.report.archived, 1);
}
