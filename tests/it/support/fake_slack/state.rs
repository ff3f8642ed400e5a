//! What the fake Slack knows: people, channels, messages, envelopes on their way, and what was done.

use std::collections::{HashMap, HashSet, VecDeque};
use std::time::{Duration, Instant, SystemTime};

use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedSender;

use crate::support::fake_slack::message::{BotMessage, Channel, File};
use crate::support::fake_slack::socket::{self, Order};
use crate::support::fake_slack::{
    ADA, ADA_DIRECT, APP_TOKEN, BEN, BEN_DIRECT, BOT, BOT_TOKEN, FOREIGN, TEAM,
};

/// How the next call of a method goes wrong.
#[derive(Debug, Clone, PartialEq)]
pub enum Fault {
    /// 429 with so many seconds.
    TooMany(u64),
    /// A status without a body.
    Server(u16),
    /// HTTP 200 with `ok: false` and this word.
    Word(String),
    /// The connection is reset before the call is carried out.
    ResetBefore,
    /// The call is carried out, then the connection is reset.
    ResetAfter,
    /// The call is carried out; the answer breaks off.
    CutBody,
    /// The call is carried out; the answer is a page.
    NotJson,
    /// The call is carried out after this long.
    Slow(Duration),
}

/// A call and how it ended.
#[derive(Debug, Clone)]
pub struct Entry {
    pub at: Instant,
    pub method: String,
    pub params: Value,
    /// Whether it was carried out.
    pub accepted: bool,
    pub result: Value,
}

/// What has to be acknowledged.
#[derive(Debug, Clone)]
struct Waiting {
    id: String,
    envelope: Value,
    /// The socket that it was written to.
    socket: Option<u64>,
    retries: u64,
}

struct OpenSocket {
    orders: UnboundedSender<Order>,
    ready: bool,
}

/// Everything behind the lock.
pub struct State {
    pub address: String,
    pub bot_token: String,
    pub app_token: String,
    pub app_scopes: Vec<String>,
    pub scopes: Vec<String>,
    pub users: HashMap<String, String>,
    pub channels: HashMap<String, Channel>,
    pub directs: HashMap<String, String>,
    /// Every message, of the bot and of people, as its JSON, with its channel.
    pub messages: Vec<(String, Value)>,
    pub files: HashMap<String, File>,
    pub uploads: HashMap<String, (String, usize, Option<Vec<u8>>)>,
    pub ledger: Vec<Entry>,
    /// Requests that no correct client makes.
    pub violations: Vec<String>,
    pub faults: HashMap<String, VecDeque<Fault>>,
    pub tickets: HashSet<String>,
    /// Sockets that Slack counts though nobody holds them.
    pub ghosts: usize,
    pub pings: usize,
    /// Codes with which sockets were closed.
    pub closed: Vec<u16>,
    pub sockets: Vec<u64>,
    /// Acknowledgements, in order: envelope and payload.
    pub acks: Vec<(String, Value)>,
    /// What nobody receives now is lost, as after some minutes.
    pub forgets: bool,
    /// What happens waits for [`State::deliver_reversed`].
    pub holds: bool,
    /// Metadata is not shown in histories.
    pub hides_metadata: bool,
    /// Seconds that its clock is ahead of ours.
    pub clock_ahead: i64,
    /// Messages of one page of a history.
    pub page: usize,
    /// Ephemeral messages: channel, user, text.
    pub ephemeral: Vec<(String, String, String)>,
    pub statuses: Vec<(String, String)>,
    open: HashMap<u64, OpenSocket>,
    waiting: Vec<Waiting>,
    last: Option<Value>,
    next: u64,
    micros: u64,
}

