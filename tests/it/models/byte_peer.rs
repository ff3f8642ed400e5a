//! A server that plays bytes: no HTTP library, so it can be as wrong as real servers are.
//!
//! It checks each request it reads: headers, that every tool call has exactly one result, in the message right behind
//! it, that sealed blocks come back as they were issued, that cache breakpoints are few and stand where they may, and
//! that no parameter is sent that newer models refuse.

use std::time::Duration;

use leverframe::config::settings::ProviderKind;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::conformance::issued::is_sealed;
use crate::models::helpers::KEY;

/// How a connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Close {
    /// In order.
    Fin,
    /// With a reset.
    Rst,
    /// Not before the client goes.
    Wait,
    /// Not at all: the next play goes on here, and must find the next request here.
    Again,
}

/// What one connection plays after it has read a request.
#[derive(Debug, Clone)]
pub struct Play {
    pub parts: Vec<(Duration, Vec<u8>)>,
    pub close: Close,
}

impl Play {
    pub fn bytes(bytes: impl Into<Vec<u8>>) -> Self {
        Self {
            parts: vec![(Duration::ZERO, bytes.into())],
            close: Close::Fin,
        }
    }

    /// A 200 with an event stream whose body ends where the connection does.
    pub fn events(body: impl AsRef<[u8]>) -> Self {
        let mut bytes = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n".to_vec();
        bytes.extend_from_slice(body.as_ref());
        Self::bytes(bytes)
    }

    /// A 200 with JSON lines whose body ends where the connection does.
    pub fn lines(body: impl AsRef<[u8]>) -> Self {
        let mut bytes = b"HTTP/1.1 200 OK\r\ncontent-type: application/x-ndjson\r\n\r\n".to_vec();
        bytes.extend_from_slice(body.as_ref());
        Self::bytes(bytes)
    }

    /// The stream that a provider of this kind sends.
    pub fn stream(kind: ProviderKind, body: impl AsRef<[u8]>) -> Self {
        if kind == ProviderKind::Ollama {
            Self::lines(body)
        } else {
            Self::events(body)
        }
    }

    /// A whole answer with length.
    pub fn whole(status: &str, headers: &str, body: &str) -> Self {
        Self::bytes(format!(
            "HTTP/1.1 {status}\r\n{headers}content-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        ))
    }

    pub fn closing(mut self, close: Close) -> Self {
        self.close = close;
        self
    }

    pub fn then(mut self, wait: Duration, bytes: impl Into<Vec<u8>>) -> Self {
        self.parts.push((wait, bytes.into()));
        self
    }
}

/// What the checks need to know about a conversation.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    /// The sealed blocks that may come back, and no others; none = they are not looked at.
    pub issued: Option<Vec<Value>>,
    /// The version header that the settings name.
    pub api_version: Option<String>,
    /// A paused answer goes back, so a request may end with the assistant.
    pub ends_with_assistant: bool,
}

/// A running peer; `plays` are used one a connection.
pub struct BytePeer {
    pub base_url: String,
    work: JoinHandle<Vec<Seen>>,
}

/// One request as it came.
#[derive(Debug, Clone)]
pub struct Seen {
    pub head: String,
    pub body: Value,
    /// The client went away before the last byte was written.
    pub client_left: bool,
}

impl BytePeer {
    pub async fn start(kind: ProviderKind, plays: Vec<Play>) -> Self {
        Self::start_with(kind, plays, Rules::default()).await
    }

    pub async fn start_with(kind: ProviderKind, plays: Vec<Play>, rules: Rules) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let work = tokio::spawn(async move {
            let mut seen = Vec::new();
            let mut kept = None;
            for play in plays {
                let mut socket = match kept.take() {
                    Some(socket) => socket,
                    None => listener.accept().await.unwrap().0,
                };
                socket.set_nodelay(true).unwrap();
                let (head, body) = read_request(&mut socket).await;
                check(kind, &head, &body, &rules);
                let close = play.close;
                let client_left = perform(&mut socket, play).await;
                if close == Close::Again {
                    kept = Some(socket);
                }
                seen.push(Seen {
                    head,
                    body,
                    client_left,
                });
            }
            seen
        });
        Self {
            base_url: format!("http://{address}"),
            work,
        }
    }

