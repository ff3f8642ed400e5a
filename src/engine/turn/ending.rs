//! The end of a driver: whatever it ended with, its turn is not left running.

use std::time::Duration;

use crate::engine::core::Engine;
use crate::engine::turn::driver::settle_open;
use crate::engine::turn::open_call;
use crate::protocol::ids::ContinuationId;
use crate::protocol::words::{ContinuationState, OutboxClass};
use crate::store::commands::interrupt_turn::InterruptTurn;
use crate::store::commands::yield_turn::{Yield, YieldTo};
use crate::store::error::StoreError;
use crate::store::input::NewNotice;

/// Longest reason that is kept with a turn, in characters.
const REASON_CHARS: usize = 500;
/// Between two tries to put a turn down: doubled from the first to the last.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LAST_PAUSE: Duration = Duration::from_secs(30);

/// Why a driver ended before its turn did.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TurnError {
    /// Another boot has taken the database over.
    #[error("{0}")]
    Fenced(String),
    /// What it was about to change had moved on: cancelled, ended, decided.
    #[error("{0}")]
    Conflict(String),
    /// What it asked for is not possible.
    #[error("{0}")]
    Rejected(String),
    /// The database cannot be used, or is being closed.
    #[error("{0}")]
    Store(String),
    /// A defect of ours.
    #[error("a defect of this program: {0}")]
    Bug(String),
}

impl From<anyhow::Error> for TurnError {
    fn from(error: anyhow::Error) -> Self {
        let text = format!("{error:#}");
        match error.downcast_ref::<StoreError>() {
            Some(StoreError::Fenced { .. }) => Self::Fenced(text),
            Some(
                StoreError::Conflict { .. }
                | StoreError::KeyConflict
                | StoreError::VersionConflict { .. }
                | StoreError::NotFound { .. },
            ) => Self::Conflict(text),
            Some(StoreError::Rejected { .. }) => Self::Rejected(text),
            Some(
                StoreError::Locked { .. }
                | StoreError::Newer { .. }
                | StoreError::Older { .. }
                | StoreError::Foreign(_)
                | StoreError::TooOldSqlite(_)
                | StoreError::Full(_)
                | StoreError::Closed
                | StoreError::Corrupt(_),
            ) => Self::Store(text),
            Some(StoreError::Bug { .. } | StoreError::Sqlite(_)) | None => Self::Bug(text),
        }
    }
}

/// What is left to do when a driver has ended.
pub async fn close(engine: &Engine, continuation: ContinuationId, ended: Result<(), TurnError>) {
    if let Err(error) = &ended {
        open_call::settle(engine, continuation, "the turn ended first").await;
        // An answer that came too late to be recorded was paid for all the same.
        if let Err(unsettled) = settle_open(engine, continuation).await {
            tracing::warn!(%continuation, %unsettled, "a model call stays reserved");
        }
        match error {
            // The store's word stands where another has ended the turn.
            TurnError::Fenced(_) | TurnError::Conflict(_) => {
                tracing::debug!(%continuation, %error, "turn let go");
            }
            TurnError::Rejected(_) | TurnError::Store(_) | TurnError::Bug(_) => {
                tracing::error!(%continuation, %error, "turn stopped");
            }
        }
    }
    let mut pause = FIRST_PAUSE;
    while let Err(error) = put_down(engine, continuation, &ended).await {
        if matches!(error, StoreError::Closed) || engine.shutdown.is_cancelled() {
            // The next start finds it running and interrupts it.
            tracing::warn!(%continuation, %error, "a turn is left to the next start");
            return;
        }
        tracing::error!(%continuation, %error, "a turn without a driver cannot be interrupted; tried again");
        tokio::select! {
            () = engine.shutdown.cancelled() => {}
            () = tokio::time::sleep(pause) => {}
        }
        pause = (pause * 2).min(LAST_PAUSE);
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
    tracing::error!(%continuation, %reason, "turn interrupted: nobody drives it any more");
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
    tracing::error!(%continuation, %error, "only the turn is put down, not what was in flight of it");
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
