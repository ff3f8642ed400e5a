//! What the fake platform holds: chats, messages, the queue of updates, the ledger.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use crate::support::fake_telegram::methods::Refusal;

/// A way to misbehave, once.
#[derive(Debug, Clone, PartialEq)]
pub enum Fault {
    /// 429 with `retry_after` seconds; not carried out.
    TooMany(u64),
    /// This HTTP status with a description; not carried out.
    Server(u16),
    /// The connection closes after the request was read; not carried out.
    ResetBefore,
    /// Carried out; the connection closes without an answer.
    ResetAfter,
    /// Carried out after this long.
    Slow(Duration),
    /// Carried out; the connection closes in the middle of the answer.
    CutBody,
    /// 409, as if another instance polled.
    Conflict,
    /// Carried out; the answer is no JSON.
    NotJson,
    /// Refused with this code and description.
    Refuse(u16, String),
}

/// A person of the tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    pub id: i64,
    pub first_name: String,
    pub username: Option<String>,
    pub is_bot: bool,
}

impl User {
    pub fn new(id: i64, name: &str) -> Self {
        Self {
            id,
            first_name: name.to_owned(),
            username: Some(name.to_lowercase()),
            is_bot: false,
        }
    }

    pub fn json(&self) -> Value {
        let mut user =
            json!({ "id": self.id, "is_bot": self.is_bot, "first_name": self.first_name });
        if let Some(username) = &self.username {
            user["username"] = json!(username);
        }
        user
    }
}

/// A message of the bot as it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct BotMessage {
    pub chat: i64,
    pub message_id: i64,
    pub thread: Option<i64>,
    /// Visible text.
    pub text: String,
    pub entities: Vec<Value>,
    pub keyboard: Vec<Vec<Value>>,
    pub reply_to: Option<i64>,
    pub edits: u32,
}

impl BotMessage {
    /// Labels of the buttons, row by row.
    pub fn labels(&self) -> Vec<String> {
        self.keyboard
            .iter()
            .flatten()
            .map(|button| button["text"].as_str().unwrap_or_default().to_owned())
            .collect()
    }
}

/// A call and how it ended.
#[derive(Debug, Clone)]
pub struct Entry {
    pub at: Instant,
    pub method: String,
    pub params: Map<String, Value>,
    /// Whether it was carried out.
    pub accepted: bool,
    /// `result`, or the description of the refusal.
    pub result: Value,
}

/// Everything behind the lock.
pub struct State {
    pub token: String,
    pub username: String,
    pub bot_id: i64,
    pub webhook: Option<String>,
    /// What it repeats in each request.
    pub webhook_secret: Option<String>,
    pub commands: Vec<Value>,
    pub messages: Vec<BotMessage>,
    pub ledger: Vec<Entry>,
    /// Requests that no correct client makes.
    pub violations: Vec<String>,
    /// Updates not yet confirmed.
    pub pending: VecDeque<(i64, Value)>,
    /// The id the next update gets.
    pub next_update: i64,
    /// What was last asked for; none = all but the rare ones.
    pub allowed: Option<Vec<String>>,
    pub open_callbacks: HashSet<String>,
    pub topics: HashSet<(i64, i64)>,
    pub blocked: HashSet<i64>,
    pub migrated: HashMap<i64, i64>,
    pub faults: HashMap<String, VecDeque<Fault>>,
    /// Files of people, by `file_id`.
    pub files: HashMap<String, Vec<u8>>,
    /// Rises with every poll, so that an older poll notices a newer one.
    pub poll: u64,
    /// Whether a poll that finds nothing is held; if not, it is answered at once.
    pub holds_polls: bool,
    chats: HashSet<i64>,
    last_message: BTreeMap<i64, i64>,
    foreign_messages: HashSet<(i64, i64)>,
    next_callback: u64,
    now: i64,
}

impl State {
    pub fn new(token: &str) -> Self {
        Self {
            token: token.to_owned(),
            username: "lever_test_bot".to_owned(),
            bot_id: token
                .split(':')
                .next()
                .and_then(|id| id.parse().ok())
                .unwrap_or(1),
            webhook: None,
            webhook_secret: None,
            commands: Vec::new(),
            messages: Vec::new(),
            ledger: Vec::new(),
            violations: Vec::new(),
            pending: VecDeque::new(),
            next_update: 700_000_001,
            allowed: None,
            open_callbacks: HashSet::new(),
            topics: HashSet::new(),
            blocked: HashSet::new(),
            migrated: HashMap::new(),
            faults: HashMap::new(),
            files: HashMap::new(),
            poll: 0,
            holds_polls: true,
            chats: HashSet::new(),
            last_message: BTreeMap::new(),
            foreign_messages: HashSet::new(),
            next_callback: 0,
            now: 1_760_000_000,
        }
    }

    /// Whether the bot may write there: it knows the chat, is not blocked, and the chat did not move.
    pub fn reachable(&self, chat: i64) -> Result<(), Refusal> {
        if let Some(new) = self.migrated.get(&chat) {
            return Err((
                400,
                "Bad Request: group chat was upgraded to a supergroup chat".to_owned(),
                Some(json!({ "migrate_to_chat_id": new })),
            ));
        }
        if self.blocked.contains(&chat) {
            return Err((
                403,
                "Forbidden: bot was blocked by the user".to_owned(),
                None,
            ));
        }
        if !self.chats.contains(&chat) {
            return Err((400, "Bad Request: chat not found".to_owned(), None));
        }
        Ok(())
    }

