//! Removes turns that are over, each with everything that hangs on it or not at all.

use crate::store::command::WriteTx;
use crate::store::commands::remove::Removal;
use crate::store::error::StoreError;
use crate::store::queries::sweep::{OldTurn, RawId, SweepRules, old_turn};
use crate::store::sql::{Statements, params};

/// Old turns, in the order in which they must go. A turn that changed since it was found stays.
#[derive(Debug, Clone)]
pub struct OldHistory {
    /// What is old.
    pub rules: SweepRules,
    /// Last position of a turn that was looked at for them.
    pub continuations_to: i64,
    /// Last position of a message that was looked at for them.
    pub outbox_to: i64,
}

/// Tables with an index by turn, children before parents.
const COUNTS: &str = "SELECT
    (SELECT count(*) FROM steps WHERE continuation_id = ?1)
    + (SELECT count(*) FROM artifact_references WHERE continuation_id = ?1)
    + (SELECT count(*) FROM tool_calls t LEFT JOIN tool_attempts a ON a.call_id = t.id WHERE t.continuation_id = ?1)
    + (SELECT count(*) FROM tool_calls t WHERE t.continuation_id = ?1)
    + (SELECT count(*) FROM approvals p WHERE p.continuation_id = ?1)
    + (SELECT count(*) FROM approvals p JOIN approval_snoozes z ON z.approval_id = p.id WHERE p.continuation_id = ?1)
    + (SELECT count(*) FROM approvals p JOIN card_tokens k ON k.approval_id = p.id WHERE p.continuation_id = ?1)
    + (SELECT count(*) FROM approvals p JOIN reminders r ON r.approval_id = p.id WHERE p.continuation_id = ?1)
    + (SELECT count(*) FROM tool_calls t JOIN call_reports r ON r.tool_call_id = t.id WHERE t.continuation_id = ?1)
    + (SELECT count(*) FROM inbound_files WHERE continuation_id = ?1)
    + (SELECT count(*) FROM outbound_files WHERE continuation_id = ?1)";

/// Foreign keys are off while these run, so no ON DELETE CASCADE removes a child.
const DELETES: [&str; 11] = [
    "DELETE FROM card_tokens WHERE approval_id IN (SELECT id FROM approvals WHERE continuation_id = ?1)",
    "DELETE FROM approval_snoozes WHERE approval_id IN (SELECT id FROM approvals WHERE continuation_id = ?1)",
    "DELETE FROM reminders WHERE approval_id IN (SELECT id FROM approvals WHERE continuation_id = ?1)",
    "DELETE FROM outbox WHERE approval_id IN (SELECT id FROM approvals WHERE continuation_id = ?1)",
    "DELETE FROM tool_attempts WHERE call_id IN (SELECT id FROM tool_calls WHERE continuation_id = ?1)",
    "DELETE FROM call_reports WHERE tool_call_id IN (SELECT id FROM tool_calls WHERE continuation_id = ?1)",
    "DELETE FROM outbound_files WHERE continuation_id = ?1",
    "DELETE FROM inbound_files WHERE continuation_id = ?1",
    "DELETE FROM approvals WHERE continuation_id = ?1",
    "DELETE FROM tool_calls WHERE continuation_id = ?1",
    "DELETE FROM artifact_references WHERE continuation_id = ?1",
];

/// The next model call of its session names what is neither sent nor summarised.
const COUNT_REMOVED: [&str; 2] = [
    "UPDATE sessions SET removed_turns = removed_turns + 1
     WHERE id = (SELECT session_id FROM continuations WHERE id = ?1 AND state = 'completed')",
    "UPDATE summaries SET removed_turns = removed_turns + 1
     WHERE session_id = (SELECT session_id FROM continuations WHERE id = ?1 AND state = 'completed')
        AND covers_to >= (SELECT position FROM continuations WHERE id = ?1)",
];

