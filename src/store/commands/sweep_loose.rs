//! What belongs to no turn: keys of messages that started none, settled questions, settled notices, grants and
//! compactions that ended.

use crate::clock::Timestamp;
use crate::store::command::{Durability, WriteCommand, WriteTx};
use crate::store::commands::sweep_history::{CHUNK, SweepCount};
use crate::store::error::StoreError;
use crate::store::queries::sweep::{OLD_COMPACTION, OLD_MESSAGE, OLD_QUESTION, RawId, SweepRules};
use crate::store::sql::{Statements, params};

/// Removes keys of messages that started no turn, as many as fit. Relaxed.
#[derive(Debug, Clone)]
pub struct SweepKeys {
    /// What is old.
    pub rules: SweepRules,
    /// Which.
    pub keys: Vec<RawId>,
}

impl WriteCommand for SweepKeys {
    type Output = SweepCount;
    const DURABILITY: Durability = Durability::Relaxed;
    const ALONE: bool = true;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<SweepCount, StoreError> {
        let mut swept = SweepCount::default();
        for id in self.keys.iter().take(CHUNK as usize) {
            swept.taken += 1;
            let rows = tx.conn.run(
                "DELETE FROM inbox WHERE id = ?1 AND continuation_id IS NULL AND received_at < ?2",
                params![id, self.rules.keys_before()],
            )? as u64;
            swept.removed += rows;
            swept.rows += rows;
        }
        Ok(swept)
    }
}

/// Removes settled questions without a turn, with their cards, as many as fit. Relaxed.
#[derive(Debug, Clone)]
pub struct SweepQuestions {
    /// What is old.
    pub rules: SweepRules,
    /// Their positions.
    pub questions: Vec<i64>,
}

impl WriteCommand for SweepQuestions {
    type Output = SweepCount;
    const DURABILITY: Durability = Durability::Relaxed;
    const ALONE: bool = true;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<SweepCount, StoreError> {
        let mut swept = SweepCount::default();
        for position in &self.questions {
            let old: Option<(RawId, u64)> = tx.conn.row_opt(
                &format!(
                    "SELECT a.id, 1 + (SELECT count(*) FROM card_tokens k WHERE k.approval_id = a.id)
                        + (SELECT count(*) FROM approval_snoozes z WHERE z.approval_id = a.id)
                        + (SELECT count(*) FROM outbox o WHERE o.approval_id = a.id) AS rows
                     FROM approvals a WHERE a.position = ?2 AND {OLD_QUESTION}"
                ),
                params![self.rules.history_before, position],
                |row| Ok((row.get("id")?, row.get("rows")?)),
            )?;
            let Some((id, rows)) = old else {
                swept.taken += 1;
                continue;
            };
            if swept.rows > 0 && swept.rows + rows > CHUNK {
                break;
            }
            swept.taken += 1;
            for delete in [
                "DELETE FROM card_tokens WHERE approval_id = ?1",
                "DELETE FROM approval_snoozes WHERE approval_id = ?1",
                "DELETE FROM outbox WHERE approval_id = ?1",
                "DELETE FROM approvals WHERE id = ?1",
            ] {
                swept.rows += tx.conn.run(delete, [id])? as u64;
            }
            swept.removed += 1;
        }
        Ok(swept)
    }
}

/// Removes settled messages without a turn or a question, as many as fit. Relaxed.
#[derive(Debug, Clone)]
pub struct SweepMessages {
    /// What is old.
    pub rules: SweepRules,
    /// Their positions.
    pub messages: Vec<i64>,
}

impl WriteCommand for SweepMessages {
    type Output = SweepCount;
    const DURABILITY: Durability = Durability::Relaxed;
    const ALONE: bool = true;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<SweepCount, StoreError> {
        let mut swept = SweepCount::default();
        for position in self.messages.iter().take(CHUNK as usize) {
            swept.taken += 1;
            let rows = tx.conn.run(
                &format!("DELETE FROM outbox AS o WHERE o.position = ?2 AND {OLD_MESSAGE}"),
                params![self.rules.history_before, position],
            )? as u64;
            swept.removed += rows;
            swept.rows += rows;
        }
        Ok(swept)
    }
}

/// Milliseconds after which it is forgotten that a budget was nearly used up (a limit that still is may say so again),
/// that somebody asked in vain or was let in once, and what a run left once it was dismissed.
const WARNED_MS: i64 = 60 * 24 * 3600 * 1000;

/// Removes permissions that ended, and what was told of budgets, asked in vain or dismissed long ago. Relaxed.
#[derive(Debug, Clone)]
pub struct SweepGrants;

impl WriteCommand for SweepGrants {
    type Output = SweepCount;
    const DURABILITY: Durability = Durability::Relaxed;
    const ALONE: bool = true;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<SweepCount, StoreError> {
        let rows = tx.conn.run(
            "DELETE FROM session_grants WHERE (session_id, tool, args_digest, requester_id) IN (
                SELECT session_id, tool, args_digest, requester_id FROM session_grants WHERE expires_at <= ?1 LIMIT ?2)",
            params![tx.now, CHUNK],
        )? as u64;
        let rows = rows
            + tx.conn.run(
                "DELETE FROM budget_warnings WHERE (budget, scope, day) IN (
                    SELECT budget, scope, day FROM budget_warnings WHERE at < ?1 LIMIT ?2)",
                params![tx.now.plus_millis(-WARNED_MS), CHUNK],
            )? as u64;
        let rows = rows
            + tx.conn.run(
                "DELETE FROM pairings WHERE (channel, sender_id) IN (
                    SELECT channel, sender_id FROM pairings
                    WHERE state IN ('expired', 'revoked') AND decided_at < ?1 LIMIT ?2)",
                params![tx.now.plus_millis(-WARNED_MS), CHUNK],
            )? as u64;
        let rows = rows
            + tx.conn.run(
                "DELETE FROM leftovers WHERE call_id IN (
                    SELECT call_id FROM leftovers WHERE before IS NULL AND dismissed_at < ?1 LIMIT ?2)",
                params![tx.now.plus_millis(-WARNED_MS), CHUNK],
            )? as u64;
        Ok(SweepCount {
            taken: 1,
            removed: rows,
            rows,
        })
    }
}

/// Removes compactions that ended long ago, as many as fit. Relaxed.
#[derive(Debug, Clone)]
pub struct SweepCompactions {
    /// Those that ended before it are old.
    pub before: Timestamp,
}

impl WriteCommand for SweepCompactions {
    type Output = SweepCount;
    const DURABILITY: Durability = Durability::Relaxed;
    const ALONE: bool = true;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<SweepCount, StoreError> {
        let rows = tx.conn.run(
            &format!(
                "DELETE FROM compactions WHERE position IN (
                    SELECT k.position FROM compactions k WHERE {OLD_COMPACTION} LIMIT ?2)"
            ),
            params![self.before, CHUNK],
        )? as u64;
        Ok(SweepCount {
            taken: 1,
            removed: rows,
            rows,
        })
    }
}
