//! What the command writes, keeps and refuses, in a root of its own.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::backup::tools::said;
use crate::support::daemon::Home;

const PROGRAM: &str = "/usr/bin/leverframe";

/// A root of a system, with a home.
fn root() -> (Home, PathBuf) {
    let home = Home::new("");
    let root = home.path().join("root");
    std::fs::create_dir_all(root.join("usr")).unwrap();
    (home, root)
}

fn unit(root: &Path) -> PathBuf {
    root.join("etc/systemd/system/leverframe.service")
}

/// Runs `service` on the root; status and words.
fn service(home: &Home, root: &Path, words: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(home.command().get_program())
        .arg("service")
        .args(words)
        .args(["--system", "--root", root.to_str().unwrap()])
        .env("HOME", home.path())
        .stdin(std::process::Stdio::null())
        .output()
        .expect("the binary runs");
    (output.status.code(), said(&output))
}

#[test]
fn a_unit_is_shown_written_changed_and_removed_and_drop_ins_stay() {
    let (home, root) = root();
    let install = ["install", "--program", PROGRAM];
    // Nobody can be asked here.
    let (status, text) = service(&home, &root, &install);
    assert_eq!(status, Some(2), "{text}");
    assert!(
        text.contains("+ExecStart=/usr/bin/leverframe --daemon"),
        "{text}"
    );
    assert!(text.contains("run this again with --yes"), "{text}");
    assert!(!unit(&root).exists());

    let yes = ["install", "--program", PROGRAM, "--yes"];
    let (status, text) = service(&home, &root, &yes);
    assert_eq!(status, Some(0), "{text}");
    for step in [
        "useradd --system",
        "leverframe init --config /etc/leverframe/config.toml",
        "systemctl daemon-reload && systemctl enable --now leverframe",
    ] {
        assert!(text.contains(step), "{step}: {text}");
    }
    let written = std::fs::read_to_string(unit(&root)).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::mode(
        &std::fs::metadata(unit(&root)).unwrap().permissions(),
    );
    assert_eq!(mode & 0o777, 0o644);

    // A drop-in is told of and stays; a second run changes nothing.
    let drop_in = root.join("etc/systemd/system/leverframe.service.d/paths.conf");
    std::fs::create_dir_all(drop_in.parent().unwrap()).unwrap();
    std::fs::write(&drop_in, "[Service]\nReadWritePaths=/srv/bots\n").unwrap();
    let (status, text) = service(&home, &root, &yes);
    assert_eq!(status, Some(0), "{text}");
    assert!(text.contains("is as it must be"), "{text}");
    assert!(
        text.contains("a drop-in changes it") && text.contains("paths.conf"),
        "{text}"
    );

    // Another address: the difference is shown, and written.
    let other = [
        "install",
        "--program",
        PROGRAM,
        "--address",
        "127.0.0.1:9999",
        "--yes",
    ];
    let (status, text) = service(&home, &root, &other);
    assert_eq!(status, Some(0), "{text}");
    assert!(
        text.contains("-ExecStart=/usr/bin/leverframe --daemon --listen 127.0.0.1:8787"),
        "{text}"
    );
    assert_ne!(std::fs::read_to_string(unit(&root)).unwrap(), written);

    let (status, text) = service(&home, &root, &["status", "--json"]);
    assert_eq!(status, Some(0), "{text}");
    let found: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        (&found["installed"], &found["ours"]),
        (&true.into(), &true.into())
    );
    assert_eq!(found["drop_ins"].as_array().unwrap().len(), 1);

    // While a target wants it, it stays.
    let wants = root.join("etc/systemd/system/multi-user.target.wants");
    std::fs::create_dir_all(&wants).unwrap();
    std::os::unix::fs::symlink(unit(&root), wants.join("leverframe.service")).unwrap();
    let (status, text) = service(&home, &root, &["uninstall", "--yes"]);
    assert_eq!(status, Some(2), "{text}");
    assert!(
        text.contains("systemctl disable --now leverframe"),
        "{text}"
    );
    std::fs::remove_file(wants.join("leverframe.service")).unwrap();
    let (status, text) = service(&home, &root, &["uninstall", "--yes"]);
    assert_eq!(status, Some(0), "{text}");
    assert!(!unit(&root).exists() && drop_in.exists(), "{text}");
    let (status, text) = service(&home, &root, &["status"]);
    assert_eq!(status, Some(0));
    assert!(text.contains("there is no "), "{text}");
}

#[test]
fn a_unit_of_somebody_else_is_left_alone() {
    let (home, root) = root();
    std::fs::create_dir_all(unit(&root).parent().unwrap()).unwrap();
    std::fs::write(unit(&root), "[Service]\nExecStart=/bin/true\n").unwrap();
    for words in [
        &["install", "--program", PROGRAM, "--yes"][..],
        &["uninstall", "--yes"],
    ] {
        let (status, text) = service(&home, &root, words);
        assert_eq!(status, Some(2), "{text}");
        assert!(text.contains("was not written by this command"), "{text}");
    }
    assert_eq!(
        std::fs::read_to_string(unit(&root)).unwrap(),
        "[Service]\nExecStart=/bin/true\n"
    );
}

#[test]
fn a_program_that_the_service_would_not_see_is_refused() {
    let (home, root) = root();
    for program in ["/home/anna/bin/leverframe", "/tmp/leverframe", "leverframe"] {
        let words = ["install", "--program", program, "--yes"];
        let (status, text) = service(&home, &root, &words);
        assert_eq!(status, Some(2), "{program}: {text}");
    }
    assert!(!unit(&root).exists());
}

#[test]
fn without_systemd_the_unit_is_printed_and_nothing_is_written() {
    if Path::new("/run/systemd/system").exists() {
        return;
    }
    let home = Home::new("");
    let output = Command::new(home.command().get_program())
        .args(["service", "install", "--user", "--yes"])
        .env_clear()
        .env("HOME", home.path())
        .output()
        .unwrap();
    let text = said(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(
        text.contains("[Service]\n") && text.contains("systemd does not run here"),
        "{text}"
    );
    assert!(!home.path().join(".config/systemd").exists());
}
