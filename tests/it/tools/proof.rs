//! The level of the sandbox is what was proved: a profile with a hole in it counts as none.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use leverframe::tools::sandbox::{Places, Sandbox};
use serde_json::json;

use crate::support::daemon::Home;
use crate::tools::harness::{Bench, confined, places};

/// Opens for writing, and writes nothing.
const OPENS: &str = "for file in /proc/sys/kernel/core_pattern /proc/sys/kernel/poweroff_cmd /proc/sys/vm/drop_caches \
                     /proc/sysrq-trigger /proc/irq/default_smp_affinity /proc/mtrr; do \
                     if [ -e $file ] && ( : >> $file ) 2>/dev/null; then echo \"WRITABLE $file\"; fi; done; \
                     unshare --user true && echo NAMESPACE; cat /proc/kpageflags | head -c 1 | wc -c; echo finished";

#[tokio::test]
async fn a_confined_program_writes_nothing_of_the_kernel_and_gets_no_user_namespace() {
    let free = Bench::new();
    let content = free
        .call("execute_command", json!({"script": OPENS}))
        .await
        .content;
    if rustix::process::geteuid().is_root() {
        assert!(
            content.contains("WRITABLE /proc/sys/kernel/core_pattern"),
            "{content}"
        );
    }
    assert!(content.contains("finished"), "{content}");

    let Some(bench) = confined() else { return };
    let content = bench
        .call("execute_command", json!({"script": OPENS}))
        .await
        .content;
    assert!(content.contains("finished"), "{content}");
    assert!(!content.contains("WRITABLE"), "{content}");
    assert!(!content.contains("NAMESPACE"), "{content}");
    assert!(content.contains("\n0\nfinished"), "{content}");
}

#[test]
fn the_profile_is_proved_where_bubblewrap_works() {
    let words = "--unshare-all --unshare-user --disable-userns --ro-bind / / --proc /proc true";
    let works = std::process::Command::new("bwrap")
        .args(words.split(' '))
        .status()
        .is_ok_and(|status| status.success());
    if !works {
        eprintln!("SKIPPED, NOT PASSED: needs bubblewrap");
        return;
    }
    let sandbox = Sandbox::find(&places());
    assert_eq!(sandbox.level_word(), "bubblewrap");
}

/// A bubblewrap that changes its options before it starts.
fn with_hole(bench: &Bench, edit: &str) -> Places {
    let path = bench.root.join("bwrap");
    let script = format!(
        "#!/bin/bash\nwords=()\nwhile [ $# -gt 0 ]; do\n  if [ \"$1\" = -- ]; then words+=(\"$@\"); break; fi\n  \
         {edit}\n  words+=(\"$1\"); shift\ndone\nexec bwrap \"${{words[@]}}\"\n"
    );
    std::fs::write(&path, script).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    Places {
        bubblewrap: vec![path],
        landlock: false,
        ..places()
    }
}

#[test]
fn a_hole_in_the_profile_is_no_sandbox() {
    if confined().is_none() {
        return;
    }
    let bench = Bench::new();
    let sound = Sandbox::find(&with_hole(&bench, ""));
    assert!(sound.is_confined(), "{}", sound.level_word());
    let root = rustix::process::geteuid().is_root();
    for (edit, expected, needs_root) in [
        (
            "case \"$1 $2\" in '--ro-bind /proc/'*) shift 3; continue;; esac",
            "a program could write /proc or /sys",
            true,
        ),
        (
            "if [ \"$1\" = --disable-userns ]; then shift; continue; fi",
            "make a user namespace",
            false,
        ),
        (
            "if [ \"$1\" = --unshare-all ]; then words+=(--share-net); words=(--unshare-all \"${words[@]}\"); shift; continue; fi",
            "reach the network",
            false,
        ),
        (
            "if [ \"$1 $2\" = '--tmpfs /tmp' ]; then words+=(--bind /tmp /tmp); shift 2; continue; fi",
            "write outside the workspace",
            false,
        ),
    ] {
        if needs_root && !root {
            continue;
        }
        let open = Sandbox::find(&with_hole(&bench, edit));
        let word = open.level_word();
        assert!(!open.is_confined(), "{edit}: {word}");
        assert!(
            word.starts_with("none (") && word.contains(expected),
            "{edit}: {word}"
        );
    }
    let gone = Sandbox::find(&Places {
        helper: PathBuf::from("/nowhere/leverframe"),
        ..places()
    });
    assert!(!gone.is_confined(), "what cannot be tried is not proved");
}

#[test]
fn doctor_says_what_was_proved() {
    if confined().is_none() {
        return;
    }
    let home = Home::new("");
    let output = home.command().arg("doctor").output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    for proved in [
        "bubblewrap; tried at the start, a program cannot write /proc or /sys",
        "make a user namespace",
    ] {
        assert!(said.contains(proved), "{proved}: {said}");
    }
}
