//! Continuations: reading the head, moving the state, adding steps, closing what is open.

use std::fmt::Display;

use crate::protocol::approval::Requester;
use crate::protocol::enums::{
    ApprovalState, ContinuationState, OutboxClass, StepKind, ToolCallState,
};
use crate::protocol::event::EventBody;
use crate::protocol::ids::{ApprovalId, ContinuationId, SessionId, ToolCallId};
use crate::protocol::session::{ErrorBody, StepBody};
use crate::store::command::WriteTx;
use crate::store::error::StoreError;
use crate::store::input::NewNotice;
use crate::store::meta;
use crate::store::rows::requester;
use crate::store::sql::{Json, Statements, columns, params};
use crate::store::transitions;

/// The fields of a continuation that commands decide by.
#[derive(Debug, Clone)]
pub(crate) struct ContinuationRow {
    pub(crate) id: ContinuationId,
    pub(crate) session_id: SessionId,
    pub(crate) state: ContinuationState,
    pub(crate) epoch: u64,
    pub(crate) attempt: u32,
    pub(crate) channel: String,
    pub(crate) conversation: String,
    pub(crate) requester: Requester,
    pub(crate) message_ref: Option<String>,
    pub(crate) temporary: bool,
}

impl ContinuationRow {
    /// A word of ours that answers its message.
    pub(crate) fn notice(&self, class: OutboxClass, text: &str) -> NewNotice {
        NewNotice {
            channel: self.channel.clone(),
            conversation: self.conversation.clone(),
            class,
            text: text.to_owned(),
            reply_to: self.message_ref.clone(),
            continuation_id: Some(self.id),
        }
    }
}

fn kind_of(body: &StepBody) -> StepKind {
    match body {
        StepBody::Model { .. } => StepKind::Model,
        StepBody::ToolResult { .. } => StepKind::ToolResult,
        StepBody::OperatorNote { .. } => StepKind::OperatorNote,
        StepBody::Final { .. } => StepKind::Final,
        StepBody::Error { .. } => StepKind::Error,
    }
}

