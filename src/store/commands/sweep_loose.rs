//! What belongs to no turn: keys of messages that started none, settled questions, settled notices, grants and
//! compactions that ended.

use crate::clock::Timestamp;
use crate::store::command::{Durability, WriteCommand, WriteTx};
use crate::store::commands::remove::{CHUNK, Removal, RemovedCount};
use crate::store::error::StoreError;
use crate::store::queries::sweep::{OLD_COMPACTION, OLD_MESSAGE, OLD_QUESTION, RawId};
use crate::store::sql::{Statements, params};

/// Keys of messages that started no turn.
#[derive(Debug, Clone)]
pub struct OldKeys {
    /// Those that came before it are old.
    pub before: Timestamp,
}

impl Removal for OldKeys {
    type Key = RawId;

    fn remove(&self, tx: &mut WriteTx<'_>, id: &RawId) -> Result<Option<u64>, StoreError> {
        let rows = tx.conn.run(
            "DELETE FROM inbox WHERE id = ?1 AND continuation_id IS NULL AND received_at < ?2",
            params![id, self.before],
        )?;
        Ok((rows > 0).then_some(rows as u64))
    }
}

/// A question goes with all that hangs on it. Foreign keys are off, so no ON DELETE CASCADE removes a child.
pub(crate) const OF_QUESTION: [&str; 5] = [
    "DELETE FROM card_tokens WHERE approval_id = ?1",
    "DELETE FROM approval_snoozes WHERE approval_id = ?1",
    "DELETE FROM reminders WHERE approval_id = ?1",
    "DELETE FROM outbox WHERE approval_id = ?1",
    "DELETE FROM approvals WHERE id = ?1",
];

/// Settled questions without a turn, by position, with their cards.
#[derive(Debug, Clone)]
pub struct OldQuestions {
    /// Those that were settled before it are old.
    pub before: Timestamp,
}

impl Removal for OldQuestions {
    type Key = i64;

    fn cost(&self, tx: &WriteTx<'_>, position: &i64) -> Result<u64, StoreError> {
        tx.conn.value(
            "SELECT coalesce((SELECT 1 + (SELECT count(*) FROM card_tokens k WHERE k.approval_id = a.id)
                + (SELECT count(*) FROM approval_snoozes z WHERE z.approval_id = a.id)
                + (SELECT count(*) FROM reminders r WHERE r.approval_id = a.id)
                + (SELECT count(*) FROM outbox o WHERE o.approval_id = a.id)
             FROM approvals a WHERE a.position = ?1), 1)",
            [position],
        )
    }

    fn remove(&self, tx: &mut WriteTx<'_>, position: &i64) -> Result<Option<u64>, StoreError> {
        let old: Option<RawId> = tx.conn.value_opt(
            &format!("SELECT a.id FROM approvals a WHERE a.position = ?2 AND {OLD_QUESTION}"),
            params![self.before, position],
        )?;
        let Some(id) = old else { return Ok(None) };
        let mut rows = 0;
        for delete in OF_QUESTION {
            rows += tx.conn.run(delete, [id])? as u64;
        }
        Ok(Some(rows))
    }
}

/// Settled messages without a turn or a question, by position.
#[derive(Debug, Clone)]
pub struct OldMessages {
    /// Those that were settled before it are old.
    pub before: Timestamp,
}

impl Removal for OldMessages {
    type Key = i64;

    fn remove(&self, tx: &mut WriteTx<'_>, position: &i64) -> Result<Option<u64>, StoreError> {
        let rows = tx.conn.run(
            &format!("DELETE FROM outbox AS o WHERE o.position = ?2 AND {OLD_MESSAGE}"),
            params![self.before, position],
        )?;
        Ok((rows > 0).then_some(rows as u64))
    }
}

/// Milliseconds after which it is forgotten that a budget was nearly used up (a limit that still is may say so again),
/// that somebody asked in vain or had access once, and what a run left once it was dismissed.
const WARNED_MS: i64 = 60 * 24 * 3600 * 1000;

/// What one piece of [`SweepGrants`] removes; `?1` = those that ended before it, `?2` = at most.
const ENDED: [&str; 4] = [
    "DELETE FROM session_grants WHERE (session_id, tool, args_digest, requester_id) IN (
        SELECT session_id, tool, args_digest, requester_id FROM session_grants WHERE expires_at <= ?1 LIMIT ?2)",
    "DELETE FROM budget_warnings WHERE (budget, scope, day) IN (
        SELECT budget, scope, day FROM budget_warnings WHERE at < ?1 LIMIT ?2)",
    "DELETE FROM pairings WHERE (channel, sender_id) IN (
        SELECT channel, sender_id FROM pairings
        WHERE state IN ('expired', 'revoked') AND decided_at < ?1 LIMIT ?2)",
    "DELETE FROM leftovers WHERE call_id IN (
        SELECT call_id FROM leftovers WHERE before IS NULL AND dismissed_at < ?1 LIMIT ?2)",
];

/// What belonged to a session that is gone would be a reference into nothing.
const ORPHANS: [&str; 3] = [
    "DELETE FROM summaries WHERE NOT EXISTS (SELECT 1 FROM sessions s WHERE s.id = session_id)",
    "DELETE FROM compactions WHERE NOT EXISTS (SELECT 1 FROM sessions s WHERE s.id = session_id)",
    "DELETE FROM budget_grants WHERE session_id IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM sessions s WHERE s.id = session_id)",
];

/// Removes permissions that ended, what was told of budgets, asked in vain or dismissed long ago, and what a session left
/// that is gone. Relaxed.
#[derive(Debug, Clone)]
pub struct SweepGrants;

impl WriteCommand for SweepGrants {
    type Output = RemovedCount;
    const DURABILITY: Durability = Durability::Relaxed;
    const ALONE: bool = true;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<RemovedCount, StoreError> {
        let told = tx.now.plus_millis(-WARNED_MS);
        let mut rows = 0;
        for (delete, before) in ENDED.into_iter().zip([tx.now, told, told, told]) {
            rows += tx.conn.run(delete, params![before, CHUNK])?;
        }
        for delete in ORPHANS {
            rows += tx.conn.run(delete, [])?;
        }
        Ok(RemovedCount::of_rows(rows))
    }
}

/// Removes compactions that ended long ago, as many as fit. Relaxed.
#[derive(Debug, Clone)]
pub struct SweepCompactions {
    /// Those that ended before it are old.
    pub before: Timestamp,
}

impl WriteCommand for SweepCompactions {
    type Output = RemovedCount;
    const DURABILITY: Durability = Durability::Relaxed;
    const ALONE: bool = true;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<RemovedCount, StoreError> {
        let rows = tx.conn.run(
            &format!(
                "DELETE FROM compactions WHERE position IN (
                    SELECT k.position FROM compactions k WHERE {OLD_COMPACTION} LIMIT ?2)"
            ),
            params![self.before, CHUNK],
        )?;
        Ok(RemovedCount::of_rows(rows))
    }
}
