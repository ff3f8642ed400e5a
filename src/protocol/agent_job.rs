//! Jobs of external agents that Leverframe starts: a task, the runs of the program, and its answer.
//!
//! A job is a session of the channel `gate`, and each run of its program a turn of that session.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::clock::Timestamp;
use crate::protocol::enums::{AgentJobState, ExternalAgent};
use crate::protocol::ids::{ApprovalId, ContinuationId, SessionId};

/// The tool whose calls are the runs of a job.
pub const RUN_AGENT: &str = "run_agent";
/// What the conversation keys of jobs begin with.
pub const JOBS: &str = "job/";

/// One run of a program: the arguments of [`RUN_AGENT`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentRun {
    /// Which program.
    pub agent: ExternalAgent,
    /// The program's own id of its session, a UUID that we chose.
    pub session: String,
    /// Where it works; absolute.
    pub directory: String,
    /// What it is to do.
    pub task: String,
    /// The program's own id of the call that it deferred; none = it begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

impl AgentRun {
    /// The run that the arguments of a call stand for; none = they are of another call.
    pub fn from_arguments(arguments: &Value) -> Option<Self> {
        Self::deserialize(arguments).ok()
    }

    /// The conversation key of the program's session: that of its questions.
    pub fn conversation(&self) -> String {
        format!("{}/{}", self.agent, self.session)
    }

    /// The conversation key of the job.
    pub fn job(&self) -> String {
        format!("{JOBS}{}", self.conversation())
    }
}

/// A job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentJob {
    /// Its id: that of the session of its runs.
    pub id: SessionId,
    /// Which program.
    pub agent: ExternalAgent,
    /// The program's own id of its session.
    pub session: String,
    /// Where it works.
    pub directory: String,
    /// What it is to do: outside text.
    pub task: String,
    /// Where it stands.
    pub state: AgentJobState,
    /// Why it stands there, where that needs words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The approval that it waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_id: Option<ApprovalId>,
    /// What the program answered in the end: outside text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// The newest run.
    pub continuation_id: ContinuationId,
    /// How many times the program was started or is to be.
    pub runs: u32,
    /// When it came.
    pub created_at: Timestamp,
    /// Last change.
    pub updated_at: Timestamp,
}

impl AgentJob {
    /// Where it stands and what comes next, in a sentence. May hold outside text.
    pub fn meaning(&self) -> String {
        let product = self.agent.product();
        let detail = |before: &str| match &self.detail {
            Some(detail) => format!("{before}: {detail}"),
            None => before.to_owned(),
        };
        match self.state {
            AgentJobState::Queued => format!("{product} starts as soon as it may"),
            AgentJobState::Running => format!("{product} runs"),
            AgentJobState::Waiting => {
                format!("{product} has ended; a decision about its call starts it again")
            }
            AgentJobState::Asking => {
                format!("{product} was stopped or may not start: the Queue asks how to go on")
            }
            AgentJobState::Interrupted => format!(
                "stopped before {product} started: `leverframe continuations resume {}` lets it go on",
                self.continuation_id
            ),
            AgentJobState::Completed => format!("{product} gave its answer"),
            AgentJobState::Failed => detail(&format!("{product} gave no answer")),
            AgentJobState::Cancelled => detail("ended by a person"),
        }
    }
}
