//! One outbound part to Slack, and exactly what is known about it afterwards.
//!
//! A message is never sent a second time here unless Slack said that it did not take the first. Every message carries the
//! key of its part as metadata, so that a look tells whether it arrived.

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::channels::card::{self, CardLimit, Line};
use crate::channels::fields::text_at;
use crate::channels::health::HealthLog;
use crate::channels::http::CallError;
use crate::channels::pacing::Pacing;
use crate::channels::parts::{self, PIECE_TRIES, Repetition};
use crate::channels::platform::Platform;
use crate::channels::slack::api::Api;
use crate::channels::slack::fields::parse_conversation;
use crate::channels::slack::files;
use crate::channels::slack::memory::{Memory, is_user};
use crate::channels::slack::render;
use crate::channels::slack::words;
use crate::client::channel_port::ChannelPort;
use crate::protocol::approval::Approval;
use crate::protocol::bridge::{CardButton, FileRequest, Outbound, OutboundBody, SendOutcome};
use crate::protocol::channel::LengthUnit;
use crate::text::markdown::to_slack;

/// What the metadata of our messages is called.
pub const METADATA: &str = "leverframe_part";
/// The slots of all changes of messages together, which Slack counts for the whole workspace.
const UPDATES: &str = "chat.update";
/// Lengths of cards that are tried: their markup counts too.
const CARDS: &[usize] = &[7_000, 3_500, 1_500];
/// Longest text of a changed message.
const MAX_UPDATE: usize = 3_900;

/// Rates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rates {
    /// Between messages of a channel.
    pub channel: Duration,
    /// Between changes of messages, anywhere.
    pub updates: Duration,
}

/// Sends parts for one account.
pub struct Deliverer {
    /// Platform side.
    pub api: Api,
    /// Engine side.
    pub port: Arc<dyn ChannelPort>,
    /// Where exchanges are noted.
    pub health: Arc<HealthLog>,
    /// The platform's limits, which outlive a reconnect.
    pub pacing: Arc<Pacing>,
    /// What outlives a reconnect too.
    pub memory: Arc<Memory>,
    /// Rates.
    pub rates: Rates,
    /// Told when Slack refuses the bot token: the refusal.
    pub token_refused: watch::Sender<Option<CallError>>,
}

/// Where a message goes.
struct Target<'a> {
    channel: String,
    thread: Option<&'a str>,
}

#[async_trait]
impl Platform for Deliverer {
    fn may_send(&self, conversation: &str) -> Result<(), Duration> {
        let (channel, _) = parse_conversation(conversation);
        self.pacing
            .take(channel, self.rates.channel, Instant::now())
    }

    async fn deliver(&self, part: &Outbound) -> SendOutcome {
        let target = match self.target(&part.conversation).await {
            Ok(target) => target,
            Err(error) => return self.ended(part, Repetition::Harmless, &error),
        };
        let key = part.idempotency_key.as_str();
        match &part.body {
            OutboundBody::Markdown { text } => self.send_markdown(part, &target, text).await,
            OutboundBody::File(file) => {
                let content = match parts::file_content(self.port.as_ref(), file).await {
                    Ok(content) => content,
                    Err(outcome) => return outcome,
                };
                let place = (target.channel.as_str(), target.thread);
                match files::send(&self.api, place, file, content, key).await {
                    Ok(id) => self.sent(vec![id]),
                    Err(error) => self.ended(part, Repetition::Shows, &error),
                }
            }
            OutboundBody::Card { approval, buttons } => {
                let (message, whole) = question(approval, buttons);
                match self.post(&target, message, key, 0).await {
                    Ok(ts) => parts::accepted(&self.health, vec![ts], whole),
                    Err(error) => self.ended(part, Repetition::Shows, &error),
                }
            }
            OutboundBody::CardUpdate {
                approval,
                external_ref,
            } => {
                let message = blocks_message(&card::outcome(approval));
                match self.update(&target.channel, external_ref, message).await {
                    Ok(()) => self.sent(vec![external_ref.clone()]),
                    Err(error) => self.ended(part, Repetition::Harmless, &error),
                }
            }
        }
    }

    async fn typing(&self, conversation: &str) {
        // Slack has a status in threads only, and takes it away when a message comes.
        let (channel, Some(thread)) = parse_conversation(conversation) else {
            return;
        };
        if !self.memory.shows_status(channel)
            || !self.pacing.take_typing(conversation, Instant::now())
        {
            return;
        }
        let params = json!({
            "channel_id": channel, "thread_ts": thread, "status": "is working on it…",
        });
        match self.api.call("assistant.threads.setStatus", &params).await {
            Ok(_) => self.health.received(0),
            Err(error @ CallError::Limited { .. }) => self.note(channel, &error),
            // Not every workspace and channel has it; asking again would only cost.
            Err(CallError::Refused { .. }) => self.memory.without_status(channel),
            Err(CallError::NotSent { .. } | CallError::Lost { .. } | CallError::Server { .. }) => {}
        }
    }

    fn may_show_progress(&self, conversation: &str) -> bool {
        let (channel, _) = parse_conversation(conversation);
        let now = Instant::now();
        self.pacing.take(UPDATES, self.rates.updates, now).is_ok()
            && self.pacing.take_progress(channel, self.rates.channel, now)
    }

    async fn show_progress(
        &self,
        conversation: &str,
        shown: Option<&str>,
        text: &str,
    ) -> Option<String> {
        let target = self.target(conversation).await.ok()?;
        let text: String = to_slack(text).chars().take(MAX_UPDATE).collect();
        let message = json!({ "text": text });
        let done = match shown {
            Some(ts) => self
                .update(&target.channel, ts, message)
                .await
                .map(|()| Some(ts.to_owned())),
            None => self.post(&target, message, "progress", 0).await.map(Some),
        };
        done.unwrap_or_else(|error| {
            self.note_decoration(&target.channel, &error);
            shown.map(str::to_owned)
        })
    }

