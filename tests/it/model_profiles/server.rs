//! A chat server with abilities that a test chooses, and the program asked about it.

use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::support::daemon::Home;
use crate::support::fake_http::{FakeHttp, Reply, Request};

pub const KEY: &str = "sk-house-0123456789abcdef0123";

/// What the server can do.
#[derive(Clone)]
pub struct Abilities {
    /// Calls it makes at most in one answer; none = it refuses requests with tools.
    pub calls: Option<usize>,
    /// Input tokens it reports as cached from the second call on.
    pub cached: u64,
    /// Whether it streams; else the answer comes as one JSON body.
    pub streams: bool,
    /// What `GET` of these paths answers.
    pub gets: Vec<(&'static str, Value)>,
}

impl Default for Abilities {
    fn default() -> Self {
        Self {
            calls: Some(2),
            cached: 0,
            streams: true,
            gets: Vec::new(),
        }
    }
}

/// A running server.
pub struct ChatServer {
    pub http: FakeHttp,
    pub asked: Arc<Mutex<Vec<Value>>>,
}

impl ChatServer {
    pub fn start(abilities: Abilities) -> Self {
        let asked = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&asked);
        let calls = AtomicUsize::new(0);
        let http = FakeHttp::start(move |request| {
            if request.path != "/v1/chat/completions" {
                return told(&abilities, request);
            }
            seen.lock().unwrap().push(request.body.clone());
            let number = calls.fetch_add(1, Ordering::SeqCst);
            answer(&abilities, &request.body, number)
        });
        Self { http, asked }
    }

    pub fn bodies(&self) -> Vec<Value> {
        self.asked.lock().unwrap().clone()
    }
}

fn told(abilities: &Abilities, request: &Request) -> Reply {
    let found = abilities
        .gets
        .iter()
        .find(|(path, _)| *path == request.path);
    match found {
        Some((_, value)) => Reply::Json(200, value.clone()),
        None => Reply::Json(404, json!({"error": "no such path"})),
    }
}

fn answer(abilities: &Abilities, body: &Value, number: usize) -> Reply {
    let usage = json!({
        "prompt_tokens": 40,
        "completion_tokens": 4,
        "prompt_tokens_details": {"cached_tokens": if number > 0 { abilities.cached } else { 0 }},
    });
    let wanted = body["messages"]
        .as_array()
        .and_then(|messages| messages.last()?["content"].as_str())
        .map_or(0, |text| if text.contains("twice") { 2 } else { 1 });
    let mut deltas: Vec<Value> = Vec::new();
    let mut finish = "stop";
    if body.get("tools").is_some() {
        let Some(most) = abilities.calls else {
            let words = "this-model does not support tools";
            return Reply::Json(400, json!({"error": {"message": words}}));
        };
        for index in 0..wanted.min(most) {
            let call = json!({"index": index, "id": format!("c{index}"), "type": "function",
                "function": {"name": "note_number", "arguments": format!("{{\"number\":{}}}", index + 1)}});
            deltas.push(json!({"tool_calls": [call]}));
            finish = "tool_calls";
        }
    }
    if deltas.is_empty() {
        deltas.extend(["1 2 ", "3 4 ", "5"].map(|text| json!({"content": text})));
    }
    if !abilities.streams {
        let text = "1 2 3 4 5";
        let message = json!({"role": "assistant", "content": text});
        let choice = json!({"index": 0, "message": message, "finish_reason": "stop"});
        return Reply::Json(200, json!({"choices": [choice], "usage": usage}));
    }
    let mut events = String::new();
    for delta in deltas {
        let chunk = json!({"choices": [{"index": 0, "delta": delta}]});
        events.push_str(&format!("data: {chunk}\n\n"));
    }
    let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]});
    let counted = json!({"choices": [], "usage": usage});
    events.push_str(&format!(
        "data: {end}\n\ndata: {counted}\n\ndata: [DONE]\n\n"
    ));
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    Reply::Raw(format!("{head}{events}").into_bytes())
}

/// A home whose default model is at this address, with more lines under its provider.
pub fn home(address: &str, more: &str) -> Home {
    Home::new(&format!(
        "[model]\ndefault = \"house/this-model\"\n[providers.house]\nkind = \"openai-chat\"\n\
         base_url = \"{address}/v1\"\napi_key_env = \"HOUSE_KEY\"\n{more}\n"
    ))
}

/// What a command wrote and how it ended.
pub struct Ran {
    pub status: Option<i32>,
    pub out: String,
    pub err: String,
}

/// Runs the program with the key in its environment; nobody sits at it.
pub fn run(home: &Home, words: &[&str]) -> Ran {
    let output = home
        .command()
        .args(words)
        .env("HOUSE_KEY", KEY)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let ran = Ran {
        status: output.status.code(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    };
    let all = format!("{}{}", ran.out, ran.err);
    assert!(!all.contains(KEY), "the key was shown: {all}");
    ran
}

/// The verdict and the reason of one part of a test.
pub fn part<'a>(test: &'a Value, name: &str) -> (&'a str, &'a str) {
    let checks = test["checks"].as_array().expect("checks");
    let check = checks
        .iter()
        .find(|check| check["check"] == name)
        .unwrap_or_else(|| panic!("no {name} in {test}"));
    (
        check["verdict"].as_str().unwrap(),
        check["detail"].as_str().unwrap(),
    )
}
