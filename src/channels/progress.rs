//! Messages that show how far turns have come: one for each, edited at a rate that leaves room for answers, and removed
//! when the turn ends.
//!
//! Decorative: nothing here is tried again, and no answer waits for it.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

use crate::channels::platform::Platform;
use crate::channels::sync::unless_stopped;
use crate::client::channel_port::ChannelPort;
use crate::protocol::bridge::ProgressMessage;
use crate::protocol::ids::ContinuationId;

/// How long a turn runs before its chat sees a progress message: most answers are there by then.
const PATIENCE: Duration = Duration::from_millis(1_500);
/// How often it is tried to show what waits.
const TICK: Duration = Duration::from_millis(250);

/// Shows and removes them until the bridge stops. Those that an earlier process left go first.
pub async fn run(port: Arc<dyn ChannelPort>, platform: Arc<dyn Platform>, stop: CancellationToken) {
    unless_stopped(&stop, show(port.as_ref(), platform.as_ref())).await;
}

async fn show(port: &dyn ChannelPort, platform: &dyn Platform) {
    for left in port.shown_progress().await.unwrap_or_default() {
        platform
            .remove_progress(&left.conversation, &left.message_ref)
            .await;
        record(port, left.continuation_id, None).await;
    }
    let mut shown: HashMap<ContinuationId, String> = HashMap::new();
    // What each is to say, and since when that waits.
    let mut waiting: HashMap<ContinuationId, (ProgressMessage, tokio::time::Instant)> =
        HashMap::new();
    let mut ticks = tokio::time::interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            message = port.next_progress() => {
                let id = message.continuation_id;
                let since = waiting.remove(&id).map_or_else(tokio::time::Instant::now, |(_, at)| at);
                waiting.insert(id, (message, since));
                continue;
            }
            _ = ticks.tick(), if !waiting.is_empty() => {}
        }
        let due: Vec<ContinuationId> = waiting
            .iter()
            .filter(|(id, (message, since))| {
                let is_first = !shown.contains_key(*id) && message.text.is_some();
                !is_first || since.elapsed() >= PATIENCE
            })
            .map(|(id, _)| *id)
            .collect();
        for id in due {
            let Some((message, since)) = waiting.remove(&id) else {
                continue;
            };
            let conversation = &message.conversation;
            match (&message.text, shown.get(&id)) {
                (None, None) => {}
                (None, Some(message_ref)) => {
                    platform.remove_progress(conversation, message_ref).await;
                    shown.remove(&id);
                    record(port, id, None).await;
                }
                (Some(_), _) if !platform.may_show_progress(conversation) => {
                    waiting.insert(id, (message, since));
                }
                (Some(text), before) => {
                    let before = before.cloned();
                    let now = platform
                        .show_progress(conversation, before.as_deref(), text)
                        .await;
                    if let Some(message_ref) = now
                        && before.is_none()
                    {
                        record(port, id, Some(message_ref.clone())).await;
                        shown.insert(id, message_ref);
                    }
                }
            }
        }
    }
}

async fn record(port: &dyn ChannelPort, id: ContinuationId, message_ref: Option<String>) {
    if let Err(problem) = port.record_progress(id, message_ref).await {
        tracing::debug!(continuation = %id, %problem, "cannot record a progress message");
    }
}
