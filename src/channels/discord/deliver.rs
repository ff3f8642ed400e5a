//! One outbound part to Discord, and exactly what is known about it afterwards.
//!
//! Every new message carries a key that is made of the part's own. So a send whose answer was lost is made again, and
//! shows once. Nothing that we send mentions anybody.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use reqwest::Method;
use serde_json::{Value, json};

use crate::channels::card;
use crate::channels::discord::api::{Api, Route};
use crate::channels::discord::fields::id;
use crate::channels::discord::message::{is_id, new_message, nobody, pieces, question};
use crate::channels::discord::render::{self, MAX_CARD, OF_COMPONENTS, SUPPRESS_EMBEDS};
use crate::channels::fields::{list_at, text_at};
use crate::channels::health::HealthLog;
use crate::channels::http::CallError;
use crate::channels::pacing::Pacing;
use crate::channels::parts::{self, Repetition};
use crate::channels::platform::Platform;
use crate::channels::sync::lock;
use crate::client::channel_port::ChannelPort;
use crate::protocol::artifact::SentFile;
use crate::protocol::bridge::{FileRequest, Outbound, OutboundBody, SendOutcome};

/// Longest file that every bot may send, in bytes.
const MAX_FILE: u64 = 10 * 1024 * 1024;

/// Discord's number for a channel that is none.
const UNKNOWN_CHANNEL: &str = "10003";

/// Sends parts for one account. Survives reconnects.
pub struct Deliverer {
    /// Platform side.
    pub api: Api,
    /// Engine side.
    pub port: Arc<dyn ChannelPort>,
    /// Where exchanges are noted.
    pub health: Arc<HealthLog>,
    /// Rates.
    pub pacing: Arc<Pacing>,
    /// Between two calls for one channel.
    pub interval: Duration,
    /// Direct channels of people who are written to by their own id.
    pub direct: Arc<Mutex<HashMap<String, String>>>,
}

/// A file with what is in it.
type Content<'a> = (&'a SentFile, Vec<u8>);

#[async_trait]
impl Platform for Deliverer {
    fn may_send(&self, conversation: &str) -> Result<(), Duration> {
        if !is_id(conversation) {
            // Let through, to be refused.
            return Ok(());
        }
        self.api.may(&Route::send(&self.channel(conversation)))?;
        self.pacing
            .take(conversation, self.interval, Instant::now())
    }

    async fn deliver(&self, part: &Outbound) -> SendOutcome {
        if !is_id(&part.conversation) {
            return parts::never("the conversation is not a channel of Discord");
        }
        match &part.body {
            OutboundBody::Markdown { text } => self.send_markdown(part, text).await,
            OutboundBody::File(file) => {
                if file.artifact.size > MAX_FILE {
                    return parts::never(format!(
                        "the file has more than the {} MiB that Discord takes",
                        MAX_FILE / (1024 * 1024)
                    ));
                }
                let content = match parts::file_content(self.port.as_ref(), file).await {
                    Ok(content) => content,
                    Err(outcome) => return outcome,
                };
                let mut body = new_message(part, 0);
                body["attachments"] = json!([{ "id": 0, "filename": file.name }]);
                let sent = self.create(part, body, Some((file, content))).await;
                match sent {
                    Ok(message) => self.sent(part, &[message], true),
                    Err(error) => self.ended(part, Repetition::Shows, &error),
                }
            }
            OutboundBody::Card { approval, buttons } => {
                let (components, whole) = question(approval, buttons);
                let mut body = new_message(part, 0);
                body["flags"] = json!(OF_COMPONENTS);
                body["components"] = components;
                match self.create(part, body, None).await {
                    Ok(message) => self.sent(part, &[message], whole),
                    Err(error) => self.ended(part, Repetition::Shows, &error),
                }
            }
            OutboundBody::CardUpdate {
                approval,
                external_ref,
            } => {
                let shown = render::lines(&card::outcome(approval));
                let shown: String = shown.chars().take(MAX_CARD).collect();
                let body = json!({
                    "components": render::card(&shown, &[]),
                    "flags": OF_COMPONENTS,
                    "allowed_mentions": nobody(),
                });
                match self.edit(&part.conversation, external_ref, &body).await {
                    Ok(()) => parts::accepted(&self.health, vec![external_ref.clone()], true),
                    Err(error) => self.ended(part, Repetition::Harmless, &error),
                }
            }
        }
    }

