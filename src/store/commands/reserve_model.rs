//! Writes the intent of a model call, with its estimate, before the call; refuses it where a budget is used up.

use crate::protocol::ids::ContinuationId;
use crate::protocol::ids::ModelAttemptId;
use crate::store::command::{WriteCommand, WriteTx};
use crate::store::error::StoreError;
use crate::store::input::{BudgetKind, Purpose, SharedLimits};
use crate::store::sql::{Statements, params};

/// Reserves a model call. Durable: recorded spend is never below real calls.
#[derive(Debug, Clone)]
pub struct ReserveModel {
    pub continuation_id: ContinuationId,
    /// Epoch of the caller.
    pub epoch: u64,
    /// The step it would write.
    pub step: u32,
    /// Number of the try for this step, from 1.
    pub attempt: u32,
    /// `<provider>/<model>`.
    pub model: String,
    /// Input plus output tokens it may cost.
    pub estimated_tokens: u64,
    /// US dollars it may cost, when priced.
    pub estimated_cost_usd: Option<f64>,
    /// What it must stay within beside the limits of its turn, and the day it counts on.
    pub limits: SharedLimits,
    /// What the estimate of the input alone is before anything learned is applied: its session learns from it.
    pub estimated_input_tokens: Option<u64>,
}

/// What became of asking for a model call.
#[derive(Debug, Clone, PartialEq)]
pub enum Reservation {
    /// It may be made; its row is there.
    Granted(ModelAttemptId),
    /// A budget forbids it; nothing was written.
    Exhausted(BudgetStop),
}

/// The budget that forbids a model call.
#[derive(Debug, Clone, PartialEq)]
pub struct BudgetStop {
    pub budget: BudgetKind,
    /// How much it allows, grants included: tokens or US dollars.
    pub limit: f64,
    /// How much is used or reserved by others.
    pub used: f64,
    /// How much the call might have used.
    pub asked: f64,
    /// The day it was evaluated for, in days since 1970-01-01.
    pub day: i64,
}

impl WriteCommand for ReserveModel {
    /// Nothing is written where a budget is used up.
    type Output = Reservation;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<Reservation, StoreError> {
        let head = tx.running(self.continuation_id, self.epoch)?;
        tx.refuse_quarantined("continuation", head.id, "no model is called")?;
        // Every tool_use has its result before the next model call.
        let open: bool = tx.conn.value(
            "SELECT EXISTS (SELECT 1 FROM tool_calls WHERE continuation_id = ?1 AND result_step IS NULL)",
            [head.id],
        )?;
        if open {
            return Err(StoreError::bug(format!(
                "continuation {} has a tool call without result: no model call before it",
                head.id
            )));
        }
        if let Some(stop) = tx.judge_budgets(
            &head,
            Purpose::Turn,
            &self.limits,
            self.estimated_tokens,
            self.estimated_cost_usd,
        )? {
            return Ok(Reservation::Exhausted(stop));
        }
        let id = ModelAttemptId::generate();
        tx.conn.run(
            "INSERT INTO model_attempts (id, continuation_id, epoch, step, attempt, model, estimated_tokens,
                estimated_cost_usd, started_at, channel, day, estimated_input_tokens)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
            params![
                id,
                head.id,
                self.epoch,
                self.step,
                self.attempt,
                self.model,
                self.estimated_tokens,
                self.estimated_cost_usd,
                tx.now,
                head.channel,
                self.limits.day,
                self.estimated_input_tokens
            ],
        )?;
        Ok(Reservation::Granted(id))
    }
}
