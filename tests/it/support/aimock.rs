//! aimock, a mock of model servers that others wrote (`tests/peers/install.sh aimock`).

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

/// A running aimock; killed when dropped.
pub struct Aimock {
    /// `http://127.0.0.1:PORT`.
    pub base: String,
    _process: Child,
}

impl Aimock {
    /// Starts one with the fixtures of `tests/fixtures/models/aimock`; none, loudly, where it is not installed.
    pub async fn start() -> Option<Self> {
        let program = crate::support::requirement::peer(
            "aimock",
            "node_modules/@copilotkit/aimock/dist/cli.js",
            "a third-party model server",
        )?;
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/models/aimock");
        let mut process = Command::new("node")
            .arg(program)
            .args(["-p", "0", "-f"])
            .arg(fixtures)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .kill_on_drop(true)
            .spawn()
            .expect("node starts");
        let mut lines = BufReader::new(process.stdout.take().expect("a pipe")).lines();
        let find = async {
            while let Some(line) = lines.next_line().await.expect("its output") {
                if let Some(at) = line.find("http://127.0.0.1:") {
                    return line[at..].trim().to_owned();
                }
            }
            panic!("aimock ended before it listened");
        };
        let base = tokio::time::timeout(Duration::from_mins(1), find)
            .await
            .expect("aimock listens");
        // Its output goes on; unread, the pipe would fill.
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        Some(Self {
            base,
            _process: process,
        })
    }

    /// The next request is answered with this status, whatever it asks.
    pub async fn fail_once(&self, status: u16, message: &str) {
        let response = crate::support::daemon::client()
            .post(format!("{}/__aimock/error", self.base))
            .json(&json!({"status": status, "body": {"message": message, "type": "server_error"}}))
            .send()
            .await
            .expect("an answer");
        assert!(response.status().is_success());
    }

    /// The requests it got on a path, oldest first, keys redacted by it.
    pub async fn journal(&self, path: &str) -> Vec<Value> {
        let response = crate::support::daemon::client()
            .get(format!("{}/__aimock/journal", self.base))
            .send()
            .await
            .expect("an answer");
        let body: Value = response.json().await.expect("JSON");
        let entries = body
            .as_array()
            .or_else(|| body["entries"].as_array())
            .unwrap_or_else(|| panic!("no journal: {body:#}"));
        entries
            .iter()
            .filter(|entry| {
                entry["path"]
                    .as_str()
                    .is_some_and(|asked| asked.starts_with(path))
            })
            .cloned()
            .collect()
    }
}
