//! Answers an approval: compare-and-set, and everything that follows from it.

use crate::clock::Timestamp;
use crate::protocol::approval::{Approval, Decision};
use crate::protocol::ids::{ApprovalId, ContinuationId, SessionId};
use crate::protocol::words::{ApprovalState, DecisionScope, DecisionWord};
use crate::store::input::ActorRef;

/// A decision. Durable. The first one wins; an identical repeat is a success.
#[derive(Debug, Clone)]
pub struct Decide {
    /// Which approval.
    pub approval_id: ApprovalId,
    /// Digest that was shown.
    pub digest: String,
    /// Revision that was shown.
    pub revision: Option<u32>,
    /// What; `edit` is [`crate::store::commands::revise_approval::ReviseApproval`].
    pub decision: DecisionWord,
    /// How far an `approve` reaches.
    pub scope: Option<DecisionScope>,
    /// Who.
    pub by: ActorRef,
    /// Why.
    pub reason: Option<String>,
    /// The answer given in place of the tool's.
    pub answer: Option<String>,
    /// Amount added to the exhausted limit (budget).
    pub extra: Option<u64>,
    /// Minutes (snooze).
    pub minutes: Option<u32>,
    /// Milliseconds the card was on screen.
    pub seen_ms: Option<u64>,
    /// The text the model reads for `deny`, `answer`, `happened`, `give_up` and `revoke`.
    pub result_content: String,
    /// When a grant of scope `session` ends.
    pub grant_expires_at: Option<Timestamp>,
    /// Whether cards already sent are updated.
    pub card_update: bool,
}

/// What became of a decision.
#[derive(Debug, Clone, PartialEq)]
pub enum DecideOutcome {
    /// It counts.
    Decided(Approval),
    /// The identical decision was recorded before; nothing changed.
    Same(Approval),
    /// Another decision was recorded before.
    Lost {
        /// That decision.
        winner: Decision,
        /// The approval as it stands.
        approval: Approval,
    },
    /// Something else was shown than what waits now.
    Stale {
        /// Digest now.
        current_digest: String,
        /// Revision now.
        current_revision: u32,
    },
    /// Its time is over.
    Expired,
    /// It is in this state, which takes no such decision.
    NotPending(ApprovalState),
}

/// A decision's outcome and what it moved.
#[derive(Debug, Clone, PartialEq)]
pub struct DecideReport {
    /// What became of it.
    pub outcome: DecideOutcome,
    /// The continuation concerned.
    pub continuation_id: Option<ContinuationId>,
    /// The session concerned.
    pub session_id: Option<SessionId>,
    /// The last gate fell: the continuation is pending again.
    pub resumed: bool,
    /// The continuation ended with this decision (`deny_and_stop`, a refused budget).
    pub ended: bool,
}
