//! From one update, of whatever shape, to one inbound item.
//!
//! Every update with an `update_id` becomes exactly one [`Inbound`]; no shape of the rest can fail, and
//! nothing here does I/O. Fields are looked up in the raw JSON one by one, because a strict type would
//! let one unknown update stop all others.

use serde_json::Value;

use crate::channels::fields::{has, text_at, word};
use crate::channels::intake;
use crate::channels::telegram::position;
use crate::protocol::bridge::{Inbound, InboundBody, InboundFile, Sender};
use crate::protocol::slash::SlashCommand;

/// Who we are on the platform.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Me {
    /// Numeric id.
    pub id: i64,
    /// Username without `@`, when there is one (bots always have one).
    pub username: String,
}

/// A decoded update.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Update {
    /// Its number.
    pub id: i64,
    /// What it says.
    pub inbound: Inbound,
    /// The click to acknowledge once the item is durable.
    pub callback_id: Option<String>,
}

/// The number of an update.
pub fn number(update: &Value) -> Option<i64> {
    update.get("update_id").and_then(Value::as_i64)
}

/// Decodes an update; none only when it has no `update_id`, so that nothing could ever confirm it.
pub fn decode(update: &Value, me: &Me) -> Option<Update> {
    let id = number(update)?;
    // The id after this one. Not the highest ever seen: after a quiet week ids start anywhere.
    let cursor = Some(position::cursor(me.id, id.saturating_add(1)));
    let mut callback_id = None;
    let mut inbound = if let Some(message) = update.get("message") {
        from_message(id, message, me, Edition::First)
    } else if let Some(message) = update.get("edited_message") {
        from_message(id, message, me, Edition::Later)
    } else if let Some(callback) = update.get("callback_query") {
        callback_id = text_at(callback, "/id").map(str::to_owned);
        from_callback(id, callback)
    } else if let Some(member) = update.get("my_chat_member") {
        other(
            id,
            member.get("chat"),
            format!(
                "our membership changed to `{}`",
                word(text_at(member, "/new_chat_member/status").unwrap_or("unknown"))
            ),
        )
    } else {
        let kind = update
            .as_object()
            .and_then(|fields| fields.keys().find(|key| *key != "update_id"))
            .map_or("empty", String::as_str);
        other(id, None, format!("an update of kind `{}`", word(kind)))
    };
    inbound.cursor = cursor;
    Some(Update {
        id,
        inbound,
        callback_id,
    })
}

/// Which version of a message an update carries.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Edition {
    First,
    Later,
}

fn from_message(update_id: i64, message: &Value, me: &Me, edition: Edition) -> Inbound {
    let (Some(chat), Some(message_id)) =
        (int_at(message, "/chat/id"), int_at(message, "/message_id"))
    else {
        let what = "a message without chat or id";
        return other(update_id, message.get("chat"), what);
    };
    let dedupe_key = match edition {
        Edition::First => format!("msg:{chat}:{message_id}"),
        Edition::Later => format!(
            "edit:{chat}:{message_id}:{}",
            int_at(message, "/edit_date").unwrap_or(update_id)
        ),
    };
    let direct = text_at(message, "/chat/type") == Some("private");
    let (text, entities) = match text_at(message, "/text") {
        Some(text) => (Some(text), message.get("entities")),
        None => (
            text_at(message, "/caption"),
            message.get("caption_entities"),
        ),
    };
    let text = text.unwrap_or_default();
    let files: Vec<InboundFile> = file(message).into_iter().collect();
    let body = match command(text, me) {
        // Who edits a message that was answered does not ask again.
        _ if edition == Edition::Later => intake::other("an edit of a message"),
        _ if text.is_empty() && files.is_empty() => without_text(message, me, direct),
        Command::ForOthers => intake::other("a command for another bot"),
        command => {
            let (text, ours) = match command {
                Command::None | Command::ForOthers => (text.to_owned(), false),
                Command::Ours { normalised, ours } => (normalised, ours),
            };
            InboundBody::Text {
                direct,
                addressed: direct
                    || ours
                    || mentions(&text, entities, me)
                    || int_at(message, "/reply_to_message/from/id") == Some(me.id),
                text,
                indirect: is_indirect(message, edition),
                files,
                group: text_at(message, "/media_group_id").map(str::to_owned),
            }
        }
    };
    Inbound {
        dedupe_key,
        cursor: None,
        conversation: conversation(chat, message),
        conversation_title: title(message.get("chat")),
        sender: sender(message),
        body,
        message_ref: Some(message_id.to_string()),
    }
}

