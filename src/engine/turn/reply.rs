//! What becomes of asking for a step: an answer with what it took, or why there is none, in words for people.
//!
//! Every text here is redacted.

use std::time::Duration;

use crate::engine::core::Engine;
use crate::engine::response_cache::StoredResponse;
use crate::model::request::{ModelAnswer, ModelError, ModelToolCall, StopReason};
use crate::protocol::options::DirectCall;
use crate::protocol::session::{NO_MODEL, Usage};
use crate::store::commands::reserve_model::BudgetStop;
use crate::store::input::{AnswerSource, ModelStep};
use crate::store::queries::turn::CallRow;

/// Longest reason kept of a model that did not answer, in characters.
const REASON_CHARS: usize = 300;

/// A complete answer with what it took.
pub struct ModelReply {
    pub answer: ModelAnswer,
    /// Where it came from.
    pub source: AnswerSource,
    /// `<provider>/<model>`.
    pub model: String,
    /// Milliseconds of the successful try.
    pub latency_ms: u64,
    /// Tries, this one included.
    pub attempts: u32,
    /// Tokens of the tries before it.
    pub failed_tokens: u64,
    /// Estimated input tokens of it; 0 = no model was asked.
    pub prompt_tokens: u64,
    /// Ids of the memories that were found for the message and went in.
    pub retrieved: Vec<String>,
    /// Whether the last of what was left out is what retention removed: there is nothing to compact of that.
    pub removed: bool,
    /// What was left out, in words.
    pub dropped: Vec<String>,
    /// What else an operator should know, in words.
    pub notes: Vec<String>,
}

impl ModelReply {
    /// A cached response.
    pub fn kept(kept: StoredResponse, retrieved: Vec<String>) -> Self {
        Self {
            retrieved,
            ..Self::unasked(
                AnswerSource::Cache(kept.cached),
                kept.model,
                kept.text,
                Vec::new(),
            )
        }
    }

    /// What a direct call goes on with: the call, or what came of it.
    pub fn direct(call: &DirectCall, made: &[CallRow]) -> Self {
        let result = made.last().map(|row| row.call.result.clone());
        let tool_calls = match &result {
            Some(_) => Vec::new(),
            None => vec![ModelToolCall {
                provider_call_id: NO_MODEL.replace(' ', "_"),
                name: call.tool.clone(),
                args: Ok(call.arguments.clone()),
            }],
        };
        let text = result.flatten().unwrap_or_default();
        Self::unasked(AnswerSource::Direct, NO_MODEL.to_owned(), text, tool_calls)
    }

