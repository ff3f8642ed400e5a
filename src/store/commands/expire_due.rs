//! Closes what nobody answered in time, and ends temporary autonomy.

use crate::clock::Timestamp;
use crate::protocol::ids::{ApprovalId, ContinuationId, SessionId};
use crate::protocol::policy::Policy;

/// Expires overdue approvals with their continuations, and policies whose level was temporary. Durable.
///
/// An approval of a continuation that is running waits until it is parked.
#[derive(Debug, Clone)]
pub struct ExpireDue {
    /// Everything due at this time.
    pub now: Timestamp,
    /// Sent to each conversation whose continuation expired.
    pub notice: String,
}

/// An approval that expired.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expired {
    /// Which.
    pub approval_id: ApprovalId,
    /// Its continuation, which expired with it.
    pub continuation_id: Option<ContinuationId>,
    /// Its session.
    pub session_id: Option<SessionId>,
}

/// What was due.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ExpiredDue {
    /// Approvals that expired.
    pub approvals: Vec<Expired>,
    /// Channels whose temporary level ended, with the policy now in force.
    pub policies: Vec<(String, Policy)>,
}
