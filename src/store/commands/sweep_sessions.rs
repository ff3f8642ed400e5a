//! Sessions: those that nobody uses expire, and those that are long over go.

use crate::clock::Timestamp;
use crate::protocol::enums::SessionState;
use crate::protocol::ids::SessionId;
use crate::store::command::WriteTx;
use crate::store::commands::remove::Removal;
use crate::store::error::StoreError;
use crate::store::queries::sweep::{IDLE, OLD_SESSION};
use crate::store::sql::{Statements, params};

/// Idle sessions, by position: they end. One that is used again, paused or waited in since it was found stays.
#[derive(Debug, Clone)]
pub struct IdleSessions {
    /// Those without a change since then are idle.
    pub before: Timestamp,
    /// Told with the end.
    pub reason: String,
}

impl Removal for IdleSessions {
    type Key = i64;

    /// A state, an event, its grants, and of each rule the row, an event and an audit row.
    fn cost(&self, tx: &WriteTx<'_>, position: &i64) -> Result<u64, StoreError> {
        let rules: u64 = tx.conn.value(
            "SELECT count(*) FROM rules WHERE session_id = (SELECT id FROM sessions WHERE position = ?1)",
            [position],
        )?;
        Ok(4 + 3 * rules)
    }

    fn remove(&self, tx: &mut WriteTx<'_>, position: &i64) -> Result<Option<u64>, StoreError> {
        let id = tx.conn.value_opt::<SessionId>(
            &format!("SELECT s.id FROM sessions s WHERE s.position = ?4 AND {IDLE}"),
            params![0, 0, self.before, position],
        )?;
        let Some(id) = id else { return Ok(None) };
        tx.close_session(id, SessionState::Expired, &self.reason)?;
        Ok(Some(1))
    }
}

/// Sessions that are over and have no turn left, by position.
#[derive(Debug, Clone)]
pub struct OldSessions {
    /// Those that were over before it are old.
    pub before: Timestamp,
}

impl Removal for OldSessions {
    type Key = i64;

    fn remove(&self, tx: &mut WriteTx<'_>, position: &i64) -> Result<Option<u64>, StoreError> {
        // The grants and rules of a session go with its end. Foreign keys are off, so nothing cascades.
        let gone = tx.conn.value_opt::<SessionId>(
            &format!(
                "DELETE FROM sessions AS s WHERE s.position = ?2 AND {OLD_SESSION}
                    AND NOT EXISTS (SELECT 1 FROM continuations c WHERE c.session_id = s.id)
                    AND NOT EXISTS (SELECT 1 FROM session_grants g WHERE g.session_id = s.id)
                 RETURNING id"
            ),
            params![self.before, position],
        )?;
        let Some(gone) = gone else { return Ok(None) };
        let mut rows = 1;
        for children in [
            "DELETE FROM summaries WHERE session_id = ?1",
            "DELETE FROM compactions WHERE session_id = ?1",
            "DELETE FROM budget_grants WHERE session_id = ?1",
            "DELETE FROM rules WHERE session_id = ?1",
            "DELETE FROM call_reports WHERE session_id = ?1",
        ] {
            rows += tx.conn.run(children, [gone])? as u64;
        }
        Ok(Some(rows))
    }
}
