//! Sends to the other system: in the answer of a waiting request, or to the channel's address.
//!
//! The receiver drops an id it has had, so an unanswered request is sent again.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use reqwest::Method;
use reqwest::header::CONTENT_TYPE;
use serde_json::Value;
use tokio::sync::mpsc;

use crate::channels::card::{self, CardLimit};
use crate::channels::health::HealthLog;
use crate::channels::http::{CallError, Http, by_status};
use crate::channels::pacing::{Pacing, PacingLimits};
use crate::channels::parts::{self, Repetition};
use crate::channels::platform::Platform;
use crate::channels::sync::lock;
use crate::channels::webhook::message::{OutgoingContent, OutgoingMessage, encode, inline_content};
use crate::channels::webhook::signature::{SIGNATURE_HEADER, TIMESTAMP_HEADER, sign};
use crate::client::channel_port::ChannelPort;
use crate::config::secret::Secret;
use crate::protocol::bridge::{
    FileRequest, Outbound, OutboundBody, SendOutcome, unescape_conversation,
};
use crate::protocol::channel::LengthUnit;
use crate::protocol::enums::OutboxClass;

/// Header with the id of what is sent.
const KEY_HEADER: &str = "idempotency-key";
/// Longest card, in characters.
const CARD: CardLimit = CardLimit {
    max: 20_000,
    unit: LengthUnit::Chars,
};
/// How often an answer that nobody waits for is tried, at growing intervals: about eight minutes.
const UNHEARD_TRIES: u32 = 12;
/// Longest interval between tries, as a power of two seconds.
const MAX_BACKOFF: u32 = 6;
/// Cards that wait for the next request of their conversation.
const MAX_RETURNED: usize = 200;

/// A request that waits for what the agent says.
#[derive(Debug)]
struct Waiter {
    /// Where it listens to everything; none = only answers to its own message are for it.
    conversation: Option<String>,
    said: mpsc::UnboundedSender<OutgoingMessage>,
}

#[derive(Debug, Default)]
struct Waiting {
    /// By the id of their message.
    requests: HashMap<String, Waiter>,
    /// What callers did not get who went away; the oldest first.
    returned: VecDeque<OutgoingMessage>,
}

/// Requests that wait.
#[derive(Debug, Clone, Default)]
pub struct Waiters {
    waiting: Arc<Mutex<Waiting>>,
}

impl Waiters {
    fn with<T>(&self, act: impl FnOnce(&mut Waiting) -> T) -> T {
        act(&mut lock(&self.waiting))
    }

    /// Waits from now on for answers to a message. A second request with the same id takes the place of the first.
    pub fn wait(&self, message: &str) -> mpsc::UnboundedReceiver<OutgoingMessage> {
        let (said, heard) = mpsc::unbounded_channel();
        let waiter = Waiter {
            conversation: None,
            said,
        };
        self.with(|waiting| waiting.requests.insert(message.to_owned(), waiter));
        heard
    }

    /// Waits from now on for everything in a conversation too, and gets what others of it did not get.
    pub fn listen(&self, message: &str, conversation: &str) {
        self.with(|waiting| {
            let Some(waiter) = waiting.requests.get_mut(message) else {
                return;
            };
            waiter.conversation = Some(conversation.to_owned());
            let all = std::mem::take(&mut waiting.returned);
            for returned in all {
                let is_its = returned.conversation == conversation;
                if !is_its || waiter.said.send(returned.clone()).is_err() {
                    waiting.returned.push_back(returned);
                }
            }
        });
    }

    /// No longer waits; what was said before.
    pub fn leave(
        &self,
        message: &str,
        mut heard: mpsc::UnboundedReceiver<OutgoingMessage>,
    ) -> Vec<OutgoingMessage> {
        heard.close();
        self.with(|waiting| {
            let waiter = waiting.requests.get(message);
            if waiter.is_some_and(|waiter| waiter.said.is_closed()) {
                waiting.requests.remove(message);
            }
        });
        let mut said = Vec::new();
        while let Ok(message) = heard.try_recv() {
            said.push(message);
        }
        said
    }