    async fn typing(&self, conversation: &str) {
        let conversation = &self.channel(conversation);
        let path = format!("/channels/{conversation}/typing");
        let route = Route::new(Method::POST, path, "POST typing").about(conversation);
        if !is_id(conversation)
            || self.api.may(&route).is_err()
            || !self.pacing.take_typing(conversation, Instant::now())
        {
            return;
        }
        match self.api.get(&route).await {
            Err(error @ CallError::Limited { .. }) => self.note(&error),
            // A channel that refuses us says so at the next message too.
            Err(CallError::Refused { .. }) => {}
            answer => self.health.optional("typing", &answer),
        }
    }

    fn may_show_progress(&self, conversation: &str) -> bool {
        is_id(conversation)
            && self
                .api
                .may(&Route::send(&self.channel(conversation)))
                .is_ok()
            && self
                .pacing
                .take_progress(conversation, self.interval, Instant::now())
    }

    async fn show_progress(
        &self,
        conversation: &str,
        shown: Option<&str>,
        text: &str,
    ) -> Option<String> {
        let body = json!({
            "content": pieces(text).into_iter().next()?,
            "flags": SUPPRESS_EMBEDS,
            "allowed_mentions": nobody(),
        });
        let done = match shown {
            Some(message) => {
                let channel = self.channel(conversation);
                let route = Route::message(Method::PATCH, &channel, message);
                if self.api.may(&route).is_err() {
                    return shown.map(str::to_owned);
                }
                self.edit(conversation, message, &body)
                    .await
                    .map(|()| shown.map(str::to_owned))
            }
            None => {
                let answer = self.call(conversation, Route::send, &body, None).await;
                answer.map(|message| id(&message, "/id").map(|id| id.to_string()))
            }
        };
        done.unwrap_or_else(|error| {
            self.note_decoration(&error);
            shown.map(str::to_owned)
        })
    }

    async fn remove_progress(&self, conversation: &str, message_ref: &str) {
        if !is_id(conversation) || !is_id(message_ref) {
            return;
        }
        let channel = self.channel(conversation);
        let route = Route::message(Method::DELETE, &channel, message_ref);
        if let Err(error) = self.api.get(&route).await {
            self.note_decoration(&error);
        }
    }

    async fn fetch(&self, request: &FileRequest) -> Result<Vec<u8>, CallError> {
        let ids: Vec<&str> = request.reference.split('/').collect();
        let foreign = || CallError::refused(404, "the file's reference is not one of Discord's");
        let [channel, message, attachment] = ids.as_slice() else {
            return Err(foreign());
        };
        if !ids.iter().all(|id| is_id(id)) {
            return Err(foreign());
        }
        // The address in the event has expired by now, or will; a new one comes with the message.
        let route = Route::message(Method::GET, channel, message);
        let answer = self.api.get(&route).await?;
        let forwarded = list_at(&answer, "/message_snapshots/0/message/attachments");
        let file = list_at(&answer, "/attachments")
            .iter()
            .chain(forwarded)
            .find(|file| text_at(file, "/id") == Some(attachment))
            .ok_or_else(|| CallError::refused(404, "the message has no such file any more"))?;
        let address = text_at(file, "/url")
            .ok_or_else(|| CallError::refused(404, "Discord names no address for the file"))?;
        let request_to = self.api.http().request_to(Method::GET, address);
        let content = self
            .api
            .http()
            .download(request_to, request.max_bytes)
            .await?;
        content.ok_or_else(|| CallError::too_large(request.max_bytes))
    }
}

impl Deliverer {
    async fn send_markdown(&self, part: &Outbound, source: &str) -> SendOutcome {
        let pieces = pieces(source);
        let sent = parts::send_pieces(
            &pieces,
            // Made again with the same keys, those that are out show once.
            1,
            || {
                self.pacing
                    .take(&part.conversation, self.interval, Instant::now())
            },
            |piece, at| {
                let mut body = new_message(part, at);
                body["content"] = json!(piece);
                self.create(part, body, None)
            },
            |_| {},
        );
        match sent.await {
            Ok(messages) if messages.is_empty() => parts::never("there is nothing to send"),
            Ok(messages) => self.sent(part, &messages, true),
            Err((0, error)) => self.ended(part, Repetition::Shows, &error),
            Err((at, error)) => {
                self.note(&error);
                parts::partly_sent(at, pieces.len(), &said(&error))
            }
        }
    }

    /// A new message; without the one it answers, where Discord does not let us answer that.
    async fn create(
        &self,
        part: &Outbound,
        mut body: Value,
        file: Option<Content<'_>>,
    ) -> Result<Value, CallError> {
        let conversation = &part.conversation;
        let answer = self
            .call(conversation, Route::send, &body, file.as_ref())
            .await;
        match answer {
            Err(CallError::Refused { code: 400, .. })
                if body.get("message_reference").is_some() =>
            {
                if let Some(fields) = body.as_object_mut() {
                    fields.remove("message_reference");
                }
                self.call(conversation, Route::send, &body, file.as_ref())
                    .await
            }
            answer => answer,
        }
    }

