//! Messages that the bot sends itself on a schedule.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::protocol::command::BudgetRequest;
use crate::protocol::enums::{Autonomy, ContinuationState, MissedRuns, RoutineRunState};
use crate::protocol::ids::{ContinuationId, RoutineId, RoutineRunId};

/// One routine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Routine {
    /// Id.
    pub id: RoutineId,
    /// Name; unique.
    pub name: String,
    /// Cron of five or six fields, or `every 90m`.
    pub schedule: String,
    /// IANA name; none = of the machine.
    pub time_zone: Option<String>,
    /// What the bot is told.
    pub prompt: String,
    /// Channel whose conversation it goes to.
    pub channel: String,
    /// The conversation.
    pub conversation: String,
    /// Model; none = of the session.
    pub model: Option<String>,
    /// Limits of a run.
    pub budgets: BudgetRequest,
    /// The most it may do by itself.
    pub autonomy_ceiling: Autonomy,
    /// Whether gated calls wait for a person instead of being denied.
    pub park: bool,
    /// What happens to runs that were due while nothing ran.
    pub missed: MissedRuns,
    /// Seconds by which a run is delayed at most, at random.
    pub jitter_seconds: u32,
    /// Whether it runs by itself.
    pub enabled: bool,
    /// Who changed it last.
    pub by: String,
    /// Grows with each change.
    pub version: u64,
    /// When it is due next by its schedule.
    pub due_at: Option<Timestamp>,
    /// When that run really begins.
    pub begin_at: Option<Timestamp>,
    /// The last run.
    pub last_run: Option<RoutineRun>,
    /// When it was made.
    pub created_at: Timestamp,
    /// Last change.
    pub updated_at: Timestamp,
}

/// What a person sets.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RoutinePatch {
    /// New name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Cron of five or six fields, or `every 90m`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<String>,
    /// IANA name; empty = of the machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<String>,
    /// What the bot is told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// Channel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    /// Conversation; default the routine's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<String>,
    /// Model; empty = of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Limits of a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budgets: Option<BudgetRequest>,
    /// The most it may do by itself; default supervised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub autonomy_ceiling: Option<Autonomy>,
    /// Whether gated calls wait for a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub park: Option<bool>,
    /// What happens to missed runs; default skip.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missed: Option<MissedRuns>,
    /// Seconds of delay at most, at random; default 0, at most 3600.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter_seconds: Option<u32>,
    /// Whether it runs by itself; default yes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
}

/// One run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RoutineRun {
    /// Id.
    pub id: RoutineRunId,
    /// Its routine.
    pub routine_id: RoutineId,
    /// Where it stands.
    pub state: RoutineRunState,
    /// Why it was skipped or failed; who asked for it.
    pub detail: Option<String>,
    /// Its turn.
    pub continuation_id: Option<ContinuationId>,
    /// State of its turn; none = it has none, or it was swept.
    pub continuation_state: Option<ContinuationState>,
    /// The time by the schedule; none = a person asked for it.
    pub due_at: Option<Timestamp>,
    /// When it happened.
    pub at: Timestamp,
}
