//! Parts of commands: who acts, and the answers to approvals and deliveries.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::protocol::enums::{ContinuationState, DecisionKind, DecisionScope, Role, Scope};
use crate::protocol::ids::{ContinuationId, SessionId};
use crate::protocol::rule::RulePatch;

/// Who acts. The adapter that authenticated the caller sets it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Actor {
    /// A person at this machine: the embedded console or a peer of the unix socket. Has every
    /// scope.
    Operator {
        /// Unix user id of the peer.
        uid: u32,
        /// Login name, or the uid in digits.
        name: String,
        /// Name under `[people]`; none = the user belongs to nobody there.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        person: Option<String>,
    },
    /// The holder of a bearer token.
    Token {
        /// The token's public name.
        name: String,
        /// The scopes of the token.
        scopes: Vec<Scope>,
        /// Owner of the token, a name under `[people]`; none = a program uses it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        person: Option<String>,
    },
    /// A human on a chat platform.
    Person {
        /// Stable platform id, for example `telegram:123456`.
        platform_id: String,
        /// Name under `[people]`; none = the id belongs to nobody there.
        name: Option<String>,
        /// Role under `[people]`; an unlisted person is a user.
        role: Role,
    },
    /// The engine itself.
    Engine,
}

impl Actor {
    /// The stable id, which the engine stores with what they do.
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

    /// Name under `[people]`; none = not linked.
    pub fn person(&self) -> Option<&str> {
        match self {
            Actor::Operator { person, .. } | Actor::Token { person, .. } => person.as_deref(),
            Actor::Person { name, .. } => name.as_deref(),
            Actor::Engine => None,
        }
    }
}

/// Limits that a caller sets for one turn (continuation). Each can only lower what the
/// configuration allows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BudgetRequest {
    /// Most model calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_steps: Option<u32>,
    /// Most tool calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tool_calls: Option<u32>,
    /// Most seconds of model and engine time. Time spent waiting for people and tools does not
    /// count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_duration_seconds: Option<u32>,
    /// Most input plus output tokens of all model calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// Most US dollars of all model calls. Calls without a known price do not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_cost_usd: Option<f64>,
}

/// A person's answer to an approval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DecisionRequest {
    /// The decision.
    pub decision: DecisionKind,
    /// How far an `approve` reaches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<DecisionScope>,
    /// Seconds until the grant ends (scopes `turn` and `session`); 0 = with its turn or session.
    /// Default 8 hours for a session, 0 for a turn. A grant always ends with its turn or session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_in_seconds: Option<u64>,
    /// Digest of what the person saw. The engine answers a conflict when the current digest
    /// differs.
    pub digest: String,
    /// Revision that the person saw.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<u32>,
    /// The short code, required to approve critical calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirm_code: Option<String>,
    /// Reason for a `deny`, at most 2 KiB. The model reads it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// New arguments for `edit`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args: Option<serde_json::Value>,
    /// Answer for `answer`, at most 64 KiB: the model gets it in place of the tool's result. For a
    /// question, its answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// Minutes for `snooze`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minutes: Option<u32>,
    /// Extra amount for a budget: a count, tokens, seconds or US dollars, as the question says;
    /// none = what the question offers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra: Option<f64>,
    /// How long the card was on screen before the decision, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen_ms: Option<u64>,
    /// A rule to create with the decision (`approve` or `deny` of a call). The engine applies both
    /// or neither.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<Box<RulePatch>>,
    /// Whether the person decides several approvals together. Their calls start at least three
    /// seconds later, and `revoke` takes them back until then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub batch: bool,
}

impl DecisionRequest {
    /// A decision about this digest, without extras.
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

/// What a release does with the turns that waited during an emergency stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Waiting {
    /// Continue only the newest turn of each conversation.
    Newest,
    /// Continue all turns.
    #[default]
    All,
    /// Cancel all turns, with a notice to their conversations.
    Drop,
}

/// How a person settles an unknown or failed delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryResolution {
    /// It arrived.
    Sent,
    /// Send it again.
    SendAgain,
    /// Do not send it any more.
    Drop,
}

/// Longest text of a message, in bytes.
pub const MAX_TEXT_BYTES: usize = 256 * 1024;

/// The answer to an accepted message: the message is durable, and these ids lead to the result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Accepted {
    /// Session id.
    pub session_id: SessionId,
    /// Continuation id: the turn of this message.
    pub continuation_id: ContinuationId,
    /// State of the turn when the answer was written.
    pub state: ContinuationState,
    /// When the engine accepted the message.
    pub at: Timestamp,
    /// Whether this repeats an earlier request with the same idempotency key.
    #[serde(default)]
    pub repeated: bool,
}
