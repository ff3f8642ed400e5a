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

use crate::clock::Timestamp;
use crate::protocol::hex::hex;
use crate::store::audit_chain::Entry;
use crate::store::command::WriteTx;
use crate::store::error::StoreError;
use crate::store::input::ActorRef;
use crate::store::reader::Reader;
use crate::store::sql::{Connection, Statements, columns, stored};
use serde_json::Value;

/// Where a chain breaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditBreak {
    /// Number of the first row that does not fit.
    pub seq: u64,
    /// What is wrong with it.
    pub reason: String,
}

impl WriteTx<'_> {
    /// Stages one row. `subject` is the id concerned, `detail` facts without secrets.
    #[expect(
        clippy::unnecessary_wraps,
        reason = "a step of a command like any other, whether or not staging can fail"
    )]
    pub(crate) fn audit(
        &mut self,
        action: &str,
        by: &ActorRef,
        channel: Option<&str>,
        subject: impl std::fmt::Display,
        detail: &Value,
    ) -> Result<(), StoreError> {
        // The hash is of what is stored.
        self.staged.audit.push(Entry {
            action: action.to_owned(),
            actor: stored(&by.label),
            actor_id: stored(&by.id),
            surface: by.surface.as_str().to_owned(),
            channel: channel.map(stored),
            subject: stored(&subject.to_string()),
            detail: detail.to_string(),
        });
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
            |row| Ok(columns!(row => Self { to_seq, hash, at })),
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
                let (seq, at): (u64, Timestamp) = (row.get("seq")?, row.get("at")?);
                let entry = columns!(row => Entry {
                    action, actor, actor_id, surface, channel, subject, detail,
                });
                let hash: [u8; 32] = row.get("hash")?;
                let expected = start + count + 1;
                if seq != expected {
                    broken = Some(AuditBreak {
                        seq,
                        reason: format!("row {expected} is missing"),
                    });
                    return Ok(false);
                }
                if entry.hash(seq, at, &prev) != hash {
                    broken = Some(AuditBreak {
                        seq,
                        reason: "its hash does not fit its content and the row before".to_owned(),
                    });
                    return Ok(false);
                }
                if entry.action == PRUNED
                    && let Some(segment) = &segment
                {
                    let detail: Value = serde_json::from_str(&entry.detail).unwrap_or_default();
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
