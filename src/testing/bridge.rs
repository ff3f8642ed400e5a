//! A bridge for tests, to a platform on loopback that is asked over plain HTTP. Configured as `kind = "scripted"` with
//! an `api_base`.
//!
//! The last segment of `api_base` says what the platform offers against doubled sends: `native` (keys for ever),
//! `native-60000` (keys for so many milliseconds), `reconcile` (it can be asked), `none`.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::channels::channel::{Bridge, ChannelError};
use crate::client::channel_port::ChannelPort;
use crate::clock::Clock;
use crate::config::settings::ChannelSettings;
use crate::protocol::bridge::{
    Delivery, Inbound, InboundBody, Outbound, OutboundBody, SendOutcome, Sender,
};
use crate::protocol::channel::{ChannelCapabilities, ChannelHealth, LengthUnit, SendIdempotency};
use crate::protocol::enums::{ChannelKind, ChannelState};

/// Between two looks for messages.
const POLL: Duration = Duration::from_millis(20);
/// Longest wait for the platform.
const ANSWER_WITHIN: Duration = Duration::from_secs(2);

/// The bridge.
pub struct TestBridge {
    base: String,
    idempotency: SendIdempotency,
    clock: Clock,
}

/// The bridge of a scripted channel with an `api_base`.
pub fn build(settings: &ChannelSettings, clock: &Clock) -> Option<Box<dyn Bridge>> {
    let scripted = settings.kind == ChannelKind::Scripted && !settings.platform.api_base.is_empty();
    scripted.then(|| {
        let bridge = TestBridge::new(&settings.platform.api_base, clock.clone());
        Box::new(bridge) as Box<dyn Bridge>
    })
}

/// A message as the platform tells it.
#[derive(Debug, Deserialize)]
struct Message {
    /// Position, from 1.
    n: u64,
    conversation: String,
    from: String,
    text: String,
}

/// What the platform answers to a send, or to being asked about one.
#[derive(Debug, Deserialize)]
struct Shown {
    reference: String,
}

impl TestBridge {
    /// A bridge to `api_base`.
    pub fn new(api_base: &str, clock: Clock) -> Self {
        let (base, mode) = api_base.rsplit_once('/').unwrap_or((api_base, ""));
        let idempotency = match mode.split_once('-') {
            Some(("native", window)) => SendIdempotency::NativeKey {
                window_ms: window.parse().ok(),
            },
            None if mode == "native" => SendIdempotency::NativeKey { window_ms: None },
            None if mode == "reconcile" => SendIdempotency::Reconcile,
            Some(_) | None => SendIdempotency::None,
        };
        Self {
            base: base.to_owned(),
            idempotency,
            clock,
        }
    }

    fn client() -> Result<reqwest::Client, ChannelError> {
        // Needed once per process even for plain HTTP; a second installation is refused, which is fine.
        let _ = rustls::crypto::ring::default_provider().install_default();
        reqwest::Client::builder()
            .no_proxy()
            .timeout(ANSWER_WITHIN)
            .build()
            .map_err(|error| transient(&error))
    }

    async fn poll(
        &self,
        client: &reqwest::Client,
        port: &Arc<dyn ChannelPort>,
        after: &mut u64,
    ) -> Result<(), ChannelError> {
        let messages: Vec<Message> = client
            .get(format!("{}/messages?after={after}", self.base))
            .send()
            .await
            .map_err(|error| transient(&error))?
            .json()
            .await
            .map_err(|error| transient(&error))?;
        for message in messages {
            let inbound = Inbound {
                dedupe_key: format!("message:{}", message.n),
                cursor: Some(message.n.to_string()),
                conversation: message.conversation,
                conversation_title: None,
                sender: Some(Sender {
                    id: message.from.clone(),
                    display: message.from,
                    is_bot: false,
                }),
                body: InboundBody::Text {
                    text: message.text,
                    direct: true,
                    addressed: true,
                    indirect: false,
                    files: Vec::new(),
                    group: None,
                },
                message_ref: Some(message.n.to_string()),
            };
            port.ingest(inbound)
                .await
                .map_err(|problem| ChannelError::Transient {
                    detail: problem.to_string(),
                    retry_after: None,
                })?;
            *after = message.n;
        }
        Ok(())
    }

