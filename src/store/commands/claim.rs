//! Takes up the oldest pending continuation of a session: single flight lives here.

use crate::protocol::ids::ContinuationId;
use crate::protocol::ids::SessionId;
use crate::store::command::{Durability, WriteCommand, WriteTx};
use crate::store::error::StoreError;
use crate::store::input::ChannelFloods;
use crate::store::meta;
use crate::store::sql::{Statements, columns};

/// Takes up a session's oldest pending continuation, unless one is running, it waits for its files, the session is paused or
/// flooded, a person has taken its conversation over or the database is quarantined; of a channel that drains, only one that was begun. Relaxed:
/// losing it costs nothing but the claim.
#[derive(Debug, Clone)]
pub struct Claim {
    pub session_id: SessionId,
    /// Epoch of the caller.
    pub epoch: u64,
    /// What pauses its conversation instead.
    pub floods: ChannelFloods,
    /// Those that wait for somebody elsewhere.
    pub except: Vec<ContinuationId>,
}

impl WriteCommand for Claim {
    type Output = Option<ContinuationId>;
    const DURABILITY: Durability = Durability::Relaxed;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<Option<ContinuationId>, StoreError> {
        tx.same_epoch(self.epoch)?;
        if meta::quarantined(tx.conn)? {
            return Ok(None);
        }
        let found = tx.conn.rows(
            "SELECT c.id, c.attempt FROM continuations c
             WHERE c.session_id = ?1 AND c.ended_at IS NULL AND c.state = 'pending'
                AND NOT EXISTS (SELECT 1 FROM continuations r
                    WHERE r.session_id = ?1 AND r.ended_at IS NULL AND r.state = 'running')
                AND NOT EXISTS (SELECT 1 FROM sessions s WHERE s.id = ?1 AND (s.paused = 1
                        -- Where the engine paused it, what was begun is finished.
                        AND (s.flood IS NULL OR c.attempt = 0)
                    OR EXISTS (SELECT 1 FROM take_overs t
                        WHERE t.channel = s.channel AND t.conversation = s.conversation)
                    -- What was begun is finished.
                    OR (c.attempt = 0 AND EXISTS (SELECT 1 FROM channel_accounts a
                        WHERE a.name = s.channel AND a.draining_since IS NOT NULL))))
             ORDER BY c.position",
            [self.session_id],
            columns!(id: ContinuationId, attempt: u32),
        )?;
        let first = found.into_iter().find(|(id, _)| !self.except.contains(id));
        let Some((id, attempt)) = first else {
            return Ok(None);
        };
        // Later messages wait behind it.
        if tx.awaits_files(id)? {
            return Ok(None);
        }
        if attempt == 0 && tx.pause_if_flooded(self.session_id, &self.floods)? {
            return Ok(None);
        }
        tx.begin_continuation(id, self.epoch)?;
        Ok(Some(id))
    }

    fn committed(&self) {
        crate::crash_point!("claim.post");
    }
}
