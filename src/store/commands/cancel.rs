//! Ends a continuation on a person's word.

use crate::protocol::enums::ContinuationState;
use crate::protocol::ids::{ContinuationId, ToolCallId};
use crate::store::command::{WriteCommand, WriteTx};
use crate::store::error::StoreError;
use crate::store::input::{ActorRef, ModelStep, NewNotice};

/// Cancels a continuation that is not terminal. Durable.
#[derive(Debug, Clone)]
pub struct Cancel {
    pub continuation_id: ContinuationId,
    pub by: ActorRef,
    pub reason: Option<String>,
    /// Words to the chat.
    pub notices: Vec<NewNotice>,
    /// The answer that was under way, as far as it was shown. Settles its attempt, unless that is settled by now.
    pub under_way: Option<ModelStep>,
}

/// What a cancel found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CancelOutcome {
    /// State before.
    pub was: ContinuationState,
    /// Calls in flight, to be killed; `FinishTool` still settles them.
    pub started_calls: Vec<ToolCallId>,
}

impl WriteCommand for Cancel {
    type Output = CancelOutcome;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<CancelOutcome, StoreError> {
        let mut head = tx.head(self.continuation_id)?;
        let was = head.state;
        let started_calls = tx.started_calls(head.id)?;
        if let Some(step) = &self.under_way {
            tx.cut_answer(&head, step)?;
        }
        tx.cancel_continuation(&mut head, &self.by, self.reason.as_deref(), &self.notices)?;
        crate::crash_point!("cancel.pre_commit");
        Ok(CancelOutcome { was, started_calls })
    }

    fn committed(&self) {
        crate::crash_point!("cancel.post");
    }
}
