//! Hosts that others wrote: the official SDKs and the official inspector.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::mcp_server::host::token;
use crate::support::daemon::{Daemon, Home};
use crate::support::requirement::peer;

const UNCHECKED: &str = "the server against the hosts of others";

fn home() -> Home {
    Home::new("[channels.mcp]\nautonomy = \"semi_auto\"\n")
}

fn url(daemon: &Daemon) -> String {
    format!("{}/mcp", daemon.base)
}

/// What a program prints last, as JSON. Nothing is said on standard error of what the server sends.
fn printed(command: &mut Command) -> Value {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}\n{errors}");
    assert!(!errors.contains("ignored in schema"), "{errors}");
    serde_json::from_str(said.trim()).unwrap_or_else(|error| panic!("{error}: {said}\n{errors}"))
}

fn bounded(program: &Path) -> Command {
    let mut command = Command::new("timeout");
    command.arg("60").arg(program);
    command
}

fn node() -> Option<std::path::PathBuf> {
    let machine = match std::env::consts::ARCH {
        "aarch64" => "arm64",
        _ => "x64",
    };
    let file = format!("node_modules/node-linux-{machine}/bin/node");
    peer("mcp_node", &file, UNCHECKED)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_python_sdk_asks_in_both_eras() {
    let Some(python) = peer("mcp_python", "bin/python", UNCHECKED) else {
        return;
    };
    let home = home();
    let daemon = home.daemon();
    let script = home.path().join("host.py");
    std::fs::write(&script, include_str!("host.py")).unwrap();
    let token = token(&home, "python");
    let mut over_http = bounded(&python);
    over_http.arg(&script).args(["http", &url(&daemon), &token]);
    let said = printed(&mut over_http);
    assert_eq!(said["version"], "2026-07-28");
    assert_eq!(said["answer"], "hello");
    let own = home.command();
    let mut over_streams = bounded(&python);
    over_streams
        .arg(&script)
        .arg("stdio")
        .arg(own.get_program())
        .args(own.get_args())
        .args(["mcp", "serve"]);
    let said = printed(&mut over_streams);
    assert_eq!(said["version"], "2025-11-25");
    assert_eq!(said["answer"], "hello");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_typescript_sdk_and_the_inspector_ask_over_http() {
    let Some(node) = node() else { return };
    let launcher = "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js";
    let Some(inspector) = peer("mcp_node", launcher, UNCHECKED) else {
        return;
    };
    let home = home();
    let daemon = home.daemon();
    let token = token(&home, "node");
    let script = home.path().join("host.mjs");
    std::fs::write(&script, include_str!("host.mjs")).unwrap();
    let packages = inspector
        .ancestors()
        .find(|folder| folder.ends_with("node_modules"))
        .unwrap();
    let said = printed(
        bounded(&node)
            .arg(&script)
            .arg(packages)
            .args([&url(&daemon), &token]),
    );
    assert_eq!(said["answer"], "hello");
    let said = printed(
        bounded(&node)
            .arg(&inspector)
            .args(["--cli", &url(&daemon), "--transport", "http", "--header"])
            .arg(format!("Authorization: Bearer {token}"))
            .args(["--method", "tools/call", "--tool-name", "list_files"])
            .args(["--tool-arg", "path=."]),
    );
    assert_eq!(said["isError"], false, "{said}");
}
