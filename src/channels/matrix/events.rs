//! From one event, of whatever shape, to at most one inbound item.
//!
//! No shape can fail, and nothing here does I/O. Fields are looked up in the raw JSON one by one. What we wrote
//! ourselves never becomes an item.

use serde_json::Value;

use crate::channels::intake::{self, other};
use crate::channels::matrix::content::CARD_FIELD;
use crate::protocol::bridge::{Inbound, InboundBody, InboundFile, Sender};
use crate::protocol::slash::SlashCommand;

/// Who we are at the homeserver.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Me {
    /// `@name:server`.
    pub user: String,
    /// What people see.
    pub display: Option<String>,
}

/// What is known around an event.
#[derive(Debug, Clone, Default)]
pub struct Around {
    /// The room's id.
    pub room: String,
    /// What the room is called: outside text.
    pub title: Option<String>,
    /// Only its sender and we are in the room.
    pub direct: bool,
    /// The display name of its sender: outside text.
    pub sender_name: Option<String>,
    /// The event it relates to.
    pub target: Target,
}

/// What is known of the event that another one answers or marks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Target {
    /// We sent it.
    pub is_ours: bool,
    /// We sent it as the card of the decision with this code.
    pub card: Option<String>,
}

/// What an event says of itself, as far as it can be read back: for [`Around::target`].
pub fn as_target(event: &Value, me: &Me) -> Target {
    let is_ours = event["sender"].as_str() == Some(&me.user);
    let code = event["content"][CARD_FIELD]["code"].as_str();
    Target {
        is_ours,
        card: code.filter(|_| is_ours).map(str::to_owned),
    }
}

/// The event that must be known before this one can be read: the one it answers, the root of its thread, or the one it
/// is a reaction to.
pub fn target_of(event: &Value, me: &Me) -> Option<String> {
    if event["sender"].as_str() == Some(&me.user) {
        return None;
    }
    let relation = &event["content"]["m.relates_to"];
    let id = match event["type"].as_str()? {
        "m.reaction" => reaction(event).map(|_| &relation["event_id"])?,
        "m.room.message" if relation["rel_type"] == "m.replace" => return None,
        "m.room.message" | "m.sticker" => match replied_to(relation) {
            Some(id) => return Some(id.to_owned()),
            None => &relation["event_id"],
        },
        _ => return None,
    };
    id.as_str().map(str::to_owned)
}

/// The event that a person chose to answer. In a thread, clients name the newest one for those that know no threads.
fn replied_to(relation: &Value) -> Option<&str> {
    if relation["rel_type"] == "m.thread" && relation["is_falling_back"] == true {
        return None;
    }
    relation["m.in_reply_to"]["event_id"].as_str()
}

/// Whether this event is the one with which a user came into a room. A change of a name looks almost the same.
///
/// Where the server says of each event whether we were there, that counts, and no event is taken for a border.
pub fn is_joining(event: &Value, user: &str) -> bool {
    if event["unsigned"].get("membership").is_some() {
        return false;
    }
    event["type"] == "m.room.member"
        && event["state_key"].as_str() == Some(user)
        && event["content"]["membership"] == "join"
        && event["unsigned"]["prev_content"]["membership"] != "join"
}

/// Whether the server says that we were not in the room when this was sent.
pub fn is_from_before_us(event: &Value) -> bool {
    event["unsigned"]["membership"]
        .as_str()
        .is_some_and(|membership| membership != "join")
}

/// Decodes an event; none when nobody has to know of it: our own, and most of the state of a room.
pub fn decode(event: &Value, me: &Me, around: &Around) -> Option<Inbound> {
    let id = event["event_id"].as_str()?;
    let kind = event["type"].as_str().unwrap_or_default();
    let sender = event["sender"].as_str();
    if sender == Some(&me.user) {
        return None;
    }
    let is_state = event.get("state_key").is_some();
    let body = match kind {
        "m.room.message" | "m.sticker" if is_redacted(event) => {
            other("a message that was taken back")
        }
        "m.room.message" => message(event, me, around),
        "m.sticker" => media("a sticker", around),
        "m.poll.start" | "org.matrix.msc3381.poll.start" => media("a poll", around),
        "m.reaction" => react(event, around),
        "m.room.redaction" => other("a message was taken back"),
        "m.room.encrypted" => other("an encrypted message, which the bot cannot read"),
        "m.room.encryption" => other("the room became encrypted; nothing in it can be read here"),
        "m.room.tombstone" => other(format!(
            "the room is replaced by `{}`; a list that names the old id needs the new one",
            word(
                event["content"]["replacement_room"]
                    .as_str()
                    .unwrap_or_default()
            )
        )),
        _ if is_state => return None,
        kind => other(format!("an event of type `{}`", word(kind))),
    };
    let is_notice = event["content"]["msgtype"] == "m.notice";
    // Taken back, it says something else than the first time.
    let key = if is_redacted(event) {
        "redacted"
    } else {
        "event"
    };
    // What is said to a reaction is said to the card.
    let answered = match kind {
        "m.reaction" => event["content"]["m.relates_to"]["event_id"].as_str(),
        _ => None,
    };
    Some(Inbound {
        dedupe_key: format!("{key}:{id}"),
        cursor: None,
        conversation: conversation(&around.room, event),
        conversation_title: around.title.clone(),
        sender: sender.map(|sender| Sender {
            id: sender.to_owned(),
            display: match &around.sender_name {
                Some(name) => format!("{name} ({sender})"),
                None => sender.to_owned(),
            },
            // What programs say; nobody answers it, or two would answer each other for ever.
            is_bot: is_notice,
        }),
        body,
        message_ref: Some(answered.unwrap_or(id).to_owned()),
    })
}

