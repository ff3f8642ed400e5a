//! Faults of the platform while a message is sent, for each class of adapter.

use serde_json::Value;

use crate::deliveries::world::{World, wait_parts};
use crate::support::daemon::DEADLINE;
use crate::support::fake_platform::Mode;
use crate::support::record::fault;

/// What came of a send that met a fault, after the platform was well again: the part's state, what was seen, how
/// often a person is asked now.
async fn met(offers: &str, mode: Mode) -> (String, usize, usize) {
    let world = World::new(offers);
    world.platform.set_mode(mode);
    world.ask("SAY:hello");
    let daemon = world.daemon(None);
    let deadline = std::time::Instant::now() + DEADLINE;
    while world.platform.sends() == 0 {
        assert!(std::time::Instant::now() < deadline, "nothing was sent");
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    world.platform.set_mode(Mode::Normal);
    if offers == "none" {
        daemon
            .wait_question("resend", "may have been delivered")
            .await;
    } else {
        wait_parts(&daemon, &["sent"]).await;
    }
    let list = daemon.get("/v1/outbox").await;
    let state = list["items"][0]["state"]
        .as_str()
        .expect("a state")
        .to_owned();
    let waiting = daemon
        .approvals_of("resend")
        .await
        .iter()
        .filter(|question| question["state"] == "pending")
        .count();
    (state, world.platform.visible().len(), waiting)
}

fn is(state: &str, seen: usize, waiting: usize) -> (String, usize, usize) {
    (state.to_owned(), seen, waiting)
}

#[tokio::test]
async fn a_send_that_was_reset_after_it_arrived_is_seen_once() {
    assert_eq!(met("native", Mode::ResetAfter).await, is("sent", 1, 0));
    assert_eq!(met("reconcile", Mode::ResetAfter).await, is("sent", 1, 0));
    assert_eq!(met("none", Mode::ResetAfter).await, is("unknown", 1, 1));
    fault(
        "send-reset-after",
        "the connection was reset after the message arrived, for each class of adapter",
        "seen once: sent again under its key, looked up, or a person is asked",
    );
}

#[tokio::test]
async fn a_send_that_was_reset_before_it_arrived_is_seen_once_where_that_can_be_known() {
    assert_eq!(met("native", Mode::ResetBefore).await, is("sent", 1, 0));
    assert_eq!(met("reconcile", Mode::ResetBefore).await, is("sent", 1, 0));
    assert_eq!(met("none", Mode::ResetBefore).await, is("unknown", 0, 1));
    fault(
        "send-reset-before",
        "the connection was reset before the message arrived, for each class of adapter",
        "seen once: sent again under its key, looked up and sent again, or a person is asked",
    );
}

#[tokio::test]
async fn a_send_that_was_never_answered_is_seen_once() {
    assert_eq!(met("native", Mode::Silent).await, is("sent", 1, 0));
    assert_eq!(met("reconcile", Mode::Silent).await, is("sent", 1, 0));
    assert_eq!(met("none", Mode::Silent).await, is("unknown", 1, 1));
    fault(
        "send-timeout",
        "the message arrived and the platform never answered, for each class of adapter",
        "seen once: sent again under its key, looked up, or a person is asked",
    );
}

#[tokio::test]
async fn a_platform_that_cannot_be_reached_is_waited_for() {
    for offers in ["native", "reconcile", "none"] {
        let world = World::new(offers);
        world.ask("SLOW:40\nSAY:hello");
        let daemon = world.daemon(None);
        daemon
            .wait("/v1/continuations", "the turn", |body| {
                body["items"]
                    .as_array()
                    .is_some_and(|items| !items.is_empty())
            })
            .await;
        world.platform.refuse(true);
        wait_parts(&daemon, &["pending"]).await;
        world.platform.refuse(false);
        wait_parts(&daemon, &["sent"]).await;
        assert_eq!(world.wrong(1), Vec::<String>::new(), "{offers}");
        assert_eq!(
            daemon.approvals_of("resend").await,
            Vec::<Value>::new(),
            "{offers}"
        );
    }
    fault(
        "send-refused",
        "the platform refused connections, for each class of adapter",
        "sent once when it took them again; nobody was asked",
    );
}
