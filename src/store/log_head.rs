//! Where the event log and the audit end. What the commands of a batch staged is numbered, chained and written here,
//! once, as the last thing before COMMIT.
//!
//! On SQLite the end needs no row of its own: one thread writes, and the newest row of each log says where it ends.

use crate::clock::Timestamp;
use crate::protocol::event::Event;
use crate::store::audit_chain::{AuditHead, Entry};
use crate::store::error::StoreError;
use crate::store::sql::{Connection, Statements, params};

/// A generation of the event log: the high half of the number of each of its events. No number of an older one is
/// given again, whatever a power loss took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LogGeneration(u64);

impl LogGeneration {
    /// The one that the process of this epoch begins: on SQLite each process begins a generation, of the same number.
    pub(crate) const fn begun_by(epoch: u64) -> Self {
        Self(epoch)
    }

    /// That of an event.
    pub(crate) const fn of(seq: u64) -> Self {
        Self(seq >> 32)
    }

    /// Number of its first event, less one.
    pub(crate) const fn base(self) -> u64 {
        self.0 << 32
    }
}

/// An event that has no number yet, with the text that is stored of it.
#[derive(Debug)]
pub(crate) struct StagedEvent {
    pub(crate) event: Event,
    pub(crate) text: String,
}

/// What commands said and nobody wrote yet, in order.
#[derive(Debug, Default)]
pub(crate) struct StagedLog {
    pub(crate) events: Vec<StagedEvent>,
    pub(crate) audit: Vec<Entry>,
}

/// How much was staged at a moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StagedMark {
    events: usize,
    audit: usize,
}

impl StagedLog {
    /// How much there is now.
    pub(crate) fn mark(&self) -> StagedMark {
        StagedMark {
            events: self.events.len(),
            audit: self.audit.len(),
        }
    }

    /// Drops what came after a mark: it belongs to a command that failed.
    pub(crate) fn back_to(&mut self, mark: StagedMark) {
        self.events.truncate(mark.events);
        self.audit.truncate(mark.audit);
    }
}

/// The end of both logs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LogHead {
    /// Number of the newest event.
    pub(crate) seq: u64,
    /// End of the audit.
    pub(crate) audit: AuditHead,
    /// Time of the newest commit: no later one carries an earlier time.
    pub(crate) newest: Timestamp,
}

impl LogHead {
    /// Writes what a batch staged behind this end; the new end, and the events as they are published. All of a batch
    /// carries one time.
    pub(crate) fn append(
        self,
        conn: &Connection,
        at: Timestamp,
        staged: StagedLog,
    ) -> Result<(Self, Vec<Event>), StoreError> {
        let mut head = Self { newest: at, ..self };
        let mut events = Vec::with_capacity(staged.events.len());
        for StagedEvent { event, text } in staged.events {
            head.seq += 1;
            conn.run(
                "INSERT INTO events (seq, at, session_id, continuation_id, body) VALUES (?1, ?2, ?3, ?4, ?5)",
                params![head.seq, at, event.session_id, event.continuation_id, text],
            )?;
            events.push(Event {
                seq: Some(head.seq),
                at,
                ..event
            });
        }
        for entry in staged.audit {
            let seq = head.audit.seq + 1;
            let hash = entry.hash(seq, at, &head.audit.hash);
            conn.run(
                "INSERT INTO audit (seq, at, action, actor, actor_id, surface, channel, subject, detail, hash)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
                params![
                    seq,
                    at,
                    entry.action,
                    entry.actor,
                    entry.actor_id,
                    entry.surface,
                    entry.channel,
                    entry.subject,
                    entry.detail,
                    hash
                ],
            )?;
            head.audit = AuditHead { seq, hash };
        }
        Ok((head, events))
    }
}