fn from_callback(update_id: i64, callback: &Value) -> Inbound {
    let Some(callback_id) = text_at(callback, "/id") else {
        return other(update_id, None, "a click without id");
    };
    let message = callback.get("message").unwrap_or(&Value::Null);
    let chat = int_at(message, "/chat/id");
    let body = match (text_at(callback, "/data"), chat) {
        (Some(token), Some(_)) => InboundBody::Click {
            token: token.to_owned(),
        },
        (None, _) => intake::other("a click that carries nothing"),
        (Some(_), None) => intake::other("a click on a message outside any chat"),
    };
    Inbound {
        dedupe_key: format!("cb:{callback_id}"),
        cursor: None,
        conversation: chat.map_or_else(String::new, |chat| conversation(chat, message)),
        conversation_title: title(message.get("chat")),
        sender: person(callback.get("from")),
        body,
        message_ref: int_at(message, "/message_id").map(|id| id.to_string()),
    }
}

fn other(update_id: i64, chat: Option<&Value>, what: impl Into<String>) -> Inbound {
    let id = chat.and_then(|chat| int_at(chat, "/id"));
    let conversation = id.map_or_else(String::new, |id| id.to_string());
    Inbound {
        conversation_title: title(chat),
        ..intake::event(format!("update:{update_id}"), conversation, what)
    }
}

/// `chat` or `chat/thread`. A thread id counts only in forums; elsewhere it merely names a reply chain.
fn conversation(chat: i64, message: &Value) -> String {
    match int_at(message, "/message_thread_id") {
        Some(thread) if message.get("is_topic_message").and_then(Value::as_bool) == Some(true) => {
            format!("{chat}/{thread}")
        }
        Some(_) | None => chat.to_string(),
    }
}

/// The chat and thread of a conversation key; none when it is not one of ours.
pub fn parse_conversation(key: &str) -> Option<(i64, Option<i64>)> {
    match key.split_once('/') {
        Some((chat, thread)) => Some((chat.parse().ok()?, Some(thread.parse().ok()?))),
        None => Some((key.parse().ok()?, None)),
    }
}

/// The sender, unless the platform put somebody else's mask in its place: with `sender_chat` the `from`
/// is a shared placeholder (an anonymous group administrator, a channel), which identifies nobody.
fn sender(message: &Value) -> Option<Sender> {
    if has(message, "sender_chat") {
        return None;
    }
    person(message.get("from"))
}

fn person(user: Option<&Value>) -> Option<Sender> {
    let user = user?;
    let id = int_at(user, "/id")?;
    let name = full_name(user);
    let display = match (name.is_empty(), text_at(user, "/username")) {
        (false, Some(username)) => format!("{name} (@{username})"),
        (true, Some(username)) => format!("@{username}"),
        (false, None) => name,
        (true, None) => id.to_string(),
    };
    Some(Sender {
        id: id.to_string(),
        display,
        // Not said = treated as a bot, which decides nothing.
        is_bot: user.get("is_bot").and_then(Value::as_bool).unwrap_or(true),
    })
}

fn full_name(person: &Value) -> String {
    let part = |field| text_at(person, field).unwrap_or_default();
    let name = format!("{} {}", part("/first_name"), part("/last_name"));
    name.trim().to_owned()
}

fn title(chat: Option<&Value>) -> Option<String> {
    let chat = chat?;
    if let Some(title) = text_at(chat, "/title") {
        return Some(title.to_owned());
    }
    let name = full_name(chat);
    if name.is_empty() {
        text_at(chat, "/username").map(|username| format!("@{username}"))
    } else {
        Some(name)
    }
}

/// Words that are somebody else's, or not what was first said: they may ask, never decide.
fn is_indirect(message: &Value, edition: Edition) -> bool {
    const MARKS: &[&str] = &[
        "forward_origin",
        "forward_date",
        "forward_from",
        "forward_from_chat",
        "forward_sender_name",
        "quote",
        "external_reply",
        "via_bot",
        "story",
        "sender_business_bot",
    ];
    edition == Edition::Later
        || has(message, "edit_date")
        || MARKS.iter().any(|mark| has(message, mark))
}

/// What a text that begins with `/` is.
enum Command {
    /// No command.
    None,
    /// `/name` or `/name@us`, without our name in it.
    Ours {
        normalised: String,
        /// Whether it is certainly meant for us: named us, or is one of our commands.
        ours: bool,
    },
    /// `/name@somebody_else`.
    ForOthers,
}

