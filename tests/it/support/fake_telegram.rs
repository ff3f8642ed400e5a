//! A Telegram that is not there: a strict fake of the Bot API on a loopback port.
//!
//! It speaks only HTTP, so it serves the library in process and the real binary alike. It accepts what
//! the real servers accept, refuses what they refuse in their words, and keeps a ledger of every call.
//! It is checked against a client library we did not write (`tests/peers/telegram_client`).

// Helpers of tests: the lint's own exception covers only the test functions themselves.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

pub mod html;
pub mod http;
pub mod methods;
pub mod state;

use std::ops::Deref;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::support::fake_server::{self, FakeServer, Open, PlatformState};

pub use crate::support::fake_telegram::state::{BotMessage, Entry, Fault, State, User};

/// The token the fake knows. Its second half is the canary that must never show up anywhere.
pub const TOKEN: &str = "123456789:AAFc4n4ryT0kenThatMustNeverShow_42";

/// Longest any wait in a test takes.
pub const DEADLINE: Duration = Duration::from_secs(20);

type Shared = fake_server::Shared<State>;

impl PlatformState for State {
    const DEADLINE: Duration = self::DEADLINE;

    fn story(&self) -> String {
        let mut lines: Vec<String> = self
            .ledger
            .iter()
            .map(|entry| {
                format!(
                    "{} {} -> {} {}",
                    entry.method,
                    Value::Object(entry.params.clone()),
                    entry.accepted,
                    entry.result
                )
            })
            .collect();
        lines.push(format!("violations: {:?}", self.violations));
        lines.push(format!("pending updates: {}", self.pending.len()));
        lines.join("\n")
    }
}

/// A running fake. It ends when dropped.
pub struct FakeTelegram {
    server: FakeServer<State>,
    url: String,
}

impl Deref for FakeTelegram {
    type Target = FakeServer<State>;

    fn deref(&self) -> &Self::Target {
        &self.server
    }
}

impl FakeTelegram {
    /// Starts on a free loopback port.
    pub fn start() -> Self {
        let server = FakeServer::start(|_| State::new(TOKEN), serve);
        let url = format!("http://{}", server.address());
        Self { server, url }
    }

    /// Base URL for `api_base`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// A person writes a text. Returns the message id.
    pub fn user_says(&self, chat: i64, user: &User, text: &str) -> i64 {
        self.user_sends(chat, user, json!({ "text": text }))
    }

    /// A person sends anything; the fields are added to the message.
    pub fn user_sends(&self, chat: i64, user: &User, extra: Value) -> i64 {
        self.change(|state| state.person_writes(chat, user, &extra))
    }

    /// A person sends a file: `kind` is the field of the message. Returns the message id.
    pub fn user_sends_file(
        &self,
        chat: i64,
        user: &User,
        (kind, file_id, content): (&str, &str, &[u8]),
        extra: Value,
    ) -> i64 {
        let mut file = json!({
            "file_id": file_id, "file_unique_id": format!("u{file_id}"), "file_size": content.len(),
        });
        let mut message = extra;
        if let Some(Value::Object(given)) = message.get_mut("file").map(Value::take) {
            file.as_object_mut().unwrap().extend(given);
        }
        message.as_object_mut().unwrap().remove("file");
        message[kind] = if kind == "photo" {
            let small = json!({ "file_id": "small", "width": 90, "height": 60 });
            file["width"] = json!(1280);
            file["height"] = json!(960);
            json!([small, file])
        } else {
            file
        };
        self.change(|state| {
            state.files.insert(file_id.to_owned(), content.to_vec());
            state.person_writes(chat, user, &message)
        })
    }

    /// A person presses the button with this label. Returns the callback id.
    pub fn user_clicks(&self, chat: i64, message_id: i64, label: &str, user: &User) -> String {
        self.change(|state| state.person_clicks(chat, message_id, label, user))
            .unwrap_or_else(|| panic!("message {message_id} has no button `{label}`"))
    }

