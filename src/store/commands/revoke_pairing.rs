//! Revokes an access, or a refusal of it.

use crate::protocol::enums::PairingState;
use crate::protocol::ids::ApprovalId;
use crate::store::command::{WriteCommand, WriteTx};
use crate::store::error::StoreError;
use crate::store::input::ActorRef;
use crate::store::queries::pairings::load_pairing;

/// Makes somebody unknown again. Durable; done already is done.
#[derive(Debug, Clone)]
pub struct RevokePairing {
    /// The question about them.
    pub id: ApprovalId,
    pub by: ActorRef,
}

impl WriteCommand for RevokePairing {
    type Output = ();

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<(), StoreError> {
        let pairing = load_pairing(tx.conn, self.id)?;
        match pairing.state {
            PairingState::Accepted | PairingState::Refused => {
                tx.settle_pairing(self.id, PairingState::Revoked, Some(&self.by))
            }
            PairingState::Revoked => Ok(()),
            PairingState::Pending | PairingState::Expired => Err(StoreError::rejected(format!(
                "{} has no access to {}: the pairing is {}",
                pairing.sender, pairing.channel, pairing.state
            ))),
        }
    }
}
