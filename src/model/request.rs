//! The provider-neutral request and stream of one model call.
//!
//! A call succeeds only through [`ModelEvent::Finished`], which an adapter sends only after its
//! protocol's own terminal event; the end of bytes is never the end of an answer.

use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::BoxStream;
use serde_json::Value;

use crate::model::profiles::Profile;
use crate::protocol::artifact::ArtifactRef;
use crate::protocol::options::ModelParameters;
use crate::protocol::session::{NativeBlocks, Usage};

/// One tool as the model sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolDefinition {
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// JSON Schema of the arguments; always an object schema.
    pub input_schema: Value,
}

/// One call as the model wrote it.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelToolCall {
    /// The provider's id, or one we made when it gave none; stable for the step.
    pub provider_call_id: String,
    /// Tool name: outside text.
    pub name: String,
    /// The arguments, or what was wrong with them. Truncated arguments are an error, never repaired.
    pub args: Result<Value, MalformedArgs>,
}

/// Arguments that are not a complete JSON object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MalformedArgs {
    /// The raw text: outside text.
    pub raw: String,
    /// What is wrong, in words the model can act on.
    pub error: String,
}

/// One message of the conversation sent to a model.
#[derive(Debug, Clone, PartialEq)]
pub enum ModelMessage {
    /// The user (or the engine on the user's side).
    User {
        text: String,
        /// Pictures that came with it, in order.
        pictures: Vec<Picture>,
    },
    /// An earlier answer.
    Assistant {
        /// Visible text; may be empty.
        text: String,
        /// Calls it proposed.
        tool_calls: Vec<AssistantToolCall>,
        /// Provider-native blocks; an adapter uses them only when `family` is its own.
        native: Option<NativeBlocks>,
    },
    /// The results of all calls of the assistant message before it, in call order.
    ToolResults {
        /// One per call.
        results: Vec<ToolResultMessage>,
    },
}

impl ModelMessage {
    /// A text without pictures.
    pub fn user(text: impl Into<String>) -> Self {
        Self::User {
            text: text.into(),
            pictures: Vec::new(),
        }
    }
}

/// A picture of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// Where its content is kept.
    pub artifact: ArtifactRef,
    /// The content in base64. Empty until it is read; a picture without it is not sent.
    pub data: Arc<str>,
}

impl Picture {
    /// Media types that every provider takes which takes pictures.
    const MEDIA_TYPES: [&str; 4] = ["image/jpeg", "image/png", "image/gif", "image/webp"];
    /// Largest picture that every provider takes, in bytes: five million once it is base64.
    const MAX_BYTES: u64 = 3_700_000;

    /// The picture that a file is, where a model can be shown it.
    pub fn of(artifact: &ArtifactRef) -> Option<Self> {
        let is_shown = artifact.size <= Self::MAX_BYTES
            && Self::MEDIA_TYPES.contains(&artifact.media_type.as_str());
        is_shown.then(|| Self {
            artifact: artifact.clone(),
            data: Arc::default(),
        })
    }

    /// The content as a `data:` address.
    pub fn data_url(&self) -> String {
        format!("data:{};base64,{}", self.artifact.media_type, self.data)
    }
}

/// A call inside an earlier answer.
#[derive(Debug, Clone, PartialEq)]
pub struct AssistantToolCall {
    /// As in [`ModelToolCall`].
    pub provider_call_id: String,
    pub name: String,
    /// Arguments as JSON; `{}` where they were malformed.
    pub args: Value,
}

/// A result inside a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolResultMessage {
    /// As in [`ModelToolCall`].
    pub provider_call_id: String,
    pub name: String,
    /// Text of the result.
    pub content: String,
    /// Whether it is an error to the model.
    pub is_error: bool,
}

/// One model call.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelRequest {
    /// Model id without the provider prefix.
    pub model: String,
    /// Stable system text. Byte-identical between turns of a session while nothing changed.
    pub system: String,
    /// History, oldest first; ends with a user message or tool results.
    pub messages: Vec<ModelMessage>,
    /// Tools, in a stable order.
    pub tools: Vec<ToolDefinition>,
    /// Upper bound on output tokens.
    pub max_output_tokens: u32,
    /// Ask the provider for at most one call per answer.
    pub one_tool_per_step: bool,
    /// What the model can do and how it wants to be asked.
    pub profile: Profile,
    /// Sampling and the choice of a tool. A model that refuses one is asked without it.
    pub parameters: ModelParameters,
    /// Where the provider takes one, requests with this key share a prompt cache: the session's id, hashed. Not a
    /// secret, names nobody.
    pub prompt_cache_key: Option<String>,
}

impl ModelRequest {
    /// The pictures that are sent.
    pub fn pictures(&self) -> usize {
        let pictures = self.messages.iter().map(|message| match message {
            ModelMessage::User { pictures, .. } => pictures.len(),
            ModelMessage::Assistant { .. } | ModelMessage::ToolResults { .. } => 0,
        });
        pictures.sum()
    }