    async fn send(&self, client: &reqwest::Client, part: &Outbound) -> SendOutcome {
        let text = match &part.body {
            OutboundBody::Markdown { text } => text.clone(),
            OutboundBody::File(file) => format!("file {}", file.name),
            OutboundBody::Card { approval, .. } => format!("card {}", approval.short_code),
            OutboundBody::CardUpdate { external_ref, .. } => {
                return SendOutcome::Sent {
                    external_refs: vec![external_ref.clone()],
                };
            }
        };
        let sent = client
            .post(format!("{}/send", self.base))
            .json(&json!({
                "key": part.idempotency_key,
                "conversation": part.conversation,
                "text": text,
            }))
            .send()
            .await;
        let unknown = |detail: &str| SendOutcome::Unknown {
            detail: detail.to_owned(),
        };
        match sent {
            Ok(answer) if answer.status().is_success() => match answer.json::<Shown>().await {
                Ok(shown) => SendOutcome::Sent {
                    external_refs: vec![shown.reference],
                },
                Err(_) => unknown("the platform's answer broke off"),
            },
            Ok(answer) if answer.status().is_client_error() => SendOutcome::Failed {
                error: format!("refused: {}", answer.status()),
            },
            Err(error) if error.is_connect() => SendOutcome::Retry {
                not_before: self.clock.now().plus_millis(200),
                error: "the platform cannot be reached".to_owned(),
            },
            Ok(_) | Err(_) => unknown("the platform did not answer"),
        }
    }

    fn connected(&self, port: &Arc<dyn ChannelPort>) {
        port.health().report(
            ChannelHealth {
                state: ChannelState::Connected,
                detail: None,
                last_exchange_at: Some(self.clock.now()),
                last_inbound_at: None,
                last_outbound_at: None,
                reconnects: 0,
                rate_limited_until: None,
            },
            Some("the platform of tests".to_owned()),
        );
    }
}

fn transient(error: &reqwest::Error) -> ChannelError {
    ChannelError::Transient {
        detail: format!("the platform cannot be asked: {error}"),
        retry_after: None,
    }
}

#[async_trait]
impl Bridge for TestBridge {
    fn kind(&self) -> ChannelKind {
        ChannelKind::Scripted
    }

    fn capabilities(&self) -> ChannelCapabilities {
        ChannelCapabilities {
            max_length: 1_000,
            unit: LengthUnit::Chars,
            edits: true,
            buttons: false,
            typing: false,
            idempotency: self.idempotency,
        }
    }

    async fn look_up(&self, part: &Outbound) -> Delivery {
        let unclear = |detail: &str| Delivery::Unclear {
            detail: detail.to_owned(),
        };
        let Ok(client) = Self::client() else {
            return unclear("no client");
        };
        let url = format!("{}/sent/{}", self.base, part.idempotency_key);
        match client.get(url).send().await {
            Ok(answer) if answer.status().is_success() => match answer.json::<Shown>().await {
                Ok(shown) => Delivery::Sent {
                    external_refs: vec![shown.reference],
                },
                Err(_) => unclear("the platform's answer broke off"),
            },
            Ok(answer) if answer.status().as_u16() == 404 => Delivery::NotSent,
            Ok(_) => unclear("the platform would not say"),
            Err(_) => unclear("the platform cannot be asked"),
        }
    }

    async fn run(
        &self,
        port: Arc<dyn ChannelPort>,
        shutdown: CancellationToken,
    ) -> Result<(), ChannelError> {
        let client = Self::client()?;
        port.set_capabilities(self.capabilities());
        let state = port
            .account_state()
            .await
            .map_err(|problem| ChannelError::Transient {
                detail: problem.to_string(),
                retry_after: None,
            })?;
        let mut after = state
            .cursor
            .and_then(|cursor| cursor.parse().ok())
            .unwrap_or(0);
        loop {
            tokio::select! {
                biased;
                () = shutdown.cancelled() => return Ok(()),
                lease = port.next() => {
                    let Ok(mut lease) = lease else {
                        tokio::time::sleep(POLL).await;
                        continue;
                    };
                    let id = lease.part().id;
                    if let Err(problem) = lease.begin().await {
                        tracing::warn!(%id, %problem, "cannot begin a send");
                        tokio::time::sleep(POLL).await;
                        continue;
                    }
                    crate::crash_point!("send.started");
                    let outcome = self.send(&client, lease.part()).await;
                    crate::crash_point!("send.effect_done");
                    if let Err(problem) = lease.finish(outcome).await {
                        tracing::warn!(%id, %problem, "cannot record the outcome of a send");
                    }
                    crate::crash_point!("send.post");
                }
                () = tokio::time::sleep(POLL) => {
                    self.poll(&client, &port, &mut after).await?;
                    self.connected(&port);
                }
            }
        }
    }
}
