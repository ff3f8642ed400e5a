//! The gate's answers about calls that external agents make.
//!
//! Everything that an agent reports about itself is untrusted text: Leverframe cannot check it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::clock::Timestamp;
use crate::protocol::enums::{ExternalAgent, GateVerdict, ReportOutcome};
use crate::protocol::schema;

/// The channel of the sessions of all external agents.
pub const GATE: &str = "gate";

/// Largest request body of a hook, in bytes.
pub const MAX_HOOK_BYTES: usize = 256 * 1024;

/// Longest wait for an answer, in seconds.
pub const LONGEST_GATE_WAIT: u64 = 86_400;

/// The external agent that wants to make a call, as it describes itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExternalCaller {
    /// The external agent.
    pub agent: ExternalAgent,
    /// The program's own session id.
    pub session: String,
    /// Absolute path of its working directory.
    pub directory: String,
    /// The program's own id of the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// The subagent that makes the call; none = the agent itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subagent: Option<String>,
    /// The program's permission mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// Why the program asks its own user, in its words, which may be empty; none = it asks the gate
    /// before each call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_question: Option<String>,
    /// The machine that it runs on; none = the machine of the daemon.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The key that joins a repeated request to this one.
    pub request: String,
    /// When the program stops waiting for an answer.
    pub waits_until: Timestamp,
    /// Whether the program ends while the approval is pending and asks again after the decision, as
    /// jobs of Leverframe do.
    #[serde(default, skip_serializing_if = "schema::is_default")]
    pub deferred: bool,
    /// Whether Leverframe hides a part of the call as a secret. The program runs the call with that part,
    /// so only a person allows it, each time.
    #[serde(default, skip_serializing_if = "schema::is_default")]
    pub redacted: bool,
}

impl ExternalCaller {
    /// The caller in one line: `Claude Code · subagent explorer on build-3`.
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

/// The gate's answer to a hook of an external agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GateAnswer {
    /// The verdict.
    pub verdict: GateVerdict,
    /// Why the call is denied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The answer in the format of the program: an object.
    pub body: Value,
}

/// A report of an external agent after a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CallReport {
    /// How the call ended.
    pub outcome: ReportOutcome,
    /// Result of the call, redacted and at most 16 KiB: untrusted text.
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
    /// The external agent.
    pub agent: ExternalAgent,
    /// Absolute path of its working directory; none = it made no call yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// Its permission mode; none = it names none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// The machine that it runs on; none = the machine of the daemon.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Number of calls that it reported without asking first.
    #[serde(default)]
    pub unasked: u32,
}

impl ExternalSession {
    /// Coverage by the gate, in a word: `gated` = it asked about every call, `observed` = it only
    /// reported some calls.
    pub const fn assurance(&self) -> &'static str {
        match self.unasked {
            0 => "gated",
            _ => "observed",
        }
    }

    /// The meaning of that word for an operator.
    pub fn meaning(&self) -> String {
        match self.unasked {
            0 => "gated: each call that it reported asked here first".to_owned(),
            1 => "observed: a call ran without a question here".to_owned(),
            count => format!("observed: {count} calls ran without a question here"),
        }
    }

    /// Where it runs, in one line: `Claude Code in /srv/shop on build-3, mode default`.
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
