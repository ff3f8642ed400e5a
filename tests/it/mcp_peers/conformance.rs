//! The conformance suite of the protocol against our client, in both eras.
//!
//! The suite starts a server for each scenario and then a client, which is this test binary again: it goes through
//! our adapter, and does what a person and an agent would do at a server of that kind. `client_baseline.yml` lists what
//! we do not implement. The suite fails where a scenario fails that is not listed, and where a listed one passes.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use leverframe::clock::Clock;
use leverframe::config::mcp::{McpAddress, McpLogin};
use leverframe::config::settings::Secret;
use leverframe::mcp::client::call::CallTimes;
use leverframe::mcp::client::caller::Caller;
use leverframe::mcp::client::connection::{ConnectError, Connection};
use leverframe::mcp::client::login::{LoginAttempt, LoginOptions};
use leverframe::mcp::client::request::RequestError;
use leverframe::text::redact::Redactor;
use serde_json::{Map, Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::mcp_peers::issuer::Issuer;
use crate::support::requirement::peer;

/// Most logins of one client: a person gives up too.
const LOGINS: usize = 3;
/// Address of a document about a client, which nobody reads in the scenarios.
const DOCUMENT: &str = "https://conformance-test.local/client-metadata.json";
const TIMES: CallTimes = CallTimes {
    idle: Duration::from_secs(20),
    longest: Duration::from_secs(20),
};

async fn passes(requirements: &str) {
    let program = "node_modules/@modelcontextprotocol/conformance/dist/index.js";
    let Some(suite) = peer("mcp_node", program, "the conformance of the client") else {
        return;
    };
    let node = peer(
        "mcp_node",
        "node_modules/.bin/node",
        "the conformance of the client",
    );
    let here = std::env::current_exe().expect("our own path");
    let client = format!(
        "{} --exact --ignored --nocapture mcp_peers::conformance::acts_as_the_client",
        here.display()
    );
    let baseline =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/mcp_peers/client_baseline.yml");
    let out = TempDir::new().expect("a directory");
    let run = tokio::process::Command::new(node.expect("it comes with the suite"))
        .arg(suite)
        .args([
            "client",
            "--requirements",
            requirements,
            "--command",
            &client,
        ])
        .arg("--expected-failures")
        .arg(baseline)
        .arg("-o")
        .arg(out.path())
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let ended = tokio::time::timeout(Duration::from_mins(5), run);
    let output = ended.await.expect("in time").expect("node starts");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{said}\n{}\n{}",
        String::from_utf8_lossy(&output.stderr),
        clients_said(out.path())
    );
    // A suite that found no scenario has checked nothing.
    assert!(said.matches("auth/").count() > 10, "{said}");
}

/// What the clients wrote, for a failure.
fn clients_said(results: &Path) -> String {
    let mut files: Vec<PathBuf> = Vec::new();
    let mut dirs = vec![results.to_owned()];
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(dir).expect("a directory").flatten() {
            match entry.path() {
                path if path.is_dir() => dirs.push(path),
                path if path.ends_with("stderr.txt") => files.push(path),
                _ => {}
            }
        }
    }
    files.sort();
    let texts = files.iter().filter_map(|file| {
        let text = std::fs::read_to_string(file).ok()?;
        (!text.trim().is_empty()).then(|| format!("{}:\n{text}", file.display()))
    });
    texts.collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn the_client_passes_what_the_older_era_requires() {
    passes("2025-11-25").await;
}

#[tokio::test]
async fn the_client_passes_what_the_newer_era_requires() {
    passes("2026-07-28").await;
}

/// Leaves out what may be left out, and else takes the first choice.
struct Person;

#[async_trait]
impl Caller for Person {
    fn progress(&self, _: &str) {}

    async fn ask(&self, _: &str, choices: &[String]) -> Result<String, String> {
        let left_out = choices.iter().find(|choice| choice.starts_with('('));
        let chosen = left_out.or_else(|| choices.first());
        Ok(chosen.map_or_else(|| "-".to_owned(), Clone::clone))
    }
}

/// A client of one scenario.
struct Client {
    scenario: String,
    context: Value,
    address: McpAddress,
    login: McpLogin,
}

impl Client {
    async fn connect(&self) -> Result<Connection, ConnectError> {
        let log = Arc::new(|line: &str| eprintln!("server: {line}"));
        let redactor = Redactor::new();
        let within = Duration::from_secs(15);
        Connection::over_http(&self.address, redactor, Clock::System, log, within).await
    }

