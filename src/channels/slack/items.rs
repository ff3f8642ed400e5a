//! From what happened at Slack, of whatever shape, to one inbound item.
//!
//! No shape can fail, and nothing here does I/O. Fields are looked up in the raw JSON one by one, because a strict type
//! would let one unknown event stop all others. A message is the same item whether an event, a mention or the history
//! of its channel brings it.

use serde_json::Value;

use crate::channels::fields::{has, text_at, word};
use crate::channels::intake;
use crate::channels::slack::envelope::Envelope;
use crate::channels::slack::fields::{conversation, is_direct};
use crate::channels::slack::interactions::{command, interaction};
use crate::channels::slack::me::Me;
use crate::channels::slack::plain::{self, Names};
use crate::protocol::bridge::{Inbound, InboundBody, InboundFile, Sender};

/// Slack's own bot says of itself that it is none.
const SLACKBOT: &str = "USLACKBOT";

/// What to do about something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item {
    /// It is taken in.
    New {
        /// What it says.
        inbound: Box<Inbound>,
        /// The conversation whose mark it moves, and its time there.
        mark: Option<(String, String)>,
    },
    /// We did it ourselves: nothing to take in.
    Own,
    /// The app lost its access; how.
    Revoked(&'static str),
}

impl Item {
    fn unmarked(inbound: Inbound) -> Self {
        Self::New {
            inbound: Box::new(inbound),
            mark: None,
        }
    }

    /// Something that is only recorded.
    fn event(key: String, conversation: impl Into<String>, what: impl Into<String>) -> Self {
        Self::unmarked(intake::event(key, conversation, what))
    }
}

/// The users and the channels whose names an envelope's item needs.
pub fn needed(envelope: &Envelope, me: &Me) -> (Vec<String>, Vec<String>) {
    let event = &envelope.payload["event"];
    match (envelope.kind.as_str(), text_at(event, "/type")) {
        ("events_api", Some("message" | "app_mention")) if !is_change(event) => {
            let channel = text_at(event, "/channel").unwrap_or_default();
            needed_by_message(channel, event, me)
        }
        _ => (Vec::new(), Vec::new()),
    }
}

/// The same for a message of a channel's history.
pub fn needed_by_message(channel: &str, message: &Value, me: &Me) -> (Vec<String>, Vec<String>) {
    let mut users: Vec<String> = text_at(message, "/user")
        .map(str::to_owned)
        .into_iter()
        .chain(plain::mentioned(
            text_at(message, "/text").unwrap_or_default(),
        ))
        .filter(|user| *user != me.user)
        .collect();
    users.sort_unstable();
    users.dedup();
    let named = !channel.is_empty() && !is_direct(channel);
    let channels = named.then(|| channel.to_owned()).into_iter().collect();
    (users, channels)
}

/// What an envelope says. `is_ours` tells of a thread whether somebody spoke to us there.
pub fn item(envelope: &Envelope, me: &Me, names: &Names, is_ours: &dyn Fn(&str) -> bool) -> Item {
    let payload = &envelope.payload;
    match envelope.kind.as_str() {
        "events_api" => event(envelope, me, names, is_ours),
        "interactive" => Item::unmarked(interaction(envelope, names)),
        "slash_commands" => Item::unmarked(command(payload, envelope, me, names)),
        kind => Item::event(
            format!("envelope:{}", envelope.id),
            "",
            format!("an envelope of type `{}`", word(kind)),
        ),
    }
}

fn event(envelope: &Envelope, me: &Me, names: &Names, is_ours: &dyn Fn(&str) -> bool) -> Item {
    let payload = &envelope.payload;
    let event = &payload["event"];
    let key = || {
        let id = text_at(payload, "/event_id").unwrap_or(&envelope.id);
        format!("event:{id}")
    };
    match text_at(event, "/type") {
        Some("message" | "app_mention") => {
            let channel = text_at(event, "/channel").unwrap_or_default();
            if is_change(event) {
                return change(channel, event, me, key());
            }
            message(channel, event, me, names, is_ours)
        }
        Some("tokens_revoked") => Item::Revoked("its tokens were revoked"),
        Some("app_uninstalled") => Item::Revoked("it was removed from the workspace"),
        Some("assistant_thread_started" | "assistant_thread_context_changed") => {
            let thread = &event["assistant_thread"];
            let channel = text_at(thread, "/channel_id").unwrap_or_default();
            let at = text_at(thread, "/thread_ts");
            let place = conversation(channel, at, None);
            Item::event(key(), place, "somebody opened the assistant")
        }
        kind => Item::event(
            key(),
            text_at(event, "/channel").unwrap_or_default(),
            match kind.or_else(|| text_at(payload, "/type")) {
                Some(kind) => format!("an event of type `{}`", word(kind)),
                None => "an event without a type".to_owned(),
            },
        ),
    }
}

/// Whether a message event tells of a change of another message.
fn is_change(event: &Value) -> bool {
    matches!(
        text_at(event, "/subtype"),
        Some("message_changed" | "message_deleted" | "message_replied")
    )
}

fn change(channel: &str, event: &Value, me: &Me, key: String) -> Item {
    let changed = event
        .get("message")
        .or_else(|| event.get("previous_message"));
    if changed.is_some_and(|message| is_own(message, me)) {
        return Item::Own;
    }
    let what = match text_at(event, "/subtype") {
        Some("message_changed") => "an edit of a message",
        Some("message_deleted") => "a message was deleted",
        _ => "a message got a reply",
    };
    Item::event(key, channel, what)
}

/// Whether we wrote a message.
pub fn is_own(message: &Value, me: &Me) -> bool {
    text_at(message, "/user") == Some(me.user.as_str())
        || me.bot.is_some() && text_at(message, "/bot_id") == me.bot.as_deref()
}