    async fn edit(&self, conversation: &str, message: &str, body: &Value) -> Result<(), CallError> {
        if !is_id(message) {
            let words = "the message's id is not one of Discord's";
            return Err(CallError::refused(404, words));
        }
        let route = |channel: &str| Route::message(Method::PATCH, channel, message);
        self.call(conversation, route, body, None).await.map(drop)
    }

    /// Makes a call for a conversation: a channel, or a person, whose direct channel is opened then.
    async fn call(
        &self,
        conversation: &str,
        route: impl Fn(&str) -> Route + Send + Sync,
        body: &Value,
        file: Option<&Content<'_>>,
    ) -> Result<Value, CallError> {
        let mut channel = self.channel(conversation);
        loop {
            let route = route(&channel);
            let answer = match file {
                Some((file, content)) => self.api.upload(&route, body, file, content.clone()).await,
                None => self.api.call(&route, body).await,
            };
            match answer {
                Err(CallError::Refused { ref name, .. })
                    if name == UNKNOWN_CHANNEL && channel == conversation =>
                {
                    match self.open_direct(conversation).await? {
                        Some(direct) => channel = direct,
                        None => return answer,
                    }
                }
                answer => return answer,
            }
        }
    }

    /// The direct channel with a person; none when nobody has this id.
    async fn open_direct(&self, person: &str) -> Result<Option<String>, CallError> {
        let route = Route::new(Method::POST, "/users/@me/channels", "POST direct");
        let body = json!({ "recipient_id": person });
        match self.api.call(&route, &body).await {
            Ok(channel) => {
                let Some(channel) = id(&channel, "/id").map(|id| id.to_string()) else {
                    return Ok(None);
                };
                let mut direct = lock(&self.direct);
                direct.insert(person.to_owned(), channel.clone());
                Ok(Some(channel))
            }
            Err(CallError::Refused {
                code: 400 | 404, ..
            }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The channel of a conversation, as far as it is known.
    fn channel(&self, conversation: &str) -> String {
        let direct = lock(&self.direct);
        direct
            .get(conversation)
            .cloned()
            .unwrap_or_else(|| conversation.to_owned())
    }

    fn sent(&self, part: &Outbound, messages: &[Value], whole: bool) -> SendOutcome {
        let external_refs: Vec<String> = messages
            .iter()
            .filter_map(|message| id(message, "/id"))
            .map(|id| id.to_string())
            .collect();
        if external_refs.len() < messages.len() {
            let error = CallError::lost("the answer names no message");
            return self.ended(part, Repetition::Shows, &error);
        }
        parts::accepted(&self.health, external_refs, whole)
    }

    /// Tells health and pacing about a failed call.
    fn note(&self, error: &CallError) {
        // The limits of the interface hold back what they must; other channels go on.
        if let CallError::Refused { code: 401, .. } = error {
            self.health.send_failing(said(error));
        } else {
            self.health.send_failed(error, || said(error));
        }
    }

    /// Heeds a limit for something that nobody misses.
    fn note_decoration(&self, error: &CallError) {
        if error.retry_after().is_some() {
            self.note(error);
        }
    }

    /// What a failed call means for the part.
    fn ended(&self, part: &Outbound, repetition: Repetition, error: &CallError) -> SendOutcome {
        self.note(error);
        let now = self.health.now();
        // The token is at fault, not the message: the gateway stops the channel with the fix.
        if let CallError::Refused { code: 401, .. } = error {
            return parts::retry_in(60, now, said(error));
        }
        parts::failed(error, repetition, part.attempts, now, said(error))
    }
}

/// What a failed call says, and what to do where a person can do something.
fn said(error: &CallError) -> String {
    let fix = match error {
        CallError::Refused { name, .. } => match name.as_str() {
            UNKNOWN_CHANNEL => "the channel is gone, or the bot shares no server with the person",
            "50001" => "let the bot's role see the channel",
            "50007" => {
                "the person takes no direct messages from this bot: they allow them in the server's privacy settings"
            }
            "50013" => {
                "give the bot's role Send Messages, Send Messages in Threads, Attach Files and Read Message History there"
            }
            _ => "",
        },
        CallError::NotSent { .. }
        | CallError::Lost { .. }
        | CallError::Server { .. }
        | CallError::Limited { .. } => "",
    };
    if fix.is_empty() {
        format!("Discord: {error}")
    } else {
        format!("Discord: {error}; {fix}")
    }
}
