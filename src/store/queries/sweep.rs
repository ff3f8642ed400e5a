//! What may go: read in pages, so that no transaction is long, and without an index made for it.
//!
//! Nothing here is a decision: the commands that delete look again at every row, because it may have changed since.

use std::collections::HashMap;

use crate::clock::Timestamp;
use crate::store::audit::Segment;
use crate::store::error::StoreError;
use crate::store::handle::Store;
use crate::store::meta;
use crate::store::queries::page::{BATCH, Batch};
use crate::store::reader::Reader;
use crate::store::sql::{FromSql, Row, Statements, columns, params};

/// An inbox key is kept for at least this long: a platform delivers again for up to a week.
const KEY_LIFE_MS: i64 = 8 * 24 * 3600 * 1000;

/// Ids and times that say what is old. All times are wall-clock times of the past.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SweepRules {
    pub now: Timestamp,
    /// Events before it go.
    pub events_before: Timestamp,
    /// What ended, and was last touched, before it goes.
    pub history_before: Timestamp,
    /// Sessions without a change since then expire.
    pub idle_before: Timestamp,
    /// Audit rows before it are archived.
    pub audit_before: Timestamp,
    /// Newest completed turns of a session that stay as long as it is active: what the next turn is told.
    pub keep_exchanges: u32,
}

impl SweepRules {
    /// Keys of messages that came before it go.
    pub fn keys_before(&self) -> Timestamp {
        self.history_before.min(self.now.plus_millis(-KEY_LIFE_MS))
    }
}

/// An artifact and who needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReferredArtifact {
    /// Its hash.
    pub hash: [u8; 32],
    /// Its bytes.
    pub size: u64,
    /// Turns that refer to it.
    pub by: Vec<RawId>,
}

/// An id as stored.
pub type RawId = [u8; 16];

/// A turn that may go, with the rows that no index finds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OldTurn {
    pub id: RawId,
    pub position: i64,
    /// Positions of its messages.
    pub outbox: Vec<i64>,
    pub inbox: Vec<RawId>,
    /// Its model calls.
    pub models: Vec<RawId>,
    /// Turns that repeat it; they go before it does.
    pub retried_by: Vec<RawId>,
}

/// Turns that may go, in the order in which they must.
#[derive(Debug, Clone, Default)]
pub struct OldTurns {
    /// The turns: newest first, so that what repeats a turn goes before it.
    pub turns: Vec<OldTurn>,
    /// Last position of a turn that was looked at.
    pub continuations_to: i64,
    /// Last position of a message that was looked at.
    pub outbox_to: i64,
}

/// A session (`s`) that nobody uses and nothing waits in. `?3` = idle before.
pub(crate) const IDLE: &str = "s.state = 'active' AND s.paused = 0 AND s.updated_at < ?3
    AND NOT EXISTS (SELECT 1 FROM continuations i WHERE i.session_id = s.id AND i.ended_at IS NULL)
    AND NOT EXISTS (SELECT 1 FROM approvals i WHERE i.session_id = s.id AND i.state = 'pending')
    AND NOT EXISTS (SELECT 1 FROM outbox i WHERE i.channel = s.channel AND i.settled_at IS NULL
        AND i.conversation = s.conversation)
    AND NOT EXISTS (SELECT 1 FROM outbox i WHERE i.state = 'unknown' AND +i.channel = s.channel
        AND i.conversation = s.conversation)";

/// A turn (`c`, of session `s`) that is over and told to nobody any more, as far as indices tell. `?1` = history
/// before, `?2` = exchanges kept. The newest turn of all stays, so that no position is given twice.
pub(crate) fn old_turn() -> String {
    format!(
        "c.ended_at < ?1 AND c.position < (SELECT max(position) FROM continuations)
        AND NOT EXISTS (SELECT 1 FROM approvals a WHERE a.continuation_id = c.id
            AND (a.state IN ('pending', 'approved') OR a.updated_at >= ?1))
        AND NOT EXISTS (SELECT 1 FROM approvals a JOIN outbox o ON o.approval_id = a.id WHERE a.continuation_id = c.id
            AND (o.state IN ('pending', 'sending', 'unknown') OR o.updated_at >= ?1))
        AND NOT EXISTS (SELECT 1 FROM session_grants g CROSS JOIN approvals a ON a.id = g.approval_id
            WHERE a.continuation_id = c.id)
        AND (c.state <> 'completed' OR s.state <> 'active' OR ({IDLE}) OR (SELECT count(*) FROM (
            SELECT 1 FROM continuations k WHERE k.session_id = c.session_id AND +k.state = 'completed'
                AND k.position > c.position AND k.position < coalesce((SELECT min(w.position)
                    FROM continuations w INDEXED BY continuations_open
                    WHERE w.session_id = c.session_id AND w.ended_at IS NULL AND w.position > c.position),
                    9223372036854775807)
            LIMIT ?2)) >= ?2)"
    )
}

