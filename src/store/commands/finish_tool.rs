//! Records how a started call ended.

use crate::protocol::artifact::ArtifactRef;
use crate::protocol::enums::ApprovalKind;
use crate::protocol::enums::ToolCallState;
use crate::protocol::ids::ToolCallId;
use crate::protocol::session::CachedResult;
use crate::store::command::{WriteCommand, WriteTx};
use crate::store::error::StoreError;
use crate::store::input::ActorRef;
use crate::store::input::NewApproval;
use crate::store::sql::{Statements, params};
use crate::store::tx::approvals::Subject;
use crate::store::tx::calls::CallResult;
use serde_json::json;

/// The outcome of a started call. Durable. On a continuation that ended meanwhile only the call and its
/// attempt are settled.
#[derive(Debug, Clone)]
pub struct FinishTool {
    pub call_id: ToolCallId,
    /// Epoch of the caller.
    pub epoch: u64,
    /// Number of the start this belongs to.
    pub attempt: u32,
    /// `Succeeded`, `Failed` or `Indeterminate`.
    pub state: ToolCallState,
    /// What the model reads; for `Indeterminate`, what is known.
    pub content: String,
    /// Whether it is an error to the model.
    pub is_error: bool,
    /// Milliseconds it ran.
    pub duration_ms: u64,
    /// Where the whole content is, when `content` is a part of it; its file is durable.
    pub artifact: Option<ArtifactRef>,
    /// Set when the tool did not run: the result is one that was kept.
    pub cached: Option<CachedResult>,
    /// The question to ask (kind `resolve_unknown`), with `Indeterminate`.
    pub resolve: Option<NewApproval>,
}

impl WriteCommand for FinishTool {
    type Output = ();

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<(), StoreError> {
        tx.same_epoch(self.epoch)?;
        let mut call = tx.call(self.call_id)?;
        let head = tx.head(call.continuation_id)?;
        let started: Option<u64> = tx.conn.value_opt(
            "SELECT epoch FROM tool_attempts WHERE call_id = ?1 AND attempt = ?2 AND finished_at IS NULL",
            params![call.id, self.attempt],
        )?;
        match started {
            Some(epoch) if epoch == self.epoch => {}
            Some(epoch) => {
                return Err(StoreError::fenced(format!(
                    "stale epoch: attempt {} of tool call {} belongs to epoch {epoch}",
                    self.attempt, call.id
                )));
            }
            None => {
                return Err(StoreError::conflict(format!(
                    "tool call {} has no open attempt {}",
                    call.id, self.attempt
                )));
            }
        }
        let unclear = match self.state {
            ToolCallState::Succeeded | ToolCallState::Failed => false,
            ToolCallState::Indeterminate => true,
            ToolCallState::Proposed
            | ToolCallState::Blocked
            | ToolCallState::Denied
            | ToolCallState::Ready
            | ToolCallState::Awaiting
            | ToolCallState::Approved
            | ToolCallState::Started
            | ToolCallState::SucceededByNote
            | ToolCallState::Abandoned
            | ToolCallState::Cancelled
            | ToolCallState::Expired => {
                return Err(StoreError::bug(format!(
                    "tool call {} cannot go from started to {}",
                    call.id, self.state
                )));
            }
        };
        tx.conn.run(
            "UPDATE tool_attempts SET finished_at = ?3, outcome = ?4, detail = ?5 WHERE call_id = ?1 AND attempt = ?2",
            params![
                call.id,
                self.attempt,
                tx.now,
                self.state,
                unclear.then_some(&self.content)
            ],
        )?;
        if unclear || head.state.is_terminal() {
            tx.move_call(call.id, call.state, self.state)?;
            tx.conn.run(
                "UPDATE tool_calls SET duration_ms = ?2 WHERE id = ?1",
                params![call.id, self.duration_ms],
            )?;
            tx.finished_event(
                &head,
                &call,
                self.state,
                &self.content,
                Some(self.duration_ms),
            )?;
        } else {
            tx.settle_call(
                &head,
                &mut call,
                self.state,
                CallResult {
                    content: &self.content,
                    is_error: self.is_error,
                    duration_ms: Some(self.duration_ms),
                    artifact: self.artifact.as_ref(),
                    cached: self.cached,
                },
            )?;
        }
        if let Some(artifact) = &self.artifact {
            tx.refer_to_artifact(head.id, Some(call.id), artifact)?;
        }
        let mut detail = json!({ "tool": call.name, "attempt": self.attempt, "state": self.state });
        if let Some(cached) = &self.cached {
            // Nothing ran: whoever reads the log is told from when the result is.
            detail["cached_since"] = json!(cached.stored_at);
        }
        tx.audit(
            "tool.finished",
            &ActorRef::engine(),
            Some(&head.channel),
            call.id,
            &detail,
        )?;
        if unclear && !head.state.is_terminal() {
            let Some(question) = &self.resolve else {
                return Err(StoreError::bug(format!(
                    "tool call {} cannot become indeterminate without a question to a person",
                    call.id
                )));
            };
            if question.kind != ApprovalKind::ResolveUnknown {
                return Err(StoreError::bug(format!(
                    "an unknown outcome is asked about as resolve_unknown, not {}",
                    question.kind
                )));
            }
            tx.ask(&head, question, &Subject::call(call.id))?;
        }
        crate::crash_point!("result.pre_commit");
        Ok(())
    }

    fn committed(&self) {
        crate::crash_point!("result.post");
    }
}
