//! Channels, their policies, and the flags of the engine.

use rusqlite::{Connection, OptionalExtension, Row};

use crate::clock::Timestamp;
use crate::protocol::channel::ChannelDrain;
use crate::protocol::policy::Policy;
use crate::protocol::words::ChannelKind;
use crate::store::error::StoreError;
use crate::store::reader::Reader;
use crate::store::rows::{json, word, word_opt};
use crate::store::schema;

/// What the database knows of a channel; health is the engine's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelRow {
    /// Name.
    pub name: String,
    /// Kind.
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
    /// Strangers who ask to be let in, and people who were.
    pub pairings: (u32, u32),
}

/// Flags of the engine that survive a restart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineFlags {
    /// Since when, by whom and why everything is held.
    pub held: Option<(Timestamp, String)>,
    /// Whether the database is a restored copy that waits for release.
    pub quarantine: bool,
}

const CHANNEL: &str = "SELECT p.version, p.autonomy, p.expires_at, p.reverts_to, p.auto_approve, p.block, p.always_ask,
        c.name, c.kind, c.paused, c.cursor,
        (SELECT count(*) FROM outbox o WHERE o.channel = c.name AND o.settled_at IS NULL),
        (SELECT count(*) FROM approvals a WHERE a.channel = c.name AND a.state = 'pending'),
        (SELECT count(*) FROM sessions s WHERE s.channel = c.name AND s.state = 'active' AND s.temporary = 0),
        c.draining_since, (SELECT count(*) FROM take_overs t WHERE t.channel = c.name),
        (SELECT count(*) FROM pairings q WHERE q.channel = c.name AND q.state = 'pending'),
        (SELECT count(*) FROM pairings q WHERE q.channel = c.name AND q.state = 'accepted')
     FROM channel_accounts c JOIN policies p ON p.channel = c.name";

fn policy_row(row: &Row<'_>) -> rusqlite::Result<Policy> {
    Ok(Policy {
        version: row.get(0)?,
        autonomy: word(row, 1)?,
        expires_at: row.get::<_, Option<i64>>(2)?.map(Timestamp),
        reverts_to: word_opt(row, 3)?,
        auto_approve: json(row, 4)?,
        block: json(row, 5)?,
        always_ask: json(row, 6)?,
    })
}

fn channel_row(row: &Row<'_>) -> rusqlite::Result<ChannelRow> {
    Ok(ChannelRow {
        policy: policy_row(row)?,
        name: row.get(7)?,
        kind: word(row, 8)?,
        paused: row.get(9)?,
        cursor: row.get(10)?,
        backlog: row.get(11)?,
        pending_approvals: row.get(12)?,
        active_sessions: row.get(13)?,
        draining: row.get::<_, Option<i64>>(14)?.map(|since| ChannelDrain {
            since: Timestamp(since),
            running: 0,
            waiting: 0,
            held_back: 0,
        }),
        taken_over: row.get(15)?,
        pairings: (row.get(16)?, row.get(17)?),
    })
}

/// Counts what a channel that takes up nothing new still has to do.
fn counted(conn: &Connection, mut row: ChannelRow) -> Result<ChannelRow, StoreError> {
    if let Some(drain) = &mut row.draining {
        (drain.running, drain.waiting, drain.held_back) = conn
            .prepare_cached(
                "SELECT count(*) FILTER (WHERE c.state = 'running' OR (c.state = 'pending' AND c.attempt > 0)),
                    count(*) FILTER (WHERE c.state IN ('awaiting_approval', 'interrupted')),
                    count(*) FILTER (WHERE c.state = 'pending' AND c.attempt = 0)
                 FROM continuations c JOIN sessions s ON s.id = c.session_id
                 WHERE c.ended_at IS NULL AND s.channel = ?1",
            )?
            .query_row([&row.name], |found| {
                Ok((found.get(0)?, found.get(1)?, found.get(2)?))
            })?;
    }
    Ok(row)
}

/// Policy in force on a channel.
pub(crate) fn load_policy(conn: &Connection, channel: &str) -> Result<Policy, StoreError> {
    conn.prepare_cached(
        "SELECT version, autonomy, expires_at, reverts_to, auto_approve, block, always_ask FROM policies
         WHERE channel = ?1",
    )?
    .query_row([channel], policy_row)
    .optional()?
    .ok_or_else(|| StoreError::not_found("channel", channel))
}

impl Reader<'_> {
    /// Every channel, by name.
    pub fn channel_rows(&self) -> Result<Vec<ChannelRow>, StoreError> {
        self.conn
            .prepare_cached(&format!("{CHANNEL} ORDER BY c.name"))?
            .query_map([], channel_row)?
            .map(|row| counted(self.conn, row?))
            .collect()
    }

    /// One channel.
    pub fn channel_row(&self, name: &str) -> Result<ChannelRow, StoreError> {
        self.conn
            .prepare_cached(&format!("{CHANNEL} WHERE c.name = ?1"))?
            .query_row([name], channel_row)
            .optional()?
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
            .prepare_cached("SELECT cursor, paused FROM channel_accounts WHERE name = ?1")?
            .query_row([channel], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?
            .ok_or_else(|| StoreError::not_found("channel", channel))
    }

    /// Emergency stop and quarantine.
    pub fn flags(&self) -> Result<EngineFlags, StoreError> {
        Ok(EngineFlags {
            held: held(self.conn)?,
            quarantine: schema::quarantined(self.conn)?,
        })
    }
}

/// Since when, and why, everything is held.
pub(crate) fn held(conn: &Connection) -> Result<Option<(Timestamp, String)>, StoreError> {
    let at = schema::meta(conn, "held_at")?.and_then(|text| text.parse().ok());
    let reason = schema::meta(conn, "held_reason")?;
    Ok(at.map(|at| (Timestamp(at), reason.unwrap_or_default())))
}