    /// The requests, once every play was used. Panics where a check failed.
    pub async fn seen(self) -> Vec<Seen> {
        tokio::time::timeout(Duration::from_secs(20), self.work)
            .await
            .expect("every play is used")
            .expect("the requests are well formed")
    }
}

async fn read_request(socket: &mut TcpStream) -> (String, Value) {
    let mut bytes = Vec::new();
    let mut chunk = vec![0_u8; 16 * 1024];
    loop {
        let count = socket.read(&mut chunk).await.unwrap();
        assert!(count > 0, "the request is complete");
        bytes.extend_from_slice(&chunk[..count]);
        let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else {
            continue;
        };
        let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
        let length: usize = head
            .lines()
            .find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case("content-length")
                    .then(|| value.trim().parse().unwrap())
            })
            .expect("a content-length");
        if bytes.len() >= end + 4 + length {
            let body = serde_json::from_slice(&bytes[end + 4..end + 4 + length]).unwrap();
            return (head, body);
        }
    }
}

async fn perform(socket: &mut TcpStream, play: Play) -> bool {
    for (wait, bytes) in play.parts {
        if !wait.is_zero() {
            tokio::time::sleep(wait).await;
        }
        if socket.write_all(&bytes).await.is_err() || socket.flush().await.is_err() {
            return true;
        }
    }
    match play.close {
        Close::Fin => {
            let _ = socket.shutdown().await;
            false
        }
        Close::Again => false,
        Close::Rst => {
            // Let the client read what was sent: a reset throws away what lies in its buffers.
            tokio::time::sleep(Duration::from_millis(150)).await;
            #[allow(deprecated, reason = "a zero linger is how a reset is sent")]
            socket.set_linger(Some(Duration::ZERO)).unwrap();
            false
        }
        Close::Wait => {
            let mut rest = [0_u8; 64];
            loop {
                match socket.read(&mut rest).await {
                    Ok(0) | Err(_) => return true,
                    Ok(_) => {}
                }
            }
        }
    }
}

fn check(kind: ProviderKind, head: &str, body: &Value, rules: &Rules) {
    let header = |wanted: &str| {
        head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case(wanted)
                .then(|| value.trim().to_owned())
        })
    };
    let path = head.split(' ').nth(1).expect("a request line");
    assert!(head.starts_with("POST "), "{head}");
    assert_eq!(header("content-type").as_deref(), Some("application/json"));
    for gone in ["temperature", "top_p", "top_k"] {
        assert!(body.get(gone).is_none(), "{gone} is never sent");
    }
    assert!(!head.contains(&format!("?key={KEY}")) && !path.contains(KEY));
    match kind {
        ProviderKind::OpenAiChat => {
            assert!(path.ends_with("/v1/chat/completions"), "{path}");
            if let Some(key) = header("authorization") {
                assert_eq!(key, format!("Bearer {KEY}"));
            }
            assert_eq!(body["stream"], true);
            let messages = messages_of(body, rules);
            for message in messages {
                let role = message["role"].as_str().expect("a role");
                assert!(
                    ["system", "developer", "user", "assistant", "tool"].contains(&role),
                    "{role}"
                );
            }
            assert!(!body.to_string().contains("cache_control"));
            check_chat_pairs(messages);
        }
        ProviderKind::Anthropic => {
            assert!(path.ends_with("/v1/messages"), "{path}");
            let version = rules.api_version.as_deref().unwrap_or("2023-06-01");
            assert_eq!(header("anthropic-version").as_deref(), Some(version));
            assert_eq!(header("x-api-key").as_deref(), Some(KEY));
            assert_eq!(header("authorization"), None);
            assert_eq!(body["stream"], true);
            check_marks(body);
            let messages = messages_of(body, rules);
            for message in messages {
                let role = message["role"].as_str().expect("a role");
                assert!(["user", "assistant"].contains(&role), "{role}");
            }
            check_anthropic_pairs(messages);
            check_sealed(messages, rules);
        }
        ProviderKind::OpenAiResponses => {
            assert!(path.ends_with("/v1/responses"), "{path}");
            let key = format!("Bearer {KEY}");
            assert_eq!(header("authorization").as_deref(), Some(key.as_str()));
            assert_eq!(body["stream"], true);
            check_responses(body, body["input"].as_array().expect("input"));
        }
        ProviderKind::Gemini => check_gemini(
            head,
            header("x-goog-api-key"),
            header("authorization"),
            body,
        ),
        ProviderKind::Ollama => {
            assert!(head.starts_with("POST /api/chat HTTP/1.1"), "{head}");
            let key = format!("Bearer {KEY}");
            assert!(
                [None, Some(key)].contains(&header("authorization")),
                "{head}"
            );
            assert_eq!(body["stream"], true);
            check_ollama(body, messages_of(body, rules));
        }
        ProviderKind::Scripted => panic!("no network adapter"),
    }
}