/// A question (`a`) without a turn that is settled. `?1` = history before.
pub(crate) const OLD_QUESTION: &str =
    "a.continuation_id IS NULL AND a.state NOT IN ('pending', 'approved')
    AND a.updated_at < ?1
    AND NOT EXISTS (SELECT 1 FROM session_grants g WHERE g.approval_id = a.id)
    AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.approval_id = a.id
        AND (o.state IN ('pending', 'sending', 'unknown') OR o.updated_at >= ?1))
    AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.id = a.outbox_id
        AND (o.state IN ('pending', 'sending', 'unknown') OR o.updated_at >= ?1))";

/// A message (`o`) of no turn and no question that is settled. `?1` = history before.
pub(crate) const OLD_MESSAGE: &str = "o.continuation_id IS NULL AND o.approval_id IS NULL
    AND o.state NOT IN ('pending', 'sending', 'unknown') AND o.updated_at < ?1
    AND o.position < (SELECT max(position) FROM outbox)
    AND NOT EXISTS (SELECT 1 FROM approvals a WHERE a.outbox_id = o.id)";

/// A compaction (`k`) that is over. `?1` = history before. The newest of a session says when it may be tried again,
/// the newest that ended well belongs to the summary. What a prompt is made of lies in neither of them.
pub(crate) const OLD_COMPACTION: &str = "k.ended_at < ?1
    AND EXISTS (SELECT 1 FROM compactions n WHERE n.session_id = k.session_id AND n.position > k.position
        AND (k.state = 'failed' OR n.state = 'done'))";

/// A session (`s`) that is over. `?1` = history before. Turns are looked at apart.
pub(crate) const OLD_SESSION: &str = "s.state <> 'active' AND s.updated_at < ?1
    AND NOT EXISTS (SELECT 1 FROM approvals a WHERE a.continuation_id IS NULL AND a.session_id = s.id)";

