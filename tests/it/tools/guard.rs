//! Paths that try to leave the workspace.

use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use leverframe::tools::guard::{Guard, Kind};
use leverframe::tools::tool::PrepareError;
use proptest::prelude::*;
use serde_json::json;

use crate::tools::harness::{Bench, text};

fn guard(bench: &Bench) -> Guard {
    Guard::of(bench.workspace.clone(), vec![bench.hidden.clone()])
}

fn make_fifo(path: &std::path::Path) {
    assert!(
        std::process::Command::new("mkfifo")
            .arg(path)
            .status()
            .unwrap()
            .success()
    );
}

fn is_guarded<T: std::fmt::Debug>(result: &Result<T, PrepareError>) -> bool {
    matches!(result, Err(PrepareError::Guarded(_)))
}

#[test]
fn paths_outside_are_refused() {
    let bench = Bench::new();
    std::fs::write(bench.hidden.join("token"), "secret").unwrap();
    bench.put("a/file", "x");
    for path in [
        "..",
        "../data/token",
        "a/../../data/token",
        "a/../../../../../../../../etc/passwd",
        "/etc/passwd",
        "/",
        "./././../x",
        bench.hidden.join("token").to_str().unwrap(),
        &format!("{}/../data/token", bench.workspace.display()),
        // A sibling whose name begins like the workspace.
        &format!("{}-other/x", bench.workspace.display()),
    ] {
        let found = guard(&bench).resolve(path);
        assert!(is_guarded(&found), "{path}: {found:?}");
    }
    for path in [
        "",
        "a\0b",
        "a/file/b",
        "a/file/",
        &"x".repeat(300),
        &"x/".repeat(4000),
    ] {
        let found = guard(&bench).file(path);
        assert!(
            matches!(found, Err(PrepareError::Invalid(_))),
            "{path:.20}: {found:?}"
        );
    }
}

#[test]
fn paths_inside_are_resolved() {
    let bench = Bench::new();
    bench.put("a/b/file", "x");
    bench.put("späße/日本.txt", "x");
    symlink("b", bench.workspace.join("a/link")).unwrap();
    symlink(
        bench.workspace.join("a/b/file"),
        bench.workspace.join("absolute"),
    )
    .unwrap();
    let absolute = format!("{}/a/b/file", bench.workspace.display());
    for path in [
        "a/b/file",
        "./a//b/file",
        "a/../a/b/file",
        "a/link/file",
        "absolute",
        &absolute,
    ] {
        assert_eq!(
            guard(&bench).file(path).unwrap().relative(),
            "a/b/file",
            "{path}"
        );
    }
    assert_eq!(
        guard(&bench).file("späße/日本.txt").unwrap().relative(),
        "späße/日本.txt"
    );
    // As the kernel would: the parent of what the link leads to.
    assert_eq!(guard(&bench).resolve("a/link/..").unwrap().relative(), "a");
    assert_eq!(guard(&bench).resolve(".").unwrap().relative(), ".");
    assert_eq!(
        guard(&bench).resolve("new/deep/file").unwrap().kind,
        Kind::Missing
    );
    assert!(guard(&bench).resolve("new/../../data/token").is_err());
}

#[test]
fn links_out_and_special_files_are_refused() {
    let bench = Bench::new();
    std::fs::write(bench.hidden.join("token"), "secret").unwrap();
    let place = |name: &str| bench.workspace.join(name);
    symlink("/etc/passwd", place("passwd")).unwrap();
    symlink("/etc", place("etc")).unwrap();
    symlink("../data", place("data")).unwrap();
    symlink("../data/new-file", place("dangling")).unwrap();
    symlink("/proc/self/root", place("root")).unwrap();
    symlink("loop", place("loop")).unwrap();
    for path in [
        "passwd",
        "etc/passwd",
        "data/token",
        "dangling",
        "root/etc/passwd",
        "loop",
        "etc/../etc/x",
    ] {
        let found = guard(&bench).resolve(path);
        assert!(is_guarded(&found), "{path}: {found:?}");
        assert!(is_guarded(&guard(&bench).writable(path)), "{path}");
    }
    let fifo = place("fifo");
    make_fifo(&fifo);
    let _socket = std::os::unix::net::UnixListener::bind(place("socket")).unwrap();
    for path in ["fifo", "socket"] {
        assert!(is_guarded(&guard(&bench).file(path)), "{path}");
        assert!(is_guarded(&guard(&bench).writable(path)), "{path}");
    }
}

#[test]
fn a_hidden_directory_inside_is_refused_too() {
    let bench = Bench::new();
    bench.put("inner/token", "secret");
    let guard = Guard::of(bench.workspace.clone(), vec![bench.workspace.join("inner")]);
    for path in ["inner", "inner/token", "inner/new", "./x/../inner/token"] {
        assert!(
            is_guarded(&guard.resolve(path)) || path.starts_with("./x"),
            "{path}"
        );
    }
    symlink("inner", bench.workspace.join("door")).unwrap();
    assert!(is_guarded(&guard.file("door/token")));
}