impl State {
    pub fn new(address: &str) -> Self {
        let channel = |name: &str, joined| Channel {
            name: name.to_owned(),
            joined,
            archived: false,
        };
        let named = |id: &str, name: &str| (id.to_owned(), name.to_owned());
        let scopes = leverframe::channels::slack::manifest::SCOPES;
        Self {
            address: address.to_owned(),
            bot_token: BOT_TOKEN.to_owned(),
            app_token: APP_TOKEN.to_owned(),
            app_scopes: vec!["connections:write".to_owned()],
            scopes: scopes.iter().map(|scope| scope.name.to_owned()).collect(),
            users: HashMap::from([
                named(ADA, "Ada"),
                named(BEN, "Ben"),
                named("U0MALLORY", "Mallory"),
            ]),
            channels: HashMap::from([
                (TEAM.to_owned(), channel("team", true)),
                (FOREIGN.to_owned(), channel("foreign", false)),
                (ADA_DIRECT.to_owned(), channel("", true)),
                (BEN_DIRECT.to_owned(), channel("", true)),
            ]),
            directs: HashMap::from([named(ADA, ADA_DIRECT), named(BEN, BEN_DIRECT)]),
            messages: Vec::new(),
            files: HashMap::new(),
            uploads: HashMap::new(),
            ledger: Vec::new(),
            violations: Vec::new(),
            faults: HashMap::new(),
            tickets: HashSet::new(),
            ghosts: 0,
            pings: 0,
            closed: Vec::new(),
            sockets: Vec::new(),
            acks: Vec::new(),
            forgets: false,
            holds: false,
            hides_metadata: false,
            clock_ahead: 0,
            page: 1_000,
            ephemeral: Vec::new(),
            statuses: Vec::new(),
            open: HashMap::new(),
            waiting: Vec::new(),
            last: None,
            next: 0,
            micros: 0,
        }
    }

    pub fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// The time of a new message: now, and unlike any before.
    pub fn time(&mut self) -> String {
        let now = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap();
        self.micros = (self.micros + 1).max(now.as_micros() as u64);
        format!("{}.{:06}", self.micros / 1_000_000, self.micros % 1_000_000)
    }

    /// Its clock, in seconds since 1970.
    pub fn clock(&self) -> i64 {
        jiff::Timestamp::now().as_second() + self.clock_ahead
    }

    pub fn has_scope(&self, scope: &str) -> bool {
        self.scopes.iter().any(|one| one == scope)
    }

    // Messages.

    pub fn bot_messages(&self, channel: &str) -> Vec<BotMessage> {
        self.messages
            .iter()
            .filter(|(place, message)| place == channel && message["user"] == BOT)
            .map(|(_, message)| BotMessage {
                ts: message["ts"].as_str().unwrap().to_owned(),
                thread: message["thread_ts"].as_str().map(str::to_owned),
                text: message["text"].as_str().unwrap_or_default().to_owned(),
                blocks: message["blocks"].as_array().cloned().unwrap_or_default(),
                files: message["files"].as_array().cloned().unwrap_or_default(),
                metadata: message["metadata"].clone(),
                edits: message["edits"].as_u64().unwrap_or(0) as u32,
            })
            .collect()
    }

    pub fn message_mut(&mut self, channel: &str, ts: &str) -> Option<&mut Value> {
        self.messages
            .iter_mut()
            .find(|(place, message)| place == channel && message["ts"] == ts)
            .map(|(_, message)| message)
    }

    fn find(&self, channel: &str, ts: &str) -> Option<&Value> {
        self.messages
            .iter()
            .find(|(place, message)| place == channel && message["ts"] == ts)
            .map(|(_, message)| message)
    }

    /// The threads of a channel by their first messages: how many replies, and the newest.
    pub fn threads(&self, channel: &str) -> HashMap<&str, (u64, &str)> {
        let mut threads = HashMap::new();
        for (_, reply) in self.messages.iter().filter(|(place, _)| place == channel) {
            let (root, ts) = (reply["thread_ts"].as_str(), reply["ts"].as_str());
            if let (Some(root), Some(ts)) = (root, ts)
                && root != ts
            {
                let thread = threads.entry(root).or_insert((0, ts));
                *thread = (thread.0 + 1, ts);
            }
        }
        threads
    }

