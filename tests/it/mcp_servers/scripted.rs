//! A scripted tool server: what it offers lies in files, and its calls too.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::daemon::{Daemon, Home};

const SERVER: &str = include_str!("server.sh");

/// A scripted server of a home.
pub struct Scripted {
    dir: PathBuf,
}

/// A tool that a server offers.
pub fn tool(name: &str, about: &str) -> Value {
    json!({
        "name": name,
        "description": about,
        "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}},
    })
}

impl Scripted {
    /// A server in a directory of its own, with these tools.
    pub fn new(home: &Home, name: &str, tools: &[Value]) -> Self {
        let dir = home.path().join("servers").join(name);
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join("server.sh"), SERVER).unwrap();
        let server = Self { dir };
        server.is_called("scripted");
        server.offers(tools);
        server
    }

    /// It offers these from the next list on.
    pub fn offers(&self, tools: &[Value]) {
        std::fs::write(self.dir.join("tools.json"), json!(tools).to_string()).unwrap();
    }

    /// It offers these once its tool `renew` was called.
    pub fn will_offer(&self, tools: &[Value]) {
        std::fs::write(self.dir.join("next.json"), json!(tools).to_string()).unwrap();
    }

    /// It gives itself this name from the next connection on.
    pub fn is_called(&self, name: &str) {
        std::fs::write(self.dir.join("name"), name).unwrap();
    }

    /// It has resources and prompts from the next connection on.
    pub fn has_resources(&self) {
        std::fs::write(self.dir.join("resources"), "").unwrap();
    }

    /// It says that its list changed before each list that it gives.
    pub fn is_restless(&self) {
        std::fs::write(self.dir.join("restless"), "").unwrap();
    }

    /// How often it was asked for its list.
    pub fn lists(&self) -> usize {
        self.lines("lists").len()
    }

    /// The calls it got.
    pub fn calls(&self) -> Vec<String> {
        self.lines("calls")
    }

    /// How often it was started.
    pub fn starts(&self) -> usize {
        self.lines("starts").len()
    }

    fn lines(&self, file: &str) -> Vec<String> {
        let text = std::fs::read_to_string(self.dir.join(file)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}

/// The table of a scripted server; `more` are further lines of it.
pub fn table(name: &str, more: &str) -> String {
    format!(
        "[mcp.{name}]\ncommand = [\"/bin/sh\", \"{{home}}/servers/{name}/server.sh\", \"{{home}}/servers/{name}\"]\n\
         sandbox = false\n{more}\n"
    )
}

/// A server of the list.
pub async fn server(daemon: &Daemon, name: &str) -> Value {
    daemon.get(&format!("/v1/mcp/servers/{name}")).await
}

/// Waits until a server was seen; what a person reads then.
pub async fn seen(daemon: &Daemon, name: &str) -> Value {
    let path = format!("/v1/mcp/servers/{name}");
    let was_seen = |body: &Value| !body["offered_sha256"].is_null();
    daemon.wait(&path, "the server was seen", was_seen).await
}

/// Trusts what a server offers.
pub async fn trust(daemon: &Daemon, name: &str) -> Value {
    let seen = seen(daemon, name).await;
    let body = json!({ "sha256": seen["offered_sha256"] });
    daemon
        .post(&format!("/v1/mcp/servers/{name}/trust"), body)
        .await
}

/// Connects a server anew; it lists what it offers now.
pub async fn restart(daemon: &Daemon, name: &str) {
    let path = format!("/v1/mcp/servers/{name}/start");
    let (status, answer) = daemon.request("POST", &path, None).await;
    assert_eq!(status, 200, "{answer}");
}

/// The states of its tools, by their names on the server.
pub fn states(review: &Value) -> Vec<(String, String)> {
    let tools = review["tool_list"].as_array().unwrap();
    let state = |tool: &Value| {
        let name = tool["definition"]["name"].as_str().unwrap().to_owned();
        (name, tool["state"].as_str().unwrap().to_owned())
    };
    tools.iter().map(state).collect()
}

/// Runs a scripted turn; its calls with state and result, in order.
pub async fn turn(daemon: &Daemon, session: &str, text: &str) -> Vec<(String, String)> {
    let body = json!({ "text": text, "model": "scripted/demo" });
    let path = format!("/v1/sessions/{session}/messages");
    let sent = daemon.post(&path, body).await;
    let id = sent["continuation_id"].as_str().unwrap();
    let done = daemon.wait_state(id, "completed").await;
    let calls = done["tool_calls"].as_array().unwrap().clone();
    let told = |call: &Value| {
        let result = call["result"].as_str().unwrap_or_default();
        (
            call["state"].as_str().unwrap().to_owned(),
            result.to_owned(),
        )
    };
    calls.iter().map(told).collect()
}
