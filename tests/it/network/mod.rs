//! Suite: network. The daemon from other machines: TLS, certificates, and who connects with what.

// Helpers of a suite fail the test by panicking.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

pub mod pinning;
mod ssh;
mod tls;

use std::path::Path;
use std::process::Output;

use crate::support::daemon::Home;

/// A configuration with a certificate that lies beside it, and more tables.
pub fn config(more: &str) -> String {
    format!("[server.tls]\ncertificate = \"certificate.pem\"\nkey = \"key.pem\"\n{more}")
}

/// A home whose daemon speaks TLS, under a certificate for these days.
pub fn home(more: &str, days: &str) -> Home {
    let home = Home::new(&config(more));
    certificate(&home, &home.path().join("config"), days);
    home
}

/// Makes a certificate for loopback and its key in this directory.
pub fn certificate(home: &Home, directory: &Path, days: &str) {
    let directory = directory.to_str().unwrap();
    let words = [
        "certificate",
        "create",
        "--directory",
        directory,
        "--days",
        days,
    ];
    let output = run(
        home,
        &[&words[..], &["--name", "localhost", "--name", "127.0.0.1"]].concat(),
    );
    assert!(output.status.success(), "{output:?}");
}

/// A command of the binary in this home.
pub fn run(home: &Home, words: &[&str]) -> Output {
    home.command().args(words).output().expect("it runs")
}

/// What `certificate show` says of a file.
pub fn shown(home: &Home, file: &Path) -> serde_json::Value {
    let output = run(
        home,
        &["--json", "certificate", "show", file.to_str().unwrap()],
    );
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}
