//! The bridge of one webhook channel: takes signed requests, and answers each once its message is durable.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::sync::mpsc::{Receiver as RequestReceiver, UnboundedReceiver};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::channels::channel::{Bridge, ChannelError};
use crate::channels::health::HealthLog;
use crate::channels::http::{Http, HttpTimes};
use crate::channels::webhook::deliver::{Callback, Deliverer, Waiters, outgoing};
use crate::channels::webhook::message::{
    IncomingMessage, OutgoingContent, OutgoingMessage, inbound,
};
use crate::channels::webhook::signature::{self, SignatureFault};
use crate::channels::{intake, serve};
use crate::client::channel_port::ChannelPort;
use crate::client::webhooks::{WEBHOOK_PATH, WebhookAnswer, WebhookRequest, Webhooks};
use crate::clock::Clock;
use crate::config::platform::PlatformSettings;
use crate::config::secret::Secret;
use crate::protocol::bridge::{Ingestion, unescape_conversation};
use crate::protocol::channel::{ChannelCapabilities, LengthUnit, SendIdempotency};
use crate::protocol::doctor::Finding;
use crate::protocol::enums::{ChannelKind, Disposition};
use crate::protocol::problem::Problem;

/// How long a request that waits is kept for what follows its reply: files, further parts.
const TAIL: Duration = Duration::from_millis(300);
/// A secret shorter than this is guessed.
const MIN_SECRET: usize = 16;

/// One webhook channel.
pub struct WebhookBridge {
    name: String,
    secret: Option<Secret>,
    callback_url: Option<String>,
    webhooks: Webhooks,
    clock: Clock,
}

impl WebhookBridge {
    /// A bridge for the channel `name`; takes requests when run.
    pub fn new(name: &str, settings: &PlatformSettings, webhooks: Webhooks, clock: Clock) -> Self {
        Self {
            name: name.to_owned(),
            secret: settings.secret.clone(),
            callback_url: settings.callback_url.clone(),
            webhooks,
            clock,
        }
    }

    fn place(&self) -> String {
        format!("{WEBHOOK_PATH}{}", self.name)
    }

    fn callback(&self, secret: &Secret) -> Result<Option<Callback>, ChannelError> {
        let Some(url) = &self.callback_url else {
            return Ok(None);
        };
        let http =
            Http::new(url, vec![secret.clone()], HttpTimes::default()).map_err(|detail| {
                ChannelError::fatal(
                    format!("no HTTP client: {detail}"),
                    "check that this machine has CA certificates",
                )
            })?;
        let url = url.clone();
        Ok(Some(Callback { http, url }))
    }
}

#[async_trait]
impl Bridge for WebhookBridge {
    fn kind(&self) -> ChannelKind {
        ChannelKind::Webhook
    }

    fn capabilities(&self) -> ChannelCapabilities {
        ChannelCapabilities {
            max_length: 100_000,
            unit: LengthUnit::Chars,
            edits: false,
            buttons: true,
            typing: false,
            idempotency: SendIdempotency::NativeKey { window_ms: None },
        }
    }

    async fn check(&self) -> Vec<Finding> {
        let secret = self.secret.as_ref().map_or(0, |one| one.expose().len());
        let found = format!("{secret} characters");
        let place = self.place();
        vec![
            if secret < MIN_SECRET {
                Finding::warn("secret", found, "make a longer one: `openssl rand -hex 32`")
            } else {
                Finding::ok("secret", found)
            },
            Finding::ok(
                "requests",
                format!("taken at {place} of the daemon's addresses"),
            ),
            match &self.callback_url {
                Some(url) => Finding::ok("replies", format!("posted to {url}")),
                None => Finding::warn(
                    "replies",
                    "only in the answers of requests that wait",
                    "set callback_url to get each reply, card and file",
                ),
            },
        ]
    }

    async fn run(
        &self,
        port: Arc<dyn ChannelPort>,
        shutdown: CancellationToken,
    ) -> Result<(), ChannelError> {
        let secret = self.secret.clone().filter(|one| !one.expose().is_empty());
        let Some(secret) = secret else {
            return Err(ChannelError::fatal(
                format!("channel `{}` has no secret", self.name),
                "let its `secret_env`, `secret_file` or `secret_command` give one",
            ));
        };
        let callback = self.callback(&secret)?;
        port.set_capabilities(self.capabilities());
        let health = Arc::new(HealthLog::new(Arc::clone(&port), self.clock.clone()));
        let waiters = Waiters::default();
        let waits = callback.is_none();
        let deliverer = Arc::new(Deliverer::new(
            Arc::clone(&port),
            Arc::clone(&health),
            secret.clone(),
            callback,
            waiters.clone(),
        ));
        let requests = self.webhooks.open(&self.name);
        health.listening(self.place());
        let receiver = Receiver {
            channel: self.name.clone(),
            secret,
            clock: self.clock.clone(),
            port: Arc::clone(&port),
            health,
            waiters,
            waits,
            met: AtomicBool::new(false),
        };
        tokio::join!(
            receive(Arc::new(receiver), requests, shutdown.clone()),
            serve::run(port, deliverer, shutdown.clone()),
        );
        Ok(())
    }
}