fn messages_of<'a>(body: &'a Value, rules: &Rules) -> &'a [Value] {
    let messages = body["messages"].as_array().expect("messages");
    let last = &messages.last().expect("a message")["role"];
    assert!(
        last != "assistant" || rules.ends_with_assistant,
        "a request never ends with the assistant"
    );
    messages
}

/// At most four breakpoints, none on a block that cannot carry one.
fn check_marks(body: &Value) {
    let marks = body.to_string().matches("\"cache_control\"").count();
    assert!(marks <= 4, "{marks} cache breakpoints");
    let blocks = body["messages"].as_array().into_iter().flatten();
    for block in blocks.flat_map(|message| message["content"].as_array().into_iter().flatten()) {
        let carries = matches!(
            block["type"].as_str(),
            Some("text" | "tool_use" | "tool_result")
        );
        assert!(
            carries || block.get("cache_control").is_none(),
            "a breakpoint on {block}"
        );
    }
}

/// Thinking comes back only as it was issued.
fn check_sealed(messages: &[Value], rules: &Rules) {
    let Some(issued) = &rules.issued else {
        return;
    };
    for block in messages
        .iter()
        .flat_map(|message| message["content"].as_array().into_iter().flatten())
        .filter(|block| is_sealed(block))
    {
        assert!(
            issued.contains(block),
            "a sealed block that was never issued: {block}; issued were {issued:?}"
        );
    }
}

fn request_line(head: &str) -> &str {
    head.lines().next().unwrap_or_default()
}

fn names(object: &Value) -> Vec<&str> {
    let object = object.as_object().expect("an object");
    let mut names: Vec<&str> = object.keys().map(String::as_str).collect();
    names.sort_unstable();
    names
}

