//! What a session said before, and what became of past calls.

use crate::clock::Timestamp;
use crate::protocol::ids::{ContinuationId, SessionId};
use crate::protocol::policy::Verdict;
use crate::protocol::session::Step;
use crate::protocol::words::{Access, DecisionWord, Effect, Risk};
use crate::store::error::StoreError;
use crate::store::queries::turn::CallRow;
use crate::store::reader::Reader;

/// One completed turn.
#[derive(Debug, Clone, PartialEq)]
pub struct Exchange {
    /// Its continuation.
    pub continuation_id: ContinuationId,
    /// The user's message: outside text.
    pub text: String,
    /// Its steps in order.
    pub steps: Vec<Step>,
    /// Its calls in order.
    pub calls: Vec<CallRow>,
}

/// A call that was judged before.
#[derive(Debug, Clone, PartialEq)]
pub struct PastCall {
    /// Tool name.
    pub tool: String,
    /// One line of its arguments.
    pub preview: String,
    /// Arguments: outside text.
    pub args: serde_json::Value,
    /// What it touched.
    pub access: Access,
    /// Recovery class.
    pub effect: Effect,
    /// Risk.
    pub risk: Risk,
    /// Whether untrusted content was in context when it asked.
    pub tainted: bool,
    /// What the policy said.
    pub verdict: Verdict,
    /// What a person said, if asked.
    pub decision: Option<DecisionWord>,
    /// When it was proposed.
    pub at: Timestamp,
}

impl Reader<'_> {
    /// The last completed exchanges of a session before a continuation, oldest first.
    pub fn history(
        &self,
        session: SessionId,
        before: ContinuationId,
        exchanges: u32,
    ) -> Result<Vec<Exchange>, StoreError> {
        Err(StoreError::Closed)
    }

    /// The newest calls of a channel, newest first.
    pub fn past_calls(&self, channel: &str, limit: u32) -> Result<Vec<PastCall>, StoreError> {
        Err(StoreError::Closed)
    }
}
