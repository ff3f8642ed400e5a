//! A Discord that is not there: a strict fake of its gateway and its REST interface on a loopback port.
//!
//! It speaks only HTTP and WebSocket, so it serves the library in process and the real binary alike. It accepts what the
//! real servers accept, refuses what they refuse in their words, and keeps a ledger of every call. It is checked against a
//! client library we did not write (`tests/peers/discord_client`).

// Helpers of tests: the lint's own exception covers only the test functions themselves.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

pub mod gateway;
pub mod http;
pub mod rest;
pub mod state;

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use crate::support::fake_server::{self, FakeServer, Open, PlatformState};

pub use crate::support::fake_discord::state::{Entry, Fault, Message, Order, State, User};

/// The token the fake knows. Its last part is the canary that must never show up anywhere.
pub const TOKEN: &str = "ODAwMDAwMDAwMDAwMDAwMDAx.Gabc12.c4n4ryT0kenThatMustNeverShow_42";

/// What every answer of Discord itself has, and none of the network before it.
const VIA: [&str; 2] = ["Via", "1.1 google"];

/// What the parts of the fake share.
pub type Shared = fake_server::Shared<State>;

impl PlatformState for State {
    const DEADLINE: Duration = Duration::from_secs(20);

    fn story(&self) -> String {
        let mut lines: Vec<String> = self
            .ledger
            .iter()
            .map(|entry| {
                format!(
                    "{} {} {} -> {} {}",
                    entry.route, entry.path, entry.body, entry.status, entry.result
                )
            })
            .collect();
        lines.push(format!("violations: {:?}", self.violations));
        lines.push(format!(
            "connections {}, identified {}, resumed {:?}, sessions {:?}",
            self.connections.len(),
            self.identified,
            self.resumed,
            self.sessions.keys()
        ));
        lines.join("\n")
    }
}

/// A running fake. It ends when dropped.
pub struct FakeDiscord {
    server: FakeServer<State>,
}

impl Deref for FakeDiscord {
    type Target = FakeServer<State>;

    fn deref(&self) -> &Self::Target {
        &self.server
    }
}

impl FakeDiscord {
    /// Starts on a free loopback port.
    pub fn start() -> Self {
        let state = |address: &str| State::new(TOKEN, &format!("http://{address}"));
        Self {
            server: FakeServer::start(state, serve),
        }
    }

    /// Base URL for `api_base`.
    pub fn api_base(&self) -> String {
        format!("http://{}/api/v10", self.address())
    }

    /// A person writes a text. Returns the message's id.
    pub fn user_says(&self, channel: u64, user: &User, text: &str) -> u64 {
        self.user_sends(channel, user, json!({ "content": text }))
    }

    /// A person sends anything; the fields are added to the message.
    pub fn user_sends(&self, channel: u64, user: &User, extra: Value) -> u64 {
        self.change(|state| {
            let message = state.message(channel, user, &extra);
            let event = state.event_of(&message);
            state.push("MESSAGE_CREATE", &event);
            message.id
        })
    }

    /// A person sends a file with a text.
    pub fn user_sends_file(
        &self,
        channel: u64,
        user: &User,
        text: &str,
        name: &str,
        content: &[u8],
    ) -> u64 {
        let (file, url) = self.change(|state| {
            let id = state.next_id();
            state.files.insert(id, content.to_vec());
            (id, format!("{}/cdn/{id}", state.url))
        });
        let attachment = json!({
            "id": file.to_string(), "filename": name, "size": content.len(), "url": url, "proxy_url": url,
            "content_type": "text/plain; charset=utf-8",
        });
        self.user_sends(
            channel,
            user,
            json!({ "content": text, "attachments": [attachment] }),
        )
    }

    /// A person presses the button with this label. Returns the interaction's id.
    pub fn user_clicks(&self, message: &Message, label: &str, user: &User) -> u64 {
        let token = message
            .buttons()
            .into_iter()
            .find(|(given, _)| given == label)
            .unwrap_or_else(|| panic!("the message has no button `{label}`"))
            .1;
        self.change(|state| {
            let rest = json!({
                "message": message.json, "data": { "component_type": 2, "custom_id": token },
            });
            state.interact(3, message.channel, user, &rest)
        })
    }

    /// A person picks a command of the menu.
    pub fn user_commands(&self, channel: u64, user: &User, name: &str, text: &str) -> u64 {
        self.change(|state| {
            let options = if text.is_empty() {
                json!([])
            } else {
                json!([{ "type": 3, "name": "text", "value": text }])
            };
            let rest =
                json!({ "data": { "id": "1", "type": 1, "name": name, "options": options } });
            state.interact(2, channel, user, &rest)
        })
    }