impl Reader<'_> {
    /// Number of the last event that goes; none = none does. The newest event stays: cursors and the side-car are
    /// compared with it.
    pub fn old_events_to(&self, before: Timestamp) -> Result<Option<(u64, u64)>, StoreError> {
        let end: Option<u64> = self.conn.value(
            "SELECT coalesce((SELECT seq FROM events WHERE at >= ?1 ORDER BY seq LIMIT 1),
                (SELECT max(seq) FROM events))",
            [before],
        )?;
        let Some(end) = end else {
            return Ok(None);
        };
        let (count, last): (u64, Option<u64>) = self.conn.row(
            "SELECT count(*) AS count, max(seq) AS seq FROM events WHERE seq < ?1",
            [end],
            columns!(count, seq),
        )?;
        Ok(last.map(|last| (last, count)))
    }

    /// Positions of sessions that expire.
    pub fn idle_sessions(&self, rules: &SweepRules) -> Result<Vec<i64>, StoreError> {
        // The condition numbers its parameter as where it is part of another one.
        self.conn.values(
            &format!("SELECT s.position FROM sessions s WHERE {IDLE} ORDER BY s.position"),
            params![0, 0, rules.idle_before],
        )
    }

    /// Sessions that are over, with the ids of their turns that are left: a session goes with the last of them.
    pub fn old_sessions(&self, before: Timestamp) -> Result<Vec<(i64, Vec<RawId>)>, StoreError> {
        let positions = self.conn.rows(
            &format!(
                "SELECT s.position, s.id FROM sessions s WHERE {OLD_SESSION} ORDER BY s.position"
            ),
            [before],
            columns!(position, id: RawId),
        )?;
        let turns = "SELECT id FROM continuations WHERE session_id = ?1";
        positions
            .into_iter()
            .map(|(position, id)| Ok((position, self.conn.values(turns, [id])?)))
            .collect()
    }

    /// Keys of messages that started no turn.
    pub fn old_keys(
        &self,
        before: Timestamp,
        after: Option<RawId>,
    ) -> Result<Batch<RawId, RawId>, StoreError> {
        let rows = self.conn.rows(
            "SELECT id, continuation_id IS NULL AND received_at < ?3 AS old FROM inbox WHERE id > ?1
             ORDER BY id LIMIT ?2",
            params![after.unwrap_or_default(), BATCH, before],
            |row| keyed(row, "id"),
        )?;
        Ok(Batch::of(rows, BATCH))
    }

    /// Settled questions without a turn.
    pub fn old_questions(&self, before: Timestamp) -> Result<Vec<i64>, StoreError> {
        self.conn.values(
            &format!("SELECT a.position FROM approvals a WHERE {OLD_QUESTION} ORDER BY a.position"),
            [before],
        )
    }

    /// Settled messages without a turn or a question.
    pub fn old_messages(
        &self,
        before: Timestamp,
        after: Option<i64>,
    ) -> Result<Batch<i64, i64>, StoreError> {
        let rows = self.conn.rows(
            &format!(
                "SELECT o.position, ({OLD_MESSAGE}) AS old FROM outbox o WHERE o.position > ?2
                 ORDER BY o.position LIMIT ?3"
            ),
            params![before, after.unwrap_or(0), BATCH],
            |row| keyed(row, "position"),
        )?;
        Ok(Batch::of(rows, BATCH))
    }

    /// How many compactions may go.
    pub fn old_compactions(&self, before: Timestamp) -> Result<u64, StoreError> {
        self.conn.value(
            &format!("SELECT count(*) FROM compactions k WHERE {OLD_COMPACTION}"),
            [before],
        )
    }

    /// Artifacts with the turns that still refer to them: an artifact goes with the last of them.
    pub fn referred_artifacts(
        &self,
        after: Option<[u8; 32]>,
    ) -> Result<Batch<ReferredArtifact, [u8; 32]>, StoreError> {
        let rows: Vec<([u8; 32], u64)> = self.conn.rows(
            "SELECT hash, size FROM artifacts WHERE hash > ?1 ORDER BY hash LIMIT ?2",
            params![after.unwrap_or_default(), BATCH],
            columns!(hash, size),
        )?;
        let references = "SELECT continuation_id FROM artifact_references WHERE hash = ?1";
        let found = rows
            .into_iter()
            .map(|(hash, size)| {
                let by = self.conn.values(references, [hash])?;
                Ok((hash, Some(ReferredArtifact { hash, size, by })))
            })
            .collect::<Result<_, StoreError>>()?;
        Ok(Batch::of(found, BATCH))
    }

    /// The oldest part of the audit that may be archived: (first row, last row). None before a day has passed since
    /// the last time: every part leaves a row in the audit itself.
    pub fn old_audit(&self, rules: &SweepRules) -> Result<Option<(u64, u64)>, StoreError> {
        const DAY_MS: u64 = 24 * 3600 * 1000;
        let segment = Segment::newest(self.conn)?;
        if segment
            .as_ref()
            .is_some_and(|segment| rules.now.millis_since(segment.at) < DAY_MS)
        {
            return Ok(None);
        }
        let from = segment.map_or(0, |segment| segment.to_seq) + 1;
        let kept: Option<u64> = self.conn.value_opt(
            "SELECT seq FROM audit WHERE seq >= ?1 AND at >= ?2 ORDER BY seq LIMIT 1",
            params![from, rules.audit_before],
        )?;
        // Without a row that is kept there is nothing that the chain could go on with.
        Ok(kept
            .filter(|kept| *kept > from)
            .map(|kept| (from, kept - 1)))
    }

    /// Pages of the file, and how many of them are free.
    pub fn pages(&self) -> Result<(u64, u64), StoreError> {
        Ok((
            self.conn.value("PRAGMA page_count", [])?,
            self.conn.value("PRAGMA freelist_count", [])?,
        ))
    }

    /// When the last sweep ended.
    pub fn last_sweep(&self) -> Result<Option<Timestamp>, StoreError> {
        meta::time(self.conn, "last_sweep")
    }
}

/// A key, chosen where it is `old`.
fn keyed<K: FromSql + Copy>(row: &Row<'_>, name: &str) -> Result<(K, Option<K>), StoreError> {
    let (key, old): (K, bool) = (row.get(name)?, row.get("old")?);
    Ok((key, old.then_some(key)))
}

impl Store {
    /// At most `at_most` turns that may go, oldest chosen first. Reads every table that has no index by turn once.
    pub async fn old_turns(
        &self,
        rules: SweepRules,
        at_most: usize,
    ) -> Result<OldTurns, StoreError> {
        let mut found: HashMap<RawId, OldTurn> = HashMap::new();
        let mut after = 0;
        while found.len() < at_most {
            let (turns, next) = self
                .read(move |reader| candidates(reader, &rules, after))
                .await?;
            let room = at_most - found.len();
            for turn in turns.into_iter().take(room) {
                found.insert(turn.id, turn);
            }
            match next {
                Some(next) => after = next,
                None => break,
            }
        }
        if found.is_empty() {
            return Ok(OldTurns::default());
        }
        let continuations_to = self.note_retries(&mut found).await?;
        let outbox_to = self.note_messages(&mut found, rules).await?;
        self.note_keys(&mut found, rules).await?;
        self.note_model_calls(&mut found).await?;
        drop_still_retried(&mut found);
        let mut turns: Vec<OldTurn> = found.into_values().collect();
        turns.sort_unstable_by_key(|turn| std::cmp::Reverse(turn.position));
        Ok(OldTurns {
            turns,
            continuations_to,
            outbox_to,
        })
    }