/// Our membership in a room ended.
pub fn removal(room: &str, event: Option<&Value>) -> (Inbound, String) {
    let null = Value::Null;
    let event = event.unwrap_or(&null);
    let by = event["sender"].as_str().unwrap_or("the server");
    let done = match event["content"]["membership"].as_str() {
        Some("ban") => "banned",
        Some(_) | None => "removed",
    };
    let mut what = format!("{done} from the room by {}", word(by));
    if let Some(reason) = event["content"]["reason"].as_str() {
        what.push_str(&format!(": {}", word(reason)));
    }
    let id = event["event_id"].as_str();
    let key = id.map_or_else(|| format!("left:{room}"), |id| format!("event:{id}"));
    let inbound = intake::event(key, room, what.clone());
    (inbound, what)
}

/// A room, or a thread of it.
fn conversation(room: &str, event: &Value) -> String {
    let relation = &event["content"]["m.relates_to"];
    match relation["event_id"].as_str() {
        Some(root) if relation["rel_type"] == "m.thread" && root.starts_with('$') => {
            format!("{room}/{root}")
        }
        Some(_) | None => room.to_owned(),
    }
}

/// The room and the thread of a conversation key.
pub fn parse_conversation(key: &str) -> (&str, Option<&str>) {
    match key.find("/$") {
        Some(at) => (&key[..at], Some(&key[at + 1..])),
        None => (key, None),
    }
}

fn is_redacted(event: &Value) -> bool {
    event["unsigned"].get("redacted_because").is_some()
        || event["content"]
            .as_object()
            .is_none_or(serde_json::Map::is_empty)
}

fn message(event: &Value, me: &Me, around: &Around) -> InboundBody {
    let content = &event["content"];
    if content["m.relates_to"]["rel_type"] == "m.replace" {
        // Who edits a message that was answered does not ask again.
        return other("an edit of a message");
    }
    let body = content["body"].as_str().unwrap_or_default();
    let is_reply = content["m.relates_to"].get("m.in_reply_to").is_some();
    let said = if is_reply { without_quote(body) } else { body };
    let kind = content["msgtype"].as_str().unwrap_or_default();
    let (text, files) = match kind {
        "m.text" | "m.notice" => (said.to_owned(), Vec::new()),
        "m.emote" => (format!("* {said}"), Vec::new()),
        "m.image" | "m.file" | "m.audio" | "m.video" => {
            let Some(file) = file(content, kind) else {
                return media("an encrypted file, or one without an address", around);
            };
            // A body beside a file name is what the person wrote about the file.
            let caption = content["filename"]
                .as_str()
                .is_some_and(|name| name != body);
            let text = if caption {
                said.to_owned()
            } else {
                String::new()
            };
            (text, vec![file])
        }
        "m.location" => return media("a location", around),
        kind => return other(format!("a message of type `{}`", word(kind))),
    };
    if text.is_empty() && files.is_empty() {
        return other("a message without text");
    }
    let command = command(&text, me);
    InboundBody::Text {
        direct: around.direct,
        addressed: around.direct
            || around.target.is_ours
            || command.is_some()
            || mentions(content, me),
        text: command.unwrap_or(text),
        indirect: false,
        files,
        group: None,
    }
}

/// A reaction to a card decides like the command that the card names; any other is of no consequence.
fn react(event: &Value, around: &Around) -> InboundBody {
    let (Some(word), Some(code)) = (reaction(event), &around.target.card) else {
        return other("a reaction");
    };
    let command = match word {
        Reaction::Yes => format!("/{} {code}", SlashCommand::Approve.as_str()),
        Reaction::No => format!("/{} {code}", SlashCommand::Deny.as_str()),
        Reaction::Number(number) => format!("/{} {code} {number}", SlashCommand::Answer.as_str()),
    };
    InboundBody::Text {
        text: command,
        direct: around.direct,
        addressed: true,
        indirect: false,
        files: Vec::new(),
        group: None,
    }
}

