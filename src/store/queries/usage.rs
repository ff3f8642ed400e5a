//! What was used on a day and by the open sessions, and what people added to their budgets.

use crate::protocol::budget::Limit;
use crate::protocol::ids::SessionId;
use crate::protocol::session::Usage;
use crate::store::error::StoreError;
use crate::store::input::BudgetKind;
use crate::store::reader::Reader;
use crate::store::sql::{Statements, columns, params};

/// A call under way, as it was reserved.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenCall {
    pub channel: String,
    /// Tokens it may use.
    pub tokens: u64,
    /// US dollars it may cost, when priced.
    pub cost_usd: Option<f64>,
}

/// What an open session has used of its budget.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionUse {
    pub id: SessionId,
    /// Tokens that are used or reserved.
    pub tokens: u64,
    /// US dollars that are used or reserved.
    pub cost_usd: f64,
    /// The part of the tokens that is reserved.
    pub reserved_tokens: u64,
    /// The part of the US dollars that is reserved.
    pub reserved_usd: f64,
    /// Tokens that people added to its budget.
    pub added_tokens: f64,
    /// US dollars that people added to its budget.
    pub added_usd: f64,
}

impl Reader<'_> {
    /// The open sessions that are the furthest in using up a budget that all of them have, at most `most` of them;
    /// equal ones by the newest change. And how many open sessions there are.
    pub fn session_uses(
        &self,
        limit: Limit,
        most: u32,
    ) -> Result<(Vec<SessionUse>, u64), StoreError> {
        let mut all = 0;
        let found = self.conn.rows(
            "WITH reserved AS (
                SELECT c.session_id AS id, sum(m.estimated_tokens) AS tokens, total(m.estimated_cost_usd) AS usd
                FROM model_attempts m JOIN continuations c ON c.id = m.continuation_id
                WHERE m.settled_at IS NULL GROUP BY c.session_id
             ), added AS (
                SELECT session_id AS id, total(amount) FILTER (WHERE budget = 'session_tokens') AS tokens,
                    total(amount) FILTER (WHERE budget = 'session_cost') AS usd
                FROM budget_grants WHERE session_id IS NOT NULL GROUP BY session_id
             ), used AS (
                SELECT s.id, s.updated_at, s.input_tokens + s.output_tokens + coalesce(r.tokens, 0) AS tokens,
                    s.spent_usd + coalesce(r.usd, 0.0) AS usd, coalesce(a.tokens, 0.0) AS more_tokens,
                    coalesce(a.usd, 0.0) AS more_usd, coalesce(r.tokens, 0) AS open_tokens,
                    coalesce(r.usd, 0.0) AS open_usd
                FROM sessions s LEFT JOIN reserved r ON r.id = s.id LEFT JOIN added a ON a.id = s.id
                WHERE s.state = 'active'
             )
             SELECT id, tokens, usd, more_tokens, more_usd, count(*) OVER () AS calls, open_tokens, open_usd FROM used
             ORDER BY max(coalesce(tokens / nullif(?1 + more_tokens, 0.0), 0.0),
                    coalesce(usd / nullif(?2 + more_usd, 0.0), 0.0)) DESC, updated_at DESC, id
             LIMIT ?3",
            params![
                limit.max_tokens.map(|tokens| tokens as f64),
                limit.max_cost_usd,
                most
            ],
            |row| {
                all = row.get("calls")?;
                Ok(columns!(row => SessionUse {
                    id, tokens, cost_usd = "usd", added_tokens = "more_tokens",
                    added_usd = "more_usd", reserved_tokens = "open_tokens",
                    reserved_usd = "open_usd",
                }))
            },
        )?;
        Ok((found, all))
    }

    /// Calls under way that count on a day, given in days since 1970-01-01.
    pub fn open_calls(&self, day: i64) -> Result<Vec<OpenCall>, StoreError> {
        self.conn.rows(
            "SELECT coalesce(channel, '') AS channel, estimated_tokens, estimated_cost_usd FROM model_attempts
             WHERE settled_at IS NULL AND day = ?1",
            [day],
            |row| Ok(columns!(row => OpenCall {
                channel, tokens = "estimated_tokens", cost_usd = "estimated_cost_usd",
            })),
        )
    }

    /// Usage of a day; calls under way count with their estimate, and one without a price makes the cost unknown.
    pub fn usage_on(&self, day: i64) -> Result<Usage, StoreError> {
        let spent = self.conn.row(
            "SELECT coalesce(sum(input_tokens), 0) AS input_tokens, coalesce(sum(output_tokens), 0) AS output_tokens,
                coalesce(sum(cached_tokens), 0) AS cached_tokens,
                coalesce(sum(cache_write_tokens), 0) AS cache_write_tokens,
                CASE WHEN total(unpriced_tokens) = 0 THEN total(cost_usd) END AS cost_usd
             FROM spend WHERE day = ?1",
            [day],
            crate::store::rows::usage,
        )?;
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
        self.conn.value(
            "SELECT total(amount) FROM budget_grants WHERE day = ?1 AND budget = ?2 AND channel IS ?3",
            params![day, budget, channel],
        )
    }
}
