//! kill -9 around the beginning of a run: the due time has exactly one run afterwards, and its answer comes once.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::daemon::{Daemon, Home};

/// A home whose wall clock can be set.
struct Place {
    home: Home,
    offset: PathBuf,
}

impl Place {
    fn new() -> Self {
        let home = Home::new("[channels.routine]\nautonomy = \"full\"\npermanent_full = true\n");
        let offset = home.path().join("offset");
        Self { home, offset }
    }

    fn jump(&self, seconds: i64) {
        let new = self.offset.with_extension("new");
        std::fs::write(&new, seconds.to_string()).expect("the offset");
        std::fs::rename(&new, &self.offset).expect("the offset");
    }

    fn daemon(&self, crash: Option<&str>) -> Daemon {
        let offset = self.offset.to_str().expect("UTF-8");
        let mut environment = vec![("LEVERFRAME_CLOCK_OFFSET_FILE", offset)];
        environment.extend(crash.map(|crash| ("LEVERFRAME_CRASH", crash)));
        self.home.daemon_with(&environment)
    }
}

async fn runs(daemon: &Daemon) -> Vec<Value> {
    let list = daemon.get("/v1/routines/daily/runs").await;
    list["items"].as_array().expect("a list").clone()
}

/// Kills the daemon at a point while a run begins; then the next daemon settles what is left.
async fn survives(point: &str) {
    let place = Place::new();
    let mut daemon = place.daemon(Some(&format!("{point}:1")));
    let made = json!({ "name": "daily", "schedule": "every 1h", "prompt": "SAY:good morning" });
    let routine = daemon.post("/v1/routines", made).await;
    let due = routine["due_at"].clone();
    place.jump(3601);
    // Wakes the scheduler; the daemon may be gone before it answers.
    let _ = daemon
        .try_request(
            "PATCH",
            "/v1/routines/daily",
            Some(json!({ "missed": "skip" })),
        )
        .await;
    assert!(
        daemon.wait_exit().is_some_and(|status| !status.success()),
        "{point} was not reached"
    );
    drop(daemon);
    for start in 0..2 {
        let mut daemon = place.daemon(None);
        let path = "/v1/routines/daily";
        let settled = |routine: &Value| {
            routine["due_at"] != due && routine["last_run"]["continuation_state"] != "pending"
        };
        daemon.wait(path, "the due time is settled", settled).await;
        let all = runs(&daemon).await;
        assert_eq!(all.len(), 1, "{point}, start {start}: {all:#?}");
        assert_eq!(all[0]["due_at"], due);
        assert_eq!(all[0]["state"], "started");
        let id = all[0]["continuation_id"]
            .as_str()
            .expect("a turn")
            .to_owned();
        // Killed after the commit, its turn was still pending or had begun: a person lets it go on, if need be.
        let turn = daemon
            .wait(
                &format!("/v1/continuations/{id}"),
                "it ends or waits",
                |turn| matches!(turn["state"].as_str(), Some("completed" | "interrupted")),
            )
            .await;
        if turn["state"] == "interrupted" {
            daemon
                .post(&format!("/v1/continuations/{id}/resume"), json!({}))
                .await;
        }
        let turn = daemon.wait_state(&id, "completed").await;
        assert_eq!(turn["response"]["text"], "good morning");
        let turns = daemon.get("/v1/continuations?limit=100").await;
        assert_eq!(
            turns["items"].as_array().expect("a list").len(),
            1,
            "{point}"
        );
        assert!(daemon.terminate().success());
    }
    let output = place
        .home
        .command()
        .args(["doctor", "--check"])
        .output()
        .expect("the binary runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stdout)
    );
}

#[tokio::test]
async fn killed_before_the_commit_it_begins_at_the_next_start() {
    survives("routine.begin_pre_commit").await;
}

#[tokio::test]
async fn killed_after_the_commit_it_does_not_begin_again() {
    survives("routine.begin_post_commit").await;
}

#[tokio::test]
async fn killed_inside_and_behind_the_message_it_begins_once() {
    survives("ingest.pre_commit").await;
    survives("claim.post").await;
}