/// Calls and results by order and name, `id` on both sides or on neither, a signature only where the API looks for it.
fn check_gemini(head: &str, key: Option<String>, authorization: Option<String>, body: &Value) {
    assert_eq!(
        request_line(head),
        "POST /v1beta/models/test-model:streamGenerateContent?alt=sse HTTP/1.1"
    );
    assert_eq!((key.as_deref(), authorization), (Some(KEY), None));
    let allowed = ["systemInstruction", "tools", "contents", "generationConfig"];
    assert!(
        names(body).iter().all(|name| allowed.contains(name)),
        "{body}"
    );
    let allowed = ["maxOutputTokens", "thinkingConfig"];
    let sent = names(&body["generationConfig"]);
    assert!(sent.iter().all(|name| allowed.contains(name)), "{sent:?}");
    for tool in body["tools"][0]["functionDeclarations"]
        .as_array()
        .into_iter()
        .flatten()
    {
        assert_eq!(names(tool), ["description", "name", "parametersJsonSchema"]);
    }
    let contents = body["contents"].as_array().expect("contents");
    assert_eq!(contents.last().expect("a content")["role"], "user");
    let mut open: Vec<(&Value, &Value)> = Vec::new();
    for content in contents {
        assert_eq!(names(content), ["parts", "role"]);
        let parts = content["parts"].as_array().expect("parts");
        assert!(!parts.is_empty(), "no content without parts");
        let results: Vec<_> = parts
            .iter()
            .filter_map(|part| part.get("functionResponse"))
            .map(|result| {
                assert!(result["response"].is_object());
                (&result["name"], &result["id"])
            })
            .collect();
        assert_eq!(results, open, "all results in the next content, in order");
        if !results.is_empty() {
            assert_eq!(results.len(), parts.len(), "results only");
            assert_eq!(content["role"], "user");
        }
        let calls: Vec<_> = parts
            .iter()
            .filter(|part| part.get("functionCall").is_some())
            .collect();
        for part in parts {
            if part.get("thoughtSignature").is_some() {
                assert_eq!(
                    content["role"], "model",
                    "only what the model wrote is signed"
                );
            } else if part.get("functionCall").is_none() && part.get("functionResponse").is_none() {
                assert_ne!(part["text"], "", "unsigned text is not empty");
            }
        }
        if calls
            .iter()
            .any(|part| part.get("thoughtSignature").is_some())
        {
            assert!(
                calls[0].get("thoughtSignature").is_some(),
                "the first call is signed"
            );
        }
        open = calls
            .iter()
            .map(|part| {
                assert_eq!(content["role"], "model");
                let call = &part["functionCall"];
                assert!(call["args"].is_object());
                assert!(
                    !call["id"].to_string().contains("call_local"),
                    "no made-up id"
                );
                (&call["name"], &call["id"])
            })
            .collect();
    }
    assert!(open.is_empty(), "calls without result: {open:?}");
}

/// Calls and results by order and name; nothing that Ollama does not know.
fn check_ollama(body: &Value, messages: &[Value]) {
    let allowed = ["model", "messages", "tools", "think", "stream", "options"];
    assert!(
        names(body).iter().all(|name| allowed.contains(name)),
        "{body}"
    );
    assert_eq!(names(&body["options"]), ["num_ctx", "num_predict"]);
    assert!(body["options"]["num_ctx"].is_u64() && body["options"]["num_predict"].is_u64());
    let mut open: Vec<&Value> = Vec::new();
    for message in messages {
        assert!(message["content"].is_string());
        if message["role"] == "tool" {
            assert_eq!(names(message), ["content", "role", "tool_name"]);
            assert_eq!(
                open.first(),
                Some(&&message["tool_name"]),
                "results in call order"
            );
            open.remove(0);
            continue;
        }
        assert!(open.is_empty(), "calls without result: {open:?}");
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            assert_eq!(names(call), ["function"], "the wire has no ids");
            assert!(call["function"]["arguments"].is_object());
            open.push(&call["function"]["name"]);
        }
    }
    assert!(open.is_empty(), "calls without result: {open:?}");
}

fn check_chat_pairs(messages: &[Value]) {
    let mut open: Vec<&str> = Vec::new();
    for message in messages {
        if message["role"] == "tool" {
            let id = message["tool_call_id"].as_str().expect("an id");
            assert_eq!(open.first(), Some(&id), "results come in call order, once");
            open.remove(0);
            continue;
        }
        assert!(open.is_empty(), "calls without result: {open:?}");
        assert!(message["content"].is_string());
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            let args = call["function"]["arguments"].as_str().expect("a string");
            serde_json::from_str::<Value>(args).expect("arguments are JSON");
            open.push(call["id"].as_str().expect("an id"));
        }
    }
    assert!(open.is_empty(), "calls without result: {open:?}");
}

