//! A session as a whole: exported and played again.

// Helpers of tests count as tests here.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod export;
mod long;
mod reading;
mod replay;
mod resume;
mod window;

use std::process::{Output, Stdio};

use crate::support::daemon::Home;

/// A home without channels.
fn plain_home() -> Home {
    Home::new("[model]\ndefault = \"scripted/demo\"\n")
}

/// Runs the program with this home to its end; without a terminal.
fn run(home: &Home, arguments: &[&str]) -> Output {
    home.command()
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .expect("the binary runs")
}

/// What a run said, both streams.
fn said(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}
