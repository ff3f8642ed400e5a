//! Programs that tests need beside the binary. In CI none may be missing; elsewhere a test says aloud what it left out.

use std::path::{Path, PathBuf};

/// Where `tests/peers/install.sh` puts the peers.
pub fn peers() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    std::env::var_os("LEVERFRAME_PEERS").map_or_else(|| root.join("target/peers"), PathBuf::from)
}

/// A file of a peer that `tests/peers/install.sh` installs: the peer's name, and the path below its folder. None,
/// loudly, where it is not there.
#[track_caller]
pub fn peer(name: &str, file: &str, unchecked: &str) -> Option<PathBuf> {
    let file = peers().join(name).join(file);
    if file.exists() {
        return Some(file);
    }
    missing(
        name,
        unchecked,
        &format!("run tests/peers/install.sh {name}"),
    );
    None
}

/// A file of the folder in which a peer is described.
pub fn peer_source(name: &str, file: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    root.join("tests/peers").join(name).join(file)
}

/// Says that a program is missing and what is not checked for want of it. Where `CI` is set, this fails the test.
#[track_caller]
pub fn missing(program: &str, unchecked: &str, remedy: &str) {
    report(
        std::env::var_os("CI").is_some_and(|value| !value.is_empty() && value != "false"),
        program,
        unchecked,
        remedy,
    );
}

#[track_caller]
fn report(in_ci: bool, program: &str, unchecked: &str, remedy: &str) {
    let line = format!("{program} is missing: {unchecked} was not checked; {remedy}");
    assert!(!in_ci, "{line}");
    eprintln!("\n!!! NOT CHECKED: {line}\n");
}

#[test]
fn a_missing_program_fails_a_test_in_ci_only() {
    report(false, "strace", "the loss of power", "install strace");
    let failure =
        std::panic::catch_unwind(|| report(true, "strace", "the loss of power", "install strace"))
            .expect_err("it fails in CI");
    let text = failure
        .downcast_ref::<String>()
        .expect("a text")
        .to_lowercase();
    assert!(text.contains("strace is missing"), "{text}");
    assert!(text.contains("install strace"), "{text}");
}
