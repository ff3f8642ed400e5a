//! The scheduler under a clock that is moved by hand: each due time is settled once, whatever happens around it.

use leverframe::engine::handle::routines::turn;
use leverframe::protocol::command::Waiting;
use leverframe::protocol::enums::{
    Autonomy, ContinuationState, MissedRuns, RoutineRunState, ToolCallState,
};
use leverframe::protocol::ids::ContinuationId;
use leverframe::protocol::problem::ProblemKind;
use leverframe::protocol::request::{
    Answer, CancelContinuation, ChangeRoutine, Command, EmergencyStop, ListApprovals, Query,
    ReleaseEmergencyStop, RemoveRoutine, SetPolicy,
};
use leverframe::protocol::routine::{RoutinePatch, RoutineRun};
use leverframe::protocol::snapshot::PageRequest;

use leverframe::store::commands::begin_routine::{BeginRoutine, Begun, Occasion, RunAction};

use crate::routines::world::Place;
use crate::support::world::START;

fn plain() -> RoutinePatch {
    RoutinePatch::default()
}

fn prompt(text: &str) -> RoutinePatch {
    RoutinePatch {
        prompt: Some(text.to_owned()),
        ..plain()
    }
}

/// A call that asks: it writes.
const WRITES: &str = "TOOL:write_file{\"path\":\"note.txt\",\"content\":\"x\"}\nSAY:went on";

fn started(runs: &[RoutineRun]) -> Vec<ContinuationId> {
    runs.iter().filter_map(|run| run.continuation_id).collect()
}

fn detail(run: &RoutineRun) -> &str {
    run.detail.as_deref().unwrap_or_default()
}

#[tokio::test]
async fn it_runs_when_it_is_due_and_not_before() {
    let place = Place::new().await;
    let routine = place.add("hourly", "every 1h", plain()).await;
    assert_eq!(routine.due_at, Some(START.plus_seconds(3600)));
    place.advance(3599);
    // A change wakes the scheduler too; when it is answered for, nothing has run.
    place.change("hourly", prompt("SAY:done later")).await;
    assert!(place.settled("hourly").await.is_empty());
    place.advance(1);
    let runs = place.settled("hourly").await;
    let [run] = runs.as_slice() else {
        panic!("{runs:?}")
    };
    assert_eq!(run.state, RoutineRunState::Started);
    assert_eq!(run.due_at, Some(START.plus_seconds(3600)));
    let turn = place
        .turn(started(&runs)[0], ContinuationState::Completed)
        .await;
    assert_eq!(turn.request.text, "SAY:done later");
    assert_eq!(turn.channel, "routine");
    assert_eq!(turn.requester.id, "routine:hourly");
    assert_eq!(turn.response.unwrap().text, "done later");
    let routine = place.routine("hourly").await;
    assert_eq!(routine.due_at, Some(START.plus_seconds(7200)));
    assert_eq!(
        routine.last_run.unwrap().continuation_state,
        Some(ContinuationState::Completed)
    );
    place.end().await;
}

#[tokio::test]
async fn what_was_missed_is_skipped_and_counted_or_made_up_for_once() {
    let place = Place::new().await;
    place.add("skips", "every 1h", plain()).await;
    let once = RoutinePatch {
        missed: Some(MissedRuns::RunOnce),
        ..plain()
    };
    place.add("once", "every 1h", once).await;
    // Down from before the first to after the fifth.
    let place = place.restart(5 * 3600 + 120).await;
    let skipped = place.settled("skips").await;
    let made_up = place.settled("once").await;
    assert_eq!(skipped.len(), 1, "{skipped:?}");
    assert_eq!(skipped[0].state, RoutineRunState::Skipped);
    assert!(
        detail(&skipped[0]).starts_with("5 runs missed since "),
        "{skipped:?}"
    );
    assert_eq!(made_up.len(), 1, "{made_up:?}");
    assert_eq!(made_up[0].state, RoutineRunState::Started);
    assert!(
        detail(&made_up[0]).contains("makes up for 5 runs"),
        "{made_up:?}"
    );
    place
        .turn(started(&made_up)[0], ContinuationState::Completed)
        .await;
    // Both go on in their step.
    for name in ["skips", "once"] {
        assert_eq!(
            place.routine(name).await.due_at,
            Some(START.plus_seconds(6 * 3600))
        );
    }
    place.end().await;
}