    async fn log_in(&self) {
        let options = LoginOptions {
            redirect: "http://127.0.0.1:3017/callback".to_owned(),
            client_secret: self.context["client_secret"].as_str().map(Secret::new),
            scopes: Vec::new(),
        };
        let attempt =
            LoginAttempt::begin(&self.address, &self.login, options, Redactor::new()).await;
        let attempt = attempt.unwrap_or_else(|error| panic!("no login: {error}"));
        let answer = Issuer::consent(attempt.page()).await;
        let finished = attempt.finish(&answer).await;
        finished.unwrap_or_else(|error| panic!("no tokens: {error}"));
    }

    async fn call(
        &self,
        connection: &Connection,
        tool: &str,
        arguments: Value,
    ) -> Result<(), RequestError> {
        let arguments: Map<String, Value> = serde_json::from_value(arguments).expect("an object");
        let cancel = CancellationToken::new();
        let called = connection.call(tool, arguments, TIMES, &Person, &cancel);
        let result = called.await;
        eprintln!("{tool}: {result:?}");
        result.map(|_| ())
    }

    /// What this kind of server is for.
    async fn use_it(&self, connection: &Connection) -> Result<(), RequestError> {
        let list = connection.tools().await?;
        match self.scenario.as_str() {
            "json-schema-ref-no-deref" => {}
            "tools_call" => {
                self.call(connection, "add_numbers", json!({"a": 5, "b": 3}))
                    .await?;
            }
            "http-custom-headers" => {
                for call in self.context["toolCalls"].as_array().expect("calls") {
                    let tool = call["name"].as_str().expect("a name");
                    self.call(connection, tool, call["arguments"].clone())
                        .await?;
                }
            }
            "sep-2322-client-request-state" => {
                let (asked, other) = tokio::join!(
                    self.call(connection, "test_mrtr_echo_state", json!({})),
                    self.call(connection, "test_mrtr_unrelated", json!({})),
                );
                asked.and(other)?;
                self.call(connection, "test_mrtr_no_state", json!({}))
                    .await?;
                self.call(connection, "test_mrtr_no_result_type", json!({}))
                    .await?;
            }
            _ => {
                for tool in list.tools.keys() {
                    self.call(connection, tool, json!({})).await?;
                }
                self.read_what_there_is(connection).await?;
            }
        }
        Ok(())
    }

    async fn read_what_there_is(&self, connection: &Connection) -> Result<(), RequestError> {
        if connection.has_resources() {
            for resource in connection.resources().await? {
                connection.read_resource(&resource.uri).await?;
            }
        }
        if connection.has_prompts() {
            for prompt in connection.prompts().await? {
                connection.prompt(&prompt.name, Map::new()).await?;
            }
        }
        Ok(())
    }
}

/// Not a test of its own: the suite runs it as the client of a scenario, with the address of its server as last word.
#[tokio::test]
#[ignore = "the conformance suite runs it"]
async fn acts_as_the_client() {
    let url = std::env::args().next_back().expect("an address");
    let context = std::env::var("MCP_CONFORMANCE_CONTEXT").unwrap_or_else(|_| "{}".to_owned());
    let context: Value = serde_json::from_str(&context).expect("JSON");
    let dir = TempDir::new().expect("a directory");
    let scenario = std::env::var("MCP_CONFORMANCE_SCENARIO").expect("a scenario");
    let login = McpLogin {
        file: dir.path().join("login.json"),
        client_id: Some(context["client_id"].as_str().unwrap_or(DOCUMENT).to_owned()),
        scopes: Vec::new(),
    };
    let client = Client {
        address: McpAddress {
            url,
            headers: std::collections::BTreeMap::new(),
            login: Some(login.clone()).filter(|_| scenario.starts_with("auth/")),
        },
        scenario,
        context,
        login,
    };
    for attempt in 0..=LOGINS {
        let problem = match client.connect().await {
            Ok(connection) => match client.use_it(&connection).await {
                Ok(()) if !client.scenario.starts_with("auth/") => return,
                // A server whose issuer moves refuses the second use.
                Ok(()) => match client.use_it(&connection).await {
                    Ok(()) => return,
                    Err(RequestError::NeedsLogin(why)) => why,
                    Err(error) => panic!("{error}"),
                },
                Err(RequestError::NeedsLogin(why)) => why,
                Err(error) => panic!("{error}"),
            },
            Err(ConnectError::NeedsLogin(why)) => why,
            Err(error) => panic!("{error}"),
        };
        eprintln!("login {}: {problem}", attempt + 1);
        assert!(attempt < LOGINS, "the server wants a login again and again");
        client.log_in().await;
    }
}
