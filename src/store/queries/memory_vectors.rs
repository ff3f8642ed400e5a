//! Search by meaning, and what has no embedding yet.
//!
//! A vector counts only as long as it is of the configured model and of the text that its memory has now.

use crate::store::sql::{Value, columns};

use crate::clock::Timestamp;
use crate::protocol::enums::SearchMethod;
use crate::protocol::ids::MemoryId;
use crate::protocol::memory::{MemoryFilter, MemoryHit};
use crate::store::error::StoreError;
use crate::store::queries::memory_rows::{Condition, RecallContext, load_memory};
use crate::store::reader::Reader;
use crate::store::sql::{Statements, params};
use crate::store::vectors::{Meaning, Nearest, WEIGHED, cosine, fuse};

/// Memories looked at in one read transaction for those without an embedding.
const PAGE: u32 = 1000;

/// A text without an embedding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingVector {
    pub id: MemoryId,
    /// What it says.
    pub text: String,
    /// What its text is known by.
    pub digest: [u8; 32],
}

/// Where a look through the memories stands: the last change and the position of the last one looked at.
pub type LookedAt = (Timestamp, i64);

impl Reader<'_> {
    /// What a person searches for, by words and, where its meaning is known, by that. Best first.
    pub fn search_memories(
        &self,
        text: &str,
        meaning: Option<&Meaning>,
        filter: &MemoryFilter,
        limit: u32,
        now: Timestamp,
    ) -> Result<Vec<MemoryHit>, StoreError> {
        self.find_also(text, meaning, &Condition::of(filter), limit, now)
    }

    /// The same of what a conversation at this place may see.
    pub fn search_recalled(
        &self,
        place: &RecallContext,
        text: &str,
        meaning: Option<&Meaning>,
        limit: u32,
    ) -> Result<Vec<MemoryHit>, StoreError> {
        let within = Condition::recalled(place);
        self.find_also(text, meaning, &within, limit, place.now)
    }

    /// By words alone where there is no meaning.
    pub(crate) fn find_also(
        &self,
        text: &str,
        meaning: Option<&Meaning>,
        within: &Condition,
        limit: u32,
        now: Timestamp,
    ) -> Result<Vec<MemoryHit>, StoreError> {
        let Some(meaning) = meaning else {
            let found = self.find(text, within, limit, now)?;
            let by_words = |memory| MemoryHit {
                memory,
                found_by: SearchMethod::Words,
            };
            return Ok(found.into_iter().map(by_words).collect());
        };
        let mut words = self.find(text, within, limit.max(WEIGHED as u32), now)?;
        let of_words: Vec<MemoryId> = words.iter().map(|memory| memory.id).collect();
        let fused = fuse(&of_words, &self.nearest(meaning, within)?);
        let mut hits = Vec::new();
        for (id, found_by) in fused.into_iter().take(limit as usize) {
            let known = words.iter().position(|memory| memory.id == id);
            let memory = match known {
                Some(at) => words.swap_remove(at),
                None => load_memory(self.conn, id)?,
            };
            hits.push(MemoryHit { memory, found_by });
        }
        Ok(hits)
    }

    /// The nearest by meaning, nearest first: every vector is compared, one row at a time.
    fn nearest(&self, meaning: &Meaning, within: &Condition) -> Result<Vec<MemoryId>, StoreError> {
        let mut values = vec![Value::from(meaning.model.clone())];
        values.extend(within.values.iter().cloned());
        let mut nearest = Nearest::new(WEIGHED);
        self.conn.each(
            &format!(
                "SELECT m.id, v.vector FROM memory_vectors v JOIN memories m ON m.id = v.memory_id
                 WHERE v.model = ? AND v.digest = m.digest AND {}",
                within.text
            ),
            values.as_slice(),
            |row| {
                if let Some(cosine) = cosine(&meaning.vector, row.bytes("vector")?)
                    && cosine >= meaning.least
                {
                    nearest.add(cosine, row.get("id")?);
                }
                Ok(())
            },
        )?;
        Ok(nearest.keys())
    }

    /// The next memories that are recalled and have no embedding of this model, at most `most`, by their last change; and
    /// how far was looked, none = to the end.
    pub fn unembedded(
        &self,
        model: &str,
        now: Timestamp,
        after: LookedAt,
        most: usize,
    ) -> Result<(Vec<MissingVector>, Option<LookedAt>), StoreError> {
        let (mut found, mut looked, mut last) = (Vec::new(), 0, after);
        self.conn.each_while(
            "SELECT m.updated_at, m.position, m.id, m.digest,
                CASE WHEN (m.expires_at IS NULL OR m.expires_at > ?2) AND NOT EXISTS (SELECT 1 FROM memory_vectors v
                    WHERE v.memory_id = m.id AND v.model = ?1 AND v.digest = m.digest) THEN m.text END AS text
             FROM memories m WHERE m.state = 'active' AND (m.updated_at, m.position) > (?3, ?4)
             ORDER BY m.updated_at, m.position LIMIT ?5",
            params![model, now, after.0, after.1, PAGE],
            |row| {
                looked += 1;
                last = (row.get("updated_at")?, row.get("position")?);
                if let Some(text) = row.get("text")? {
                    found.push(columns!(row => MissingVector {
                        id, digest;
                        text,
                    }));
                }
                Ok(found.len() < most)
            },
        )?;
        let more = found.len() == most || looked == PAGE;
        Ok((found, more.then_some(last)))
    }

    /// Whether there is anything that can be compared by meaning.
    pub fn has_vectors(&self, model: &str) -> Result<bool, StoreError> {
        self.conn.value(
            "SELECT EXISTS (SELECT 1 FROM memory_vectors WHERE model = ?1)",
            [model],
        )
    }

    /// Memories that are recalled and have no embedding of this model.
    pub fn count_unembedded(&self, model: &str, now: Timestamp) -> Result<u64, StoreError> {
        self.conn.value(
            "SELECT count(*) FROM memories m WHERE m.state = 'active' AND (m.expires_at IS NULL OR m.expires_at > ?2)
                AND NOT EXISTS (SELECT 1 FROM memory_vectors v
                    WHERE v.memory_id = m.id AND v.model = ?1 AND v.digest = m.digest)",
            params![model, now],
        )
    }
}
