//! Two operators at once, and an operator against the clock.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::daemon::{Daemon, Home};

/// Approvals that are fought over.
const ROUNDS: usize = 8;

/// One command that waits, in a session of its own: continuation and approval. `label` is what it writes.
async fn waits(daemon: &Daemon, label: &str) -> (String, Value) {
    let session = daemon.session().await;
    let args = json!({ "argv": ["sh", "-c", format!("echo {label} >> ledger.txt")] });
    let text = format!("TOOL:execute_command{args}\nSAY:done");
    let continuation = daemon.send(&session, &text).await;
    let mine = |body: &Value| {
        body["items"].as_array().and_then(|items| {
            items
                .iter()
                .find(|item| item["continuation_id"] == continuation.as_str())
                .cloned()
        })
    };
    let list = daemon
        .wait("/v1/approvals?state=pending", "its approval", |body| {
            mine(body).is_some()
        })
        .await;
    let approval = mine(&list).expect("it was there");
    (continuation, approval)
}

fn ran(home: &Home, label: &str) -> usize {
    std::fs::read_to_string(home.workspace("api").join("ledger.txt"))
        .unwrap_or_default()
        .lines()
        .filter(|line| *line == label)
        .count()
}

#[tokio::test]
async fn of_two_operators_at_once_one_wins_and_the_other_is_told_who() {
    let home = Home::new("");
    let daemon = home.daemon();
    for round in 0..ROUNDS {
        let label = format!("opposite{round}");
        let (continuation, approval) = waits(&daemon, &label).await;
        let (yes, no) = tokio::join!(
            daemon.decide(&approval, "approve"),
            daemon.decide(&approval, "deny")
        );
        let (winner, loser) = if yes.0 == 200 {
            ("approve", &no)
        } else {
            ("deny", &yes)
        };
        assert_eq!(
            {
                let mut both = [yes.0, no.0];
                both.sort_unstable();
                both
            },
            [200, 409],
            "{yes:?} {no:?}"
        );
        assert_eq!(loser.1["winner"]["decision"], winner, "{loser:?}");
        daemon.wait_state(&continuation, "completed").await;
        assert_eq!(
            ran(&home, &label),
            usize::from(winner == "approve"),
            "{label}"
        );

        let label = format!("same{round}");
        let (continuation, approval) = waits(&daemon, &label).await;
        let (one, other) = tokio::join!(
            daemon.decide(&approval, "approve"),
            daemon.decide(&approval, "approve")
        );
        assert_eq!((one.0, other.0), (200, 200), "{one:?} {other:?}");
        daemon.wait_state(&continuation, "completed").await;
        assert_eq!(ran(&home, &label), 1, "{label}");
    }
}

#[tokio::test]
async fn an_approval_at_the_moment_it_expires_either_counts_or_does_not() {
    let home = Home::new("[approvals]\nlife_seconds = 1\nhigh_risk_life_seconds = 1\n");
    let daemon = home.daemon();
    let (mut in_time, mut too_late) = (0, 0);
    // Around the end of its life: before, at it, and after.
    for (round, after) in [600_u64, 900, 970, 990, 1000, 1010, 1030, 1300]
        .into_iter()
        .enumerate()
    {
        let label = format!("late{round}");
        let (continuation, approval) = waits(&daemon, &label).await;
        let asked: i64 = millis(&approval["requested_at"]);
        let left = asked + i64::try_from(after).unwrap() - now();
        tokio::time::sleep(Duration::from_millis(u64::try_from(left).unwrap_or(0))).await;
        let (status, answer) = daemon.decide(&approval, "approve").await;
        match status {
            200 => {
                in_time += 1;
                daemon.wait_state(&continuation, "completed").await;
                assert_eq!(ran(&home, &label), 1, "{label}: {answer}");
            }
            410 => {
                too_late += 1;
                daemon.wait_state(&continuation, "expired").await;
                assert_eq!(ran(&home, &label), 0, "{label}: {answer}");
            }
            other => panic!("{other}: {answer}"),
        }
    }
    assert!(
        in_time > 0 && too_late > 0,
        "{in_time} in time, {too_late} too late: the race was not run"
    );
}

fn now() -> i64 {
    leverframe::clock::Clock::System.now().as_millis()
}

fn millis(value: &Value) -> i64 {
    let at: leverframe::clock::Timestamp = serde_json::from_value(value.clone()).expect("a time");
    at.as_millis()
}
