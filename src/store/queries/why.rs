//! The raw facts behind "why did this call run, ask or get refused".

use crate::clock::Timestamp;
use crate::protocol::approval::{Approval, Requester};
use crate::protocol::enums::ToolCallState;
use crate::protocol::hook::HookNote;
use crate::protocol::ids::ToolCallId;
use crate::protocol::session::ToolCall;
use crate::store::error::StoreError;
use crate::store::queries::approvals::load_approvals;
use crate::store::queries::hooks::load_notes;
use crate::store::queries::turn::load_call;
use crate::store::reader::Reader;
use crate::store::rows::requester;
use crate::store::sql::{Statements, columns, params};

/// One start of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolAttemptRow {
    /// Number of the start, from 1.
    pub attempt: u32,
    /// Epoch of the process that started it.
    pub epoch: u64,
    /// When.
    pub started_at: Timestamp,
    /// When it ended, or was found dead.
    pub finished_at: Option<Timestamp>,
    /// How it ended.
    pub outcome: Option<ToolCallState>,
    /// What is known of an unclear end.
    pub detail: Option<String>,
}

/// Facts on one call.
#[derive(Debug, Clone, PartialEq)]
pub struct WhyRows {
    pub call: ToolCall,
    /// Who asked for the turn.
    pub requester: Requester,
    /// The user's message: outside text.
    pub request: String,
    /// Text the model wrote beside the call: outside text.
    pub model_text: Option<String>,
    pub channel: String,
    /// Who made the policy version that was asked, and when.
    pub policy_author: Option<(String, Timestamp)>,
    /// Its approvals, oldest first (a call may ask, and later need its outcome resolved).
    pub approvals: Vec<Approval>,
    /// Its starts.
    pub attempts: Vec<ToolAttemptRow>,
    /// What hooks did to it.
    pub hooks: Vec<HookNote>,
}

impl Reader<'_> {
    /// Everything known about why a call did what it did.
    pub fn why_rows(&self, call: ToolCallId) -> Result<WhyRows, StoreError> {
        let row = load_call(self.conn, call)?.call;
        let (requester, request, channel) = self.conn.row(
            "SELECT c.requester_id, c.requester_display, c.requester_person, c.text, s.channel
             FROM continuations c JOIN sessions s ON s.id = c.session_id WHERE c.id = ?1",
            [row.continuation_id],
            |row| {
                let requester = requester(row)?;
                Ok((requester, row.get("text")?, row.get::<String>("channel")?))
            },
        )?;
        let model_text: Option<String> = self
            .conn
            .value_opt(
                "SELECT json_extract(body, '$.text') FROM steps WHERE continuation_id = ?1 AND n = ?2",
                params![row.continuation_id, row.step],
            )?
            .flatten();
        let policy_author = self.conn.row_opt(
            "SELECT by_label, at FROM policy_versions WHERE channel = ?1 AND version = ?2",
            params![channel, row.verdict.policy_version],
            columns!(by_label, at),
        )?;
        let approvals = load_approvals(
            self.conn,
            "WHERE a.continuation_id = ?1 AND a.tool_call_id = ?2 ORDER BY a.position",
            params![row.continuation_id, call],
        )?;
        let attempts = self.conn.rows(
            "SELECT attempt, epoch, started_at, finished_at, outcome, detail FROM tool_attempts
             WHERE call_id = ?1 ORDER BY attempt",
            [call],
            |row| {
                Ok(columns!(row => ToolAttemptRow {
                    attempt, epoch, started_at, finished_at, outcome, detail,
                }))
            },
        )?;
        Ok(WhyRows {
            call: row,
            requester,
            request,
            model_text: model_text.filter(|text| !text.is_empty()),
            channel,
            policy_author,
            approvals: approvals
                .into_iter()
                .map(|(_, approval)| approval)
                .collect(),
            attempts,
            hooks: load_notes(self.conn, call)?,
        })
    }
}