    /// A message by a person, merged with `extra`.
    pub fn person_writes(&mut self, channel: &str, user: &str, extra: &Value) -> String {
        let ts = self.time();
        let mut message = json!({ "type": "message", "user": user, "ts": ts, "text": "" });
        for (name, value) in extra.as_object().unwrap() {
            message[name] = value.clone();
        }
        if let Some(thread) = message["thread_ts"].as_str().map(str::to_owned) {
            let root = self.find(channel, &thread);
            if let Some(parent) = root.map(|root| root["user"].clone()) {
                message["parent_user_id"] = parent;
            }
        }
        self.messages.push((channel.to_owned(), message.clone()));
        let mut event = message.clone();
        event["channel"] = json!(channel);
        event["event_ts"] = json!(ts);
        event["channel_type"] = json!(if channel.starts_with('D') {
            "im"
        } else {
            "channel"
        });
        self.push_event(&event);
        let mentions = message["text"]
            .as_str()
            .unwrap()
            .contains(&format!("<@{BOT}>"));
        if mentions && !channel.starts_with('D') {
            let mut mention = event;
            mention["type"] = json!("app_mention");
            mention.as_object_mut().unwrap().remove("channel_type");
            self.push_event(&mention);
        }
        ts
    }

    /// A message of the bot appears, and Slack tells the app of it too.
    pub fn bot_writes(&mut self, channel: &str, mut message: Value) -> String {
        let ts = self.time();
        message["type"] = json!("message");
        message["user"] = json!(BOT);
        message["bot_id"] = json!("B0BOT");
        message["ts"] = json!(ts);
        self.messages.push((channel.to_owned(), message.clone()));
        message["channel"] = json!(channel);
        message.as_object_mut().unwrap().remove("metadata");
        self.push_event(&message);
        ts
    }

    pub fn person_clicks(&mut self, channel: &str, ts: &str, label: &str, user: &str) {
        let message = self.find(channel, ts).expect("the message").clone();
        let action = message["blocks"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|block| block["type"] == "actions")
            .flat_map(|block| block["elements"].as_array().into_iter().flatten())
            .find(|button| button["text"]["text"] == label)
            .unwrap_or_else(|| panic!("the message has no button `{label}`: {message:#}"));
        let at = format!("1800000000.{:06}", self.next);
        let mut container = json!({ "type": "message", "message_ts": ts, "channel_id": channel });
        if !message["thread_ts"].is_null() {
            container["thread_ts"] = message["thread_ts"].clone();
        }
        let payload = json!({
            "type": "block_actions",
            "user": { "id": user, "username": user.to_lowercase(), "name": user.to_lowercase(), "team_id": "T0001" },
            "api_app_id": "A0001", "container": container,
            "trigger_id": format!("trigger.{}", self.next),
            "channel": { "id": channel, "name": "team" }, "message": message,
            "actions": [{ "type": "button", "action_id": action["action_id"], "value": action["value"],
                "block_id": "b", "action_ts": at }],
        });
        self.push("interactive", &payload, false);
    }

    pub fn person_commands(&mut self, channel: &str, user: &str, command: &str, text: &str) {
        let payload = json!({
            "team_id": "T0001", "channel_id": channel, "channel_name": "team", "user_id": user,
            "user_name": user.to_lowercase(), "command": command, "text": text, "api_app_id": "A0001",
            "trigger_id": format!("trigger.{}", self.next),
        });
        self.push("slash_commands", &payload, true);
    }

    // Envelopes.

    pub fn push_event(&mut self, event: &Value) {
        let payload = json!({
            "token": "x", "team_id": "T0001", "api_app_id": "A0001", "event": event,
            "type": "event_callback", "event_id": format!("Ev{}", self.next), "event_time": 1,
        });
        self.push("events_api", &payload, false);
    }

    pub fn push(&mut self, kind: &str, payload: &Value, answerable: bool) {
        let id = format!("envelope-{}", self.number());
        let envelope = json!({
            "envelope_id": id, "type": kind, "payload": payload, "accepts_response_payload": answerable,
        });
        self.waiting.push(Waiting {
            id,
            envelope,
            socket: None,
            retries: 0,
        });
        self.deliver();
    }

    pub fn repeat_last(&mut self) {
        let mut envelope = self.last.clone().expect("something was acknowledged");
        let id = format!("envelope-{}", self.number());
        envelope["envelope_id"] = json!(id);
        self.waiting.push(Waiting {
            id,
            envelope,
            socket: None,
            retries: 1,
        });
        self.deliver();
    }

    /// Delivers what was held, the newest first.
    pub fn deliver_reversed(&mut self) {
        self.holds = false;
        self.waiting.reverse();
        self.deliver();
    }

