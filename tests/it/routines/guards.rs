//! What only shows when a rule of routines is gone: secrets in a prompt, an old answer given again, one that was removed.

use std::time::{Duration, Instant};

use leverframe::engine::handle::routines::{changed, turn};
use leverframe::protocol::enums::{Autonomy, ContinuationState, RoutineRunState, Unattended};
use leverframe::protocol::ids::RoutineId;
use leverframe::protocol::request::{Command, Outcome, RemoveRoutine, RetryContinuation};
use leverframe::protocol::routine::RoutinePatch;
use leverframe::store::commands::begin_routine::{BeginRoutine, Begun, Occasion, RunAction};
use leverframe::store::commands::put_routine::NextDue;
use serde_json::json;

use crate::hooks::scripts::{configure, script, table};
use crate::model_calls::server::ModelServer;
use crate::routines::world::Place;
use crate::support::daemon::{DEADLINE, Home};
use crate::support::world::by;

#[tokio::test]
async fn one_that_was_removed_meanwhile_is_not_begun() {
    let place = Place::new().await;
    let routine = place
        .add("hourly", "every 1h", RoutinePatch::default())
        .await;
    place.engine.stop().await;
    let said = turn(
        &place.engine,
        &routine,
        "p".to_owned(),
        Some("a".to_owned()),
    )
    .unwrap();
    place
        .command(RemoveRoutine {
            routine: "hourly".to_owned(),
        })
        .await
        .unwrap();
    let begin = BeginRoutine {
        id: routine.id,
        occasion: Occasion::Due {
            due_at: routine.due_at.unwrap(),
            next: None,
        },
        deed: RunAction::Turn(Box::new(said)),
        note: None,
    };
    let begun = place.world.store.write(begin).await.unwrap();
    assert_eq!(begun, Begun::NotDue);
    place.end().await;
}

/// An interrupted run waits for a person, who may never come.
#[tokio::test]
async fn an_interrupted_run_keeps_nobody_from_running_the_next() {
    let place = Place::new().await;
    let breaks = RoutinePatch {
        prompt: Some("break".to_owned()),
        ..RoutinePatch::default()
    };
    place.add("hourly", "every 1h", breaks).await;
    let mut turns = Vec::new();
    for run in 1..=2 {
        place.advance(3600);
        let runs = place.settled("hourly").await;
        assert_eq!(runs.len(), run, "{runs:?}");
        let last = &runs[run - 1];
        assert_eq!(last.state, RoutineRunState::Started, "{last:?}");
        turns.push(last.continuation_id.unwrap());
        if run == 1 {
            place.turn(turns[0], ContinuationState::Interrupted).await;
            // The next ones end.
            let prompt = Some("SAY:done".to_owned());
            let patch = RoutinePatch {
                prompt,
                ..RoutinePatch::default()
            };
            place.change("hourly", patch).await;
            // Nor from one that a person asks for.
            let asked = place.run("hourly").await.unwrap();
            let id = asked.continuation_id.unwrap();
            place.turn(id, ContinuationState::Completed).await;
            place
                .world
                .store
                .with_writer(|conn| {
                    conn.execute("DELETE FROM routine_runs WHERE due_at IS NULL", [])
                        .unwrap()
                })
                .await
                .unwrap();
        }
    }
    place.turn(turns[1], ContinuationState::Completed).await;
    place.turn(turns[0], ContinuationState::Interrupted).await;
    place.end().await;
}

#[tokio::test]
async fn only_the_due_time_that_it_has_is_begun() {
    let place = Place::new().await;
    let routine = place
        .add("hourly", "every 1h", RoutinePatch::default())
        .await;
    let due = routine.due_at.unwrap();
    for wrong in [due.plus_seconds(-3600), due.plus_seconds(3600)] {
        let said = turn(&place.engine, &routine, "p".to_owned(), None).unwrap();
        let begin = BeginRoutine {
            id: routine.id,
            occasion: Occasion::Due {
                due_at: wrong,
                next: None,
            },
            deed: RunAction::Turn(Box::new(said)),
            note: None,
        };
        assert_eq!(place.world.ok(begin).await, Begun::NotDue);
    }
    assert_eq!(place.runs("hourly").await, []);
    assert_eq!(place.routine("hourly").await.due_at, Some(due));
    place.end().await;
}

