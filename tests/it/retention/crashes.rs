//! kill -9 in the middle of a sweep and in the middle of an artifact: whatever is on disk then is sound.

use leverframe::clock::Clock;
use leverframe::store::check::check;
use leverframe::store::check::check_artifacts;
use leverframe::store::{OpenOptions, Store};

use crate::retention::daemon::{age, swept_by_itself, with_turns};
use crate::support::daemon::Home;
use crate::support::record::fault;

/// Everything that is wrong in the data directory of a daemon that is gone.
async fn wrong(home: &Home) -> Vec<String> {
    let options = OpenOptions {
        dir: home.data(),
        clock: Clock::System,
        readers: 1,
        instance: "the suite".to_owned(),
    };
    let opened = tokio::task::spawn_blocking(move || Store::open(options))
        .await
        .unwrap()
        .unwrap();
    let dir = home.data();
    let found = opened
        .store
        .read(move |reader| {
            let mut found = check(reader)?;
            found.extend(check_artifacts(reader, &dir)?);
            Ok(found)
        })
        .await
        .unwrap();
    let keys: u64 = opened
        .store
        .with_writer(|conn| {
            conn.query_row("SELECT count(*) FROM pragma_foreign_key_check", [], |row| {
                row.get(0)
            })
            .unwrap()
        })
        .await
        .unwrap();
    opened.store.close().await;
    let mut wrong: Vec<String> = found
        .iter()
        .map(|violation| format!("{}: {}", violation.invariant, violation.detail))
        .collect();
    if keys > 0 {
        wrong.push(format!("{keys} references into nothing"));
    }
    wrong
}

#[tokio::test]
async fn kill_nine_in_the_middle_of_a_sweep_leaves_a_sound_store_that_sweeps_on() {
    let home = with_turns("", 12).await;
    age(&home, 40);
    let mut killed = 0;
    // Inside a piece after some of its turns, between two pieces, and late.
    for nth in [1, 2, 5, 3, 1, 4, 2] {
        let crash = format!("sweep.mid:{nth}");
        if let Some(mut daemon) = home.try_daemon_with(&[("LEVERFRAME_CRASH", &crash)]) {
            // Either it dies, or there was less left to sweep than that.
            let swept = async {
                swept_by_itself(&home).await;
            };
            tokio::pin!(swept);
            loop {
                if daemon.try_request("GET", "/healthz", None).await.is_err() {
                    break;
                }
                let soon = std::time::Duration::from_millis(20);
                if tokio::time::timeout(soon, &mut swept).await.is_ok() {
                    break;
                }
            }
            if home.log().contains("swept") {
                break;
            }
            assert!(daemon.wait_exit().is_some(), "it was killed");
        }
        killed += 1;
        assert_eq!(wrong(&home).await, Vec::<String>::new(), "after {crash}");
        // The look above was a start of its own: three crashes in ten minutes would hold the engine.
    }
    assert!(killed >= 2, "only {killed} kills");
    let mut daemon = home.daemon();
    swept_by_itself(&home).await;
    let left = daemon.get("/v1/continuations").await;
    assert_eq!(left["items"].as_array().unwrap().len(), 1);
    assert!(daemon.terminate().success());
    assert_eq!(wrong(&home).await, Vec::<String>::new());
    fault(
        "kill-in-a-sweep",
        &format!("SIGKILL at sweep.mid, {killed} times"),
        "the database is sound each time, and the next sweep continues",
    );
}

#[tokio::test]
async fn kill_nine_before_an_artifact_has_its_name_leaves_an_orphan_that_is_swept() {
    let home = Home::new("[channels.api]\nautonomy = \"supervised\"\n");
    let mut daemon = home.daemon_with(&[("LEVERFRAME_CRASH", "artifact.pre_rename:1")]);
    let big = "a line of a large output\n".repeat(2000);
    std::fs::write(home.workspace("api").join("big.txt"), big).unwrap();
    let session = daemon.session().await;
    let text = "TOOL:execute_command{\"argv\":[\"cat\",\"big.txt\"]}\nSAY:done";
    let id = daemon.send(&session, text).await;
    let approval = daemon.wait_approval().await;
    // The answer may be lost with the process.
    let body = serde_json::json!({"decision": "approve", "digest": approval["digest"],
        "confirm_code": approval["short_code"]});
    let path = format!(
        "/v1/approvals/{}/decision",
        approval["id"].as_str().unwrap()
    );
    let _ = daemon.try_request("POST", &path, Some(body)).await;
    assert!(daemon.wait_exit().is_some(), "it was killed");
    assert_eq!(wrong(&home).await, Vec::<String>::new());

    let unfinished = || -> Vec<std::path::PathBuf> {
        let mut found = Vec::new();
        for folder in std::fs::read_dir(home.data().join("artifacts")).unwrap() {
            for file in std::fs::read_dir(folder.unwrap().path()).unwrap() {
                found.push(file.unwrap().path());
            }
        }
        found
    };
    let left = unfinished();
    assert_eq!(left.len(), 1, "{left:?}");
    assert!(left[0].to_string_lossy().ends_with(".new"), "{left:?}");

    // The outcome is unknown, a person says so, and the turn goes on.
    let daemon = home.daemon();
    let question = daemon.wait_approval().await;
    assert_eq!(question["kind"], "resolve_unknown");
    assert_eq!(daemon.decide(&question, "run_again").await.0, 200);
    // Whether running again needs another approval is the policy's.
    let path = format!("/v1/continuations/{id}");
    let deadline = std::time::Instant::now() + crate::support::daemon::DEADLINE;
    loop {
        let state = daemon.get(&path).await["state"].clone();
        if state == "completed" {
            break;
        }
        assert!(std::time::Instant::now() < deadline, "it stays {state}");
        if state == "interrupted" {
            let _ = daemon
                .request(
                    "POST",
                    &format!("{path}/resume"),
                    Some(serde_json::json!({})),
                )
                .await;
        }
        let waiting = daemon.get("/v1/approvals?state=pending").await;
        if let Some(again) = waiting["items"].get(0) {
            daemon.decide(again, "approve").await;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    let done = daemon.wait_state(&id, "completed").await;
    assert!(
        done["tool_calls"][0]["artifact"]["hash"].is_string(),
        "{done:#}"
    );

    // Young, it stays; old, it goes.
    daemon.post("/v1/sweep", serde_json::json!({})).await;
    assert_eq!(unfinished().len(), 2);
    let two_days_ago = std::process::Command::new("touch")
        .args(["-d", "2 days ago"])
        .arg(&left[0])
        .status()
        .unwrap();
    assert!(two_days_ago.success());
    let report = daemon.post("/v1/sweep", serde_json::json!({})).await;
    assert_eq!(report["artifact_files"], 1, "{report}");
    assert_eq!(unfinished().len(), 1);
    drop(daemon);
    assert_eq!(wrong(&home).await, Vec::<String>::new());
    fault(
        "kill-before-an-artifact-is-named",
        "SIGKILL at artifact.pre_rename",
        "no row names the file; the call becomes a question; the sweep removes the orphan when it is a day old",
    );
}
