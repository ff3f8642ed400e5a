//! From an event of the gateway to what the port takes. Fields are looked up, never required: no shape of an event can
//! fail here.
//!
//! Nothing that the bot did itself becomes an inbound item.

use serde_json::Value;

use crate::channels::discord::fields::{id, int};
use crate::channels::discord::names::Names;
use crate::channels::fields::{has, list_at, text_at};
use crate::channels::intake;
use crate::protocol::bridge::{Inbound, InboundBody, InboundFile, Sender};

/// `message_reference.type` of a forwarded message.
const FORWARD: u64 = 1;

/// Who we are there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Me {
    /// Our id.
    pub id: u64,
    /// Our name.
    pub username: String,
    /// The id of our application.
    pub application: u64,
}

/// What an event brings.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// For the port; without key of the account and without cursor.
    pub inbound: Inbound,
    /// The message it is about.
    pub seen: Option<MessagePlace>,
    /// What is to be acknowledged once it is durable.
    pub interaction: Option<Interaction>,
}

/// A message, for the position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessagePlace {
    /// Its id.
    pub message: u64,
    /// Its channel.
    pub channel: u64,
    /// Whether the channel is a direct one.
    pub is_direct: bool,
}

/// What a person does with a button or a command, and waits for our answer to.
#[derive(Clone, PartialEq, Eq)]
pub struct Interaction {
    /// Its id.
    pub id: u64,
    /// What lets us answer it.
    pub token: String,
    /// The command, if it is one.
    pub command: Option<String>,
}

impl std::fmt::Debug for Interaction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Interaction")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

/// What an event brings; none when it is nothing that came in. `key` names an event that names nothing itself.
pub fn decode(name: &str, data: &Value, me: &Me, names: &Names, key: &str) -> Option<Event> {
    match name {
        "MESSAGE_CREATE" => created(data, me, names, key),
        "MESSAGE_UPDATE" => updated(data, me, names),
        "MESSAGE_DELETE" => {
            let message = id(data, "/id")?;
            let what = "a message was deleted";
            Some(other(format!("delete:{message}"), data, names, what))
        }
        "MESSAGE_DELETE_BULK" => Some(other(
            key.to_owned(),
            data,
            names,
            "several messages were deleted",
        )),
        "INTERACTION_CREATE" => Some(interaction(data, names, key)),
        _ => None,
    }
}

fn created(message: &Value, me: &Me, names: &Names, key: &str) -> Option<Event> {
    let (Some(number), Some(channel)) = (id(message, "/id"), id(message, "/channel_id")) else {
        let what = "a message without id or channel";
        return Some(other(key.to_owned(), message, names, what));
    };
    if id(message, "/author/id") == Some(me.id) {
        return None;
    }
    let is_direct = id(message, "/guild_id").is_none();
    let inbound = Inbound {
        dedupe_key: format!("msg:{number}"),
        cursor: None,
        conversation: channel.to_string(),
        conversation_title: title(message, channel, is_direct, names),
        sender: author(message),
        body: body(message, number, channel, is_direct, me),
        message_ref: Some(number.to_string()),
    };
    Some(Event {
        inbound,
        seen: Some(MessagePlace {
            message: number,
            channel,
            is_direct,
        }),
        interaction: None,
    })
}

/// An edit by a person. Discord sends the same event when it adds a preview of a link.
fn updated(message: &Value, me: &Me, names: &Names) -> Option<Event> {
    let number = id(message, "/id")?;
    let edited = text_at(message, "/edited_timestamp")?;
    if id(message, "/author/id") == Some(me.id) {
        return None;
    }
    // Who edits a message that was answered does not ask again.
    let key = format!("edit:{number}:{edited}");
    Some(other(key, message, names, "an edit of a message"))
}

fn body(message: &Value, number: u64, channel: u64, is_direct: bool, me: &Me) -> InboundBody {
    let kind = message["type"].as_u64().unwrap_or(0);
    // Messages and replies; the others are Discord's own about the channel.
    if !matches!(kind, 0 | 19) {
        return intake::other(format!("a message of kind {kind} about the channel"));
    }
    let forwarded = message
        .pointer("/message_snapshots/0/message")
        .filter(|_| int(message, "/message_reference/type") == Some(FORWARD));
    let said = forwarded.unwrap_or(message);
    let content = text_at(said, "/content").unwrap_or_default();
    let files: Vec<InboundFile> = list_at(said, "/attachments")
        .iter()
        .filter_map(|attachment| file(attachment, number, channel))
        .collect();
    let is_mentioned = list_at(message, "/mentions")
        .iter()
        .any(|user| id(user, "/id") == Some(me.id));
    let addressed = is_direct
        || is_mentioned
        || (kind == 19 && id(message, "/referenced_message/author/id") == Some(me.id));
    if content.is_empty() && files.is_empty() {
        const MEDIA: &[(&str, &str)] = &[
            ("/sticker_items", "a sticker"),
            ("/poll", "a poll"),
            ("/embeds", "an embed"),
            ("/components", "components"),
        ];
        let there = |field: &str| match said.pointer(field) {
            Some(Value::Array(items)) => !items.is_empty(),
            Some(value) => !value.is_null(),
            None => false,
        };
        return match MEDIA.iter().find(|(field, _)| there(field)) {
            Some((_, what)) => InboundBody::Media {
                what: (*what).to_owned(),
                direct: is_direct,
                addressed,
            },
            None => intake::other("a message without text"),
        };
    }
    InboundBody::Text {
        text: readable(content, list_at(said, "/mentions"), me),
        direct: is_direct,
        addressed,
        indirect: forwarded.is_some() || text_at(message, "/edited_timestamp").is_some(),
        files,
        group: None,
    }
}