#[test]
fn git_hooks_and_configuration_are_never_written() {
    let bench = Bench::new();
    bench.put(".git/config", "x");
    bench.put("sub/.git/HEAD", "x");
    symlink(".git", bench.workspace.join("alias")).unwrap();
    for path in [
        ".git/config",
        ".git/hooks/post-commit",
        ".git/hooks/deep/er",
        ".GIT/Hooks/pre-push",
        "sub/.git/config",
        ".git/modules/m/hooks/post-checkout",
        "alias/config",
        "other/.git",
    ] {
        assert!(is_guarded(&guard(&bench).writable(path)), "{path}");
    }
    for path in [".gitignore", "hooks/x", "config", "src/.github/config"] {
        assert!(guard(&bench).writable(path).is_ok(), "{path}");
    }
    assert!(
        guard(&bench).file(".git/config").is_ok(),
        "reading is allowed"
    );
}

#[test]
fn a_link_swapped_in_after_the_check_leads_nowhere() {
    let bench = Bench::new();
    std::fs::write(bench.hidden.join("token"), "secret").unwrap();
    bench.put("dir/token", "harmless");
    let guard = guard(&bench);
    let checked = guard.file("dir/token").unwrap();
    let fresh = guard.writable("dir/fresh").unwrap();
    assert!(guard.open_file(&checked).is_ok());

    // The last component.
    std::fs::remove_file(bench.workspace.join("dir/token")).unwrap();
    symlink(
        bench.hidden.join("token"),
        bench.workspace.join("dir/token"),
    )
    .unwrap();
    assert!(guard.open_file(&checked).is_err());

    // A directory on the way.
    std::fs::remove_dir_all(bench.workspace.join("dir")).unwrap();
    symlink(&bench.hidden, bench.workspace.join("dir")).unwrap();
    assert!(guard.open_file(&checked).is_err());
    assert!(guard.open_parent(&fresh).is_err());

    // A pipe in place of a file: opening it neither blocks nor works.
    std::fs::remove_file(bench.workspace.join("dir")).unwrap();
    std::fs::create_dir(bench.workspace.join("dir")).unwrap();
    let fifo = bench.workspace.join("dir/token");
    make_fifo(&fifo);
    assert!(guard.open_file(&checked).is_err());
}

#[tokio::test]
async fn tools_follow_no_link_swapped_in_between_plan_and_effect() {
    let bench = Bench::new();
    std::fs::write(bench.hidden.join("token"), "secret").unwrap();
    bench.put("dir/token", "harmless");
    let read = json!({"path": "dir/token"});
    let write = json!({"path": "dir/token", "content": "evil", "mode": "overwrite"});
    let create = json!({"path": "dir/new", "content": "evil"});
    for (tool, args) in [
        ("read_file", &read),
        ("write_file", &write),
        ("write_file", &create),
    ] {
        bench.prepare(tool, args.clone()).unwrap();
    }
    std::fs::remove_dir_all(bench.workspace.join("dir")).unwrap();
    symlink(&bench.hidden, bench.workspace.join("dir")).unwrap();
    for (tool, args) in [
        ("read_file", read),
        ("write_file", write),
        ("write_file", create),
    ] {
        let outcome = bench.execute(tool, args).await;
        assert!(
            outcome.is_error && !outcome.content.contains("secret"),
            "{tool}: {outcome:?}"
        );
    }
    assert_eq!(text(&bench.hidden.join("token")), "secret");
    assert!(!bench.hidden.join("new").exists());
}

#[test]
fn no_link_race_reads_what_is_hidden() {
    let bench = Bench::new();
    std::fs::write(bench.hidden.join("token"), "secret").unwrap();
    bench.put("real/token", "harmless");
    let (door, stop) = (
        bench.workspace.join("door"),
        std::sync::atomic::AtomicBool::new(false),
    );
    let guard = guard(&bench);
    let seen = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                for target in [PathBuf::from("real"), bench.hidden.clone()] {
                    let next = bench.workspace.join("next");
                    let _ = symlink(target, &next);
                    let _ = std::fs::rename(&next, &door);
                }
            }
        });
        let (mut seen, mut tries) = (0, 0);
        let deadline = Instant::now() + Duration::from_secs(10);
        while tries < 3000 || (seen < 10 && Instant::now() < deadline) {
            tries += 1;
            if let Ok(path) = guard.file("door/token")
                && let Ok(mut file) = guard.open_file(&path)
            {
                let mut content = String::new();
                std::io::Read::read_to_string(&mut file, &mut content).unwrap();
                assert_eq!(content, "harmless");
                seen += 1;
            }
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        seen
    });
    assert!(seen > 0, "the harmless file is readable some of the time");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn whatever_resolves_is_inside(parts in prop::collection::vec(
        prop_oneof![Just(".."), Just("."), Just("a"), Just("up"), Just("out"), Just("in"), Just("new"), Just(""), Just("é\u{202e}")], 0..8),
        absolute in any::<bool>(),
    ) {
        let bench = Bench::new();
        bench.put("a/a/a", "x");
        std::fs::write(bench.hidden.join("a"), "secret").unwrap();
        symlink("..", bench.workspace.join("a/up")).unwrap();
        symlink("../data", bench.workspace.join("out")).unwrap();
        symlink("a/a", bench.workspace.join("in")).unwrap();
        let mut path = parts.join("/");
        if absolute {
            path = format!("{}/{path}", bench.workspace.display());
        }
        if let Ok(found) = guard(&bench).resolve(&path) {
            prop_assert!(found.absolute.starts_with(&bench.workspace), "{path} -> {:?}", found.absolute);
            if found.kind != Kind::Missing {
                prop_assert_eq!(found.absolute.canonicalize().unwrap(), found.absolute.clone());
            }
        }
    }
}
