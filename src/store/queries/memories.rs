//! What is remembered: lists, one, counts, and everything that goes into a context.
//!
//! Only active ones whose end has not come go into a context.

use crate::store::queries::memory_rows::{
    Condition, MEMORY, RecallContext, load_memory, memory_row,
};
use crate::store::rows::digest;
use crate::store::sql::{Value, columns};

use crate::protocol::ids::{MemoryId, SessionId};
use crate::protocol::memory::{Memory, MemoryFilter, MemoryGroup, MemoryStats};
use crate::protocol::snapshot::{Page, PageRequest};
use crate::store::error::StoreError;
use crate::store::queries::memory_search;
use crate::store::queries::page::{change_page, change_start, page_limit};
use crate::store::reader::Reader;
use crate::store::sql::{Connection, Statements, params};
use crate::store::vectors::Meaning;

/// How much goes into a context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecallLimits {
    /// Most pins, newest first.
    pub pins: u32,
    /// Most facts, most useful first.
    pub facts: u32,
    /// Most of what a search for the message finds.
    pub hits: u32,
}

/// What goes into a context. Nothing is in it twice.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ContextMemories {
    /// Pinned ones, newest first.
    pub pins: Vec<Memory>,
    /// Most useful of the others first.
    pub facts: Vec<Memory>,
    /// What the message is about beside all that, best first.
    pub hits: Vec<Memory>,
}

impl ContextMemories {
    /// Everything remembered in it.
    pub fn memories(&self) -> impl Iterator<Item = &Memory> {
        self.pins.iter().chain(&self.hits).chain(&self.facts)
    }
}

/// Of each scope that many of the newest are weighed for a context; what is older is found by what it says.
const NEWEST: &str = "SELECT * FROM (SELECT position FROM memories WHERE session_id = ? AND state = 'active'
        ORDER BY position DESC LIMIT 200)
    UNION ALL SELECT * FROM (SELECT position FROM memories WHERE scope = 'channel' AND channel = ? AND state = 'active'
        ORDER BY position DESC LIMIT 200)
    UNION ALL SELECT * FROM (SELECT position FROM memories WHERE scope = 'global' AND state = 'active'
        ORDER BY position DESC LIMIT 200)";

/// Whether anything can go into a context of a session (`?1`) and channel (`?2`). Each part is one step in an index.
const ANY: &str =
    "SELECT EXISTS (SELECT 1 FROM memories WHERE session_id = ?1 AND state = 'active')
    OR EXISTS (SELECT 1 FROM memories WHERE scope = 'channel' AND channel = ?2 AND state = 'active')
    OR EXISTS (SELECT 1 FROM memories INDEXED BY memories_global WHERE scope = 'global' AND state = 'active')";

/// Most rows that are looked through for a message of which no index has anything.
const LOOKED_THROUGH: u32 = 20_000;

/// How useful one is without a question: sure ones, often used ones, new ones. `?` is now; a week without a change
/// weighs as much as two uses, of which at most twenty count.
const USEFUL: &str =
    "m.confidence + 0.05 * min(m.uses, 20) - max(? - m.updated_at, 0) / 6048000000.0";

/// Which remembered things of untrusted origin a session has read.
pub(crate) fn load_session_taint(
    conn: &Connection,
    session_id: SessionId,
) -> Result<Vec<String>, StoreError> {
    conn.row_opt(
        "SELECT taint FROM sessions WHERE id = ?1",
        [session_id],
        |row| row.json("taint"),
    )?
    .ok_or_else(|| StoreError::not_found("session", session_id))
}

