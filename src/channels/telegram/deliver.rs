//! One outbound part to Telegram, and exactly what is known about it afterwards.
//!
//! A message is never sent a second time here unless Telegram said that it did not take the first.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use serde_json::{Value, json};

use crate::channels::card::{self, CardLimit};
use crate::channels::health::HealthLog;
use crate::channels::http::CallError;
use crate::channels::pacing::Pacing;
use crate::channels::parts::{self, PIECE_TRIES, Repetition};
use crate::channels::platform::Platform;
use crate::channels::sync::lock;
use crate::channels::telegram::api::Api;
use crate::channels::telegram::render::{self, MessageText};
use crate::channels::telegram::updates::parse_conversation;
use crate::client::channel_port::ChannelPort;
use crate::protocol::artifact::SentFile;
use crate::protocol::bridge::{FileRequest, Outbound, OutboundBody, SendOutcome};
use crate::protocol::channel::LengthUnit;
use crate::text::chunk::chunk;

/// Pieces a message that Telegram found too long is cut into, in UTF-16 units of its source.
const LAST_RESORT_PIECE: usize = 1_800;
/// How often a refused call is changed and made again (markup, thread, chat id, reply).
const REPAIRS: u32 = 5;

/// Longest card; the limit is 4 096.
const CARD: CardLimit = CardLimit {
    max: 3_900,
    unit: LengthUnit::Utf16,
};

/// Where a message goes.
#[derive(Debug, Clone, Copy)]
struct Target {
    /// The chat that the conversation names.
    named: i64,
    /// The chat that it is now.
    chat: i64,
    thread: Option<i64>,
    reply_to: Option<i64>,
}

/// Largest picture that Telegram takes as one, in bytes.
const MAX_PICTURE: u64 = 10 * 1024 * 1024;
/// How any file can be sent: method and field.
const DOCUMENT: (&str, &str) = ("sendDocument", "document");

/// What a message is.
enum Message<'a> {
    Text(&'a MessageText),
    File {
        file: &'a SentFile,
        content: Vec<u8>,
    },
}

/// How a file is sent so that the chat shows or plays it: method and field.
fn shown_as(file: &SentFile) -> (&'static str, &'static str) {
    match file.artifact.media_type.as_str() {
        "image/jpeg" | "image/png" if file.artifact.size <= MAX_PICTURE => ("sendPhoto", "photo"),
        "audio/ogg" => ("sendVoice", "voice"),
        "audio/mpeg" | "audio/mp4" => ("sendAudio", "audio"),
        "video/mp4" => ("sendVideo", "video"),
        _ => DOCUMENT,
    }
}

/// What Telegram sustains for one chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Intervals {
    /// Between calls for one private chat.
    pub private: Duration,
    /// Between calls for one group (Telegram allows 20 a minute).
    pub group: Duration,
}

impl Default for Intervals {
    fn default() -> Self {
        Self {
            private: Duration::from_secs(1),
            group: Duration::from_secs(3),
        }
    }
}

/// Sends parts for one account. Survives reconnects.
pub struct Deliverer {
    /// Platform side.
    pub api: Api,
    /// Engine side.
    pub port: Arc<dyn ChannelPort>,
    /// Where exchanges are noted.
    pub health: Arc<HealthLog>,
    /// The platform's limits.
    pub pacing: Arc<Pacing>,
    /// Between calls for one chat.
    pub intervals: Intervals,
    /// Groups that became supergroups while we ran: old id to new.
    pub moved: Arc<Mutex<HashMap<i64, i64>>>,
}

impl Deliverer {
    /// Between calls for a chat. Groups have negative ids.
    fn interval(&self, chat: i64) -> Duration {
        if chat < 0 {
            self.intervals.group
        } else {
            self.intervals.private
        }
    }

    fn take(&self, chat: i64) -> Result<(), Duration> {
        let interval = self.interval(chat);
        self.pacing
            .take(&chat.to_string(), interval, Instant::now())
    }

    fn freeze(&self, chat: i64, rest: Duration) {
        self.pacing.freeze(&chat.to_string(), rest, Instant::now());
        self.health.limited(rest);
    }

    /// Heeds a 429 for something that nobody misses.
    fn note_decoration(&self, chat: i64, error: &CallError) {
        if let Some(rest) = error.retry_after() {
            self.freeze(chat, rest);
        }
    }