#[tokio::test]
async fn a_short_restart_at_the_due_time_misses_nothing() {
    let place = Place::new().await;
    place.add("hourly", "every 1h", plain()).await;
    let place = place.restart(3600 + 50).await;
    let runs = place.settled("hourly").await;
    assert_eq!(runs[0].state, RoutineRunState::Started, "{runs:?}");
    // And once: another start finds nothing to do.
    place
        .turn(started(&runs)[0], ContinuationState::Completed)
        .await;
    let place = place.restart(1).await;
    assert_eq!(place.settled("hourly").await, runs_of(&place).await);
    assert_eq!(runs_of(&place).await.len(), 1);
    place.end().await;
}

async fn runs_of(place: &Place) -> Vec<RoutineRun> {
    place.runs("hourly").await
}

#[tokio::test]
async fn a_copy_of_a_killed_process_runs_nothing_again() {
    let place = Place::new().await;
    place.add("hourly", "every 1h", plain()).await;
    place.advance(3600);
    let runs = place.settled("hourly").await;
    place
        .turn(started(&runs)[0], ContinuationState::Completed)
        .await;
    let place = place.crash().await;
    place.advance(1);
    assert_eq!(place.settled("hourly").await.len(), 1);
    place.end().await;
}

#[tokio::test]
async fn a_jump_of_years_is_one_missed_run_and_a_jump_back_repeats_none() {
    let place = Place::new().await;
    place.add("often", "every 2m", plain()).await;
    place.add("daily", "0 9 * * *", plain()).await;
    place.advance(10 * 365 * 24 * 3600 + 90);
    for name in ["often", "daily"] {
        let runs = place.settled(name).await;
        assert_eq!(runs.len(), 1, "{runs:?}");
        assert_eq!(runs[0].state, RoutineRunState::Skipped);
        assert!(
            detail(&runs[0]).starts_with("1000 runs or more missed"),
            "{runs:?}"
        );
    }
    let due = place.routine("daily").await.due_at;
    place.advance(-10 * 365 * 24 * 3600 - 90);
    // A change that has nothing to do with time leaves the due time alone; the jump settles nothing again.
    place.change("daily", prompt("SAY:changed")).await;
    assert_eq!(place.settled("daily").await.len(), 1);
    assert_eq!(place.settled("often").await.len(), 1);
    assert_eq!(place.routine("daily").await.due_at, due);
    place.end().await;
}

#[tokio::test]
async fn a_run_is_skipped_while_the_one_before_is_open() {
    let place = Place::new().await;
    let patch = RoutinePatch {
        park: Some(true),
        ..prompt(WRITES)
    };
    place.add("slow", "every 1h", patch).await;
    place.advance(3600);
    let first = started(&place.settled("slow").await)[0];
    place.turn(first, ContinuationState::AwaitingApproval).await;
    place.advance(3600);
    let runs = place.settled("slow").await;
    assert_eq!(runs[1].state, RoutineRunState::Skipped);
    assert_eq!(
        detail(&runs[1]),
        format!("the run before is still open ({first})")
    );
    // A person is told, and nothing is noted.
    let refused = place.run("slow").await.unwrap_err();
    assert_eq!(refused.kind, ProblemKind::Conflict);
    assert!(refused.detail.contains(&first.to_string()), "{refused}");
    assert_eq!(place.runs("slow").await.len(), 2);
    let cancel = Command::CancelContinuation(CancelContinuation {
        continuation_id: first,
        reason: None,
    });
    place.submit(cancel).await.unwrap();
    place.advance(3600);
    assert_eq!(
        place.settled("slow").await[2].state,
        RoutineRunState::Started
    );
    place.end().await;
}

#[tokio::test]
async fn nothing_begins_while_everything_is_held_and_it_counts_as_missed() {
    let place = Place::new().await;
    place.add("hourly", "every 1h", plain()).await;
    place
        .submit(Command::EmergencyStop(EmergencyStop { reason: None }))
        .await
        .unwrap();
    place.advance(3 * 3600 + 120);
    place.change("hourly", prompt("SAY:after the stop")).await;
    assert!(place.runs("hourly").await.is_empty());
    let release = Command::ReleaseEmergencyStop(ReleaseEmergencyStop {
        waiting: Waiting::All,
        conversations: Vec::new(),
    });
    place.submit(release).await.unwrap();
    let runs = place.settled("hourly").await;
    assert_eq!(runs.len(), 1, "{runs:?}");
    assert!(detail(&runs[0]).starts_with("3 runs missed"), "{runs:?}");
    place.advance(3480);
    assert_eq!(
        place.settled("hourly").await[1].state,
        RoutineRunState::Started
    );
    place.end().await;
}