impl Reader<'_> {
    /// One.
    pub fn memory(&self, id: MemoryId) -> Result<Memory, StoreError> {
        load_memory(self.conn, id)
    }

    /// Newest change first.
    pub fn memories(
        &self,
        filter: &MemoryFilter,
        page: &PageRequest,
    ) -> Result<Page<Memory>, StoreError> {
        let limit = page_limit(page);
        let mut condition = Condition::of(filter);
        if let Some((at, position)) = change_start(page)? {
            condition
                .text
                .push_str(" AND (m.updated_at, m.position) < (?, ?)");
            condition
                .values
                .extend([Value::from(at), Value::from(position)]);
        }
        condition.values.push(Value::from(i64::from(limit) + 1));
        let rows = self.select(
            &format!(
                "SELECT {MEMORY} FROM memories m WHERE {} ORDER BY m.updated_at DESC, m.position DESC LIMIT ?",
                condition.text
            ),
            &condition.values,
        )?;
        Ok(change_page(rows, limit, |memory| memory.updated_at))
    }

    /// Memories of a query that selects [`MEMORY`].
    pub(crate) fn select(
        &self,
        query: &str,
        values: &[Value],
    ) -> Result<Vec<(i64, Memory)>, StoreError> {
        self.conn.rows(query, values, memory_row)
    }

    /// Everything that goes into a context beside the summary: pins, the most useful facts, and what the message is
    /// about beside them. The facts do not depend on the message, so that the beginning of a request stays the same. Where
    /// nothing is remembered this is one look-up; where there is a lot, only the newest are weighed.
    pub fn recall(
        &self,
        place: &RecallContext,
        message: &str,
        meaning: Option<&Meaning>,
        limits: RecallLimits,
    ) -> Result<ContextMemories, StoreError> {
        let mut recalled = ContextMemories::default();
        let condition = Condition::recalled(place);
        let any: bool = self
            .conn
            .value(ANY, params![place.session_id, place.channel])?;
        if !any {
            return Ok(recalled);
        }
        let mut values = condition.values.clone();
        values.push(Value::from(limits.pins));
        recalled.pins = self.only(
            &format!(
                "SELECT {MEMORY} FROM memories m INDEXED BY memories_pinned WHERE m.pinned = 1 AND {}
                 ORDER BY m.updated_at DESC, m.position DESC LIMIT ?",
                condition.text
            ),
            &values,
        )?;
        let mut values = vec![
            Value::from(place.session_id),
            Value::from(place.channel.clone()),
        ];
        values.extend(condition.values.iter().cloned());
        values.push(Value::from(place.now));
        values.push(Value::from(limits.facts));
        recalled.facts = self.only(
            &format!(
                "SELECT {MEMORY} FROM ({NEWEST}) n CROSS JOIN memories m ON m.position = n.position
                 WHERE m.pinned = 0 AND {} ORDER BY {USEFUL} DESC, m.position DESC LIMIT ?",
                condition.text
            ),
            &values,
        )?;
        if !message.trim().is_empty() {
            let mut unpinned = condition;
            unpinned.text.push_str(" AND m.pinned = 0");
            if memory_search::looks_through(message) {
                unpinned.text.push_str(&format!(
                    " AND m.position > (SELECT max(position) FROM memories) - {LOOKED_THROUGH}"
                ));
            }
            let shown = recalled.facts.len() as u32;
            let most = limits.hits + shown;
            let found = self.find_also(message, meaning, &unpinned, most, place.now)?;
            let mut hits: Vec<Memory> = found.into_iter().map(|hit| hit.memory).collect();
            hits.retain(|hit| !recalled.facts.iter().any(|fact| fact.id == hit.id));
            hits.truncate(limits.hits as usize);
            recalled.hits = hits;
        }
        Ok(recalled)
    }

    /// What a conversation at this place sees and says the same as a text; the one recalled most widely.
    pub fn recalled_equal(
        &self,
        place: &RecallContext,
        text: &str,
    ) -> Result<Option<Memory>, StoreError> {
        let condition = Condition::recalled(place);
        let mut values = vec![Value::from(digest(text).to_vec())];
        values.extend(condition.values);
        let found = self.only(
            &format!(
                "SELECT {MEMORY} FROM memories m WHERE m.digest = ? AND {}
                 ORDER BY m.scope = 'session', m.scope = 'channel', m.position LIMIT 1",
                condition.text
            ),
            &values,
        )?;
        Ok(found.into_iter().next())
    }

    /// Which remembered things of untrusted origin a session has read.
    pub fn session_taint(&self, session_id: SessionId) -> Result<Vec<String>, StoreError> {
        load_session_taint(self.conn, session_id)
    }

    fn only(&self, query: &str, values: &[Value]) -> Result<Vec<Memory>, StoreError> {
        Ok(self
            .select(query, values)?
            .into_iter()
            .map(|(_, memory)| memory)
            .collect())
    }

    /// Counts and sizes. What the process counts itself is left at nothing.
    pub fn memory_stats(&self) -> Result<MemoryStats, StoreError> {
        let groups = self.conn.rows(
            "SELECT scope, channel, state, count(*) AS count, total(pinned) AS pinned,
                total(octet_length(text)) AS bytes FROM memories
             GROUP BY scope, channel, state ORDER BY scope, channel, state",
            [],
            |row| {
                Ok(columns!(row => MemoryGroup {
                    scope, channel, state, count;
                    pinned: row.get::<f64>("pinned")? as u64,
                    bytes: row.get::<f64>("bytes")? as u64,
                }))
            },
        )?;
        let (summaries, covered, compactions, failed_compactions, vectors) = self.conn.row(
            "SELECT (SELECT count(*) FROM summaries) AS summaries,
                (SELECT coalesce(sum(turns), 0) FROM summaries) AS covered,
                (SELECT count(*) FROM compactions WHERE state = 'done') AS compactions,
                (SELECT count(*) FROM compactions WHERE state = 'failed') AS failed_compactions,
                (SELECT count(*) FROM memory_vectors) AS vectors",
            params![],
            columns!(summaries, covered, compactions, failed_compactions, vectors),
        )?;
        Ok(MemoryStats {
            groups,
            summaries,
            covered,
            compactions,
            failed_compactions,
            vectors,
            ..MemoryStats::default()
        })
    }
}
