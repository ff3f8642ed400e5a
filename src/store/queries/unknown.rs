//! Outcomes that nobody knows: what is known of them, and which a look at the other side may settle.

use rusqlite::{Connection, OptionalExtension, params};

use crate::clock::Timestamp;
use crate::protocol::approval::{Approval, UnknownDelivery, UnknownOutcome};
use crate::protocol::ids::{ApprovalId, ContinuationId, OutboxId, ToolCallId};
use crate::protocol::words::ApprovalKind;
use crate::store::error::StoreError;
use crate::store::queries::outbox::send_key;
use crate::store::reader::Reader;
use crate::store::rows::word;

/// Adds to a question about an unknown outcome what is known of it; leaves every other approval as it is.
pub(crate) fn tell_unknown(conn: &Connection, approval: &mut Approval) -> Result<(), StoreError> {
    let known = match approval.kind {
        ApprovalKind::ResolveUnknown => match approval.tool_call_id {
            Some(call) => of_call(conn, call, approval.requested_at)?,
            None => None,
        },
        ApprovalKind::Resend => of_delivery(conn, approval.id)?,
        ApprovalKind::Execute
        | ApprovalKind::Budget
        | ApprovalKind::Question
        | ApprovalKind::Pairing
        | ApprovalKind::Memory
        | ApprovalKind::ServerPin
        | ApprovalKind::PolicyRaise => None,
    };
    approval.unknown = known.map(Box::new);
    Ok(())
}

/// The start that was asked about: the last one before the question, which stays the same when it runs again.
fn of_call(
    conn: &Connection,
    call: ToolCallId,
    asked: Timestamp,
) -> Result<Option<UnknownOutcome>, StoreError> {
    Ok(conn
        .prepare_cached(
            "SELECT a.started_at, a.attempt, t.attempts, a.epoch, a.idempotency_key, a.detail
             FROM tool_attempts a JOIN tool_calls t ON t.id = a.call_id
             WHERE a.call_id = ?1 ORDER BY a.started_at <= ?2 DESC, a.attempt DESC LIMIT 1",
        )?
        .query_row(params![call.to_bytes(), asked.as_millis()], |row| {
            Ok(UnknownOutcome {
                started_at: Some(Timestamp(row.get(0)?)),
                attempt: row.get(1)?,
                attempts: row.get(2)?,
                epoch: row.get(3)?,
                key: row.get(4)?,
                known: row.get(5)?,
                delivery: None,
            })
        })
        .optional()?)
}

fn of_delivery(
    conn: &Connection,
    approval: ApprovalId,
) -> Result<Option<UnknownOutcome>, StoreError> {
    Ok(conn
        .prepare_cached(
            "SELECT o.id, o.class, o.part, o.parts, o.text, o.begun_at, o.attempts, o.epoch, o.last_error
             FROM approvals a JOIN outbox o ON o.id = a.outbox_id WHERE a.id = ?1",
        )?
        .query_row([approval.to_bytes()], |row| {
            let id = OutboxId::from_bytes(row.get(0)?);
            Ok(UnknownOutcome {
                started_at: row.get::<_, Option<i64>>(5)?.map(Timestamp),
                attempt: row.get(6)?,
                attempts: row.get(6)?,
                epoch: row.get(7)?,
                key: send_key(id),
                known: row.get(8)?,
                delivery: Some(UnknownDelivery {
                    id,
                    class: word(row, 1)?,
                    part: row.get(2)?,
                    parts: row.get(3)?,
                    text: row.get(4)?,
                }),
            })
        })
        .optional()?)
}

/// A call whose outcome nobody knows, of a class that can be looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownCall {
    /// The call.
    pub call_id: ToolCallId,
    /// Its continuation.
    pub continuation_id: ContinuationId,
    /// The pending question.
    pub approval_id: ApprovalId,
    /// Number of its last start.
    pub attempt: u32,
}

impl Reader<'_> {
    /// Calls that a person is asked about and that can be looked up, oldest first.
    pub fn unknown_calls(&self) -> Result<Vec<UnknownCall>, StoreError> {
        Ok(self
            .conn
            .prepare_cached(
                "SELECT t.id, t.continuation_id, a.id, t.attempts FROM approvals a JOIN tool_calls t ON t.id = a.tool_call_id
                 WHERE a.state = 'pending' AND a.kind = 'resolve_unknown' AND t.state = 'indeterminate'
                    AND t.effect IN ('keyed', 'reconcilable')
                 ORDER BY a.position",
            )?
            .query_map([], |row| {
                Ok(UnknownCall {
                    call_id: ToolCallId::from_bytes(row.get(0)?),
                    continuation_id: ContinuationId::from_bytes(row.get(1)?),
                    approval_id: ApprovalId::from_bytes(row.get(2)?),
                    attempt: row.get(3)?,
                })
            })?
            .collect::<rusqlite::Result<_>>()?)
    }
}
