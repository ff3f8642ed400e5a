//! Calls for embeddings, and the vectors that come of them.
//!
//! No turn makes these calls. What one may cost is spent when it is reserved and corrected when it has ended: a process
//! that is killed in between leaves the estimate, so what is recorded is never below what was used. A vector is written
//! only to the memory that still has the text it was made of.

use crate::protocol::ids::MemoryId;
use crate::protocol::session::Usage;
use crate::store::command::{Durability, WriteCommand, WriteTx};
use crate::store::commands::reserve_model::BudgetStop;
use crate::store::error::StoreError;
use crate::store::input::{BudgetKind, SharedLimits};
use crate::store::meta;
use crate::store::sql::{Statements, params};
use crate::store::vectors;

/// Sums of dollars differ from their true value in the last digits; less than this is no difference.
const ROUNDING: f64 = 1e-9;

/// A call for embeddings, as it counts.
#[derive(Debug, Clone, PartialEq)]
pub struct EmbeddingCall {
    /// Whose budget it is of.
    pub channel: String,
    /// `<provider>/<model>`.
    pub model: String,
    /// The day it counts on, in days since 1970-01-01.
    pub day: i64,
    /// What it may use.
    pub estimate: Usage,
}

/// Reserves a call for embeddings. Durable: recorded spend is never below real calls.
#[derive(Debug, Clone)]
pub struct ReserveEmbedding {
    pub call: EmbeddingCall,
    /// What it must stay within: of these, those of its channel and of the day.
    pub limits: SharedLimits,
}

impl WriteCommand for ReserveEmbedding {
    /// The budget that forbids it, where one does; nothing is written then.
    type Output = Option<BudgetStop>;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<Option<BudgetStop>, StoreError> {
        if meta::quarantined(tx.conn)? {
            return Err(StoreError::rejected(
                "the database is quarantined, no model is called",
            ));
        }
        let call = &self.call;
        let asked = &call.estimate;
        let tokens = (asked.input_tokens + asked.output_tokens) as f64;
        let cost = asked.cost_usd.unwrap_or(0.0);
        let channel = Some(call.channel.as_str());
        for (of, limit, kinds) in [
            (
                channel,
                self.limits.channel,
                [BudgetKind::ChannelTokens, BudgetKind::ChannelCost],
            ),
            (
                None,
                self.limits.all,
                [BudgetKind::DayTokens, BudgetKind::DayCost],
            ),
        ] {
            for (budget, limit, asked) in [
                (kinds[0], limit.max_tokens.map(|most| most as f64), tokens),
                (kinds[1], limit.max_cost_usd, cost),
            ] {
                let Some(limit) = limit else { continue };
                let (used, limit) = tx.used_of_day(call.day, of, budget, limit)?;
                if asked > 0.0 && used + asked > limit + ROUNDING {
                    return Ok(Some(BudgetStop {
                        budget,
                        limit,
                        used,
                        asked,
                        day: call.day,
                    }));
                }
            }
        }
        tx.add_spend(call, [1, 0], &call.estimate, &Usage::default())?;
        Ok(None)
    }
}

/// Corrects what a call was reserved at by what it used. Relaxed: what is lost counts as it was reserved.
#[derive(Debug, Clone)]
pub struct SettleEmbedding {
    pub call: EmbeddingCall,
    /// What it used.
    pub usage: Usage,
    /// Whether it failed.
    pub failed: bool,
}

impl WriteCommand for SettleEmbedding {
    type Output = ();
    const DURABILITY: Durability = Durability::Relaxed;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<(), StoreError> {
        let failed = u32::from(self.failed);
        tx.add_spend(&self.call, [0, failed], &self.usage, &self.call.estimate)
    }
}

/// A vector of a text.
#[derive(Debug, Clone, PartialEq)]
pub struct NewVector {
    pub id: MemoryId,
    /// What the text was known by that it was made of.
    pub digest: [u8; 32],
    /// Of length 1.
    pub vector: Vec<f32>,
}

