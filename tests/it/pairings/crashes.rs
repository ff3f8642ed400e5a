//! kill -9 between a stranger's message and the notice: one question, one notice.

use crate::pairings::daemon::{heard, home, pairings};
use crate::support::fake_telegram::FakeTelegram;
use crate::support::fake_telegram::state::User;

async fn survives(point: &str) {
    let telegram = FakeTelegram::start();
    let home = home(&telegram, "", "");
    let token = telegram.state().token.clone();
    let crash = format!("{point}:1");
    let mut daemon = home.daemon_with(&[("TEAM_TOKEN", &token), ("LEVERFRAME_CRASH", &crash)]);
    telegram.user_says(999, &User::new(999, "Mallory"), "hello");
    assert!(daemon.wait_exit().is_some_and(|status| !status.success()));
    assert!(telegram.messages(999).is_empty(), "said before it was kept");
    let mut daemon = home.daemon_with(&[("TEAM_TOKEN", &token)]);
    let told = heard(&telegram, 999, 1).await;
    // The platform tells it again, because it was never confirmed.
    telegram.user_says(200, &User::new(200, "Anna"), "SAY:later");
    telegram
        .wait_until("Anna's answer", |state| {
            state
                .messages
                .iter()
                .any(|m| m.chat == 200 && m.text.contains("later"))
        })
        .await;
    heard(&telegram, 999, 1).await;
    let asking = pairings(&daemon).await;
    assert_eq!(asking.len(), 1, "{asking:#?}");
    assert!(told[0].contains(asking[0]["code"].as_str().unwrap()));
    let approvals = daemon.get("/v1/approvals").await;
    assert_eq!(
        approvals["items"].as_array().unwrap().len(),
        1,
        "{approvals:#}"
    );
    daemon.terminate();
    let mut doctor = home.command();
    doctor.env("TEAM_TOKEN", &token);
    let output = doctor.args(["doctor", "--check"]).output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stdout)
    );
}

#[tokio::test]
async fn killed_before_the_question_is_kept_it_is_asked_once() {
    survives("pairing.pre_commit").await;
}

#[tokio::test]
async fn killed_behind_the_question_it_is_not_asked_again() {
    survives("pairing.post").await;
}
