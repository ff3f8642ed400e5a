//! How the calls of each tool went.

use std::collections::BTreeMap;

use crate::clock::Timestamp;
use crate::protocol::enums::ToolCallState;
use crate::protocol::ids::{SessionId, ToolCallId};
use crate::protocol::mcp::{FIND_TOOLS, server_of};
use crate::protocol::session::StepBody;
use crate::store::error::StoreError;
use crate::store::reader::Reader;
use crate::store::sql::{Statements, params};

/// The calls of one tool.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolUsage {
    /// How many.
    pub calls: u64,
    /// Those that failed, or whose outcome nobody knows.
    pub errors: u64,
    /// Those that policy or a person denied.
    pub denied: u64,
    /// Median run time in milliseconds; none = none ran.
    pub p50_ms: Option<u64>,
    /// When the newest was proposed.
    pub last_call_at: Option<Timestamp>,
}

impl Reader<'_> {
    /// Whether a call of a tool ran in a session, other than `call`.
    pub fn ran_before(
        &self,
        session: SessionId,
        tool: &str,
        call: ToolCallId,
    ) -> Result<bool, StoreError> {
        let found: Option<u64> = self.conn.value_opt(
            "SELECT 1 FROM tool_calls t JOIN continuations c ON c.id = t.continuation_id
             WHERE c.session_id = ?1 AND t.name = ?2 AND t.id <> ?3 AND t.started_at IS NOT NULL LIMIT 1",
            params![session, tool, call],
        )?;
        Ok(found.is_some())
    }

    /// What the newest searches for tools in a session answered, the oldest first.
    pub fn found_tools(&self, session: SessionId) -> Result<Vec<String>, StoreError> {
        let bodies = self.conn.rows(
            "SELECT s.body FROM tool_calls t JOIN continuations c ON c.id = t.continuation_id
             JOIN steps s ON s.continuation_id = t.continuation_id AND s.n = t.result_step
             WHERE c.session_id = ?1 AND t.name = ?2 AND t.state = 'succeeded'
             ORDER BY t.position DESC LIMIT 20",
            params![session, FIND_TOOLS],
            |row| row.json::<StepBody>("body"),
        )?;
        let answers = bodies.into_iter().rev().filter_map(|body| match body {
            StepBody::ToolResult { content, .. } => Some(content),
            StepBody::Model { .. }
            | StepBody::OperatorNote { .. }
            | StepBody::Final { .. }
            | StepBody::Error { .. } => None,
        });
        Ok(answers.collect())
    }

    /// The newest calls by tool, at most `counted` of all tools together.
    pub fn tool_usage(&self, counted: u64) -> Result<BTreeMap<String, ToolUsage>, StoreError> {
        self.usage_by(counted, |name| Some(name.to_owned()))
    }

    /// Those among them of tools of servers, by server.
    pub fn server_usage(&self, counted: u64) -> Result<BTreeMap<String, ToolUsage>, StoreError> {
        self.usage_by(counted, |name| server_of(name).map(str::to_owned))
    }

    fn usage_by(
        &self,
        counted: u64,
        key: impl Fn(&str) -> Option<String>,
    ) -> Result<BTreeMap<String, ToolUsage>, StoreError> {
        let calls = self.conn.rows(
            "SELECT name, state, duration_ms, created_at FROM tool_calls ORDER BY position DESC LIMIT ?1",
            params![counted],
            |row| {
                let name: String = row.get("name")?;
                let state: ToolCallState = row.get("state")?;
                let duration: Option<u64> = row.get("duration_ms")?;
                let at: Timestamp = row.get("created_at")?;
                Ok((name, state, duration, at))
            },
        )?;
        let mut tools: BTreeMap<String, (ToolUsage, Vec<u64>)> = BTreeMap::new();
        for (name, state, duration, at) in calls {
            let Some(key) = key(&name) else { continue };
            let (usage, durations) = tools.entry(key).or_default();
            usage.calls += 1;
            usage.last_call_at = usage.last_call_at.max(Some(at));
            durations.extend(duration);
            match state {
                ToolCallState::Failed | ToolCallState::Indeterminate => usage.errors += 1,
                ToolCallState::Denied | ToolCallState::Blocked => usage.denied += 1,
                ToolCallState::Proposed
                | ToolCallState::Ready
                | ToolCallState::Awaiting
                | ToolCallState::Approved
                | ToolCallState::Started
                | ToolCallState::Succeeded
                | ToolCallState::SucceededByNote
                | ToolCallState::Abandoned
                | ToolCallState::Cancelled
                | ToolCallState::Expired => {}
            }
        }
        Ok(tools
            .into_iter()
            .map(|(name, (mut usage, mut durations))| {
                durations.sort_unstable();
                usage.p50_ms = durations.get(durations.len() / 2).copied();
                (name, usage)
            })
            .collect())
    }
}
