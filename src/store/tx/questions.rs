//! Questions that the engine asks of its own accord.

use crate::protocol::approval::Preview;
use crate::protocol::enums::{ApprovalKind, DecisionKind};
use crate::protocol::ids::ApprovalId;
use crate::store::input::NewApproval;
use crate::store::tx::approvals::short_code;
use crate::store::tx::calls::Call;

/// A question that no tool asked; engine-made cards may follow.
pub(crate) fn question(
    kind: ApprovalKind,
    digest: String,
    offered: Vec<DecisionKind>,
    text: String,
) -> NewApproval {
    let id = ApprovalId::generate();
    NewApproval {
        id,
        short_code: short_code(id, 1),
        kind,
        digest,
        taint: Vec::new(),
        preview: Preview::None,
        model_reason: None,
        offered,
        expires_at: None,
        once_only: None,
        question: Some(text),
        cards: Vec::new(),
    }
}

/// Asks what became of a call that was running when the process ended.
pub(crate) fn unknown_call(call: &Call) -> NewApproval {
    question(
        ApprovalKind::ResolveUnknown,
        call.digest.clone(),
        vec![
            DecisionKind::Happened,
            DecisionKind::RunAgain,
            DecisionKind::GiveUp,
        ],
        format!(
            "{} was running when the process ended: did it happen?",
            call.name
        ),
    )
}
