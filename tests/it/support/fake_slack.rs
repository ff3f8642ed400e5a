//! A Slack that is not there: a strict fake of the Web API and of Socket Mode on a loopback port.
//!
//! It speaks only HTTP and WebSocket, so it serves the library in process and the real binary alike. It accepts what the
//! real servers accept, refuses what they refuse in their words, and keeps a ledger of every call. It is checked against
//! a client library we did not write (`tests/peers/slack_client`).

// Helpers of tests: the lint's own exception covers only the test functions themselves.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

pub mod http;
pub mod message;
pub mod methods;
pub mod socket;
pub mod state;

use std::ops::Deref;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use crate::support::fake_server::{self, FakeServer, Open, PlatformState};
use crate::support::fake_slack::http::Request;
pub use crate::support::fake_slack::message::BotMessage;
use crate::support::fake_slack::socket::Order;
pub use crate::support::fake_slack::state::{Entry, Fault, State};

/// The tokens the fake knows. They are the canaries that must never show up anywhere.
pub const BOT_TOKEN: &str = "xoxb-1-B0tT0kenThatMustNeverShow";
pub const APP_TOKEN: &str = "xapp-1-A0001-AppT0kenThatMustNeverShow";
/// A channel in which the bot is, one in which it is not, and the direct message with Ada.
pub const TEAM: &str = "C0TEAM";
pub const FOREIGN: &str = "C0FOREIGN";
pub const ADA: &str = "U0ADA";
pub const ADA_DIRECT: &str = "D0ADA";
pub const BEN: &str = "U0BEN";
pub const BEN_DIRECT: &str = "D0BEN";
pub const BOT: &str = "U0BOT";

/// Longest any wait in a test takes.
pub const DEADLINE: Duration = Duration::from_secs(45);

/// What the parts of the fake share.
pub type Shared = fake_server::Shared<State>;

impl PlatformState for State {
    const DEADLINE: Duration = self::DEADLINE;

    fn story(&self) -> String {
        let mut lines: Vec<String> = self
            .ledger
            .iter()
            .map(|entry| {
                format!(
                    "{} {} -> {} {}",
                    entry.method, entry.params, entry.accepted, entry.result
                )
            })
            .collect();
        lines.push(format!("violations: {:?}", self.violations));
        lines.push(format!("sockets: {}", self.sockets.len()));
        lines.push(format!("not acknowledged: {:?}", self.waiting()));
        lines.join("\n")
    }
}

/// A running fake. It ends when dropped.
pub struct FakeSlack {
    server: FakeServer<State>,
}

impl Deref for FakeSlack {
    type Target = FakeServer<State>;

    fn deref(&self) -> &Self::Target {
        &self.server
    }
}

impl FakeSlack {
    /// Starts on a free loopback port.
    pub fn start() -> Self {
        Self {
            server: FakeServer::start(State::new, serve),
        }
    }

    /// Base URL for `api_base`.
    pub fn api_base(&self) -> String {
        format!("http://{}/api", self.address())
    }

    /// A person writes a text. Returns the time of the message.
    pub fn says(&self, channel: &str, user: &str, text: &str) -> String {
        self.sends(channel, user, json!({ "text": text }))
    }

    /// A person sends anything; the fields are added to the message.
    pub fn sends(&self, channel: &str, user: &str, extra: Value) -> String {
        self.change(|state| state.person_writes(channel, user, &extra))
    }

    /// A person presses the button with this label.
    pub fn clicks(&self, channel: &str, ts: &str, label: &str, user: &str) {
        self.change(|state| state.person_clicks(channel, ts, label, user));
    }

    /// A person types a slash command.
    pub fn commands(&self, channel: &str, user: &str, command: &str, text: &str) {
        self.change(|state| state.person_commands(channel, user, command, text));
    }

    /// Slack has an event of any shape.
    pub fn event(&self, event: Value) {
        self.change(|state| state.push_event(&event));
    }

    /// Delivers once more what was delivered last and acknowledged, as Slack does now and then.
    pub fn repeat_last(&self) {
        self.change(State::repeat_last);
    }

    /// Writes this to every socket.
    pub fn frame(&self, text: &str) {
        self.change(|state| state.order_all(&Order::Text(text.to_owned())));
    }

    /// Tells every socket that it will be closed.
    pub fn disconnect(&self, reason: &str) {
        self.frame(
            &json!({ "type": "disconnect", "reason": reason, "debug_info": {} }).to_string(),
        );
    }

    /// Breaks every socket off without a word.
    pub fn break_sockets(&self) {
        self.change(|state| state.order_all(&Order::Break));
    }

