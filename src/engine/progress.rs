//! Tells a chat that work on its message goes on, once its channel's `max_wait_seconds` have passed since the message.
//!
//! The time counts from the message, whatever its turn waited for since: earlier turns, a model, a tool. Nothing here
//! ends or slows a turn, and nothing here is kept in memory but when to look next: a restart changes nothing.

use std::time::Duration;

use crate::clock::Timestamp;
use crate::engine::core::Engine;
use crate::store::commands::queue_progress_notice::QueueProgressNotice;
use crate::store::error::StoreError;
use crate::store::queries::continuations::UntoldTurn;

/// Longest sleep: the wall clock may jump, and messages have wall-clock times.
const LONGEST_SLEEP: Duration = Duration::from_secs(60);
/// Said while the turn runs.
const RUNNING: &str = "Still working on it; the answer will follow.";
/// Said while the turn waits for others.
const WAITING: &str = "Your message waits for earlier work; the answer will follow.";
/// Said while its session is paused.
const PAUSED: &str =
    "This conversation is paused. Your message waits until an operator lets it go on.";

/// Runs until the engine stops.
pub async fn run(engine: Engine) {
    let mut look_at = Some(engine.clock.now());
    loop {
        let engine = engine.current();
        let Some(patience) = patience(&engine) else {
            return;
        };
        let now = engine.clock.now();
        if look_at.is_some_and(|at| at <= now) {
            look_at = look(&engine, now).await;
        }
        let sleep = look_at.map_or(LONGEST_SLEEP, |at| {
            Duration::from_millis(at.millis_since(now)).min(LONGEST_SLEEP)
        });
        tokio::select! {
            () = tokio::time::sleep(sleep) => {}
            () = engine.scheduler.until_turn_comes() => {
                let late = engine.clock.now().plus_seconds(seconds(patience));
                look_at = Some(look_at.map_or(late, |at| at.min(late)));
            }
            () = engine.shutdown.cancelled() => return,
        }
    }
}

/// Seconds before which no message that comes from now on is late; none = no channel has a bridge.
fn patience(engine: &Engine) -> Option<u64> {
    let channels = engine.settings.channels.iter();
    channels
        .filter(|(name, _)| engine.has_bridge(name))
        .map(|(_, settings)| settings.max_wait_seconds)
        .min()
}

fn seconds(wait: u64) -> i64 {
    i64::try_from(wait).unwrap_or(i64::MAX)
}

/// Tells the chats of turns that are late; when to look again, if any turn is left that can become late.
async fn look(engine: &Engine, now: Timestamp) -> Option<Timestamp> {
    let turns = match engine.store.read(|reader| reader.untold_turns()).await {
        Ok(turns) => turns,
        Err(error) => {
            tracing::warn!(%error, "cannot read the waiting chats");
            return Some(now.plus_seconds(60));
        }
    };
    let mut next: Option<Timestamp> = None;
    for turn in turns {
        let Some(wait) = wait_of(engine, &turn) else {
            continue;
        };
        let late = turn.created_at.plus_seconds(wait);
        if late > now {
            next = Some(next.map_or(late, |next| next.min(late)));
        } else if let Err(error) = tell(engine, &turn).await {
            tracing::warn!(continuation = %turn.id, %error, "cannot tell the chat that work goes on");
        }
    }
    next
}

/// Seconds that a chat waits before it is told; none = it is told nothing.
fn wait_of(engine: &Engine, turn: &UntoldTurn) -> Option<i64> {
    let place = (turn.channel.clone(), turn.conversation.clone());
    let tells = engine.has_bridge(&turn.channel)
        && !engine.is_held()
        && !engine.sessions.is_taken_over(&place);
    let settings = engine.settings.channels.get(&turn.channel)?;
    tells.then(|| seconds(settings.max_wait_seconds))
}

async fn tell(engine: &Engine, turn: &UntoldTurn) -> Result<(), StoreError> {
    let notice = QueueProgressNotice {
        continuation_id: turn.id,
        running: RUNNING.to_owned(),
        waiting: if turn.paused { PAUSED } else { WAITING }.to_owned(),
    };
    engine.store.write(notice).await.map(drop)
}
