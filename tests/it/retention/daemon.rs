//! The daemon and the command line: sweeping on demand, by itself at the start, and what followers are told.

use std::io::Read as _;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::support::daemon::{DEADLINE, Daemon, Home, client};

/// Makes everything a stopped daemon stored older by this many days, except its audit; its next start sweeps.
pub fn age(home: &Home, days: i64) {
    let conn = Connection::open(home.data().join("leverframe.db")).unwrap();
    let by = days * 24 * 3600 * 1000;
    for (table, columns) in [
        ("events", &["at"][..]),
        ("sessions", &["created_at", "updated_at"]),
        ("continuations", &["created_at", "updated_at", "ended_at"]),
        ("inbox", &["received_at"]),
        ("steps", &["at"]),
        (
            "approvals",
            &["requested_at", "updated_at", "decided_at", "expires_at"],
        ),
        ("outbox", &["created_at", "updated_at", "settled_at"]),
        ("artifacts", &["created_at"]),
    ] {
        for column in columns {
            conn.execute(
                &format!("UPDATE {table} SET {column} = {column} - {by}"),
                [],
            )
            .unwrap();
        }
    }
    conn.execute("DELETE FROM meta WHERE key = 'last_sweep'", [])
        .unwrap();
}

/// A home where this many turns ended, and the daemon that served them has stopped.
pub async fn with_turns(config: &str, turns: usize) -> Home {
    let home = Home::new(config);
    let mut daemon = home.daemon();
    for n in 0..turns {
        let session = daemon.session().await;
        let id = daemon.send(&session, &format!("SAY:answer {n}")).await;
        daemon.wait_state(&id, "completed").await;
    }
    assert!(daemon.terminate().success());
    // What the next one says is looked for from here on.
    std::fs::write(home.path().join("stderr.log"), "").unwrap();
    home
}

/// Waits until the daemon's own sweep has ended.
pub async fn swept_by_itself(home: &Home) {
    let deadline = Instant::now() + DEADLINE;
    while !home.log().contains("swept") {
        assert!(Instant::now() < deadline, "no sweep: {}", home.log());
        tokio::time::sleep(Duration::from_millis(15)).await;
    }
}

async fn turns(daemon: &Daemon) -> usize {
    daemon.get("/v1/continuations").await["items"]
        .as_array()
        .unwrap()
        .len()
}

#[tokio::test]
async fn an_overdue_sweep_runs_at_the_start_and_followers_of_what_went_are_reset() {
    let home = with_turns("", 4).await;
    age(&home, 40);
    let daemon = home.daemon();
    swept_by_itself(&home).await;
    assert_eq!(turns(&daemon).await, 1, "all but the newest");

    // A cursor into what is gone gets a reset; the snapshot says where to go on.
    let first = |after: u64| {
        let url = format!("{}/v1/events?after={after}", daemon.base);
        let request = client().get(url).bearer_auth(&daemon.token).send();
        async move {
            let mut response = request.await.unwrap();
            assert_eq!(response.status(), 200);
            let mut text = String::new();
            while !text.contains("event: ") {
                let chunk = response.chunk().await.unwrap().expect("the stream goes on");
                text.push_str(std::str::from_utf8(&chunk).unwrap());
            }
            text
        }
    };
    assert!(first(1).await.contains("event: reset"));
    let seq = daemon.get("/v1/snapshot").await["seq"].as_u64().unwrap();
    let session = daemon.session().await;
    let next = first(seq).await;
    assert!(next.contains("event: session.started"), "{next}");
    assert!(next.contains(&session), "{next}");
}

#[tokio::test]
async fn a_model_call_names_what_retention_removed() {
    let home = Home::new("[engine]\nhistory_exchanges = 2\n[retention]\nsession_idle_days = 300\n");
    let mut daemon = home.daemon();
    let session = daemon.session().await;
    for n in 0..5 {
        let id = daemon.send(&session, &format!("SAY:answer {n}")).await;
        daemon.wait_state(&id, "completed").await;
    }
    assert!(daemon.terminate().success());
    std::fs::write(home.path().join("stderr.log"), "").unwrap();
    age(&home, 40);
    let daemon = home.daemon();
    swept_by_itself(&home).await;
    // At each call from then on, not only at the next.
    for _ in 0..2 {
        let id = daemon.send(&session, "SAY:and now?").await;
        daemon.wait_state(&id, "completed").await;
        let steps = daemon.get(&format!("/v1/continuations/{id}/steps")).await;
        assert_eq!(
            steps["items"][0]["body"]["dropped"],
            json!(["3 earlier exchange(s): removed by retention (retention.history_days = 30)"]),
            "{steps:#}"
        );
    }
}

#[tokio::test]
async fn the_command_line_previews_and_sweeps() {
    let home = with_turns("", 3).await;
    let daemon = home.daemon();
    let run = |arguments: &'static [&'static str]| {
        let mut command = home.command();
        command.args(arguments);
        async move {
            tokio::task::spawn_blocking(move || command.output().unwrap())
                .await
                .unwrap()
        }
    };
    let words = run(&["sweep", "--preview"]).await;
    assert!(words.status.success());
    let words = String::from_utf8(words.stdout).unwrap();
    assert!(
        words.contains("0  ended turns would go") && words.contains("nothing was changed"),
        "{words}"
    );
    let report = run(&["sweep", "--json"]).await;
    let report: Value = serde_json::from_slice(&report.stdout).unwrap();
    assert_eq!(report["preview"], false);
    assert_eq!(report["continuations"], 0, "nothing is old");
    assert_eq!(turns(&daemon).await, 3);

    let (status, problem) = daemon
        .request("POST", "/v1/sweep", Some(json!({"all": true})))
        .await;
    assert_eq!(status, 400, "{problem}");
    let preview = daemon.post("/v1/sweep", json!({"preview": true})).await;
    assert_eq!(preview["preview"], true);
}

#[tokio::test]
async fn how_long_things_are_kept_can_be_configured() {
    let home = with_turns("[retention]\nhistory_days = 60\n", 3).await;
    age(&home, 40);
    let daemon = home.daemon();
    swept_by_itself(&home).await;
    assert_eq!(turns(&daemon).await, 3, "they are kept for 60 days");
    // The file is read to its end so that a test that never ran is not taken for one that held.
    let mut config = String::new();
    std::fs::File::open(home.path().join("config/config.toml"))
        .unwrap()
        .read_to_string(&mut config)
        .unwrap();
    assert!(config.contains("history_days = 60"));
}