    /// Every socket stays open, and nothing comes or goes any more.
    pub fn freeze_sockets(&self) {
        self.change(|state| state.order_all(&Order::Freeze));
    }

    /// Misbehaves at the next call of a method, once per fault given.
    pub fn fault(&self, method: &str, fault: Fault) {
        self.change(|state| {
            let faults = state.faults.entry(method.to_owned()).or_default();
            faults.push_back(fault);
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

    /// The bot's messages in a channel as they stand.
    pub fn messages(&self, channel: &str) -> Vec<BotMessage> {
        self.state().bot_messages(channel)
    }

    /// Waits for a message of the bot in a channel that shows this text.
    pub async fn shown(&self, channel: &str, text: &str) -> BotMessage {
        let find = |state: &State| {
            let mut messages = state.bot_messages(channel).into_iter();
            messages.find(|message| message.shows(text))
        };
        self.wait_until(text, |state| find(state).is_some()).await;
        find(&self.state()).unwrap()
    }
}

async fn serve(mut stream: TcpStream, shared: Arc<Shared>, open: Open<State>) {
    let mut buffer = Vec::new();
    while let Some(request) = http::read(&mut stream, &mut buffer).await {
        if request.path == "/link" {
            drop(open);
            socket::serve(stream, &request, shared).await;
            return;
        }
        let Some(method) = request.path.strip_prefix("/api/").map(str::to_owned) else {
            let answer = other(&shared, &request);
            if stream.write_all(&answer).await.is_err() {
                return;
            }
            continue;
        };
        let params = request.params();
        let fault = shared.change(|state| {
            let faults = state.faults.get_mut(&method);
            faults.and_then(std::collections::VecDeque::pop_front)
        });
        let refused = match &fault {
            Some(Fault::TooMany(seconds)) => Some((
                429,
                json!({ "ok": false, "error": "ratelimited" }),
                Some(*seconds),
            )),
            Some(Fault::Server(status)) => Some((*status, Value::Null, None)),
            Some(Fault::Word(word)) => Some((200, json!({ "ok": false, "error": word }), None)),
            Some(Fault::ResetBefore) => {
                record(&shared, &method, params, false, json!("reset before"));
                let _ = stream.set_zero_linger();
                return;
            }
            Some(Fault::Slow(time)) => {
                tokio::time::sleep(*time).await;
                None
            }
            Some(Fault::ResetAfter | Fault::CutBody | Fault::NotJson) | None => None,
        };
        let (status, body, rest) = match refused {
            Some(refused) => {
                record(&shared, &method, params, false, refused.1.clone());
                refused
            }
            None => {
                let said = shared.change(|state| methods::call(state, &method, &request, &params));
                let (accepted, body) = match said {
                    Ok(mut body) => {
                        body["ok"] = json!(true);
                        (true, body)
                    }
                    Err(mut refusal) => {
                        refusal["ok"] = json!(false);
                        (false, refusal)
                    }
                };
                record(&shared, &method, params, accepted, body.clone());
                (200, body, None)
            }
        };
        let (scopes, clock) = {
            let state = shared.lock();
            (state.scopes.join(","), state.clock())
        };
        let bytes = http::answer(status, &body, (&scopes, clock), rest);
        let sent = match fault {
            Some(Fault::ResetAfter) => {
                let _ = stream.set_zero_linger();
                return;
            }
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

/// Files, and where they are put.
fn other(shared: &Shared, request: &Request) -> Vec<u8> {
    let mut state = shared.lock();
    if let Some(id) = request.path.strip_prefix("/upload/") {
        if request.header("authorization").is_some() {
            state
                .violations
                .push("a token was sent with an upload".to_owned());
        }
        let taken = state.take_upload(id, &request.body);
        drop(state);
        shared.touch();
        return http::plain(if taken { 200 } else { 404 }, b"OK");
    }
    if let Some(id) = request.path.strip_prefix("/files/") {
        let bearer = format!("Bearer {}", state.bot_token);
        if request.header("authorization") != Some(bearer.as_str())
            || !state.has_scope("files:read")
        {
            return http::plain(200, b"<!DOCTYPE html><html>Sign in</html>");
        }
        return match state.files.get(id) {
            Some(file) => http::plain(200, &file.content),
            None => http::plain(404, b""),
        };
    }
    http::plain(404, b"")
}

fn record(shared: &Shared, method: &str, params: Value, accepted: bool, result: Value) {
    shared.change(|state| {
        state.ledger.push(Entry {
            at: Instant::now(),
            method: method.to_owned(),
            params,
            accepted,
            result,
        });
    });
}