#[tokio::test]
async fn nothing_begins_on_a_restored_copy_before_it_is_released() {
    let place = Place::new().await;
    place.add("hourly", "every 1h", plain()).await;
    place.engine.stop().await;
    let world = place.world.restart_without_sidecar().await;
    assert!(world.recovery.quarantine);
    world.clock.advance_millis(3600 * 1000);
    let engine = world.engine("");
    leverframe::engine::start::begin(&engine, &world.recovery)
        .await
        .unwrap();
    let place = Place { world, engine };
    place.advance(0);
    assert!(place.runs("hourly").await.is_empty());
    let release = Command::ReleaseEmergencyStop(ReleaseEmergencyStop {
        waiting: Waiting::All,
        conversations: Vec::new(),
    });
    place.submit(release).await.unwrap();
    let runs = place.settled("hourly").await;
    assert_eq!(runs[0].state, RoutineRunState::Started, "{runs:?}");
    place.end().await;
}

#[tokio::test]
async fn a_disabled_one_is_never_due_and_runs_when_it_is_asked_to() {
    let place = Place::new().await;
    place.add("hourly", "every 1h", plain()).await;
    let off = RoutinePatch {
        enabled: Some(false),
        ..plain()
    };
    assert_eq!(place.change("hourly", off).await.due_at, None);
    place.advance(10 * 3600);
    assert!(place.settled("hourly").await.is_empty());
    let run = place.run("hourly").await.unwrap();
    assert_eq!(run.due_at, None);
    assert_eq!(detail(&run), "asked for by anna");
    place
        .turn(run.continuation_id.unwrap(), ContinuationState::Completed)
        .await;
    // From now on it counts from now.
    let on = RoutinePatch {
        enabled: Some(true),
        ..plain()
    };
    let routine = place.change("hourly", on).await;
    assert_eq!(routine.due_at, Some(START.plus_seconds(11 * 3600)));
    place.end().await;
}

#[tokio::test]
async fn jitter_delays_the_run_and_not_the_schedule() {
    let place = Place::new().await;
    let patch = RoutinePatch {
        jitter_seconds: Some(1200),
        ..plain()
    };
    let routine = place.add("hourly", "every 1h", patch).await;
    let (mut due, mut begin) = (routine.due_at.unwrap(), routine.begin_at.unwrap());
    for run in 0..5 {
        assert!(
            begin >= due && begin.millis_since(due) <= 1_200_000,
            "{due} {begin}"
        );
        let now = place.world.clock.now();
        let wait = begin.as_millis() - now.as_millis();
        place.world.clock.advance_millis(wait - 1);
        place.advance(0);
        place.change("hourly", prompt(&format!("SAY:{run}"))).await;
        assert_eq!(
            place.settled("hourly").await.len(),
            run,
            "it began too early"
        );
        place.world.clock.advance_millis(1);
        place.advance(0);
        let runs = place.settled("hourly").await;
        assert_eq!(runs.len(), run + 1);
        place
            .turn(
                runs[run].continuation_id.unwrap(),
                ContinuationState::Completed,
            )
            .await;
        let routine = place.routine("hourly").await;
        assert_eq!(routine.due_at, Some(due.plus_seconds(3600)));
        (due, begin) = (routine.due_at.unwrap(), routine.begin_at.unwrap());
    }
    place.end().await;
}

#[tokio::test]
async fn a_channel_that_is_gone_fails_the_run_and_says_so() {
    let place = Place::new().await;
    place.add("hourly", "every 1h", plain()).await;
    // As after a restart with a configuration that does not name it any more.
    place
        .world
        .store
        .with_writer(|conn| {
            conn.execute("UPDATE routines SET channel = 'gone'", [])
                .unwrap();
        })
        .await
        .unwrap();
    place.advance(3600);
    let runs = place.settled("hourly").await;
    assert_eq!(runs[0].state, RoutineRunState::Failed);
    assert!(detail(&runs[0]).contains("`gone`"), "{runs:?}");
    assert_eq!(
        place.routine("hourly").await.due_at,
        Some(START.plus_seconds(7200))
    );
    place.end().await;
}

#[tokio::test]
async fn a_gated_call_is_denied_and_the_turn_goes_on() {
    let place = Place::new().await;
    place.add("writes", "every 1h", prompt(WRITES)).await;
    place.advance(3600);
    let id = started(&place.settled("writes").await)[0];
    let turn = place.turn(id, ContinuationState::Completed).await;
    assert!(turn.approvals.is_empty(), "{turn:?}");
    assert_eq!(turn.tool_calls[0].state, ToolCallState::Denied);
    let result = turn.tool_calls[0].result.clone().unwrap();
    assert!(
        result.contains("nobody is there to allow this call"),
        "{result}"
    );
    let workspace = &place.engine.channel("routine").unwrap().workspace;
    assert!(!workspace.join("note.txt").exists());
    let Answer::ListApprovals(page) = place
        .engine
        .answer(Query::ListApprovals(ListApprovals {
            state: None,
            page: PageRequest::default(),
        }))
        .await
        .unwrap()
    else {
        panic!("no approvals")
    };
    assert!(page.items.is_empty(), "{:?}", page.items);
    place.end().await;
}