    /// Queues an update of any shape. Returns its id.
    pub fn raw_update(&self, update: Value) -> i64 {
        self.change(|state| state.push(update))
    }

    /// Queues an update again under a new id, as the real servers do now and then.
    pub fn repeat_last(&self) {
        self.change(|state| {
            let (_, update) = state.pending.back().cloned().expect("an update waits");
            state.push(update);
        });
    }

    /// Misbehaves at the next call of a method, once per fault given.
    pub fn fault(&self, method: &str, fault: Fault) {
        self.change(|state| {
            state
                .faults
                .entry(method.to_owned())
                .or_default()
                .push_back(fault);
        });
    }

    /// All calls so far.
    pub fn ledger(&self) -> Vec<Entry> {
        self.state().ledger.clone()
    }

    /// The calls of one method.
    pub fn calls(&self, method: &str) -> Vec<Entry> {
        let mut calls = self.ledger();
        calls.retain(|entry| entry.method == method);
        calls
    }

    /// The bot's messages in a chat as they stand.
    pub fn messages(&self, chat: i64) -> Vec<BotMessage> {
        let mut messages = self.state().messages.clone();
        messages.retain(|message| message.chat == chat);
        messages
    }
}

async fn serve(mut stream: TcpStream, shared: Arc<Shared>, _open: Open<State>) {
    let mut buffer = Vec::new();
    while let Some(request) = http::read(&mut stream, &mut buffer).await {
        if let Some(path) = request.path.strip_prefix("/file") {
            let file = authorised(&shared, path).and_then(|path| file(&shared, &path));
            let answer = http::file(file.as_deref());
            let of_file = request.path.rsplit('/').next().unwrap_or_default();
            record(&shared, "file", &request, file.is_some(), json!(of_file));
            if stream.write_all(&answer).await.is_err() {
                return;
            }
            continue;
        }
        let Some(method) = authorised(&shared, &request.path) else {
            let token_like = request.path.starts_with("/bot") && request.path.contains(':');
            let (status, words) = if token_like {
                (401, "Unauthorized")
            } else {
                (404, "Not Found")
            };
            let refused = http::answer(status, &refusal(status, words, None));
            if stream.write_all(&refused).await.is_err() {
                return;
            }
            continue;
        };
        let fault = shared
            .lock()
            .faults
            .get_mut(&method)
            .and_then(std::collections::VecDeque::pop_front);
        let refused = match &fault {
            Some(Fault::TooMany(seconds)) => Some((
                429,
                format!("Too Many Requests: retry after {seconds}"),
                Some(json!({ "retry_after": seconds })),
            )),
            Some(Fault::Server(status)) => Some((*status, "Bad Gateway".to_owned(), None)),
            Some(Fault::Conflict) => Some((409, CONFLICT.to_owned(), None)),
            Some(Fault::Refuse(status, words)) => Some((*status, words.clone(), None)),
            Some(Fault::ResetBefore) => {
                record(&shared, &method, &request, false, json!("reset before"));
                return;
            }
            Some(Fault::Slow(time)) => {
                tokio::time::sleep(*time).await;
                None
            }
            Some(Fault::ResetAfter | Fault::CutBody | Fault::NotJson) | None => None,
        };
        let ended = match refused {
            Some(refused) => Err(refused),
            None => {
                let checked = methods::check(&mut shared.lock(), &method, &request);
                match checked {
                    Err(refused) => Err(refused),
                    Ok(()) if method == "getUpdates" => {
                        // A client that goes away ends its poll, as at the real servers.
                        let ended = tokio::select! {
                            ended = get_updates(&shared, &request) => ended,
                            () = gone(&stream) => return,
                        };
                        ended
                    }
                    Ok(()) => methods::call(&mut shared.lock(), &method, &request),
                }
            }
        };
        let (status, body) = match ended {
            Ok(result) => {
                record(&shared, &method, &request, true, result.clone());
                (200, json!({ "ok": true, "result": result }))
            }
            Err((status, words, parameters)) => {
                record(&shared, &method, &request, false, json!(words));
                (status, refusal(status, &words, parameters))
            }
        };
        let bytes = http::answer(status, &body);
        let sent = match fault {
            Some(Fault::ResetAfter) => return,
            Some(Fault::CutBody) => {
                let _ = stream.write_all(&bytes[..bytes.len() - 5]).await;
                return;
            }
            Some(Fault::NotJson) => {
                let page = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>";
                stream.write_all(page).await
            }
            _ => stream.write_all(&bytes).await,
        };
        if sent.is_err() {
            return;
        }
    }
}

