//! Jobs of external agents that Leverframe starts: a task, the runs of the program, and its answer.
//!
//! A job is a session of the channel `gate`. Each run of its program is a turn of that session.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::clock::Timestamp;
use crate::protocol::enums::{AgentJobState, ExternalAgent};
use crate::protocol::gate::GATE;
use crate::protocol::ids::{ApprovalId, ContinuationId, SessionId};

/// The tool whose calls start the runs of a job.
pub const RUN_AGENT: &str = "run_agent";
/// Prefix of the conversation keys of jobs.
pub const JOBS: &str = "job/";

/// Whether a conversation of a channel is a job's.
pub fn is_job(channel: &str, conversation: &str) -> bool {
    channel == GATE && conversation.starts_with(JOBS)
}

/// One run of a program: the arguments of [`RUN_AGENT`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentRun {
    /// The external agent that runs.
    pub agent: ExternalAgent,
    /// The program's own session id: a UUID that Leverframe chose.
    pub session: String,
    /// Absolute path of its working directory.
    pub directory: String,
    /// The task for the agent.
    pub task: String,
    /// The program's own id of the call that it deferred; none = this is the first run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

impl AgentRun {
    /// Reads a run from the arguments of a call; none = the call belongs to another tool.
    pub fn from_arguments(arguments: &Value) -> Option<Self> {
        Self::deserialize(arguments).ok()
    }

    /// The conversation key of the program's session, where its questions are asked.
    pub fn conversation(&self) -> String {
        format!("{}/{}", self.agent, self.session)
    }

    /// The conversation key of the job.
    pub fn job(&self) -> String {
        format!("{JOBS}{}", self.conversation())
    }
}

/// A job of an external agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentJob {
    /// Job id, which is the id of the session of its runs.
    pub id: SessionId,
    /// The external agent that does the task.
    pub agent: ExternalAgent,
    /// The program's own session id.
    pub session: String,
    /// Absolute path of its working directory, on the machine of the daemon.
    pub directory: String,
    /// The task for the agent: untrusted text.
    pub task: String,
    /// Current state.
    pub state: AgentJobState,
    /// Why the job is in this state; none = the state says it all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The approval that the job waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_id: Option<ApprovalId>,
    /// The program's final answer: untrusted text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// The turn of the newest run.
    pub continuation_id: ContinuationId,
    /// How many times the engine has started the program or will start it.
    pub runs: u32,
    /// When the job was created.
    pub created_at: Timestamp,
    /// When the job changed last.
    pub updated_at: Timestamp,
}

impl AgentJob {
    /// State and next step in one sentence. May contain untrusted text.
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
