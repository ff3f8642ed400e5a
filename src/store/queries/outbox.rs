//! Deliveries.

use std::collections::{HashMap, HashSet};

use crate::clock::Timestamp;
use crate::protocol::approval::Approval;
use crate::protocol::artifact::SentFile;
use crate::protocol::enums::{ContinuationState, OutboxClass, OutboxState};
use crate::protocol::ids::{ContinuationId, OutboxId};
use crate::protocol::session::OutboxItem;
use crate::protocol::snapshot::{Page, PageRequest};
use crate::store::error::StoreError;
use crate::store::queries::approvals::load_approval;
use crate::store::queries::page::read_page;
use crate::store::reader::Reader;
use crate::store::rows::{preview, send_key};
use crate::store::sql::{Connection, Params, Row, Statements, columns, params};

/// Which deliveries.
#[derive(Debug, Clone, Default)]
pub struct OutboxFilter {
    /// Only this state.
    pub state: Option<OutboxState>,
}

/// A part that may be sent now, with what rendering it needs.
#[derive(Debug, Clone, PartialEq)]
pub struct OutboxRow {
    pub id: OutboxId,
    pub channel: String,
    pub conversation: String,
    pub continuation_id: Option<ContinuationId>,
    /// What for.
    pub class: OutboxClass,
    /// Markdown; empty for cards.
    pub text: String,
    /// The file that it is.
    pub file: Option<SentFile>,
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

const ITEM: &str = "SELECT id, channel, conversation, continuation_id, class, state, part, parts,
        substr(text, 1, 200) AS preview, attempts, not_before, last_error, created_at, updated_at, position,
        (SELECT a.id FROM approvals a WHERE a.outbox_id = outbox.id AND a.kind = 'resend'
            ORDER BY a.position DESC LIMIT 1) AS question
     FROM outbox";

fn item_row(row: &Row<'_>) -> Result<(i64, OutboxItem), StoreError> {
    let item = columns!(row => OutboxItem {
        id, channel, conversation, continuation_id, class, state, part, parts, attempts, not_before,
        last_error, created_at, updated_at, question;
        preview: preview(row.text("preview")?),
    });
    Ok((row.get("position")?, item))
}

/// Deliveries with a condition of ours, in order.
pub(crate) fn load_items(
    conn: &Connection,
    tail: &str,
    params: impl Params,
) -> Result<Vec<(i64, OutboxItem)>, StoreError> {
    conn.rows(&format!("{ITEM} {tail}"), params, item_row)
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
        self.conn.value(
            "SELECT EXISTS (SELECT 1 FROM outbox WHERE id = ?1 AND own IS NOT NULL)",
            [id],
        )
    }

