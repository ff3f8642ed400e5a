//! Channels, their policies, and the flags of the engine.

use crate::clock::Timestamp;
use crate::protocol::channel::ChannelDrain;
use crate::protocol::enums::ChannelKind;
use crate::protocol::policy::Policy;
use crate::store::error::StoreError;
use crate::store::meta;
use crate::store::reader::Reader;
use crate::store::sql::{Connection, Row, Statements, columns};

/// What the database knows of a channel; health is the engine's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelRow {
    pub name: String,
    pub kind: ChannelKind,
    /// Policy in force.
    pub policy: Policy,
    /// Paused by an operator.
    pub paused: bool,
    /// Outbox parts not yet sent.
    pub backlog: u32,
    /// Approvals that wait.
    pub pending_approvals: u32,
    /// Sessions that are active.
    pub active_sessions: u32,
    /// Position saved with the last inbound item.
    pub cursor: Option<String>,
    /// What is left to do, where it takes up nothing new.
    pub draining: Option<ChannelDrain>,
    /// Conversations that people hold.
    pub taken_over: u32,
    /// Unknown senders who ask for access, and people who have it.
    pub pairings: (u32, u32),
    /// When it last talked to its platform, as far as that was kept.
    pub last: LastTimes,
}

/// When a channel last talked to its platform.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LastTimes {
    /// An exchange that the platform answered.
    pub exchange: Option<Timestamp>,
    /// An inbound message.
    pub inbound: Option<Timestamp>,
    /// An accepted outbound message.
    pub outbound: Option<Timestamp>,
}

/// Flags of the engine that survive a restart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineFlags {
    /// Since when, by whom and why everything is held.
    pub held: Option<(Timestamp, String)>,
    /// Whether the database is a restored copy that waits for release.
    pub quarantine: bool,
}

const CHANNEL: &str = "SELECT p.version, p.autonomy, p.expires_at, p.reverts_to, p.auto_approve, p.block,
        p.always_ask,
        c.name, c.kind, c.paused, c.cursor, c.last_exchange_at, c.last_inbound_at, c.last_outbound_at,
        (SELECT count(*) FROM outbox o WHERE o.channel = c.name AND o.settled_at IS NULL) AS backlog,
        (SELECT count(*) FROM approvals a WHERE a.channel = c.name AND a.state = 'pending') AS pending_approvals,
        (SELECT count(*) FROM sessions s
            WHERE s.channel = c.name AND s.state = 'active' AND s.temporary = 0) AS active_sessions,
        c.draining_since, (SELECT count(*) FROM take_overs t WHERE t.channel = c.name) AS taken_over,
        (SELECT count(*) FROM pairings q WHERE q.channel = c.name AND q.state = 'pending') AS pending_pairings,
        (SELECT count(*) FROM pairings q WHERE q.channel = c.name AND q.state = 'accepted') AS accepted_pairings
     FROM channel_accounts c JOIN policies p ON p.channel = c.name";

fn policy_row(row: &Row<'_>) -> Result<Policy, StoreError> {
    Ok(columns!(row => Policy {
        version, autonomy, expires_at, reverts_to;
        auto_approve: row.json("auto_approve")?,
        block: row.json("block")?,
        always_ask: row.json("always_ask")?,
    }))
}

fn channel_row(row: &Row<'_>) -> Result<ChannelRow, StoreError> {
    Ok(columns!(row => ChannelRow {
        name, kind, paused, cursor, backlog, pending_approvals, active_sessions, taken_over;
        policy: policy_row(row)?,
        draining: row
            .get::<Option<Timestamp>>("draining_since")?
            .map(|since| ChannelDrain {
                since,
                running: 0,
                waiting: 0,
                held_back: 0,
            }),
        pairings: (row.get("pending_pairings")?, row.get("accepted_pairings")?),
        last: columns!(row => LastTimes {
            exchange = "last_exchange_at", inbound = "last_inbound_at",
            outbound = "last_outbound_at",
        }),
    }))
}

/// Counts what a channel that takes up nothing new still has to do.
fn counted(conn: &Connection, mut row: ChannelRow) -> Result<ChannelRow, StoreError> {
    if let Some(drain) = &mut row.draining {
        (drain.running, drain.waiting, drain.held_back) = conn.row(
            "SELECT count(*) FILTER (WHERE c.state = 'running' OR (c.state = 'pending' AND c.attempt > 0)) AS running,
                count(*) FILTER (WHERE c.state IN ('awaiting_approval', 'interrupted')) AS waiting,
                count(*) FILTER (WHERE c.state = 'pending' AND c.attempt = 0) AS held_back
             FROM continuations c JOIN sessions s ON s.id = c.session_id
             WHERE c.ended_at IS NULL AND s.channel = ?1",
            [&row.name],
            columns!(running, waiting, held_back),
        )?;
    }
    Ok(row)
}

/// Policy in force on a channel.
pub(crate) fn load_policy(conn: &Connection, channel: &str) -> Result<Policy, StoreError> {
    conn.row_opt(
        "SELECT version, autonomy, expires_at, reverts_to, auto_approve, block, always_ask FROM policies
         WHERE channel = ?1",
        [channel],
        policy_row,
    )?
    .ok_or_else(|| StoreError::not_found("channel", channel))
}

impl Reader<'_> {
    /// Every channel, by name.
    pub fn channel_rows(&self) -> Result<Vec<ChannelRow>, StoreError> {
        let rows = self
            .conn
            .rows(&format!("{CHANNEL} ORDER BY c.name"), [], channel_row)?;
        rows.into_iter()
            .map(|row| counted(self.conn, row))
            .collect()
    }

    /// One channel.
    pub fn channel_row(&self, name: &str) -> Result<ChannelRow, StoreError> {
        self.conn
            .row_opt(&format!("{CHANNEL} WHERE c.name = ?1"), [name], channel_row)?
            .ok_or_else(|| StoreError::not_found("channel", name))
            .and_then(|row| counted(self.conn, row))
    }

    /// Policy in force.
    pub fn policy(&self, channel: &str) -> Result<Policy, StoreError> {
        load_policy(self.conn, channel)
    }

    /// Saved position and pause.
    pub fn account(&self, channel: &str) -> Result<(Option<String>, bool), StoreError> {
        self.conn
            .row_opt(
                "SELECT cursor, paused FROM channel_accounts WHERE name = ?1",
                [channel],
                columns!(cursor, paused),
            )?
            .ok_or_else(|| StoreError::not_found("channel", channel))
    }

    /// Emergency stop and quarantine.
    pub fn flags(&self) -> Result<EngineFlags, StoreError> {
        Ok(EngineFlags {
            held: held(self.conn)?,
            quarantine: meta::quarantined(self.conn)?,
        })
    }
}

/// Since when, and why, everything is held.
pub(crate) fn held(conn: &Connection) -> Result<Option<(Timestamp, String)>, StoreError> {
    let at = meta::time(conn, "held_at")?;
    let reason = meta::get(conn, "held_reason")?;
    Ok(at.map(|at| (at, reason.unwrap_or_default())))
}
