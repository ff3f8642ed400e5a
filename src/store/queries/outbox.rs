//! Deliveries.

use std::collections::{HashMap, HashSet};

use rusqlite::{Connection, OptionalExtension, Row, params};
use sha2::{Digest, Sha256};

use crate::clock::Timestamp;
use crate::protocol::approval::Approval;
use crate::protocol::ids::{ApprovalId, ContinuationId, OutboxId};
use crate::protocol::session::OutboxItem;
use crate::protocol::snapshot::{Page, PageRequest};
use crate::protocol::words::{OutboxClass, OutboxState};
use crate::store::error::StoreError;
use crate::store::queries::approvals::load_approval;
use crate::store::queries::page::{page_limit, page_of, page_start};
use crate::store::reader::Reader;
use crate::store::rows::{json_opt, preview, word};

/// Which deliveries.
#[derive(Debug, Clone, Default)]
pub struct OutboxFilter {
    /// Only this state.
    pub state: Option<OutboxState>,
}

/// A part that may be sent now, with what rendering it needs.
#[derive(Debug, Clone, PartialEq)]
pub struct OutboxRow {
    /// Id.
    pub id: OutboxId,
    /// Channel name.
    pub channel: String,
    /// Conversation key.
    pub conversation: String,
    /// Its continuation.
    pub continuation_id: Option<ContinuationId>,
    /// What for.
    pub class: OutboxClass,
    /// Markdown; empty for cards.
    pub text: String,
    /// The approval a card (or its update) shows, as it stands now.
    pub approval: Option<Approval>,
    /// (label, token) of a card's buttons in order.
    pub buttons: Vec<(String, String)>,
    /// Platform id of the message a card update edits.
    pub target_ref: Option<String>,
    /// Platform id of the message it answers.
    pub reply_to: Option<String>,
    /// 24 hex characters, stable across attempts.
    pub idempotency_key: String,
    /// How often it was handed out before.
    pub attempts: u32,
}

/// What a channel's sender does next.
#[derive(Debug, Clone, PartialEq)]
pub enum NextOutbox {
    /// Send this.
    Row(Box<OutboxRow>),
    /// Nothing before this time.
    Wait(Timestamp),
    /// Nothing waits.
    Empty,
}

const ITEM: &str = "SELECT id, channel, conversation, continuation_id, class, state, part, parts, substr(text, 1, 200),
        attempts, not_before, last_error, created_at, updated_at, position,
        (SELECT a.id FROM approvals a WHERE a.outbox_id = outbox.id AND a.kind = 'resend' ORDER BY a.position DESC LIMIT 1)
     FROM outbox";

fn item_row(row: &Row<'_>) -> rusqlite::Result<(i64, OutboxItem)> {
    let item = OutboxItem {
        id: OutboxId::from_bytes(row.get(0)?),
        channel: row.get(1)?,
        conversation: row.get(2)?,
        continuation_id: row
            .get::<_, Option<[u8; 16]>>(3)?
            .map(ContinuationId::from_bytes),
        class: word(row, 4)?,
        state: word(row, 5)?,
        part: row.get(6)?,
        parts: row.get(7)?,
        preview: preview(row.get_ref(8)?.as_str()?),
        attempts: row.get(9)?,
        not_before: row.get::<_, Option<i64>>(10)?.map(Timestamp),
        last_error: row.get(11)?,
        created_at: Timestamp(row.get(12)?),
        updated_at: Timestamp(row.get(13)?),
        question: row
            .get::<_, Option<[u8; 16]>>(15)?
            .map(ApprovalId::from_bytes),
    };
    Ok((row.get(14)?, item))
}

/// Deliveries with a condition of ours, in order.
pub(crate) fn load_items(
    conn: &Connection,
    tail: &str,
    params: impl rusqlite::Params,
) -> Result<Vec<(i64, OutboxItem)>, StoreError> {
    Ok(conn
        .prepare_cached(&format!("{ITEM} {tail}"))?
        .query_map(params, item_row)?
        .collect::<rusqlite::Result<_>>()?)
}