#[tokio::test]
async fn one_that_is_off_is_never_due() {
    let place = Place::new().await;
    let seen = place
        .add("hourly", "every 1h", RoutinePatch::default())
        .await;
    let off = RoutinePatch {
        enabled: Some(false),
        ..RoutinePatch::default()
    };
    let mut put = changed(&place.engine, by("anna"), &seen, off).unwrap();
    assert_eq!(put.due, NextDue::At(None));
    // And the store does not believe who says otherwise.
    let due = seen.due_at.unwrap();
    put.due = NextDue::At(Some((due, due)));
    place.world.ok(put).await;
    let stored = place.routine("hourly").await;
    assert_eq!(
        (stored.enabled, stored.due_at, stored.begin_at),
        (false, None, None)
    );
    place.end().await;
}

/// The call was allowed when it was proposed; while a hook takes its time, it is put on the list of what asks.
#[tokio::test]
async fn what_became_stricter_before_a_start_is_denied_where_nobody_is_there() {
    let home = Home::new("[channels.routine]\nauto_approve = [\"write_file\"]\n");
    let (mark, go) = (home.path().join("mark"), home.path().join("go"));
    let body = format!(
        "case \"$(cat)\" in\n*'\"phase\":\"start\"'*) echo x > {}\nn=0\n\
         while [ ! -e {} ] && [ $n -lt 900 ]; do sleep 0.01; n=$((n+1)); done;;\nesac\n\
         echo '{{\"verdict\":\"pass\"}}'",
        mark.display(),
        go.display()
    );
    let path = script(home.path(), "slow", &body);
    configure(&home, &table("slow", &path, "\"before_tool_call\"", ""));
    let daemon = home.daemon();
    let prompt = "TOOL:write_file{\"path\":\"note.txt\",\"content\":\"hi\"}\nSAY:all the same";
    let body = json!({ "name": "writes", "schedule": "@daily", "prompt": prompt });
    let (status, made) = daemon.request("POST", "/v1/routines", Some(body)).await;
    assert_eq!(status, 201, "{made}");
    let run = daemon.post("/v1/routines/writes/run", json!({})).await;
    let turn = run["continuation_id"].as_str().unwrap();
    let deadline = Instant::now() + DEADLINE;
    while !mark.exists() {
        assert!(Instant::now() < deadline, "the hook was never asked");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let stricter = json!({ "always_ask": ["write_file"] });
    let (status, policy) = daemon
        .request("PATCH", "/v1/channels/routine/policy", Some(stricter))
        .await;
    assert_eq!(status, 200, "{policy}");
    std::fs::write(&go, "").unwrap();
    let done = daemon.wait_state(turn, "completed").await;
    let call = &done["tool_calls"][0];
    assert_eq!(
        (&call["state"], &call["attempts"]),
        (&json!("denied"), &json!(0))
    );
    let said = done["response"]["text"].as_str().unwrap();
    assert!(
        said.contains("nobody is there to allow this call"),
        "{said}"
    );
    assert!(!home.workspace("routine").join("note.txt").exists());
}

#[tokio::test]
async fn a_change_is_made_upon_what_was_seen() {
    let place = Place::new().await;
    let seen = place
        .add("hourly", "every 1h", RoutinePatch::default())
        .await;
    let jitter = |seconds| RoutinePatch {
        jitter_seconds: Some(seconds),
        ..RoutinePatch::default()
    };
    place.change("hourly", jitter(60)).await;
    let late = changed(&place.engine, by("bert"), &seen, jitter(120)).unwrap();
    let why = place.world.illegal(late).await;
    assert!(why.contains("was changed by anna meanwhile"), "{why}");
    assert_eq!(place.routine("hourly").await.jitter_seconds, 60);
    // A new one of the same name is refused by the store too, whoever was faster.
    let mut other = changed(&place.engine, by("bert"), &seen, jitter(0)).unwrap();
    (other.id, other.version) = (RoutineId::generate(), 0);
    let why = place.world.illegal(other).await;
    assert!(why.contains("there is a routine `hourly` already"), "{why}");
    place.end().await;
}

/// Whoever runs a turn of a routine again is there to be asked, and it may do no more by itself than before.
#[tokio::test]
async fn a_run_that_is_tried_again_keeps_its_ceiling() {
    let place = Place::new().await;
    place
        .add("hourly", "every 1h", RoutinePatch::default())
        .await;
    let first = place.run("hourly").await.unwrap().continuation_id.unwrap();
    place.turn(first, ContinuationState::Completed).await;
    let retry = Command::RetryContinuation(RetryContinuation {
        continuation_id: first,
    });
    let second = match place.submit(retry).await.unwrap() {
        Outcome::RetryContinuation(turn) => turn.id,
        other => panic!("{other:?}"),
    };
    let rows = |id| place.world.store.read(move |reader| reader.turn(id));
    let bounds = rows(first).await.unwrap().bounds;
    assert_eq!(bounds.autonomy_ceiling, Some(Autonomy::Supervised));
    assert_eq!(bounds.unattended, Some(Unattended::Deny));
    let bounds = rows(second).await.unwrap().bounds;
    assert_eq!(bounds.autonomy_ceiling, Some(Autonomy::Supervised));
    assert_eq!(bounds.unattended, None);
    place.turn(second, ContinuationState::Completed).await;
    place.end().await;
}

#[tokio::test]
async fn jitter_is_an_hour_at_most_however_far_apart_runs_are() {
    let place = Place::new().await;
    let jitter = |seconds| RoutinePatch {
        jitter_seconds: Some(seconds),
        ..RoutinePatch::default()
    };
    let refused = place.try_add("late", "every 1d", jitter(3601)).await;
    let problem = refused.unwrap_err();
    assert!(problem.detail.contains("at most 3600"), "{problem}");
    place.add("late", "every 1d", jitter(3600)).await;
    place.end().await;
}

#[tokio::test]
async fn a_name_is_never_taken_for_an_id() {
    let place = Place::new().await;
    for name in ["rtn_daily", "rtn_"] {
        let refused = place
            .try_add(name, "every 1h", RoutinePatch::default())
            .await;
        let problem = refused.unwrap_err();
        assert!(
            problem.detail.contains("not beginning with `rtn_`"),
            "{problem}"
        );
    }
    place.add("rtn", "every 1h", RoutinePatch::default()).await;
    place.end().await;
}

#[tokio::test]
async fn secrets_are_taken_out_of_a_prompt() {
    const SECRET: &str = "sk-canarycanarycanarycanary1234";
    let home = Home::new("");
    let mut daemon = home.daemon();
    let body =
        json!({ "name": "leaky", "schedule": "every 1d", "prompt": format!("SAY:{SECRET}") });
    let (status, made) = daemon.request("POST", "/v1/routines", Some(body)).await;
    assert_eq!(status, 201, "{made}");
    let prompt = made["prompt"].as_str().unwrap();
    assert!(
        prompt.starts_with("SAY:") && !prompt.contains(SECRET),
        "{prompt}"
    );
    let change = json!({ "prompt": format!("now SAY:{SECRET}") });
    let (status, made) = daemon
        .request("PATCH", "/v1/routines/leaky", Some(change))
        .await;
    assert_eq!(status, 200, "{made}");
    assert!(daemon.terminate().success());
    for entry in std::fs::read_dir(home.data()).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            let bytes = std::fs::read(&path).unwrap();
            let found = bytes
                .windows(SECRET.len())
                .any(|part| part == SECRET.as_bytes());
            assert!(!found, "{}", path.display());
        }
    }
}