/// What a request is looked at with.
struct Receiver {
    channel: String,
    secret: Secret,
    clock: Clock,
    port: Arc<dyn ChannelPort>,
    health: Arc<HealthLog>,
    waiters: Waiters,
    /// Whether replies go into answers.
    waits: bool,
    /// Whether a genuine request came since this run began.
    met: AtomicBool,
}

async fn receive(
    receiver: Arc<Receiver>,
    mut requests: RequestReceiver<WebhookRequest>,
    stop: CancellationToken,
) {
    let waiting = TaskTracker::new();
    loop {
        let request = tokio::select! {
            biased;
            () = stop.cancelled() => break,
            request = requests.recv() => match request {
                Some(request) => request,
                // Another run of this channel took over.
                None => {
                    stop.cancelled().await;
                    break;
                }
            },
        };
        // One after the other, so that messages of one caller keep their order.
        match receiver.take(&request).await {
            RequestOutcome::Answer(answer, messages) => {
                if request.answer.send(answer).is_err() {
                    receiver.waiters.put_back(messages);
                }
            }
            RequestOutcome::Waits { id, heard, limit } => {
                let (receiver, stop) = (Arc::clone(&receiver), stop.clone());
                waiting.spawn(async move {
                    let caller = request.answer;
                    receiver.reply(&id, heard, limit, caller, &stop).await;
                });
            }
        }
    }
    waiting.close();
    waiting.wait().await;
}

/// What became of a request.
enum RequestOutcome {
    /// Nothing more happens. The messages are those of the answer that were said to this request.
    Answer(WebhookAnswer, Vec<OutgoingMessage>),
    /// Its message is durable, and it waits for what the agent says.
    Waits {
        id: String,
        heard: UnboundedReceiver<OutgoingMessage>,
        limit: Duration,
    },
}

impl From<WebhookAnswer> for RequestOutcome {
    fn from(answer: WebhookAnswer) -> Self {
        Self::Answer(answer, Vec::new())
    }
}

impl Receiver {
    async fn take(&self, request: &WebhookRequest) -> RequestOutcome {
        if let Err(fault) = signature::verify(
            &self.secret,
            self.clock.now(),
            &request.headers,
            &request.body,
        ) {
            tracing::warn!(channel = %self.channel, %fault, "refused a request that is not genuine");
            // Strangers knock at every public address. Before the system was heard once, it may be its secret that is wrong.
            let is_ours = matches!(fault, SignatureFault::Time(_));
            if is_ours || !self.met.load(Ordering::Relaxed) {
                let why = format!("a request that is not genuine was refused: {fault}");
                self.health.note("signature", Some(why));
            }
            return refusal(401, &fault.to_string()).into();
        }
        self.met.store(true, Ordering::Relaxed);
        self.health.note("signature", None);
        let message: IncomingMessage = match serde_json::from_slice(&request.body) {
            Ok(message) => message,
            Err(error) => {
                self.health.received(0);
                return refusal(400, &format!("the body: {error}")).into();
            }
        };
        let item = match inbound(message) {
            Ok(item) => item,
            Err(problem) => {
                self.health.received(0);
                return refusal(400, &problem).into();
            }
        };
        let id = item.dedupe_key.clone();
        // Before the message is durable: a quick reply finds who waits for it.
        let limit = request.wait.filter(|_| self.waits);
        let conversation = unescape_conversation(&item.conversation);
        let waits = limit.map(|limit| (self.waiters.wait(&id), limit));
        let taken = intake::take_in(self.port.as_ref(), &self.health, &self.channel, item).await;
        let is_turn = matches!(&taken, Ok(Some(ingested))
            if matches!(ingested.disposition, Disposition::Turn | Disposition::Command));
        let heard = match (waits, is_turn) {
            (Some((heard, limit)), true) => {
                self.health.received(1);
                if let Ok(Some(ingested)) = &taken
                    && let Some(mut messages) = self.said_before(&id, ingested).await
                {
                    let heard = self.waiters.leave(&id, heard);
                    let known = |one: &&OutgoingMessage| !messages.iter().any(|m| m.id == one.id);
                    let more: Vec<OutgoingMessage> = heard.iter().filter(known).cloned().collect();
                    messages.extend(more);
                    return RequestOutcome::Answer(repeated(&messages), heard);
                }
                self.waiters.listen(&id, &conversation);
                return RequestOutcome::Waits { id, heard, limit };
            }
            (Some((heard, _)), false) => self.waiters.leave(&id, heard),
            (None, _) => Vec::new(),
        };
        let mut answer = self.taken(taken, is_turn);
        if !heard.is_empty() {
            answer.body["messages"] = json!(heard);
        }
        RequestOutcome::Answer(answer, heard)
    }

