//! What happened with the cache, by day, channel, model and scope. Counters only grow: neither an eviction nor a purge
//! takes anything back.

use std::collections::HashMap;

use rusqlite::{Connection, params};

use crate::clock::Timestamp;
use crate::protocol::enums::{
    CacheEviction, CacheMissReason, CacheScope, CacheSkipReason, ToolCacheMiss, ToolCacheSkipReason,
};

/// The local day of a time, `YYYY-MM-DD`.
pub fn local_day(at: Timestamp) -> String {
    jiff::Timestamp::from_millisecond(at.as_millis()).map_or_else(
        |_| "unknown".to_owned(),
        |at| at.to_zoned(jiff::tz::TimeZone::system()).date().to_string(),
    )
}

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CounterKind {
    /// A cached response was given.
    Hit,
    /// A turn got the answer to the same question of somebody else.
    Coalesced,
    /// The model was asked.
    Miss(CacheMissReason),
    /// An answer was kept.
    Store,
    /// An answer could not be kept.
    NotKept(CacheSkipReason),
    /// A cached response went.
    Evicted(CacheEviction),
    /// A tool's kept result was given; the counter's model is the tool's name, here and below.
    ToolHit,
    /// A tool ran.
    ToolMiss(ToolCacheMiss),
    /// A result was kept.
    ToolStore,
    /// A result could not be kept.
    ToolNotKept(ToolCacheSkipReason),
}

impl CounterKind {
    /// Whether it is about a tool's result, not about an answer.
    pub fn is_of_tools(self) -> bool {
        match self {
            Self::ToolHit | Self::ToolMiss(_) | Self::ToolStore | Self::ToolNotKept(_) => true,
            Self::Hit
            | Self::Coalesced
            | Self::Miss(_)
            | Self::Store
            | Self::NotKept(_)
            | Self::Evicted(_) => false,
        }
    }

    fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Hit => ("hit", ""),
            Self::Coalesced => ("coalesced", ""),
            Self::Miss(reason) => ("miss", reason.as_str()),
            Self::Store => ("store", ""),
            Self::NotKept(reason) => ("not_kept", reason.as_str()),
            Self::Evicted(cause) => ("evicted", cause.as_str()),
            Self::ToolHit => ("tool_hit", ""),
            Self::ToolMiss(reason) => ("tool_miss", reason.as_str()),
            Self::ToolStore => ("tool_store", ""),
            Self::ToolNotKept(reason) => ("tool_not_kept", reason.as_str()),
        }
    }

    fn from_words(what: &str, reason: &str) -> Option<Self> {
        match what {
            "hit" => Some(Self::Hit),
            "coalesced" => Some(Self::Coalesced),
            "miss" => reason.parse().ok().map(Self::Miss),
            "store" => Some(Self::Store),
            "not_kept" => reason.parse().ok().map(Self::NotKept),
            "evicted" => reason.parse().ok().map(Self::Evicted),
            "tool_hit" => Some(Self::ToolHit),
            "tool_miss" => reason.parse().ok().map(Self::ToolMiss),
            "tool_store" => Some(Self::ToolStore),
            "tool_not_kept" => reason.parse().ok().map(Self::ToolNotKept),
            _ => None,
        }
    }
}

/// Whose counter.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CounterKey {
    /// Local day, `YYYY-MM-DD`.
    pub day: String,
    pub channel: String,
    /// `<provider>/<model>`.
    pub model: String,
    /// Scope of the channel then.
    pub scope: CacheScope,
    pub counted: CounterKind,
}

/// What is added to a counter.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Delta {
    /// How often.
    pub times: u64,
    /// Input tokens that were not sent again.
    pub input_tokens: u64,
    /// Output tokens that were not made again.
    pub output_tokens: u64,
    /// US dollars that were not spent, where the price is known.
    pub cost_usd: f64,
    /// How often the price was not known.
    pub unpriced: u64,
}

impl Delta {
    /// Once, and nothing saved.
    pub const ONCE: Self = Self {
        times: 1,
        input_tokens: 0,
        output_tokens: 0,
        cost_usd: 0.0,
        unpriced: 0,
    };

    pub(crate) fn add(&mut self, other: Self) {
        self.times += other.times;
        self.input_tokens += other.input_tokens;
        self.output_tokens += other.output_tokens;
        self.cost_usd += other.cost_usd;
        self.unpriced += other.unpriced;
    }
}

/// A counter.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Whose.
    pub key: CounterKey,
    /// How much.
    pub sum: Delta,
}

/// Adds what is in memory to what is in the file.
pub(super) fn write(
    conn: &Connection,
    pending: &HashMap<CounterKey, Delta>,
) -> rusqlite::Result<()> {
    let mut add = conn.prepare_cached(
        "INSERT INTO counters (day, channel, model, scope, what, reason, times, input_tokens, output_tokens, cost_usd, unpriced)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
         ON CONFLICT (day, channel, model, scope, what, reason) DO UPDATE SET
            times = times + excluded.times, input_tokens = input_tokens + excluded.input_tokens,
            output_tokens = output_tokens + excluded.output_tokens, cost_usd = cost_usd + excluded.cost_usd,
            unpriced = unpriced + excluded.unpriced",
    )?;
    for (key, delta) in pending {
        let (what, reason) = key.counted.words();
        add.execute(params![
            key.day,
            key.channel,
            key.model,
            key.scope.as_str(),
            what,
            reason,
            delta.times,
            delta.input_tokens,
            delta.output_tokens,
            delta.cost_usd,
            delta.unpriced
        ])?;
    }
    Ok(())
}

/// Everything that was ever counted. Words of another version are left out.
pub(super) fn read(conn: &Connection) -> rusqlite::Result<Vec<Row>> {
    let mut all = conn.prepare_cached(
        "SELECT day, channel, model, scope, what, reason, times, input_tokens, output_tokens, cost_usd, unpriced
         FROM counters ORDER BY day, channel, model",
    )?;
    let rows = all.query_map([], |row| {
        let (scope, what, reason): (String, String, String) =
            (row.get(3)?, row.get(4)?, row.get(5)?);
        let (Ok(scope), Some(counted)) = (scope.parse(), CounterKind::from_words(&what, &reason))
        else {
            return Ok(None);
        };
        Ok(Some(Row {
            key: CounterKey {
                day: row.get(0)?,
                channel: row.get(1)?,
                model: row.get(2)?,
                scope,
                counted,
            },
            sum: Delta {
                times: row.get(6)?,
                input_tokens: row.get(7)?,
                output_tokens: row.get(8)?,
                cost_usd: row.get(9)?,
                unpriced: row.get(10)?,
            },
        }))
    })?;
    rows.filter_map(Result::transpose).collect()
}
