//! What a run may take, and what it may leave behind.

use std::os::unix::fs::PermissionsExt as _;

use leverframe::tools::executable_places::ExecutablePlaces;
use leverframe::tools::guard::Guard;
use serde_json::json;

use crate::support::daemon::Home;
use crate::tools::harness::{Bench, confined, text};

fn mode(path: &std::path::Path) -> u32 {
    std::fs::symlink_metadata(path)
        .unwrap()
        .permissions()
        .mode()
        & 0o7777
}

#[tokio::test]
async fn a_run_with_too_many_tasks_is_ended() {
    let Some(bench) = confined() else { return };
    let script = "for n in $(seq 200); do sleep 60 & done; echo started; wait";
    let outcome = bench
        .call(
            "execute_command",
            json!({"script": script, "timeout_seconds": 20}),
        )
        .await;
    // Root is ended for it; for others the kernel refuses the task.
    let ended = outcome.content.contains("processes and threads, of 64");
    let refused = outcome.content.to_lowercase().contains("cannot fork");
    assert!(ended || refused, "{}", outcome.content);
    assert!(outcome.is_error);
    let few = "for n in $(seq 40); do sleep 0.3 & done; wait; echo finished";
    let outcome = bench.call("execute_command", json!({"script": few})).await;
    assert!(outcome.content.contains("finished"), "{}", outcome.content);
}

#[tokio::test]
async fn a_file_and_all_files_together_are_bounded() {
    let Some(bench) = confined() else { return };
    // Sparse: nothing of it is on the disk, and the size alone stops it.
    let script = "truncate -s 1025M large || echo refused";
    let outcome = bench
        .call("execute_command", json!({"script": script}))
        .await;
    let size = std::fs::metadata(bench.workspace.join("large")).map_or(0, |found| found.len());
    assert!(size <= 1 << 30, "{size}: {}", outcome.content);
    assert!(outcome.content.contains("refused"), "{}", outcome.content);
    // Blocks that are taken and never written: no byte goes to the disk.
    let script =
        "for n in 1 2 3 4; do fallocate -l 400M part$n || exit 9; done; echo made; sleep 60";
    let outcome = bench
        .call(
            "execute_command",
            json!({"script": script, "timeout_seconds": 30}),
        )
        .await;
    if outcome.content.contains("exit status 9") {
        eprintln!(
            "SKIPPED, NOT PASSED: no fallocate here: {}",
            outcome.content
        );
        return;
    }
    assert!(
        outcome.content.contains("into the workspace, of 1024 MiB"),
        "{}",
        outcome.content
    );
    assert!(outcome.is_error);
}

#[tokio::test]
async fn all_processes_together_have_a_bound_of_memory() {
    let Some(bench) = confined() else { return };
    let hog = "python3 -c 'import time; x = b\"x\" * (400 << 20); time.sleep(30)'";
    let script = format!("for n in 1 2 3; do {hog} & done; wait; echo finished");
    let outcome = bench
        .call(
            "execute_command",
            json!({"script": script, "timeout_seconds": 25}),
        )
        .await;
    assert!(
        outcome.content.contains("MiB of memory, of 1024 MiB"),
        "{}",
        outcome.content
    );
}

#[tokio::test]
async fn set_id_bits_do_not_stay_and_are_told() {
    let Some(bench) = confined() else { return };
    let script = "mkdir -p a/b; cp /bin/true a/b/tool; chmod 4755 a/b/tool; cp /bin/true group; chmod 2711 group; \
                  mkdir shared; chmod 2775 shared; echo x > plain; chmod 0640 plain; ln -s /bin/su link";
    let content = bench
        .call("execute_command", json!({"script": script}))
        .await
        .content;
    assert!(content.starts_with("exit status 0"), "{content}");
    assert!(
        content
            .contains("[set-user-ID and set-group-ID bits were taken away from a/b/tool, group]"),
        "{content}"
    );
    assert_eq!(mode(&bench.workspace.join("a/b/tool")), 0o755);
    assert_eq!(mode(&bench.workspace.join("group")), 0o711);
    assert_eq!(mode(&bench.workspace.join("shared")), 0o2775);
    assert_eq!(mode(&bench.workspace.join("plain")), 0o640);
    let quiet = bench
        .call("execute_command", json!({"script": "true"}))
        .await
        .content;
    assert!(!quiet.contains("set-user-ID"), "{quiet}");
}

#[test]
fn a_workspace_that_cannot_be_looked_at_is_said_to_be() {
    let bench = Bench::new();
    let guard = Guard::of(bench.workspace.clone(), Vec::new());
    let places = ExecutablePlaces::scan(&guard).unwrap();
    assert!(!places.set_aside_new(&guard, "tag").set_id_left);
    let gone = Guard::of(bench.root.join("gone"), Vec::new());
    assert!(places.set_aside_new(&gone, "tag").set_id_left);
}

#[test]
fn default_workspaces_are_closed_to_others() {
    let home = Home::new("[channels.api]\n");
    let old = home.workspace("api");
    std::fs::create_dir_all(&old).unwrap();
    std::fs::write(old.join("kept"), "x").unwrap();
    for open in [old.parent().unwrap(), &old] {
        std::fs::set_permissions(open, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let _daemon = home.daemon();
    for place in [old.parent().unwrap(), &old] {
        assert_eq!(mode(place), 0o700, "{}", place.display());
    }
    assert_eq!(text(&old.join("kept")), "x");
}
