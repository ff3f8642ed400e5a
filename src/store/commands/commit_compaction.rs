//! Commits a compaction: the summary, its facts, and that the turns it stands for are no longer sent.
//!
//! All or nothing: a turn is put away only together with the summary that covers it, and what was put away is what
//! lies directly behind what the summary before covered.

use crate::protocol::enums::{Autonomy, MemoryAuthor, MemoryKind};
use crate::protocol::ids::{CompactionId, ContinuationId, MemoryId, ModelAttemptId};
use crate::protocol::memory::{Compaction, MemoryTarget};
use crate::protocol::session::Usage;
use crate::store::command::{WriteCommand, WriteTx};
use crate::store::error::StoreError;
use crate::store::queries::channels::load_policy;
use crate::store::sql::{Json, Statements, columns, params};
use crate::store::tx::memories::NewMemory;

/// A fact that a compaction found.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundFact {
    /// What it says: outside text without secrets.
    pub text: String,
    pub kind: MemoryKind,
    /// 0 to 1.
    pub confidence: f64,
    /// The turn whose message says it.
    pub source: ContinuationId,
}

/// Commits a compaction. Durable. Refused where a turn changed or went meanwhile: nothing is lost then.
#[derive(Debug, Clone)]
pub struct CommitCompaction {
    pub id: CompactionId,
    /// Epoch of the caller.
    pub epoch: u64,
    /// Its call.
    pub attempt_id: ModelAttemptId,
    /// What that used.
    pub usage: Usage,
    /// Version of the summary it goes on from; 0 = none.
    pub version: u64,
    /// The summary: outside text without secrets.
    pub summary: String,
    /// The turns it covers beyond those that the summary before covered, oldest first.
    pub turns: Vec<ContinuationId>,
    /// Which untrusted content the model was shown.
    pub taint: Vec<String>,
    /// What was found.
    pub facts: Vec<FoundFact>,
    /// Estimated tokens of the next prompt with it.
    pub tokens_after: u64,
}

impl CommitCompaction {
    fn changed(&self) -> StoreError {
        StoreError::conflict(format!(
            "compaction {}: the conversation is not what was summarised any more",
            self.id
        ))
    }

    /// Puts the turns away; the position of the last of them.
    fn put_away(&self, tx: &WriteTx<'_>, compaction: &Compaction) -> Result<i64, StoreError> {
        let mut covers_to = 0;
        for turn in &self.turns {
            // An UPDATE … RETURNING ends with its last row.
            let put_away: Vec<i64> = tx.conn.values(
                "UPDATE continuations SET archived_at = ?3
                 WHERE id = ?1 AND session_id = ?2 AND state = 'completed' AND archived_at IS NULL RETURNING position",
                params![turn, compaction.session_id, tx.now],
            )?;
            let position = put_away.first().ok_or_else(|| self.changed())?;
            covers_to = covers_to.max(*position);
        }
        // What lies between would never be sent again, and no summary would know it. Up to where the last summary
        // reaches, that was seen to then.
        let gap: bool = tx.conn.value(
            "SELECT EXISTS (SELECT 1 FROM continuations WHERE session_id = ?1 AND position <= ?2
                AND position > coalesce((SELECT covers_to FROM summaries WHERE session_id = ?1), 0)
                AND (ended_at IS NULL OR (state = 'completed' AND archived_at IS NULL)))",
            params![compaction.session_id, covers_to],
        )?;
        if self.turns.is_empty() || gap {
            return Err(self.changed());
        }
        Ok(covers_to)
    }

    fn remember(
        &self,
        tx: &mut WriteTx<'_>,
        compaction: &Compaction,
        fact: &FoundFact,
        proposed: bool,
    ) -> Result<bool, StoreError> {
        let (person_id, message_ref) = tx.conn.row(
            "SELECT requester_id, message_ref FROM continuations WHERE id = ?1",
            [fact.source],
            columns!(requester_id, message_ref),
        )?;
        let remembered = tx.insert_memory(&NewMemory {
            id: MemoryId::generate(),
            place: MemoryTarget::Session {
                session_id: compaction.session_id,
            },
            kind: fact.kind,
            text: fact.text.clone(),
            author: MemoryAuthor::Model,
            author_id: compaction.model.clone(),
            person_id: Some(person_id),
            source: Some(fact.source),
            message_ref,
            confidence: fact.confidence,
            taint: self.taint.clone(),
            pinned: false,
            proposed,
            created_at: None,
            expires_at: None,
        })?;
        Ok(!remembered.known)
    }
}

impl WriteCommand for CommitCompaction {
    type Output = Compaction;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<Compaction, StoreError> {
        let compaction = tx.running_compaction(self.id, self.epoch)?;
        let session = compaction.session_id;
        tx.active(session)?;
        if tx.summary_version(session)? != self.version {
            return Err(self.changed());
        }
        let covers_to = self.put_away(tx, &compaction)?;
        tx.conn.run(
            "INSERT INTO summaries (session_id, version, text, covers_to, turns, model, taint, at)
             VALUES (?1, 1, ?2, ?3, ?4, ?5, ?6, ?7)
             ON CONFLICT (session_id) DO UPDATE SET version = version + 1, text = excluded.text,
                covers_to = excluded.covers_to, turns = turns + excluded.turns, model = excluded.model,
                taint = excluded.taint, at = excluded.at",
            params![
                session,
                self.summary,
                covers_to,
                self.turns.len() as u64,
                compaction.model,
                Json(&self.taint),
                tx.now
            ],
        )?;
        let channel: String = tx
            .conn
            .value("SELECT channel FROM sessions WHERE id = ?1", [session])?;
        let supervised = load_policy(tx.conn, &channel)?.autonomy == Autonomy::Supervised;
        let proposed = supervised || !self.taint.is_empty();
        let mut found = 0_u64;
        for fact in &self.facts {
            if self.remember(tx, &compaction, fact, proposed)? {
                found += 1;
            }
        }
        tx.settle_attempt(self.attempt_id, session, self.usage, None)?;
        tx.conn.run(
            "UPDATE compactions SET state = 'done', facts = ?2, tokens_after = ?3, ended_at = ?4 WHERE id = ?1",
            params![self.id, found, self.tokens_after, tx.now],
        )?;
        let done = tx.compaction_ended(self.id, "compacted")?;
        crate::crash_point!("compact.pre_commit");
        Ok(done)
    }

    fn committed(&self) {
        crate::crash_point!("compact.post_commit");
    }
}