/// Keeps vectors. Relaxed: what is lost is made again.
#[derive(Debug, Clone)]
pub struct PutVectors {
    /// What they are stored under.
    pub model: String,
    pub vectors: Vec<NewVector>,
}

impl WriteCommand for PutVectors {
    /// How many were of a memory that still has that text.
    type Output = u64;
    const DURABILITY: Durability = Durability::Relaxed;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<u64, StoreError> {
        let mut kept = 0;
        for new in &self.vectors {
            kept += tx.conn.run(
                "INSERT OR REPLACE INTO memory_vectors (memory_id, model, dimension, digest, vector, at)
                 SELECT id, ?3, ?4, digest, ?5, ?6 FROM memories
                 WHERE id = ?1 AND digest = ?2 AND state = 'active'",
                params![
                    new.id,
                    new.digest,
                    self.model,
                    new.vector.len(),
                    vectors::to_bytes(&new.vector),
                    tx.now
                ],
            )? as u64;
        }
        if kept > 0 {
            tx.emit_memory("embedded", None, None, kept, "engine")?;
        }
        Ok(kept)
    }
}

impl WriteTx<'_> {
    /// What is used or reserved of a budget of a day, and its limit with what people added to it.
    fn used_of_day(
        &self,
        day: i64,
        channel: Option<&str>,
        budget: BudgetKind,
        limit: f64,
    ) -> Result<(f64, f64), StoreError> {
        let (of_spent, of_open) = if budget.is_money() {
            ("total(cost_usd)", "total(estimated_cost_usd)")
        } else {
            (
                "total(input_tokens + output_tokens)",
                "total(estimated_tokens)",
            )
        };
        self.conn.row(
            &format!(
                "SELECT (SELECT {of_spent} FROM spend WHERE day = ?1 AND (?2 IS NULL OR channel = ?2))
                    + (SELECT {of_open} FROM model_attempts
                        WHERE settled_at IS NULL AND day = ?1 AND (?2 IS NULL OR channel = ?2)) AS spent,
                    (SELECT total(amount) FROM budget_grants
                        WHERE day = ?1 AND budget = ?3 AND channel IS ?2) AS added"
            ),
            params![day, channel, budget],
            |row| Ok((row.get("spent")?, limit + row.get::<f64>("added")?)),
        )
    }

    /// Adds calls, and those of them that failed, to what was spent, and `usage` less what is counted of it already.
    fn add_spend(
        &self,
        call: &EmbeddingCall,
        [calls, failed]: [u32; 2],
        usage: &Usage,
        counted: &Usage,
    ) -> Result<(), StoreError> {
        let more = |used: u64, counted: u64| {
            let whole = |tokens| i64::try_from(tokens).unwrap_or(i64::MAX);
            whole(used) - whole(counted)
        };
        let unpriced = |usage: &Usage| match usage.cost_usd {
            Some(_) => 0,
            None => usage.input_tokens + usage.output_tokens,
        };
        let cost = usage.cost_usd.unwrap_or(0.0) - counted.cost_usd.unwrap_or(0.0);
        self.conn.run(
            "INSERT INTO spend VALUES (?1, ?2, ?3, ?4, ?5, max(?6, 0), 0, 0, 0, max(?7, 0.0), max(?8, 0))
             ON CONFLICT (day, channel, model) DO UPDATE SET calls = calls + ?4, failed = failed + ?5,
                input_tokens = max(input_tokens + ?6, 0), cost_usd = max(cost_usd + ?7, 0.0),
                unpriced_tokens = max(unpriced_tokens + ?8, 0)",
            params![
                call.day,
                call.channel,
                call.model,
                calls,
                failed,
                more(usage.input_tokens, counted.input_tokens),
                cost,
                more(unpriced(usage), unpriced(counted))
            ],
        )?;
        Ok(())
    }
}