    async fn remove_progress(&self, conversation: &str, message_ref: &str) {
        let Ok(target) = self.target(conversation).await else {
            return;
        };
        let params = json!({ "channel": target.channel, "ts": message_ref });
        if let Err(error) = self.api.call("chat.delete", &params).await {
            self.note_decoration(&target.channel, &error);
        }
    }

    async fn fetch(&self, request: &FileRequest) -> Result<Vec<u8>, CallError> {
        files::fetch(&self.api, request).await
    }
}

impl Deliverer {
    async fn target<'a>(&self, conversation: &'a str) -> Result<Target<'a>, CallError> {
        let (channel, thread) = parse_conversation(conversation);
        let channel = if is_user(channel) {
            self.memory.direct(&self.api, channel).await?
        } else {
            channel.to_owned()
        };
        Ok(Target { channel, thread })
    }

    async fn send_markdown(&self, part: &Outbound, target: &Target<'_>, text: &str) -> SendOutcome {
        let texts = render::messages(text);
        let sent = parts::send_pieces(
            &texts,
            PIECE_TRIES,
            || self.may_send(&part.conversation),
            |text, at| self.post(target, json!({ "text": text }), &part.idempotency_key, at),
            |error| self.note(&target.channel, error),
        );
        match sent.await {
            Ok(external_refs) => self.sent(external_refs),
            Err((0, error)) => self.ended(part, Repetition::Shows, &error),
            Err((at, error)) => {
                self.note(&target.channel, &error);
                parts::partly_sent(at, texts.len(), &error.to_string())
            }
        }
    }

    /// One new message; its time, which is its id. `piece` counts the messages of one part.
    async fn post(
        &self,
        target: &Target<'_>,
        mut message: Value,
        key: &str,
        piece: usize,
    ) -> Result<String, CallError> {
        plainly(&mut message);
        message["channel"] = json!(target.channel);
        if let Some(thread) = target.thread {
            message["thread_ts"] = json!(thread);
        }
        message["unfurl_links"] = json!(false);
        message["unfurl_media"] = json!(false);
        message["metadata"] = metadata(key, piece);
        let said = self.api.call("chat.postMessage", &message).await?;
        text_at(&said, "/ts")
            .map(str::to_owned)
            // Taken, but without its id nothing can refer to it.
            .ok_or_else(|| CallError::lost("the answer to an accepted message names no time"))
    }

    /// Changes a message to this one; it loses its buttons.
    async fn update(&self, channel: &str, ts: &str, mut message: Value) -> Result<(), CallError> {
        plainly(&mut message);
        message["channel"] = json!(channel);
        message["ts"] = json!(ts);
        if message.get("blocks").is_none() {
            message["blocks"] = json!([]);
        }
        // All of our messages have metadata: one without is a sign that a look does not show them.
        message["metadata"] = metadata("changed", 0);
        self.api.call("chat.update", &message).await.map(drop)
    }

    fn sent(&self, external_refs: Vec<String>) -> SendOutcome {
        parts::accepted(&self.health, external_refs, true)
    }

    /// Tells health and pacing about a failed call.
    fn note(&self, channel: &str, error: &CallError) {
        if let Some(rest) = error.retry_after() {
            self.pacing.freeze(channel, rest, Instant::now());
        }
        if words::refuses_token(error) {
            self.token_refused.send_replace(Some(error.clone()));
        }
        self.health.send_failed(error, || error.to_string());
    }

    /// Heeds a 429 for something that nobody misses.
    fn note_decoration(&self, channel: &str, error: &CallError) {
        if error.retry_after().is_some() {
            self.note(channel, error);
        }
    }

    /// What a failed call means for the part.
    fn ended(&self, part: &Outbound, repetition: Repetition, error: &CallError) -> SendOutcome {
        let (channel, _) = parse_conversation(&part.conversation);
        self.note(channel, error);
        let (now, said) = (self.health.now(), error.to_string());
        // The token is at fault, not the message: the channel stops with the fix.
        if words::refuses_token(error) {
            return parts::retry_in(60, now, said);
        }
        let outcome = parts::failed(error, repetition, part.attempts, now, said);
        if matches!(outcome, SendOutcome::Unknown { .. }) {
            self.memory.lose(part.id);
        }
        outcome
    }
}

fn metadata(key: &str, piece: usize) -> Value {
    json!({ "event_type": METADATA, "event_payload": { "key": key, "piece": piece } })
}

/// Our text is all there is in it: names in it mention nobody.
fn plainly(message: &mut Value) {
    message["parse"] = json!("none");
    message["link_names"] = json!(false);
}

/// The message that asks, and whether it shows everything.
fn question(approval: &Approval, buttons: &[CardButton]) -> (Value, bool) {
    let mut shown = (json!({}), false);
    for max in CARDS {
        let limit = CardLimit {
            max: *max,
            unit: LengthUnit::Chars,
        };
        let card = card::question(approval, buttons, limit);
        let Some(mut blocks) = render::sections(&card.lines) else {
            continue;
        };
        blocks.extend(render::buttons(&card.buttons));
        shown = (message_of(&card.lines, blocks), card.whole);
        break;
    }
    shown
}

/// A message of lines, without buttons.
fn blocks_message(lines: &[Line]) -> Value {
    message_of(lines, render::sections(lines).unwrap_or_default())
}

fn message_of(lines: &[Line], blocks: Vec<Value>) -> Value {
    json!({ "text": render::fallback(lines), "blocks": blocks })
}
