//! Who asks for access, and who has it.

use crate::protocol::approval::Requester;
use crate::protocol::enums::PairingState;
use crate::protocol::ids::ApprovalId;
use crate::protocol::pairing::Pairing;
use crate::store::error::StoreError;
use crate::store::reader::Reader;
use crate::store::sql::{Connection, Row, Statements, columns, params};

/// Columns of [`pairing_row`].
const PAIRING: &str = "SELECT approval_id, channel, sender_id, display, code, state, asked_at, expires_at, decided_at,
        by_label FROM pairings";

fn pairing_row(row: &Row<'_>) -> Result<Pairing, StoreError> {
    Ok(columns!(row => Pairing {
        id = "approval_id", channel, sender = "sender_id", display, code, state, asked_at,
        expires_at, decided_at, by = "by_label",
    }))
}

/// How somebody stands on a channel; none = never asked.
pub(crate) fn standing(
    conn: &Connection,
    channel: &str,
    sender: &str,
) -> Result<Option<PairingState>, StoreError> {
    conn.value_opt(
        "SELECT state FROM pairings WHERE channel = ?1 AND sender_id = ?2",
        params![channel, sender],
    )
}

/// The pairing of a question.
pub(crate) fn load_pairing(conn: &Connection, id: ApprovalId) -> Result<Pairing, StoreError> {
    conn.row_opt(
        &format!("{PAIRING} WHERE approval_id = ?1"),
        [id],
        pairing_row,
    )?
    .ok_or_else(|| StoreError::not_found("pairing", id))
}

impl Reader<'_> {
    /// Whether somebody has access to a channel by pairing. `sender` with its platform: `telegram:123456`.
    pub fn is_paired(&self, channel: &str, sender: &str) -> Result<bool, StoreError> {
        standing(self.conn, channel, sender)
            .map(|standing| standing == Some(PairingState::Accepted))
    }

    /// Those of these senders who have access to a channel. Looked up one by one: it is asked at every call, and the
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
        self.conn.rows(
            &format!(
                "{PAIRING} WHERE ?1 IS NULL OR state = ?1
                 ORDER BY state <> 'pending', asked_at DESC, channel, sender_id"
            ),
            [state],
            pairing_row,
        )
    }

    /// One pairing.
    pub fn pairing(&self, id: ApprovalId) -> Result<Pairing, StoreError> {
        load_pairing(self.conn, id)
    }
}
