//! Puts a turn down that nobody drives any more, whatever was in flight of it.

use crate::protocol::enums::{ContinuationState, Effect, ToolCallState};
use crate::protocol::event::EventBody;
use crate::protocol::ids::{ContinuationId, ToolCallId};
use crate::protocol::session::ErrorBody;
use crate::store::command::{WriteCommand, WriteTx};
use crate::store::commands::start_model_test::is_test;
use crate::store::error::StoreError;
use crate::store::input::NewNotice;
use crate::store::sql::{Statements, params};
use crate::store::tx::approvals::Subject;
use crate::store::tx::continuations::ContinuationRow;
use crate::store::tx::questions::unknown_call;

/// Interrupts a continuation that is running without a driver. Durable: its open model calls are settled, and its
/// started tool calls become what they become after a crash.
#[derive(Debug, Clone)]
pub struct InterruptTurn {
    /// The continuation, which no task of this process drives any more.
    pub continuation_id: ContinuationId,
    /// Epoch of the caller.
    pub epoch: u64,
    /// Why, for people, redacted.
    pub reason: String,
    /// Words to the chat.
    pub notices: Vec<NewNotice>,
}

fn interruption(why: &str) -> ErrorBody {
    ErrorBody {
        code: "interrupted".to_owned(),
        message: why.to_owned(),
    }
}

impl WriteTx<'_> {
    /// Interrupts a running continuation; whether somebody can resume it.
    pub(crate) fn interrupt_continuation(
        &mut self,
        id: ContinuationId,
        why: &str,
    ) -> Result<bool, StoreError> {
        let mut head = self.head(id)?;
        // Nobody waits for the test of a model any more, and a resume would make a turn of it.
        if is_test(&head) {
            self.fail_continuation(&mut head, &interruption(why))?;
            self.end_if_temporary(&head)?;
            return Ok(false);
        }
        self.mark_interrupted(&mut head, why)?;
        Ok(true)
    }

    /// Moves a continuation to `interrupted` and announces it.
    pub(crate) fn mark_interrupted(
        &mut self,
        head: &mut ContinuationRow,
        why: &str,
    ) -> Result<(), StoreError> {
        let error = interruption(why);
        self.move_continuation(head, ContinuationState::Interrupted, Some(&error))?;
        self.emit_turn(
            head,
            EventBody::ContinuationInterrupted {
                reason: why.to_owned(),
            },
        )
    }

    /// Whether the key of the run that was in flight is still remembered.
    fn key_lives(&self, id: ToolCallId) -> Result<bool, StoreError> {
        self.conn.value(
            "SELECT NOT EXISTS (SELECT 1 FROM tool_attempts
             WHERE call_id = ?1 AND finished_at IS NULL AND key_until <= ?2)",
            params![id, self.now],
        )
    }

    /// Settles one call that was in flight; whether it may run again by itself.
    pub(crate) fn settle_started(&mut self, id: ToolCallId, why: &str) -> Result<bool, StoreError> {
        let call = self.call(id)?;
        let head: ContinuationRow = self.head(call.continuation_id)?;
        let again = match call.effect {
            Effect::ReadOnly | Effect::Idempotent => true,
            // A key makes the second run the first one, for as long as the other side remembers it.
            Effect::Keyed => self.key_lives(id)?,
            // What can be looked up is unknown all the same until somebody looked: no tool is there yet.
            Effect::Reconcilable | Effect::NonIdempotent => crate::mutant!("blind_rerun"),
        } && !head.state.is_terminal();
        let to = if again {
            ToolCallState::Ready
        } else {
            ToolCallState::Indeterminate
        };
        self.move_call(id, call.state, to)?;
        self.conn.run(
            "UPDATE tool_attempts SET finished_at = ?2, outcome = ?3, detail = ?4
             WHERE call_id = ?1 AND finished_at IS NULL",
            params![id, self.now, to, why],
        )?;
        if !again {
            self.finished_event(&head, &call, to, why, None)?;
            // An ended continuation asks nothing any more.
            if !head.state.is_terminal() {
                self.ask(&head, &unknown_call(&call), &Subject::call(id))?;
            }
        }
        Ok(again)
    }
}

impl WriteCommand for InterruptTurn {
    type Output = ();

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<(), StoreError> {
        let head = tx.running(self.continuation_id, self.epoch)?;
        tx.settle_abandoned_calls(&head, &self.reason)?;
        tx.interrupt_continuation(head.id, &self.reason)?;
        for call in tx.started_calls(head.id)? {
            tx.settle_started(call, &self.reason)?;
        }
        tx.queue_notices(&self.notices)?;
        Ok(())
    }
}
