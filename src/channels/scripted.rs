//! The demo's visitors: phrases said on a gentle random schedule, through the same port as any platform.
//!
//! Nothing here decides or answers; the schedule depends only on the seed and on when replies come.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::channels::channel::{Bridge, ChannelError};
use crate::channels::sync::lock;
use crate::client::channel_port::{ChannelPort, Lease};
use crate::clock::{Clock, Timestamp};
use crate::protocol::bridge::{Inbound, InboundBody, Outbound, OutboundBody, SendOutcome, Sender};
use crate::protocol::channel::{ChannelCapabilities, ChannelHealth, LengthUnit, SendIdempotency};
use crate::protocol::enums::{ChannelKind, ChannelState, Disposition, OutboxClass};

/// Rest after the port refused something.
const REST: Duration = Duration::from_secs(1);

/// When visitors speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schedule {
    /// Shortest time between two messages on the channel.
    pub min_interval: Duration,
    /// Longest time between two messages on the channel.
    pub max_interval: Duration,
    /// Longest wait for a reply before the visitor says the next thing all the same.
    pub longest_silence: Duration,
    /// Same seed, same order and intervals.
    pub seed: u64,
}

impl Schedule {
    /// A message somewhere between these two times, and 90 seconds of patience.
    pub fn gentle(min_interval: Duration, max_interval: Duration, seed: u64) -> Self {
        Self {
            min_interval,
            max_interval,
            longest_silence: Duration::from_secs(90),
            seed,
        }
    }
}

/// Where a visitor's conversation stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Talk {
    /// Nothing is owed.
    Quiet,
    /// A reply is owed since then.
    Waiting(Instant),
    /// A person has to decide something first; the visitor keeps quiet.
    Held,
}

/// A channel of visitors who say these phrases, each visitor in a conversation of their own.
pub struct ScriptedBridge {
    script: Vec<(String, String)>,
    schedule: Schedule,
    clock: Clock,
    progress: Mutex<Progress>,
}

/// What outlives a reconnect.
#[derive(Debug)]
struct Progress {
    random: u64,
    said: u64,
    // Which lines of the script were said at least once.
    introduced: Vec<bool>,
    delivered: u64,
    talks: HashMap<String, Talk>,
    inbound_at: Option<Timestamp>,
    outbound_at: Option<Timestamp>,
}

impl ScriptedBridge {
    /// Visitors and their phrases; a visitor may have several. All are said once in this order, as far as visitors
    /// are free to speak, then in any. An empty script says nothing.
    pub fn new(script: Vec<(String, String)>, schedule: Schedule, clock: Clock) -> Self {
        let introduced = vec![false; script.len()];
        Self {
            script,
            schedule,
            clock,
            progress: Mutex::new(Progress {
                random: schedule.seed,
                said: 0,
                introduced,
                delivered: 0,
                talks: HashMap::new(),
                inbound_at: None,
                outbound_at: None,
            }),
        }
    }

    fn with<T>(&self, act: impl FnOnce(&mut Progress) -> T) -> T {
        act(&mut lock(&self.progress))
    }

    fn next_interval(&self) -> Duration {
        // Whoever just opened the demo should not look at an empty screen.
        if self.with(|progress| progress.said) == 0 {
            return self.schedule.min_interval / 4;
        }
        let span = self
            .schedule
            .max_interval
            .saturating_sub(self.schedule.min_interval);
        let part = self.with(|progress| random(&mut progress.random)) >> 11;
        self.schedule.min_interval + span.mul_f64(part as f64 / (1_u64 << 53) as f64)
    }

    /// The next phrase of a visitor whose conversation is quiet; none while all wait for something.
    fn next_phrase(&self) -> Option<(String, String)> {
        self.with(|progress| {
            let now = Instant::now();
            let free: Vec<usize> = self
                .script
                .iter()
                .enumerate()
                .filter(
                    |(_, (visitor, _))| match progress.talks.get(&conversation(visitor)) {
                        None | Some(Talk::Quiet) => true,
                        Some(Talk::Waiting(since)) => {
                            now.duration_since(*since) >= self.schedule.longest_silence
                        }
                        Some(Talk::Held) => false,
                    },
                )
                .map(|(line, _)| line)
                .collect();
            if free.is_empty() {
                return None;
            }
            let new = free.iter().find(|line| !progress.introduced[**line]);
            let line = match new {
                Some(line) => *line,
                None => free[(random(&mut progress.random) % free.len() as u64) as usize],
            };
            progress.introduced[line] = true;
            self.script.get(line).cloned()
        })
    }

    async fn say(&self, port: &Arc<dyn ChannelPort>, epoch: &str, visitor: &str, phrase: &str) {
        let conversation = conversation(visitor);
        let number = self.with(|progress| {
            progress.said += 1;
            progress
                .talks
                .insert(conversation.clone(), Talk::Waiting(Instant::now()));
            progress.said
        });
        let said = port
            .ingest(Inbound {
                dedupe_key: format!("say:{epoch}:{number}"),
                cursor: None,
                conversation: conversation.clone(),
                conversation_title: Some(visitor.to_owned()),
                sender: Some(Sender {
                    id: slug(visitor),
                    display: visitor.to_owned(),
                    is_bot: false,
                }),
                body: InboundBody::Text {
                    text: phrase.to_owned(),
                    // They speak where others read along.
                    direct: false,
                    addressed: true,
                    indirect: false,
                    files: Vec::new(),
                    group: None,
                },
                message_ref: Some(format!("{epoch}-{number}")),
            })
            .await;
        match said {
            Ok(ingested) => {
                self.with(|progress| {
                    progress.inbound_at = Some(self.clock.now());
                    if ingested.disposition != Disposition::Turn {
                        // No turn, so no reply is owed.
                        progress.talks.insert(conversation, Talk::Quiet);
                    }
                });
                self.report(port);
            }
            Err(problem) => {
                tracing::warn!(%problem, "cannot store the message of a scripted visitor");
                self.with(|progress| progress.talks.insert(conversation, Talk::Quiet));
            }
        }
    }

