//! The raw facts behind "why did this call run, ask or get refused".

use crate::clock::Timestamp;
use crate::protocol::approval::{Approval, Requester};
use crate::protocol::ids::ToolCallId;
use crate::protocol::session::ToolCall;
use crate::protocol::words::ToolCallState;
use crate::store::error::StoreError;
use crate::store::reader::Reader;

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
    /// The call.
    pub call: ToolCall,
    /// Who asked for the turn.
    pub requester: Requester,
    /// The user's message: outside text.
    pub request: String,
    /// Text the model wrote beside the call: outside text.
    pub model_text: Option<String>,
    /// Channel name.
    pub channel: String,
    /// Who made the policy version that was asked, and when.
    pub policy_author: Option<(String, Timestamp)>,
    /// Its approvals, oldest first (a call may ask, and later need its outcome resolved).
    pub approvals: Vec<Approval>,
    /// Its starts.
    pub attempts: Vec<ToolAttemptRow>,
}

impl Reader<'_> {
    /// Everything known about why a call did what it did.
    pub fn why_rows(&self, call: ToolCallId) -> Result<WhyRows, StoreError> {
        Err(StoreError::Closed)
    }
}
