//! Who allowed what: append-only rows, each hashed over the one before it.
//!
//! The hash of a row is SHA-256 over the hash of the row before (32 bytes, zeros before the first row) and then, for
//! each of these fields in this order, its length as eight big-endian bytes and its bytes: `seq` and the time in
//! milliseconds since 1970 (eight big-endian bytes each), `action`, `actor`, `actor_id`, `surface`, `+` where a
//! channel is named or `-` where none is, the channel (nothing where none is), `subject`, `detail`. Text is UTF-8 and
//! `detail` is the JSON text exactly as stored.
//!
//! A chain inside one file shows that a row was changed or taken out, not that the end was cut off by
//! somebody who can rewrite the file: compare the head with a copy kept elsewhere for that.

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::clock::Timestamp;
use crate::store::command::WriteTx;
use crate::store::commands::ensure_channel::hex;
use crate::store::error::StoreError;
use crate::store::input::ActorRef;
use crate::store::reader::Reader;
use crate::store::sql::{Connection, Statements, params, stored};

/// The end of the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AuditHead {
    /// Number of the last row; 0 = none.
    pub(crate) seq: u64,
    /// Its hash; zeros = none.
    pub(crate) hash: [u8; 32],
}

/// Where a chain breaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditBreak {
    /// Number of the first row that does not fit.
    pub seq: u64,
    /// What is wrong with it.
    pub reason: String,
}

/// SHA-256 over the hash before and the row's fields, each with its length as eight big-endian bytes.
fn link(prev: &[u8; 32], fields: &[&[u8]]) -> [u8; 32] {
    let mut hasher = Sha256::new();
    hasher.update(prev);
    for field in fields {
        hasher.update((field.len() as u64).to_be_bytes());
        hasher.update(field);
    }
    hasher.finalize().into()
}

struct Row {
    seq: u64,
    at: i64,
    action: String,
    actor: String,
    actor_id: String,
    surface: String,
    channel: Option<String>,
    subject: String,
    detail: String,
}

impl Row {
    fn hash(&self, prev: &[u8; 32]) -> [u8; 32] {
        link(
            prev,
            &[
                &self.seq.to_be_bytes(),
                &self.at.to_be_bytes(),
                self.action.as_bytes(),
                self.actor.as_bytes(),
                self.actor_id.as_bytes(),
                self.surface.as_bytes(),
                if self.channel.is_some() { b"+" } else { b"-" },
                self.channel.as_deref().unwrap_or_default().as_bytes(),
                self.subject.as_bytes(),
                self.detail.as_bytes(),
            ],
        )
    }
}

impl AuditHead {
    /// The end of the stored chain.
    pub(crate) fn load(conn: &Connection) -> Result<Self, StoreError> {
        Ok(conn
            .row_opt(
                "SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1",
                [],
                |row| {
                    Ok(Self {
                        seq: row.get("seq")?,
                        hash: row.get("hash")?,
                    })
                },
            )?
            .unwrap_or(Self {
                seq: 0,
                hash: [0; 32],
            }))
    }
}

impl WriteTx<'_> {
    /// Appends one row. `subject` is the id concerned, `detail` facts without secrets.
    pub(crate) fn audit(
        &mut self,
        action: &str,
        by: &ActorRef,
        channel: Option<&str>,
        subject: impl std::fmt::Display,
        detail: &Value,
    ) -> Result<(), StoreError> {
        // The hash is of what is stored.
        let row = Row {
            seq: self.audit.seq + 1,
            at: self.now.as_millis(),
            action: action.to_owned(),
            actor: stored(&by.label),
            actor_id: stored(&by.id),
            surface: by.surface.as_str().to_owned(),
            channel: channel.map(stored),
            subject: stored(&subject.to_string()),
            detail: detail.to_string(),
        };
        let hash = row.hash(&self.audit.hash);
        self.conn.run(
            "INSERT INTO audit (seq, at, action, actor, actor_id, surface, channel, subject, detail, hash)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
            params![
                row.seq,
                row.at,
                row.action,
                row.actor,
                row.actor_id,
                row.surface,
                row.channel,
                row.subject,
                row.detail,
                hash
            ],
        )?;
        self.audit = AuditHead { seq: row.seq, hash };
        Ok(())
    }
}

