//! Begins a compaction and reserves its model call; refuses it where a budget is used up.

use crate::protocol::ids::{CompactionId, SessionId};
use crate::store::command::{WriteCommand, WriteTx};
use crate::store::commands::reserve_model::Reservation;
use crate::store::error::StoreError;
use crate::store::input::CompactionCall;
use crate::store::sql::{Statements, params};

/// Begins a compaction. Durable: recorded spend is never below real calls. Refused while another one is under way in
/// the session, and where the session's summary is not the one it was planned upon.
#[derive(Debug, Clone)]
pub struct BeginCompaction {
    pub id: CompactionId,
    pub session_id: SessionId,
    /// Epoch of the caller.
    pub epoch: u64,
    /// Version of the summary it goes on from; 0 = none.
    pub version: u64,
    /// Turns it is to cover.
    pub turns: u64,
    /// Estimated tokens of the next prompt as it is.
    pub tokens_before: u64,
    /// Its model call.
    pub call: CompactionCall,
}

impl WriteCommand for BeginCompaction {
    /// Nothing is written where a budget is used up.
    type Output = Reservation;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<Reservation, StoreError> {
        tx.same_epoch(self.epoch)?;
        tx.active(self.session_id)?;
        let running: bool = tx.conn.value(
            "SELECT EXISTS (SELECT 1 FROM compactions WHERE session_id = ?1 AND state = 'running')",
            [self.session_id],
        )?;
        if running {
            return Err(StoreError::conflict(format!(
                "session {} is being compacted already",
                self.session_id
            )));
        }
        let version = tx.summary_version(self.session_id)?;
        if version != self.version {
            return Err(StoreError::conflict(format!(
                "session {}: its summary is version {version}, the compaction was planned upon {}",
                self.session_id, self.version
            )));
        }
        let reservation = tx.reserve_for_compaction(self.session_id, &self.call, 1)?;
        if matches!(reservation, Reservation::Granted(_)) {
            tx.conn.run(
                "INSERT INTO compactions (id, session_id, state, epoch, model, turns, tokens_before, started_at)
                 VALUES (?1, ?2, 'running', ?3, ?4, ?5, ?6, ?7)",
                params![
                    self.id,
                    self.session_id,
                    self.epoch,
                    self.call.model,
                    self.turns,
                    self.tokens_before,
                    tx.now
                ],
            )?;
        }
        Ok(reservation)
    }
}
