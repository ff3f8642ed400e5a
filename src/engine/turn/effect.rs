//! What a turn wants done. Data; the driver does it.

use crate::protocol::ids::ToolCallId;
use crate::store::input::BudgetKind;

/// What to do next. Within one list, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Ask the model; answer with `ModelSaid`, `ModelProposed`, `ModelFailed`, `ModelInterrupted` or `BudgetReached`.
    CallModel,
    /// Evaluate and store the proposed calls; answer with `CallsRecorded`.
    RecordCalls,
    /// Store the intent, run, store the outcome; answer with `ToolEnded` or `CallBecame`.
    StartTool(ToolCallId),
    /// Kill running tools; each still answers with `ToolEnded`.
    KillTools,
    /// Let go until a person decides; may answer with `GatesDecided`.
    Park,
    /// Ask a person for more budget and let go.
    AskBudget(BudgetKind),
    /// Store the final answer.
    Finish,
    /// Store the failure.
    Fail { code: &'static str, message: String },
    /// Let go; the turn goes on after a restart or release.
    Yield,
    /// Let go until a person or a rule resumes it.
    Interrupt {
        /// Why, for people.
        reason: String,
        /// What readers saw of the answer; empty where nothing was shown.
        partial: String,
    },
}
