//! What git can bring back: the index and the objects are read, no program of theirs runs.

use std::path::Path;
use std::process::Command;

use leverframe::model::scripted::demo::demo_files;
use leverframe::protocol::enums::Risk;
use leverframe::runtime::demo_repository;
use leverframe::tools::risk::highest;
use leverframe::tools::tool::Plan;
use leverframe::tools::version_control::indexed;
use proptest::prelude::*;
use serde_json::json;
use sha1::{Digest as _, Sha1};

use crate::tools::harness::Bench;

fn git(directory: &Path, args: &[&str]) {
    let output = Command::new("git")
        .current_dir(directory)
        .args(["-c", "user.name=a", "-c", "user.email=a@example.org"])
        .args(args)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    assert!(output.status.success(), "git {args:?}: {output:?}");
}

fn overwrite(bench: &Bench, path: &str) -> Plan {
    let args = json!({"path": path, "content": "new\n", "mode": "overwrite"});
    bench.prepare("write_file", args).unwrap()
}

fn answer(bench: &Bench, path: &str) -> (Risk, String) {
    let plan = overwrite(bench, path);
    (highest(&plan.risk_reasons), plan.reasons()[1].clone())
}

fn yes() -> (Risk, String) {
    (Risk::Medium, "reversible by git: yes".to_owned())
}

fn no(why: &str) -> (Risk, String) {
    (Risk::High, format!("reversible by git: no ({why})"))
}

#[tokio::test]
async fn an_overwrite_that_git_can_restore_is_medium() {
    let bench = Bench::new();
    let root = bench.workspace.clone();
    for name in ["a.txt", "docs/deep/b.txt", "é.txt", "loose.txt"] {
        bench.put(name, format!("content of {name}\n"));
    }
    git(&root, &["init", "-q"]);
    assert_eq!(
        answer(&bench, "a.txt"),
        no("the repository has no index"),
        "nothing was added yet"
    );
    git(&root, &["add", "a.txt", "docs", "é.txt"]);
    git(&root, &["commit", "-q", "-m", "first"]);
    for name in ["a.txt", "docs/deep/b.txt", "é.txt"] {
        assert_eq!(answer(&bench, name), yes(), "{name}");
    }
    assert_eq!(answer(&bench, "loose.txt"), no("not tracked"));
    git(&root, &["add", "--intent-to-add", "loose.txt"]);
    assert_eq!(answer(&bench, "loose.txt"), no("not tracked"));

    git(&root, &["gc", "-q"]);
    assert_eq!(answer(&bench, "docs/deep/b.txt"), yes(), "from a pack");
    bench.put("a.txt", "somebody worked here\n");
    assert_eq!(answer(&bench, "a.txt"), no("changed since it was added"));
    let packs = root.join(".git/objects/pack");
    std::fs::rename(&packs, root.join(".git/objects/away")).unwrap();
    assert_eq!(answer(&bench, "é.txt"), no("the repository has no copy"));
}

#[tokio::test]
async fn whoever_allowed_a_reversible_write_did_not_allow_another() {
    let bench = Bench::new();
    bench.put("a.txt", "one\n");
    git(&bench.workspace, &["init", "-q"]);
    git(&bench.workspace, &["add", "a.txt"]);
    let before = overwrite(&bench, "a.txt");
    git(&bench.workspace, &["rm", "-q", "--cached", "a.txt"]);
    let after = overwrite(&bench, "a.txt");
    assert_eq!(
        (highest(&before.risk_reasons), highest(&after.risk_reasons)),
        (Risk::Medium, Risk::High)
    );
    assert_ne!(before.operands, after.operands);
}

#[tokio::test]
async fn the_nearest_repository_answers_and_one_elsewhere_does_not() {
    let bench = Bench::new();
    bench.put("inner/a.txt", "one\n");
    git(&bench.workspace, &["init", "-q"]);
    git(&bench.workspace, &["add", "inner/a.txt"]);
    assert_eq!(answer(&bench, "inner/a.txt"), yes());
    git(&bench.workspace.join("inner"), &["init", "-q"]);
    assert_eq!(
        answer(&bench, "inner/a.txt"),
        no("the repository has no index")
    );
    std::fs::remove_dir_all(bench.workspace.join("inner/.git")).unwrap();
    bench.put("inner/.git", "gitdir: ../.git\n");
    assert_eq!(
        answer(&bench, "inner/a.txt"),
        no("its repository lies elsewhere")
    );
    std::fs::remove_file(bench.workspace.join("inner/.git")).unwrap();
    git(&bench.workspace, &["update-index", "--index-version", "4"]);
    assert_eq!(
        answer(&bench, "inner/a.txt"),
        no("the index of the repository is not understood")
    );
}

proptest! {
    /// An index of any content is understood or not; it never stops the program.
    #[test]
    fn any_index_is_read_or_refused(version in 2_u8..4, count in 0_u8..4, body in prop::collection::vec(any::<u8>(), 0..400)) {
        let mut index = [b"DIRC", &[0, 0, 0, version][..], &[0, 0, 0, count][..], &body].concat();
        prop_assert_eq!(indexed(&index, b"a"), None, "without its sum");
        let sum = Sha1::digest(&index);
        index.extend_from_slice(&sum);
        let found = indexed(&index, b"a");
        prop_assert!(count > 0 || found == Some(Err("not tracked")));
    }
}

/// Git itself accepts what the demo writes, and our own reader finds the files restorable.
#[tokio::test]
async fn the_repository_of_the_demo_is_one_to_git() {
    let bench = Bench::new();
    for (name, content) in demo_files() {
        bench.put(name, content);
    }
    demo_repository::create(&bench.workspace, demo_files()).unwrap();
    git(&bench.workspace, &["fsck", "--strict"]);
    let status = Command::new("git")
        .current_dir(&bench.workspace)
        .args(["status", "--porcelain"])
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&status.stdout), "");
    for path in ["CHANGELOG.md", "docs/faq.md"] {
        assert_eq!(answer(&bench, path), yes());
    }
}
