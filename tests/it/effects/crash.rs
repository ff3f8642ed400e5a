//! kill -9 before and after the effect of a call, for each class.

use serde_json::json;

use crate::effects::world::{World, answer, call};
use crate::support::record::fact;

/// Died before the effect, died after it.
const POINTS: &[(&str, usize)] = &[("tool.started", 0), ("tool.effect_done", 1)];

#[tokio::test]
async fn a_keyed_call_runs_again_by_itself_and_counts_once() {
    for (point, before) in POINTS {
        let world = World::new();
        world.service.honour_keys(true);
        let continuation = world.died_at(point, "post_keyed").await;
        assert_eq!(world.entries(), *before, "{point}");
        let daemon = world.daemon(None);
        let done = daemon.wait_state(&continuation, "completed").await;
        assert_eq!(call(&done)["state"], "succeeded", "{done:#}");
        assert_eq!(call(&done)["attempts"], 2);
        assert_eq!(world.entries(), 1, "{point}");
        assert_eq!(
            daemon.approvals_of("resolve_unknown").await,
            Vec::<serde_json::Value>::new()
        );
    }
    fact(
        "effects",
        "keyed",
        &json!({"found_started": "run again under the same key", "asked": false, "entries": 1}),
    );
}

#[tokio::test]
async fn a_reconcilable_call_is_looked_up_and_counts_once() {
    for (point, before) in POINTS {
        let world = World::new();
        let continuation = world.died_at(point, "post_checked").await;
        assert_eq!(world.entries(), *before, "{point}");
        let daemon = world.daemon(None);
        let done = daemon.wait_state(&continuation, "completed").await;
        assert_eq!(world.entries(), 1, "{point}");
        assert!(world.service.looks() >= 1);
        let asked = daemon.approvals_of("resolve_unknown").await;
        assert_eq!(asked.len(), 1, "{asked:#?}");
        let decision = &asked[0]["decision"];
        assert_eq!(decision["by"], "engine", "{decision:#}");
        assert_eq!(decision["surface"], "engine");
        let reason = decision["reason"].as_str().expect("the words of the look");
        if *before == 0 {
            assert_eq!(decision["decision"], "run_again");
            assert!(reason.contains("did not happen"), "{reason}");
            assert_eq!(call(&done)["state"], "succeeded");
            assert_eq!(call(&done)["attempts"], 2);
        } else {
            assert_eq!(decision["decision"], "happened");
            assert!(reason.contains("it happened: posted: hello"), "{reason}");
            assert_eq!(call(&done)["state"], "succeeded_by_note");
            assert_eq!(call(&done)["attempts"], 1);
            assert_eq!(call(&done)["result"], "posted: hello", "{done:#}");
        }
    }
    fact(
        "effects",
        "reconcilable",
        &json!({"found_started": "looked up, answered by the engine", "asked": false, "entries": 1}),
    );
}

#[tokio::test]
async fn a_call_that_cannot_repeat_waits_for_a_person() {
    for (point, before) in POINTS {
        let world = World::new();
        let continuation = world.died_at(point, "post_entry").await;
        let daemon = world.daemon(None);
        let question = daemon
            .wait_question("resolve_unknown", "did it happen")
            .await;
        daemon.wait_state(&continuation, "awaiting_approval").await;
        assert_eq!(world.entries(), *before, "{point}");
        assert_eq!(world.service.looks(), 0);
        // The person looks at the ledger, as people do.
        let word = if *before == 0 {
            "run_again"
        } else {
            "happened"
        };
        answer(&daemon, &question, word).await;
        daemon.wait_state(&continuation, "completed").await;
        assert_eq!(world.entries(), 1, "{point}");
    }
    // A person's word to run it again is followed, right or wrong.
    let world = World::new();
    let continuation = world.died_at("tool.effect_done", "post_entry").await;
    let daemon = world.daemon(None);
    let question = daemon
        .wait_question("resolve_unknown", "did it happen")
        .await;
    answer(&daemon, &question, "run_again").await;
    daemon.wait_state(&continuation, "completed").await;
    assert_eq!(world.entries(), 2);
    fact(
        "effects",
        "non_idempotent",
        &json!({"found_started": "a person is asked", "asked": true, "entries": 1}),
    );
}

#[tokio::test]
async fn a_key_that_ran_out_is_no_key() {
    let world = World::new().with_key_life(1);
    world.service.honour_keys(true);
    let continuation = world.died_at("tool.effect_done", "post_keyed").await;
    world.service.forget_keys();
    let daemon = world.daemon(None);
    let question = daemon
        .wait_question("resolve_unknown", "no way to look")
        .await;
    daemon.wait_state(&continuation, "awaiting_approval").await;
    assert_eq!(world.entries(), 1);
    assert_eq!(world.service.posts(), 1, "it was run again by itself");
    answer(&daemon, &question, "happened").await;
    daemon.wait_state(&continuation, "completed").await;
    assert_eq!(world.entries(), 1);
    fact(
        "effects",
        "keyed-key-ran-out",
        &json!({"found_started": "looked up; a person is asked where that does not tell", "asked": true, "entries": 1}),
    );
}

#[tokio::test]
async fn a_look_that_does_not_tell_leaves_the_question() {
    let world = World::new();
    world.service.set_blind(true);
    let continuation = world.died_at("tool.started", "post_checked").await;
    let mut daemon = world.daemon(None);
    daemon
        .wait_question("resolve_unknown", "Looked up: the service would not say")
        .await;
    daemon.wait_state(&continuation, "awaiting_approval").await;
    assert_eq!(world.entries(), 0);
    assert_eq!(world.service.looks(), 1, "asked once a start");
    // The next start looks again, and this time the service tells.
    daemon.terminate();
    world.service.set_blind(false);
    let daemon = world.daemon(None);
    daemon.wait_state(&continuation, "completed").await;
    assert_eq!(world.entries(), 1);
    fact(
        "effects",
        "reconcilable-unclear",
        &json!({"found_started": "a person is asked; looked up again at each start", "asked": true, "entries": 1}),
    );
}
