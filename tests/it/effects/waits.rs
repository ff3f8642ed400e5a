//! When nothing is looked up: while held, and where the policy of now would not let the call run.

use serde_json::json;

use crate::effects::world::{World, answer, block, call, post_hello};
use crate::support::daemon::DEADLINE;
use crate::support::fake_service::Mode;

/// Waits until the service was posted to.
async fn posted(world: &World) {
    let deadline = std::time::Instant::now() + DEADLINE;
    while world.service.posts() == 0 {
        assert!(std::time::Instant::now() < deadline, "nothing was posted");
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn nothing_is_looked_up_while_the_engine_is_held() {
    let world = World::new();
    world.service.set_mode(Mode::Silent);
    let mut daemon = world.daemon(None);
    let continuation = post_hello(&daemon, "post_checked").await;
    posted(&world).await;
    daemon.post("/v1/emergency-stop", json!({})).await;
    daemon
        .wait_question("resolve_unknown", "did it happen")
        .await;
    daemon.kill();
    world.service.set_mode(Mode::Normal);
    let daemon = world.daemon(None);
    daemon
        .wait_question("resolve_unknown", "did it happen")
        .await;
    let path = format!("/v1/continuations/{continuation}");
    assert_eq!(call(&daemon.get(&path).await)["state"], "indeterminate");
    assert_eq!(world.service.looks(), 0, "looked up while held");
    daemon
        .post("/v1/emergency-stop/release", json!({ "waiting": "all" }))
        .await;
    let settled = daemon
        .wait(&path, "an outcome", |body| {
            call(body)["state"] == "succeeded_by_note"
        })
        .await;
    assert_eq!(call(&settled)["result"], "posted: hello");
    assert_eq!((world.entries(), world.service.looks()), (1, 1));
}

#[tokio::test]
async fn what_the_policy_of_now_denies_is_not_run_again_by_itself() {
    let world = World::new();
    world.service.set_mode(Mode::Deaf);
    let mut daemon = world.daemon(None);
    let continuation = post_hello(&daemon, "post_checked").await;
    posted(&world).await;
    block(&daemon, "post_checked").await;
    daemon.kill();
    world.service.set_mode(Mode::Normal);
    let daemon = world.daemon(None);
    let question = daemon
        .wait_question(
            "resolve_unknown",
            "it is not run again by itself: block list",
        )
        .await;
    assert_eq!(world.entries(), 0);
    // A person may say so, and the policy still stands.
    answer(&daemon, &question, "run_again").await;
    let done = daemon.wait_state(&continuation, "completed").await;
    assert_eq!(call(&done)["state"], "denied", "{done:#}");
    assert_eq!(world.entries(), 0);
}