    pub fn know_chat(&mut self, chat: i64) {
        self.chats.insert(chat);
    }

    pub fn next_message_id(&mut self, chat: i64) -> i64 {
        let id = self.last_message.entry(chat).or_insert(100);
        *id += 1;
        *id
    }

    pub fn has_message(&self, chat: i64, id: i64) -> bool {
        self.foreign_messages.contains(&(chat, id))
            || self
                .messages
                .iter()
                .any(|message| message.chat == chat && message.message_id == id)
    }

    pub fn message_json(&self, message: &BotMessage) -> Value {
        let mut shown = json!({
            "message_id": message.message_id,
            "from": { "id": self.bot_id, "is_bot": true, "first_name": "Lever", "username": self.username },
            "chat": chat_json(message.chat),
            "date": self.now,
            "text": message.text,
        });
        if !message.entities.is_empty() {
            shown["entities"] = json!(message.entities);
        }
        if !message.keyboard.is_empty() {
            shown["reply_markup"] = json!({ "inline_keyboard": message.keyboard });
        }
        if let Some(thread) = message.thread {
            shown["message_thread_id"] = json!(thread);
            shown["is_topic_message"] = json!(true);
        }
        if message.edits > 0 {
            shown["edit_date"] = json!(self.now);
        }
        shown
    }

    /// Queues an update, if its kind was asked for.
    pub fn push(&mut self, mut update: Value) -> i64 {
        let id = self.next_update;
        self.next_update += 1;
        update["update_id"] = json!(id);
        let kind = update
            .as_object()
            .and_then(|fields| fields.keys().find(|key| *key != "update_id").cloned())
            .unwrap_or_default();
        let wanted = self
            .allowed
            .as_ref()
            .is_none_or(|allowed| allowed.is_empty() || allowed.contains(&kind))
            || kind.starts_with("x_");
        if wanted {
            self.pending.push_back((id, update));
        }
        id
    }

    /// A message by a person, merged with `extra`.
    pub fn person_writes(&mut self, chat: i64, user: &User, extra: &Value) -> i64 {
        self.know_chat(chat);
        let message_id = self.next_message_id(chat);
        self.foreign_messages.insert((chat, message_id));
        self.now += 1;
        let mut message = json!({
            "message_id": message_id,
            "from": user.json(),
            "chat": if chat > 0 { private_chat(chat, user) } else { chat_json(chat) },
            "date": self.now,
        });
        if let (Some(fields), Some(more)) = (message.as_object_mut(), extra.as_object()) {
            for (name, value) in more {
                fields.insert(name.clone(), value.clone());
            }
        }
        if let Some(thread) = message["message_thread_id"].as_i64() {
            self.topics.insert((chat, thread));
        }
        self.push(json!({ "message": message }));
        message_id
    }

    /// A press of a button of one of the bot's messages.
    pub fn person_clicks(
        &mut self,
        chat: i64,
        message_id: i64,
        label: &str,
        user: &User,
    ) -> Option<String> {
        let message = self
            .messages
            .iter()
            .find(|message| message.chat == chat && message.message_id == message_id)?
            .clone();
        let data = message
            .keyboard
            .iter()
            .flatten()
            .find(|button| button["text"] == json!(label))?["callback_data"]
            .clone();
        self.next_callback += 1;
        let id = format!("{}", 9_000_000_000_000_000_000_u64 + self.next_callback);
        self.open_callbacks.insert(id.clone());
        let shown = self.message_json(&message);
        self.push(json!({ "callback_query": {
            "id": id, "from": user.json(), "message": shown,
            "chat_instance": "-123456", "data": data,
        }}));
        Some(id)
    }

    /// The updates for a poll, after confirming what its offset confirms.
    pub fn take(&mut self, offset: Option<i64>, limit: usize) -> Vec<Value> {
        match offset {
            // Ids start anew after a quiet week; an offset far beyond them confirms nothing.
            Some(offset) if offset > self.next_update + 10 => {}
            Some(offset) if offset > 0 => self.pending.retain(|(id, _)| *id >= offset),
            Some(offset) if offset < 0 => {
                let keep = offset.unsigned_abs() as usize;
                while self.pending.len() > keep {
                    self.pending.pop_front();
                }
            }
            Some(_) | None => {}
        }
        self.pending
            .iter()
            .take(limit)
            .map(|(_, update)| update.clone())
            .collect()
    }
}

fn private_chat(chat: i64, user: &User) -> Value {
    json!({ "id": chat, "type": "private", "first_name": user.first_name })
}

fn chat_json(chat: i64) -> Value {
    if chat > 0 {
        json!({ "id": chat, "type": "private", "first_name": "Somebody" })
    } else if chat <= -1_000_000_000_000 {
        json!({ "id": chat, "type": "supergroup", "title": "Test supergroup" })
    } else {
        json!({ "id": chat, "type": "group", "title": "Test group" })
    }
}
