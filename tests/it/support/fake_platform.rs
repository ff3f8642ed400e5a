//! A chat platform that is not there, for the bridge of tests (`src/channels/testing.rs`): people write, the bot
//! sends, and a ledger holds every message that anybody ever saw.

use std::sync::{Arc, Mutex, MutexGuard};

use serde_json::{Value, json};

use crate::support::fake_http::{FakeHttp, Reply, Request};

/// What the platform does with a send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Shows it and says so.
    Normal,
    /// Shows it, then resets the connection.
    ResetAfter,
    /// Resets the connection without showing it.
    ResetBefore,
    /// Shows it and never answers.
    Silent,
}

/// A message that people saw.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Visible {
    /// The key it was sent with.
    pub key: String,
    /// Where.
    pub conversation: String,
    /// What.
    pub text: String,
}

#[derive(Debug)]
struct State {
    mode: Mode,
    honours_keys: bool,
    blind: bool,
    messages: Vec<Value>,
    visible: Vec<Visible>,
    sends: usize,
    looks: usize,
}

/// A running platform. It ends when dropped.
pub struct FakePlatform {
    http: FakeHttp,
    state: Arc<Mutex<State>>,
}

impl FakePlatform {
    /// One that works. With keys, a second send with a known key shows nothing more.
    pub fn start(honours_keys: bool) -> Self {
        let state = Arc::new(Mutex::new(State {
            mode: Mode::Normal,
            honours_keys,
            blind: false,
            messages: Vec::new(),
            visible: Vec::new(),
            sends: 0,
            looks: 0,
        }));
        let serving = Arc::clone(&state);
        let http = FakeHttp::start(move |request| serving.lock().unwrap().answer(request));
        Self { http, state }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// `api_base` of a channel whose platform offers this: `native`, `native-60000`, `reconcile`, `none`.
    pub fn api_base(&self, offers: &str) -> String {
        format!("{}/{offers}", self.http.url())
    }

    /// Somebody writes.
    pub fn say(&self, conversation: &str, from: &str, text: &str) {
        let mut state = self.state();
        let n = state.messages.len() + 1;
        state.messages.push(json!({
            "n": n, "conversation": conversation, "from": from, "text": text,
        }));
    }

    /// What it does with sends from now on.
    pub fn set_mode(&self, mode: Mode) {
        self.state().mode = mode;
    }

    /// Whether it refuses to say what was sent with a key.
    pub fn set_blind(&self, blind: bool) {
        self.state().blind = blind;
    }

    /// Refuses connections, or takes them again.
    pub fn refuse(&self, refuse: bool) {
        self.http.refuse(refuse);
    }

    /// Every message that people saw, in order.
    pub fn visible(&self) -> Vec<Visible> {
        self.state().visible.clone()
    }

    /// How often something was sent, whatever came of it.
    pub fn sends(&self) -> usize {
        self.state().sends
    }

    /// How often it was asked what was sent with a key.
    pub fn looks(&self) -> usize {
        self.state().looks
    }
}

impl State {
    fn answer(&mut self, request: &Request) -> Reply {
        match (request.method.as_str(), request.path.as_str()) {
            ("GET", "/messages") => {
                let after: usize = request
                    .query
                    .strip_prefix("after=")
                    .and_then(|text| text.parse().ok())
                    .unwrap_or(0);
                let later = self.messages.iter().skip(after).cloned().collect();
                Reply::Json(200, Value::Array(later))
            }
            ("POST", "/send") => self.send(&request.body),
            ("GET", path) => self.look(path.rsplit('/').next().unwrap_or_default()),
            _ => Reply::Json(404, Value::Null),
        }
    }

    fn send(&mut self, body: &Value) -> Reply {
        self.sends += 1;
        if self.mode == Mode::ResetBefore {
            return Reply::Reset;
        }
        let field = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
        let key = field("key");
        if !self.honours_keys || self.visible.iter().all(|seen| seen.key != key) {
            self.visible.push(Visible {
                key: key.clone(),
                conversation: field("conversation"),
                text: field("text"),
            });
        }
        match self.mode {
            Mode::Normal | Mode::ResetBefore => Reply::Json(200, json!({ "reference": key })),
            Mode::ResetAfter => Reply::Reset,
            Mode::Silent => Reply::Hang,
        }
    }

    fn look(&mut self, key: &str) -> Reply {
        self.looks += 1;
        if self.blind {
            return Reply::Json(503, Value::Null);
        }
        if self.visible.iter().any(|seen| seen.key == key) {
            Reply::Json(200, json!({ "reference": key }))
        } else {
            Reply::Json(404, Value::Null)
        }
    }
}