/// The newest part that was archived.
pub(crate) struct Segment {
    /// Its last row.
    pub(crate) to_seq: u64,
    /// Hash of that row.
    pub(crate) hash: [u8; 32],
    /// When it was archived.
    pub(crate) at: Timestamp,
}

impl Segment {
    /// The newest one.
    pub(crate) fn newest(conn: &Connection) -> Result<Option<Self>, StoreError> {
        conn.row_opt(
            "SELECT to_seq, hash, at FROM audit_segments ORDER BY to_seq DESC LIMIT 1",
            [],
            |row| {
                Ok(Self {
                    to_seq: row.get("to_seq")?,
                    hash: row.get("hash")?,
                    at: row.get("at")?,
                })
            },
        )
    }

    /// What the audit row says that was written with it.
    pub(crate) fn detail(from_seq: u64, to_seq: u64, hash: [u8; 32]) -> Value {
        serde_json::json!({ "from": from_seq, "to": to_seq, "hash": hex(&hash) })
    }
}

/// Name of the audit row that is written with a segment.
pub(crate) const PRUNED: &str = "audit.pruned";

impl Reader<'_> {
    /// Walks the whole chain that is kept, from where it was pruned last: the number of rows, or the first row that
    /// does not fit.
    pub fn verify_audit(&self) -> Result<Result<u64, AuditBreak>, StoreError> {
        let segment = Segment::newest(self.conn)?;
        let (start, mut prev) = segment
            .as_ref()
            .map_or((0, [0_u8; 32]), |segment| (segment.to_seq, segment.hash));
        // Rows of the pruned part go in chunks; what is left of it is not looked at, except that its end must be the
        // one the chain goes on from.
        let end: Option<[u8; 32]> = self
            .conn
            .value_opt("SELECT hash FROM audit WHERE seq = ?1", [start])?;
        if end.is_some_and(|hash| hash != prev) {
            return Ok(Err(AuditBreak {
                seq: start,
                reason: "its hash is not the one the pruned part ended with".to_owned(),
            }));
        }
        let mut told = segment.is_none();
        let mut count = 0_u64;
        let mut broken = None;
        self.conn.each_while(
            "SELECT seq, at, action, actor, actor_id, surface, channel, subject, detail, hash FROM audit
             WHERE seq > ?1 ORDER BY seq",
            [start],
            |row| {
                let stored = Row {
                    seq: row.get("seq")?,
                    at: row.get("at")?,
                    action: row.get("action")?,
                    actor: row.get("actor")?,
                    actor_id: row.get("actor_id")?,
                    surface: row.get("surface")?,
                    channel: row.get("channel")?,
                    subject: row.get("subject")?,
                    detail: row.get("detail")?,
                };
                let hash: [u8; 32] = row.get("hash")?;
                let expected = start + count + 1;
                if stored.seq != expected {
                    broken = Some(AuditBreak {
                        seq: stored.seq,
                        reason: format!("row {expected} is missing"),
                    });
                    return Ok(false);
                }
                if stored.hash(&prev) != hash {
                    broken = Some(AuditBreak {
                        seq: stored.seq,
                        reason: "its hash does not fit its content and the row before".to_owned(),
                    });
                    return Ok(false);
                }
                if stored.action == PRUNED
                    && let Some(segment) = &segment
                {
                    let detail: Value = serde_json::from_str(&stored.detail).unwrap_or_default();
                    told |= detail["to"] == segment.to_seq && detail["hash"] == hex(&segment.hash);
                }
                prev = hash;
                count += 1;
                Ok(true)
            },
        )?;
        if let Some(broken) = broken {
            return Ok(Err(broken));
        }
        if !told {
            return Ok(Err(AuditBreak {
                seq: start + 1,
                reason: format!(
                    "rows up to {start} are archived, and no row says that the engine did it"
                ),
            }));
        }
        Ok(Ok(count))
    }

    /// When the oldest row of the audit that is kept was written; none = nothing was pruned.
    pub(crate) fn audit_kept_since(&self) -> Result<Option<Timestamp>, StoreError> {
        let Some(segment) = Segment::newest(self.conn)? else {
            return Ok(None);
        };
        self.conn.value_opt::<Timestamp>(
            "SELECT at FROM audit WHERE seq > ?1 ORDER BY seq LIMIT 1",
            [segment.to_seq],
        )
    }
}
