//! What a run may take, and what it may leave behind.

use std::os::unix::fs::PermissionsExt as _;

use leverframe::tools::executable_places::ExecutablePlaces;
use leverframe::tools::guard::Guard;
use leverframe::tools::tool::EffectDisposition;
use serde_json::json;

use crate::leftovers::daemon::run;
use crate::support::daemon::Home;
use crate::tools::harness::{Bench, confined, sandbox, text};

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
async fn the_bound_of_growth_is_a_setting() {
    let Some(sandbox) = sandbox() else { return };
    let bench = Bench::with(&sandbox.with_max_growth(8 << 20));
    // Two files that fit by themselves, in a run that does not end.
    let script = "head -c 6M /dev/zero > a; head -c 6M /dev/zero > b; echo made; sleep 60";
    let outcome = bench
        .call(
            "execute_command",
            json!({"script": script, "timeout_seconds": 30}),
        )
        .await;
    assert!(
        outcome.content.contains("into the workspace, of 8 MiB"),
        "{}",
        outcome.content
    );
    // One that does not.
    let script = "head -c 9M /dev/zero > c || echo refused";
    let outcome = bench
        .call("execute_command", json!({"script": script}))
        .await;
    assert!(outcome.content.contains("refused"), "{}", outcome.content);
    let size = std::fs::metadata(bench.workspace.join("c")).unwrap().len();
    assert!(size <= 8 << 20, "{size}");
    // What was there before does not count.
    let script = "head -c 4M /dev/zero > d; sleep 1; echo finished";
    let outcome = bench
        .call("execute_command", json!({"script": script}))
        .await;
    assert!(outcome.content.contains("finished"), "{}", outcome.content);
}

#[tokio::test]
async fn no_depth_hides_a_file_from_the_bound() {
    let Some(sandbox) = sandbox() else { return };
    for (depth, says) in [
        (140, "into the workspace, of 8 MiB"),
        (1100, "too large to be measured"),
    ] {
        let bench = Bench::with(&sandbox.clone().with_max_growth(8 << 20));
        let script = format!(
            "for n in $(seq {depth}); do mkdir d; cd d; done; \
             for n in 1 2 3 4; do head -c 6M /dev/zero >f$n; done; sleep 60"
        );
        let outcome = bench
            .call(
                "execute_command",
                json!({"script": script, "timeout_seconds": 30}),
            )
            .await;
        assert!(outcome.content.contains(says), "{}", outcome.content);
        assert_eq!(outcome.disposition, EffectDisposition::Unknown);
    }
}

#[tokio::test]
async fn the_configuration_sets_the_bound_of_growth() {
    let home = Home::new("[engine]\nrun_growth_mib = 3\n");
    let daemon = home.daemon();
    let turn = run(
        &daemon,
        "head -c 2M /dev/zero > a; head -c 2M /dev/zero > b; sleep 100",
    )
    .await;
    // Nobody knows what it did until then, so the turn waits for a person.
    let asked = daemon
        .wait("/v1/approvals?state=pending", "a question", |list| {
            list["items"][0]["kind"] == "resolve_unknown"
        })
        .await;
    assert!(
        asked
            .to_string()
            .contains("MiB into the workspace, of 3 MiB"),
        "{turn}: {asked:#}"
    );
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

#[test]
fn a_workspace_elsewhere_is_made_closed_and_one_that_is_there_stays_as_it_is() {
    let home = Home::new(
        "[channels.api]\nworkspace = \"{home}/made\"\n\n[channels.cli]\nworkspace = \"{home}/there\"\n",
    );
    let (made, there) = (home.path().join("made"), home.path().join("there"));
    std::fs::create_dir(&there).unwrap();
    std::fs::set_permissions(&there, std::fs::Permissions::from_mode(0o755)).unwrap();
    // With the mask of most logins: without a mode of its own the directory would be open.
    let shell = ["/bin/sh", "-c", "umask 022; exec \"$0\" \"$@\""];
    let _daemon = home.daemon_through(&shell, &[]);
    assert_eq!(mode(&made), 0o700);
    assert_eq!(mode(&there), 0o755);
}
