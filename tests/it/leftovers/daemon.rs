//! The real binary: a run that leaves something, and one that is cut off by kill -9.

use std::path::Path;

use serde_json::{Value, json};

use crate::support::daemon::{DEADLINE, Daemon, Home};
use crate::take_overs::daemon::cli;

/// Lets a script run, as a person who approves it would; its continuation.
pub(crate) async fn run(daemon: &Daemon, script: &str) -> String {
    let session = daemon.session().await;
    let call = json!({ "script": script, "timeout_seconds": 120 });
    let turn = daemon
        .send(&session, &format!("TOOL:execute_command{call}\nSAY:done"))
        .await;
    let asked = daemon.wait_approval().await;
    let (status, decided) = daemon.decide(&asked, "approve").await;
    assert_eq!(status, 200, "{decided}");
    turn
}

pub(crate) async fn items(daemon: &Daemon, path: &str) -> Vec<Value> {
    let list = daemon.get(path).await;
    list["items"].as_array().unwrap().clone()
}

pub(super) async fn left(daemon: &Daemon) -> Value {
    let list = daemon
        .wait("/v1/leftovers", "something left", |list| {
            list["items"].as_array().is_some_and(|all| !all.is_empty())
        })
        .await;
    list["items"][0].clone()
}

async fn exists(path: &Path) {
    let deadline = std::time::Instant::now() + DEADLINE;
    while !path.exists() {
        assert!(std::time::Instant::now() < deadline, "{}", path.display());
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
}

async fn audited(daemon: &Daemon, action: &str) -> Vec<Value> {
    items(daemon, &format!("/v1/audit?action={action}")).await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_run_leaves_waits_for_a_person_over_a_restart() {
    let home = Home::new("");
    let mut daemon = home.daemon();
    let turn = run(
        &daemon,
        "mkdir -p a/.vscode; echo x > .envrc; echo fine > file",
    )
    .await;
    let done = daemon.wait_state(&turn, "completed").await;
    let call = done["tool_calls"][0]["id"].as_str().unwrap().to_owned();
    let item = left(&daemon).await;
    let paths: Vec<&str> = item["set_aside"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["path"].as_str().unwrap())
        .collect();
    assert_eq!(paths, [".envrc", "a/.vscode"], "{item:#}");
    let name = item["set_aside"][0]["name"].as_str().unwrap().to_owned();
    assert_eq!(name, format!(".envrc.set-aside-{call}"));
    let workspace = home.workspace("api");
    assert!(workspace.join(&name).exists() && !workspace.join(".envrc").exists());
    for (field, expected) in [
        ("tool_call_id", json!(call)),
        ("continuation_id", json!(turn)),
        ("session_id", done["session_id"].clone()),
        ("channel", json!("api")),
        ("tool", json!("execute_command")),
        ("interrupted", json!(false)),
        ("dismissed_at", json!(null)),
    ] {
        assert_eq!(item[field], expected, "{field}: {item:#}");
    }
    assert_eq!(
        daemon.get("/v1/snapshot").await["leftovers"],
        json!([item]),
        "what a console starts from"
    );
    assert_eq!(audited(&daemon, "leftovers.found").await.len(), 1);

    daemon.kill();
    let daemon = home.daemon();
    assert_eq!(items(&daemon, "/v1/leftovers").await, vec![item]);
    let (status, listed) = cli(&home, &["leftovers", "list"]).await;
    assert_eq!(status, Some(0), "{listed}");
    for needed in [&call, ".envrc", "a/.vscode", &name, "waits for a person"] {
        assert!(listed.contains(needed), "{needed}:\n{listed}");
    }

    let path = format!("/v1/leftovers/{call}/dismiss");
    let dismissed = daemon.post(&path, json!({})).await;
    assert!(dismissed["dismissed_at"].is_string(), "{dismissed:#}");
    assert_eq!(
        daemon.post(&path, json!({})).await,
        dismissed,
        "done is done"
    );
    assert!(items(&daemon, "/v1/leftovers").await.is_empty());
    assert_eq!(
        items(&daemon, "/v1/leftovers?all=true").await,
        vec![dismissed]
    );
    assert_eq!(
        daemon.get("/v1/snapshot").await["leftovers"],
        json!([]),
        "off the Queue"
    );
    let rows = audited(&daemon, "leftovers.dismissed").await;
    assert_eq!(rows.len(), 1, "{rows:#?}");
    assert_eq!(rows[0]["subject"], json!(call));
    assert!(workspace.join(&name).exists(), "no file changes");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_leaves_nothing_is_not_on_the_queue() {
    let home = Home::new("");
    let daemon = home.daemon();
    let turn = run(&daemon, "echo fine > file").await;
    daemon.wait_state(&turn, "completed").await;
    assert!(items(&daemon, "/v1/leftovers?all=true").await.is_empty());
    let (status, listed) = cli(&home, &["leftovers", "list"]).await;
    assert_eq!(
        (status, listed.trim()),
        (Some(0), "no command left files to review")
    );
    let unknown = "call_01ARZ3NDEKTSV4RRFFQ69G5FAV";
    let (status, said) = cli(&home, &["leftovers", "dismiss", unknown]).await;
    assert!(status != Some(0) && said.contains(unknown), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_run_left_that_was_cut_off_is_set_aside_at_the_next_start() {
    let home = Home::new("");
    let mut daemon = home.daemon();
    let workspace = home.workspace("api");
    std::fs::create_dir_all(workspace.join("mine/.git/hooks")).unwrap();
    std::fs::write(workspace.join("mine/.git/config"), "mine").unwrap();
    std::fs::write(workspace.join(".envrc"), "mine").unwrap();
    run(
        &daemon,
        "mkdir -p new/.vscode .claude; echo x > new/.vscode/tasks.json; echo 1 > mine/.git/index; touch up; sleep 100",
    )
    .await;
    exists(&workspace.join("up")).await;
    daemon.kill();
    assert!(workspace.join("new/.vscode").exists(), "nobody looked yet");

    let daemon = home.daemon();
    // Before it listens.
    assert!(!workspace.join("new/.vscode").exists());
    assert!(!workspace.join(".claude").exists());
    for kept in [".envrc", "mine/.git/config"] {
        assert_eq!(
            std::fs::read_to_string(workspace.join(kept)).unwrap(),
            "mine",
            "{kept}"
        );
    }
    assert!(workspace.join("mine/.git/hooks").exists());
    let all = items(&daemon, "/v1/leftovers").await;
    assert_eq!(all.len(), 1, "{all:#?}");
    let paths: Vec<&str> = all[0]["set_aside"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["path"].as_str().unwrap())
        .collect();
    assert_eq!(paths, [".claude", "new/.vscode"], "{all:#?}");
    assert_eq!(all[0]["interrupted"], true);
    let name = all[0]["set_aside"][1]["name"].as_str().unwrap();
    assert!(workspace.join("new").join(name).join("tasks.json").exists());

    // Once: what a person puts there afterwards stays.
    std::fs::create_dir(workspace.join("new/.vscode")).unwrap();
    drop(daemon);
    let daemon = home.daemon();
    assert!(workspace.join("new/.vscode").exists());
    assert_eq!(items(&daemon, "/v1/leftovers").await, all);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_restored_copy_nothing_is_renamed_and_that_is_told() {
    let home = Home::new("");
    let mut daemon = home.daemon();
    let workspace = home.workspace("api");
    run(&daemon, "touch up; sleep 100").await;
    exists(&workspace.join("up")).await;
    let file = home.path().join("copy.tar");
    let (status, said) = cli(&home, &["backup", file.to_str().unwrap()]).await;
    assert_eq!(status, Some(0), "{said}");
    daemon.kill();
    // Days later, say.
    std::fs::write(workspace.join(".envrc"), "mine").unwrap();
    let (status, said) = cli(&home, &["restore", file.to_str().unwrap(), "--force"]).await;
    assert_eq!(status, Some(0), "{said}");
    let daemon = home.daemon();
    assert!(workspace.join(".envrc").exists());
    let item = left(&daemon).await;
    let told = item["incomplete"].as_str().unwrap();
    assert!(told.contains("restored from a copy"), "{item:#}");
    assert_eq!(item["set_aside"], json!([]));
}