    /// Writes what waits to the newest socket.
    fn deliver(&mut self) {
        if self.holds {
            return;
        }
        let newest = self
            .sockets
            .iter()
            .rev()
            .find(|id| self.open.get(id).is_some_and(|socket| socket.ready))
            .copied();
        let Some(id) = newest else {
            if self.forgets {
                self.waiting.clear();
            }
            return;
        };
        for waiting in self.waiting.iter_mut().filter(|one| one.socket.is_none()) {
            waiting.socket = Some(id);
            let mut envelope = waiting.envelope.clone();
            if envelope["type"] == "events_api" {
                envelope["retry_attempt"] = json!(waiting.retries);
                envelope["retry_reason"] = json!(if waiting.retries > 0 { "timeout" } else { "" });
            }
            let _ = self.open[&id]
                .orders
                .send(Order::Text(envelope.to_string()));
        }
    }

    pub fn acknowledged(&mut self, socket: u64, said: &Value) {
        let id = said["envelope_id"].as_str().unwrap_or_default().to_owned();
        let at = self.waiting.iter().position(|waiting| waiting.id == id);
        let Some(at) = at else {
            self.violations
                .push(format!("an unknown envelope was acknowledged: {said}"));
            return;
        };
        let waiting = self.waiting.remove(at);
        if waiting.socket != Some(socket) {
            let what = format!("{id} was acknowledged on another socket than its own");
            self.violations.push(what);
        }
        let payload = said["payload"].clone();
        if !payload.is_null() && waiting.envelope["accepts_response_payload"] != true {
            self.violations.push(format!("{id} takes no answer"));
        }
        self.last = Some(waiting.envelope);
        self.acks.push((id, payload));
    }

    /// Ids of what was not acknowledged.
    pub fn waiting(&self) -> Vec<String> {
        self.waiting
            .iter()
            .map(|waiting| waiting.id.clone())
            .collect()
    }

    // Sockets.

    pub fn socket_opened(&mut self, orders: UnboundedSender<Order>) -> (u64, String) {
        let id = self.number();
        self.open.insert(
            id,
            OpenSocket {
                orders,
                ready: false,
            },
        );
        (id, socket::hello(self.open.len() + self.ghosts))
    }

    pub fn socket_ready(&mut self, id: u64) {
        if let Some(socket) = self.open.get_mut(&id) {
            socket.ready = true;
            self.sockets.push(id);
        }
        self.deliver();
    }

    /// Events that were not acknowledged there come again elsewhere; nothing else does.
    pub fn socket_ended(&mut self, id: u64) {
        self.open.remove(&id);
        self.sockets.retain(|one| *one != id);
        self.waiting
            .retain(|one| one.socket != Some(id) || one.envelope["type"] == "events_api");
        for waiting in self.waiting.iter_mut().filter(|one| one.socket == Some(id)) {
            waiting.socket = None;
            waiting.retries += 1;
        }
        self.deliver();
    }

    pub fn order_all(&mut self, order: &Order) {
        for socket in self.open.values() {
            let _ = socket.orders.send(order.clone());
        }
    }

    pub fn order(&mut self, socket: u64, order: Order) {
        let _ = self.open[&socket].orders.send(order);
    }

    // Files.

    /// A person has a file; what a message says of it.
    pub fn person_has_file(&mut self, name: &str, media_type: &str, content: &[u8]) -> Value {
        let id = format!("F{}", self.number());
        let file = File {
            name: name.to_owned(),
            media_type: media_type.to_owned(),
            content: content.to_vec(),
        };
        self.files.insert(id.clone(), file);
        self.file_json(&id).unwrap()
    }

    pub fn file_json(&self, id: &str) -> Option<Value> {
        let file = self.files.get(id)?;
        Some(json!({
            "id": id, "name": file.name, "title": file.name, "mimetype": file.media_type,
            "size": file.content.len(), "mode": "hosted",
            "url_private": format!("http://{}/files/{id}", self.address),
            "url_private_download": format!("http://{}/files/{id}", self.address),
        }))
    }

    pub fn take_upload(&mut self, id: &str, content: &[u8]) -> bool {
        match self.uploads.get_mut(id) {
            Some((_, length, taken)) if *length == content.len() => {
                *taken = Some(content.to_vec());
                true
            }
            _ => false,
        }
    }
}
