//! What commands are made of: who acts, and what an answer to an approval or a delivery says.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::protocol::enums::{ContinuationState, DecisionKind, DecisionScope, Role, Scope};
use crate::protocol::ids::{ContinuationId, SessionId};
use crate::protocol::rule::RulePatch;

/// Who acts. Set by the adapter that authenticated the caller.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Actor {
    /// A person at this machine: the embedded console or a peer of the unix socket. Holds every scope.
    Operator {
        /// Unix user id of the peer.
        uid: u32,
        /// Login name, or the uid in digits.
        name: String,
        /// Name under `[people]`, when the user is linked to one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        person: Option<String>,
    },
    /// The holder of a bearer token.
    Token {
        /// The token's public name.
        name: String,
        /// What it may do.
        scopes: Vec<Scope>,
        /// Whose it is, a name under `[people]`; none = it stands for a program.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        person: Option<String>,
    },
    /// A human on a chat platform.
    Person {
        /// Stable platform id, for example `telegram:123456`.
        platform_id: String,
        /// Name under `[people]`, when the id is linked to one.
        name: Option<String>,
        /// Role under `[people]`; an unlisted person is a user.
        role: Role,
    },
    /// The engine itself.
    Engine,
}

impl Actor {
    /// The stable id, as stored with what they do.
    pub fn id(&self) -> String {
        match self {
            Actor::Operator { uid, .. } => format!("operator:{uid}"),
            Actor::Token { name, .. } => format!("token:{name}"),
            Actor::Person { platform_id, .. } => platform_id.clone(),
            Actor::Engine => "engine".to_owned(),
        }
    }

    /// A short stable label: a person's configured name, else the platform id, token or login name.
    pub fn label(&self) -> String {
        match self {
            Actor::Operator { name, person, .. } => person.as_ref().unwrap_or(name).clone(),
            Actor::Token { name, person, .. } => {
                person.clone().unwrap_or_else(|| format!("token {name}"))
            }
            Actor::Person {
                platform_id, name, ..
            } => name.clone().unwrap_or_else(|| platform_id.clone()),
            Actor::Engine => "engine".to_owned(),
        }
    }

    /// Who this is under `[people]`; none = nobody said.
    pub fn person(&self) -> Option<&str> {
        match self {
            Actor::Operator { person, .. } | Actor::Token { person, .. } => person.as_deref(),
            Actor::Person { name, .. } => name.as_deref(),
            Actor::Engine => None,
        }
    }
}

/// Limits a caller may set for one continuation. Each can only lower what the configuration allows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BudgetRequest {
    /// Model calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_steps: Option<u32>,
    /// Tool calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tool_calls: Option<u32>,
    /// Seconds of model and engine time; waiting for people and tools does not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_duration_seconds: Option<u32>,
    /// Input plus output tokens of all model calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// US dollars of all model calls; calls whose price is not known do not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_cost_usd: Option<f64>,
}

/// A person's answer to an approval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DecisionRequest {
    /// What is decided.
    pub decision: DecisionKind,
    /// How far an `approve` reaches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<DecisionScope>,
    /// Seconds until a permission for the shape ends (scopes `turn` and `session`); 0 = when its turn or session ends.
    /// Default 8 hours for a session, 0 for a turn. It never outlasts its turn or session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_in_seconds: Option<u64>,
    /// Digest of exactly what was shown. A different current digest is a conflict.
    pub digest: String,
    /// Revision that was shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<u32>,
    /// The short code, required to approve critical calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirm_code: Option<String>,
    /// Read by the model (deny), at most 2 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// New arguments (edit).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args: Option<serde_json::Value>,
    /// The answer given in place of the tool's (answer), at most 64 KiB; for a question, its answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// Minutes (snooze).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minutes: Option<u32>,
    /// Extra amount (budget): a count, tokens, seconds or US dollars, as the question says; none = what it offers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra: Option<f64>,
    /// Milliseconds the card was on screen before the decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen_ms: Option<u64>,
    /// A rule that is made with the decision, or not at all (approve and deny on a call).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<Box<RulePatch>>,
    /// Whether several are decided together. Their calls start three seconds later at least, and can be taken back.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub batch: bool,
}

impl DecisionRequest {
    /// A decision on what has this digest, without any extras.
    pub fn new(decision: DecisionKind, digest: String) -> Self {
        Self {
            decision,
            scope: None,
            expires_in_seconds: None,
            digest,
            revision: None,
            confirm_code: None,
            reason: None,
            args: None,
            answer: None,
            minutes: None,
            extra: None,
            seen_ms: None,
            rule: None,
            batch: false,
        }
    }
}

/// What to do with what waited during an emergency stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Waiting {
    /// Only the newest continuation of each conversation goes on.
    Newest,
    /// Everything goes on.
    #[default]
    All,
    /// Everything that waited is cancelled with a notice.
    Drop,
}

/// How an unknown or failed delivery is settled by a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryResolution {
    /// It arrived.
    Sent,
    /// Send it again.
    SendAgain,
    /// Give it up.
    Drop,
}

/// Longest text of a message, in bytes.
pub const MAX_TEXT_BYTES: usize = 256 * 1024;

/// The answer to a message submission: it is durable, and this is where to look for the result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Accepted {
    /// The session.
    pub session_id: SessionId,
    /// The continuation.
    pub continuation_id: ContinuationId,
    /// Its state when the answer was written.
    pub state: ContinuationState,
    /// When it was accepted.
    pub at: Timestamp,
    /// Whether this was a repetition of an earlier submission with the same key.
    #[serde(default)]
    pub repeated: bool,
}
