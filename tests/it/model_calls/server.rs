//! A model server that plays replies in order and keeps every request.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::support::daemon::{Daemon, Home};
use crate::support::fake_http::{FakeHttp, Reply};

/// A running server. Where its script is over it answers `ok`.
pub struct ModelServer {
    http: FakeHttp,
    state: Arc<Mutex<State>>,
    chat: bool,
}

#[derive(Default)]
struct State {
    script: VecDeque<Reply>,
    seen: Vec<Value>,
}

impl ModelServer {
    fn start(chat: bool, script: Vec<Reply>) -> Self {
        let state = Arc::new(Mutex::new(State {
            script: script.into(),
            seen: Vec::new(),
        }));
        let serving = Arc::clone(&state);
        let http = FakeHttp::start(move |request| {
            let mut state = serving.lock().unwrap();
            state.seen.push(request.body.clone());
            let otherwise = || {
                if chat {
                    says("ok")
                } else {
                    claude(&[text("ok")], "end_turn")
                }
            };
            state.script.pop_front().unwrap_or_else(otherwise)
        });
        Self { http, state, chat }
    }

    /// One that speaks Chat Completions.
    pub fn chat(script: Vec<Reply>) -> Self {
        Self::start(true, script)
    }

    /// One that speaks Messages.
    pub fn claude(script: Vec<Reply>) -> Self {
        Self::start(false, script)
    }

    /// The bodies of the requests so far.
    pub fn seen(&self) -> Vec<Value> {
        self.state.lock().unwrap().seen.clone()
    }

    /// Plays this before everything else.
    pub fn next(&self, reply: Reply) {
        self.state.lock().unwrap().script.push_front(reply);
    }

    /// A table of the configuration that declares it.
    pub fn table(&self, name: &str, more: &str) -> String {
        let (kind, base) = if self.chat {
            ("openai-chat", format!("{}/v1", self.http.url()))
        } else {
            ("anthropic", self.http.url().to_owned())
        };
        format!("[providers.{name}]\nkind = \"{kind}\"\nbase_url = \"{base}\"\n{more}\n")
    }
}

/// An answer of Chat Completions in one piece.
pub fn says(text: &str) -> Reply {
    chat(&json!({"role": "assistant", "content": text}), "stop")
}

/// One that proposes a call.
pub fn calls(name: &str, arguments: &str) -> Reply {
    let call = json!({"id": "call_1", "type": "function", "function": {"name": name, "arguments": arguments}});
    chat(
        &json!({"role": "assistant", "content": "", "tool_calls": [call]}),
        "tool_calls",
    )
}

/// One that proposes several: id, name and arguments of each.
pub fn proposes(calls: &[(String, String, String)]) -> Reply {
    let calls: Vec<Value> = calls
        .iter()
        .map(|(id, name, arguments)| {
            json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
        })
        .collect();
    chat(
        &json!({"role": "assistant", "content": "", "tool_calls": calls}),
        "tool_calls",
    )
}

fn chat(message: &Value, reason: &str) -> Reply {
    Reply::Json(
        200,
        json!({
            "choices": [{"index": 0, "message": message, "finish_reason": reason}],
            "usage": {"prompt_tokens": 100, "completion_tokens": 5},
        }),
    )
}

/// A block of text.
pub fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

/// An answer of Messages in one piece.
pub fn claude(blocks: &[Value], reason: &str) -> Reply {
    Reply::Json(
        200,
        json!({
            "type": "message", "role": "assistant", "content": blocks, "stop_reason": reason,
            "usage": {"input_tokens": 100, "output_tokens": 5},
        }),
    )
}

/// An error with further headers, each ended by a line break.
pub fn fails(status: u16, headers: &str, message: &str) -> Reply {
    let body = json!({"error": {"message": message}}).to_string();
    Reply::Raw(
        format!(
            "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\n{headers}content-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        )
        .into_bytes(),
    )
}

/// Overloaded, to be asked again at once.
pub fn busy() -> Reply {
    fails(529, "retry-after-ms: 5\r\n", "overloaded")
}

/// A stream that says this and then ends without an end.
pub fn breaks_off(text: &str) -> Reply {
    let delta = json!({"choices": [{"index": 0, "delta": {"role": "assistant", "content": text}}]});
    Reply::Raw(
        format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: {delta}\n\n")
            .into_bytes(),
    )
}

/// Asks on a session and waits for the turn to be in a state.
pub async fn ask(daemon: &Daemon, session: &str, text: &str, state: &str) -> Value {
    let continuation = daemon.send(session, text).await;
    daemon.wait_state(&continuation, state).await
}

/// The steps of a turn of this type, oldest first.
pub async fn steps(daemon: &Daemon, turn: &Value, kind: &str) -> Vec<Value> {
    let id = turn["id"].as_str().expect("an id");
    let steps = daemon.get(&format!("/v1/continuations/{id}/steps")).await;
    let items = steps["items"].as_array().or(steps.as_array());
    items
        .unwrap_or_else(|| panic!("{steps:#}"))
        .iter()
        .map(|step| step["body"].clone())
        .filter(|body| body["type"] == kind)
        .collect()
}

/// A home with this beginning of the configuration and these servers.
pub fn home(beginning: &str, servers: &[(&str, &ModelServer)]) -> Home {
    let tables: Vec<String> = servers
        .iter()
        .map(|(name, server)| server.table(name, ""))
        .collect();
    Home::new(&format!("{beginning}\n{}", tables.join("\n")))
}
