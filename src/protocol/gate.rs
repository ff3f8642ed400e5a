//! What the gate says of calls that external agents make by themselves.
//!
//! Everything an agent says of itself is outside text: nobody here checks it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::clock::Timestamp;
use crate::protocol::enums::{ExternalAgent, GateVerdict, ReportOutcome};
use crate::protocol::schema;

/// The channel of every session of an external agent.
pub const GATE: &str = "gate";

/// Longest body that a hook sends, in bytes.
pub const MAX_HOOK_BYTES: usize = 256 * 1024;

/// Longest that a caller waits for an answer, in seconds.
pub const LONGEST_GATE_WAIT: u64 = 86_400;

/// The external agent that wants to make a call, as it describes itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExternalCaller {
    /// Which program.
    pub agent: ExternalAgent,
    /// The program's own id of its session.
    pub session: String,
    /// Its working directory.
    pub directory: String,
    /// The program's own id of the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// The subagent that makes the call; none = the agent itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subagent: Option<String>,
    /// The program's mode of permissions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// Why the program asks its own person, in its words, maybe none; none = it asks before each call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_question: Option<String>,
    /// The machine that it runs on; none = this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The key that joins a repeated request to this one.
    pub request: String,
    /// When the program stops waiting for an answer.
    pub waits_until: Timestamp,
    /// Whether the program ends while the question waits, and asks again once there is a decision: a job of ours.
    #[serde(default, skip_serializing_if = "schema::is_default")]
    pub deferred: bool,
}

impl ExternalCaller {
    /// Who asks, in one line: `Claude Code · subagent explorer on build-3`.
    pub fn label(&self) -> String {
        let subagent = self.subagent.as_ref();
        let host = self.host.as_ref();
        format!(
            "{}{}{}",
            self.agent.product(),
            subagent.map_or_else(String::new, |name| format!(" · subagent {name}")),
            host.map_or_else(String::new, |name| format!(" on {name}"))
        )
    }
}

/// What a hook of an external agent is told.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GateAnswer {
    /// What it comes to.
    pub verdict: GateVerdict,
    /// Why, of a call that is denied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The same in the words of the program: an object.
    pub body: Value,
}

/// What an external agent reports of a call after it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CallReport {
    /// How it ended.
    pub outcome: ReportOutcome,
    /// What it gave, redacted and at most 16 KiB: outside text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// When the report came.
    pub at: Timestamp,
}

impl CallReport {
    /// How the call ended, in a sentence.
    pub const fn in_words(&self) -> &'static str {
        match self.outcome {
            ReportOutcome::Succeeded => "The agent reports that it ran.",
            ReportOutcome::Failed => "The agent reports that it failed.",
            ReportOutcome::Unreported => "The agent went on and reported no end of it.",
        }
    }
}

/// The session of an external agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExternalSession {
    /// Which program.
    pub agent: ExternalAgent,
    /// Its working directory, where it made a call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// Its mode of permissions, where it names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// The machine that it runs on; none = this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Calls that it reported and never asked about.
    #[serde(default)]
    pub unasked: u32,
}

impl ExternalSession {
    /// How far its calls pass the gate, in a word: `gated` = each one asked, `observed` = some only were reported.
    pub const fn assurance(&self) -> &'static str {
        match self.unasked {
            0 => "gated",
            _ => "observed",
        }
    }

    /// What that word means for an operator.
    pub fn meaning(&self) -> String {
        match self.unasked {
            0 => "gated: each call that it reported asked here first".to_owned(),
            1 => "observed: a call ran without a question here".to_owned(),
            count => format!("observed: {count} calls ran without a question here"),
        }
    }

    /// Where it runs, in a line: `Claude Code in /srv/shop on build-3, mode default`.
    pub fn place(&self) -> String {
        let part = |before: &str, what: &Option<String>| {
            what.as_ref()
                .map_or_else(String::new, |what| format!("{before}{what}"))
        };
        format!(
            "{}{}{}{}",
            self.agent.product(),
            part(" in ", &self.directory),
            part(" on ", &self.host),
            part(", mode ", &self.mode)
        )
    }
}