    async fn send_markdown(&self, part: &Outbound, target: Target, text: &str) -> SendOutcome {
        let error = match self.send_text(target, text).await {
            Ok(message_id) => return self.sent(vec![message_id]),
            Err(error) => error,
        };
        if !refused_with(&error, "message is too long") {
            return self.ended(part, target.chat, Repetition::Shows, &error);
        }
        // The engine splits by the limit we gave it; markup can still count for more than we thought.
        let pieces = chunk(text, LAST_RESORT_PIECE, LengthUnit::Utf16);
        if pieces.len() < 2 {
            return self.ended(part, target.chat, Repetition::Shows, &error);
        }
        let sent = parts::send_pieces(
            &pieces,
            PIECE_TRIES,
            || self.take(target.chat),
            |piece, _| self.send_text(target, piece),
            |error| self.note(target.chat, error),
        );
        match sent.await {
            Ok(external_refs) => self.sent(external_refs),
            Err((0, error)) => self.ended(part, target.chat, Repetition::Shows, &error),
            Err((at, error)) => {
                self.note(target.chat, &error);
                parts::partly_sent(at, pieces.len(), &error.to_string())
            }
        }
    }

    async fn send_text(&self, target: Target, text: &str) -> Result<String, CallError> {
        let text = render::markdown(text);
        self.send(target, &Message::Text(&text), None).await
    }

    /// One message, repaired and made again while Telegram refuses it for a reason we can mend.
    async fn send(
        &self,
        target: Target,
        message: &Message<'_>,
        keyboard: Option<&Value>,
    ) -> Result<String, CallError> {
        let mut target = target;
        let mut as_html = true;
        let mut as_document = false;
        let mut repairs = 0;
        loop {
            let mut params = match message {
                Message::Text(text) => body(target.chat, text, as_html),
                Message::File { .. } => json!({ "chat_id": target.chat }),
            };
            if let Some(thread) = target.thread {
                params["message_thread_id"] = json!(thread);
            }
            if let Some(message_id) = target.reply_to {
                params["reply_parameters"] =
                    json!({ "message_id": message_id, "allow_sending_without_reply": true });
            }
            if let Some(keyboard) = keyboard {
                params["reply_markup"] = keyboard.clone();
            }
            let answer = match message {
                Message::Text(_) => self.api.call("sendMessage", &params).await,
                Message::File { file, content } => {
                    let (method, field) = if as_document {
                        DOCUMENT
                    } else {
                        shown_as(file)
                    };
                    self.api.upload(method, &params, field, file, content).await
                }
            };
            let error = match answer {
                Ok(message) => {
                    return match message["message_id"].as_i64() {
                        Some(message_id) => Ok(message_ref(target, message_id)),
                        // Taken, but without its id nothing can refer to it.
                        None => Err(CallError::lost(
                            "the answer to an accepted message names no id",
                        )),
                    };
                }
                Err(error) => error,
            };
            repairs += 1;
            if repairs > REPAIRS {
                return Err(error);
            }
            if as_html && refused_with(&error, "can't parse entities") {
                tracing::warn!(%error, "Telegram refused the markup; sending plain text");
                as_html = false;
            } else if target.thread.is_some() && refused_with(&error, "message thread not found") {
                target.thread = None;
            } else if target.reply_to.is_some()
                && (refused_with(&error, "message to be replied not found")
                    || refused_with(&error, "replied message not found"))
            {
                target.reply_to = None;
            } else if let Some(chat) = migrated(&error) {
                self.remember_move(target.chat, chat);
                target.chat = chat;
                // Message ids do not survive the move.
                target.reply_to = None;
            } else if !as_document
                && matches!(message, Message::File { .. })
                && matches!(error, CallError::Refused { code: 400, .. })
            {
                // What it does not show or play, it takes as a file.
                as_document = true;
            } else {
                return Err(error);
            }
        }
    }

