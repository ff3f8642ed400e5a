//! The chain of the audit: how each row is hashed over the one before it, and where the chain ends.

use sha2::{Digest, Sha256};

use crate::clock::Timestamp;
use crate::protocol::doctor::{AuditAnchor, AuditRow};
use crate::protocol::hex::hex;
use crate::store::error::StoreError;
use crate::store::sql::{Connection, Statements, columns};

/// The end of the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AuditHead {
    /// Number of the last row; 0 = none.
    pub(crate) seq: u64,
    /// Its hash; zeros = none.
    pub(crate) hash: [u8; 32],
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

/// What a row of the audit says, without its place in the chain.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) action: String,
    pub(crate) actor: String,
    pub(crate) actor_id: String,
    pub(crate) surface: String,
    pub(crate) channel: Option<String>,
    pub(crate) subject: String,
    pub(crate) detail: String,
}

impl Entry {
    /// That of a row as it is shown.
    pub(crate) fn of(row: &AuditRow) -> Self {
        Self {
            action: row.action.clone(),
            actor: row.actor.clone(),
            actor_id: row.actor_id.clone(),
            surface: row.surface.as_str().to_owned(),
            channel: row.channel.clone(),
            subject: row.subject.clone(),
            detail: row.detail.clone(),
        }
    }

    /// The hash of its row, over the one of the row before.
    pub(crate) fn hash(&self, seq: u64, at: Timestamp, prev: &[u8; 32]) -> [u8; 32] {
        link(
            prev,
            &[
                &seq.to_be_bytes(),
                &at.as_millis().to_be_bytes(),
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
    /// The same as it is noted elsewhere.
    pub(crate) fn anchor(&self) -> AuditAnchor {
        AuditAnchor {
            seq: self.seq,
            hash: hex(&self.hash),
        }
    }

    /// The end of the stored chain.
    pub(crate) fn load(conn: &Connection) -> Result<Self, StoreError> {
        Ok(conn
            .row_opt(
                "SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1",
                [],
                |row| Ok(columns!(row => Self { seq, hash })),
            )?
            .unwrap_or(Self {
                seq: 0,
                hash: [0; 32],
            }))
    }
}