fn command(text: &str, me: &Me) -> Command {
    let Some(rest) = text.strip_prefix('/') else {
        return Command::None;
    };
    let word_end = rest.find(char::is_whitespace).unwrap_or(rest.len());
    let (word, arguments) = rest.split_at(word_end);
    let (name, addressee) = match word.split_once('@') {
        Some((name, addressee)) => (name, Some(addressee)),
        None => (word, None),
    };
    let is_name = |part: &str| {
        (1..=64).contains(&part.len())
            && part
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    if !is_name(name) || !addressee.is_none_or(is_name) {
        return Command::None;
    }
    match addressee {
        Some(addressee) if !addressee.eq_ignore_ascii_case(&me.username) => Command::ForOthers,
        Some(_) => Command::Ours {
            normalised: format!("/{name}{arguments}"),
            ours: true,
        },
        None => Command::Ours {
            normalised: text.to_owned(),
            ours: SlashCommand::named(name).is_some(),
        },
    }
}

/// Whether an entity of the text mentions us. Entities, not text: `foo@ourbot.example` is no mention.
fn mentions(text: &str, entities: Option<&Value>, me: &Me) -> bool {
    let Some(entities) = entities.and_then(Value::as_array) else {
        return false;
    };
    let mut units: Option<Vec<u16>> = None;
    entities
        .iter()
        .any(|entity| match text_at(entity, "/type") {
            Some("text_mention") => int_at(entity, "/user/id") == Some(me.id),
            Some("mention") => {
                let (Some(offset), Some(length)) = (
                    int_at(entity, "/offset").and_then(|at| usize::try_from(at).ok()),
                    int_at(entity, "/length").and_then(|at| usize::try_from(at).ok()),
                ) else {
                    return false;
                };
                let units = units.get_or_insert_with(|| text.encode_utf16().collect());
                offset
                    .checked_add(length)
                    .and_then(|end| units.get(offset..end))
                    .map(String::from_utf16_lossy)
                    .is_some_and(|name| {
                        name.strip_prefix('@')
                            .is_some_and(|name| name.eq_ignore_ascii_case(&me.username))
                    })
            }
            Some(_) | None => false,
        })
}

/// The file of a message. A message has one at most; of a photo, the platform keeps several sizes.
fn file(message: &Value) -> Option<InboundFile> {
    // An animation comes as a document too.
    const FILES: &[(&str, &str, &str)] = &[
        ("photo", "photo.jpg", "image/jpeg"),
        ("voice", "voice.ogg", "audio/ogg"),
        ("audio", "audio.mp3", "audio/mpeg"),
        ("animation", "animation.mp4", "video/mp4"),
        ("video", "video.mp4", "video/mp4"),
        ("video_note", "video.mp4", "video/mp4"),
        ("document", "file", "application/octet-stream"),
    ];
    let pixels = |size: &&Value| {
        let side = |name| int_at(size, name).unwrap_or(0);
        side("/width").saturating_mul(side("/height"))
    };
    FILES.iter().find_map(|(field, name, media_type)| {
        let field = message.get(field)?;
        let file = match field.as_array() {
            Some(sizes) => sizes.iter().max_by_key(pixels)?,
            None => field,
        };
        Some(InboundFile {
            reference: text_at(file, "/file_id")?.to_owned(),
            name: text_at(file, "/file_name").unwrap_or(name).to_owned(),
            media_type: Some(text_at(file, "/mime_type").unwrap_or(media_type).to_owned()),
            size: int_at(file, "/file_size").and_then(|size| u64::try_from(size).ok()),
        })
    })
}

/// A message without text and file: what a person sent, or what the platform says of the chat.
fn without_text(message: &Value, me: &Me, direct: bool) -> InboundBody {
    const MEDIA: &[(&str, &str)] = &[
        ("sticker", "a sticker"),
        ("location", "a location"),
        ("venue", "a place"),
        ("contact", "a contact"),
        ("poll", "a poll"),
        ("dice", "a die"),
    ];
    match MEDIA.iter().find(|(field, _)| has(message, field)) {
        Some((_, what)) => InboundBody::Media {
            what: (*what).to_owned(),
            direct,
            addressed: int_at(message, "/reply_to_message/from/id") == Some(me.id),
        },
        None => intake::other(what_without_text(message)),
    }
}

/// What a message of the platform about the chat is, for the record.
fn what_without_text(message: &Value) -> String {
    if let Some(new_id) = int_at(message, "/migrate_to_chat_id") {
        return format!(
            "the group became a supergroup with the id {new_id}; a list that names the old id needs the new one"
        );
    }
    if let Some(old_id) = int_at(message, "/migrate_from_chat_id") {
        return format!("this supergroup was the group {old_id}");
    }
    const KINDS: &[(&str, &str)] = &[
        ("new_chat_members", "somebody joined"),
        ("left_chat_member", "somebody left"),
        ("new_chat_title", "the chat has a new title"),
        ("pinned_message", "a message was pinned"),
        ("group_chat_created", "a group was made"),
        ("supergroup_chat_created", "a supergroup was made"),
        ("forum_topic_created", "a topic was made"),
        ("forum_topic_closed", "a topic was closed"),
    ];
    KINDS
        .iter()
        .find(|(field, _)| has(message, field))
        .map_or_else(
            || "a message without text".to_owned(),
            |(_, words)| (*words).to_owned(),
        )
}

fn int_at(value: &Value, pointer: &str) -> Option<i64> {
    value.pointer(pointer).and_then(Value::as_i64)
}
