//! The response cache as surfaces see it: entries, and counters that only grow.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::protocol::enums::{
    CacheEviction, CacheMissReason, CacheScope, CacheSkipReason, ToolCacheMiss, ToolCacheSkipReason,
};
use crate::protocol::session::Usage;

/// A cached response.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CacheEntry {
    /// First 16 hex characters of its key.
    pub id: String,
    /// Channel it belongs to.
    pub channel: String,
    /// Whom it may be given to.
    pub scope: CacheScope,
    /// Who asked first: outside text.
    pub requester: String,
    /// `<provider>/<model>` that answered.
    pub model: String,
    /// The question: outside text; in lists its first 200 characters.
    pub question: String,
    /// The answer: outside text; in lists its first 200 characters.
    pub answer: String,
    /// What the model call had used.
    pub usage: Usage,
    /// Bytes of question and answer.
    pub bytes: u64,
    /// How often it was given.
    pub hits: u64,
    /// Kept past its time and never pushed out.
    pub pinned: bool,
    /// When it was stored.
    pub stored_at: Timestamp,
    /// When it was given last.
    pub used_at: Option<Timestamp>,
    /// When it becomes too old; none = pinned.
    pub expires_at: Option<Timestamp>,
}

/// What happened with the cache in some period.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CacheCounts {
    /// Turns that were looked up: hits, coalesced ones and misses other than `off`.
    pub lookups: u64,
    /// Answers given that were kept.
    pub hits: u64,
    /// Turns that waited for the same question of somebody else and got that answer.
    pub coalesced: u64,
    /// Turns for which the model was asked, by reason.
    pub misses: BTreeMap<CacheMissReason, u64>,
    /// Answers kept.
    pub stores: u64,
    /// Answers that could not be kept, by reason.
    pub not_kept: BTreeMap<CacheSkipReason, u64>,
    /// Cached responses that went, by reason.
    pub evictions: BTreeMap<CacheEviction, u64>,
    /// Input tokens that were not sent again.
    pub input_tokens_saved: u64,
    /// Output tokens that were not made again.
    pub output_tokens_saved: u64,
    /// US dollars not spent: an estimate, what the first call had cost; calls without a known price are not in it.
    pub cost_usd_saved: f64,
    /// Answers given whose price is not known.
    pub unpriced: u64,
    /// The same of results of tools.
    #[serde(default)]
    pub tools: ToolCacheCounts,
}

/// What happened with the results of tools in some period.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolCacheCounts {
    /// Results given again.
    pub hits: u64,
    /// Runs of tools whose results may be kept, by reason.
    pub misses: BTreeMap<ToolCacheMiss, u64>,
    /// Results kept.
    pub stores: u64,
    /// Results that could not be kept, by reason.
    pub not_kept: BTreeMap<ToolCacheSkipReason, u64>,
}

/// Counters under a name: of a channel, a model or a day.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CacheGroup {
    /// Channel, `<provider>/<model>`, or day (`YYYY-MM-DD`, local).
    pub name: String,
    /// Its counters.
    #[serde(flatten)]
    pub counts: CacheCounts,
}

/// What a console shows of the cache.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CacheSummary {
    /// Whether any channel caches responses.
    pub enabled: bool,
    /// Why the file cannot be used; none = it can, or nobody uses it.
    pub problem: Option<String>,
    /// Cached responses.
    pub entries: u64,
    /// Counters of the local day.
    pub today: CacheCounts,
    /// The same by channel.
    pub channels: Vec<CacheGroup>,
}

/// Everything about the cache but its entries.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CacheStats {
    /// Whether any channel caches responses.
    pub enabled: bool,
    /// Scope of each channel.
    pub scopes: BTreeMap<String, CacheScope>,
    /// Channels that keep results of tools.
    #[serde(default)]
    pub tool_channels: Vec<String>,
    /// Results of tools that are kept.
    #[serde(default)]
    pub results: u64,
    /// Bytes of them.
    #[serde(default)]
    pub result_bytes: u64,
    /// Most of them.
    #[serde(default)]
    pub max_results: u64,
    /// Most bytes of them.
    #[serde(default)]
    pub max_result_bytes: u64,
    /// Why the file cannot be used; none = it can, or nobody uses it.
    pub problem: Option<String>,
    /// Cached responses.
    pub entries: u64,
    /// Those of them that are pinned.
    pub pinned: u64,
    /// Bytes of their questions and answers.
    pub bytes: u64,
    /// Most entries.
    pub max_entries: u64,
    /// Most bytes.
    pub max_bytes: u64,
    /// Minutes a response stays cached.
    pub ttl_minutes: u64,
    /// Date of the price table that savings are estimated with.
    pub prices_as_of: String,
    /// Counters of the local day.
    pub today: CacheCounts,
    /// Counters since the file was made.
    pub total: CacheCounts,
    /// The same by channel.
    pub channels: Vec<CacheGroup>,
    /// The same by model.
    pub models: Vec<CacheGroup>,
    /// The last 30 days with counters, newest first.
    pub days: Vec<CacheGroup>,
}

/// Which entries go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CachePurge {
    /// One, by its id or a longer beginning of its key.
    Entry(String),
    /// All of a channel.
    Channel(String),
    /// All.
    All,
}

/// What a purge removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CachePurgeResult {
    /// Entries.
    pub entries: u64,
    /// Bytes of their questions and answers, and of the results.
    pub bytes: u64,
    /// Results of tools.
    #[serde(default)]
    pub results: u64,
}