    fn next_part(
        &self,
        channel: &str,
        now: Timestamp,
        handed_out: &HashSet<OutboxId>,
        only_own: bool,
    ) -> Result<NextOutbox, StoreError> {
        let mut seen: HashSet<String> = HashSet::new();
        let mut earliest: Option<Timestamp> = None;
        let mut due: Option<i64> = None;
        self.conn.each_while(
            "SELECT position, conversation, state, not_before, id FROM outbox AS part
             WHERE channel = ?1 AND settled_at IS NULL AND (NOT ?2 OR own IS NOT NULL) AND NOT EXISTS (
                SELECT 1 FROM outbox AS before
                WHERE before.state = 'unknown' AND before.class = 'final' AND part.class = 'final'
                    AND before.continuation_id = part.continuation_id AND before.position < part.position)
             ORDER BY position",
            params![channel, only_own],
            |row| {
                let conversation = row.text("conversation")?;
                if seen.contains(conversation) {
                    return Ok(true);
                }
                seen.insert(conversation.to_owned());
                if row.get::<OutboxState>("state")? == OutboxState::Sending
                    || handed_out.contains(&row.get("id")?)
                {
                    return Ok(true);
                }
                match row.get("not_before")? {
                    Some(at) if at > now => earliest = Some(earliest.map_or(at, |e| e.min(at))),
                    Some(_) | None => due = Some(row.get("position")?),
                }
                Ok(due.is_none())
            },
        )?;
        if let Some(position) = due {
            return Ok(NextOutbox::Row(Box::new(self.outbox_row(position)?)));
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
        let mut found: Option<i64> = None;
        self.conn.each_while(
            "SELECT position, id, attempts FROM outbox
             WHERE state = 'unknown' AND channel = ?1 AND attempts > 0 AND idempotency <> 'none' ORDER BY position",
            [channel],
            |row| {
                if asked.get(&row.get("id")?) != Some(&row.get("attempts")?) {
                    found = Some(row.get("position")?);
                }
                Ok(found.is_none())
            },
        )?;
        found.map(|position| self.outbox_row(position)).transpose()
    }

    /// The parts that answered a message and were sent, in order. None: its turn goes on, or a part is still to be sent.
    pub fn settled_answer(
        &self,
        channel: &str,
        turn: Option<ContinuationId>,
        message_ref: &str,
    ) -> Result<Option<Vec<OutboxRow>>, StoreError> {
        let state: Option<ContinuationState> = self.conn.row_opt(
            "SELECT state FROM continuations WHERE id = ?1",
            [turn],
            |row| row.get("state"),
        )?;
        if state.is_some_and(|state| !state.is_terminal()) {
            return Ok(None);
        }
        let parts: Vec<(i64, OutboxState)> = self.conn.rows(
            "SELECT position, state FROM outbox
             WHERE channel = ?1 AND class IN ('final', 'notice')
                AND (continuation_id = ?2 OR (continuation_id IS NULL AND reply_to = ?3))
             ORDER BY position",
            params![channel, turn, message_ref],
            columns!(position, state),
        )?;
        let mut sent = Vec::new();
        for (position, state) in parts {
            match state {
                OutboxState::Pending | OutboxState::Sending => return Ok(None),
                OutboxState::Sent => sent.push(self.outbox_row(position)?),
                OutboxState::Failed
                | OutboxState::Unknown
                | OutboxState::Superseded
                | OutboxState::Abandoned => {}
            }
        }
        Ok(Some(sent))
    }

    fn outbox_row(&self, position: i64) -> Result<OutboxRow, StoreError> {
        let (mut found, approval) = self.conn.row(
            "SELECT id, channel, conversation, continuation_id, class, text, buttons, target_ref, reply_to, file,
                attempts, approval_id
             FROM outbox WHERE position = ?1",
            [position],
            |row| {
                let id = row.get("id")?;
                Ok((
                    columns!(row => OutboxRow {
                        channel, conversation, continuation_id, class, text, target_ref, reply_to,
                        attempts;
                        id,
                        file: row.json_opt("file")?,
                        approval: None,
                        buttons: row.json_opt("buttons")?.unwrap_or_default(),
                        idempotency_key: send_key(id),
                    }),
                    row.get("approval_id")?,
                ))
            },
        )?;
        if let Some(id) = approval {
            found.approval = Some(load_approval(self.conn, id)?);
        }
        Ok(found)
    }

    /// How many parts of each channel are being sent, or wait and may be sent by `until`.
    pub fn open_deliveries(&self, until: Timestamp) -> Result<Vec<(String, u32)>, StoreError> {
        self.conn.rows(
            "SELECT channel, count(*) AS count FROM outbox AS part
             WHERE settled_at IS NULL AND (state = 'sending' OR (state = 'pending'
                AND coalesce(not_before, 0) <= ?1 AND NOT EXISTS (
                    SELECT 1 FROM outbox AS before
                    WHERE before.state = 'unknown' AND before.class = 'final' AND part.class = 'final'
                        AND before.continuation_id = part.continuation_id AND before.position < part.position)))
             GROUP BY channel",
            [until],
            columns!(channel, count),
        )
    }

    /// Deliveries, newest first.
    pub fn outbox(
        &self,
        filter: &OutboxFilter,
        page: &PageRequest,
    ) -> Result<Page<OutboxItem>, StoreError> {
        read_page(page, i64::MAX, |before, most| match filter.state {
            Some(state) => load_items(
                self.conn,
                "WHERE state = ?1 AND position < ?2 ORDER BY position DESC LIMIT ?3",
                params![state, before, most],
            ),
            None => load_items(
                self.conn,
                "WHERE position < ?1 ORDER BY position DESC LIMIT ?2",
                params![before, most],
            ),
        })
    }

    /// One delivery.
    pub fn delivery(&self, id: OutboxId) -> Result<OutboxItem, StoreError> {
        self.conn
            .row_opt(&format!("{ITEM} WHERE id = ?1"), [id], item_row)?
            .map(|(_, item)| item)
            .ok_or_else(|| StoreError::not_found("delivery", id))
    }
}
