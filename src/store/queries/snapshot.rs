//! One read transaction's view of everything a console starts from.

use std::collections::HashSet;

use crate::clock::{Day, Timestamp};
use crate::protocol::approval::Approval;
use crate::protocol::leftovers::Leftovers;
use crate::protocol::session::{Continuation, OutboxItem, Session, Usage};
use crate::store::error::StoreError;
use crate::store::queries::approvals::load_approvals;
use crate::store::queries::channels::ChannelRow;
use crate::store::queries::continuations::load_continuations;
use crate::store::queries::outbox::load_items;
use crate::store::queries::sessions::load_sessions;
use crate::store::reader::Reader;
use crate::store::sql::params;

/// The rows of a snapshot.
#[derive(Debug, Clone, PartialEq)]
pub struct SnapshotRows {
    /// Every event up to this number is contained.
    pub seq: u64,
    /// Active sessions, newest change first; those with an open continuation all, idle ones at most 200.
    pub sessions: Vec<Session>,
    /// Open continuations, and the newest ended ones (at most 200), newest first.
    pub continuations: Vec<Continuation>,
    /// Pending approvals, oldest first, then the newest others (at most 200).
    pub approvals: Vec<Approval>,
    /// Every channel.
    pub channels: Vec<ChannelRow>,
    /// Deliveries that are unknown or failed, and those under way (at most 200).
    pub deliveries: Vec<OutboxItem>,
    /// What runs left and nobody has dismissed (at most 200).
    pub leftovers: Vec<Leftovers>,
    /// Usage since local midnight.
    pub usage_today: Usage,
}

/// Rows without a person or a worker waiting for them that a snapshot holds, of each list.
const NEWEST: u32 = 200;

impl Reader<'_> {
    /// Everything at once.
    pub fn snapshot_rows(&self, now: Timestamp) -> Result<SnapshotRows, StoreError> {
        let mut sessions = load_sessions(
            self.conn,
            "WHERE s.refused_calls > 0 OR s.flood IS NOT NULL OR s.id IN (SELECT session_id FROM continuations WHERE ended_at IS NULL)",
            [],
        )?;
        let open: HashSet<i64> = sessions.iter().map(|(position, _)| *position).collect();
        sessions.extend(
            load_sessions(
                self.conn,
                "WHERE s.state = 'active' ORDER BY s.updated_at DESC LIMIT ?1",
                [NEWEST],
            )?
            .into_iter()
            .filter(|(position, _)| !open.contains(position)),
        );
        sessions.sort_unstable_by_key(|(position, session)| {
            std::cmp::Reverse((session.updated_at, *position))
        });

        let mut continuations = load_continuations(self.conn, "WHERE c.ended_at IS NULL", [])?;
        continuations.extend(load_continuations(
            self.conn,
            "WHERE c.ended_at IS NOT NULL ORDER BY c.position DESC LIMIT ?1",
            [NEWEST],
        )?);
        continuations.sort_unstable_by_key(|(position, _)| std::cmp::Reverse(*position));

        let mut approvals = load_approvals(
            self.conn,
            "WHERE a.state = 'pending' ORDER BY a.position",
            [],
        )?;
        approvals.extend(load_approvals(
            self.conn,
            "WHERE +a.state <> 'pending' ORDER BY a.position DESC LIMIT ?1",
            [NEWEST],
        )?);

        for (_, turn) in &mut continuations {
            turn.shorten();
        }
        for (_, approval) in &mut approvals {
            approval.shorten();
        }

        let mut deliveries = Vec::new();
        for state in ["unknown", "failed", "sending", "pending"] {
            deliveries.extend(load_items(
                self.conn,
                "WHERE state = ?1 ORDER BY position DESC LIMIT ?2",
                params![state, NEWEST],
            )?);
        }

        Ok(SnapshotRows {
            seq: self.max_seq()?,
            sessions: items(sessions),
            continuations: items(continuations),
            approvals: items(approvals),
            channels: self.channel_rows()?,
            deliveries: items(deliveries),
            leftovers: self.leftovers(false)?,
            usage_today: self.usage_on(Day::local(now).0)?,
        })
    }
}

fn items<T>(rows: Vec<(i64, T)>) -> Vec<T> {
    rows.into_iter().map(|(_, item)| item).collect()
}
