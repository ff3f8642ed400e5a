//! Removes a person for good, piece by piece. The first piece notes that it is under way, the last one that it is done:
//! whoever dies in between goes on after the next start.

use crate::store::meta;
use crate::store::sql::Value;
use serde_json::json;

use crate::protocol::event::EventBody;
use crate::protocol::ids::{ContinuationId, MemoryId, SessionId};
use crate::protocol::memory::Erasure;
use crate::store::command::{WriteCommand, WriteTx};
use crate::store::commands::remove::{Deletion, Overwriting, Removal};
use crate::store::commands::sweep_history::OldHistory;
use crate::store::commands::sweep_loose::OF_QUESTION;
use crate::store::error::StoreError;
use crate::store::input::ActorRef;
use crate::store::queries::erase::UNDER_WAY;
use crate::store::queries::pseudonymize::{Mention, Table};
use crate::store::queries::sweep::{OldTurn, RawId};
use crate::store::rows::digest;
use crate::store::sql::{Statements, ToSql, params};

/// Notes that the erasure of a user begins. Durable.
#[derive(Debug, Clone)]
pub struct BeginErasure {
    /// What is needed to go on after a crash: names the person.
    pub note: String,
    pub by: ActorRef,
}

impl WriteCommand for BeginErasure {
    type Output = ();

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<(), StoreError> {
        meta::set(tx.conn, UNDER_WAY, &self.note)?;
        // From here on the newest event is not one that goes: the side-car names the newest one that was there.
        tx.emit_memory("erasing", None, None, 0, &self.by.label)
    }
}

/// Turns that ended. One that is under way stays.
#[derive(Debug, Clone)]
pub struct EndedTurns;

impl Removal for EndedTurns {
    type Key = OldTurn;
    const DELETION: Deletion = Deletion::Overwriting;

    fn cost(&self, tx: &WriteTx<'_>, turn: &OldTurn) -> Result<u64, StoreError> {
        OldHistory::rows_of(tx, turn)
    }

    fn remove(&self, tx: &mut WriteTx<'_>, turn: &OldTurn) -> Result<Option<u64>, StoreError> {
        let ended: bool = tx.conn.value(
            "SELECT EXISTS (SELECT 1 FROM continuations WHERE id = ?1 AND ended_at IS NOT NULL)",
            [turn.id],
        )?;
        if !ended {
            return Ok(None);
        }
        // A compaction may be waiting for one. Its answer is not used, and it may be billed in full.
        let head = tx.head(ContinuationId::from_bytes(turn.id))?;
        tx.settle_abandoned_calls(&head, "its turn was erased")?;
        tx.conn.run(
            "DELETE FROM session_grants WHERE approval_id IN
                (SELECT id FROM approvals WHERE continuation_id = ?1)",
            [turn.id],
        )?;
        for by in &turn.retried_by {
            tx.conn.run(
                "UPDATE continuations SET retry_of = NULL WHERE id = ?1",
                [by],
            )?;
        }
        OldHistory::remove_turn(tx, turn).map(Some)
    }
}

/// One thing that belongs to no turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Loose {
    /// An event.
    Event(u64),
    /// A message, by position.
    Message(i64),
    /// A key.
    Key(RawId),
    /// A question.
    Question(RawId),
    /// A routine.
    Routine(RawId),
    /// Something remembered.
    Memory(MemoryId),
}

/// Things that belong to no turn.
#[derive(Debug, Clone)]
pub struct LooseThings;

impl Removal for LooseThings {
    type Key = Loose;
    const DELETION: Deletion = Deletion::Overwriting;

    fn remove(&self, tx: &mut WriteTx<'_>, thing: &Loose) -> Result<Option<u64>, StoreError> {
        let run = |query: &str, key: &dyn ToSql| -> Result<u64, StoreError> {
            Ok(tx.conn.run(query, [key])? as u64)
        };
        let rows = match thing {
            Loose::Event(seq) => run(
                "DELETE FROM events WHERE seq = ?1 AND seq < (SELECT max(seq) FROM events)",
                seq,
            )?,
            Loose::Message(position) => {
                run(
                    "DELETE FROM card_tokens WHERE outbox_id = (SELECT id FROM outbox WHERE position = ?1)",
                    position,
                )? + run("DELETE FROM outbox WHERE position = ?1", position)?
            }
            Loose::Key(id) => run(
                "DELETE FROM inbox WHERE id = ?1 AND continuation_id IS NULL",
                id,
            )?,
            Loose::Question(id) => {
                let mut rows = run("DELETE FROM session_grants WHERE approval_id = ?1", id)?;
                for query in OF_QUESTION {
                    rows += run(query, id)?;
                }
                rows
            }
            Loose::Routine(id) => {
                run("DELETE FROM routine_runs WHERE routine_id = ?1", id)?
                    + run("DELETE FROM routines WHERE id = ?1", id)?
            }
            Loose::Memory(id) => {
                run("DELETE FROM memory_vectors WHERE memory_id = ?1", id)?
                    + run("DELETE FROM memories WHERE id = ?1", id)?
            }
        };
        Ok(Some(rows))
    }
}

/// What hangs on a session that goes.
const OF_SESSION: [&str; 8] = [
    "DELETE FROM leftovers WHERE session_id = ?1",
    "DELETE FROM summaries WHERE session_id = ?1",
    "DELETE FROM compactions WHERE session_id = ?1",
    "DELETE FROM session_grants WHERE session_id = ?1",
    "DELETE FROM rules WHERE session_id = ?1",
    "DELETE FROM call_reports WHERE session_id = ?1",
    "DELETE FROM budget_grants WHERE session_id = ?1",
    "DELETE FROM sessions WHERE id = ?1",
];

