//! Writes the intent of a model call, with its estimate, before the call.

use crate::protocol::ids::ContinuationId;

/// Reserves a model call. Durable: recorded spend is never below real calls.
#[derive(Debug, Clone)]
pub struct ReserveModel {
    /// The continuation.
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
}
