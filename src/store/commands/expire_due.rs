//! Closes what nobody answered in time, and ends temporary autonomy.

use crate::clock::Timestamp;
use crate::protocol::enums::{
    ApprovalKind, ApprovalState, Autonomy, ChannelKind, ContinuationState, OutboxClass,
    ToolCallState,
};
use crate::protocol::event::EventBody;
use crate::protocol::ids::{ApprovalId, ContinuationId, SessionId};
use crate::protocol::policy::Policy;
use crate::protocol::session::ErrorBody;
use crate::store::command::{WriteCommand, WriteTx};
use crate::store::error::StoreError;
use crate::store::input::{ActorRef, EngineNotice};
use crate::store::queries::channels::load_policy;
use crate::store::sql::Statements;
use serde_json::json;

/// Expires overdue approvals with their continuations, and policies whose level was temporary. Durable.
///
/// An approval of a continuation that is running waits until it is parked.
#[derive(Debug, Clone)]
pub struct ExpireDue {
    /// Everything due at this time.
    pub now: Timestamp,
    /// Sent to each conversation whose continuation expired.
    pub notice: String,
}

/// An approval that expired.
#[allow(clippy::struct_field_names, reason = "three ids of three kinds")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExpiredApproval {
    pub approval_id: ApprovalId,
    /// Its continuation, which expired with it.
    pub continuation_id: Option<ContinuationId>,
    pub session_id: Option<SessionId>,
}

/// What was due.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ExpiredDue {
    pub approvals: Vec<ExpiredApproval>,
    /// Channels whose temporary level ended, with the policy now in force.
    pub policies: Vec<(String, Policy)>,
}

impl ExpireDue {
    fn expire(
        &self,
        tx: &mut WriteTx<'_>,
        id: ApprovalId,
    ) -> Result<Option<ExpiredApproval>, StoreError> {
        let gate = tx.gate(id)?;
        // Closed meanwhile together with another gate of its continuation.
        if gate.state != ApprovalState::Pending {
            return Ok(None);
        }
        let gates_a_turn = gate.kind != ApprovalKind::Resend;
        let mut head = match gate.continuation_id {
            Some(continuation) if gates_a_turn => Some(tx.head(continuation)?),
            Some(_) | None => None,
        };
        if head
            .as_ref()
            .is_some_and(|head| head.state == ContinuationState::Running)
        {
            return Ok(None);
        }
        tx.close_gate(id, ApprovalState::Expired)?;
        tx.audit(
            "approval.expired",
            &ActorRef::engine(),
            Some(&gate.channel),
            id,
            &json!({ "kind": gate.kind, "tool": gate.tool, "digest": gate.digest, "revision": gate.revision }),
        )?;
        if let Some(head) = head.as_mut() {
            // Its own call is closed here too: it waits, and waiting calls expire.
            tx.close_open(head, ApprovalState::Revoked, ToolCallState::Expired)?;
            let reason = format!("approval {id} expired: nobody decided");
            tx.move_continuation(
                head,
                ContinuationState::Expired,
                Some(&ErrorBody {
                    code: "expired".to_owned(),
                    message: reason.clone(),
                }),
            )?;
            tx.emit_turn(head, EventBody::ContinuationExpired { reason })?;
            // Nobody takes what is queued for a channel without a bridge.
            let kind: Option<ChannelKind> = tx.conn.value_opt(
                "SELECT kind FROM channel_accounts WHERE name = ?1",
                [&head.channel],
            )?;
            if kind.is_some_and(ChannelKind::has_bridge) {
                let notice = head.notice(OutboxClass::Notice, &self.notice);
                tx.queue_own(&notice, EngineNotice::Expired)?;
            }
            tx.end_if_temporary(head)?;
        }
        Ok(Some(ExpiredApproval {
            approval_id: id,
            continuation_id: head.as_ref().map(|head| head.id),
            session_id: head.as_ref().map(|head| head.session_id),
        }))
    }
}

impl WriteCommand for ExpireDue {
    type Output = ExpiredDue;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<ExpiredDue, StoreError> {
        let due = tx.conn.values::<ApprovalId>(
            "SELECT id FROM approvals WHERE state = 'pending' AND expires_at IS NOT NULL AND expires_at <= ?1
             ORDER BY expires_at",
            [self.now],
        )?;
        let mut outcome = ExpiredDue::default();
        for id in due {
            outcome.approvals.extend(self.expire(tx, id)?);
        }
        let channels: Vec<String> = tx.conn.values(
            "SELECT channel FROM policies WHERE expires_at IS NOT NULL AND expires_at <= ?1 ORDER BY channel",
            [self.now],
        )?;
        for channel in channels {
            let mut policy = load_policy(tx.conn, &channel)?;
            policy.version += 1;
            policy.autonomy = policy.reverts_to.unwrap_or(Autonomy::Supervised);
            policy.expires_at = None;
            policy.reverts_to = None;
            tx.put_policy(
                &channel,
                &policy,
                &ActorRef::engine(),
                "the temporary level ended",
            )?;
            outcome.policies.push((channel, policy));
        }
        crate::crash_point!("expire.pre_commit");
        Ok(outcome)
    }

    fn committed(&self) {
        crate::crash_point!("expire.post");
    }
}
