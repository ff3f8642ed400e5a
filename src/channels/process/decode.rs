//! From one line of a program, of whatever bytes, to what it says.
//!
//! No line can fail: an invalid one is reported as invalid, and an item with a key is recorded, so that its cursor
//! moves.

use serde_json::Value;

use crate::channels::intake;
use crate::channels::process::wire::{
    Capabilities, Idempotency, Item, ItemSender, MAX_KEY, Message, ProgramMessage,
};
use crate::protocol::bridge::{Inbound, InboundBody, InboundFile, Sender, escape_conversation};
use crate::protocol::channel::{ChannelCapabilities, SendIdempotency};
use crate::text::untrusted::limit_line;

/// Cells of a line that an error shows.
const SHOWN: usize = 120;
/// The shortest `max_length` that texts can be cut to.
const LEAST_LENGTH: usize = 64;

/// What a line is.
#[derive(Debug, Clone, PartialEq)]
pub enum Line {
    /// A message of the protocol.
    Message(Box<ProgramMessage>),
    /// A type that nobody here knows. It is passed over: a newer program may have said it.
    Unknown(String),
    /// Something else, and why.
    Unfit {
        /// What is wrong and what to do.
        why: String,
        /// Key and cursor, where it is an item with a key.
        item: Option<(String, Option<String>)>,
    },
    /// Nothing.
    Blank,
}

/// Decodes a line without its end.
pub fn line(bytes: &[u8]) -> Line {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Line::Blank;
    }
    let unfit = |why: String| Line::Unfit { why, item: None };
    let value: Value = match serde_json::from_slice(bytes) {
        Ok(value) => value,
        Err(error) => {
            let shown = limit_line(&String::from_utf8_lossy(bytes), SHOWN);
            return unfit(format!(
                "a line of its standard output is no JSON ({error}): `{shown}`; a program writes for people to standard error"
            ));
        }
    };
    let text = |name: &str| value.get(name).and_then(Value::as_str);
    let Some(kind) = text("type") else {
        return unfit("a line has no `type`".to_owned());
    };
    let kind = limit_line(kind, 40);
    let key = text("key").filter(|key| is_key(key)).map(str::to_owned);
    let cursor = text("cursor").filter(|cursor| cursor.len() <= MAX_KEY);
    let item = key.map(|key| (key, cursor.map(str::to_owned)));
    match serde_json::from_value::<ProgramMessage>(value) {
        Ok(message) => match problem_of(&message) {
            Some(problem) => Line::Unfit {
                why: format!("a `{kind}` is not used: {problem}"),
                item,
            },
            None => Line::Message(Box::new(message)),
        },
        Err(error) => {
            let error = error.to_string();
            if error.starts_with("unknown variant") && error.contains("expected one of `hello`") {
                return Line::Unknown(kind);
            }
            Line::Unfit {
                why: format!("a `{kind}` is not used: {}", limit_line(&error, SHOWN)),
                item,
            }
        }
    }
}

fn is_key(key: &str) -> bool {
    (1..=MAX_KEY).contains(&key.len())
}

fn problem_of(message: &ProgramMessage) -> Option<String> {
    let of_key = |key: &str, cursor: &Option<String>| {
        if !is_key(key) {
            return Some(format!("its `key` needs 1 to {MAX_KEY} bytes"));
        }
        let too_long = |cursor: &String| cursor.len() > MAX_KEY;
        (cursor.as_ref().is_some_and(too_long))
            .then(|| format!("its `cursor` has more than {MAX_KEY} bytes"))
    };
    let of_item = |item: &Item| {
        let empty = item.conversation.is_empty() || item.conversation.len() > MAX_KEY;
        of_key(&item.key, &item.cursor)
            .or_else(|| empty.then(|| format!("its `conversation` needs 1 to {MAX_KEY} bytes")))
    };
    match message {
        ProgramMessage::Message(message) => of_item(&message.item),
        ProgramMessage::Click { item, .. } => of_item(item),
        ProgramMessage::Other { key, cursor, .. } => of_key(key, cursor),
        ProgramMessage::Hello(hello) => {
            if hello.account.id.is_empty() {
                return Some("its `account` has no `id`".to_owned());
            }
            let short = hello.capabilities.max_length < LEAST_LENGTH;
            short.then(|| format!("its `max_length` is below {LEAST_LENGTH}"))
        }
        ProgramMessage::Sent { .. }
        | ProgramMessage::Failed { .. }
        | ProgramMessage::Retry { .. }
        | ProgramMessage::Unknown { .. }
        | ProgramMessage::NotSent { .. }
        | ProgramMessage::Fetched { .. }
        | ProgramMessage::Health { .. }
        | ProgramMessage::Pong { .. } => None,
    }
}

