//! kill -9 at each point of a run and of an undo: the next start marks the one and ends the other, and what the preview,
//! the run and the undo say goes on to be true.

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::hygiene::daemon::{checked, open, remembering};
use crate::hygiene::world::{Everything, everything_of};
use crate::support::daemon::{Daemon, Home};
use crate::support::record::fault;

/// Memories, of which all but the youngest 100 go.
const ALL: i64 = 1300;
const OLD: u64 = 1200;

fn number(conn: &Connection, query: &str) -> u64 {
    conn.query_row(query, [], |row| row.get(0)).unwrap()
}

fn everything(home: &Home) -> Everything {
    everything_of(&open(home))
}

const ARCHIVED: &str = "SELECT count(*) FROM memories WHERE state = 'archived'";

async fn runs(daemon: &Daemon) -> Vec<Value> {
    let runs = daemon.get("/v1/memory/hygiene/runs").await;
    runs["items"].as_array().unwrap().clone()
}

/// A home whose memories are old; nothing runs by itself.
fn home() -> Home {
    remembering("", ALL, |n| if n < OLD as i64 { 60 } else { 1 })
}

#[tokio::test]
async fn a_run_that_is_killed_is_marked_and_the_next_one_does_the_rest() {
    for point in [
        "hygiene.mid:1",
        "hygiene.mid:2",
        "hygiene.mid:5",
        "hygiene.pre_end:1",
    ] {
        let home = home();
        let before = everything(&home);
        let mut daemon = home.daemon_with(&[("LEVERFRAME_CRASH", point)]);
        let said = daemon.get("/v1/memory/hygiene/preview").await;
        assert_eq!(said["archived"], OLD);
        let body = Some(json!({"yes": true}));
        assert!(
            daemon
                .try_request("POST", "/v1/memory/hygiene", body)
                .await
                .is_err(),
            "{point}"
        );
        assert!(daemon.wait_exit().is_some(), "{point}: it was killed");
        let archived = number(&open(&home), ARCHIVED);
        assert!(
            archived < OLD || point.starts_with("hygiene.pre_end"),
            "{point}: {archived}"
        );
        assert_eq!(
            number(
                &open(&home),
                "SELECT count(*) FROM hygiene_runs WHERE state = 'running'"
            ),
            1
        );

        let mut daemon = home.daemon();
        daemon
            .wait("/v1/memory/hygiene/runs", "the run is marked", |runs| {
                runs["items"][0]["state"] == "stopped"
            })
            .await;
        let cut = runs(&daemon).await.remove(0);
        assert_eq!(cut["report"]["archived"], archived, "{point}");
        assert!(
            cut["report"]["note"]
                .as_str()
                .unwrap()
                .contains("the process ended"),
            "{cut:#}"
        );
        checked(&daemon).await;
        let rest = daemon.get("/v1/memory/hygiene/preview").await;
        assert_eq!(rest["archived"], OLD - archived, "{point}");
        let run = daemon
            .post("/v1/memory/hygiene", json!({"yes": true}))
            .await;
        assert_eq!(run["report"], rest, "{point}");
        for run in [&run, &cut] {
            let path = format!("/v1/memory/hygiene/{}/undo", run["id"].as_str().unwrap());
            let (status, back) = daemon.request("POST", &path, None).await;
            assert_eq!(status, 200, "{back}");
            assert_eq!(back["restored"], run["report"]["archived"], "{point}");
        }
        checked(&daemon).await;
        assert!(daemon.terminate().success());
        assert_eq!(everything(&home), before, "{point}");
    }
    fault(
        "kill-in-hygiene",
        "SIGKILL at hygiene.mid and hygiene.pre_end of a run",
        "the run is marked as cut short with what it did; the next one does the rest; undoing both changes nothing",
    );
}

#[tokio::test]
async fn an_undo_that_is_killed_goes_on_at_the_next_start() {
    for point in [
        "hygiene.mid:1",
        "hygiene.mid:2",
        "hygiene.mid:3",
        "hygiene.pre_end:1",
    ] {
        let home = home();
        let before = everything(&home);
        let mut daemon = home.daemon();
        let run = daemon
            .post("/v1/memory/hygiene", json!({"yes": true}))
            .await;
        assert_eq!(run["report"]["archived"], OLD);
        assert!(daemon.terminate().success());

        let mut daemon = home.daemon_with(&[("LEVERFRAME_CRASH", point)]);
        let path = format!("/v1/memory/hygiene/{}/undo", run["id"].as_str().unwrap());
        assert!(
            daemon.try_request("POST", &path, None).await.is_err(),
            "{point}"
        );
        assert!(daemon.wait_exit().is_some(), "{point}: it was killed");
        let left = number(&open(&home), ARCHIVED);
        assert!(
            left > 0 || !point.starts_with("hygiene.mid:1"),
            "{point}: {left}"
        );
        assert_eq!(
            number(
                &open(&home),
                "SELECT count(*) FROM hygiene_runs WHERE state = 'undone' AND ended_at IS NULL"
            ),
            1,
            "{point}"
        );

        let mut daemon = home.daemon();
        daemon
            .wait("/v1/memory/hygiene/runs", "the undo ends", |runs| {
                runs["items"][0]["restored"] == OLD
            })
            .await;
        daemon
            .wait("/v1/memory/hygiene", "nothing is archived", |status| {
                status["sizes"]["archived"] == 0
            })
            .await;
        let (status, _) = daemon.request("POST", &path, None).await;
        assert_eq!(status, 409, "{point}: it was taken back");
        checked(&daemon).await;
        assert!(daemon.terminate().success());
        assert_eq!(everything(&home), before, "{point}");
    }
    fault(
        "kill-in-an-undo",
        "SIGKILL at hygiene.mid and hygiene.pre_end of an undo",
        "the next start restores the rest; everything is as before the run",
    );
}
