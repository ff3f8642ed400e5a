//! Settles a failed or unknown delivery on a person's word.

use crate::protocol::ids::OutboxId;
use crate::store::input::ActorRef;

/// What a person says about a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settlement {
    /// It arrived.
    Sent,
    /// Send it again.
    SendAgain,
    /// Give it up.
    Drop,
}

/// Settles a delivery that is `unknown` or `failed`. Durable. A pending `resend` approval of an unknown
/// one is answered with the same word.
#[derive(Debug, Clone)]
pub struct ResolveDelivery {
    /// Which part.
    pub outbox_id: OutboxId,
    /// How.
    pub settlement: Settlement,
    /// Who.
    pub by: ActorRef,
}
