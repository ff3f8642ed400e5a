//! A host that plugs in: raw JSON-RPC over HTTP, in the era it is told.

use serde_json::{Value, json};

use crate::support::daemon::{Daemon, Home, client};

/// How a host speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Era {
    /// 2025-11-25.
    Handshake,
    /// 2026-07-28.
    Stateless,
}

/// A host with a token.
#[derive(Clone)]
pub struct McpHost {
    url: String,
    token: String,
    era: Era,
    /// Whether it says that it knows tasks.
    pub tasks: bool,
    client: reqwest::Client,
}

/// Makes a token for a host on the command line.
pub fn token(home: &Home, name: &str) -> String {
    let output = home
        .command()
        .args(["token", "create", name, "--scope", "mcp"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

impl McpHost {
    /// With a token of its own.
    pub fn new(home: &Home, daemon: &Daemon, name: &str, era: Era) -> Self {
        Self::with_token(daemon, token(home, name), era)
    }

    /// With this token.
    pub fn with_token(daemon: &Daemon, token: String, era: Era) -> Self {
        Self {
            url: format!("{}/mcp", daemon.base),
            token,
            era,
            tasks: false,
            client: client(),
        }
    }

    /// The same host after a restart.
    pub fn at(&self, daemon: &Daemon) -> Self {
        Self {
            url: format!("{}/mcp", daemon.base),
            ..self.clone()
        }
    }

    /// The message and its headers.
    pub fn request(&self, method: &str, mut params: Value) -> reqwest::RequestBuilder {
        let version = match self.era {
            Era::Handshake => "2025-11-25",
            Era::Stateless => "2026-07-28",
        };
        let mut request = self
            .client
            .post(&self.url)
            .timeout(std::time::Duration::from_secs(70))
            .bearer_auth(&self.token)
            .header("Accept", "application/json, text/event-stream")
            .header("MCP-Protocol-Version", version);
        if self.era == Era::Stateless {
            let mut capabilities = json!({});
            if self.tasks {
                capabilities["extensions"] = json!({ "io.modelcontextprotocol/tasks": {} });
            }
            let meta = params["_meta"].as_object().cloned().unwrap_or_default();
            params["_meta"] = Value::Object(meta);
            params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!(version);
            params["_meta"]["io.modelcontextprotocol/clientInfo"] =
                json!({ "name": "test", "version": "1" });
            params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = capabilities;
            request = request.header("Mcp-Method", method);
            let name = params["name"].as_str().or(params["taskId"].as_str());
            if let Some(name) = name {
                request = request.header("Mcp-Name", name);
            }
        }
        request.json(&json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params }))
    }

    /// Status and messages of the answer.
    pub async fn send(request: reqwest::RequestBuilder) -> (u16, Vec<Value>) {
        let response = request.send().await.unwrap();
        let status = response.status().as_u16();
        let text = response.text().await.unwrap();
        let messages = match serde_json::from_str(&text) {
            Ok(message) => vec![message],
            Err(_) => text
                .lines()
                .filter_map(|line| serde_json::from_str(line.strip_prefix("data:")?.trim()).ok())
                .collect(),
        };
        (status, messages)
    }

    /// The result of a request, or its error.
    pub async fn ask(&self, method: &str, params: Value) -> Result<Value, Value> {
        let (status, messages) = Self::send(self.request(method, params)).await;
        let last = messages
            .last()
            .unwrap_or_else(|| panic!("{method}: {status}"));
        match last.get("result") {
            Some(result) => Ok(result.clone()),
            None => Err(last["error"].clone()),
        }
    }

    /// The result of a tool.
    pub async fn call(&self, tool: &str, arguments: Value) -> Value {
        self.ask(
            "tools/call",
            json!({ "name": tool, "arguments": arguments }),
        )
        .await
        .unwrap_or_else(|error| panic!("{tool}: {error}"))
    }

    /// The structure of a good result.
    pub async fn structure(&self, tool: &str, arguments: Value) -> Value {
        let result = self.call(tool, arguments).await;
        assert_ne!(result["isError"], true, "{tool}: {result:#}");
        result["structuredContent"].clone()
    }
}

/// The text of a result.
pub fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap()
}