#[tokio::test]
async fn the_ceiling_binds_whatever_the_channels_allow() {
    let place = Place::new().await;
    let full = || leverframe::protocol::policy::PolicyPatch {
        autonomy: Some(Autonomy::Full),
        ..leverframe::protocol::policy::PolicyPatch::default()
    };
    for channel in ["routine", "desk"] {
        let raise = Command::SetPolicy(SetPolicy {
            channel: channel.to_owned(),
            patch: full(),
        });
        place.submit(raise).await.unwrap();
    }
    let workspace = &place.engine.channel("desk").unwrap().workspace;
    std::fs::create_dir_all(workspace).unwrap();
    let on_desk = |ceiling| RoutinePatch {
        channel: Some("desk".to_owned()),
        autonomy_ceiling: Some(ceiling),
        // Again and again, into the same file.
        ..prompt(
            "TOOL:write_file{\"path\":\"note.txt\",\"content\":\"x\",\"mode\":\"overwrite\"}\nSAY:went on",
        )
    };
    place
        .add("low", "every 1h", on_desk(Autonomy::Supervised))
        .await;
    place.add("high", "every 1h", on_desk(Autonomy::Full)).await;
    let state = async |name: &str| {
        let id = place.run(name).await.unwrap().continuation_id.unwrap();
        let turn = place.turn(id, ContinuationState::Completed).await;
        (
            turn.tool_calls[0].state,
            turn.tool_calls[0].verdict.rule.clone(),
        )
    };
    let (denied, rule) = state("low").await;
    assert_eq!(denied, ToolCallState::Denied);
    assert!(
        rule.contains("the ceiling of this turn; the channel has full"),
        "{rule}"
    );
    let (ran, rule) = state("high").await;
    assert_eq!(ran, ToolCallState::Succeeded, "{rule}");
    // The stricter of the two channels decides: `routine` is lowered again.
    let lower = Command::SetPolicy(SetPolicy {
        channel: "routine".to_owned(),
        patch: leverframe::protocol::policy::PolicyPatch {
            autonomy: Some(Autonomy::Supervised),
            ..leverframe::protocol::policy::PolicyPatch::default()
        },
    });
    place.submit(lower).await.unwrap();
    assert_eq!(state("high").await.0, ToolCallState::Denied);
    place.end().await;
}

#[tokio::test]
async fn a_used_up_budget_ends_the_turn_with_a_reason() {
    let place = Place::new().await;
    let patch = RoutinePatch {
        budgets: Some(leverframe::protocol::command::BudgetRequest {
            max_steps: Some(1),
            ..leverframe::protocol::command::BudgetRequest::default()
        }),
        ..prompt("TOOL:list_files{}\nSAY:never said")
    };
    place.add("short", "every 1h", patch).await;
    let id = place.run("short").await.unwrap().continuation_id.unwrap();
    let turn = place.turn(id, ContinuationState::Failed).await;
    let error = turn.error.unwrap();
    assert_eq!(error.code, "budget_reached");
    assert!(
        error.message.contains("max_steps of this turn") && error.message.contains("park"),
        "{error:?}"
    );
    assert!(turn.approvals.is_empty());
    place.end().await;
}

#[tokio::test]
async fn what_is_removed_is_gone_and_its_turns_stay() {
    let place = Place::new().await;
    place.add("hourly", "every 1h", plain()).await;
    place.advance(3600);
    let id = started(&place.settled("hourly").await)[0];
    place.turn(id, ContinuationState::Completed).await;
    let remove = RemoveRoutine {
        routine: "hourly".to_owned(),
    };
    place.command(remove).await.unwrap();
    place.advance(10 * 3600);
    place.turn(id, ContinuationState::Completed).await;
    let gone = place.run("hourli").await.unwrap_err();
    assert_eq!(gone.kind, ProblemKind::NotFound);
    place.end().await;
}

