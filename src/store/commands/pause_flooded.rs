//! Pauses a conversation after too many denials.

use crate::protocol::ids::SessionId;
use crate::store::command::{WriteCommand, WriteTx};
use crate::store::error::StoreError;
use crate::store::input::ChannelFloods;

/// Pauses a session whose conversation is flooded. Durable; whether it did.
#[derive(Debug, Clone)]
pub struct PauseFlooded {
    pub session_id: SessionId,
    /// What is too much.
    pub floods: ChannelFloods,
}

impl WriteCommand for PauseFlooded {
    type Output = bool;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<bool, StoreError> {
        tx.pause_if_flooded(self.session_id, &self.floods)
    }
}
