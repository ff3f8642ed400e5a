//! What was spent where: one row a day, channel and model.

use crate::clock::Day;
use crate::store::error::StoreError;
use crate::store::reader::Reader;
use crate::store::sql::{Statements, columns};

/// Settled calls of one model on one channel and day.
#[derive(Debug, Clone, PartialEq)]
pub struct SpendRow {
    /// Local day.
    pub day: Day,
    pub channel: String,
    /// `<provider>/<model>`.
    pub model: String,
    /// Calls, failed ones included.
    pub calls: u64,
    /// Calls without an answer.
    pub failed: u64,
    /// All input tokens.
    pub input_tokens: u64,
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
        self.conn.rows(
            "SELECT day, channel, model, calls, failed, input_tokens, output_tokens, cached_tokens,
                cache_write_tokens, cost_usd, unpriced_tokens
             FROM spend WHERE day BETWEEN ?1 AND ?2 ORDER BY day, channel, model",
            [from.0, to.0],
            |row| {
                Ok(columns!(row => SpendRow {
                    day, channel, model, calls, failed, input_tokens, output_tokens, cached_tokens,
                    cache_write_tokens, cost_usd, unpriced_tokens,
                }))
            },
        )
    }
}
