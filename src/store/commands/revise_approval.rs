//! Replaces the arguments of a call that waits for approval.

use crate::protocol::approval::Preview;
use crate::protocol::ids::ApprovalId;
use crate::store::input::{ActorRef, NewCallFacts, NewCard};

/// An edit by a person. Durable; answers like a decision. New revision and digest, still pending.
#[derive(Debug, Clone)]
pub struct ReviseApproval {
    /// Which approval.
    pub approval_id: ApprovalId,
    /// Digest that was shown.
    pub digest: String,
    /// Who.
    pub by: ActorRef,
    /// The call as edited.
    pub call: NewCallFacts,
    /// Its new preview.
    pub preview: Preview,
    /// Which untrusted content is in context.
    pub taint: Vec<String>,
    /// New cards; cards of the old revision are disarmed.
    pub cards: Vec<NewCard>,
}
