//! `leverframe get fleet`: what waits, failed and was spent on each channel, counted from real turns.

use serde_json::Value;

use crate::console_pty::door::WRITE;
use crate::support::daemon::Home;
use crate::take_overs::daemon::cli;

fn sum(values: &Value) -> u64 {
    let values = values.as_array().unwrap();
    assert_eq!(values.len(), 24);
    values.iter().map(|value| value.as_u64().unwrap()).sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_fleet_counts_turns_errors_and_questions_of_each_channel() {
    let home = Home::new("[budgets.channel]\nmax_tokens = 10000\n");
    let daemon = home.daemon();
    let session = daemon.session().await;
    for (text, state) in [("SAY:hello", "completed"), ("FAIL:auth", "failed")] {
        let turn = daemon.send(&session, text).await;
        daemon.wait_state(&turn, state).await;
    }
    daemon.send(&session, WRITE).await;
    let asked = daemon.wait_approval().await;

    let fleet = daemon.get("/v1/fleet").await["items"].clone();
    let row = |name: &str| {
        let rows = fleet.as_array().unwrap().iter();
        let row = rows.clone().find(|row| row["name"] == name);
        row.cloned().unwrap_or_else(|| panic!("{fleet:#}"))
    };
    let api = row("api");
    assert_eq!((sum(&api["turns"]), sum(&api["errors"])), (3, 1), "{api:#}");
    assert_eq!(api["waiting"], 1);
    assert_eq!(api["oldest_waiting_at"], asked["requested_at"]);
    assert_eq!(api["budget"]["budget"], "channel_tokens");
    assert!(api["budget"]["percent"].as_f64().unwrap() > 0.0, "{api:#}");
    let desk = row("desk");
    assert_eq!((sum(&desk["turns"]), &desk["waiting"]), (0, &0.into()));

    let (status, text) = cli(&home, &["get", "fleet"]).await;
    assert_eq!(status, Some(0), "{text}");
    let line = text.lines().find(|line| line.starts_with("api ")).unwrap();
    let cells: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(cells.get(1..3), Some(["local", "1"].as_slice()), "{text}");
    assert_eq!(cells.get(4), Some(&"1"), "{text}");
    assert!(cells.last().unwrap().contains('█'), "{text}");
}
