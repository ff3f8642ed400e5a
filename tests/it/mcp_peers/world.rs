//! Servers that others wrote, in the configuration of the real daemon.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::daemon::{Daemon, Home};
use crate::support::requirement::{peer, peer_source};

/// What is not checked where a server is missing.
const UNCHECKED: &str = "tool servers that others wrote";

/// Agents decide by themselves, so that a test asks for what it wants to see.
const FULL: &str = "[channels.api]\nautonomy = \"full\"\npermanent_full = true\n\n";

/// A program and what it has to read.
pub struct Server {
    command: Vec<String>,
    read: Vec<PathBuf>,
}

impl Server {
    /// A package of the reference servers in Node.
    pub fn node(package: &str, arguments: &[&str]) -> Option<Self> {
        let root = peer("mcp_node", "node_modules", UNCHECKED)?;
        let root = root.canonicalize().expect("it is there");
        let node = root
            .join(".bin/node")
            .canonicalize()
            .expect("it comes with them");
        let program = root.join(package).join("dist/index.js");
        let words = [node, program].map(|path| path.display().to_string());
        let arguments = arguments.iter().map(|word| (*word).to_owned());
        Some(Self {
            command: words.into_iter().chain(arguments).collect(),
            read: vec![root],
        })
    }

    /// A module of Python.
    pub fn python(arguments: &[&str]) -> Option<Self> {
        let root = peer("mcp_python", "installed.txt", UNCHECKED)?;
        let root = root
            .parent()
            .and_then(|root| root.canonicalize().ok())
            .expect("a folder");
        let python = root.join("bin/python");
        // The interpreter of the environment may lie elsewhere, with its library beside it.
        let behind = python.canonicalize().expect("an interpreter");
        let behind = behind.ancestors().nth(2).expect("a folder").to_owned();
        let python = python.display().to_string();
        let arguments = arguments.iter().map(|word| (*word).to_owned());
        Some(Self {
            command: std::iter::once(python).chain(arguments).collect(),
            read: vec![root, behind],
        })
    }

    /// The server with the ledger; the file is in the home.
    pub fn ledger() -> Option<Self> {
        let source = peer_source("mcp_python", "ledger.py");
        Self::python(&[source.to_str().expect("a path"), "{home}/share/ledger"])
    }

    /// The program with its arguments.
    pub fn command(&self) -> &[String] {
        &self.command
    }

    /// Its table in the configuration, with more lines of it.
    pub fn table(&self, name: &str, more: &str) -> String {
        let own = peer_source("mcp_python", "");
        let mut read = self.read.clone();
        read.push(own.canonicalize().expect("it is there"));
        format!(
            "[mcp.{name}]\ncommand = {}\nread = {}\nwrite = [\"{{home}}/share\"]\n{more}\n",
            json!(self.command),
            json!(read),
        )
    }
}

/// A home with servers and the folder `share`.
pub fn home(tables: &[String]) -> Home {
    let home = Home::new(&format!("{FULL}{}", tables.join("\n")));
    std::fs::create_dir(home.path().join("share")).expect("a folder");
    home
}

/// What a server offers is trusted: the review.
pub async fn trust(daemon: &Daemon, name: &str) -> Value {
    let path = format!("/v1/mcp/servers/{name}");
    let (status, review) = daemon.request("POST", &format!("{path}/test"), None).await;
    assert_eq!(status, 200, "{review:#}");
    let digest = review["offered_sha256"].as_str();
    let digest = digest.unwrap_or_else(|| panic!("nothing is offered: {review:#}"));
    daemon
        .post(&format!("{path}/trust"), json!({ "sha256": digest }))
        .await
}

/// An agent calls a tool of a server; the call, once the turn is over.
pub async fn call(daemon: &Daemon, tool: &str, arguments: Value) -> Value {
    let continuation = begin(daemon, tool, arguments).await;
    ended(daemon, &continuation).await
}

/// An agent begins to call a tool; the continuation.
pub async fn begin(daemon: &Daemon, tool: &str, arguments: Value) -> String {
    let session = daemon.session().await;
    let text = format!("TOOL:mcp__{tool}{arguments}\nSAY:done");
    daemon.send(&session, &text).await
}

/// The only call of a turn, once the turn is over.
pub async fn ended(daemon: &Daemon, continuation: &str) -> Value {
    daemon.wait_state(continuation, "completed").await["tool_calls"][0].clone()
}

/// The result of a call that succeeded.
pub fn result(call: &Value) -> &str {
    assert_eq!(call["state"], "succeeded", "{call:#}");
    call["result"].as_str().expect("a text")
}