/// An item as the engine takes it, and its key as the program knows it; none = the message is no item.
pub fn inbound(account: &str, message: ProgramMessage) -> Option<(String, Inbound)> {
    match message {
        ProgramMessage::Message(Message {
            item,
            text,
            direct,
            addressed,
            indirect,
            files,
            group,
        }) => {
            let files: Vec<InboundFile> = files
                .into_iter()
                .map(|file| InboundFile {
                    name: if file.name.is_empty() {
                        "file".to_owned()
                    } else {
                        file.name
                    },
                    reference: file.reference,
                    media_type: file.media_type,
                    size: file.size,
                })
                .collect();
            let addressed = addressed || direct;
            let body = if text.is_empty() && files.is_empty() {
                InboundBody::Media {
                    what: "a message without text".to_owned(),
                    direct,
                    addressed,
                }
            } else {
                InboundBody::Text {
                    text,
                    direct,
                    addressed,
                    indirect,
                    files,
                    group,
                }
            };
            Some(of_item(account, item, body))
        }
        ProgramMessage::Click { item, token } => {
            Some(of_item(account, item, InboundBody::Click { token }))
        }
        ProgramMessage::Other { key, cursor, what } => {
            let what = if what.is_empty() {
                "something that is no message".to_owned()
            } else {
                limit_line(&what, SHOWN)
            };
            Some(other(account, key, cursor, what))
        }
        ProgramMessage::Hello(_)
        | ProgramMessage::Sent { .. }
        | ProgramMessage::Failed { .. }
        | ProgramMessage::Retry { .. }
        | ProgramMessage::Unknown { .. }
        | ProgramMessage::NotSent { .. }
        | ProgramMessage::Fetched { .. }
        | ProgramMessage::Health { .. }
        | ProgramMessage::Pong { .. } => None,
    }
}

/// An item that is only recorded.
pub fn other(account: &str, key: String, at: Option<String>, what: String) -> (String, Inbound) {
    let inbound = Inbound {
        cursor: at.map(|at| cursor(account, &at)),
        ..intake::event(key.clone(), "", what)
    };
    (key, inbound)
}

fn of_item(account: &str, item: Item, body: InboundBody) -> (String, Inbound) {
    let person = |sender: ItemSender| Sender {
        display: if sender.display.is_empty() {
            sender.id.clone()
        } else {
            sender.display
        },
        id: sender.id,
        is_bot: sender.bot,
    };
    let inbound = Inbound {
        dedupe_key: item.key.clone(),
        cursor: item.cursor.map(|at| cursor(account, &at)),
        // IRC begins names with `#`.
        conversation: escape_conversation(&item.conversation),
        conversation_title: item.title.or_else(|| Some(item.conversation.clone())),
        sender: item
            .sender
            .filter(|sender| !sender.id.is_empty())
            .map(person),
        body,
        message_ref: item.message_ref,
    };
    (item.key, inbound)
}

/// A position, which counts for its own account only.
fn cursor(account: &str, position: &str) -> String {
    Value::from(vec![account, position]).to_string()
}

/// The program's position in a stored cursor; none = it is of another account.
pub fn position(stored: Option<&str>, account: &str) -> Option<String> {
    let (of, position): (String, String) = serde_json::from_str(stored?).ok()?;
    (of == account).then_some(position)
}

/// What the engine is told of a platform.
pub fn capabilities(said: &Capabilities) -> ChannelCapabilities {
    ChannelCapabilities {
        max_length: said.max_length,
        unit: said.unit,
        edits: said.edits,
        buttons: said.buttons,
        typing: said.typing,
        idempotency: match said.idempotency {
            Idempotency::NativeKey => SendIdempotency::NativeKey {
                window_ms: said.key_window_ms,
            },
            Idempotency::Reconcile => SendIdempotency::Reconcile,
            Idempotency::None => SendIdempotency::None,
        },
    }
}