    /// `editMessageText` without buttons.
    async fn edit(&self, chat: i64, message_id: i64, text: &MessageText) -> Result<(), CallError> {
        let mut as_html = true;
        loop {
            let mut params = body(chat, text, as_html);
            params["message_id"] = json!(message_id);
            params["reply_markup"] = json!({ "inline_keyboard": [] });
            match self.api.call("editMessageText", &params).await {
                Ok(_) => return Ok(()),
                Err(error) if refused_with(&error, "message is not modified") => return Ok(()),
                Err(error) if as_html && refused_with(&error, "can't parse entities") => {
                    as_html = false;
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn sent(&self, external_refs: Vec<String>) -> SendOutcome {
        parts::accepted(&self.health, external_refs, true)
    }

    /// Tells health and pacing about a failed call.
    fn note(&self, chat: i64, error: &CallError) {
        if let Some(rest) = error.retry_after() {
            self.pacing.freeze(&chat.to_string(), rest, Instant::now());
        }
        self.health.send_failed(error, || error.to_string());
    }

    /// What a failed call means for the part.
    fn ended(
        &self,
        part: &Outbound,
        chat: i64,
        repetition: Repetition,
        error: &CallError,
    ) -> SendOutcome {
        self.note(chat, error);
        let (now, said) = (self.health.now(), error.to_string());
        // The token is at fault, not the message: the poller stops the channel with the fix.
        if let CallError::Refused {
            code: 401 | 404, ..
        } = error
        {
            return parts::retry_in(60, now, said);
        }
        parts::failed(error, repetition, part.attempts, now, said)
    }

    fn current(&self, chat: i64) -> i64 {
        let moved = lock(&self.moved);
        moved.get(&chat).copied().unwrap_or(chat)
    }

    fn remember_move(&self, old: i64, new: i64) {
        tracing::info!(old, new, "a group became a supergroup");
        let mut moved = lock(&self.moved);
        moved.insert(old, new);
    }
}

#[async_trait]
impl Platform for Deliverer {
    fn may_send(&self, conversation: &str) -> Result<(), Duration> {
        match parse_conversation(conversation) {
            Some((chat, _)) => self.take(self.current(chat)),
            None => Ok(()),
        }
    }

    async fn deliver(&self, part: &Outbound) -> SendOutcome {
        let Some((chat, thread)) = parse_conversation(&part.conversation) else {
            return parts::never("the conversation is not a Telegram chat");
        };
        let current = self.current(chat);
        let replied = part.reply_to.as_deref();
        let target = Target {
            named: chat,
            chat: current,
            thread,
            reply_to: replied
                .and_then(|reference| message_place(chat, reference))
                .and_then(|(place, message_id)| (place == current).then_some(message_id)),
        };
        match &part.body {
            OutboundBody::Markdown { text } => self.send_markdown(part, target, text).await,
            OutboundBody::File(file) => {
                let content = match parts::file_content(self.port.as_ref(), file).await {
                    Ok(content) => content,
                    Err(outcome) => return outcome,
                };
                let message = Message::File { file, content };
                match self.send(target, &message, None).await {
                    Ok(message_id) => self.sent(vec![message_id]),
                    Err(error) => self.ended(part, target.chat, Repetition::Shows, &error),
                }
            }
            OutboundBody::Card { approval, buttons } => {
                let card = card::question(approval, buttons, CARD);
                let keyboard = render::keyboard(&card.buttons);
                let text = render::lines(&card.lines);
                let text = Message::Text(&text);
                match self.send(target, &text, keyboard.as_ref()).await {
                    Ok(message_id) => parts::accepted(&self.health, vec![message_id], card.whole),
                    Err(error) => self.ended(part, target.chat, Repetition::Shows, &error),
                }
            }
            OutboundBody::CardUpdate {
                approval,
                external_ref,
            } => {
                let Some((place, message_id)) = message_place(chat, external_ref) else {
                    return parts::never("the card's message id is not one of Telegram's");
                };
                let text = render::lines(&card::outcome(approval));
                match self.edit(place, message_id, &text).await {
                    Ok(()) => self.sent(vec![external_ref.clone()]),
                    Err(error) => self.ended(part, place, Repetition::Harmless, &error),
                }
            }
        }
    }

    async fn typing(&self, conversation: &str) {
        let Some((chat, thread)) = parse_conversation(conversation) else {
            return;
        };
        let chat = self.current(chat);
        if !self.pacing.take_typing(&chat.to_string(), Instant::now()) {
            return;
        }
        let mut params = json!({ "chat_id": chat, "action": "typing" });
        if let Some(thread) = thread {
            params["message_thread_id"] = json!(thread);
        }
        match self.api.call("sendChatAction", &params).await {
            Err(CallError::Limited { retry_after, .. }) => self.freeze(chat, retry_after),
            // A chat that refuses us says so at the next message too.
            Err(CallError::Refused { .. }) => {}
            answer => self.health.optional("sendChatAction", &answer),
        }
    }

    fn may_show_progress(&self, conversation: &str) -> bool {
        parse_conversation(conversation).is_none_or(|(chat, _)| {
            let chat = self.current(chat);
            let interval = self.interval(chat);
            self.pacing
                .take_progress(&chat.to_string(), interval, Instant::now())
        })
    }

    async fn show_progress(
        &self,
        conversation: &str,
        shown: Option<&str>,
        text: &str,
    ) -> Option<String> {
        let (chat, thread) = parse_conversation(conversation)?;
        let named = chat;
        let chat = self.current(named);
        let text = render::markdown(text);
        let done = match shown.and_then(|reference| message_place(named, reference)) {
            Some((place, message_id)) => self
                .edit(place, message_id, &text)
                .await
                .map(|()| shown.map(str::to_owned)),
            None => {
                let target = Target {
                    named,
                    chat,
                    thread,
                    reply_to: None,
                };
                self.send(target, &Message::Text(&text), None)
                    .await
                    .map(Some)
            }
        };
        done.unwrap_or_else(|error| {
            self.note_decoration(chat, &error);
            shown.map(str::to_owned)
        })
    }

    async fn remove_progress(&self, conversation: &str, message_ref: &str) {
        let Some((chat, message_id)) = parse_conversation(conversation)
            .and_then(|(named, _)| message_place(named, message_ref))
        else {
            return;
        };
        let params = json!({ "chat_id": chat, "message_id": message_id });
        if let Err(error) = self.api.call("deleteMessage", &params).await {
            self.note_decoration(chat, &error);
        }
    }

    async fn fetch(&self, request: &FileRequest) -> Result<Vec<u8>, CallError> {
        let file = self
            .api
            .call("getFile", &json!({ "file_id": request.reference }))
            .await?;
        let too_large = || CallError::too_large(request.max_bytes);
        let size = file["file_size"].as_u64();
        if size.is_some_and(|size| size > request.max_bytes) {
            return Err(too_large());
        }
        match file["file_path"].as_str().filter(|path| is_plain(path)) {
            Some(path) => self
                .api
                .download(path, request.max_bytes)
                .await?
                .ok_or_else(too_large),
            None => Err(CallError::refused(404, "Telegram names no path for it")),
        }
    }
}

/// How a message that we sent is called: its number, behind its chat where the conversation names another one. A number
/// means another message in each chat.
fn message_ref(target: Target, message_id: i64) -> String {
    if target.chat == target.named {
        message_id.to_string()
    } else {
        format!("{}/{message_id}", target.chat)
    }
}

/// The chat and the number of a message. `named`: the chat that its conversation names.
fn message_place(named: i64, message_ref: &str) -> Option<(i64, i64)> {
    match message_ref.split_once('/') {
        Some((chat, message_id)) => Some((chat.parse().ok()?, message_id.parse().ok()?)),
        None => Some((named, message_ref.parse().ok()?)),
    }
}

/// A path that is only a path: it becomes a part of an address that has the token in it.
fn is_plain(path: &str) -> bool {
    let is_name = |name: &str| {
        !name.is_empty()
            && !name.starts_with('.')
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'))
    };
    path.split('/').all(is_name)
}

/// The parameters that sends and edits share. Link previews are always off.
fn body(chat: i64, text: &MessageText, as_html: bool) -> Value {
    let mut params = if as_html {
        json!({ "chat_id": chat, "text": text.html, "parse_mode": "HTML" })
    } else {
        json!({ "chat_id": chat, "text": text.plain })
    };
    params["link_preview_options"] = json!({ "is_disabled": true });
    params
}

fn refused_with(error: &CallError, words: &str) -> bool {
    match error {
        CallError::Refused { detail, .. } => detail.to_ascii_lowercase().contains(words),
        CallError::NotSent { .. }
        | CallError::Lost { .. }
        | CallError::Server { .. }
        | CallError::Limited { .. } => false,
    }
}

fn migrated(error: &CallError) -> Option<i64> {
    match error {
        CallError::Refused { moved_to, .. } => moved_to.as_ref()?.parse().ok(),
        CallError::NotSent { .. }
        | CallError::Lost { .. }
        | CallError::Server { .. }
        | CallError::Limited { .. } => None,
    }
}