    /// What repeats a turn; the last position that was looked at.
    async fn note_retries(&self, found: &mut HashMap<RawId, OldTurn>) -> Result<i64, StoreError> {
        let mut last = 0;
        self.each_row(
            "SELECT position, id, retry_of FROM continuations WHERE position > ?1 ORDER BY position LIMIT ?2",
            columns!(position, id, retry_of),
            |(position, id, retry_of): (i64, RawId, Option<RawId>)| {
                last = position;
                if let Some(turn) = retry_of.and_then(|of| found.get_mut(&of)) {
                    turn.retried_by.push(id);
                }
            },
        )
        .await?;
        Ok(last)
    }

    /// The messages of a turn, which stays while one of them is live; the last position that was looked at.
    async fn note_messages(
        &self,
        found: &mut HashMap<RawId, OldTurn>,
        rules: SweepRules,
    ) -> Result<i64, StoreError> {
        let mut last = 0;
        let mut newest: Option<RawId> = None;
        self.each_row(
            "SELECT position, continuation_id, updated_at, state IN ('pending', 'sending', 'unknown') AS open
             FROM outbox WHERE position > ?1 ORDER BY position LIMIT ?2",
            columns!(position, continuation_id, updated_at, open),
            |(position, of, updated_at, open): (i64, Option<RawId>, Timestamp, bool)| {
                (last, newest) = (position, of);
                let Some(of) = of else { return };
                if open || updated_at >= rules.history_before {
                    found.remove(&of);
                } else if let Some(turn) = found.get_mut(&of) {
                    turn.outbox.push(position);
                }
            },
        )
        .await?;
        // The newest message stays, so that no position is given twice.
        if let Some(newest) = newest {
            found.remove(&newest);
        }
        Ok(last)
    }

    /// The keys of a turn, which stays while one of them may come again.
    async fn note_keys(
        &self,
        found: &mut HashMap<RawId, OldTurn>,
        rules: SweepRules,
    ) -> Result<(), StoreError> {
        self.each_row(
            "SELECT id, continuation_id, received_at FROM inbox WHERE id > ?1 ORDER BY id LIMIT ?2",
            columns!(id, continuation_id, received_at),
            |(id, of, received_at): (RawId, Option<RawId>, Timestamp)| {
                let Some(of) = of else { return };
                if received_at >= rules.keys_before() {
                    found.remove(&of);
                } else if let Some(turn) = found.get_mut(&of) {
                    turn.inbox.push(id);
                }
            },
        )
        .await
    }

    /// The model calls of a turn, which stays while one of them is open.
    async fn note_model_calls(
        &self,
        found: &mut HashMap<RawId, OldTurn>,
    ) -> Result<(), StoreError> {
        self.each_row(
            "SELECT id, continuation_id, settled_at IS NULL AS open FROM model_attempts
             WHERE id > ?1 ORDER BY id LIMIT ?2",
            columns!(id, continuation_id, open),
            |(id, of, open): (RawId, RawId, bool)| {
                if open {
                    found.remove(&of);
                } else if let Some(turn) = found.get_mut(&of) {
                    turn.models.push(id);
                }
            },
        )
        .await
    }
}

/// A page of turns that may go as far as indices tell, and the last position looked at; none = there is no more.
fn candidates(
    reader: &Reader<'_>,
    rules: &SweepRules,
    after: i64,
) -> Result<(Vec<OldTurn>, Option<i64>), StoreError> {
    let to: Option<i64> = reader.conn.value(
        "SELECT max(position) FROM (SELECT position FROM continuations WHERE position > ?1 ORDER BY position LIMIT ?2)",
        params![after, BATCH],
    )?;
    let Some(to) = to else {
        return Ok((Vec::new(), None));
    };
    let turns = reader.conn.rows(
        &format!(
            "SELECT c.id, c.position FROM continuations c JOIN sessions s ON s.id = c.session_id
             WHERE c.position > ?4 AND c.position <= ?5 AND {} ORDER BY c.position",
            old_turn()
        ),
        params![
            rules.history_before,
            rules.keep_exchanges,
            rules.idle_before,
            after,
            to
        ],
        |row| {
            Ok(columns!(row => OldTurn {
                id, position;
                ..OldTurn::default()
            }))
        },
    )?;
    Ok((turns, Some(to)))
}

/// A turn stays as long as one that repeats it does.
fn drop_still_retried(found: &mut HashMap<RawId, OldTurn>) {
    loop {
        let still: Vec<RawId> = found
            .values()
            .filter(|turn| turn.retried_by.iter().any(|by| !found.contains_key(by)))
            .map(|turn| turn.id)
            .collect();
        if still.is_empty() {
            return;
        }
        for id in still {
            found.remove(&id);
        }
    }
}