/// The platform's send key of a part: stable across attempts, 24 hex characters.
pub(crate) fn send_key(id: OutboxId) -> String {
    use std::fmt::Write as _;
    let mut hasher = Sha256::new();
    hasher.update(b"v1|send");
    hasher.update(id.to_bytes());
    let mut key = String::with_capacity(24);
    for byte in &hasher.finalize()[..12] {
        // Writing to a String cannot fail.
        let _ = write!(key, "{byte:02x}");
    }
    key
}

impl Reader<'_> {
    /// [`Reader::next_outbox_besides`] with nothing handed out.
    pub fn next_outbox(&self, channel: &str, now: Timestamp) -> Result<NextOutbox, StoreError> {
        self.next_outbox_besides(channel, now, &HashSet::new())
    }

    /// The oldest part that may be sent: earlier parts of its conversation are out of the way and its
    /// `not_before` has passed. A part whose delivery is unknown holds up no other message, only the parts
    /// of the same answer behind it. A part that a sender holds already counts as being sent.
    pub fn next_outbox_besides(
        &self,
        channel: &str,
        now: Timestamp,
        handed_out: &HashSet<OutboxId>,
    ) -> Result<NextOutbox, StoreError> {
        self.next_part(channel, now, handed_out, false)
    }

    /// The oldest word of the engine about itself that may be sent now, whatever else waits in its conversation.
    pub fn next_own_word(
        &self,
        channel: &str,
        now: Timestamp,
        handed_out: &HashSet<OutboxId>,
    ) -> Result<NextOutbox, StoreError> {
        self.next_part(channel, now, handed_out, true)
    }

    /// Whether a part is a word of the engine about itself.
    pub fn is_own_word(&self, id: OutboxId) -> Result<bool, StoreError> {
        Ok(self
            .conn
            .prepare_cached(
                "SELECT EXISTS (SELECT 1 FROM outbox WHERE id = ?1 AND own IS NOT NULL)",
            )?
            .query_row([id.to_bytes()], |row| row.get(0))?)
    }

    fn next_part(
        &self,
        channel: &str,
        now: Timestamp,
        handed_out: &HashSet<OutboxId>,
        only_own: bool,
    ) -> Result<NextOutbox, StoreError> {
        let mut statement = self.conn.prepare_cached(
            "SELECT position, conversation, state, not_before, id FROM outbox AS part
             WHERE channel = ?1 AND settled_at IS NULL AND (NOT ?2 OR own IS NOT NULL) AND NOT EXISTS (
                SELECT 1 FROM outbox AS before
                WHERE before.state = 'unknown' AND before.class = 'final' AND part.class = 'final'
                    AND before.continuation_id = part.continuation_id AND before.position < part.position)
             ORDER BY position",
        )?;
        let mut rows = statement.query(params![channel, only_own])?;
        let mut seen: HashSet<String> = HashSet::new();
        let mut earliest: Option<Timestamp> = None;
        while let Some(row) = rows.next()? {
            let conversation = row.get_ref(1)?.as_str().map_err(rusqlite::Error::from)?;
            if seen.contains(conversation) {
                continue;
            }
            seen.insert(conversation.to_owned());
            if word::<OutboxState>(row, 2)? == OutboxState::Sending
                || handed_out.contains(&OutboxId::from_bytes(row.get(4)?))
            {
                continue;
            }
            let not_before = row.get::<_, Option<i64>>(3)?.map(Timestamp);
            match not_before {
                Some(at) if at > now => earliest = Some(earliest.map_or(at, |e| e.min(at))),
                Some(_) | None => {
                    return Ok(NextOutbox::Row(Box::new(self.outbox_row(row.get(0)?)?)));
                }
            }
        }
        Ok(earliest.map_or(NextOutbox::Empty, NextOutbox::Wait))
    }

    /// The oldest part of a channel whose send nobody knows the end of and whose adapter offered more than nothing,
    /// beside those that were asked about: (part, number of the send).
    pub fn next_look_up(
        &self,
        channel: &str,
        asked: &HashMap<OutboxId, u32>,
    ) -> Result<Option<OutboxRow>, StoreError> {
        let mut statement = self.conn.prepare_cached(
            "SELECT position, id, attempts FROM outbox
             WHERE state = 'unknown' AND channel = ?1 AND attempts > 0 AND idempotency <> 'none' ORDER BY position",
        )?;
        let mut rows = statement.query([channel])?;
        while let Some(row) = rows.next()? {
            let id = OutboxId::from_bytes(row.get(1)?);
            if asked.get(&id) != Some(&row.get(2)?) {
                return self.outbox_row(row.get(0)?).map(Some);
            }
        }
        Ok(None)
    }

    fn outbox_row(&self, position: i64) -> Result<OutboxRow, StoreError> {
        let (mut found, approval) = self
            .conn
            .prepare_cached(
                "SELECT id, channel, conversation, continuation_id, class, text, buttons, target_ref, reply_to,
                    attempts, approval_id
                 FROM outbox WHERE position = ?1",
            )?
            .query_row([position], |row| {
                let id = OutboxId::from_bytes(row.get(0)?);
                Ok((
                    OutboxRow {
                        id,
                        channel: row.get(1)?,
                        conversation: row.get(2)?,
                        continuation_id: row
                            .get::<_, Option<[u8; 16]>>(3)?
                            .map(ContinuationId::from_bytes),
                        class: word(row, 4)?,
                        text: row.get(5)?,
                        approval: None,
                        buttons: json_opt(row, 6)?.unwrap_or_default(),
                        target_ref: row.get(7)?,
                        reply_to: row.get(8)?,
                        idempotency_key: send_key(id),
                        attempts: row.get(9)?,
                    },
                    row.get::<_, Option<[u8; 16]>>(10)?.map(ApprovalId::from_bytes),
                ))
            })?;
        if let Some(id) = approval {
            found.approval = Some(load_approval(self.conn, id)?);
        }
        Ok(found)
    }

    /// How many parts of each channel are being sent, or wait and may be sent by `until`.
    pub fn open_deliveries(&self, until: Timestamp) -> Result<Vec<(String, u32)>, StoreError> {
        Ok(self
            .conn
            .prepare_cached(
                "SELECT channel, count(*) FROM outbox AS part
                 WHERE settled_at IS NULL AND (state = 'sending' OR (state = 'pending'
                    AND coalesce(not_before, 0) <= ?1 AND NOT EXISTS (
                        SELECT 1 FROM outbox AS before
                        WHERE before.state = 'unknown' AND before.class = 'final' AND part.class = 'final'
                            AND before.continuation_id = part.continuation_id AND before.position < part.position)))
                 GROUP BY channel",
            )?
            .query_map([until.as_millis()], |row| Ok((row.get(0)?, row.get(1)?)))?
            .collect::<rusqlite::Result<_>>()?)
    }

    /// Deliveries, newest first.
    pub fn outbox(
        &self,
        filter: &OutboxFilter,
        page: &PageRequest,
    ) -> Result<Page<OutboxItem>, StoreError> {
        let limit = page_limit(page);
        let before = page_start(page, i64::MAX)?;
        let rows = match filter.state {
            Some(state) => load_items(
                self.conn,
                "WHERE state = ?1 AND position < ?2 ORDER BY position DESC LIMIT ?3",
                params![state.as_str(), before, limit + 1],
            )?,
            None => load_items(
                self.conn,
                "WHERE position < ?1 ORDER BY position DESC LIMIT ?2",
                params![before, limit + 1],
            )?,
        };
        Ok(page_of(rows, limit))
    }

    /// One delivery.
    pub fn delivery(&self, id: OutboxId) -> Result<OutboxItem, StoreError> {
        self.conn
            .prepare_cached(&format!("{ITEM} WHERE id = ?1"))?
            .query_row([id.to_bytes()], item_row)
            .optional()?
            .map(|(_, item)| item)
            .ok_or_else(|| StoreError::not_found("delivery", id))
    }
}