#[tokio::test]
async fn an_answer_is_neither_an_old_one_nor_kept_for_others() {
    let model = ModelServer::chat(Vec::new());
    let table = model.table("one", "");
    let home = Home::new(&format!(
        "[model]\ndefault = \"one/m\"\n[channels.api]\nresponse_cache = \"channel\"\n{table}"
    ));
    let daemon = home.daemon();
    let ask = async |text: &str| {
        let session = daemon.session().await;
        let id = daemon.send(&session, text).await;
        daemon.wait_state(&id, "completed").await;
        model.seen().len()
    };
    let run = async |conversation: &str, prompt: &str| {
        let body = json!({
            "name": conversation, "schedule": "every 1d", "prompt": prompt, "channel": "api",
        });
        let (status, made) = daemon.request("POST", "/v1/routines", Some(body)).await;
        assert_eq!(status, 201, "{made}");
        let path = format!("/v1/routines/{conversation}/run");
        let run = daemon.post(&path, json!({})).await;
        let id = run["continuation_id"].as_str().unwrap();
        daemon.wait_state(id, "completed").await;
        model.seen().len()
    };
    assert_eq!(ask("what is new?").await, 1);
    assert_eq!(ask("what is new?").await, 1, "people share an answer here");
    assert_eq!(
        run("news", "what is new?").await,
        2,
        "an old answer is no news"
    );
    assert_eq!(run("weather", "what weather?").await, 3);
    assert_eq!(
        ask("what weather?").await,
        4,
        "a routine's answer went to a person"
    );
}