    /// No model was asked, nothing was used.
    fn unasked(
        source: AnswerSource,
        model: String,
        text: String,
        tool_calls: Vec<ModelToolCall>,
    ) -> Self {
        Self {
            answer: ModelAnswer {
                text,
                stop: match tool_calls.len() {
                    0 => StopReason::EndTurn,
                    _ => StopReason::ToolUse,
                },
                tool_calls,
                model: None,
                usage: Usage {
                    cost_usd: Some(0.0),
                    ..Usage::default()
                },
                native: None,
                notes: Vec::new(),
            },
            source,
            model,
            latency_ms: 0,
            attempts: 0,
            failed_tokens: 0,
            prompt_tokens: 0,
            retrieved: Vec::new(),
            removed: false,
            dropped: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// The step as stored: redacted text, usage with price.
    pub fn into_step(self, engine: &Engine, active_ms: u64) -> ModelStep {
        ModelStep {
            source: self.source,
            text: engine.redactor.redact(&self.answer.text).into_owned(),
            stop: stop_word(&self.answer.stop).to_owned(),
            answered_by: self.answer.model,
            usage: self.answer.usage,
            latency_ms: self.latency_ms,
            attempts: self.attempts,
            native: self.answer.native,
            dropped: self.dropped,
            notes: self.notes,
            active_ms,
            model: self.model,
        }
    }
}

/// The fixed word of a stop reason.
pub fn stop_word(stop: &StopReason) -> &str {
    match stop {
        StopReason::EndTurn => "end_turn",
        StopReason::ToolUse => "tool_use",
        StopReason::MaxTokens => "max_tokens",
        StopReason::Refusal | StopReason::RefusedFor(_) => "refusal",
        StopReason::Other(word) => word,
        StopReason::Paused => "pause_turn",
    }
}

/// Why there is no answer.
pub struct ModelFailure {
    pub code: &'static str,
    /// For people, redacted.
    pub message: String,
}

/// What became of asking for a step.
pub enum Outcome {
    Answered(Box<ModelReply>),
    /// None, and the turn is over.
    Failed(ModelFailure),
    /// None: a budget forbids it, and people are asked.
    Refused(BudgetStop),
    /// None for now: the turn waits to be resumed.
    Interrupted {
        /// Why and until when, for people, redacted.
        reason: String,
        /// Text that readers saw, redacted; empty where none was shown.
        partial: String,
    },
}

impl Outcome {
    /// The turn is over, for this reason.
    pub fn failed(code: &'static str, message: impl Into<String>) -> Self {
        Self::Failed(ModelFailure {
            code,
            message: message.into(),
        })
    }
}

/// A model that was asked as often as it may be and gave no answer.
pub struct GaveUp {
    pub code: &'static str,
    /// For people, redacted.
    pub message: String,
    /// Tries it had; 0 = it cannot be asked.
    pub tries: u32,
    /// The provider asks for a wait that is too long to sit through.
    pub asks_to_wait: Option<Duration>,
}

/// A model that gave up, in words.
pub fn describe((name, gave_up): &(&str, GaveUp)) -> String {
    let reason: String = gave_up.message.chars().take(REASON_CHARS).collect();
    match gave_up.tries {
        0 => format!("{name} cannot be asked: {reason}"),
        1 => format!("{name} did not answer: {reason}"),
        tries => format!("{name} did not answer {tries} tries, the last one: {reason}"),
    }
}

/// Where one of them only asks to wait, the turn can be resumed then; else it is over.
pub fn nobody_answered(engine: &Engine, gave_up: Vec<(&str, GaveUp)>) -> Outcome {
    let shortest = gave_up
        .iter()
        .filter_map(|(name, gave_up)| Some((gave_up.asks_to_wait?, *name)))
        .min();
    if let Some((wait, name)) = shortest {
        let seconds = i64::try_from(wait.as_secs_f64().ceil() as u64).unwrap_or(i64::MAX);
        let until = engine.clock.now().plus_seconds(seconds);
        return Outcome::Interrupted {
            reason: format!(
                "{name} asks to wait {seconds} s; resume the turn after {until}, or switch to another model"
            ),
            partial: String::new(),
        };
    }
    let all: Vec<String> = gave_up.iter().map(describe).collect();
    match gave_up.into_iter().next() {
        Some((_, only)) if all.len() == 1 => Outcome::failed(only.code, only.message),
        Some((_, first)) => Outcome::failed(first.code, all.join("; ")),
        None => Outcome::failed("internal", "no model is configured for this turn"),
    }
}

/// The stable word of a failure.
pub fn code(error: &ModelError) -> &'static str {
    use crate::model::request::ModelErrorKind as Kind;
    match error.kind {
        Kind::Authentication => "model_authentication",
        Kind::NotFound => "model_not_found",
        Kind::InvalidRequest => "model_invalid_request",
        Kind::ContextTooLong => "context_too_long",
        Kind::QuotaExceeded => "model_quota",
        Kind::RateLimited | Kind::Overloaded | Kind::Unreachable | Kind::Timeout => {
            "model_unavailable"
        }
        Kind::Disconnected => "model_disconnected",
        Kind::Protocol => "model_protocol",
        Kind::Cancelled => "cancelled",
        Kind::Unusable => "model_unusable",
    }
}