impl OldHistory {
    /// Whether it is still what it was when it was found.
    fn still_old(&self, tx: &WriteTx<'_>, turn: &OldTurn) -> Result<bool, StoreError> {
        let old: bool = tx.conn.value(
            &format!(
                "SELECT EXISTS (SELECT 1 FROM continuations c JOIN sessions s ON s.id = c.session_id
                 WHERE c.id = ?4 AND {})",
                old_turn()
            ),
            params![
                self.rules.history_before,
                self.rules.keep_exchanges,
                self.rules.idle_before,
                turn.id
            ],
        )?;
        // Rows written since the search, of which there are few. A compaction may have begun a model call.
        let newer: bool = tx.conn.value(
            "SELECT EXISTS (SELECT 1 FROM continuations WHERE position > ?2 AND retry_of = ?1)
                OR EXISTS (SELECT 1 FROM outbox WHERE position > ?3 AND continuation_id = ?1)
                OR EXISTS (SELECT 1 FROM model_attempts WHERE continuation_id = ?1 AND settled_at IS NULL)",
            params![turn.id, self.continuations_to, self.outbox_to],
        )?;
        if !old || newer {
            return Ok(false);
        }
        for by in &turn.retried_by {
            if exists(
                tx,
                "SELECT EXISTS (SELECT 1 FROM continuations WHERE id = ?1)",
                by,
            )? {
                return Ok(false);
            }
        }
        for position in &turn.outbox {
            let live: bool = tx.conn.value(
                "SELECT EXISTS (SELECT 1 FROM outbox WHERE position = ?1 AND (continuation_id IS NOT ?2
                    OR state IN ('pending', 'sending', 'unknown') OR updated_at >= ?3))",
                params![position, turn.id, self.rules.history_before],
            )?;
            if live {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Rows that a turn and everything that hangs on it takes.
    pub(crate) fn rows_of(tx: &WriteTx<'_>, turn: &OldTurn) -> Result<u64, StoreError> {
        let indexed: u64 = tx.conn.value(COUNTS, [turn.id])?;
        let cards: u64 = tx.conn.value(
            "SELECT count(*) FROM approvals p JOIN outbox o ON o.approval_id = p.id WHERE p.continuation_id = ?1",
            [turn.id],
        )?;
        let listed = (turn.outbox.len() + turn.models.len() + turn.inbox.len()) as u64;
        Ok(indexed + cards + listed + 1)
    }

    /// Removes a turn with everything that hangs on it; the rows removed. No model call of it is open.
    pub(crate) fn remove_turn(tx: &WriteTx<'_>, turn: &OldTurn) -> Result<u64, StoreError> {
        let mut rows = 0;
        for delete in DELETES {
            rows += tx.conn.run(delete, [turn.id])?;
        }
        crate::crash_point!("sweep.mid");
        for position in &turn.outbox {
            rows += tx
                .conn
                .run("DELETE FROM outbox WHERE position = ?1", [position])?;
        }
        for id in &turn.models {
            rows += tx.conn.run(
                "DELETE FROM model_attempts WHERE id = ?1 AND continuation_id = ?2",
                [id, &turn.id],
            )?;
        }
        for id in &turn.inbox {
            rows += tx.conn.run(
                "DELETE FROM inbox WHERE id = ?1 AND continuation_id = ?2",
                [id, &turn.id],
            )?;
        }
        for delete in [
            // Also what a compaction added after the search.
            "DELETE FROM model_attempts WHERE continuation_id = ?1 AND purpose = 'compaction'",
            "DELETE FROM steps WHERE continuation_id = ?1",
            "DELETE FROM continuations WHERE id = ?1",
        ] {
            rows += tx.conn.run(delete, [turn.id])?;
        }
        Ok(rows as u64)
    }
}

fn exists(tx: &WriteTx<'_>, query: &str, id: &RawId) -> Result<bool, StoreError> {
    tx.conn.value(query, [id])
}

impl Removal for OldHistory {
    type Key = OldTurn;

    fn cost(&self, tx: &WriteTx<'_>, turn: &OldTurn) -> Result<u64, StoreError> {
        Self::rows_of(tx, turn)
    }

    fn remove(&self, tx: &mut WriteTx<'_>, turn: &OldTurn) -> Result<Option<u64>, StoreError> {
        if !self.still_old(tx, turn)? {
            return Ok(None);
        }
        for count in COUNT_REMOVED {
            tx.conn.run(count, [turn.id])?;
        }
        Self::remove_turn(tx, turn).map(Some)
    }
}