impl WriteTx<'_> {
    /// Refuses a caller that belongs to another boot.
    pub(crate) fn same_epoch(&self, epoch: u64) -> Result<(), StoreError> {
        if epoch == self.epoch || crate::mutant!("epoch_check") {
            Ok(())
        } else {
            Err(StoreError::fenced(format!(
                "stale epoch: the caller belongs to epoch {epoch}, this is epoch {}",
                self.epoch
            )))
        }
    }

    /// Refuses something that a restored copy may not do by itself.
    pub(crate) fn refuse_quarantined(
        &self,
        what: &str,
        id: impl Display,
        so: &str,
    ) -> Result<(), StoreError> {
        if meta::quarantined(self.conn)? {
            let why = format!("{what} {id}: the database is quarantined, {so}");
            return Err(StoreError::conflict(why));
        }
        Ok(())
    }

    /// Stages an event of a continuation.
    pub(crate) fn emit_turn(
        &mut self,
        head: &ContinuationRow,
        body: EventBody,
    ) -> Result<(), StoreError> {
        self.emit(Some(head.session_id), Some(head.id), body)
    }

    /// A continuation.
    pub(crate) fn head(&self, id: ContinuationId) -> Result<ContinuationRow, StoreError> {
        self.conn
            .row_opt(
                "SELECT c.session_id, c.state, c.epoch, c.attempt, s.channel, s.conversation, c.requester_id,
                    c.requester_display, c.requester_person, c.message_ref, s.temporary
                 FROM continuations c JOIN sessions s ON s.id = c.session_id WHERE c.id = ?1",
                [id],
                |row| Ok(columns!(row => ContinuationRow {
                    session_id, state, epoch, attempt, channel, conversation, message_ref,
                    temporary;
                    id,
                    requester: requester(row)?,
                })),
            )?
            .ok_or_else(|| StoreError::not_found("continuation", id))
    }

    /// A continuation that this boot claimed and that is running.
    pub(crate) fn running(
        &self,
        id: ContinuationId,
        epoch: u64,
    ) -> Result<ContinuationRow, StoreError> {
        self.same_epoch(epoch)?;
        let head = self.head(id)?;
        if head.state != ContinuationState::Running {
            return Err(StoreError::conflict(format!(
                "continuation {id} is {}, not running",
                head.state
            )));
        }
        if head.epoch != epoch {
            return Err(StoreError::fenced(format!(
                "stale epoch: continuation {id} was claimed in epoch {}, the caller belongs to epoch {epoch}",
                head.epoch
            )));
        }
        Ok(head)
    }

    /// Takes a pending continuation up, by this process: another attempt.
    pub(crate) fn begin_continuation(
        &mut self,
        id: ContinuationId,
        epoch: u64,
    ) -> Result<ContinuationRow, StoreError> {
        let mut head = self.head(id)?;
        self.move_continuation(&mut head, ContinuationState::Running, None)?;
        head.attempt += 1;
        self.conn.run(
            "UPDATE continuations SET epoch = ?2, attempt = ?3 WHERE id = ?1",
            params![id, epoch, head.attempt],
        )?;
        let attempt = head.attempt;
        self.emit_turn(&head, EventBody::ContinuationStarted { attempt })?;
        Ok(head)
    }

    /// Moves a continuation. `error` stays as it is unless given. What was allowed until it ends, ends with it.
    pub(crate) fn move_continuation(
        &mut self,
        head: &mut ContinuationRow,
        to: ContinuationState,
        error: Option<&ErrorBody>,
    ) -> Result<(), StoreError> {
        if !transitions::continuation(head.state, to) {
            return Err(StoreError::conflict(format!(
                "continuation {} cannot go from {} to {to}",
                head.id, head.state
            )));
        }
        let ended_at = to.is_terminal().then_some(self.now);
        // A continuation that goes on is no longer in error.
        let error = error.map(Json);
        self.conn.run(
            "UPDATE continuations SET state = ?2, updated_at = ?3, ended_at = ?4, error = ?5 WHERE id = ?1",
            params![head.id, to, self.now, ended_at, error],
        )?;
        head.state = to;
        if to.is_terminal() {
            self.end_permissions_of(head.id)?;
        }
        Ok(())
    }

    /// Adds model and engine time.
    pub(crate) fn add_active(&self, id: ContinuationId, active_ms: u64) -> Result<(), StoreError> {
        if active_ms > 0 {
            self.conn.run(
                "UPDATE continuations SET used_active_ms = used_active_ms + ?2 WHERE id = ?1",
                params![id, active_ms],
            )?;
        }
        Ok(())
    }

    /// Appends a step to a continuation that has not ended; its number.
    pub(crate) fn push_step(
        &mut self,
        head: &ContinuationRow,
        body: &StepBody,
    ) -> Result<u32, StoreError> {
        if head.state.is_terminal() {
            return Err(StoreError::conflict(format!(
                "continuation {} is {}: nothing can be added",
                head.id, head.state
            )));
        }
        let last: Option<u32> = self.conn.value(
            "SELECT max(n) FROM steps WHERE continuation_id = ?1",
            [head.id],
        )?;
        let n = last.unwrap_or(0) + 1;
        self.conn.run(
            "INSERT INTO steps (continuation_id, n, kind, body, at) VALUES (?1, ?2, ?3, ?4, ?5)",
            params![head.id, n, kind_of(body), Json(body), self.now],
        )?;
        Ok(n)
    }

    /// Records an intervention.
    pub(crate) fn note(
        &mut self,
        head: &ContinuationRow,
        by: &str,
        text: String,
    ) -> Result<(), StoreError> {
        self.push_step(
            head,
            &StepBody::OperatorNote {
                by: by.to_owned(),
                text,
            },
        )?;
        Ok(())
    }

    /// Calls in flight.
    pub(crate) fn started_calls(&self, id: ContinuationId) -> Result<Vec<ToolCallId>, StoreError> {
        self.conn.values::<ToolCallId>(
            "SELECT id FROM tool_calls WHERE continuation_id = ?1 AND state = 'started' ORDER BY step, idx",
            [id],
        )
    }

    /// Refuses to put a running continuation down while a call of it is in flight.
    pub(crate) fn nothing_in_flight(
        &self,
        head: &ContinuationRow,
        to: ContinuationState,
    ) -> Result<(), StoreError> {
        match self.started_calls(head.id)?.first() {
            Some(call) => Err(StoreError::bug(format!(
                "continuation {} cannot go from running to {to} while tool call {call} is started",
                head.id
            ))),
            None => Ok(()),
        }
    }

    /// Puts a continuation back in line.
    pub(crate) fn requeue(
        &mut self,
        head: &mut ContinuationRow,
        by: &str,
    ) -> Result<(), StoreError> {
        self.move_continuation(head, ContinuationState::Pending, None)?;
        self.emit_turn(head, EventBody::ContinuationResumed { by: by.to_owned() })
    }

    /// Parks a continuation on its gates, of which so many wait.
    pub(crate) fn await_approval(
        &mut self,
        head: &mut ContinuationRow,
        pending: u32,
    ) -> Result<(), StoreError> {
        self.move_continuation(head, ContinuationState::AwaitingApproval, None)?;
        self.emit_turn(head, EventBody::ContinuationAwaitingApproval { pending })
    }

    /// Gates that wait.
    pub(crate) fn pending_gates(&self, id: ContinuationId) -> Result<u32, StoreError> {
        self.conn.value(
            "SELECT count(*) FROM approvals WHERE continuation_id = ?1 AND +state = 'pending' AND kind <> 'resend'",
            [id],
        )
    }

    /// Closes everything of a continuation that is about to end: gates are revoked (or expired), calls that
    /// never started get `call_state`. Calls in flight stay: their process may still report.
    pub(crate) fn close_open(
        &mut self,
        head: &ContinuationRow,
        gate_state: ApprovalState,
        call_state: ToolCallState,
    ) -> Result<(), StoreError> {
        let gates = self.conn.values::<ApprovalId>(
            "SELECT id FROM approvals WHERE continuation_id = ?1 AND +state IN ('pending', 'approved')
                AND kind <> 'resend' ORDER BY position",
            [head.id],
        )?;
        for id in gates {
            self.close_gate(id, gate_state)?;
        }
        let calls = self.conn.rows(
            "SELECT id, state FROM tool_calls WHERE continuation_id = ?1
                AND +state IN ('proposed', 'ready', 'awaiting', 'approved') ORDER BY step, idx",
            [head.id],
            columns!(id, state),
        )?;
        for (id, from) in calls {
            self.move_call(id, from, call_state)?;
        }
        Ok(())
    }
}