const CONFLICT: &str = "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running";

/// The method, when the path carries the token.
fn authorised(shared: &Shared, path: &str) -> Option<String> {
    let token = shared.lock().token.clone();
    let rest = path.strip_prefix("/bot")?.strip_prefix(token.as_str())?;
    Some(rest.strip_prefix('/')?.to_owned())
}

/// The content of a file by the path that `getFile` told.
fn file(shared: &Shared, path: &str) -> Option<Vec<u8>> {
    let id = path.strip_prefix("documents/")?.strip_suffix(".bin")?;
    shared.lock().files.get(id).cloned()
}

fn refusal(status: u16, words: &str, parameters: Option<Value>) -> Value {
    let mut body = json!({ "ok": false, "error_code": status, "description": words });
    if let Some(parameters) = parameters {
        body["parameters"] = parameters;
    }
    body
}

fn record(shared: &Shared, method: &str, request: &http::Request, accepted: bool, result: Value) {
    shared.lock().ledger.push(Entry {
        at: Instant::now(),
        method: method.to_owned(),
        params: request.params.clone(),
        accepted,
        result,
    });
    shared.touch();
}

/// Resolves when the client closed its side.
async fn gone(stream: &TcpStream) {
    let mut byte = [0_u8; 1];
    loop {
        match stream.peek(&mut byte).await {
            Ok(0) | Err(_) => return,
            // A pipelined request; nobody does that, but it is no reason to spin.
            Ok(_) => std::future::pending().await,
        }
    }
}

async fn get_updates(shared: &Shared, request: &http::Request) -> Result<Value, methods::Refusal> {
    let params = methods::Params {
        request,
        method: "getUpdates",
    };
    let (offset, limit, timeout, own) = {
        let mut state = shared.lock();
        if state.webhook.is_some() {
            return Err((
                409,
                "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first".to_owned(),
                None,
            ));
        }
        let offset = params.int(&mut state, "offset")?;
        let limit = params
            .int(&mut state, "limit")?
            .unwrap_or(100)
            .clamp(1, 100);
        let timeout = params.int(&mut state, "timeout")?.unwrap_or(0).clamp(0, 50);
        if let Some(allowed) = params.json(&mut state, "allowed_updates")? {
            let allowed = allowed.as_array().cloned().unwrap_or_default();
            state.allowed = Some(
                allowed
                    .iter()
                    .filter_map(|kind| kind.as_str().map(str::to_owned))
                    .collect(),
            );
        }
        state.poll += 1;
        // Confirmed now, so that whoever waits for it sees it when woken below.
        state.take(offset.filter(|offset| *offset > 0), 0);
        (offset, limit as usize, timeout as u64, state.poll)
    };
    shared.touch();
    let end = tokio::time::Instant::now() + Duration::from_secs(timeout);
    let mut version = shared.version.subscribe();
    loop {
        {
            let mut state = shared.lock();
            if state.poll != own {
                return Err((409, CONFLICT.to_owned(), None));
            }
            let updates = state.take(offset, limit);
            if !updates.is_empty() || !state.holds_polls || tokio::time::Instant::now() >= end {
                return Ok(Value::Array(updates));
            }
        }
        tokio::select! {
            _ = version.changed() => {}
            () = tokio::time::sleep_until(end) => {}
        }
    }
}
