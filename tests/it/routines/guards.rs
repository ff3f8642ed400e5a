//! What only shows when a rule of routines is gone: secrets in a prompt, an old answer given again, one that was removed.

use leverframe::engine::handle::routines::{changed, turn};
use leverframe::protocol::ids::RoutineId;
use leverframe::protocol::routine::{RoutineCommand, RoutinePatch};
use leverframe::store::commands::begin_routine::{BeginRoutine, Begun, Deed, Occasion};
use serde_json::json;

use crate::model_calls::server::ModelServer;
use crate::routines::world::Place;
use crate::store::world::by;
use crate::support::daemon::Home;

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
        .command(RoutineCommand::Remove {
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
        deed: Deed::Turn(Box::new(said)),
        note: None,
    };
    let begun = place.world.store.write(begin).await.unwrap();
    assert_eq!(begun, Begun::NotDue);
    place.end().await;
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