    /// Tells of an event of any shape.
    pub fn raw_event(&self, name: &str, data: Value) {
        self.change(|state| state.push(name, &data));
    }

    /// Misbehaves at the next call of a route, once per fault given.
    pub fn fault(&self, route: &str, fault: Fault) {
        self.change(|state| {
            state
                .faults
                .entry(route.to_owned())
                .or_default()
                .push_back(fault);
        });
    }

    /// Does something to the gateway connection that is open.
    pub fn order(&self, order: Order) {
        self.change(|state| state.orders.push_back(order));
    }

    /// The calls of one route.
    pub fn calls(&self, route: &str) -> Vec<Entry> {
        let mut calls = self.state().ledger.clone();
        calls.retain(|entry| entry.route == route);
        calls
    }

    /// The bot's messages in a channel as they stand.
    pub fn messages(&self, channel: u64) -> Vec<Message> {
        let mut messages = self.state().messages.clone();
        messages.retain(|message| message.channel == channel && message.by_bot && !message.deleted);
        messages
    }

    /// The bot's message of a channel that shows this text, once it is there.
    pub async fn shown(&self, channel: u64, text: &str) -> Message {
        let is_it = |message: &&Message| {
            message.channel == channel
                && message.by_bot
                && !message.deleted
                && message.text().contains(text)
        };
        self.wait_until(text, |state| state.messages.iter().any(|m| is_it(&m)))
            .await;
        let messages = self.messages(channel);
        messages.iter().find(is_it).expect("it was there").clone()
    }
}

async fn serve(mut stream: TcpStream, shared: Arc<Shared>, open: Open<State>) {
    let mut buffer = Vec::new();
    while let Some(request) = http::read(&mut stream, &mut buffer).await {
        if request.websocket.is_some() {
            if request.user_agent.is_empty() {
                let said = "a gateway connection without a user agent".to_owned();
                shared.lock().violations.push(said);
            }
            drop(open);
            gateway::serve(stream, buffer, &request, shared).await;
            return;
        }
        if let Some(id) = request.path.strip_prefix("/cdn/") {
            let file = id
                .parse()
                .ok()
                .and_then(|id| shared.lock().files.get(&id).cloned());
            if !request.authorization.is_empty() {
                let said = "the token was sent to where files are".to_owned();
                shared.lock().violations.push(said);
            }
            let fault = shared
                .lock()
                .faults
                .get_mut("file")
                .and_then(std::collections::VecDeque::pop_front);
            if let Some(Fault::Slow(time)) = fault {
                tokio::time::sleep(time).await;
            }
            let status = if file.is_some() { 200 } else { 404 };
            record(&shared, "file", &request, status, &Value::Null);
            let answer = match file {
                Some(content) => http::file(&content),
                None => http::answer(404, &[], &Value::Null),
            };
            if stream.write_all(&answer).await.is_err() {
                return;
            }
            continue;
        }
        let route = rest::route(&request);
        let fault = shared
            .lock()
            .faults
            .get_mut(route)
            .and_then(std::collections::VecDeque::pop_front);
        let refused = match &fault {
            Some(Fault::TooMany(seconds, global)) => Some((
                429,
                vec![
                    ("Retry-After".to_owned(), seconds.ceil().to_string()),
                    VIA.map(str::to_owned).into(),
                ],
                json!({ "message": "You are being rate limited.", "retry_after": seconds, "global": global }),
            )),
            Some(Fault::Cloudflare(seconds)) => Some((
                429,
                vec![("Retry-After".to_owned(), seconds.to_string())],
                Value::Null,
            )),
            Some(Fault::Server(status)) => Some((*status, Vec::new(), Value::Null)),
            Some(Fault::Refuse(status, code, words)) => {
                Some((*status, Vec::new(), http::refusal(*code, words)))
            }
            Some(Fault::ResetBefore) => {
                record(&shared, route, &request, 0, &json!("reset before"));
                return;
            }
            Some(Fault::Slow(time)) => {
                tokio::time::sleep(*time).await;
                None
            }
            Some(Fault::ResetAfter | Fault::CutBody | Fault::NotJson) | None => None,
        };
        let (status, headers, body) = match refused {
            Some(refused) => refused,
            None => rest::call(&mut shared.lock(), &request),
        };
        record(&shared, route, &request, status, &body);
        let bytes = http::answer(status, &headers, &body);
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

fn record(shared: &Shared, route: &str, request: &http::Request, status: u16, result: &Value) {
    shared.lock().ledger.push(Entry {
        route: route.to_owned(),
        path: request.path.clone(),
        body: request.body.clone(),
        status,
        result: result.clone(),
    });
    shared.touch();
}
