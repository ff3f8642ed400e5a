//! The end of a driver: whatever it ended with, its turn is not left running.

use std::time::Duration;

use crate::clock::backoff::doubled;
use crate::engine::core::Engine;
use crate::engine::turn::error::TurnError;
use crate::engine::turn::open_call;
use crate::protocol::enums::{ContinuationState, OutboxClass};
use crate::protocol::ids::ContinuationId;
use crate::store::commands::interrupt_turn::InterruptTurn;
use crate::store::commands::release_turn::{Yield, YieldTo};
use crate::store::error::StoreError;
use crate::store::input::NewNotice;

/// Longest reason that is kept with a turn, in characters.
const REASON_CHARS: usize = 500;
/// Between two tries to put a turn down: doubled from the first to the last.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LAST_PAUSE: Duration = Duration::from_secs(30);

/// What is left to do when a driver has ended.
pub async fn close(engine: &Engine, continuation: ContinuationId, ended: Result<(), TurnError>) {
    if let Err(error) = &ended {
        open_call::settle(engine, continuation, "the turn ended first").await;
        // An answer that came too late to be recorded was paid for all the same.
        if let Err(unsettled) = open_call::settle_abandoned_calls(engine, continuation).await {
            tracing::warn!(%continuation, %unsettled, "cannot settle a model call; its reservation stays");
        }
        match error {
            // The store's word stands where another has ended the turn.
            TurnError::Fenced(_) | TurnError::Conflict(_) => {
                tracing::debug!(%continuation, %error, "turn released");
            }
            TurnError::Rejected(_) | TurnError::Store(_) | TurnError::Bug(_) => {
                tracing::error!(%continuation, %error, "turn stopped");
            }
        }
    }
    let mut failures: u32 = 0;
    while let Err(error) = put_down(engine, continuation, &ended).await {
        if matches!(error, StoreError::Closed) || engine.shutdown.is_cancelled() {
            // The next start finds it running and interrupts it.
            tracing::warn!(%continuation, %error, "cannot end a turn now; the next start ends it");
            return;
        }
        tracing::error!(%continuation, %error, "cannot interrupt a turn without a driver; trying again");
        failures = failures.saturating_add(1);
        tokio::select! {
            () = engine.shutdown.cancelled() => {}
            () = tokio::time::sleep(doubled(FIRST_PAUSE, failures, LAST_PAUSE)) => {}
        }
    }
}

/// Interrupts the turn where its row says that it still runs.
async fn put_down(
    engine: &Engine,
    continuation: ContinuationId,
    ended: &Result<(), TurnError>,
) -> Result<(), StoreError> {
    let epoch = engine.store.epoch();
    let standing = engine
        .store
        .read_here(move |reader| reader.standing(continuation))
        .await?;
    if standing.state != ContinuationState::Running || standing.epoch != epoch {
        return Ok(());
    }
    let why = ended.as_ref().err().map_or_else(
        || "a defect of this program: its driver ended before it did".to_owned(),
        ToString::to_string,
    );
    let why = engine.redactor.redact(&why);
    let reason: String = why.chars().take(REASON_CHARS).collect();
    tracing::error!(%continuation, %reason, "turn interrupted: its driver is gone");
    let notices = engine.has_bridge(&standing.channel).then(|| NewNotice {
        channel: standing.channel,
        conversation: standing.conversation,
        class: OutboxClass::Notice,
        text: "The answer could not be finished. Send /continue to go on with it.".to_owned(),
        reply_to: standing.message_ref,
        continuation_id: Some(continuation),
    });
    let interrupt = InterruptTurn {
        continuation_id: continuation,
        epoch,
        reason: reason.clone(),
        notices: notices.into_iter().collect(),
    };
    let Err(error) = engine.persist(interrupt).await else {
        return Ok(());
    };
    tracing::error!(%continuation, %error, "cannot record the calls in flight of a turn, only the turn");
    let put_down = Yield {
        continuation_id: continuation,
        epoch,
        to: YieldTo::Interrupted,
        reason,
        active_ms: 0,
        partial: None,
    };
    engine.persist(put_down).await
}
