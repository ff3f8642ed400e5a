//! From the outbox to a platform: several conversations at once, each strictly in order.
//!
//! Nothing is sent before `Lease::begin` returned `Ok`, and nothing waits for its slot after it did.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use tokio::task::{Id, JoinSet};
use tokio_util::sync::CancellationToken;

use crate::channels::platform::Platform;
use crate::channels::sync::or_never;
use crate::client::channel_port::{ChannelPort, Lease};
use crate::protocol::bridge::SendOutcome;

/// Parts under way at once, each of another conversation.
const MAX_UNDER_WAY: usize = 16;
/// Rest after the outbox could not be read or a send could not be recorded.
const REST: Duration = Duration::from_secs(1);
/// How often the end of a send is tried to be recorded before its lease settles it.
const RECORD_TRIES: u32 = 5;

/// What the outbound loop works with.
pub struct Outbox {
    /// Engine side.
    pub port: Arc<dyn ChannelPort>,
    /// Platform side.
    pub platform: Arc<dyn Platform>,
}

/// Whether the parts behind this one may go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Then {
    GoOn,
    GiveBack,
}

/// Sends until `stop`, then finishes what was begun.
pub async fn run(outbox: Arc<Outbox>, stop: CancellationToken) {
    let mut tasks: JoinSet<Then> = JoinSet::new();
    let mut under_way: HashMap<Id, String> = HashMap::new();
    let mut waiting: HashMap<String, VecDeque<Box<dyn Lease>>> = HashMap::new();
    let mut rest_until: Option<tokio::time::Instant> = None;
    loop {
        let resting = or_never(rest_until.map(tokio::time::sleep_until));
        tokio::select! {
            biased;
            () = stop.cancelled() => break,
            Some(ended) = tasks.join_next_with_id(), if !tasks.is_empty() => {
                let id = match &ended {
                    Ok((id, _)) => *id,
                    Err(error) => error.id(),
                };
                let Some(conversation) = under_way.remove(&id) else { continue };
                // A task that panicked dropped its lease.
                let then = ended.map_or(Then::GiveBack, |(_, then)| then);
                let mut behind = waiting.remove(&conversation).unwrap_or_default();
                match then {
                    Then::GoOn => {
                        if let Some(next) = behind.pop_front() {
                            waiting.insert(conversation, behind);
                            start(&outbox, &stop, next, &mut tasks, &mut under_way);
                        }
                    }
                    Then::GiveBack => drop(behind),
                }
            }
            () = resting => rest_until = None,
            lease = outbox.port.next(), if rest_until.is_none() && tasks.len() < MAX_UNDER_WAY => {
                match lease {
                    Ok(lease) => match waiting.get_mut(&lease.part().conversation) {
                        Some(behind) => behind.push_back(lease),
                        None => {
                            waiting.insert(lease.part().conversation.clone(), VecDeque::new());
                            start(&outbox, &stop, lease, &mut tasks, &mut under_way);
                        }
                    },
                    Err(problem) => {
                        tracing::warn!(%problem, "cannot read the outbox");
                        rest_until = Some(tokio::time::Instant::now() + REST);
                    }
                }
            }
        }
    }
    drop(waiting);
    while tasks.join_next().await.is_some() {}
}

fn start(
    outbox: &Arc<Outbox>,
    stop: &CancellationToken,
    lease: Box<dyn Lease>,
    tasks: &mut JoinSet<Then>,
    under_way: &mut HashMap<Id, String>,
) {
    let conversation = lease.part().conversation.clone();
    let handle = tasks.spawn(one(Arc::clone(outbox), stop.clone(), lease));
    under_way.insert(handle.id(), conversation);
}

/// One part: its slot, the durable intent, the send, the durable end.
async fn one(outbox: Arc<Outbox>, stop: CancellationToken, mut lease: Box<dyn Lease>) -> Then {
    while let Err(wait) = outbox.platform.may_send(&lease.part().conversation) {
        tokio::select! {
            biased;
            () = stop.cancelled() => return Then::GiveBack,
            () = tokio::time::sleep(wait) => {}
        }
    }
    if let Err(problem) = lease.begin().await {
        // Not durable, so not sent. It may have been withdrawn meanwhile; then nobody gets it again.
        tracing::warn!(id = %lease.part().id, %problem, "cannot begin a send");
        tokio::select! {
            () = stop.cancelled() => {}
            () = tokio::time::sleep(REST) => {}
        }
        return Then::GiveBack;
    }
    crate::crash_point!("send.started");
    let outcome = outbox.platform.deliver(lease.part()).await;
    crate::crash_point!("send.effect_done");
    let then = match &outcome {
        SendOutcome::Sent { .. } | SendOutcome::Shortened { .. } | SendOutcome::Failed { .. } => {
            Then::GoOn
        }
        SendOutcome::Retry { .. } | SendOutcome::Unknown { .. } => Then::GiveBack,
    };
    for tried in 1..=RECORD_TRIES {
        let Err(problem) = lease.finish(outcome.clone()).await else {
            break;
        };
        tracing::error!(id = %lease.part().id, %problem, tried, "cannot record the outcome of a send");
        tokio::time::sleep(REST).await;
    }
    crate::crash_point!("send.post");
    then
}