    /// Takes back what a caller did not get. Replies, notices and files come again when the caller repeats its message.
    /// Cards are for the next request of their conversation.
    pub fn put_back(&self, messages: Vec<OutgoingMessage>) {
        for message in messages {
            let is_card = match &message.content {
                OutgoingContent::Card { .. } | OutgoingContent::CardUpdate { .. } => true,
                OutgoingContent::Reply { .. }
                | OutgoingContent::Notice { .. }
                | OutgoingContent::File { .. } => false,
            };
            if !is_card || self.tell(&message) {
                continue;
            }
            self.with(|waiting| {
                if waiting.returned.len() >= MAX_RETURNED
                    && let Some(lost) = waiting.returned.pop_front()
                {
                    tracing::warn!(id = %lost.id, "no request comes for a card; it is dropped");
                }
                waiting.returned.push_back(message);
            });
        }
    }

    /// Gives it to the request whose message it answers, else to one of the same conversation.
    fn tell(&self, message: &OutgoingMessage) -> bool {
        self.with(|waiting| {
            let requests = &waiting.requests;
            let named = message.reply_to.as_ref().and_then(|id| requests.get(id));
            let here = requests
                .values()
                .filter(|waiter| waiter.conversation.as_ref() == Some(&message.conversation));
            let mut waiters = named.into_iter().chain(here);
            waiters.any(|waiter| waiter.said.send(message.clone()).is_ok())
        })
    }
}

/// Where a channel's outgoing messages go.
pub struct Callback {
    /// Its client.
    pub http: Http,
    /// The address.
    pub url: String,
}

/// Sends parts for one channel.
pub struct Deliverer {
    port: Arc<dyn ChannelPort>,
    health: Arc<HealthLog>,
    secret: Secret,
    callback: Option<Callback>,
    waiters: Waiters,
    pacing: Pacing,
}

impl Deliverer {
    /// A deliverer on these.
    pub fn new(
        port: Arc<dyn ChannelPort>,
        health: Arc<HealthLog>,
        secret: Secret,
        callback: Option<Callback>,
        waiters: Waiters,
    ) -> Self {
        Self {
            port,
            health,
            secret,
            callback,
            waiters,
            pacing: Pacing::new(PacingLimits {
                typing: Duration::from_mins(1),
                progress: 1,
                overall: Duration::from_millis(5),
                burst: 100,
            }),
        }
    }

    async fn post(&self, callback: &Callback, message: &OutgoingMessage) -> Result<(), CallError> {
        let not_sent = |detail: String| CallError::NotSent { detail };
        let body = serde_json::to_vec(message).map_err(|error| not_sent(error.to_string()))?;
        let seconds = self.health.now().as_millis() / 1000;
        let signature = sign(&self.secret, seconds, &body)
            .ok_or_else(|| not_sent("the secret of the channel cannot sign".to_owned()))?;
        let request = callback
            .http
            .request_to(Method::POST, &callback.url)
            .header(CONTENT_TYPE, "application/json")
            .header(TIMESTAMP_HEADER, seconds.to_string())
            .header(SIGNATURE_HEADER, signature)
            .header(KEY_HEADER, &message.id)
            .body(body);
        let answer = callback.http.send(request, None).await?;
        if (200..300).contains(&answer.status) {
            return Ok(());
        }
        let detail = answer.body.get("error").and_then(Value::as_str);
        let detail = callback.http.scrub(detail.unwrap_or("no description"));
        Err(match answer.status {
            // It asks for time with a status of its own.
            503 if answer.retry_after().is_some() => CallError::Limited {
                retry_after: answer.retry_after().unwrap_or_default(),
                everything: true,
            },
            // A redirect is not followed, and nothing was taken.
            300..=399 => CallError::refused(
                answer.status,
                "it answers with another address; set callback_url to that one",
            ),
            _ => by_status(&answer, &detail),
        })
    }

