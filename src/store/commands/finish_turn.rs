//! Completes a continuation: final step and all outbox parts in one transaction.

use crate::protocol::citation::Citations;
use crate::protocol::enums::{ContinuationState, OutboxClass};
use crate::protocol::event::EventBody;
use crate::protocol::ids::ContinuationId;
use crate::protocol::session::StepBody;
use crate::store::command::{WriteCommand, WriteTx};
use crate::store::error::StoreError;
use crate::store::input::{ModelStep, NewPart};
use crate::store::rows::{preview, usage};
use crate::store::sql::{Statements, params};
use crate::store::tx::outbox::NewRow;

/// Completes a continuation. Durable. A temporary session ends with it.
#[derive(Debug, Clone)]
pub struct FinishTurn {
    pub continuation_id: ContinuationId,
    /// Epoch of the caller.
    pub epoch: u64,
    /// The answer's own model step, when not stored yet.
    pub model: Option<ModelStep>,
    /// The answer.
    pub text: String,
    /// Why the model stopped.
    pub stop: String,
    /// What the steps before it read.
    pub citations: Citations,
    /// What is to be sent, in order.
    pub parts: Vec<NewPart>,
    /// Last line of the session for lists.
    pub session_last_line: String,
}

/// Queues all parts of an answer.
pub(crate) fn queue_reply(
    tx: &mut WriteTx<'_>,
    continuation: ContinuationId,
    parts: &[NewPart],
) -> Result<(), StoreError> {
    for (index, part) in parts.iter().enumerate() {
        tx.queue(&NewRow {
            continuation_id: Some(continuation),
            part: index + 1,
            parts: parts.len(),
            text: &part.text,
            reply_to: part.reply_to.as_deref(),
            file: part.file.as_ref(),
            ..NewRow::of(&part.channel, &part.conversation, OutboxClass::Final)
        })?;
    }
    Ok(())
}

impl WriteCommand for FinishTurn {
    type Output = ();

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<(), StoreError> {
        let mut head = tx.running(self.continuation_id, self.epoch)?;
        let unfinished: bool = tx.conn.value(
            "SELECT EXISTS (SELECT 1 FROM tool_calls WHERE continuation_id = ?1 AND result_step IS NULL)",
            [head.id],
        )?;
        if unfinished || tx.pending_gates(head.id)? > 0 {
            return Err(StoreError::bug(format!(
                "continuation {} cannot go from running to completed with an open tool call or gate",
                head.id
            )));
        }
        if let Some(step) = &self.model {
            tx.model_step(&head, step, Vec::new())?;
        }
        tx.push_step(
            &head,
            &StepBody::Final {
                text: self.text.clone(),
                stop: self.stop.clone(),
                citations: self.citations.clone(),
            },
        )?;
        tx.move_continuation(&mut head, ContinuationState::Completed, None)?;
        tx.drop_progress(head.id)?;
        crate::mutant!("final_with_outbox" => tx.tear("final.post")?);
        queue_reply(tx, head.id, &self.parts)?;
        tx.conn.run(
            "UPDATE sessions SET last_line = ?2, updated_at = ?3 WHERE id = ?1",
            params![head.session_id, preview(&self.session_last_line), tx.now],
        )?;
        let usage = tx.conn.row(
            "SELECT input_tokens, output_tokens, cached_tokens, cache_write_tokens, cost_usd FROM continuations
             WHERE id = ?1",
            [head.id],
            usage,
        )?;
        tx.emit_turn(
            &head,
            EventBody::ContinuationCompleted {
                preview: preview(&self.text),
                usage,
            },
        )?;
        if let Some(part) = self.parts.first() {
            tx.emit_turn(
                &head,
                EventBody::ReplyQueued {
                    parts: u32::try_from(self.parts.len()).unwrap_or(u32::MAX),
                    channel: part.channel.clone(),
                },
            )?;
        }
        tx.end_if_temporary(&head)?;
        crate::crash_point!("final.pre_commit");
        Ok(())
    }

    fn committed(&self) {
        crate::crash_point!("final.post");
    }
}