/// A message of a channel: of an event or of the channel's history.
pub fn message(
    channel: &str,
    message: &Value,
    me: &Me,
    names: &Names,
    is_ours: &dyn Fn(&str) -> bool,
) -> Item {
    if is_own(message, me) {
        return Item::Own;
    }
    let Some(ts) = text_at(message, "/ts").filter(|_| !channel.is_empty()) else {
        let id = text_at(message, "/event_ts").or_else(|| text_at(message, "/client_msg_id"));
        return Item::event(
            format!("message:{channel}:{}", id.unwrap_or("?")),
            channel,
            "a message without channel or time",
        );
    };
    let thread = text_at(message, "/thread_ts");
    let conversation = conversation(channel, thread, Some(ts));
    let sender = sender(message, names);
    let direct = is_direct(channel);
    let raw = text_at(message, "/text").unwrap_or_default();
    let mentioned = plain::mentioned(raw).contains(&me.user);
    let in_thread = conversation != channel;
    let addressed = direct
        || mentioned
        || in_thread
            && (text_at(message, "/parent_user_id") == Some(me.user.as_str())
                || is_ours(&conversation));
    let mut text = plain::plain(raw, &me.user, names);
    let forwarded = forwarded(message, me, names);
    for quoted in &forwarded {
        for line in quoted.lines() {
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str("> ");
            text.push_str(line);
        }
    }
    let files = files(message);
    if text.is_empty() && mentioned {
        text = format!("@{}", me.name);
    }
    let body = match text_at(message, "/subtype") {
        Some(subtype) if !is_message(subtype) => intake::other(what_happened(subtype)),
        _ if text.is_empty() && files.is_empty() => intake::other("a message without text"),
        _ => InboundBody::Text {
            text,
            direct,
            addressed,
            indirect: !forwarded.is_empty() || has(message, "edited"),
            files,
            group: None,
        },
    };
    let conversation_title = if direct {
        sender.as_ref().map(|sender| sender.display.clone())
    } else {
        names.channels.get(channel).map(|name| format!("#{name}"))
    };
    // Of a thread in which nobody spoke to us, nothing has to be caught up with.
    let mark = (!in_thread || addressed).then(|| (conversation.clone(), ts.to_owned()));
    Item::New {
        inbound: Box::new(Inbound {
            dedupe_key: format!("msg:{channel}:{ts}"),
            cursor: None,
            conversation,
            conversation_title,
            sender,
            body,
            message_ref: Some(ts.to_owned()),
        }),
        mark,
    }
}

/// Subtypes of messages that somebody wrote.
fn is_message(subtype: &str) -> bool {
    matches!(
        subtype,
        "file_share" | "thread_broadcast" | "me_message" | "bot_message" | "file_comment"
    )
}

fn what_happened(subtype: &str) -> String {
    const KINDS: &[(&str, &str)] = &[
        ("channel_join", "somebody joined"),
        ("group_join", "somebody joined"),
        ("channel_leave", "somebody left"),
        ("group_leave", "somebody left"),
        ("channel_topic", "the channel has a new topic"),
        ("channel_purpose", "the channel has a new purpose"),
        ("channel_name", "the channel has a new name"),
        ("channel_archive", "the channel was archived"),
        ("pinned_item", "a message was pinned"),
    ];
    KINDS.iter().find(|(kind, _)| *kind == subtype).map_or_else(
        || format!("a message of kind `{}`", word(subtype)),
        |(_, words)| (*words).to_owned(),
    )
}

fn sender(message: &Value, names: &Names) -> Option<Sender> {
    let bot = text_at(message, "/bot_id");
    let by_bot = bot.is_some() || text_at(message, "/subtype") == Some("bot_message");
    match (text_at(message, "/user"), bot) {
        (Some(user), _) => Some(Sender {
            id: user.to_owned(),
            display: names
                .users
                .get(user)
                .map_or(user, String::as_str)
                .to_owned(),
            is_bot: by_bot || user == SLACKBOT || names.bots.contains(user),
        }),
        (None, Some(bot)) => Some(Sender {
            id: bot.to_owned(),
            display: text_at(message, "/username")
                .or_else(|| text_at(message, "/bot_profile/name"))
                .unwrap_or(bot)
                .to_owned(),
            is_bot: true,
        }),
        (None, None) => None,
    }
}

fn files(message: &Value) -> Vec<InboundFile> {
    let files = message.get("files").and_then(Value::as_array);
    files
        .into_iter()
        .flatten()
        .filter(|file| {
            !matches!(
                text_at(file, "/mode"),
                Some("tombstone" | "hidden_by_limit")
            )
        })
        .filter_map(|file| {
            Some(InboundFile {
                reference: text_at(file, "/id")?.to_owned(),
                name: text_at(file, "/name")
                    .or_else(|| text_at(file, "/title"))
                    .unwrap_or("file")
                    .to_owned(),
                media_type: text_at(file, "/mimetype")
                    .filter(|kind| !kind.is_empty())
                    .map(str::to_owned),
                size: file.get("size").and_then(Value::as_u64),
            })
        })
        .collect()
}

/// Messages of others that this one passes on.
fn forwarded(message: &Value, me: &Me, names: &Names) -> Vec<String> {
    let attachments = message.get("attachments").and_then(Value::as_array);
    let is_set = |one: &Value, field: &str| one.get(field).and_then(Value::as_bool) == Some(true);
    attachments
        .into_iter()
        .flatten()
        .filter(|one| is_set(one, "is_share") || is_set(one, "is_msg_unfurl"))
        .filter_map(|one| text_at(one, "/text").or_else(|| text_at(one, "/fallback")))
        .map(|text| plain::plain(text, &me.user, names))
        .filter(|text| !text.is_empty())
        .collect()
}