    fn ended(&self, part: &Outbound, error: &CallError) -> SendOutcome {
        if let Some(rest) = error.retry_after() {
            self.pacing.freeze_all(rest, Instant::now());
        }
        self.health.send_failed(error, || error.to_string());
        // The other side drops what it has had under the same id.
        let (now, said) = (self.health.now(), error.to_string());
        parts::failed(error, Repetition::Harmless, part.attempts, now, said)
    }
}

#[async_trait]
impl Platform for Deliverer {
    fn may_send(&self, conversation: &str) -> Result<(), Duration> {
        self.pacing
            .take(conversation, Duration::ZERO, Instant::now())
    }

    async fn deliver(&self, part: &Outbound) -> SendOutcome {
        let (message, whole) = match outgoing(self.port.as_ref(), part).await {
            Ok(message) => message,
            Err(error) => return SendOutcome::Failed { error },
        };
        let external_refs = vec![message.id.clone()];
        match &self.callback {
            Some(callback) => {
                if let Err(error) = self.post(callback, &message).await {
                    return self.ended(part, &error);
                }
            }
            None if self.waiters.tell(&message) => {}
            None if matches!(message.content, OutgoingContent::Notice { .. }) => {
                // Nobody asked for it, and it is no answer.
                return parts::never("nobody waits, and the channel has no callback_url");
            }
            None if part.attempts >= UNHEARD_TRIES => {
                return parts::never(
                    "nobody waits for the answer: set callback_url under the channel, or post the message again \
                            with `Prefer: wait=60`",
                );
            }
            None => {
                return parts::retry_in(
                    1 << part.attempts.min(MAX_BACKOFF),
                    self.health.now(),
                    "no request waits for the answer, and the channel has no callback_url"
                        .to_owned(),
                );
            }
        }
        parts::accepted(&self.health, external_refs, whole)
    }

    async fn fetch(&self, request: &FileRequest) -> Result<Vec<u8>, CallError> {
        let content = inline_content(&request.reference)
            .ok_or_else(|| CallError::refused(404, "the file did not come with its message"))?;
        if content.len() as u64 > request.max_bytes {
            return Err(CallError::too_large(request.max_bytes));
        }
        Ok(content)
    }
}

/// A part as the other system gets it, and whether it shows everything.
pub async fn outgoing(
    port: &dyn ChannelPort,
    part: &Outbound,
) -> Result<(OutgoingMessage, bool), String> {
    let mut whole = true;
    let content = match &part.body {
        OutboundBody::Markdown { text } => match part.class {
            OutboxClass::Final => OutgoingContent::Reply { text: text.clone() },
            OutboxClass::Notice
            | OutboxClass::Progress
            | OutboxClass::ApprovalCard
            | OutboxClass::CardUpdate => OutgoingContent::Notice { text: text.clone() },
        },
        OutboundBody::File(file) => {
            let content = port.file_content(file.artifact.hash).await;
            let content =
                content.map_err(|problem| format!("the file cannot be read: {problem}"))?;
            OutgoingContent::File {
                name: file.name.clone(),
                media_type: file.artifact.media_type.clone(),
                data: encode(&content),
            }
        }
        OutboundBody::Card { approval, buttons } => {
            let card = card::question(approval, buttons, CARD);
            whole = card.whole;
            OutgoingContent::Card {
                text: card::plain_text(&card.lines),
                buttons: card.buttons,
            }
        }
        OutboundBody::CardUpdate {
            approval,
            external_ref,
        } => OutgoingContent::CardUpdate {
            card: external_ref.clone(),
            text: card::plain_text(&card::outcome(approval)),
        },
    };
    let message = OutgoingMessage {
        id: part.idempotency_key.clone(),
        conversation: unescape_conversation(&part.conversation),
        reply_to: part.reply_to.clone(),
        content,
    };
    Ok((message, whole))
}
