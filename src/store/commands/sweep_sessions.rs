//! Sessions: those that nobody uses expire, and those that are long over go.

use crate::protocol::event::EventBody;
use crate::protocol::ids::SessionId;
use crate::store::command::{Durability, WriteCommand, WriteTx};
use crate::store::commands::sweep_history::{CHUNK, SweepCount};
use crate::store::error::StoreError;
use crate::store::queries::sweep::{IDLE, OLD_SESSION, SweepRules};
use crate::store::sql::{Statements, params};

/// Ends sessions that are idle, as many as fit. Relaxed. One that is used again, paused or waited in since it was
/// found stays.
#[derive(Debug, Clone)]
pub struct ExpireSessions {
    /// What is idle.
    pub rules: SweepRules,
    /// Positions of those that were found.
    pub sessions: Vec<i64>,
    /// Told with the end.
    pub reason: String,
}

impl WriteCommand for ExpireSessions {
    type Output = SweepCount;
    const DURABILITY: Durability = Durability::Relaxed;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<SweepCount, StoreError> {
        let mut swept = SweepCount::default();
        // A state, an event and its grants each.
        for position in self.sessions.iter().take(CHUNK as usize / 4) {
            swept.taken += 1;
            let id = tx.conn.value_opt::<SessionId>(
                &format!("SELECT s.id FROM sessions s WHERE s.position = ?4 AND {IDLE}"),
                params![0, 0, self.rules.idle_before, position],
            )?;
            let Some(id) = id else { continue };
            tx.conn.run(
                "UPDATE sessions SET state = 'expired', updated_at = ?2 WHERE id = ?1",
                params![id, tx.now],
            )?;
            tx.conn
                .run("DELETE FROM session_grants WHERE session_id = ?1", [id])?;
            tx.emit(
                Some(id),
                None,
                EventBody::SessionEnded {
                    reason: self.reason.clone(),
                },
            )?;
            swept.removed += 1;
            swept.rows += 1;
        }
        Ok(swept)
    }
}

/// Removes sessions that are over and have no turn left, as many as fit. Relaxed.
#[derive(Debug, Clone)]
pub struct SweepSessions {
    /// What is old.
    pub rules: SweepRules,
    /// Positions of those that were found.
    pub sessions: Vec<i64>,
}

impl WriteCommand for SweepSessions {
    type Output = SweepCount;
    const DURABILITY: Durability = Durability::Relaxed;
    const ALONE: bool = true;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<SweepCount, StoreError> {
        let mut swept = SweepCount::default();
        for position in self.sessions.iter().take(CHUNK as usize) {
            swept.taken += 1;
            // The grants of a session go with its end.
            let gone = tx.conn.value_opt::<SessionId>(
                &format!(
                    "DELETE FROM sessions AS s WHERE s.position = ?2 AND {OLD_SESSION}
                        AND NOT EXISTS (SELECT 1 FROM continuations c WHERE c.session_id = s.id)
                        AND NOT EXISTS (SELECT 1 FROM session_grants g WHERE g.session_id = s.id)
                     RETURNING id"
                ),
                params![self.rules.history_before, position],
            )?;
            let Some(gone) = gone else { continue };
            swept.removed += 1;
            swept.rows += 1;
            for children in [
                "DELETE FROM summaries WHERE session_id = ?1",
                "DELETE FROM compactions WHERE session_id = ?1",
            ] {
                swept.rows += tx.conn.run(children, [gone])? as u64;
            }
        }
        // A summary or a compaction of a session that is gone would be a reference into nothing.
        for orphans in [
            "DELETE FROM summaries WHERE NOT EXISTS (SELECT 1 FROM sessions s WHERE s.id = session_id)",
            "DELETE FROM compactions WHERE NOT EXISTS (SELECT 1 FROM sessions s WHERE s.id = session_id)",
        ] {
            swept.rows += tx.conn.run(orphans, [])? as u64;
        }
        // What was added to the budget of a session that is gone.
        swept.rows += tx.conn.run(
            "DELETE FROM budget_grants WHERE session_id IS NOT NULL
                AND NOT EXISTS (SELECT 1 FROM sessions s WHERE s.id = session_id)",
            [],
        )? as u64;
        Ok(swept)
    }
}
