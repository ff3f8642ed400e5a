//! Copies of a data directory: a command on one does not reach the daemon of the original.

use std::path::Path;
use std::process::{Command, Output};

use crate::support::daemon::Home;

fn on(home: &Home, data: &Path, words: &[&str]) -> Output {
    Command::new(home.command().get_program())
        .env_clear()
        .env("HOME", home.path())
        .arg("--data-dir")
        .arg(data)
        .args(words)
        .output()
        .expect("it runs")
}

#[tokio::test]
async fn a_command_on_a_copy_does_not_reach_the_daemon_of_the_original() {
    let home = Home::new("");
    let daemon = home.daemon();
    let copy = home.path().join("copy");
    let copied = Command::new("cp")
        .arg("-a")
        .args([&home.data(), &copy])
        .status()
        .expect("cp runs");
    assert!(copied.success());
    let refused = on(&home, &copy, &["emergency-stop"]);
    assert_eq!(refused.status.code(), Some(3), "{refused:?}");
    let held = daemon.get("/v1/snapshot").await["engine"]["held_since"].clone();
    assert!(held.is_null(), "{held}");
    // The directory itself, by a name of its own.
    let link = home.path().join("link");
    std::os::unix::fs::symlink(home.data(), &link).expect("a link");
    let stopped = on(&home, &link, &["emergency-stop"]);
    assert!(stopped.status.success(), "{stopped:?}");
    let held = daemon.get("/v1/snapshot").await["engine"]["held_since"].clone();
    assert!(held.is_string(), "{held}");
}
