//! kill -9 at every point of sending a two-part answer, for each class of adapter.

use serde_json::{Value, json};

use crate::deliveries::world::{World, wait_parts};
use crate::support::record::fact;

/// Each point with how often it is reached by two parts: the intent and the end of a send are each passed in the
/// store and in the bridge.
const POINTS: &[(&str, u32)] = &[
    ("send.started", 4),
    ("send.effect_done", 2),
    ("send.post", 4),
];

fn schedules() -> Vec<String> {
    POINTS
        .iter()
        .flat_map(|(point, times)| (1..=*times).map(move |nth| format!("{point}:{nth}")))
        .collect()
}

/// Dies there, starts again, and waits until both parts are sent by themselves; the questions that were asked.
async fn through(offers: &str, crash: &str) -> (World, Vec<Value>) {
    let world = World::new(offers);
    world.ask_long();
    let mut daemon = world.daemon(Some(crash));
    daemon
        .wait_exit()
        .unwrap_or_else(|| panic!("{crash} is never reached"));
    let daemon = world.daemon(None);
    wait_parts(&daemon, &["sent", "sent"]).await;
    let asked = daemon.approvals_of("resend").await;
    (world, asked)
}

#[tokio::test]
async fn where_the_platform_knows_keys_everything_is_seen_once_and_nobody_is_asked() {
    let schedules = schedules();
    for crash in &schedules {
        let (world, asked) = through("native", crash).await;
        assert_eq!(world.wrong(2), Vec::<String>::new(), "{crash}");
        assert_eq!(asked, Vec::<Value>::new(), "{crash}");
    }
    fact(
        "deliveries",
        "native-key",
        &json!({"schedules": schedules.len(), "violations": 0, "asked": 0}),
    );
}

#[tokio::test]
async fn where_the_platform_can_be_asked_everything_is_seen_once_and_the_look_settles_it() {
    let schedules = schedules();
    let mut looked = 0;
    for crash in &schedules {
        let (world, asked) = through("reconcile", crash).await;
        assert_eq!(world.wrong(2), Vec::<String>::new(), "{crash}");
        for question in &asked {
            looked += 1;
            let decision = &question["decision"];
            assert_eq!(decision["by"], "engine", "{crash}: {question:#}");
            assert!(
                decision["reason"]
                    .as_str()
                    .is_some_and(|why| why.contains("looked up")),
                "{crash}: {question:#}"
            );
        }
    }
    assert!(looked > 0, "no schedule left anything unknown");
    fact(
        "deliveries",
        "reconcile",
        &json!({"schedules": schedules.len(), "violations": 0, "settled_by_a_look": looked}),
    );
}

#[tokio::test]
async fn where_the_platform_offers_nothing_a_person_is_asked() {
    for (crash, seen, word) in [
        ("send.started:1", 0, "send_again"),
        ("send.effect_done:1", 1, "sent"),
    ] {
        let world = World::new("none");
        world.ask_long();
        let mut daemon = world.daemon(Some(crash));
        daemon.wait_exit().expect("it dies at the point");
        let daemon = world.daemon(None);
        wait_parts(&daemon, &["unknown", "pending"]).await;
        let question = daemon.wait_question("resend", "Did it arrive?").await;
        assert_eq!((world.wrong(seen), world.platform.looks()), (Vec::new(), 0));
        let (status, body) = daemon.decide(&question, word).await;
        assert_eq!(status, 200, "{body:#}");
        wait_parts(&daemon, &["sent", "sent"]).await;
        assert_eq!(world.wrong(2), Vec::<String>::new(), "{crash}");
    }
}

#[tokio::test]
async fn a_key_that_the_platform_forgot_is_looked_up_or_asked_about() {
    let world = World::new("native-1");
    world.platform.set_blind(true);
    world.ask_long();
    let mut daemon = world.daemon(Some("send.effect_done:1"));
    daemon.wait_exit().expect("it dies at the point");
    let daemon = world.daemon(None);
    let question = daemon
        .wait_question("resend", "Looked up: the platform would not say")
        .await;
    wait_parts(&daemon, &["unknown", "pending"]).await;
    assert_eq!(world.platform.sends(), 1, "sent again by itself");
    let (status, body) = daemon.decide(&question, "sent").await;
    assert_eq!(status, 200, "{body:#}");
    wait_parts(&daemon, &["sent", "sent"]).await;
    assert_eq!(world.wrong(2), Vec::<String>::new());
}

#[tokio::test]
async fn a_platform_that_would_not_say_leaves_the_question() {
    let world = World::new("reconcile");
    world.platform.set_blind(true);
    world.ask_long();
    let mut daemon = world.daemon(Some("send.effect_done:1"));
    daemon.wait_exit().expect("it dies at the point");
    let mut daemon = world.daemon(None);
    daemon
        .wait_question("resend", "Looked up: the platform would not say")
        .await;
    wait_parts(&daemon, &["unknown", "pending"]).await;
    daemon.terminate();
    world.platform.set_blind(false);
    let daemon = world.daemon(None);
    wait_parts(&daemon, &["sent", "sent"]).await;
    assert_eq!(world.wrong(2), Vec::<String>::new());
}
