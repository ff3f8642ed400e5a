//! The durable event log: written in the transaction of the change it reports.
//!
//! Rows hold ids and facts. The body of an approval or session event is not stored: it is read from the
//! current row when the log is read back, and published whole when the event is new.

use serde_json::{Value, json};

use crate::clock::Timestamp;
use crate::protocol::event::{Event, EventBody};
use crate::protocol::ids::{ApprovalId, ContinuationId, SessionId};
use crate::store::command::WriteTx;
use crate::store::error::StoreError;
use crate::store::log_head::{LogGeneration, StagedEvent};
use crate::store::meta;
use crate::store::queries::approvals::load_approval;
use crate::store::queries::sessions::load_session;
use crate::store::reader::Reader;
use crate::store::sql::{Connection, Statements, columns, params};

/// Events after a cursor.
#[derive(Debug, Clone, PartialEq)]
pub enum EventsAfter {
    /// These, in order; fewer than asked for = no more yet.
    Events(Vec<Event>),
    /// The cursor is not kept any more (or never was): take a new snapshot.
    Reset,
}

fn encode(body: &EventBody) -> Result<String, StoreError> {
    if let Some(approval) = body.approval() {
        let ids = json!({
            "kind": body.kind(),
            "approval_id": approval.id,
            "revision": approval.revision,
            "state": approval.state,
        });
        return Ok(ids.to_string());
    }
    if let EventBody::SessionStarted { .. } | EventBody::SessionUpdated { .. } = body {
        return Ok(json!({ "kind": body.kind() }).to_string());
    }
    Ok(serde_json::to_string(body)?)
}

fn decode(
    conn: &Connection,
    text: &str,
    session: Option<SessionId>,
) -> Result<EventBody, StoreError> {
    if text.starts_with(r#"{"kind":"approval."#) {
        let stored: Value = serde_json::from_str(text)?;
        let id: ApprovalId = serde_json::from_value(stored["approval_id"].clone())?;
        let approval = match load_approval(conn, id) {
            Ok(approval) => Box::new(approval),
            // Swept: nobody can act on it any more.
            Err(StoreError::NotFound { .. }) => return Ok(EventBody::Unknown),
            Err(error) => return Err(error),
        };
        return match stored["kind"].as_str() {
            Some("approval.requested") => Ok(EventBody::ApprovalRequested { approval }),
            Some("approval.decided") => Ok(EventBody::ApprovalDecided { approval }),
            Some("approval.expired") => Ok(EventBody::ApprovalExpired { approval }),
            Some("approval.reminded") => Ok(EventBody::ApprovalReminded { approval }),
            Some("approval.first_allowed") => Ok(EventBody::ApprovalFirstAllowed { approval }),
            Some("approval.escalation") => Ok(EventBody::ApprovalEscalation { approval }),
            Some("approval.assigned" | "approval.handed_over") => {
                Ok(EventBody::ApprovalAssigned { approval })
            }
            other => Err(StoreError::Corrupt(format!("event kind {other:?}"))),
        };
    }
    if text.starts_with(r#"{"kind":"session.started"#)
        || text.starts_with(r#"{"kind":"session.updated"#)
    {
        let id =
            session.ok_or_else(|| StoreError::Corrupt("session event without session".into()))?;
        let session = match load_session(conn, id) {
            Ok(session) => Box::new(session),
            Err(StoreError::NotFound { .. }) => return Ok(EventBody::Unknown),
            Err(error) => return Err(error),
        };
        return Ok(if text.starts_with(r#"{"kind":"session.started"#) {
            EventBody::SessionStarted { session }
        } else {
            EventBody::SessionUpdated { session }
        });
    }
    Ok(serde_json::from_str(text)?)
}

impl WriteTx<'_> {
    /// Stages an event; it gets its number with its batch and is published after COMMIT.
    pub(crate) fn emit(
        &mut self,
        session_id: Option<SessionId>,
        continuation_id: Option<ContinuationId>,
        body: EventBody,
    ) -> Result<(), StoreError> {
        let text = encode(&body)?;
        let event = Event {
            seq: None,
            at: self.now,
            session_id,
            continuation_id,
            body,
        };
        self.staged.events.push(StagedEvent { event, text });
        Ok(())
    }
}

impl Reader<'_> {
    /// Number of the newest event visible to this transaction.
    pub fn max_seq(&self) -> Result<u64, StoreError> {
        let max: Option<u64> = self.conn.value("SELECT max(seq) FROM events", [])?;
        Ok(max.unwrap_or(0))
    }

    /// At most `limit` events after `seq`. A cursor that was pruned, lies ahead of the log, or was lost with
    /// the end of an earlier generation gets [`EventsAfter::Reset`].
    pub(crate) fn events_after(
        &self,
        seq: u64,
        limit: u32,
        current: LogGeneration,
    ) -> Result<EventsAfter, StoreError> {
        let pruned: u64 = meta::number(self.conn, "events_pruned")?.unwrap_or(0);
        let ahead = seq > self.max_seq()?.max(current.base());
        let generation = LogGeneration::of(seq);
        // An event that reached a subscriber and was then taken by a power loss: its generation ends before it.
        let lost = generation < current && seq > generation.base() && {
            let known: bool = self
                .conn
                .value("SELECT EXISTS (SELECT 1 FROM events WHERE seq = ?1)", [seq])?;
            !known && seq > pruned
        };
        if seq < pruned || ahead || lost {
            return Ok(EventsAfter::Reset);
        }
        let mut events = Vec::new();
        self.stored_events(seq, limit, |event| {
            events.push(event);
            Ok(true)
        })?;
        Ok(EventsAfter::Events(events))
    }

    /// At most `limit` events after `seq` of a log that nobody goes on writing.
    pub fn events_at_rest(&self, seq: u64, limit: u32) -> Result<EventsAfter, StoreError> {
        let current = LogGeneration::of(self.max_seq()?);
        self.events_after(seq, limit, current)
    }

    /// Hands over at most `limit` events after `seq`, in order, until `take` wants no more.
    pub fn stored_events(
        &self,
        seq: u64,
        limit: u32,
        mut take: impl FnMut(Event) -> Result<bool, StoreError>,
    ) -> Result<(), StoreError> {
        self.conn.each_while(
            "SELECT seq, at, session_id, continuation_id, body FROM events WHERE seq > ?1 ORDER BY seq LIMIT ?2",
            params![seq, limit],
            |row| {
                let session_id = row.get("session_id")?;
                let text = row.text("body")?;
                take(columns!(row => Event {
                    at, continuation_id;
                    session_id,
                    seq: Some(row.get("seq")?),
                    body: decode(self.conn, text, session_id)?,
                }))
            },
        )
    }

    /// The cursor from which the log holds every event of `at` and later. The newest event always lies behind it: a
    /// reader that waits for it does not wait for ever.
    pub fn cursor_at(&self, at: Timestamp) -> Result<u64, StoreError> {
        let pruned = meta::number(self.conn, "events_pruned")?;
        let before: Option<u64> = self.conn.value(
            "SELECT max(seq) FROM events WHERE seq < coalesce(
                (SELECT seq FROM events WHERE at >= ?1 ORDER BY seq LIMIT 1), (SELECT max(seq) FROM events))",
            [at],
        )?;
        Ok(before.or(pruned).unwrap_or(0))
    }
}
