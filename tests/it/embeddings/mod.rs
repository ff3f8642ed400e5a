//! Search by meaning: through the real binary with a server that counts letters, and in its pure parts.
//!
//! A text means its letters here: `listen` and `silent` mean the same, whatever their words are.

mod changes;
mod failures;
mod found;
mod pure;
pub(crate) mod store;

use std::process::Output;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::support::daemon::{Daemon, Home};
use crate::support::fake_http::{FakeHttp, Reply, Request};

/// How often each letter is in a text.
pub(crate) fn letters(text: &str) -> Vec<f32> {
    let mut counts = vec![0.0; 26];
    for c in text.to_ascii_lowercase().bytes() {
        if let Some(count) = c
            .checked_sub(b'a')
            .and_then(|n| counts.get_mut(usize::from(n)))
        {
            *count += 1.0;
        }
    }
    counts
}

#[derive(Default)]
struct State {
    seen: Vec<Request>,
    reply: Option<Reply>,
}

/// A server of embeddings.
pub(crate) struct Fake {
    http: FakeHttp,
    state: Arc<Mutex<State>>,
}

impl Fake {
    pub(crate) fn start() -> Self {
        let state = Arc::new(Mutex::new(State::default()));
        let known = Arc::clone(&state);
        let http = FakeHttp::start(move |request| {
            let mut state = known.lock().unwrap();
            state.seen.push(request.clone());
            match &state.reply {
                Some(reply) => reply.clone(),
                None => good(request),
            }
        });
        Self { http, state }
    }

    /// Answers this from now on; none = as it should be.
    pub(crate) fn reply(&self, reply: Option<Reply>) {
        self.state.lock().unwrap().reply = reply;
    }

    /// Texts that it was sent.
    pub(crate) fn texts(&self) -> Vec<String> {
        let state = self.state.lock().unwrap();
        let inputs = state.seen.iter().map(|request| &request.body["input"]);
        inputs
            .flat_map(|input| input.as_array().unwrap().clone())
            .map(|text| text.as_str().unwrap().to_owned())
            .collect()
    }

    /// Requests so far.
    pub(crate) fn seen(&self) -> Vec<Request> {
        self.state.lock().unwrap().seen.clone()
    }

    /// A home whose memory is searched by meaning with this server.
    pub(crate) fn home(&self, rest: &str) -> Home {
        Home::new(&self.config("bag", rest))
    }

    pub(crate) fn config(&self, model: &str, rest: &str) -> String {
        format!(
            "[model]\ndefault = \"scripted/demo\"\n{CHANNELS}\
             [providers.local]\nkind = \"openai-chat\"\nbase_url = \"{}/v1\"\n\
             [memory.embeddings]\nprovider = \"local\"\nmodel = \"{model}\"\nmin_similarity = 95\n{rest}",
            self.http.url()
        )
    }

    pub(crate) fn http(&self) -> &FakeHttp {
        &self.http
    }
}

pub(crate) const CHANNELS: &str = "[channels.api]\nautonomy = \"full\"\npermanent_full = true\n";

/// The answer to a request as the two interfaces have it. The last text comes first: the order is in the indices.
fn good(request: &Request) -> Reply {
    let texts: Vec<String> = serde_json::from_value(request.body["input"].clone()).unwrap();
    if request.path == "/api/embed" {
        let vectors: Vec<Vec<f32>> = texts.iter().map(|text| letters(text)).collect();
        return Reply::Json(
            200,
            json!({ "embeddings": vectors, "prompt_eval_count": 7 }),
        );
    }
    let data: Vec<Value> = texts
        .iter()
        .enumerate()
        .rev()
        .map(|(n, text)| json!({ "object": "embedding", "index": n, "embedding": letters(text) }))
        .collect();
    Reply::Json(
        200,
        json!({ "object": "list", "data": data, "usage": { "prompt_tokens": 7, "total_tokens": 7 } }),
    )
}

/// An operator remembers something everywhere; its id.
pub(crate) async fn add(daemon: &Daemon, text: &str) -> String {
    let body = json!({ "place": { "scope": "global" }, "text": text });
    let memory = daemon.post("/v1/memory", body).await;
    memory["id"].as_str().unwrap().to_owned()
}

/// Waits until nothing waits for its embedding, and there are so many.
pub(crate) async fn embedded(daemon: &Daemon, count: u64) -> Value {
    daemon
        .wait("/v1/memory/stats", "everything is embedded", |stats| {
            stats["unembedded"] == 0 && stats["vectors"] == count
        })
        .await
}

/// What a search finds: texts with what they were found by, and why it was words only.
pub(crate) async fn search(daemon: &Daemon, text: &str) -> (Vec<(String, String)>, Value) {
    let found = daemon
        .get(&format!("/v1/memory/search?q={}", text.replace(' ', "+")))
        .await;
    let word = |item: &Value, name: &str| item[name].as_str().unwrap().to_owned();
    let items = found["items"].as_array().unwrap();
    let items = items
        .iter()
        .map(|item| (word(item, "text"), word(item, "found_by")));
    (items.collect(), found["words_only"].clone())
}

pub(crate) fn pair(text: &str, by: &str) -> (String, String) {
    (text.to_owned(), by.to_owned())
}

pub(crate) fn cli(home: &Home, arguments: &[&str]) -> Output {
    home.command()
        .args(arguments)
        .output()
        .expect("the command runs")
}

pub(crate) fn text(output: &[u8]) -> String {
    String::from_utf8_lossy(output).into_owned()
}
