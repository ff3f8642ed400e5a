//! What a restored copy may not do by itself: everything that was open when the copy was made may have gone on
//! elsewhere since, so each message that waited becomes unknown and each permission is asked for again.
//!
//! Runs inside recovery, once per copy. Nothing here starts, sends or drops anything.

use serde_json::json;

use crate::protocol::enums::{ApprovalKind, DecisionKind, OutboxClass, OutboxState, ToolCallState};
use crate::protocol::ids::{ApprovalId, OutboxId, ToolCallId};
use crate::store::command::WriteTx;
use crate::store::commands::end_send::{set_unknown, unknown_delivery};
use crate::store::error::StoreError;
use crate::store::input::ActorRef;
use crate::store::sql::{Statements, params};
use crate::store::tx::approvals::Subject;
use crate::store::tx::outbox::Part;
use crate::store::tx::questions::question;

/// Key in `meta` of a database that was made as a copy and has not been started since. Its first start is in
/// quarantine, whatever a side-car says.
pub(crate) const COPY_MARK: &str = "copy";
/// What is said wherever a copy makes something doubtful.
const DOUBT: &str = "the database was restored from a copy";

/// Puts everything open in doubt; the parts that are unknown now.
pub(crate) fn doubt_open_work(tx: &mut WriteTx<'_>) -> Result<Vec<OutboxId>, StoreError> {
    let waiting = tx.conn.values::<OutboxId>(
        "SELECT id FROM outbox WHERE state = 'pending' ORDER BY position",
        [],
    )?;
    let mut unknown = Vec::new();
    for id in waiting {
        let mut part = tx.part(id)?;
        if doubt_part(tx, &mut part)? {
            unknown.push(id);
        }
    }
    let approved = tx.conn.values::<ApprovalId>(
        "SELECT id FROM approvals WHERE state = 'approved' ORDER BY position",
        [],
    )?;
    for id in approved {
        ask_approved_again(tx, id)?;
    }
    let ready = tx.conn.values::<ToolCallId>(
        "SELECT t.id FROM tool_calls t JOIN continuations c ON c.id = t.continuation_id
         WHERE t.state = 'ready' AND t.effect NOT IN ('read_only', 'idempotent') AND c.ended_at IS NULL
         ORDER BY t.position",
        [],
    )?;
    for id in ready {
        ask_ready(tx, id)?;
    }
    Ok(unknown)
}

/// A part that waited to be sent; whether it is unknown now. What only decorates a screen is given up instead, and so is
/// a card: its question can be answered everywhere else, and may be settled before anybody says whether it arrived.
fn doubt_part(tx: &mut WriteTx<'_>, part: &mut Part) -> Result<bool, StoreError> {
    match part.class {
        OutboxClass::Progress | OutboxClass::CardUpdate | OutboxClass::ApprovalCard => {
            tx.move_part(part, OutboxState::Superseded)?;
            return Ok(false);
        }
        OutboxClass::Final | OutboxClass::Notice => {}
    }
    let detail = format!("{DOUBT}: it may have been sent since");
    let mut question = unknown_delivery(part, &detail);
    question.question = Some(format!(
        "A message to `{}` on `{}` waited to be sent when the copy was made that this database was restored from: \
         it may have been sent since. Did it arrive?",
        part.conversation, part.channel
    ));
    set_unknown(tx, part, &detail, Some(&question))?;
    Ok(true)
}

/// An approval that was given and not used: the call may have run since, so it is asked for again.
fn ask_approved_again(tx: &mut WriteTx<'_>, id: ApprovalId) -> Result<(), StoreError> {
    let mut gate = tx.gate(id)?;
    let Some(call_id) = gate.call_id else {
        return Ok(());
    };
    let call = tx.call(call_id)?;
    let digest = gate.digest.clone();
    tx.next_revision(&mut gate, &digest)?;
    tx.conn.run(
        "UPDATE approvals SET question = ?2 WHERE id = ?1",
        params![id, may_have_run(&call.name)],
    )?;
    tx.move_call(call.id, call.state, ToolCallState::Awaiting)?;
    let channel = gate.channel.clone();
    tx.audit(
        "approval.returned",
        &ActorRef::engine(),
        Some(&channel),
        id,
        &json!({ "why": DOUBT, "revision": gate.revision }),
    )?;
    tx.requested_event(id)
}

/// A call that was about to run without asking (or again, on a person's word): it may have run since.
fn ask_ready(tx: &mut WriteTx<'_>, id: ToolCallId) -> Result<(), StoreError> {
    let call = tx.call(id)?;
    let head = tx.head(call.continuation_id)?;
    tx.move_call(id, call.state, ToolCallState::Awaiting)?;
    let question = question(
        ApprovalKind::Execute,
        call.digest.clone(),
        vec![
            DecisionKind::Approve,
            DecisionKind::Deny,
            DecisionKind::DenyAndStop,
            DecisionKind::Answer,
            DecisionKind::Snooze,
        ],
        may_have_run(&call.name),
    );
    tx.audit(
        "tool.asks_again",
        &ActorRef::engine(),
        Some(&head.channel),
        id,
        &json!({ "why": DOUBT, "approval": question.id, "digest": call.digest }),
    )?;
    tx.ask(&head, &question, &Subject::call(id))
}

fn may_have_run(tool: &str) -> String {
    format!(
        "{tool} was about to run when the copy was made that this database was restored from: it may have run since. \
         Approving it runs it, perhaps a second time."
    )
}
