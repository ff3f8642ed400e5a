//! kill -9 around a step: it happened whole or not at all, and nobody gets it twice.

use crate::escalation::world::{ASKS, CLEO, escalated, home, outcomes, server, start, until};
use crate::people::audit;
use crate::stories::bot::{WRITE, ben, shown};
use crate::support::fake_telegram::FakeTelegram;

async fn survives(point: &str) {
    let telegram = FakeTelegram::start();
    let home = home(
        &telegram,
        "{ after = \"1s\", to = \"person:cleo\" }",
        "",
        "",
    );
    let mut daemon = start(
        &home,
        &telegram,
        &[("LEVERFRAME_CRASH", &format!("{point}:1"))],
    );
    telegram.user_says(ASKS, &ben(), WRITE);
    assert!(
        daemon.wait_exit().is_some_and(|status| !status.success()),
        "{point} was not reached"
    );
    let daemon = start(&home, &telegram, &[]);
    let asked = daemon.wait_approval().await;
    shown(&telegram, CLEO, "(step 1 of night)").await;
    escalated(&daemon, &asked["id"], "the step", |one| {
        outcomes(one) == ["sent"]
    })
    .await;
    assert_eq!(audit(&daemon, "approval.escalated").await.len(), 1);
    let cards = telegram.messages(CLEO);
    assert_eq!(cards.len(), 1, "{cards:?}");
    assert_eq!(daemon.decide(&asked, "deny").await.0, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_inside_a_step_it_is_taken_after_the_start() {
    survives("escalate.pre_commit").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_behind_a_step_it_is_delivered_and_not_taken_again() {
    survives("escalate.post").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_behind_a_post_it_is_posted_again_under_the_same_sequence() {
    let telegram = FakeTelegram::start();
    let (ntfy, posted) = server(Vec::new());
    let steps = format!("{{ after = \"1s\", to = \"ntfy:{}/t\" }}", ntfy.url());
    let home = home(&telegram, &steps, "", "");
    let mut daemon = start(
        &home,
        &telegram,
        &[("LEVERFRAME_CRASH", "escalate.posted:1")],
    );
    telegram.user_says(ASKS, &ben(), WRITE);
    assert!(daemon.wait_exit().is_some_and(|status| !status.success()));
    let daemon = start(&home, &telegram, &[]);
    let asked = daemon.wait_approval().await;
    escalated(&daemon, &asked["id"], "the step", |one| {
        outcomes(one) == ["sent"]
    })
    .await;
    let posts = until(&posted, "both posts", |all| all.len() == 2).await;
    let sequence = |at: usize| posts[at].headers["x-sequence-id"].clone();
    assert_eq!(sequence(0), sequence(1));
    assert_eq!(audit(&daemon, "approval.escalated").await.len(), 1);
    assert_eq!(daemon.decide(&asked, "deny").await.0, 200);
}
