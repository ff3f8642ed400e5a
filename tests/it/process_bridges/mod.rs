//! Bridges that are programs: the protocol, the conformance command, the examples, and IRC through the real daemon.

#![allow(clippy::unwrap_used)] // a suite fails the test by panicking

mod conform;
mod decode;
mod folder;
mod irc;
mod lines;
mod pipes;
mod schema;
mod whole_lines;

use std::path::{Path, PathBuf};

use crate::support::requirement::missing;

/// A file of the examples.
fn example(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    root.join("examples/bridges").join(name)
}

/// A program of the machine that tests need; none, loudly, where it is not there.
#[track_caller]
fn program(name: &str, unchecked: &str) -> Option<PathBuf> {
    let places = ["/usr/local/bin", "/usr/bin", "/usr/sbin"];
    let found = places
        .iter()
        .map(|place| Path::new(place).join(name))
        .find(|path| path.is_file());
    if found.is_none() {
        missing(name, unchecked, &format!("install {name}"));
    }
    found
}
