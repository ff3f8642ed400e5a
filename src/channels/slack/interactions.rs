//! Slash commands and presses of buttons, each as one inbound item. No shape of either can fail.

use serde_json::Value;

use crate::channels::fields::{text_at, word};
use crate::channels::intake;
use crate::channels::slack::envelope::Envelope;
use crate::channels::slack::fields::{conversation, is_direct};
use crate::channels::slack::me::Me;
use crate::channels::slack::plain::{self, Names};
use crate::protocol::bridge::{Inbound, InboundBody, Sender};
use crate::protocol::slash::SlashCommand;

/// A slash command as a text.
pub fn command(payload: &Value, envelope: &Envelope, me: &Me, names: &Names) -> Inbound {
    let channel = text_at(payload, "/channel_id").unwrap_or_default();
    let direct = is_direct(channel);
    let given = plain::plain(
        text_at(payload, "/text").unwrap_or_default(),
        &me.user,
        names,
    );
    let name = text_at(payload, "/command").unwrap_or_default();
    let sender = text_at(payload, "/user_id").map(|user| Sender {
        id: user.to_owned(),
        display: text_at(payload, "/user_name").unwrap_or(user).to_owned(),
        is_bot: false,
    });
    let id = text_at(payload, "/trigger_id").unwrap_or(&envelope.id);
    Inbound {
        dedupe_key: format!("command:{id}"),
        cursor: None,
        conversation: channel.to_owned(),
        conversation_title: text_at(payload, "/channel_name")
            .filter(|_| !direct)
            .map(|name| format!("#{name}")),
        sender,
        body: InboundBody::Text {
            text: command_text(name, &given),
            direct,
            addressed: true,
            indirect: false,
            files: Vec::new(),
            group: None,
        },
        message_ref: None,
    }
}

/// What a slash command asks: `/deny CODE` as it is, `/leverframe deny CODE` the same, `/leverframe TEXT` the text.
pub fn command_text(name: &str, given: &str) -> String {
    let as_command = |command: SlashCommand, rest: &str| {
        format!("/{command} {}", rest.trim()).trim_end().to_owned()
    };
    if let Some(command) = SlashCommand::named(name.trim_start_matches('/')) {
        return as_command(command, given);
    }
    let given = given.trim();
    let (first, rest) = given.split_once(char::is_whitespace).unwrap_or((given, ""));
    match SlashCommand::named(first.trim_start_matches('/')) {
        Some(command) => as_command(command, rest),
        None if given.is_empty() => as_command(SlashCommand::Help, ""),
        None => given.to_owned(),
    }
}

/// A press of a button, or another interaction.
pub fn interaction(envelope: &Envelope, names: &Names) -> Inbound {
    let payload = &envelope.payload;
    let trigger = text_at(payload, "/trigger_id").unwrap_or(&envelope.id);
    let channel = text_at(payload, "/channel/id")
        .or_else(|| text_at(payload, "/container/channel_id"))
        .unwrap_or_default();
    let ts = text_at(payload, "/container/message_ts").or_else(|| text_at(payload, "/message/ts"));
    let thread =
        text_at(payload, "/message/thread_ts").or_else(|| text_at(payload, "/container/thread_ts"));
    let action = &payload["actions"][0];
    let sender = text_at(payload, "/user/id").map(|user| Sender {
        id: user.to_owned(),
        display: names
            .users
            .get(user)
            .map(String::as_str)
            .or_else(|| text_at(payload, "/user/name"))
            .or_else(|| text_at(payload, "/user/username"))
            .unwrap_or(user)
            .to_owned(),
        is_bot: false,
    });
    let token = text_at(action, "/value")
        .filter(|value| !value.is_empty())
        .or_else(|| text_at(action, "/action_id"));
    let body = match (text_at(payload, "/type"), token, ts) {
        (Some("block_actions"), Some(token), Some(_)) => InboundBody::Click {
            token: token.to_owned(),
        },
        (Some("block_actions"), _, _) => {
            intake::other("a click that carries nothing, or on no message")
        }
        (kind, _, _) => intake::other(format!(
            "an interaction of type `{}`",
            word(kind.unwrap_or("unknown"))
        )),
    };
    let dedupe_key = match (text_at(action, "/action_ts"), &sender, ts) {
        (Some(at), Some(sender), Some(ts)) => {
            format!("click:{channel}:{ts}:{at}:{}", sender.id)
        }
        _ => format!("click:{trigger}"),
    };
    Inbound {
        dedupe_key,
        cursor: None,
        conversation: conversation(channel, thread, ts),
        conversation_title: text_at(payload, "/channel/name")
            .filter(|_| !is_direct(channel) && !channel.is_empty())
            .map(|name| format!("#{name}")),
        sender,
        body,
        message_ref: ts.map(str::to_owned),
    }
}
