//! From the outbox to Telegram: several conversations at once, each strictly in order.
//!
//! Nothing is sent before `begin_send` returned `Ok`, and nothing waits for its slot after it did.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use tokio::task::{Id, JoinSet};
use tokio_util::sync::CancellationToken;

use crate::channels::telegram::deliver::Deliverer;
use crate::client::channel_port::ChannelPort;
use crate::clock::Clock;
use crate::protocol::bridge::{Outbound, SendOutcome};
use crate::protocol::ids::OutboxId;

/// Parts under way at once, each of another conversation.
const MAX_UNDER_WAY: usize = 16;
/// Rest after the outbox could not be read or a send could not be recorded.
const REST: Duration = Duration::from_secs(1);
/// How often the end of a send is tried to be recorded before it is left to recovery.
const RECORD_TRIES: u32 = 5;

/// What the outbound loop works with.
pub struct Outbox {
    /// Engine side.
    pub port: Arc<dyn ChannelPort>,
    /// Platform side.
    pub deliverer: Arc<Deliverer>,
    /// For the time of parts that are handed back.
    pub clock: Clock,
}

/// Whether the parts behind this one may go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Then {
    GoOn,
    HandBack,
}

/// Sends until `stop`, then finishes what was begun.
pub async fn run(outbox: Arc<Outbox>, stop: CancellationToken) {
    let mut tasks: JoinSet<Then> = JoinSet::new();
    let mut under_way: HashMap<Id, (String, OutboxId)> = HashMap::new();
    let mut waiting: HashMap<String, VecDeque<Outbound>> = HashMap::new();
    let mut rest_until: Option<tokio::time::Instant> = None;
    loop {
        let resting = async {
            match rest_until {
                Some(at) => tokio::time::sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = stop.cancelled() => break,
            Some(ended) = tasks.join_next_with_id(), if !tasks.is_empty() => {
                let id = match &ended {
                    Ok((id, _)) => *id,
                    Err(error) => error.id(),
                };
                let Some((conversation, part)) = under_way.remove(&id) else { continue };
                let then = match ended {
                    Ok((_, then)) => then,
                    Err(_) => {
                        let detail = "a defect of ours (a panic) while it was being sent".to_owned();
                        record(&outbox, part, SendOutcome::Unknown { detail }).await;
                        Then::HandBack
                    }
                };
                let behind = waiting.remove(&conversation).unwrap_or_default();
                match then {
                    Then::GoOn => {
                        let mut behind = behind;
                        if let Some(next) = behind.pop_front() {
                            waiting.insert(conversation, behind);
                            start(&outbox, &stop, next, &mut tasks, &mut under_way);
                        }
                    }
                    Then::HandBack => {
                        for part in behind {
                            hand_back(&outbox, part.id, Duration::ZERO).await;
                        }
                    }
                }
            }
            () = resting => rest_until = None,
            part = outbox.port.next_outbox(), if rest_until.is_none() && tasks.len() < MAX_UNDER_WAY => {
                match part {
                    Ok(part) => match waiting.get_mut(&part.conversation) {
                        Some(behind) => behind.push_back(part),
                        None => {
                            waiting.insert(part.conversation.clone(), VecDeque::new());
                            start(&outbox, &stop, part, &mut tasks, &mut under_way);
                        }
                    },
                    Err(problem) => {
                        tracing::warn!(%problem, "the outbox cannot be read");
                        rest_until = Some(tokio::time::Instant::now() + REST);
                    }
                }
            }
        }
    }
    for part in waiting.into_values().flatten() {
        hand_back(&outbox, part.id, Duration::ZERO).await;
    }
    while tasks.join_next().await.is_some() {}
}

fn start(
    outbox: &Arc<Outbox>,
    stop: &CancellationToken,
    part: Outbound,
    tasks: &mut JoinSet<Then>,
    under_way: &mut HashMap<Id, (String, OutboxId)>,
) {
    let key = (part.conversation.clone(), part.id);
    let handle = tasks.spawn(one(Arc::clone(outbox), stop.clone(), part));
    under_way.insert(handle.id(), key);
}

/// One part: its slot, the durable intent, the send, the durable end.
async fn one(outbox: Arc<Outbox>, stop: CancellationToken, part: Outbound) -> Then {
    while let Err(wait) = outbox.deliverer.may_send(&part.conversation) {
        tokio::select! {
            biased;
            () = stop.cancelled() => {
                hand_back(&outbox, part.id, Duration::ZERO).await;
                return Then::HandBack;
            }
            () = tokio::time::sleep(wait) => {}
        }
    }
    if let Err(problem) = outbox.port.begin_send(part.id).await {
        // Not durable, so not sent. It may have been withdrawn meanwhile; then nobody wants it back.
        tracing::warn!(id = %part.id, %problem, "a send could not be begun");
        hand_back(&outbox, part.id, REST).await;
        return Then::HandBack;
    }
    crate::crash_point!("send.started");
    let outcome = outbox.deliverer.deliver(&part).await;
    crate::crash_point!("send.effect_done");
    let then = match &outcome {
        SendOutcome::Sent { .. } | SendOutcome::Shortened { .. } | SendOutcome::Failed { .. } => {
            Then::GoOn
        }
        SendOutcome::Retry { .. } | SendOutcome::Unknown { .. } => Then::HandBack,
    };
    record(&outbox, part.id, outcome).await;
    crate::crash_point!("send.post");
    then
}

async fn record(outbox: &Outbox, id: OutboxId, outcome: SendOutcome) {
    for tried in 1..=RECORD_TRIES {
        match outbox.port.end_send(id, outcome.clone()).await {
            Ok(()) => return,
            Err(problem) => {
                tracing::error!(%id, %problem, tried, "the end of a send could not be recorded");
                tokio::time::sleep(REST).await;
            }
        }
    }
}

/// Gives back a part that was handed out and not begun.
async fn hand_back(outbox: &Outbox, id: OutboxId, rest: Duration) {
    let outcome = SendOutcome::Retry {
        not_before: outbox
            .clock
            .now()
            .plus_millis(i64::try_from(rest.as_millis()).unwrap_or(i64::MAX)),
        error:
            "not begun: the channel stopped, the store was not ready, or an earlier part goes first"
                .to_owned(),
    };
    if let Err(problem) = outbox.port.end_send(id, outcome).await {
        tracing::debug!(%id, %problem, "a part that was not begun is not open any more");
    }
}
