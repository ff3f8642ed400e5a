//! A client of OpenAI's interface that says what it is told, and reads streams piece by piece.

use std::time::Instant;

use futures_util::StreamExt as _;
use serde_json::{Value, json};

use crate::support::daemon::{DEADLINE, Daemon, Home};

/// A home whose agent runs what only reads by itself.
pub fn home() -> Home {
    Home::new("[channels.api]\nautonomy = \"semi_auto\"\n")
}

/// A message.
pub fn user(text: &str) -> Value {
    json!({ "role": "user", "content": text })
}

/// An answer that the client had.
pub fn assistant(text: &str) -> Value {
    json!({ "role": "assistant", "content": text })
}

/// An answer of the daemon.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub headers: reqwest::header::HeaderMap,
    pub body: Value,
}

impl Reply {
    /// The text of a chat completion.
    pub fn text(&self) -> &str {
        self.body["choices"][0]["message"]["content"]
            .as_str()
            .unwrap_or_else(|| panic!("no text: {self:?}"))
    }

    /// A header.
    pub fn header(&self, name: &str) -> String {
        let value = self.headers.get(name);
        value.map_or(String::new(), |value| value.to_str().unwrap().to_owned())
    }
}

/// A request under way.
pub fn request(daemon: &Daemon, path: &str, body: &Value) -> reqwest::RequestBuilder {
    crate::support::daemon::client()
        .post(format!("{}{path}", daemon.base))
        .bearer_auth(&daemon.token)
        .json(body)
}

/// Sends a request with these headers.
pub async fn post(daemon: &Daemon, path: &str, headers: &[(&str, &str)], body: Value) -> Reply {
    let mut request = request(daemon, path, &body);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = request.send().await.expect("an answer");
    let status = response.status().as_u16();
    let headers = response.headers().clone();
    let text = response.text().await.expect("a body");
    Reply {
        status,
        headers,
        body: serde_json::from_str(&text).unwrap_or(Value::String(text)),
    }
}

/// Sends a conversation and gets the answer.
pub async fn chat(daemon: &Daemon, messages: &[Value]) -> Reply {
    chat_with(daemon, &[], messages).await
}

/// The same with headers.
pub async fn chat_with(daemon: &Daemon, headers: &[(&str, &str)], messages: &[Value]) -> Reply {
    let body = json!({ "model": "api", "messages": messages });
    let reply = post(daemon, "/v1/chat/completions", headers, body).await;
    assert_eq!(reply.status, 200, "{reply:?}");
    reply
}

/// A stream of server-sent events.
pub struct Events {
    pub headers: reqwest::header::HeaderMap,
    body: futures_util::stream::BoxStream<'static, reqwest::Result<axum::body::Bytes>>,
    rest: String,
}

impl Events {
    /// Sends a request that is answered with a stream.
    pub async fn open(daemon: &Daemon, path: &str, headers: &[(&str, &str)], body: &Value) -> Self {
        let mut request = request(daemon, path, body);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = request.send().await.expect("an answer");
        assert_eq!(response.status(), 200);
        let kind = response.headers()["content-type"].to_str().unwrap();
        assert_eq!(kind, "text/event-stream");
        Self {
            headers: response.headers().clone(),
            body: response.bytes_stream().boxed(),
            rest: String::new(),
        }
    }

    /// The next event, comments left out: its name and its data. None at the end.
    pub async fn next(&mut self) -> Option<(String, String)> {
        loop {
            while let Some((block, rest)) = self.rest.split_once("\n\n") {
                let (block, rest) = (block.to_owned(), rest.to_owned());
                self.rest = rest;
                let field = |name: &str| {
                    block
                        .lines()
                        .find_map(|line| line.strip_prefix(name))
                        .map(str::to_owned)
                };
                if let Some(data) = field("data: ") {
                    return Some((field("event: ").unwrap_or_default(), data));
                }
            }
            let piece = tokio::time::timeout(DEADLINE, self.body.next())
                .await
                .expect("a piece in time")?;
            let piece = piece.ok()?;
            self.rest.push_str(std::str::from_utf8(&piece).unwrap());
        }
    }

    /// Reads chunks of a chat completion until its text has these words; the text so far.
    pub async fn until(&mut self, words: &str) -> String {
        let mut text = String::new();
        let deadline = Instant::now() + DEADLINE;
        while !text.contains(words) {
            assert!(Instant::now() < deadline, "{text}");
            let (_, data) = self
                .next()
                .await
                .unwrap_or_else(|| panic!("it ended: {text}"));
            text.push_str(delta(&data));
        }
        text
    }

    /// The data of all events that are left.
    pub async fn all(mut self) -> Vec<String> {
        let mut all = Vec::new();
        while let Some((_, data)) = self.next().await {
            all.push(data);
        }
        all
    }
}

/// The text of a chunk.
pub fn delta(data: &str) -> &'static str {
    let chunk: Value = serde_json::from_str(data).unwrap_or_default();
    let text = chunk["choices"][0]["delta"]["content"].as_str();
    text.unwrap_or_default().to_owned().leak()
}

/// The text of chunks.
pub fn text_of(chunks: &[String]) -> String {
    chunks.iter().map(|chunk| delta(chunk)).collect()
}

/// A streamed chat completion of a conversation.
pub async fn stream(daemon: &Daemon, messages: &[Value]) -> Events {
    let body = json!({
        "model": "api",
        "messages": messages,
        "stream": true,
        "stream_options": { "include_usage": true },
    });
    Events::open(daemon, "/v1/chat/completions", &[], &body).await
}

/// All sessions of channel `api`, newest change first.
pub async fn sessions(daemon: &Daemon) -> Vec<Value> {
    let list = daemon.get("/v1/sessions?channel=api&limit=100").await;
    list["items"].as_array().cloned().unwrap_or_default()
}

/// The messages of the turns of a session, oldest first.
pub async fn requests(daemon: &Daemon, session: &Value) -> Vec<String> {
    let path = format!(
        "/v1/continuations?session={}&limit=100",
        session["id"].as_str().unwrap()
    );
    let turns = daemon.get(&path).await;
    let mut texts: Vec<String> = turns["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|turn| turn["request"]["text"].as_str().unwrap().to_owned())
        .collect();
    texts.reverse();
    texts
}