fn check_anthropic_pairs(messages: &[Value]) {
    let mut open: Vec<&str> = Vec::new();
    for message in messages {
        let blocks = message["content"].as_array().expect("blocks");
        assert!(!blocks.is_empty());
        let results: Vec<&str> = blocks
            .iter()
            .filter(|block| block["type"] == "tool_result")
            .map(|block| block["tool_use_id"].as_str().expect("an id"))
            .collect();
        assert_eq!(results, open, "all results in the next message, in order");
        if !results.is_empty() {
            assert_eq!(results.len(), blocks.len(), "results only");
            assert_eq!(message["role"], "user");
        }
        open = blocks
            .iter()
            .filter(|block| block["type"] == "tool_use")
            .map(|block| {
                assert!(block["input"].is_object());
                block["id"].as_str().expect("an id")
            })
            .collect();
    }
    assert!(open.is_empty(), "calls without result: {open:?}");
}

fn check_responses(body: &Value, input: &[Value]) {
    assert_eq!(body["store"], false, "nothing is kept at the server");
    for gone in [
        "previous_response_id",
        "truncation",
        "messages",
        "max_tokens",
        "max_completion_tokens",
        "prompt_cache_retention",
    ] {
        assert!(body.get(gone).is_none(), "{gone} is never sent");
    }
    assert!(body["max_output_tokens"].is_u64());
    for tool in body["tools"].as_array().into_iter().flatten() {
        assert_eq!(tool["type"], "function");
        assert!(tool["name"].is_string() && tool["parameters"].is_object());
        assert!(tool.get("function").is_none(), "tools are flat");
        assert_ne!(tool["strict"], true);
    }
    let marks = input
        .iter()
        .filter(|item| item.to_string().contains("prompt_cache_breakpoint"));
    assert!(marks.count() <= 4, "cache breakpoints");
    check_responses_pairs(input);
    check_reasoning(input);
}

/// Every call is answered once, by its call_id, before anything but further calls and results comes.
fn check_responses_pairs(input: &[Value]) {
    let mut open: Vec<&str> = Vec::new();
    let mut answering = false;
    for item in input {
        let call_id = || item["call_id"].as_str().expect("a call_id");
        match item["type"].as_str().expect("a type") {
            "function_call" => {
                assert!(!answering || open.is_empty(), "results come together");
                answering = false;
                let args = item["arguments"].as_str().expect("a string");
                let args: Value = serde_json::from_str(args).expect("arguments are JSON");
                assert!(args.is_object());
                assert!(!open.contains(&call_id()), "an id twice");
                open.push(call_id());
            }
            "function_call_output" => {
                answering = true;
                assert_eq!(
                    open.first(),
                    Some(&call_id()),
                    "results come in call order, once"
                );
                open.remove(0);
                assert!(item["output"].is_string() || item["output"].is_array());
            }
            "message" if item["role"] == "user" => {
                assert!(open.is_empty(), "calls without result: {open:?}");
                assert_eq!(item["content"][0]["type"], "input_text");
            }
            "message" => {
                assert!(
                    !answering || open.is_empty(),
                    "calls without result: {open:?}"
                );
                assert_eq!(item["role"], "assistant");
            }
            "item_reference" => panic!("nothing is kept at the server, nothing can be referred to"),
            // A thought may stand between two calls, but not between results.
            _ => assert!(
                !answering || open.is_empty(),
                "calls without result: {open:?}"
            ),
        }
    }
    assert!(open.is_empty(), "calls without result: {open:?}");
}

/// Every reasoning item holds its content and stands directly before what it produced.
fn check_reasoning(input: &[Value]) {
    for (at, item) in input.iter().enumerate() {
        if item["type"] != "reasoning" {
            continue;
        }
        let content = item["encrypted_content"].as_str().unwrap_or("");
        assert!(!content.is_empty(), "reasoning without content: {item}");
        let next = &input[at + 1..]
            .first()
            .expect("reasoning comes before something");
        let produced = match next["type"].as_str().expect("a type") {
            "message" => next["role"] == "assistant",
            "function_call_output" => false,
            _ => true,
        };
        assert!(
            produced,
            "reasoning stands before what it produced, not {next}"
        );
    }
}