    /// Calls in the history: ids that we make up are numbered from here, so that they never meet an earlier one.
    pub fn earlier_calls(&self) -> usize {
        let calls = self.messages.iter().map(|message| match message {
            ModelMessage::Assistant { tool_calls, .. } => tool_calls.len(),
            ModelMessage::User { .. } | ModelMessage::ToolResults { .. } => 0,
        });
        calls.sum()
    }
}

/// An id or a name from elsewhere in the alphabet that providers accept (`[a-zA-Z0-9_-]`, 1 to 64).
pub fn legal_word(word: &str) -> String {
    let cleaned: String = word
        .chars()
        .take(64)
        .map(|c| {
            if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') {
                c
            } else {
                '_'
            }
        })
        .collect();
    if cleaned.is_empty() {
        "unnamed".to_owned()
    } else {
        cleaned
    }
}

/// What arrives while a call runs.
#[derive(Debug, Clone, PartialEq)]
pub enum ModelEvent {
    /// Visible text: outside text. May be empty.
    TextDelta(String),
    /// The provider is alive (ping, reasoning, tool arguments under way).
    Heartbeat,
    /// The answer is complete. Last event.
    Finished(Box<ModelAnswer>),
}

/// Why an answer ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StopReason {
    /// A natural end.
    EndTurn,
    /// It wants its tool calls executed.
    ToolUse,
    /// The output limit.
    MaxTokens,
    /// The provider refused.
    Refusal,
    /// Anything else, in the provider's word.
    Other(String),
    /// It paused a long answer of its own: the same content goes back unchanged, and the answer goes on. Counts as a
    /// step.
    Paused,
    /// The provider refused and named the rule: its word, outside text.
    RefusedFor(String),
}

/// A complete answer.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelAnswer {
    /// Visible text: outside text.
    pub text: String,
    /// Calls, in order.
    pub tool_calls: Vec<ModelToolCall>,
    /// Why it ended.
    pub stop: StopReason,
    /// The model that answered, as the provider names it: outside text. None = it named none.
    pub model: Option<String>,
    /// Tokens; `cost_usd` only when the provider itself reported it.
    pub usage: Usage,
    /// Provider-native content, verbatim, when the provider needs it replayed.
    pub native: Option<NativeBlocks>,
    /// What an operator should know about how this answer came, in words; usually nothing.
    pub notes: Vec<String>,
}

/// Why a call failed, as far as it decides what happens next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelErrorKind {
    /// The key is missing, wrong or expired. Not retried.
    Authentication,
    /// The model or endpoint does not exist. Not retried.
    NotFound,
    /// The provider rejected the request. Not retried.
    InvalidRequest,
    /// The history does not fit the model's window. Not retried as it is.
    ContextTooLong,
    /// Spend limit or quota. Not retried.
    QuotaExceeded,
    /// Too many requests. Retried after the given time.
    RateLimited,
    /// Overloaded or a 5xx. Retried.
    Overloaded,
    /// Connection refused, DNS, TLS. Retried.
    Unreachable,
    /// No bytes for too long. Retried.
    Timeout,
    /// The stream ended before its terminal event. Retried when nothing was shown.
    Disconnected,
    /// What came is not the protocol (HTML, wrong content type, oversized event). Retried once.
    Protocol,
    /// We stopped it.
    Cancelled,
    /// The model ended its answer without anything that can be used: a tool call it could not write, a turn that
    /// produced nothing. Retried once.
    Unusable,
}

/// A failed call. The message names the provider profile, what was expected and the next step, never a key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ModelError {
    pub kind: ModelErrorKind,
    /// Redacted, for people.
    pub message: String,
    /// What the provider asked us to wait.
    pub retry_after: Option<Duration>,
    /// Tokens the provider reported before it failed.
    pub usage: Option<TokenCount>,
}

/// Tokens of a failed call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TokenCount {
    pub input: u64,
    pub output: u64,
}

impl From<TokenCount> for Usage {
    fn from(count: TokenCount) -> Self {
        Self {
            input_tokens: count.input,
            output_tokens: count.output,
            ..Self::default()
        }
    }
}

impl ModelError {
    /// An error without retry hint.
    pub fn new(kind: ModelErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            retry_after: None,
            usage: None,
        }
    }

    /// The error of a stream that just ended.
    pub fn unanswered() -> Self {
        Self::new(
            ModelErrorKind::Disconnected,
            "the model's stream ended without an answer",
        )
    }
}

/// The stream of one call. Ends after `Finished` or after an error.
pub type ModelStream = BoxStream<'static, Result<ModelEvent, ModelError>>;

/// One configured provider. Dropping the stream closes the connection.
pub trait Model: Send + Sync {
    /// Provider name from the configuration.
    fn provider(&self) -> &str;

    /// Provider family, as in [`NativeBlocks::family`].
    fn family(&self) -> &'static str;

    /// Starts one call.
    fn stream(&self, request: ModelRequest) -> ModelStream;
}
