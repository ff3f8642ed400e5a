//! Counts of what waits. Each goes by an index of what is open, so that a large database is read as fast as a small one.

use crate::clock::Timestamp;
use crate::protocol::enums::{ApprovalKind, ChannelKind, ContinuationState, OutboxState};
use crate::protocol::session::Usage;
use crate::store::audit_chain::AuditHead;
use crate::store::error::StoreError;
use crate::store::input::BudgetKind;
use crate::store::queries::channels::{EngineFlags, LastTimes};
use crate::store::reader::Reader;
use crate::store::sql::{Statements, columns};

/// A channel, without what takes counting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelFacts {
    pub name: String,
    pub kind: ChannelKind,
    /// Paused by an operator.
    pub paused: bool,
    /// When it last talked to its platform, as far as that was kept.
    pub last: LastTimes,
}

/// Approvals of one kind that wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingApprovals {
    pub kind: ApprovalKind,
    /// How many.
    pub count: u64,
    /// When the oldest of them was asked for.
    pub oldest: Timestamp,
}

/// What the database says for one scrape.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricRows {
    /// Every channel.
    pub channels: Vec<ChannelFacts>,
    /// Sessions that are active.
    pub active_sessions: u64,
    /// Continuations that have not ended, by state.
    pub continuations: Vec<(ContinuationState, u64)>,
    /// Approvals that wait.
    pub approvals: Vec<WaitingApprovals>,
    /// Deliveries that are not sent, by channel and state.
    pub deliveries: Vec<(String, OutboxState, u64)>,
    /// Used since local midnight, calls under way included.
    pub usage_today: Usage,
    /// What people added to the budgets of today: tokens, US dollars.
    pub added_today: (f64, f64),
    /// Emergency stop and quarantine.
    pub flags: EngineFlags,
    /// Number of the newest row of the audit.
    pub audit_seq: u64,
    /// When the newest backup was made; none = none is known.
    pub last_backup: Option<Timestamp>,
}

impl Reader<'_> {
    /// Everything of one scrape; `today` is the local day.
    pub fn metric_rows(&self, today: i64) -> Result<MetricRows, StoreError> {
        Ok(MetricRows {
            channels: self.conn.rows(
                "SELECT name, kind, paused, last_exchange_at, last_inbound_at, last_outbound_at
                 FROM channel_accounts ORDER BY name",
                [],
                |row| {
                    Ok(columns!(row => ChannelFacts {
                        name, kind, paused;
                        last: columns!(row => LastTimes {
                            exchange = "last_exchange_at", inbound = "last_inbound_at",
                            outbound = "last_outbound_at",
                        }),
                    }))
                },
            )?,
            active_sessions: self
                .conn
                .value("SELECT count(*) FROM sessions WHERE state = 'active'", [])?,
            continuations: self.conn.rows(
                "SELECT state, count(*) AS count FROM continuations
                 WHERE state IN ('pending', 'running', 'awaiting_approval', 'interrupted')
                 GROUP BY state ORDER BY state",
                [],
                columns!(state, count),
            )?,
            approvals: self.conn.rows(
                "SELECT kind, count(*) AS count, min(requested_at) AS oldest FROM approvals
                 WHERE state = 'pending' GROUP BY kind ORDER BY kind",
                [],
                |row| Ok(columns!(row => WaitingApprovals { kind, count, oldest })),
            )?,
            deliveries: self.conn.rows(
                "SELECT channel, state, count(*) AS count FROM outbox
                 WHERE state IN ('pending', 'sending', 'failed', 'unknown')
                 GROUP BY channel, state ORDER BY channel, state",
                [],
                columns!(channel, state, count),
            )?,
            usage_today: self.usage_on(today)?,
            added_today: (
                self.added_on(today, BudgetKind::DayTokens, None)?,
                self.added_on(today, BudgetKind::DayCost, None)?,
            ),
            flags: self.flags()?,
            audit_seq: AuditHead::load(self.conn)?.seq,
            last_backup: self.newest_backup()?,
        })
    }
}
