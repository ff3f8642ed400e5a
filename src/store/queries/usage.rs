//! What was used on a day, and what people added to its budgets.

use crate::protocol::session::Usage;
use crate::store::error::StoreError;
use crate::store::input::BudgetKind;
use crate::store::reader::Reader;
use rusqlite::params;

/// A call under way, as it was reserved.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenCall {
    /// Its channel.
    pub channel: String,
    /// Tokens it may use.
    pub tokens: u64,
    /// US dollars it may cost, when priced.
    pub cost_usd: Option<f64>,
}

impl Reader<'_> {
    /// Calls under way that count on a day, given in days since 1970-01-01.
    pub fn open_calls(&self, day: i64) -> Result<Vec<OpenCall>, StoreError> {
        Ok(self
            .conn
            .prepare_cached(
                "SELECT coalesce(channel, ''), estimated_tokens, estimated_cost_usd FROM model_attempts
                 WHERE settled_at IS NULL AND day = ?1",
            )?
            .query_map([day], |row| {
                Ok(OpenCall {
                    channel: row.get(0)?,
                    tokens: row.get(1)?,
                    cost_usd: row.get(2)?,
                })
            })?
            .collect::<rusqlite::Result<_>>()?)
    }

    /// Usage of a day; calls under way count with their estimate, and one without a price makes the cost unknown.
    pub fn usage_on(&self, day: i64) -> Result<Usage, StoreError> {
        let spent = self
            .conn
            .prepare_cached(
                "SELECT coalesce(sum(input_tokens), 0), coalesce(sum(output_tokens), 0),
                    coalesce(sum(cached_tokens), 0), coalesce(sum(cache_write_tokens), 0),
                    CASE WHEN total(unpriced_tokens) = 0 THEN total(cost_usd) END
                 FROM spend WHERE day = ?1",
            )?
            .query_row([day], |row| crate::store::rows::usage(row, 0))?;
        let open = self.open_calls(day)?;
        Ok(open.iter().fold(spent, |sum, call| {
            sum.plus(Usage {
                input_tokens: call.tokens,
                cost_usd: call.cost_usd,
                ..Usage::default()
            })
        }))
    }

    /// What people added to a budget of a day; of a channel where one is named.
    pub fn added_on(
        &self,
        day: i64,
        budget: BudgetKind,
        channel: Option<&str>,
    ) -> Result<f64, StoreError> {
        Ok(self
            .conn
            .prepare_cached(
                "SELECT total(amount) FROM budget_grants WHERE day = ?1 AND budget = ?2 AND channel IS ?3",
            )?
            .query_row(params![day, budget.as_str(), channel], |row| row.get(0))?)
    }
}
