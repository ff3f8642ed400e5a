//! The pieces of a run of hygiene: each decides again about the rows it was given, and tells the run what it did with
//! them in the same transaction.

use crate::protocol::enums::HygieneReason;
use crate::protocol::hygiene::HygieneReport;
use crate::protocol::ids::HygieneRunId;
use crate::store::command::{Durability, WriteCommand, WriteTx};
use crate::store::error::StoreError;
use crate::store::hygiene::{CHUNK, Cuts, HygieneRules, add_memory, add_orphans, reason};
use crate::store::queries::hygiene::{FACTS, STALE_SUMMARY, STALE_VECTOR, facts_of};
use crate::store::sql::{Statements, agrees, params};

/// Puts memories aside, or removes for good those that were long ago. Relaxed: what a power loss brings back goes with
/// the next run.
#[derive(Debug, Clone)]
pub struct CleanUpMemories {
    pub run: HygieneRunId,
    /// What is old and too much.
    pub rules: HygieneRules,
    /// What has to go for the caps.
    pub cuts: Cuts,
    /// Positions of those that were found, with the reason: one that stays for now, or would go for another reason than
    /// the preview gave, is left alone. At most [`CHUNK`].
    pub memories: Vec<(i64, HygieneReason)>,
}

impl WriteCommand for CleanUpMemories {
    type Output = ();
    const DURABILITY: Durability = Durability::Relaxed;
    const ALONE: bool = true;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<(), StoreError> {
        let mut gone = Vec::new();
        for (position, expected) in self.memories.iter().take(CHUNK) {
            let facts = tx.conn.row_opt(
                &format!("{FACTS} WHERE m.position = ?2"),
                params![self.rules.undo_ms, position],
                facts_of,
            )?;
            let Some(facts) = facts else { continue };
            if reason(&facts, &self.rules, &self.cuts) != Some(*expected) {
                continue;
            }
            match expected {
                HygieneReason::Removed => {
                    for delete in [
                        "DELETE FROM memory_vectors WHERE memory_id = ?1",
                        "DELETE FROM memories WHERE id = ?1",
                    ] {
                        tx.conn.run(delete, [facts.id])?;
                    }
                }
                HygieneReason::Expired
                | HygieneReason::Retention
                | HygieneReason::Size
                | HygieneReason::Orphan => {
                    // Its times stay: brought back, it is what it was.
                    tx.conn.run(
                        "UPDATE memories SET state = 'archived', archived_from = state, archived_by = ?2
                         WHERE position = ?1",
                        params![position, self.run],
                    )?;
                }
            }
            gone.push((facts, *expected));
            if gone.len() == CHUNK / 2 {
                crate::crash_point!("hygiene.mid");
            }
        }
        tx.tell_run(self.run, |report| {
            for (facts, reason) in &gone {
                add_memory(report, facts, *reason);
            }
        })
    }
}

/// Removes embeddings that nothing needs. Relaxed.
#[derive(Debug, Clone)]
pub struct RemoveStaleVectors {
    pub run: HygieneRunId,
    /// The model that they must be of.
    pub rules: HygieneRules,
    /// Memories that they were made of, with their bytes; at most [`CHUNK`].
    pub vectors: Vec<([u8; 16], u64)>,
}

impl WriteCommand for RemoveStaleVectors {
    type Output = ();
    const DURABILITY: Durability = Durability::Relaxed;
    const ALONE: bool = true;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<(), StoreError> {
        let (mut count, mut freed) = (0, 0);
        for (id, bytes) in self.vectors.iter().take(CHUNK) {
            let rows = tx.conn.run(
                &format!(
                    "DELETE FROM memory_vectors AS v WHERE v.memory_id = ?2 AND {STALE_VECTOR}"
                ),
                params![self.rules.embeddings, id],
            )? as u64;
            count += rows;
            freed += rows * bytes;
        }
        tx.tell_run(self.run, |report| {
            add_orphans(report, "vectors", count, freed);
        })
    }
}

/// Removes summaries of sessions that are gone, as many as fit; how many. Relaxed.
#[derive(Debug, Clone)]
pub struct RemoveStaleSummaries {
    pub run: HygieneRunId,
}

impl WriteCommand for RemoveStaleSummaries {
    type Output = u64;
    const DURABILITY: Durability = Durability::Relaxed;
    const ALONE: bool = true;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<u64, StoreError> {
        let gone = tx.conn.values(
            &format!(
                "DELETE FROM summaries WHERE session_id IN (
                    SELECT u.session_id FROM summaries u WHERE {STALE_SUMMARY} LIMIT ?1)
                 RETURNING octet_length(text)"
            ),
            [CHUNK as u64],
        )?;
        let count = gone.len() as u64;
        tx.tell_run(self.run, |report| {
            add_orphans(report, "summaries", count, gone.iter().sum());
        })?;
        Ok(count)
    }
}

/// How the index is made to agree with the memories.
#[derive(Debug, Clone)]
pub enum IndexRepair {
    /// These positions are added, where they are still missing; at most [`CHUNK`].
    Add(Vec<i64>),
    /// It holds what no memory has, or other words than they have: it is built anew in one piece, because what has to
    /// leave it is not known. Takes a second for about 100 000 memories.
    Anew,
}

/// Makes the index agree with the memories. Relaxed.
#[derive(Debug, Clone)]
pub struct RepairIndex {
    pub run: HygieneRunId,
    /// How.
    pub repair: IndexRepair,
}

impl WriteCommand for RepairIndex {
    type Output = ();
    const DURABILITY: Durability = Durability::Relaxed;
    const ALONE: bool = true;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<(), StoreError> {
        let mut count = 0;
        match &self.repair {
            IndexRepair::Add(positions) => {
                for position in positions.iter().take(CHUNK) {
                    count += tx.conn.run(
                        "INSERT INTO memory_fts (rowid, text) SELECT m.position, m.text FROM memories m
                         WHERE m.position = ?1
                            AND NOT EXISTS (SELECT 1 FROM memory_fts_docsize d WHERE d.id = m.position)",
                        [position],
                    )? as u64;
                }
            }
            IndexRepair::Anew => {
                tx.conn
                    .run("INSERT INTO memory_fts (memory_fts) VALUES ('rebuild')", [])?;
                tx.conn.run(
                    "INSERT INTO memory_pairs (memory_pairs) VALUES ('rebuild')",
                    [],
                )?;
                count = indexed(tx)?;
            }
        }
        tx.tell_run(self.run, |report: &mut HygieneReport| {
            add_orphans(report, "index", count, 0);
        })
    }
}

fn indexed(tx: &WriteTx<'_>) -> Result<u64, StoreError> {
    tx.conn.value("SELECT count(*) FROM memories", [])
}

/// Compares the words of the index with those of the memories; none = they agree, else how many memories there are.
/// Changes nothing, and yet only a writing connection can. Reads all of both: for small memories only.
#[derive(Debug, Clone)]
pub struct CompareIndex;

impl WriteCommand for CompareIndex {
    type Output = Option<u64>;
    const DURABILITY: Durability = Durability::Relaxed;
    const ALONE: bool = true;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<Option<u64>, StoreError> {
        for compare in [
            "INSERT INTO memory_fts (memory_fts, rank) VALUES ('integrity-check', 1)",
            "INSERT INTO memory_pairs (memory_pairs, rank) VALUES ('integrity-check', 1)",
        ] {
            if !agrees(tx.conn, compare)? {
                return indexed(tx).map(Some);
            }
        }
        Ok(None)
    }
}
