//! The service that the tools for tests post to, with a ledger of its own: what really happened, whatever anybody
//! was told. Plug it in with `LEVERFRAME_TEST_SERVICE`; the tools are in `src/tools/testing.rs`.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::fake_http::{FakeHttp, Reply, Request};

/// What the service does with a post.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Enters it and says so.
    Normal,
    /// Enters it and answers after this long.
    Delay(Duration),
    /// Enters it, then resets the connection.
    ResetAfter,
    /// Resets the connection without entering it.
    ResetBefore,
    /// Enters it and never answers.
    Silent,
    /// Never answers and does not enter it.
    Deaf,
    /// Fails (503) without entering it.
    Fails,
}

/// An entry of the ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The idempotency key it came with.
    pub key: String,
    /// Its text.
    pub text: String,
}

#[derive(Debug)]
struct State {
    mode: Mode,
    /// A second post with a known key is the first one.
    honours_keys: bool,
    known: Vec<String>,
    /// Being asked about a key fails.
    blind: bool,
    ledger: Vec<Entry>,
    posts: usize,
    looks: usize,
}

/// A running service. It ends when dropped.
pub struct FakeService {
    http: FakeHttp,
    state: Arc<Mutex<State>>,
}

impl FakeService {
    /// One that works, and takes no notice of keys.
    pub fn start() -> Self {
        let state = Arc::new(Mutex::new(State {
            mode: Mode::Normal,
            honours_keys: false,
            known: Vec::new(),
            blind: false,
            ledger: Vec::new(),
            posts: 0,
            looks: 0,
        }));
        let serving = Arc::clone(&state);
        let http = FakeHttp::start(move |request| serving.lock().unwrap().answer(request));
        Self { http, state }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// For `LEVERFRAME_TEST_SERVICE`.
    pub fn url(&self) -> &str {
        self.http.url()
    }

    /// What it does with posts from now on.
    pub fn set_mode(&self, mode: Mode) {
        self.state().mode = mode;
    }

    /// Whether a second post with the same key is the first one.
    pub fn honour_keys(&self, honours: bool) {
        self.state().honours_keys = honours;
    }

    /// Forgets every key, as a service does after their life.
    pub fn forget_keys(&self) {
        self.state().known.clear();
    }

    /// Whether it refuses to say what happened under a key.
    pub fn set_blind(&self, blind: bool) {
        self.state().blind = blind;
    }

    /// Refuses connections, or takes them again.
    pub fn refuse(&self, refuse: bool) {
        self.http.refuse(refuse);
    }

    /// What really happened, in order.
    pub fn ledger(&self) -> Vec<Entry> {
        self.state().ledger.clone()
    }

    /// How often it was posted to, whatever came of it.
    pub fn posts(&self) -> usize {
        self.state().posts
    }

    /// How often it was asked what happened under a key.
    pub fn looks(&self) -> usize {
        self.state().looks
    }
}

impl State {
    fn answer(&mut self, request: &Request) -> Reply {
        match (request.method.as_str(), request.path.as_str()) {
            ("POST", "/entries") => self.post(request),
            ("GET", path) => self.look(path.rsplit('/').next().unwrap_or_default()),
            _ => Reply::Json(404, Value::Null),
        }
    }

    fn enter(&mut self, request: &Request) {
        if self.honours_keys && self.known.contains(&request.key) {
            return;
        }
        self.known.push(request.key.clone());
        self.ledger.push(Entry {
            key: request.key.clone(),
            text: request.body["text"].as_str().unwrap_or_default().to_owned(),
        });
    }

    fn post(&mut self, request: &Request) -> Reply {
        self.posts += 1;
        let done = json!({ "entered": true });
        match self.mode {
            Mode::ResetBefore => return Reply::Reset,
            Mode::Fails => return Reply::Json(503, Value::Null),
            Mode::Deaf => return Reply::Hang,
            Mode::Normal | Mode::Delay(_) | Mode::ResetAfter | Mode::Silent => {}
        }
        self.enter(request);
        match self.mode {
            Mode::Delay(wait) => Reply::Late(wait, 200, done),
            Mode::ResetAfter => Reply::Reset,
            Mode::Silent => Reply::Hang,
            Mode::Normal | Mode::ResetBefore | Mode::Deaf | Mode::Fails => Reply::Json(200, done),
        }
    }

    fn look(&mut self, key: &str) -> Reply {
        self.looks += 1;
        if self.blind {
            return Reply::Json(503, Value::Null);
        }
        match self.ledger.iter().find(|entry| entry.key == key) {
            Some(entry) => Reply::Json(200, json!({ "key": entry.key, "text": entry.text })),
            None => Reply::Json(404, Value::Null),
        }
    }
}
