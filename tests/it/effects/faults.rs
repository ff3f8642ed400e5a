//! Faults of the service while a call runs, for each class.

use serde_json::json;

use crate::effects::world::{World, answer, call, post_hello};
use crate::support::fake_service::Mode;
use crate::support::record::fault;

/// What is seen of a run that met a fault: the call's state, entries, questions.
async fn met(mode: Mode, tool: &str) -> (String, usize, usize) {
    let world = World::new();
    world.service.honour_keys(tool == "post_keyed");
    world.service.set_mode(mode);
    let daemon = world.daemon(None);
    let continuation = post_hello(&daemon, tool).await;
    let path = format!("/v1/continuations/{continuation}");
    let ended = daemon
        .wait(&path, "an end of the call", |body| {
            ["completed", "awaiting_approval"]
                .iter()
                .any(|state| body["state"] == *state)
        })
        .await;
    let state = call(&ended)["state"].as_str().expect("a state").to_owned();
    (
        state,
        world.entries(),
        daemon.approvals_of("resolve_unknown").await.len(),
    )
}

fn is(state: &str, entries: usize, asked: usize) -> (String, usize, usize) {
    (state.to_owned(), entries, asked)
}

#[tokio::test]
async fn a_reset_after_the_effect_is_settled_by_class() {
    let after = Mode::ResetAfter;
    assert_eq!(met(after, "post_entry").await, is("indeterminate", 1, 1));
    // The second run under the same key meets the same fault; the entry stays one, and a person is asked.
    assert_eq!(met(after, "post_keyed").await, is("indeterminate", 1, 1));
    assert_eq!(met(after, "post_checked").await, is("succeeded", 1, 0));
    fault(
        "tool-reset-after",
        "the connection was reset after the effect, for each effect class",
        "one entry; looked up where possible, else a person is asked",
    );
}

#[tokio::test]
async fn a_reset_before_the_effect_is_settled_by_class() {
    let before = Mode::ResetBefore;
    assert_eq!(met(before, "post_entry").await, is("indeterminate", 0, 1));
    assert_eq!(met(before, "post_checked").await, is("failed", 0, 0));
    assert_eq!(
        met(Mode::Fails, "post_entry").await,
        is("indeterminate", 0, 1)
    );
    fault(
        "tool-reset-before",
        "the connection was reset before the effect",
        "no entry; a person is asked, or the look-up shows that nothing happened",
    );
}

#[tokio::test]
async fn a_service_that_never_answers_is_settled_by_class() {
    assert_eq!(
        met(Mode::Silent, "post_checked").await,
        is("succeeded", 1, 0)
    );
    assert_eq!(
        met(Mode::Silent, "post_entry").await,
        is("indeterminate", 1, 1)
    );
    let late = Mode::Delay(std::time::Duration::from_millis(100));
    assert_eq!(met(late, "post_entry").await, is("succeeded", 1, 0));
    fault(
        "tool-timeout",
        "the service carried out the effect and never answered",
        "one entry; looked up where possible, else a person is asked",
    );
}

#[tokio::test]
async fn a_lost_answer_to_a_keyed_call_is_asked_for_again_under_its_key() {
    let world = World::new();
    world.service.honour_keys(true);
    world.service.set_mode(Mode::Silent);
    let daemon = world.daemon(None);
    let continuation = post_hello(&daemon, "post_keyed").await;
    // Entered; its answer is waited for in vain. The run after it finds the service well.
    let deadline = std::time::Instant::now() + crate::support::daemon::DEADLINE;
    while world.entries() == 0 && std::time::Instant::now() < deadline {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    world.service.set_mode(Mode::Normal);
    let done = daemon.wait_state(&continuation, "completed").await;
    assert_eq!(call(&done)["state"], "succeeded", "{done:#}");
    assert_eq!((world.entries(), world.service.posts()), (1, 2));
}

#[tokio::test]
async fn a_service_that_cannot_be_reached_had_no_effect() {
    for tool in ["post_entry", "post_keyed", "post_checked"] {
        let world = World::new();
        world.service.refuse(true);
        let daemon = world.daemon(None);
        let continuation = post_hello(&daemon, tool).await;
        let done = daemon.wait_state(&continuation, "completed").await;
        assert_eq!(call(&done)["state"], "failed", "{tool}: {done:#}");
        assert_eq!(
            (
                world.entries(),
                daemon.approvals_of("resolve_unknown").await.len()
            ),
            (0, 0)
        );
    }
    fault(
        "tool-refused",
        "the connection was refused, for each effect class",
        "a failed result for the model, no question, no entry",
    );
}

#[tokio::test]
async fn a_call_that_cannot_be_prepared_never_starts() {
    let world = World::new();
    let daemon = world.daemon(None);
    let session = daemon.session().await;
    let text = "TOOL:post_entry{\"text\":\"unpreparable\"}\nSAY:done";
    let continuation = daemon.send(&session, text).await;
    let done = daemon.wait_state(&continuation, "completed").await;
    assert_eq!(call(&done)["state"], "failed");
    assert_eq!(call(&done)["attempts"], 0);
    assert_eq!(world.service.posts(), 0);
}

#[tokio::test]
async fn a_tool_that_panics_leaves_a_question_and_a_working_engine() {
    let world = World::new();
    let daemon = world.daemon(None);
    let session = daemon.session().await;
    let text = "TOOL:post_entry{\"text\":\"panic\"}\nSAY:done";
    let continuation = daemon.send(&session, text).await;
    let question = daemon
        .wait_question("resolve_unknown", "did it happen")
        .await;
    daemon.wait_state(&continuation, "awaiting_approval").await;
    assert_eq!(world.entries(), 1);
    let other = daemon.session().await;
    let plain = daemon.send(&other, "SAY:still here").await;
    daemon.wait_state(&plain, "completed").await;
    answer(&daemon, &question, "happened").await;
    daemon.wait_state(&continuation, "completed").await;
    assert_eq!(world.entries(), 1);
    fault(
        "tool-panics",
        "a tool panicked after its effect",
        "an unknown outcome that a person settles; other conversations go on",
    );
    crate::support::record::fact(
        "effects",
        "panic",
        &json!({"found_started": "not applicable: a person is asked at once", "asked": true, "entries": 1}),
    );
}
