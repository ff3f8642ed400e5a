//! What the suites need around the terminal: a home's command with `TMPDIR` inside it, and the engine's
//! unix socket, through which a test looks at what really happened.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::daemon::{DEADLINE, Home};
use crate::support::pty::Pty;

/// A message whose write must be approved.
pub const WRITE: &str =
    "TOOL:write_file{\"path\":\"note.txt\",\"content\":\"hello\\n\"}\nSAY:all done";

/// The console of this home, 80 by 24.
pub fn console(home: &Home) -> Pty {
    Pty::start(&command(home), 80, 24)
}

/// The binary in this home, whose temporary files stay in the home.
pub fn command(home: &Home) -> Command {
    let mut command = home.command();
    command.env("TMPDIR", home.path());
    command
}

/// The demo in a temporary directory of its own.
pub fn demo() -> (tempfile::TempDir, Command) {
    let dir = tempfile::Builder::new()
        .prefix("lf")
        .tempdir()
        .expect("a temporary directory");
    let mut command = Command::new(env!("CARGO_BIN_EXE_leverframe"));
    command
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("HOME", dir.path())
        .env("TMPDIR", dir.path())
        .env("TERM", "xterm-256color")
        .arg("--demo");
    (dir, command)
}

/// The API over the unix socket of a home.
pub struct Door {
    client: reqwest::Client,
}

impl Door {
    /// The engine of this home, wherever it runs.
    pub fn of(home: &Home) -> Self {
        Self::at(&home.data().join("leverframe.sock"))
    }

    /// The engine behind this socket.
    pub fn at(socket: &Path) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        Self {
            client: reqwest::Client::builder()
                .unix_socket(socket)
                .timeout(DEADLINE)
                // The engine behind the socket is replaced by another during a test.
                .pool_max_idle_per_host(0)
                .build()
                .expect("an HTTP client"),
        }
    }

    async fn request(&self, request: reqwest::RequestBuilder) -> Result<Value, String> {
        let response = request.send().await.map_err(|error| format!("{error:?}"))?;
        let status = response.status();
        let body: Value = response
            .json()
            .await
            .map_err(|error| format!("{error:?}"))?;
        if status.is_success() {
            Ok(body)
        } else {
            Err(format!("{status} {body}"))
        }
    }

    /// GET; must succeed.
    pub async fn get(&self, path: &str) -> Value {
        self.request(self.client.get(format!("http://localhost{path}")))
            .await
            .unwrap_or_else(|error| panic!("GET {path}: {error}"))
    }

    /// POST; must succeed.
    pub async fn post(&self, path: &str, body: Value) -> Value {
        let request = self.client.post(format!("http://localhost{path}"));
        self.request(request.json(&body))
            .await
            .unwrap_or_else(|error| panic!("POST {path}: {error}"))
    }

    /// Opens a session and sends a message; the continuation's id.
    pub async fn say(&self, text: &str) -> String {
        let session = self.post("/v1/sessions", json!({})).await;
        let session = session["id"].as_str().expect("an id");
        let path = format!("/v1/sessions/{session}/messages");
        let accepted = self.post(&path, json!({ "text": text })).await;
        accepted["continuation_id"]
            .as_str()
            .expect("an id")
            .to_owned()
    }

    /// Sends a message and waits for the approval that its call needs.
    pub async fn ask(&self, text: &str) -> Value {
        let continuation = self.say(text).await;
        let list = self
            .wait("/v1/approvals?state=pending", "an approval", |body| {
                items(body).any(|a| a["continuation_id"] == continuation.as_str())
            })
            .await;
        items(&list)
            .find(|a| a["continuation_id"] == continuation.as_str())
            .cloned()
            .expect("the approval")
    }

    /// Waits until a GET satisfies a condition.
    pub async fn wait(&self, path: &str, what: &str, condition: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + DEADLINE;
        loop {
            let body = self.get(path).await;
            if condition(&body) {
                return body;
            }
            assert!(Instant::now() < deadline, "never so: {what}\n{body:#}");
            tokio::time::sleep(Duration::from_millis(15)).await;
        }
    }

    /// Waits until a continuation is in a state.
    pub async fn wait_state(&self, continuation: &str, state: &str) -> Value {
        let path = format!("/v1/continuations/{continuation}");
        self.wait(&path, state, |body| body["state"] == state).await
    }
}

/// The items of a list.
pub fn items(body: &Value) -> impl Iterator<Item = &Value> {
    body["items"].as_array().into_iter().flatten()
}
