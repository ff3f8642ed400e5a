//! What ended when, for statistics: a row each, by an index of its time.
//!
//! Nothing is summed here. A row is read once, and its name is that of the group it belongs to.

use crate::clock::Timestamp;
use crate::protocol::enums::{
    ApprovalState, ContinuationState, OutboxState, StatsGrouping, ToolCallState,
};
use crate::store::error::StoreError;
use crate::store::meta;
use crate::store::reader::Reader;
use crate::store::sql::{Row, Statements, columns};

/// From a time (included) to another (not included).
pub type TimeRange = [Timestamp; 2];

/// A settled call of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelCallRow {
    /// When it began.
    pub at: Timestamp,
    /// It has no answer.
    pub failed: bool,
    /// All input tokens.
    pub input_tokens: u64,
    pub output_tokens: u64,
    /// Input tokens read from the provider's prompt cache.
    pub cached_tokens: u64,
    /// Input tokens written to it.
    pub cache_write_tokens: u64,
    /// US dollars; none = it has no price.
    pub cost_usd: Option<f64>,
}

/// A question to people that was asked or changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuestionRow {
    /// When it was asked.
    pub requested_at: Timestamp,
    /// When a person decided it.
    pub decided_at: Option<Timestamp>,
    /// When it changed last.
    pub updated_at: Timestamp,
    /// How it stands.
    pub state: ApprovalState,
}

/// Who asked in a continuation `c`, or in an approval `c`.
const PERSON: &str = "coalesce(c.requester_person, c.requester_id)";

fn name(row: &Row<'_>) -> Result<String, StoreError> {
    let name: Option<String> = row.get("name")?;
    Ok(name.unwrap_or_default())
}

impl Reader<'_> {
    /// When the database was made, and from when on history is whole; none = no sweep has run yet.
    pub fn recorded(&self) -> Result<(Option<Timestamp>, Option<Timestamp>), StoreError> {
        let made = self
            .conn
            .value("SELECT min(created_at) FROM channel_accounts", [])?;
        Ok((made, meta::time(self.conn, "history_kept_since")?))
    }

    /// Calls of models that began in a time.
    pub fn model_calls(
        &self,
        by: StatsGrouping,
        range: TimeRange,
        mut read: impl FnMut(String, ModelCallRow),
    ) -> Result<(), StoreError> {
        let (name_is, join) = match by {
            StatsGrouping::All | StatsGrouping::Tool => ("''", ""),
            StatsGrouping::Channel => ("m.channel", ""),
            StatsGrouping::Model => ("m.model", ""),
            StatsGrouping::Person => (PERSON, "JOIN continuations c ON c.id = m.continuation_id"),
        };
        self.conn.each(
            &format!(
                "SELECT {name_is} AS name, m.started_at, m.error IS NOT NULL AS failed, m.input_tokens, m.output_tokens,
                    m.cached_tokens, m.cache_write_tokens, m.cost_usd
                 FROM model_attempts m {join}
                 WHERE m.started_at >= ?1 AND m.started_at < ?2 AND m.settled_at IS NOT NULL"
            ),
            range,
            |row| {
                let tokens = |column| -> Result<u64, StoreError> {
                    Ok(row.get::<Option<u64>>(column)?.unwrap_or(0))
                };
                let call = columns!(row => ModelCallRow {
                    at = "started_at", failed, cost_usd;
                    input_tokens: tokens("input_tokens")?,
                    output_tokens: tokens("output_tokens")?,
                    cached_tokens: tokens("cached_tokens")?,
                    cache_write_tokens: tokens("cache_write_tokens")?,
                });
                read(name(row)?, call);
                Ok(())
            },
        )
    }

    /// Turns that ended in a time.
    pub fn turn_ends(
        &self,
        by: StatsGrouping,
        range: TimeRange,
        mut read: impl FnMut(String, Timestamp, ContinuationState),
    ) -> Result<(), StoreError> {
        let (name_is, join) = match by {
            StatsGrouping::All | StatsGrouping::Model | StatsGrouping::Tool => ("''", ""),
            StatsGrouping::Channel => ("s.channel", "JOIN sessions s ON s.id = c.session_id"),
            StatsGrouping::Person => (PERSON, ""),
        };
        self.conn.each(
            &format!(
                "SELECT {name_is} AS name, c.ended_at, c.state FROM continuations c {join}
                 WHERE c.ended_at >= ?1 AND c.ended_at < ?2"
            ),
            range,
            |row| {
                read(name(row)?, row.get("ended_at")?, row.get("state")?);
                Ok(())
            },
        )
    }

    /// Questions that were asked, decided or changed in a time, or later.
    pub fn questions_since(
        &self,
        by: StatsGrouping,
        from: Timestamp,
        mut read: impl FnMut(String, QuestionRow),
    ) -> Result<(), StoreError> {
        let (name_is, join) = match by {
            StatsGrouping::All | StatsGrouping::Model => ("''", ""),
            StatsGrouping::Channel => ("c.channel", ""),
            StatsGrouping::Tool => ("t.name", "JOIN tool_calls t ON t.id = c.tool_call_id"),
            StatsGrouping::Person => (PERSON, ""),
        };
        self.conn.each(
            &format!(
                "SELECT {name_is} AS name, c.requested_at, c.decided_at, c.updated_at, c.state FROM approvals c {join}
                 WHERE c.updated_at >= ?1"
            ),
            [from],
            |row| {
                let question = columns!(row => QuestionRow {
                    requested_at, decided_at, updated_at, state,
                });
                read(name(row)?, question);
                Ok(())
            },
        )
    }

    /// Calls of tools that ended in a time, with the milliseconds that each ran.
    pub fn tool_ends(
        &self,
        by: StatsGrouping,
        range: TimeRange,
        mut read: impl FnMut(String, Timestamp, ToolCallState, Option<u64>),
    ) -> Result<(), StoreError> {
        let (name_is, join) = match by {
            StatsGrouping::All | StatsGrouping::Model => ("''", ""),
            StatsGrouping::Channel => ("t.channel", ""),
            StatsGrouping::Tool => ("t.name", ""),
            StatsGrouping::Person => (PERSON, "JOIN continuations c ON c.id = t.continuation_id"),
        };
        self.conn.each(
            &format!(
                "SELECT {name_is} AS name, t.finished_at, t.state, t.duration_ms FROM tool_calls t {join}
                 WHERE t.finished_at >= ?1 AND t.finished_at < ?2"
            ),
            range,
            |row| {
                let state = row.get("state")?;
                read(
                    name(row)?,
                    row.get("finished_at")?,
                    state,
                    row.get("duration_ms")?,
                );
                Ok(())
            },
        )
    }

    /// Parts of messages that were settled in a time.
    pub fn delivery_ends(
        &self,
        by: StatsGrouping,
        range: TimeRange,
        mut read: impl FnMut(String, Timestamp, OutboxState),
    ) -> Result<(), StoreError> {
        let name_is = match by {
            StatsGrouping::Channel => "channel",
            StatsGrouping::All
            | StatsGrouping::Model
            | StatsGrouping::Tool
            | StatsGrouping::Person => "''",
        };
        self.conn.each(
            &format!(
                "SELECT {name_is} AS name, settled_at, state FROM outbox WHERE settled_at >= ?1 AND settled_at < ?2"
            ),
            range,
            |row| {
                read(name(row)?, row.get("settled_at")?, row.get("state")?);
                Ok(())
            },
        )
    }
}
