//! Keeps what an external agent says of a call after it.

use crate::protocol::enums::{ReportOutcome, ToolCallState};
use crate::protocol::event::EventBody;
use crate::protocol::ids::{ContinuationId, SessionId, ToolCallId};
use crate::store::command::{Durability, WriteCommand, WriteTx};
use crate::store::error::StoreError;
use crate::store::rows::preview;
use crate::store::sql::{Statements, columns, params};

/// Keeps a report. The first one of a call stays. Relaxed: nothing of ours follows from it.
#[derive(Debug, Clone)]
pub struct RecordCallReport {
    /// The session of the agent.
    pub session_id: SessionId,
    /// The turn in which the agent asked; none = it never did.
    pub continuation_id: Option<ContinuationId>,
    pub tool: String,
    /// How it ended.
    pub outcome: ReportOutcome,
    /// What it gave, redacted.
    pub result: Option<String>,
}

impl WriteCommand for RecordCallReport {
    type Output = bool;
    const DURABILITY: Durability = Durability::Relaxed;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<bool, StoreError> {
        let call: Option<ToolCallId> = match self.continuation_id {
            Some(id) => tx.conn.value_opt(
                "SELECT id FROM tool_calls WHERE continuation_id = ?1 ORDER BY position LIMIT 1",
                [id],
            )?,
            None => None,
        };
        if call.is_none() && self.continuation_id.is_some() {
            return Ok(false);
        }
        let written = insert(tx, self, call)?;
        if written {
            tell(tx, self, call)?;
        }
        Ok(written)
    }
}

fn insert(
    tx: &WriteTx<'_>,
    report: &RecordCallReport,
    call: Option<ToolCallId>,
) -> Result<bool, StoreError> {
    let written = tx.conn.run(
        "INSERT INTO call_reports (session_id, tool_call_id, tool, outcome, result, created_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (tool_call_id) DO UPDATE
            SET outcome = excluded.outcome, result = excluded.result, created_at = excluded.created_at
            WHERE call_reports.outcome = 'unreported'",
        params![
            report.session_id,
            call,
            report.tool,
            report.outcome,
            report.result,
            tx.now
        ],
    )?;
    Ok(written > 0)
}

fn tell(
    tx: &mut WriteTx<'_>,
    report: &RecordCallReport,
    call_id: Option<ToolCallId>,
) -> Result<(), StoreError> {
    tx.emit(
        Some(report.session_id),
        report.continuation_id,
        EventBody::CallReported {
            call_id,
            tool: report.tool.clone(),
            outcome: report.outcome,
            preview: preview(report.result.as_deref().unwrap_or_default()),
        },
    )
}

/// Notes that the agent of a session went on without reporting the end of calls that were allowed. Relaxed.
#[derive(Debug, Clone)]
pub struct CloseUnreported {
    /// The session of the agent.
    pub session_id: SessionId,
}

impl WriteCommand for CloseUnreported {
    type Output = u64;
    const DURABILITY: Durability = Durability::Relaxed;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<u64, StoreError> {
        let open: Vec<(ContinuationId, ToolCallId, String)> = tx.conn.rows(
            "SELECT c.id AS continuation, t.id, t.name FROM tool_calls t
                JOIN continuations c ON c.id = t.continuation_id
             WHERE c.session_id = ?1 AND t.state = ?2 AND t.started_at IS NOT NULL
                AND NOT EXISTS (SELECT 1 FROM call_reports r WHERE r.tool_call_id = t.id)",
            params![self.session_id, ToolCallState::Succeeded],
            columns!(continuation, id, name),
        )?;
        let count = open.len() as u64;
        for (continuation, call, tool) in open {
            let report = RecordCallReport {
                session_id: self.session_id,
                continuation_id: Some(continuation),
                tool,
                outcome: ReportOutcome::Unreported,
                result: None,
            };
            if insert(tx, &report, Some(call))? {
                tell(tx, &report, Some(call))?;
            }
        }
        Ok(count)
    }
}
