//! What the fake platform holds: channels, messages, sessions of the gateway, the ledger.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// The one server there is.
pub const GUILD: u64 = 900_000_000_000_000_001;
/// Ids are times, as the real ones: a millisecond apart.
const MILLISECOND: u64 = 1 << 22;
/// `intents` bits.
const GUILD_MESSAGES: u64 = 1 << 9;
const DIRECT_MESSAGES: u64 = 1 << 12;
const MESSAGE_CONTENT: u64 = 1 << 15;

/// A way to misbehave, once.
#[derive(Debug, Clone, PartialEq)]
pub enum Fault {
    /// 429 with this rest in seconds, for the route or for everything; not carried out.
    TooMany(f64, bool),
    /// 429 of the network before Discord, without JSON; not carried out.
    Cloudflare(u64),
    /// This HTTP status; not carried out.
    Server(u16),
    /// The connection closes after the request was read; not carried out.
    ResetBefore,
    /// Carried out; the connection closes without an answer.
    ResetAfter,
    /// Carried out after this long.
    Slow(Duration),
    /// Carried out; the connection closes in the middle of the answer.
    CutBody,
    /// Carried out; the answer is no JSON.
    NotJson,
    /// Refused with this status, number and description.
    Refuse(u16, u64, String),
}

/// What the gateway does to the connection that is open.
#[derive(Debug, Clone, PartialEq)]
pub enum Order {
    /// Closes it with this code.
    Close(u16),
    /// Drops it without a word.
    Drop,
    /// Sends this payload.
    Say(Value),
    /// Gives the session up and says so.
    Invalidate,
}

/// A person of the tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    pub id: u64,
    pub name: String,
    pub bot: bool,
}

impl User {
    pub fn new(id: u64, name: &str) -> Self {
        Self {
            id,
            name: name.to_owned(),
            bot: false,
        }
    }

    pub fn json(&self) -> Value {
        let mut user = json!({
            "id": self.id.to_string(), "username": self.name.to_lowercase(), "global_name": self.name,
            "discriminator": "0", "avatar": null,
        });
        if self.bot {
            user["bot"] = json!(true);
        }
        user
    }
}

/// A call and how it ended.
#[derive(Debug, Clone)]
pub struct Entry {
    /// `send`, `edit`, `me`.
    pub route: String,
    pub path: String,
    pub body: Value,
    pub status: u16,
    pub result: Value,
}

/// A session of the gateway.
#[derive(Debug, Default)]
pub struct Session {
    pub seq: u64,
    /// What happened and was not acknowledged.
    pub events: Vec<(u64, Value)>,
    pub intents: u64,
    /// The highest number that a heartbeat told.
    pub acknowledged: u64,
    /// The connection that has it.
    pub connection: u64,
}

/// A message as it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    pub id: u64,
    pub channel: u64,
    pub json: Value,
    pub edits: u32,
    pub deleted: bool,
    pub by_bot: bool,
}

impl Message {
    /// Its text, wherever it stands.
    pub fn text(&self) -> String {
        let content = self.json["content"].as_str().unwrap_or_default();
        let mut text = content.to_owned();
        for component in self.json["components"].as_array().into_iter().flatten() {
            if let Some(shown) = component["content"].as_str() {
                text.push_str(shown);
            }
        }
        text
    }

    /// Its buttons: label and token.
    pub fn buttons(&self) -> Vec<(String, String)> {
        let rows = self.json["components"].as_array().into_iter().flatten();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        rows.flat_map(|row| row["components"].as_array().into_iter().flatten())
            .map(|button| (text(&button["label"]), text(&button["custom_id"])))
            .collect()
    }

    pub fn labels(&self) -> Vec<String> {
        self.buttons().into_iter().map(|(label, _)| label).collect()
    }
}

/// Something a person did that waits for an answer.
#[derive(Debug, Clone)]
pub struct Interaction {
    pub token: String,
    pub at: Instant,
    pub answer: Option<Value>,
}

