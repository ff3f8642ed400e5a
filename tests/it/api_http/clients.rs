//! Clients that generators we did not write make from the OpenAPI document, at work against a daemon.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use leverframe::api::{openapi, router};
use serde_json::{Value, json};

use crate::support::daemon::{Daemon, Home};
use crate::support::requirement::{peer, peer_source};

/// Runs a program in a folder to its end, without a proxy; what it said on both streams.
fn run(command: &mut Command, folder: &Path) -> (String, String) {
    for name in ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"] {
        command.env_remove(name);
    }
    let output = command.current_dir(folder).output().unwrap();
    let said = (
        String::from_utf8_lossy(&output.stdout).into_owned(),
        String::from_utf8_lossy(&output.stderr).into_owned(),
    );
    assert!(
        output.status.success(),
        "{command:?}\n{}\n{}",
        said.0,
        said.1
    );
    said
}

/// Runs a program that asks, kills the daemon with -9 meanwhile and starts it again; what the program saw.
fn over_a_restart(command: &mut Command, folder: &Path, home: &Home, mut daemon: Daemon) -> Value {
    for name in ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"] {
        command.env_remove(name);
    }
    let address = daemon.base.strip_prefix("http://").unwrap().to_owned();
    let mut program = command
        .args([&daemon.base, &daemon.token])
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(program.stdout.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    assert_eq!(line.trim(), "asked");
    daemon.kill();
    let _daemon = home.daemon_at(&address);
    program.stdin.take().unwrap().write_all(b"\n").unwrap();
    let mut saw = String::new();
    said.read_to_string(&mut saw).unwrap();
    assert!(program.wait().unwrap().success(), "{saw}");
    serde_json::from_str(&saw).unwrap()
}

/// What a client sees who allows a call after a restart.
fn assert_allowed_after_a_restart(saw: &Value) {
    assert_eq!(saw["waited"], "pending", "{saw:#}");
    assert_eq!(saw["ended"], json!(["completed", "it ran"]), "{saw:#}");
    assert_eq!(saw["calls"], json!(["succeeded"]), "{saw:#}");
    let kinds: Vec<&str> = saw["kinds"]
        .as_array()
        .unwrap()
        .iter()
        .map(|kind| kind.as_str().unwrap())
        .collect();
    let count = |wanted: &str| kinds.iter().filter(|kind| **kind == wanted).count();
    assert_eq!(
        (
            count("approval.requested"),
            count("approval.decided"),
            count("tool.finished"),
            count("continuation.completed")
        ),
        (0, 1, 1, 1),
        "{kinds:?}"
    );
}

/// A folder with `openapi.json`.
fn document() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let document = openapi::document(router::table());
    std::fs::write(folder.path().join("openapi.json"), document.to_string()).unwrap();
    folder
}

#[tokio::test(flavor = "multi_thread")]
async fn a_generated_python_client_does_the_work_of_a_session() {
    let unchecked = "a Python client made from the OpenAPI document";
    let Some(python) = peer("openapi_python", "bin/python", unchecked) else {
        return;
    };
    let folder = document();
    let generator = python.with_file_name("openapi-python-client");
    let (stdout, stderr) = run(
        Command::new(&python)
            .arg(generator)
            .args(["generate", "--path", "openapi.json", "--meta", "none"])
            .args(["--output-path", "leverframe_client", "--config"])
            .arg(peer_source("openapi_python", "config.yaml")),
        folder.path(),
    );
    let said = format!("{stdout}{stderr}").to_lowercase();
    assert!(
        !said.contains("warning"),
        "it leaves something out:\n{said}"
    );

    let home = Home::new("[model]\ndefault = \"scripted/demo\"\n");
    let daemon = home.daemon();
    let (saw, _) = run(
        Command::new(&python)
            .arg(peer_source("openapi_python", "drive.py"))
            .arg(folder.path())
            .args([&daemon.base, &daemon.token]),
        folder.path(),
    );
    let saw: Value = serde_json::from_str(&saw).unwrap();
    assert_eq!(saw["opened"], json!(["Session", "from python"]), "{saw:#}");
    assert_eq!(saw["answer"][0], "Continuation", "{saw:#}");
    assert!(
        saw["answer"][1].as_str().unwrap().contains("well made"),
        "{saw:#}"
    );
    assert_eq!(saw["refused"], json!(["Problem", 404]), "{saw:#}");
    assert_eq!(saw["page"], json!(["Session", 1]), "{saw:#}");
    assert_eq!(
        saw["states"],
        json!(["ended", "active", "active"]),
        "{saw:#}"
    );
    assert_eq!(saw["snapshot"], "Snapshot", "{saw:#}");

    let home = Home::new("[model]\ndefault = \"scripted/demo\"\n");
    let daemon = home.daemon();
    let mut script = Command::new(&python);
    script
        .arg(peer_source("openapi_python", "restart.py"))
        .arg(folder.path());
    let saw = over_a_restart(&mut script, folder.path(), &home, daemon);
    assert_allowed_after_a_restart(&saw);
}

#[tokio::test(flavor = "multi_thread")]
async fn generated_typescript_types_hold_a_use_of_them_to_the_document() {
    let unchecked = "TypeScript types made from the OpenAPI document";
    let Some(modules) = peer("openapi_typescript", "node_modules", unchecked) else {
        return;
    };
    let folder = document();
    std::os::unix::fs::symlink(&modules, folder.path().join("node_modules")).unwrap();
    let program = |name: &str, arguments: &[&str]| {
        let mut command = Command::new("node");
        command.arg(modules.join(name)).args(arguments);
        run(&mut command, folder.path())
    };
    program(
        "openapi-typescript/bin/cli.js",
        &["openapi.json", "--output", "api.d.ts"],
    );
    let script = peer_source("openapi_typescript", "use.ts");
    std::fs::copy(script, folder.path().join("use.ts")).unwrap();
    program(
        "typescript/bin/tsc",
        &[
            "--strict", "--noEmit", "--target", "es2022", "--module", "preserve", "use.ts",
        ],
    );
    let script = peer_source("openapi_typescript", "restart.ts");
    std::fs::copy(script, folder.path().join("restart.ts")).unwrap();
    std::fs::write(folder.path().join("package.json"), "{\"type\": \"module\"}").unwrap();
    program(
        "typescript/bin/tsc",
        &[
            "--strict",
            "--target",
            "es2022",
            "--module",
            "esnext",
            "--moduleResolution",
            "bundler",
            "restart.ts",
        ],
    );
    let home = Home::new("[model]\ndefault = \"scripted/demo\"\n");
    let daemon = home.daemon();
    let mut script = Command::new("node");
    script.arg("restart.js");
    let saw = over_a_restart(&mut script, folder.path(), &home, daemon);
    assert_allowed_after_a_restart(&saw);
}