    /// "Delivers" a part: there is no platform, so it always arrives.
    async fn deliver(&self, port: &Arc<dyn ChannelPort>, mut lease: Box<dyn Lease>) -> bool {
        if let Err(problem) = lease.begin().await {
            tracing::warn!(%problem, "cannot begin a scripted send");
            return false;
        }
        crate::crash_point!("send.started");
        let part = lease.part();
        let reference = self.with(|progress| {
            progress.delivered += 1;
            progress.outbound_at = Some(self.clock.now());
            let talk = talk_after(part);
            if let Some(talk) = talk {
                progress.talks.insert(part.conversation.clone(), talk);
            }
            format!("scripted-{}", progress.delivered)
        });
        let external_refs = match &part.body {
            OutboundBody::CardUpdate { external_ref, .. } => vec![external_ref.clone()],
            OutboundBody::Markdown { .. } | OutboundBody::File(_) | OutboundBody::Card { .. } => {
                vec![reference]
            }
        };
        crate::crash_point!("send.effect_done");
        if let Err(problem) = lease.finish(SendOutcome::Sent { external_refs }).await {
            tracing::warn!(%problem, "cannot record a scripted send");
            return false;
        }
        crate::crash_point!("send.post");
        self.report(port);
        true
    }

    fn report(&self, port: &Arc<dyn ChannelPort>) {
        let (inbound, outbound) = self.with(|progress| (progress.inbound_at, progress.outbound_at));
        port.health().report(
            ChannelHealth {
                state: ChannelState::Connected,
                detail: None,
                last_exchange_at: inbound.max(outbound),
                last_inbound_at: inbound,
                last_outbound_at: outbound,
                reconnects: 0,
                rate_limited_until: None,
            },
            Some("scripted visitors".to_owned()),
        );
    }
}

/// What a delivered part means for the visitor.
fn talk_after(part: &Outbound) -> Option<Talk> {
    match (&part.body, part.class) {
        (OutboundBody::Card { .. }, _) | (_, OutboxClass::ApprovalCard) => Some(Talk::Held),
        // Decided: the turn goes on, and its answer is owed.
        (OutboundBody::CardUpdate { .. }, _) | (_, OutboxClass::CardUpdate) => {
            Some(Talk::Waiting(Instant::now()))
        }
        (OutboundBody::Markdown { .. } | OutboundBody::File(_), OutboxClass::Final) => {
            Some(Talk::Quiet)
        }
        // A notice is no reply: the turn it speaks of still runs or waits.
        (
            OutboundBody::Markdown { .. } | OutboundBody::File(_),
            OutboxClass::Notice | OutboxClass::Progress,
        ) => None,
    }
}

#[async_trait]
impl Bridge for ScriptedBridge {
    fn kind(&self) -> ChannelKind {
        ChannelKind::Scripted
    }

    fn capabilities(&self) -> ChannelCapabilities {
        ChannelCapabilities {
            max_length: 4_000,
            unit: LengthUnit::Chars,
            edits: true,
            buttons: false,
            typing: false,
            // What never leaves the process arrives once, however often it is "sent".
            idempotency: SendIdempotency::NativeKey { window_ms: None },
        }
    }

    async fn run(
        &self,
        port: Arc<dyn ChannelPort>,
        shutdown: CancellationToken,
    ) -> Result<(), ChannelError> {
        port.set_capabilities(self.capabilities());
        self.report(&port);
        // Keys must not repeat those of an earlier process on the same data.
        let epoch = self.clock.now().as_millis().to_string();
        let mut speak_at = Instant::now() + self.next_interval();
        let mut send_at = Instant::now();
        loop {
            tokio::select! {
                biased;
                () = shutdown.cancelled() => return Ok(()),
                lease = async {
                    tokio::time::sleep_until(send_at).await;
                    port.next().await
                } => match lease {
                    Ok(lease) => {
                        if !self.deliver(&port, lease).await {
                            send_at = Instant::now() + REST;
                        }
                    }
                    Err(problem) => {
                        tracing::warn!(%problem, "cannot read the outbox");
                        send_at = Instant::now() + REST;
                    }
                },
                () = tokio::time::sleep_until(speak_at) => {
                    if let Some((visitor, phrase)) = self.next_phrase() {
                        self.say(&port, &epoch, &visitor, &phrase).await;
                    }
                    speak_at = Instant::now() + self.next_interval();
                }
            }
        }
    }
}

/// The conversation of a visitor.
fn conversation(visitor: &str) -> String {
    slug(visitor)
}

/// A stable id from a name.
fn slug(name: &str) -> String {
    name.chars()
        .map(|c| {
            if c.is_alphanumeric() {
                c.to_ascii_lowercase()
            } else {
                '-'
            }
        })
        .collect()
}

/// SplitMix64 (Steele, Lea, Flood 2014): small, seedable, good enough for a schedule.
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}