/// What a reaction says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reaction {
    Yes,
    No,
    Number(u32),
}

fn reaction(event: &Value) -> Option<Reaction> {
    let relation = &event["content"]["m.relates_to"];
    if relation["rel_type"] != "m.annotation" {
        return None;
    }
    // Skin tones and the mark for "as a picture" do not change what it says.
    let is_look = |c: &char| *c == '\u{fe0f}' || ('\u{1f3fb}'..='\u{1f3ff}').contains(c);
    let key: String = relation["key"]
        .as_str()?
        .chars()
        .filter(|c| !is_look(c))
        .take(4)
        .collect();
    match key.as_str() {
        "✅" | "👍" => Some(Reaction::Yes),
        "❌" | "👎" => Some(Reaction::No),
        _ => {
            let digit = key.strip_suffix('\u{20e3}')?;
            let number = digit.parse().ok().filter(|number| *number > 0)?;
            (digit.len() == 1).then_some(Reaction::Number(number))
        }
    }
}

/// A command as the engine knows it, when the text is one for us: alone, with `!` in place of `/` (clients keep words
/// with `/` for themselves), or after our name.
fn command(text: &str, me: &Me) -> Option<String> {
    let rest = after_our_name(text, me).unwrap_or(text);
    let named = rest.strip_prefix(['/', '!'])?;
    let word = named.split(char::is_whitespace).next().unwrap_or_default();
    SlashCommand::named(word).map(|_| format!("/{named}"))
}

/// What follows our name at the beginning of a text.
fn after_our_name<'a>(text: &'a str, me: &Me) -> Option<&'a str> {
    let local = me.user.trim_start_matches('@').split(':').next();
    let names = [Some(me.user.as_str()), me.display.as_deref(), local];
    let text = text.trim_start();
    names
        .into_iter()
        .flatten()
        .filter(|name| !name.is_empty())
        .find_map(|name| {
            let bare = text.strip_prefix('@').unwrap_or(text);
            let rest = text
                .strip_prefix(name)
                .or_else(|| bare.strip_prefix(name))?;
            let end = rest.trim_start_matches([':', ',']);
            end.starts_with(char::is_whitespace)
                .then(|| end.trim_start())
        })
}

/// Whether a message mentions us. Where it lists whom it mentions, only the list counts.
fn mentions(content: &Value, me: &Me) -> bool {
    if let Some(mentions) = content.get("m.mentions").filter(|value| value.is_object()) {
        let users = mentions["user_ids"].as_array();
        return users.is_some_and(|users| users.iter().any(|user| user.as_str() == Some(&me.user)));
    }
    let body = without_quote(content["body"].as_str().unwrap_or_default());
    if body.contains(&me.user) || after_our_name(body, me).is_some() {
        return true;
    }
    // What stands before the end of the quote is somebody else's.
    let html = content["formatted_body"].as_str().unwrap_or_default();
    let html = html.rsplit("</mx-reply>").next().unwrap_or_default();
    let link = |user: &str| html.contains(&format!("https://matrix.to/#/{user}\""));
    link(&me.user) || link(&me.user.replace('@', "%40").replace(':', "%3A"))
}

/// The text below the quote that clients put above an answer.
fn without_quote(body: &str) -> &str {
    if !body.starts_with("> ") {
        return body;
    }
    let mut rest = body;
    while rest.starts_with('>') {
        rest = rest.split_once('\n').map_or("", |(_, rest)| rest);
    }
    rest.strip_prefix('\n').unwrap_or(rest)
}

fn file(content: &Value, kind: &str) -> Option<InboundFile> {
    let (name, media_type) = match kind {
        "m.image" => ("picture", "image/*"),
        "m.audio" => ("audio", "audio/*"),
        "m.video" => ("video", "video/*"),
        _ => ("file", "application/octet-stream"),
    };
    let url = content["url"].as_str()?;
    let given = |field: &str| content[field].as_str().filter(|name| !name.is_empty());
    let info = &content["info"];
    Some(InboundFile {
        reference: url.to_owned(),
        name: given("filename")
            .or(given("body"))
            .unwrap_or(name)
            .to_owned(),
        media_type: Some(info["mimetype"].as_str().unwrap_or(media_type).to_owned()),
        size: info["size"].as_u64(),
    })
}

fn media(what: &str, around: &Around) -> InboundBody {
    InboundBody::Media {
        what: what.to_owned(),
        direct: around.direct,
        addressed: around.target.is_ours,
    }
}

/// A word of the server, fit for a short record.
fn word(text: &str) -> String {
    let shown = crate::text::untrusted::reveal_line(text);
    shown.chars().take(100).collect()
}
