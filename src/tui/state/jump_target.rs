//! What a reader of a transcript jumps to.

use crate::protocol::enums::{ContinuationState, ToolCallState};
use crate::protocol::session::{StepBody, TranscriptBody, TranscriptEntry};

/// A kind of entry worth a jump.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JumpTarget {
    /// A call that asked a person.
    Approval,
    /// Something that failed, or of which nobody knows whether it did.
    Error,
}

impl JumpTarget {
    pub const fn word(self) -> &'static str {
        match self {
            Self::Approval => "approval",
            Self::Error => "error",
        }
    }

    /// Whether an entry is one.
    pub fn is(self, entry: &TranscriptEntry) -> bool {
        match (&entry.body, self) {
            (TranscriptBody::User { .. } | TranscriptBody::Compacted { .. }, _) => false,
            (TranscriptBody::State { state, .. }, Self::Approval) => {
                *state == ContinuationState::AwaitingApproval
            }
            (TranscriptBody::State { state, .. }, Self::Error) => {
                [ContinuationState::Failed, ContinuationState::Interrupted].contains(state)
            }
            (TranscriptBody::Step { tool_calls, .. }, Self::Approval) => {
                tool_calls.iter().any(|call| call.approval_id.is_some())
            }
            (TranscriptBody::Step { step, tool_calls }, Self::Error) => {
                let failed = match &step.body {
                    StepBody::Error { .. } => true,
                    StepBody::ToolResult { state, .. } => went_wrong(*state),
                    StepBody::Model { .. }
                    | StepBody::OperatorNote { .. }
                    | StepBody::Final { .. } => false,
                };
                failed || tool_calls.iter().any(|call| went_wrong(call.state))
            }
        }
    }
}

fn went_wrong(state: ToolCallState) -> bool {
    [ToolCallState::Failed, ToolCallState::Indeterminate].contains(&state)
}