/// Everything behind the lock.
pub struct State {
    pub token: String,
    pub bot: User,
    pub application: u64,
    /// Whether the application may read what people write.
    pub message_content: bool,
    /// Name of a channel, and whether it is in the server.
    pub channels: BTreeMap<u64, (String, bool)>,
    pub messages: Vec<Message>,
    /// Servers without a channel, with smaller ids than the one that has some.
    pub empty_servers: u64,
    /// A channel whose history fails at every call.
    pub broken: Option<u64>,
    /// Servers of one answer.
    pub servers_page: usize,
    pub ledger: Vec<Entry>,
    /// Requests that no correct client makes.
    pub violations: Vec<String>,
    /// Messages by their key.
    pub nonces: HashMap<String, u64>,
    pub commands: Vec<Value>,
    pub sessions: BTreeMap<String, Session>,
    pub faults: HashMap<String, VecDeque<Fault>>,
    pub orders: VecDeque<Order>,
    /// When somebody connected.
    pub connections: Vec<Instant>,
    pub identified: u32,
    /// Sessions and numbers that somebody went on with.
    pub resumed: Vec<(String, u64)>,
    pub heartbeats: u32,
    /// Connections that the platform recommends.
    pub shards: u64,
    pub starts_left: u64,
    pub starts_reset_ms: u64,
    pub heartbeat_ms: u64,
    /// Whether heartbeats are answered.
    pub answers_heartbeats: bool,
    /// What happens to whoever connects: closed with this code at once.
    pub closes_with: Option<u16>,
    /// Sends that a channel takes in this time.
    pub send_limit: (u32, Duration),
    pub interactions: HashMap<u64, Interaction>,
    pub files: HashMap<u64, Vec<u8>>,
    /// People that the bot may write to.
    pub people: BTreeSet<u64>,
    pub url: String,
    pub(super) sends: HashMap<u64, VecDeque<Instant>>,
    next: u64,
}

impl State {
    pub fn new(token: &str, url: &str) -> Self {
        let mut bot = User::new(800_000_000_000_000_001, "Lever");
        bot.bot = true;
        Self {
            token: token.to_owned(),
            bot,
            application: 700_000_000_000_000_001,
            message_content: true,
            channels: BTreeMap::new(),
            messages: Vec::new(),
            empty_servers: 0,
            servers_page: 200,
            broken: None,
            ledger: Vec::new(),
            violations: Vec::new(),
            nonces: HashMap::new(),
            commands: Vec::new(),
            sessions: BTreeMap::new(),
            faults: HashMap::new(),
            orders: VecDeque::new(),
            connections: Vec::new(),
            identified: 0,
            resumed: Vec::new(),
            heartbeats: 0,
            shards: 1,
            starts_left: 1_000,
            starts_reset_ms: 86_400_000,
            heartbeat_ms: 41_250,
            answers_heartbeats: true,
            closes_with: None,
            send_limit: (1_000, Duration::from_secs(1)),
            interactions: HashMap::new(),
            files: HashMap::new(),
            people: BTreeSet::new(),
            url: url.to_owned(),
            sends: HashMap::new(),
            next: 1_300_000_000_000_000_000,
        }
    }

    pub fn next_id(&mut self) -> u64 {
        self.next += MILLISECOND;
        self.next
    }

    /// A channel of the server.
    pub fn know_channel(&mut self, channel: u64, name: &str) {
        self.channels.insert(channel, (name.to_owned(), true));
    }

    /// The direct channel with a person.
    pub fn direct_of(person: u64) -> u64 {
        person + 500_000
    }

    /// A direct channel.
    pub fn know_direct(&mut self, channel: u64) {
        self.channels.insert(channel, (String::new(), false));
    }

    pub fn is_direct(&self, channel: u64) -> bool {
        self.channels
            .get(&channel)
            .is_none_or(|(_, in_server)| !in_server)
    }

    /// Tells every session that asked for it.
    pub fn push(&mut self, name: &str, data: &Value) {
        let is_message = name.starts_with("MESSAGE_");
        let is_direct = is_message && data["guild_id"].is_null();
        let is_ours = data["author"]["id"] == json!(self.bot.id.to_string());
        let mentions = data["mentions"].as_array().into_iter().flatten();
        let for_us = mentions
            .clone()
            .any(|user| user["id"] == json!(self.bot.id.to_string()));
        for session in self.sessions.values_mut() {
            let wanted = match (is_message, is_direct) {
                (false, _) => u64::MAX,
                (true, true) => DIRECT_MESSAGES,
                (true, false) => GUILD_MESSAGES,
            };
            if session.intents & wanted == 0 {
                continue;
            }
            session.seq += 1;
            let mut data = data.clone();
            let sees = session.intents & MESSAGE_CONTENT != 0 || is_direct || is_ours || for_us;
            if is_message && !sees && data.get("content").is_some() {
                data["content"] = json!("");
                data["attachments"] = json!([]);
                data["components"] = json!([]);
            }
            let event = json!({ "op": 0, "s": session.seq, "t": name, "d": data });
            session.events.push((session.seq, event));
        }
    }

