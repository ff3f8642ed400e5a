//! Routines: messages that the bot sends itself on a schedule.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::protocol::command::BudgetRequest;
use crate::protocol::enums::{Autonomy, ContinuationState, MissedRuns, RoutineRunState};
use crate::protocol::ids::{ContinuationId, RoutineId, RoutineRunId};

/// A routine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Routine {
    /// Id.
    pub id: RoutineId,
    /// Unique name.
    pub name: String,
    /// Cron of five or six fields, or `every 90m`.
    pub schedule: String,
    /// IANA name of the time zone; none = that of the machine.
    pub time_zone: Option<String>,
    /// The message for the bot.
    pub prompt: String,
    /// Channel of its conversation.
    pub channel: String,
    /// Conversation key.
    pub conversation: String,
    /// Model; none = the session's model.
    pub model: Option<String>,
    /// Limits of each run.
    pub budgets: BudgetRequest,
    /// Highest autonomy level of its runs.
    pub autonomy_ceiling: Autonomy,
    /// Whether gated calls wait for a person; false = the engine denies them.
    pub park: bool,
    /// What happens to runs that were due while the daemon was off.
    pub missed: MissedRuns,
    /// Most seconds of random delay of a run.
    pub jitter_seconds: u32,
    /// Whether it runs on its schedule.
    pub enabled: bool,
    /// Label of who changed it last.
    pub by: String,
    /// Rises with each change.
    pub version: u64,
    /// When the next run is due by the schedule.
    pub due_at: Option<Timestamp>,
    /// When that run begins, with its random delay.
    pub begin_at: Option<Timestamp>,
    /// The last run.
    pub last_run: Option<RoutineRun>,
    /// When it was created.
    pub created_at: Timestamp,
    /// Last change.
    pub updated_at: Timestamp,
}

/// Settings of a routine. Absent fields stay, or take their default.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RoutinePatch {
    /// New name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// New schedule: cron of five or six fields, or `every 90m`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<String>,
    /// IANA name of the time zone; empty = that of the machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<String>,
    /// The message for the bot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// Channel of its conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    /// Conversation key; default: the routine's own conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<String>,
    /// Model; empty = the session's model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Limits of each run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budgets: Option<BudgetRequest>,
    /// Highest autonomy level of its runs; default `supervised`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub autonomy_ceiling: Option<Autonomy>,
    /// Whether gated calls wait for a person; default no: the engine denies them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub park: Option<bool>,
    /// What happens to missed runs; default `skip`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missed: Option<MissedRuns>,
    /// Most seconds of random delay of a run, 0 to 3600; default 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter_seconds: Option<u32>,
    /// Whether it runs on its schedule; default yes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
}

/// A run of a routine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RoutineRun {
    /// Id.
    pub id: RoutineRunId,
    /// Routine id.
    pub routine_id: RoutineId,
    /// State of the run.
    pub state: RoutineRunState,
    /// Why it was skipped or failed, or who started it.
    pub detail: Option<String>,
    /// Its turn; none = it started none.
    pub continuation_id: Option<ContinuationId>,
    /// State of its turn; none = it has no turn, or the sweep removed it.
    pub continuation_state: Option<ContinuationState>,
    /// When the run was due by the schedule; none = a person started it.
    pub due_at: Option<Timestamp>,
    /// When the run began, or was skipped.
    pub at: Timestamp,
}