/// The text with names in place of ids. A mention of us at the start only says whom it is for.
fn readable(content: &str, mentions: &[Value], me: &Me) -> String {
    let mut out = content.trim().to_owned();
    for mark in [format!("<@{}>", me.id), format!("<@!{}>", me.id)] {
        if let Some(rest) = out.strip_prefix(&mark)
            && !rest.trim().is_empty()
        {
            out = rest.trim_start().to_owned();
        }
    }
    for user in mentions.iter().take(50) {
        let (Some(number), Some(name)) = (id(user, "/id"), name(user)) else {
            continue;
        };
        for mark in [format!("<@{number}>"), format!("<@!{number}>")] {
            if out.contains(&mark) {
                out = out.replace(&mark, &format!("@{name}"));
            }
        }
    }
    out
}

fn interaction(data: &Value, names: &Names, key: &str) -> Event {
    let (Some(number), Some(token)) = (id(data, "/id"), text_at(data, "/token")) else {
        return other(key.to_owned(), data, names, "an interaction without id");
    };
    let person = data
        .pointer("/member/user")
        .or_else(|| data.get("user"))
        .filter(|user| !user.is_null());
    let channel = id(data, "/channel_id").or_else(|| id(data, "/channel/id"));
    let is_direct = id(data, "/guild_id").is_none();
    let kind = int(data, "/type");
    let mut written = None;
    let body = match (kind, channel) {
        (Some(2), Some(_)) => match command(data) {
            Some(text) => InboundBody::Text {
                text: written.insert(text).clone(),
                direct: is_direct,
                addressed: true,
                indirect: false,
                files: Vec::new(),
                group: None,
            },
            None => intake::other("a command without a name"),
        },
        (Some(3), Some(_)) => match text_at(data, "/data/custom_id") {
            Some(token) => InboundBody::Click {
                token: token.to_owned(),
            },
            None => intake::other("a click that carries nothing"),
        },
        (Some(kind), _) => intake::other(format!("an interaction of kind {kind}")),
        (None, _) => intake::other("an interaction of no kind"),
    };
    let conversation = channel.map_or_else(String::new, |channel| channel.to_string());
    let inbound = Inbound {
        dedupe_key: format!("interaction:{number}"),
        cursor: None,
        conversation_title: channel.and_then(|channel| names.of(channel)),
        conversation,
        sender: person.and_then(user),
        body,
        message_ref: id(data, "/message/id").map(|id| id.to_string()),
    };
    Event {
        inbound,
        seen: None,
        interaction: Some(Interaction {
            id: number,
            token: token.to_owned(),
            command: written,
        }),
    }
}

/// A command of the menu, as if it had been written; none without a name.
fn command(data: &Value) -> Option<String> {
    let name = text_at(data, "/data/name")?;
    let given = list_at(data, "/data/options")
        .iter()
        .filter_map(|option| text_at(option, "/value"))
        .collect::<Vec<_>>()
        .join(" ");
    Some(format!("/{name} {given}").trim_end().to_owned())
}

fn other(key: String, data: &Value, names: &Names, what: &str) -> Event {
    let channel = id(data, "/channel_id");
    let conversation = channel.map_or_else(String::new, |channel| channel.to_string());
    Event {
        inbound: Inbound {
            conversation_title: channel.and_then(|channel| names.of(channel)),
            ..intake::event(key, conversation, what)
        },
        seen: None,
        interaction: None,
    }
}

/// A file by what finds it again: its address expires.
fn file(attachment: &Value, message: u64, channel: u64) -> Option<InboundFile> {
    let number = id(attachment, "/id")?;
    Some(InboundFile {
        reference: format!("{channel}/{message}/{number}"),
        name: text_at(attachment, "/filename")
            .unwrap_or("file")
            .to_owned(),
        media_type: text_at(attachment, "/content_type").map(|whole| {
            let media_type = whole.split(';').next().unwrap_or(whole);
            media_type.trim().to_owned()
        }),
        size: int(attachment, "/size"),
    })
}

/// Who wrote a message. A webhook names whom it likes, so it names nobody.
fn author(message: &Value) -> Option<Sender> {
    if has(message, "webhook_id") {
        return None;
    }
    message.get("author").and_then(user)
}

fn user(user: &Value) -> Option<Sender> {
    let number = id(user, "/id")?;
    let shown = global_name(user);
    let display = match (shown, text_at(user, "/username")) {
        (Some(name), Some(username)) => format!("{name} (@{username})"),
        (Some(name), None) => name.to_owned(),
        (None, Some(username)) => format!("@{username}"),
        (None, None) => number.to_string(),
    };
    let is = |field| user.get(field).and_then(Value::as_bool) == Some(true);
    Some(Sender {
        id: number.to_string(),
        display,
        // Of a person, Discord says nothing here.
        is_bot: is("bot") || is("system"),
    })
}

fn global_name(user: &Value) -> Option<&str> {
    text_at(user, "/global_name").filter(|name| !name.is_empty())
}

fn name(user: &Value) -> Option<&str> {
    global_name(user).or_else(|| text_at(user, "/username"))
}

fn title(message: &Value, channel: u64, is_direct: bool, names: &Names) -> Option<String> {
    if is_direct {
        return message.get("author").and_then(name).map(str::to_owned);
    }
    names.of(channel)
}
