//! A turn while it is driven: its rows, its clock, and what is about to be recorded of it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::engine::core::Engine;
use crate::engine::turn::error::TurnError;
use crate::engine::turn::reply::ModelReply;
use crate::protocol::ids::ContinuationId;
use crate::store::commands::reserve_model::BudgetStop;
use crate::store::queries::turn::TurnRows;

/// A turn under way.
pub struct Driver<'a> {
    pub engine: &'a Engine,
    pub continuation: ContinuationId,
    /// The rows as they were read at the last fold.
    pub rows: Arc<TurnRows>,
    /// Milliseconds of model and engine time used by earlier drivers of this turn.
    active_before: u64,
    /// Milliseconds of this driver that are stored already.
    stored_ms: u64,
    /// Model and engine time of this driver; stopped while tools run or a person is waited for.
    pub active: ActiveTime,
    /// The answer being recorded.
    pub reply: Option<ModelReply>,
    /// The budget that refused a call.
    pub stop: Option<BudgetStop>,
}

/// A stopwatch that can stand still.
pub struct ActiveTime {
    done_ms: u64,
    running_since: Option<Instant>,
}

impl ActiveTime {
    /// It runs.
    pub fn started() -> Self {
        Self {
            done_ms: 0,
            running_since: Some(Instant::now()),
        }
    }

    /// Stands still.
    pub fn pause(&mut self) {
        self.done_ms = self.elapsed_ms();
        self.running_since = None;
    }

    /// Runs again.
    pub fn resume(&mut self) {
        if self.running_since.is_none() {
            self.running_since = Some(Instant::now());
        }
    }

    /// Takes time off again that was no work of this turn.
    pub fn excuse(&mut self, time: Duration) {
        self.pause();
        self.done_ms = self.done_ms.saturating_sub(time.as_millis() as u64);
        self.resume();
    }

    fn elapsed_ms(&self) -> u64 {
        self.done_ms
            + self
                .running_since
                .map_or(0, |since| since.elapsed().as_millis() as u64)
    }
}

/// Reads the rows of a turn.
pub async fn read_rows(
    engine: &Engine,
    continuation: ContinuationId,
) -> Result<TurnRows, TurnError> {
    engine
        .store
        .read_here(move |reader| reader.turn(continuation))
        .await
        .map_err(TurnError::from)
}

impl<'a> Driver<'a> {
    /// Begins with these rows; the clock runs.
    pub fn new(engine: &'a Engine, continuation: ContinuationId, rows: TurnRows) -> Self {
        Self {
            engine,
            continuation,
            active_before: rows.used.active_ms,
            stored_ms: 0,
            rows: Arc::new(rows),
            active: ActiveTime::started(),
            reply: None,
            stop: None,
        }
    }

    /// Milliseconds of model and engine time this turn has used in all.
    pub fn active_ms(&self) -> u64 {
        self.active_before + self.active.elapsed_ms()
    }

    /// Milliseconds not stored yet; the caller stores them with its next row.
    pub fn take_active_ms(&mut self) -> u64 {
        let elapsed = self.active.elapsed_ms();
        let unstored = elapsed.saturating_sub(self.stored_ms);
        self.stored_ms = elapsed;
        unstored
    }

    /// Takes the answer that is being recorded.
    pub fn take_reply(&mut self) -> Option<ModelReply> {
        self.reply.take()
    }

    /// Takes the budget that refused a call.
    pub fn take_stop(&mut self) -> Option<BudgetStop> {
        self.stop.take()
    }

    /// Reads the rows again, after steps were added.
    pub async fn refresh(&mut self) -> Result<(), TurnError> {
        self.rows = Arc::new(read_rows(self.engine, self.continuation).await?);
        Ok(())
    }
}
