//! Every legal change of state, and nothing else. Pure: no row is read or written here.
//!
//! Source: DESIGN.md § Store, "Continuation transitions" and "Tool call".

use crate::protocol::enums::{ApprovalState, ContinuationState, OutboxState, ToolCallState};

/// Whether a continuation may go from one state to another. `streaming` is never stored.
pub fn continuation(from: ContinuationState, to: ContinuationState) -> bool {
    use ContinuationState as S;
    match from {
        S::Pending => matches!(to, S::Running | S::Cancelled | S::Expired),
        S::Running => matches!(
            to,
            S::AwaitingApproval
                | S::Pending
                | S::Interrupted
                | S::Completed
                | S::Failed
                | S::Cancelled
        ),
        S::AwaitingApproval => matches!(to, S::Pending | S::Failed | S::Cancelled | S::Expired),
        S::Interrupted => matches!(
            to,
            S::Pending | S::AwaitingApproval | S::Cancelled | S::Expired
        ),
        S::Streaming | S::Completed | S::Failed | S::Cancelled | S::Expired => false,
    }
}

/// Whether a tool call may go from one state to another.
///
/// Beyond the arrows of the drawing: `proposed → failed` is a call refused by schema or path guard before
/// any verdict; `awaiting → succeeded` is an answer given in place of the tool's; `approved → denied` is
/// an unused approval taken back; `ready → denied` is a call that the policy or its plan no longer allows; `ready | approved → awaiting` is a call that must ask (again);
/// `started → ready` happens in recovery only; `ready | approved → indeterminate` is such a call whose key ran out
/// before it could start again.
pub fn tool_call(from: ToolCallState, to: ToolCallState) -> bool {
    use ToolCallState as S;
    match from {
        S::Proposed => matches!(
            to,
            S::Blocked | S::Denied | S::Failed | S::Ready | S::Awaiting | S::Cancelled | S::Expired
        ),
        S::Ready => matches!(
            to,
            S::Started | S::Awaiting | S::Denied | S::Indeterminate | S::Cancelled | S::Expired
        ),
        S::Awaiting => matches!(
            to,
            S::Approved | S::Denied | S::Succeeded | S::Cancelled | S::Expired
        ),
        S::Approved => matches!(
            to,
            S::Started | S::Denied | S::Awaiting | S::Indeterminate | S::Cancelled | S::Expired
        ),
        S::Started => matches!(to, S::Succeeded | S::Failed | S::Indeterminate | S::Ready),
        S::Indeterminate => matches!(to, S::SucceededByNote | S::Ready | S::Abandoned),
        S::Blocked
        | S::Denied
        | S::Succeeded
        | S::Failed
        | S::SucceededByNote
        | S::Abandoned
        | S::Cancelled
        | S::Expired => false,
    }
}

/// Whether an approval may go from one state to another.
///
/// Kinds that allow nothing later (a question, an unknown outcome) are used the moment they are answered:
/// `pending → consumed`. `approved → pending` is an approval that was not used in time.
pub fn approval(from: ApprovalState, to: ApprovalState) -> bool {
    use ApprovalState as S;
    match from {
        S::Pending => matches!(
            to,
            S::Approved | S::Denied | S::Expired | S::Revoked | S::Consumed
        ),
        S::Approved => matches!(to, S::Consumed | S::Revoked | S::Pending),
        S::Denied | S::Expired | S::Revoked | S::Consumed => false,
    }
}

/// Whether an outbound part may go from one state to another.
///
/// `sending → pending` is a send that certainly did not happen, or repeats safely; `pending → unknown` is one that no
/// longer does, or an answer so old that a person is asked first; `unknown | failed → …` is a person's word, or what a
/// look at the platform said.
pub fn outbox(from: OutboxState, to: OutboxState) -> bool {
    use OutboxState as S;
    match from {
        S::Pending => matches!(to, S::Sending | S::Unknown | S::Superseded | S::Abandoned),
        S::Sending => matches!(
            to,
            S::Sent | S::Pending | S::Failed | S::Unknown | S::Superseded
        ),
        S::Unknown | S::Failed => matches!(to, S::Sent | S::Pending | S::Abandoned),
        S::Sent | S::Superseded | S::Abandoned => false,
    }
}