    /// The answer to a message that nobody waits with.
    fn taken(&self, taken: Result<Option<Ingestion>, Problem>, is_turn: bool) -> WebhookAnswer {
        match taken {
            Ok(Some(ingested)) => {
                self.health.received(1);
                let state = if ingested.repeated {
                    "repeated"
                } else {
                    "accepted"
                };
                let mut body = json!({ "state": state });
                if !is_turn {
                    body["disposition"] = json!(ingested.disposition);
                    body["feedback"] = json!(ingested.feedback);
                }
                answer(202, body)
            }
            Ok(None) => refusal(422, "it can never be stored"),
            Err(problem) => {
                self.health
                    .receive_failing(format!("messages cannot be stored: {problem}"));
                WebhookAnswer {
                    status: 503,
                    retry_after: Some(Duration::from_secs(2)),
                    body: json!({ "error": "not stored; send it again" }),
                }
            }
        }
    }

    /// What the agent said to a message that came before; none while it may say more.
    async fn said_before(&self, id: &str, ingested: &Ingestion) -> Option<Vec<OutgoingMessage>> {
        if !ingested.repeated {
            return None;
        }
        let answer = self.port.settled_answer(ingested.continuation_id, id).await;
        let parts = match answer {
            Ok(parts) => parts?,
            Err(problem) => {
                // The request waits, as for a message that is new.
                tracing::warn!(channel = %self.channel, %problem, "cannot read earlier replies");
                return None;
            }
        };
        let mut messages = Vec::new();
        for part in &parts {
            match outgoing(self.port.as_ref(), part).await {
                Ok((message, _)) => messages.push(message),
                Err(problem) => {
                    tracing::warn!(channel = %self.channel, %problem, "cannot send a part again");
                }
            }
        }
        Some(messages)
    }

    /// Answers with what the agent says to a message within `limit`.
    async fn reply(
        &self,
        id: &str,
        mut heard: UnboundedReceiver<OutgoingMessage>,
        limit: Duration,
        mut caller: oneshot::Sender<WebhookAnswer>,
        stop: &CancellationToken,
    ) {
        let mut messages: Vec<OutgoingMessage> = Vec::new();
        let mut end = tokio::time::Instant::now() + limit;
        let mut answered = false;
        loop {
            let message = tokio::select! {
                message = heard.recv() => message,
                () = tokio::time::sleep_until(end) => break,
                () = stop.cancelled() => break,
                // Nobody hears what is said from here on.
                () = caller.closed() => break,
            };
            let Some(message) = message else { break };
            let reply = matches!(message.content, OutgoingContent::Reply { .. });
            let ours = message.reply_to.as_deref().is_none_or(|to| to == id);
            messages.push(message);
            if reply && ours {
                answered = true;
                // Not behind the time that the caller waits.
                end = end.min(tokio::time::Instant::now() + TAIL);
            }
        }
        messages.extend(self.waiters.leave(id, heard));
        let answer = said(answered, "accepted", &messages);
        if caller.send(answer).is_err() {
            self.waiters.put_back(messages);
        }
    }
}

/// The answer to a message that came before and to which nothing more will be said.
fn repeated(messages: &[OutgoingMessage]) -> WebhookAnswer {
    let answered = messages
        .iter()
        .any(|message| matches!(message.content, OutgoingContent::Reply { .. }));
    said(answered, "repeated", messages)
}

/// What the agent said to a message; `otherwise` is its state where that is no reply.
fn said(answered: bool, otherwise: &str, messages: &[OutgoingMessage]) -> WebhookAnswer {
    let (status, state) = if answered {
        (200, "answered")
    } else {
        (202, otherwise)
    };
    answer(status, json!({ "state": state, "messages": messages }))
}

fn answer(status: u16, body: Value) -> WebhookAnswer {
    WebhookAnswer {
        status,
        retry_after: None,
        body,
    }
}

fn refusal(status: u16, error: &str) -> WebhookAnswer {
    answer(status, json!({ "error": error }))
}
