//! One model step: which models, in which order, how often; and what becomes of their answers.
//!
//! Nothing is retried after text was shown.

use crate::engine::context::{self, Context};
use crate::engine::core::Engine;
use crate::engine::turn::attempt::{Answered, Asked, Failed, Tried, attempt};
use crate::engine::turn::candidates::candidates;
use crate::engine::turn::fold;
use crate::model::profiles::Profile;
use crate::model::request::{ModelAnswer, ModelError, ModelRequest, StopReason};
use crate::model::retry::retry_delay;
use crate::protocol::ids::ModelAttemptId;
use crate::store::commands::reserve_model::BudgetStop;
use crate::store::input::{AnswerSource, ModelStep};
use crate::store::queries::turn::TurnRows;

/// A complete answer with what it took.
pub struct ModelReply {
    /// The answer.
    pub answer: ModelAnswer,
    /// The attempt that gave it.
    pub attempt_id: ModelAttemptId,
    /// `<provider>/<model>`.
    pub model: String,
    /// Milliseconds of the successful try.
    pub latency_ms: u64,
    /// Tries, this one included.
    pub attempts: u32,
    /// Tokens of the tries before it.
    pub failed_tokens: u64,
    /// What did not fit, in words.
    pub dropped: Vec<String>,
    /// What else an operator should know, in words.
    pub notes: Vec<String>,
}

impl ModelReply {
    /// The step as stored: redacted text, usage with price.
    pub fn into_step(self, engine: &Engine, active_ms: u64) -> ModelStep {
        ModelStep {
            source: AnswerSource::Attempt(self.attempt_id),
            text: engine.redactor.redact(&self.answer.text).into_owned(),
            stop: stop_word(&self.answer.stop).to_owned(),
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
        StopReason::Refusal => "refusal",
        StopReason::Other(word) => word,
    }
}

/// Why there is no answer.
pub struct ModelFailure {
    /// Stable word.
    pub code: &'static str,
    /// For people, redacted.
    pub message: String,
}

/// What became of asking for a step.
pub enum Outcome {
    /// An answer.
    Answered(Box<ModelReply>),
    /// None, and the turn is over.
    Failed(ModelFailure),
    /// None: a budget forbids it, and people are asked.
    Refused(BudgetStop),
}

impl Outcome {
    fn failed(code: &'static str, message: impl Into<String>) -> Self {
        Self::Failed(ModelFailure {
            code,
            message: message.into(),
        })
    }
}

/// Asks for the next step of a turn. The error is the store's.
pub async fn call(engine: &Engine, rows: &TurnRows) -> anyhow::Result<Outcome> {
    let chosen = candidates(&engine.settings, &rows.channel, rows.model.as_deref());
    let step = rows.steps.last().map_or(0, |step| step.n) + 1;
    let mut asked_so_far = SoFar {
        attempts: 0,
        failed_tokens: 0,
        notes: chosen.notes,
    };
    let mut outcome = Outcome::failed("internal", "no model is configured for this turn");
    for name in &chosen.models {
        outcome = ask(engine, rows, step, name, &mut asked_so_far).await?;
        match outcome {
            Outcome::Answered(_) | Outcome::Failed(_) | Outcome::Refused(_) => break,
        }
    }
    Ok(outcome)
}

/// What a step has taken before it has an answer.
struct SoFar {
    attempts: u32,
    failed_tokens: u64,
    notes: Vec<String>,
}

/// Asks one model, as often as it may be asked.
async fn ask(
    engine: &Engine,
    rows: &TurnRows,
    step: u32,
    name: &str,
    so_far: &mut SoFar,
) -> anyhow::Result<Outcome> {
    let (model, model_id) = match engine.models.get(name) {
        Ok(found) => found,
        Err(error) => return Ok(Outcome::failed("model_unknown", error.to_string())),
    };
    let Some(context) = build_context(engine, rows, model.provider()).await? else {
        return Ok(Outcome::failed(
            "internal",
            "a tool call of this turn has no result; cancel and retry the turn",
        ));
    };
    let settings = engine
        .channel(&rows.channel)
        .map_err(|problem| anyhow::anyhow!(problem))?;
    let one_tool_per_step = engine.settings.engine.one_tool_per_step;
    let request = ModelRequest {
        model: model_id,
        system: context::system_text(&rows.channel, settings, one_tool_per_step),
        messages: context.messages,
        tools: engine.tool_definitions.clone(),
        max_output_tokens: engine
            .models
            .max_output_tokens(model.provider())
            .unwrap_or(4096),
        one_tool_per_step,
        profile: Profile::default(),
        prompt_cache_key: None,
    };
    let most = engine.settings.engine.max_model_attempts.max(1);
    for of_this_model in 1..=most {
        so_far.attempts += 1;
        let asked = Asked {
            name,
            model: model.as_ref(),
            request: request.clone(),
            estimated_input_tokens: context.estimated_tokens,
            step,
            attempt: so_far.attempts,
        };
        let Failed {
            error,
            shown,
            tokens,
        } = match attempt(engine, rows, asked).await? {
            Tried::Answered(Answered {
                answer,
                attempt_id,
                latency_ms,
            }) => {
                return Ok(Outcome::Answered(Box::new(ModelReply {
                    answer,
                    attempt_id,
                    model: name.to_owned(),
                    latency_ms,
                    attempts: so_far.attempts,
                    failed_tokens: so_far.failed_tokens,
                    dropped: context.dropped,
                    notes: std::mem::take(&mut so_far.notes),
                })));
            }
            Tried::Refused(stop) => return Ok(Outcome::Refused(stop)),
            Tried::Failed(failed) => failed,
        };
        so_far.failed_tokens += tokens;
        let Some(delay) = retry_delay(&error, of_this_model, most, !shown.is_empty(), jitter())
        else {
            return Ok(Outcome::failed(code(&error), error.message));
        };
        tracing::info!(continuation = %rows.id, attempt = so_far.attempts, ?delay, message = %error.message, "model call fails; trying again");
        tokio::time::sleep(delay).await;
    }
    Ok(Outcome::failed(
        "model_unavailable",
        format!("model `{name}` could not be reached"),
    ))
}

async fn build_context(
    engine: &Engine,
    rows: &TurnRows,
    provider: &str,
) -> anyhow::Result<Option<Context>> {
    let (session, continuation) = (rows.session_id, rows.id);
    let exchanges = engine.settings.engine.history_exchanges;
    let history = engine
        .store
        .read_here(move |reader| reader.history(session, continuation, exchanges))
        .await?;
    let history: Vec<context::Exchange> = history.into_iter().map(fold::earlier).collect();
    let settings = engine
        .channel(&rows.channel)
        .map_err(|problem| anyhow::anyhow!(problem))?;
    let system = context::system_text(
        &rows.channel,
        settings,
        engine.settings.engine.one_tool_per_step,
    );
    Ok(context::build(
        &system,
        &engine.tool_definitions,
        &history,
        &fold::current(rows),
        engine.models.context_window(provider).unwrap_or(8192),
        engine.models.max_output_tokens(provider).unwrap_or(4096),
    ))
}

fn code(error: &ModelError) -> &'static str {
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
    }
}

/// A number in 0..1 that differs between callers; retries of many sessions must not fall together.
fn jitter() -> f64 {
    let mut bytes = [0_u8; 4];
    match getrandom::fill(&mut bytes) {
        Ok(()) => f64::from(u32::from_le_bytes(bytes)) / (f64::from(u32::MAX) + 1.0),
        Err(_) => 0.5,
    }
}
