//! Outcomes that nobody knows: what is known of them, and which a look at the other side may settle.

use crate::clock::Timestamp;
use crate::protocol::approval::{Approval, UnknownDelivery, UnknownOutcome};
use crate::protocol::enums::ApprovalKind;
use crate::protocol::ids::{ApprovalId, ContinuationId, ToolCallId};
use crate::store::error::StoreError;
use crate::store::reader::Reader;
use crate::store::rows::send_key;
use crate::store::sql::{Connection, Statements, columns, params};

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
    conn.row_opt(
        "SELECT a.started_at, a.attempt, t.attempts, a.epoch, a.idempotency_key, a.detail
         FROM tool_attempts a JOIN tool_calls t ON t.id = a.call_id
         WHERE a.call_id = ?1 ORDER BY a.started_at <= ?2 DESC, a.attempt DESC LIMIT 1",
        params![call, asked],
        |row| {
            Ok(columns!(row => UnknownOutcome {
                attempt, attempts, epoch, key = "idempotency_key", known = "detail";
                started_at: Some(row.get("started_at")?),
                delivery: None,
            }))
        },
    )
}

fn of_delivery(
    conn: &Connection,
    approval: ApprovalId,
) -> Result<Option<UnknownOutcome>, StoreError> {
    conn.row_opt(
        "SELECT o.id, o.class, o.part, o.parts, o.text, o.begun_at, o.attempts, o.epoch, o.last_error
         FROM approvals a JOIN outbox o ON o.id = a.outbox_id WHERE a.id = ?1",
        [approval],
        |row| {
            let id = row.get("id")?;
            Ok(columns!(row => UnknownOutcome {
                started_at = "begun_at", attempt = "attempts", attempts, epoch,
                known = "last_error";
                key: send_key(id),
                delivery: Some(columns!(row => UnknownDelivery {
                    class, part, parts, text;
                    id,
                })),
            }))
        },
    )
}

/// A call whose outcome nobody knows, of a class that can be looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownCall {
    pub call_id: ToolCallId,
    pub continuation_id: ContinuationId,
    /// The pending question.
    pub approval_id: ApprovalId,
    /// Number of its last start.
    pub attempt: u32,
}

impl Reader<'_> {
    /// Calls that a person is asked about and that can be looked up, oldest first.
    pub fn unknown_calls(&self) -> Result<Vec<UnknownCall>, StoreError> {
        self.conn.rows(
            "SELECT t.id, t.continuation_id, a.id AS approval_id, t.attempts FROM approvals a
                JOIN tool_calls t ON t.id = a.tool_call_id
             WHERE a.state = 'pending' AND a.kind = 'resolve_unknown' AND t.state = 'indeterminate'
                AND t.effect IN ('keyed', 'reconcilable')
             ORDER BY a.position",
            [],
            |row| {
                Ok(columns!(row => UnknownCall {
                    call_id = "id", continuation_id, approval_id, attempt = "attempts",
                }))
            },
        )
    }
}