#[tokio::test]
async fn what_cannot_be_a_routine_is_refused_with_the_reason() {
    let place = Place::new().await;
    place.add("taken", "every 1h", plain()).await;
    let set = |change: fn(&mut RoutinePatch)| {
        let mut patch = plain();
        change(&mut patch);
        patch
    };
    for (name, schedule, patch, part) in [
        (
            "taken",
            "every 1h",
            plain(),
            "there is a routine `taken` already",
        ),
        ("Big", "every 1h", plain(), "not a name for a routine"),
        ("", "every 1h", plain(), "not a name for a routine"),
        ("a", "0 25 * * *", plain(), "field 2 (hour) at character 3"),
        (
            "a",
            "every 30s",
            plain(),
            "an interval is 1 minute to 366 days",
        ),
        (
            "a",
            "every 1h",
            set(|p| p.time_zone = Some("Europe/Berln".to_owned())),
            "did you mean Europe/Berlin",
        ),
        (
            "a",
            "every 1h",
            set(|p| p.channel = Some("nowhere".to_owned())),
            "`nowhere`",
        ),
        (
            "a",
            "every 1h",
            set(|p| p.model = Some("no/model".to_owned())),
            "no provider",
        ),
        (
            "a",
            "every 1h",
            set(|p| p.prompt = Some("  ".to_owned())),
            "`prompt` is empty",
        ),
        (
            "a",
            "every 1h",
            set(|p| p.prompt = Some("x".repeat(16 * 1024 + 1))),
            "at most 16384",
        ),
        (
            "a",
            "every 1h",
            set(|p| p.jitter_seconds = Some(3601)),
            "at most 3600",
        ),
        (
            "a",
            "*/5 * * * *",
            set(|p| p.jitter_seconds = Some(300)),
            "less than the time between two runs (300 s)",
        ),
        (
            "a",
            "every 1h",
            set(|p| p.conversation = Some(String::new())),
            "1 to 256 characters",
        ),
    ] {
        let problem = place.try_add(name, schedule, patch).await.unwrap_err();
        assert!(
            problem.detail.contains(part),
            "{name} {schedule}: {problem}"
        );
    }
    // A change that cannot be leaves it as it was.
    let before = place.routine("taken").await;
    let change = ChangeRoutine {
        routine: "taken".to_owned(),
        patch: set(|p| p.schedule = Some("nonsense".to_owned())),
    };
    assert!(place.command(change).await.is_err());
    assert_eq!(place.routine("taken").await, before);
    // 200 and no more.
    for n in 1..200 {
        let off = set(|p| p.enabled = Some(false));
        place.add(&format!("r{n}"), "every 1h", off).await;
    }
    let full = place
        .try_add("more", "every 1h", plain())
        .await
        .unwrap_err();
    assert!(full.detail.contains("at most 200"), "{full}");
    place.end().await;
}

#[tokio::test]
async fn runs_are_kept_up_to_a_limit() {
    let place = Place::new().await;
    place.add("often", "every 1h", plain()).await;
    for _ in 0..510 {
        place.advance(2 * 3600 + 77);
        place.settled("often").await;
    }
    // Counted where they are kept: a page holds no more than that anyway.
    let kept = place.world.store.with_writer(|conn| {
        let count = conn.query_row("SELECT count(*) FROM routine_runs", [], |row| {
            row.get::<_, u64>(0)
        });
        count.unwrap()
    });
    assert_eq!(kept.await.unwrap(), 500);
    place.end().await;
}

#[tokio::test]
async fn a_due_time_that_is_settled_is_not_settled_again() {
    let place = Place::new().await;
    let routine = place.add("hourly", "every 1h", plain()).await;
    place.engine.stop().await;
    let (due_at, next) = (routine.due_at.unwrap(), START.plus_seconds(7200));
    let begin = |due_at, key: &str| BeginRoutine {
        id: routine.id,
        occasion: Occasion::Due {
            due_at,
            next: Some((next, next)),
        },
        deed: RunAction::Turn(Box::new(
            turn(
                &place.engine,
                &routine,
                "p".to_owned(),
                Some(key.to_owned()),
            )
            .unwrap(),
        )),
        note: None,
    };
    let store = &place.world.store;
    let first = store.write(begin(due_at, "a")).await.unwrap();
    assert!(matches!(first, Begun::Run(..)));
    assert_eq!(
        store.write(begin(due_at, "b")).await.unwrap(),
        Begun::NotDue
    );
    // A clock that was put back and a schedule that was set anew make it due once more: it steps on, and runs nothing.
    store
        .with_writer(move |conn| {
            let sql = "UPDATE routines SET due_at = ?1, begin_at = ?1";
            conn.execute(sql, [due_at.as_millis()]).unwrap();
        })
        .await
        .unwrap();
    assert_eq!(
        store.write(begin(due_at, "c")).await.unwrap(),
        Begun::NotDue
    );
    assert_eq!(place.routine("hourly").await.due_at, Some(next));
    assert_eq!(place.runs("hourly").await.len(), 1);
    place.end().await;
}
