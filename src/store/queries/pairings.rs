//! Who asks to be let in, and who was.

use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::clock::Timestamp;
use crate::protocol::approval::Requester;
use crate::protocol::ids::ApprovalId;
use crate::protocol::pairing::Pairing;
use crate::protocol::words::PairingState;
use crate::store::error::StoreError;
use crate::store::reader::Reader;
use crate::store::rows::word;

/// Columns of [`pairing_row`].
const PAIRING: &str = "SELECT approval_id, channel, sender_id, display, code, state, asked_at, expires_at, decided_at,
        by_label FROM pairings";

fn pairing_row(row: &Row<'_>) -> rusqlite::Result<Pairing> {
    Ok(Pairing {
        id: ApprovalId::from_bytes(row.get(0)?),
        channel: row.get(1)?,
        sender: row.get(2)?,
        display: row.get(3)?,
        code: row.get(4)?,
        state: word(row, 5)?,
        asked_at: Timestamp(row.get(6)?),
        expires_at: Timestamp(row.get(7)?),
        decided_at: row.get::<_, Option<i64>>(8)?.map(Timestamp),
        by: row.get(9)?,
    })
}

/// How somebody stands on a channel; none = never asked.
pub(crate) fn standing(
    conn: &Connection,
    channel: &str,
    sender: &str,
) -> Result<Option<PairingState>, StoreError> {
    Ok(conn
        .prepare_cached("SELECT state FROM pairings WHERE channel = ?1 AND sender_id = ?2")?
        .query_row(params![channel, sender], |row| word(row, 0))
        .optional()?)
}

/// The pairing of a question.
pub(crate) fn load_pairing(conn: &Connection, id: ApprovalId) -> Result<Pairing, StoreError> {
    conn.prepare_cached(&format!("{PAIRING} WHERE approval_id = ?1"))?
        .query_row([id.to_bytes()], pairing_row)
        .optional()?
        .ok_or_else(|| StoreError::not_found("pairing", id))
}

impl Reader<'_> {
    /// Whether somebody was let in on a channel. `sender` with its platform: `telegram:123456`.
    pub fn is_paired(&self, channel: &str, sender: &str) -> Result<bool, StoreError> {
        standing(self.conn, channel, sender)
            .map(|standing| standing == Some(PairingState::Accepted))
    }

    /// Those of these senders who were let in on a channel. Looked up one by one: it is asked at every call, and the
    /// people of a session are few where those of a channel may be many.
    pub fn paired(&self, channel: &str, among: &[Requester]) -> Result<Vec<String>, StoreError> {
        let mut paired = Vec::new();
        for sender in among {
            if self.is_paired(channel, &sender.id)? {
                paired.push(sender.id.clone());
            }
        }
        Ok(paired)
    }

    /// Everybody who asked, whoever waits first, then the newest.
    pub fn pairings(&self, state: Option<PairingState>) -> Result<Vec<Pairing>, StoreError> {
        Ok(self
            .conn
            .prepare_cached(&format!(
                "{PAIRING} WHERE ?1 IS NULL OR state = ?1
                 ORDER BY state <> 'pending', asked_at DESC, channel, sender_id"
            ))?
            .query_map([state.map(PairingState::as_str)], pairing_row)?
            .collect::<rusqlite::Result<_>>()?)
    }

    /// One pairing.
    pub fn pairing(&self, id: ApprovalId) -> Result<Pairing, StoreError> {
        load_pairing(self.conn, id)
    }
}
