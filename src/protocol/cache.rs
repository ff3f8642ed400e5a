//! The response cache as surfaces see it: entries, and counters that only rise.

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
    /// Channel of the entry.
    pub channel: String,
    /// Who may receive the response.
    pub scope: CacheScope,
    /// Who asked first: untrusted text.
    pub requester: String,
    /// `<provider>/<model>` that answered.
    pub model: String,
    /// The question: untrusted text; lists contain its first 200 characters.
    pub question: String,
    /// The response: untrusted text; lists contain its first 200 characters.
    pub answer: String,
    /// Tokens and cost of the model call that produced it.
    pub usage: Usage,
    /// Size of question and response in bytes.
    pub bytes: u64,
    /// How often the cache returned it.
    pub hits: u64,
    /// Whether it is pinned: it never expires and the cache never evicts it.
    pub pinned: bool,
    /// When it was stored.
    pub stored_at: Timestamp,
    /// When the cache returned it last; none = never.
    pub used_at: Option<Timestamp>,
    /// When it expires; none = pinned.
    pub expires_at: Option<Timestamp>,
}

/// Cache counters of a period.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CacheCounts {
    /// Turns that looked into the cache: hits, coalesced turns, and misses other than `off`.
    pub lookups: u64,
    /// Turns answered from the cache.
    pub hits: u64,
    /// Turns that waited for the same question of somebody else and shared that response.
    pub coalesced: u64,
    /// Turns that asked the model, by reason.
    pub misses: BTreeMap<CacheMissReason, u64>,
    /// Responses that were stored.
    pub stores: u64,
    /// Responses that were not stored, by reason.
    pub not_kept: BTreeMap<CacheSkipReason, u64>,
    /// Entries that left the cache, by reason.
    pub evictions: BTreeMap<CacheEviction, u64>,
    /// Input tokens that were not sent.
    pub input_tokens_saved: u64,
    /// Output tokens that were not generated.
    pub output_tokens_saved: u64,
    /// Estimated US dollars saved: the cost of the original calls. Calls without a known price do
    /// not count.
    pub cost_usd_saved: f64,
    /// Cached responses returned whose price is unknown.
    pub unpriced: u64,
    /// Counters of cached tool results.
    #[serde(default)]
    pub tools: ToolCacheCounts,
}

/// Counters of cached tool results in a period.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolCacheCounts {
    /// Results returned from the cache.
    pub hits: u64,
    /// Runs of cacheable tools, by the reason for the miss.
    pub misses: BTreeMap<ToolCacheMiss, u64>,
    /// Results that were stored.
    pub stores: u64,
    /// Results that were not stored, by reason.
    pub not_kept: BTreeMap<ToolCacheSkipReason, u64>,
}

/// Counters of one channel, model or day.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CacheGroup {
    /// Name of the channel, `<provider>/<model>`, or day (`YYYY-MM-DD`, local).
    pub name: String,
    /// Its counters.
    #[serde(flatten)]
    pub counts: CacheCounts,
}

/// The cache in a console's snapshot.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CacheSummary {
    /// Whether any channel caches responses.
    pub enabled: bool,
    /// Why the cache file cannot be used; none = it can, or no channel uses it.
    pub problem: Option<String>,
    /// Number of cached responses.
    pub entries: u64,
    /// Counters of today, local time.
    pub today: CacheCounts,
    /// Counters of today by channel.
    pub channels: Vec<CacheGroup>,
}

/// Settings, sizes and counters of the cache.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CacheStats {
    /// Whether any channel caches responses.
    pub enabled: bool,
    /// Cache scope of each channel.
    pub scopes: BTreeMap<String, CacheScope>,
    /// Channels that cache tool results.
    #[serde(default)]
    pub tool_channels: Vec<String>,
    /// Number of cached tool results.
    #[serde(default)]
    pub results: u64,
    /// Their size in bytes.
    #[serde(default)]
    pub result_bytes: u64,
    /// Most cached tool results.
    #[serde(default)]
    pub max_results: u64,
    /// Most bytes of cached tool results.
    #[serde(default)]
    pub max_result_bytes: u64,
    /// Why the cache file cannot be used; none = it can, or no channel uses it.
    pub problem: Option<String>,
    /// Number of cached responses.
    pub entries: u64,
    /// Number of pinned responses.
    pub pinned: u64,
    /// Size of their questions and responses in bytes.
    pub bytes: u64,
    /// Most cached responses.
    pub max_entries: u64,
    /// Most bytes of cached responses.
    pub max_bytes: u64,
    /// Minutes a response stays cached.
    pub ttl_minutes: u64,
    /// Date of the price table that savings are estimated with.
    pub prices_as_of: String,
    /// Counters of today, local time.
    pub today: CacheCounts,
    /// Counters since the cache file was created.
    pub total: CacheCounts,
    /// Counters by channel, since the file was created.
    pub channels: Vec<CacheGroup>,
    /// Counters by model, since the file was created.
    pub models: Vec<CacheGroup>,
    /// Counters of the last 30 days that have any, newest first.
    pub days: Vec<CacheGroup>,
}

/// Which entries to remove.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CachePurge {
    /// One entry, by its id or by a longer prefix of its key.
    Entry(String),
    /// All entries of a channel.
    Channel(String),
    /// All entries.
    All,
}

/// What a purge removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CachePurgeResult {
    /// Cached responses removed.
    pub entries: u64,
    /// Bytes of their questions, responses and tool results.
    pub bytes: u64,
    /// Cached tool results removed.
    #[serde(default)]
    pub results: u64,
}
