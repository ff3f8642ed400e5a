//! A scripted server, and calls of its tools by a person who answers what they are asked.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use leverframe::clock::Clock;
use leverframe::config::mcp::{McpAddress, McpPlace, McpServerSettings};
use leverframe::config::program::ProgramSettings;
use leverframe::config::settings::Secret;
use leverframe::protocol::enums::McpServerState;
use leverframe::text::redact::Redactor;
use leverframe::tools::mcp::{
    CallOutcome, CallRequest, McpServers, ServerStatus, Surroundings, definition_sha256,
};
use leverframe::tools::sandbox::Sandbox;
use leverframe::tools::service::Services;
use leverframe::tools::tool::ToolHost;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::tools::harness::eventually;

/// Name of the server in the configuration.
pub const SERVER: &str = "odd";

/// Where Python is, which the scripted server is written in.
pub const PYTHON: &str = "/usr/bin/python3";

/// The program of the scripted server.
pub fn script() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/mcp_server.py")
}

/// The settings of the scripted server that behaves as the words say.
pub fn program(words: &[&str]) -> ProgramSettings {
    let script = script().to_string_lossy().into_owned();
    let mut command = vec![PYTHON.to_owned(), script];
    command.extend(words.iter().map(|word| (*word).to_owned()));
    ProgramSettings {
        command,
        directory: None,
        environment: BTreeMap::new(),
        read: Vec::new(),
        write: Vec::new(),
        network: false,
        sandbox: false,
        secrets: Vec::new(),
        missing: Vec::new(),
    }
}

pub fn settings(place: McpPlace) -> McpServerSettings {
    McpServerSettings {
        place,
        trusted: false,
        tools: BTreeMap::new(),
        allow: Vec::new(),
        block: Vec::new(),
        idle_timeout: Duration::from_secs(20),
        max_duration: Duration::from_secs(40),
        keep: Duration::from_secs(600),
        max_result_bytes: 256 * 1024,
    }
}

pub fn address(url: String) -> McpAddress {
    McpAddress {
        url,
        headers: BTreeMap::new(),
        login: None,
    }
}

/// A person who answers in order, and keeps what they were asked and shown.
#[derive(Default)]
pub struct Person {
    pub answers: Mutex<Vec<&'static str>>,
    pub asked: Mutex<Vec<(String, String, Vec<String>)>>,
    pub seen: Mutex<Vec<String>>,
}

impl Person {
    pub fn answering(answers: &[&'static str]) -> Self {
        Self {
            answers: Mutex::new(answers.iter().rev().copied().collect()),
            ..Self::default()
        }
    }
}

#[async_trait]
impl ToolHost for Person {
    fn progress(&self, text: &str) {
        self.seen.lock().unwrap().push(text.to_owned());
    }

    async fn ask(
        &self,
        asked_by: &str,
        question: &str,
        choices: &[String],
    ) -> Result<String, String> {
        let asked = (asked_by.to_owned(), question.to_owned(), choices.to_vec());
        self.asked.lock().unwrap().push(asked);
        let answer = self.answers.lock().unwrap().pop();
        answer
            .map(str::to_owned)
            .ok_or_else(|| "nobody is here".to_owned())
    }
}

/// Servers with one scripted one among them.
pub struct Scripted {
    pub root: tempfile::TempDir,
    pub servers: McpServers,
    pub person: Person,
    pub cancel: CancellationToken,
}

impl Scripted {
    /// A program that behaves as the words say.
    pub fn new(words: &[&str]) -> Self {
        Self::with(settings(McpPlace::Program(program(words))))
    }

    pub fn with(settings: McpServerSettings) -> Self {
        Self::in_sandbox(settings, &Sandbox::none("a test"))
    }

    pub fn in_sandbox(settings: McpServerSettings, sandbox: &Sandbox) -> Self {
        let root = tempfile::tempdir().unwrap();
        let data = root.path().canonicalize().unwrap().join("data");
        std::fs::create_dir(&data).unwrap();
        let surroundings = Surroundings {
            services: Services {
                sandbox: sandbox.clone(),
                data_dir: data.clone(),
                hidden: vec![data],
            },
            redactor: Redactor::new(),
            clock: Clock::System,
        };
        let servers = BTreeMap::from([(SERVER.to_owned(), settings)]);
        Self {
            root,
            servers: McpServers::new(servers, surroundings),
            person: Person::default(),
            cancel: CancellationToken::new(),
        }
    }

    pub fn answering(mut self, answers: &[&'static str]) -> Self {
        self.person = Person::answering(answers);
        self
    }

    pub fn status(&self) -> ServerStatus {
        self.servers.status(SERVER).unwrap()
    }

    /// The call of a tool as it is offered now.
    pub async fn request(&self, tool: &str, arguments: Value) -> CallRequest {
        let catalogue = self.servers.catalogue(SERVER).await.unwrap();
        let mut tools = catalogue.tools.iter();
        let definition = tools.find(|definition| definition.name == tool).unwrap();
        CallRequest {
            tool: tool.to_owned(),
            definition_sha256: definition_sha256(definition),
            identity: catalogue.identity.clone(),
            arguments: match arguments {
                Value::Object(map) => map,
                _ => Map::new(),
            },
        }
    }

    pub async fn send(&self, request: CallRequest) -> CallOutcome {
        let calling = self
            .servers
            .call(SERVER, request, &self.person, &self.cancel);
        calling.await
    }

    pub async fn call(&self, tool: &str, arguments: Value) -> CallOutcome {
        let request = self.request(tool, arguments).await;
        self.send(request).await
    }

    /// The text of a call.
    pub async fn said(&self, tool: &str, arguments: Value) -> String {
        self.call(tool, arguments).await.outcome.content
    }

    /// Waits for a state.
    pub async fn until(&self, state: McpServerState) -> ServerStatus {
        let until = Instant::now() + Duration::from_secs(30);
        loop {
            let status = self.status();
            if status.state == state {
                return status;
            }
            assert!(Instant::now() < until, "{status:?}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

/// Whether a process lives.
pub fn lives(pid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"));
    status.is_ok_and(|status| !status.contains("State:\tZ"))
}

/// The scripted server over HTTP. It ends with this.
pub struct OverHttp {
    child: std::process::Child,
    pub url: String,
    pub state: PathBuf,
    _root: tempfile::TempDir,
}

impl OverHttp {
    pub async fn start(words: &[&str]) -> Self {
        let root = tempfile::tempdir().unwrap();
        let (port, state) = (root.path().join("port"), root.path().join("state"));
        let child = std::process::Command::new(PYTHON)
            .arg(script())
            .args([
                "http",
                port.to_str().unwrap(),
                "state",
                state.to_str().unwrap(),
            ])
            .args(words)
            .spawn()
            .unwrap();
        eventually("the server listens", || port.exists()).await;
        let port: u16 = std::fs::read_to_string(&port).unwrap().parse().unwrap();
        Self {
            child,
            url: format!("http://127.0.0.1:{port}/mcp"),
            state,
            _root: root,
        }
    }

    /// What it received.
    pub fn received(&self) -> String {
        std::fs::read_to_string(&self.state).unwrap_or_default()
    }

    pub fn settings(&self) -> McpServerSettings {
        settings(McpPlace::Address(address(self.url.clone())))
    }
}

impl Drop for OverHttp {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A secret of the configuration.
pub fn secret(value: &str) -> Secret {
    Secret::new(value)
}

/// No arguments.
pub fn none() -> Value {
    json!({})
}