/// What a session that others took part in loses: the turns of the others are sent along again until they are
/// summarised anew, and a summary that is being written is not taken.
const OF_SHARED: [&str; 3] = [
    "DELETE FROM summaries WHERE session_id = ?1",
    "UPDATE continuations SET archived_at = NULL WHERE session_id = ?1 AND archived_at IS NOT NULL",
    "UPDATE sessions SET last_line = NULL, last_sender = NULL WHERE id = ?1
        AND (last_line IS NOT NULL OR last_sender IS NOT NULL)",
];

/// Rows that a session takes of a piece: what hangs on one is not counted.
const SESSION_ROWS: u64 = 5;

/// Sessions that nobody else took part in: they go, once they have no turn left.
#[derive(Debug, Clone)]
pub struct WholeSessions;

impl Removal for WholeSessions {
    type Key = RawId;
    const DELETION: Deletion = Deletion::Overwriting;

    fn cost(&self, _tx: &WriteTx<'_>, _id: &RawId) -> Result<u64, StoreError> {
        Ok(SESSION_ROWS)
    }

    fn remove(&self, tx: &mut WriteTx<'_>, id: &RawId) -> Result<Option<u64>, StoreError> {
        let state: Option<String> = tx.conn.value_opt(
            "SELECT state FROM sessions WHERE id = ?1
                AND NOT EXISTS (SELECT 1 FROM continuations c WHERE c.session_id = sessions.id)",
            [id],
        )?;
        let Some(state) = state else { return Ok(None) };
        let mut rows = 0;
        for query in OF_SESSION {
            rows += tx.conn.run(query, [id])? as u64;
        }
        if state == "active" {
            let reason = "the user was erased".to_owned();
            let session = Some(SessionId::from_bytes(*id));
            tx.emit(session, None, EventBody::SessionEnded { reason })?;
        }
        Ok(Some(rows))
    }
}

/// What others' sessions hold of the person: their summary and last line go, they stay.
#[derive(Debug, Clone)]
pub struct SharedSessions;

impl Removal for SharedSessions {
    type Key = RawId;
    const DELETION: Deletion = Deletion::Overwriting;

    fn cost(&self, _tx: &WriteTx<'_>, _id: &RawId) -> Result<u64, StoreError> {
        Ok(SESSION_ROWS)
    }

    fn remove(&self, tx: &mut WriteTx<'_>, id: &RawId) -> Result<Option<u64>, StoreError> {
        tx.conn.run(
            "UPDATE compactions SET state = 'failed', error = 'a user was erased meanwhile', ended_at = ?2
             WHERE session_id = ?1 AND state = 'running'",
            params![id, tx.now],
        )?;
        let mut rows = 0;
        for query in OF_SHARED {
            rows += tx.conn.run(query, [id])? as u64;
        }
        Ok(Some(rows))
    }
}

/// Rows that are not the person's own and hold their name: another one stands there then. A row whose key holds it goes.
#[derive(Debug, Clone)]
pub struct Rename {
    pub table: Table,
}

impl Removal for Rename {
    type Key = Mention;
    const DELETION: Deletion = Deletion::Overwriting;

    fn remove(&self, tx: &mut WriteTx<'_>, mention: &Mention) -> Result<Option<u64>, StoreError> {
        // Names of tables and columns come from the schema.
        let name = &self.table.name;
        let columns = self.table.key.iter();
        let key: Vec<String> = columns.map(|column| format!("{column} = ?")).collect();
        let key = key.join(" AND ");
        let mut values: Vec<Value> = Vec::new();
        let query = if mention.texts.is_empty() {
            format!("DELETE FROM {name} WHERE {key}")
        } else {
            let mut set = Vec::new();
            for (column, text) in &mention.texts {
                set.push(format!("{column} = ?"));
                values.push(Value::from(text.clone()));
                if name == "memories" && column == "text" {
                    set.push("digest = ?".to_owned());
                    values.push(Value::from(digest(text).to_vec()));
                    tx.conn.run(
                        "DELETE FROM memory_vectors WHERE memory_id =
                            (SELECT id FROM memories WHERE position = ?1)",
                        mention.key.as_slice(),
                    )?;
                }
            }
            format!("UPDATE {name} SET {} WHERE {key}", set.join(", "))
        };
        values.extend(mention.key.iter().cloned());
        Ok(Some(tx.conn.run(&query, values.as_slice())? as u64))
    }
}

/// Notes that a user was erased, under a name that only says whether two are the same. Durable; audited.
#[derive(Debug, Clone)]
pub struct EndErasure {
    /// SHA-256 of the person's id, in hexadecimal digits.
    pub digest: String,
    /// What went.
    pub erasure: Erasure,
    pub by: ActorRef,
}

impl WriteCommand for EndErasure {
    type Output = ();
    const ALONE: bool = true;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<(), StoreError> {
        let _overwriting = Overwriting::begin(tx)?;
        meta::clear(tx.conn, UNDER_WAY)?;
        let gone = &self.erasure;
        tx.audit(
            "user.erased",
            &self.by,
            None,
            format!("sha256:{}", self.digest),
            &json!({
                "memories": gone.memories,
                "summaries": gone.summaries,
                "continuations": gone.continuations,
                "artifacts": gone.artifacts,
                "cached": gone.cached,
            }),
        )?;
        tx.emit_memory("erased", None, None, gone.memories, &self.by.label)
    }
}
