//! What was spent where: one row a day, channel and model.

use crate::clock::Day;
use crate::store::error::StoreError;
use crate::store::reader::Reader;

/// Settled calls of one model on one channel and day.
#[derive(Debug, Clone, PartialEq)]
pub struct SpendRow {
    /// Local day.
    pub day: Day,
    /// Channel name.
    pub channel: String,
    /// `<provider>/<model>`.
    pub model: String,
    /// Calls, failed ones included.
    pub calls: u64,
    /// Calls without an answer.
    pub failed: u64,
    /// All input tokens.
    pub input_tokens: u64,
    /// Output tokens.
    pub output_tokens: u64,
    /// Input tokens read from the provider's prompt cache.
    pub cached_tokens: u64,
    /// Input tokens written to it.
    pub cache_write_tokens: u64,
    /// US dollars of the calls that had a price.
    pub cost_usd: f64,
    /// Tokens of the calls that had none.
    pub unpriced_tokens: u64,
}

impl Reader<'_> {
    /// What was spent from one day to another, both included; by day, channel and model.
    pub fn spend(&self, from: Day, to: Day) -> Result<Vec<SpendRow>, StoreError> {
        Ok(self
            .conn
            .prepare_cached(
                "SELECT day, channel, model, calls, failed, input_tokens, output_tokens, cached_tokens,
                    cache_write_tokens, cost_usd, unpriced_tokens
                 FROM spend WHERE day BETWEEN ?1 AND ?2 ORDER BY day, channel, model",
            )?
            .query_map([from.0, to.0], |row| {
                Ok(SpendRow {
                    day: Day(row.get(0)?),
                    channel: row.get(1)?,
                    model: row.get(2)?,
                    calls: row.get(3)?,
                    failed: row.get(4)?,
                    input_tokens: row.get(5)?,
                    output_tokens: row.get(6)?,
                    cached_tokens: row.get(7)?,
                    cache_write_tokens: row.get(8)?,
                    cost_usd: row.get(9)?,
                    unpriced_tokens: row.get(10)?,
                })
            })?
            .collect::<rusqlite::Result<_>>()?)
    }
}
