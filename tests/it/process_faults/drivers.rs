//! Drivers that fail in the middle of a turn: the turn is interrupted visibly, and its session goes on.

use serde_json::{Value, json};

use crate::process_faults::world::{FULL, count, script};
use crate::support::daemon::{Daemon, Home};

/// Makes the database refuse or change something from now on.
fn fault(home: &Home, trigger: &str) {
    let conn = rusqlite::Connection::open(home.data().join("leverframe.db")).expect("the database");
    conn.busy_timeout(std::time::Duration::from_secs(10))
        .expect("a timeout");
    conn.execute_batch(trigger).expect("the fault");
}

/// Sends a message into a turn that cannot go on, and one behind it. The turn is interrupted, the other one answered.
async fn interrupted(daemon: &Daemon, session: &str, text: &str) -> Value {
    let broken = daemon.send(session, text).await;
    let behind = daemon.send(session, "SAY:still here").await;
    let turn = daemon.wait_state(&broken, "interrupted").await;
    assert_eq!(turn["error"]["code"], "interrupted", "{turn:#}");
    let answered = daemon.wait_state(&behind, "completed").await;
    assert_eq!(answered["response"]["text"], "still here");
    turn
}

async fn resumes(daemon: &Daemon, turn: &Value) -> Value {
    let id = turn["id"].as_str().expect("an id");
    daemon
        .post(&format!("/v1/continuations/{id}/resume"), json!({}))
        .await;
    daemon.wait_state(id, "completed").await
}

#[tokio::test]
async fn an_answer_that_cannot_be_stored_interrupts_its_turn() {
    let home = Home::new("");
    let daemon = home.daemon();
    let session = daemon.session().await;
    fault(
        &home,
        "CREATE TRIGGER fault BEFORE INSERT ON steps WHEN NEW.kind = 'final' AND EXISTS (SELECT 1 FROM continuations c
            WHERE c.id = NEW.continuation_id AND c.text LIKE '%break%')
         BEGIN SELECT RAISE(ABORT, 'fault of the test'); END",
    );
    let turn = interrupted(&daemon, &session, "SAY:break").await;
    let why = turn["error"]["message"].as_str().expect("a reason");
    assert!(
        why.contains("a defect of this program") && why.contains("fault of the test"),
        "{why}"
    );
    assert!(home.log().contains("ERROR"), "{}", home.log());
    fault(&home, "DROP TRIGGER fault");
    assert_eq!(resumes(&daemon, &turn).await["response"]["text"], "break");
}

#[tokio::test]
async fn a_row_that_changed_under_a_driver_interrupts_its_turn() {
    let home = Home::new("");
    let daemon = home.daemon();
    let session = daemon.session().await;
    // The call is settled by somebody else: what the driver does next is refused as a conflict.
    fault(
        &home,
        "CREATE TRIGGER fault AFTER INSERT ON model_attempts WHEN EXISTS (SELECT 1 FROM continuations c
            WHERE c.id = NEW.continuation_id AND c.text LIKE '%break%')
         BEGIN UPDATE model_attempts SET settled_at = 1 WHERE id = NEW.id; END",
    );
    let turn = interrupted(&daemon, &session, "SAY:break").await;
    let why = turn["error"]["message"].as_str().expect("a reason");
    assert!(why.contains("is settled already"), "{why}");
    fault(&home, "DROP TRIGGER fault");
    assert_eq!(resumes(&daemon, &turn).await["response"]["text"], "break");
}

#[tokio::test]
async fn a_tool_whose_end_cannot_be_stored_is_asked_about() {
    let home = Home::new(FULL);
    let daemon = home.daemon();
    let session = daemon.session().await;
    fault(
        &home,
        "CREATE TRIGGER fault BEFORE UPDATE ON tool_calls WHEN NEW.state = 'succeeded'
         BEGIN SELECT RAISE(ABORT, 'fault of the test'); END",
    );
    interrupted(&daemon, &session, &script("echo ran >> ran")).await;
    let question = daemon.wait_approval().await;
    assert_eq!(question["kind"], "resolve_unknown", "{question:#}");
    for state in ["started", "ready"] {
        let query = format!("SELECT count(*) FROM tool_calls WHERE state = '{state}'");
        assert_eq!(count(&home, &query), 0, "{state}");
    }
}

#[tokio::test]
async fn a_compaction_that_cannot_be_stored_is_not_left_under_way() {
    let home = Home::new("");
    let daemon = home.daemon();
    let session = daemon.session().await;
    for n in 0..3 {
        let id = daemon.send(&session, &format!("SAY:answer {n}")).await;
        daemon.wait_state(&id, "completed").await;
    }
    fault(
        &home,
        "CREATE TRIGGER fault BEFORE INSERT ON summaries BEGIN SELECT RAISE(ABORT, 'fault of the test'); END",
    );
    let compact = || {
        home.command()
            .args(["memory", "compact", &session])
            .output()
            .expect("it runs")
    };
    compact();
    assert_eq!(
        count(
            &home,
            "SELECT count(*) FROM compactions WHERE state = 'failed'"
        ),
        1
    );
    fault(&home, "DROP TRIGGER fault");
    let again = compact();
    assert!(again.status.success(), "{again:?}");
    assert_eq!(
        count(
            &home,
            "SELECT count(*) FROM compactions WHERE state = 'done'"
        ),
        1
    );
}