    /// A message of somebody with these further fields. Mentions follow from the text.
    pub fn message(&mut self, channel: u64, author: &User, extra: &Value) -> Message {
        if !self.channels.contains_key(&channel) {
            self.know_channel(channel, "general");
        }
        let id = self.next_id();
        let text = extra["content"].as_str().unwrap_or_default();
        let mut mentions = Vec::new();
        if text.contains(&format!("<@{}>", self.bot.id)) {
            mentions.push(self.bot.json());
        }
        let mut message = json!({
            "id": id.to_string(), "channel_id": channel.to_string(), "type": 0, "content": "",
            "author": author.json(), "timestamp": "2026-11-26T09:00:00.000000+00:00",
            "edited_timestamp": null, "tts": false, "mention_everyone": false, "mentions": mentions,
            "mention_roles": [], "attachments": [], "embeds": [], "components": [], "pinned": false, "flags": 0,
        });
        if let (Some(fields), Some(more)) = (message.as_object_mut(), extra.as_object()) {
            for (name, value) in more {
                fields.insert(name.clone(), value.clone());
            }
        }
        let message = Message {
            id,
            channel,
            json: message,
            edits: 0,
            deleted: false,
            by_bot: author.id == self.bot.id,
        };
        self.messages.push(message.clone());
        message
    }

    /// A message as an event has it.
    pub fn event_of(&self, message: &Message) -> Value {
        let mut event = message.json.clone();
        if !self.is_direct(message.channel) {
            event["guild_id"] = json!(GUILD.to_string());
            event["member"] = json!({
                "roles": [], "joined_at": "2026-01-01T00:00:00+00:00", "deaf": false, "mute": false, "flags": 0,
            });
        }
        event
    }

    /// A person does something that waits for an answer.
    pub fn interact(&mut self, kind: u64, channel: u64, user: &User, rest: &Value) -> u64 {
        let id = self.next_id();
        let token = format!("interaction-token-{id}");
        let mut event = json!({
            "id": id.to_string(), "application_id": self.application.to_string(), "type": kind, "token": token,
            "channel_id": channel.to_string(), "version": 1, "locale": "en-US", "entitlements": [],
            "authorizing_integration_owners": {}, "attachment_size_limit": 10_485_760,
            "channel": { "id": channel.to_string(), "type": 0, "name": "general", "permissions": "0" },
        });
        if self.is_direct(channel) {
            event["user"] = user.json();
            event["channel"]["type"] = json!(1);
        } else {
            event["guild_id"] = json!(GUILD.to_string());
            event["app_permissions"] = json!("0");
            event["member"] = json!({
                "user": user.json(), "roles": [], "joined_at": "2026-01-01T00:00:00+00:00", "deaf": false,
                "mute": false, "flags": 0, "permissions": "0",
            });
        }
        if let (Some(fields), Some(more)) = (event.as_object_mut(), rest.as_object()) {
            for (name, value) in more {
                fields.insert(name.clone(), value.clone());
            }
        }
        self.interactions.insert(
            id,
            Interaction {
                token,
                at: Instant::now(),
                answer: None,
            },
        );
        self.push("INTERACTION_CREATE", &event);
        id
    }

    /// What the gateway says of the server.
    pub fn guild(&self) -> Value {
        let channels: Vec<Value> = self.guild_channels();
        json!({
            "id": GUILD.to_string(), "name": "Test server", "owner_id": "1", "member_count": 3, "channels": channels,
            "threads": [], "members": [], "roles": [{
                "id": GUILD.to_string(), "name": "@everyone", "color": 0, "hoist": false, "position": 0,
                "permissions": "0", "managed": false, "mentionable": false, "flags": 0,
            }],
            "emojis": [], "stickers": [], "features": [], "voice_states": [], "presences": [],
            "stage_instances": [], "guild_scheduled_events": [], "joined_at": "2026-01-01T00:00:00+00:00",
            "verification_level": 0, "default_message_notifications": 0, "explicit_content_filter": 0,
            "mfa_level": 0, "premium_tier": 0, "nsfw_level": 0, "preferred_locale": "en-US", "afk_timeout": 60,
            "system_channel_flags": 0, "premium_progress_bar_enabled": false, "large": false, "unavailable": false,
            "soundboard_sounds": [],
        })
    }

    pub fn guild_channels(&self) -> Vec<Value> {
        let newest = |channel: u64| {
            let of = self
                .messages
                .iter()
                .filter(|message| message.channel == channel);
            of.map(|message| message.id).max()
        };
        self.channels
            .iter()
            .filter(|(_, (_, in_server))| *in_server)
            .map(|(id, (name, _))| {
                json!({
                    "id": id.to_string(), "type": 0, "name": name, "position": 0, "permission_overwrites": [],
                    "guild_id": GUILD.to_string(), "flags": 0,
                    "last_message_id": newest(*id).map(|id| id.to_string()),
                })
            })
            .collect()
    }
}
