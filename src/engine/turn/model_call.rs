//! One model step: reserve, ask, retry, settle.
//!
//! Every try has a durable attempt row before the first byte leaves. Nothing is retried after text was shown.

use std::time::Instant;

use futures_util::StreamExt;

use crate::crash_point;
use crate::engine::context::{self, Context};
use crate::engine::core::{Engine, lock};
use crate::engine::turn::fold;
use crate::model::profiles::Profile;
use crate::model::request::{
    ModelAnswer, ModelError, ModelEvent, ModelRequest, StopReason, TokenCount,
};
use crate::model::retry::retry_delay;
use crate::protocol::event::{Event, EventBody};
use crate::protocol::ids::ModelAttemptId;
use crate::protocol::session::Usage;
use crate::protocol::snapshot::OpenStream;
use crate::store::commands::reserve_model::{Reservation, ReserveModel};
use crate::store::commands::settle_model::SettleModel;
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

/// Asks the model for the next step of a turn. The outer error is the store's, the inner one the model's.
pub async fn call(
    engine: &Engine,
    rows: &TurnRows,
) -> anyhow::Result<Result<ModelReply, ModelFailure>> {
    let name = model_name(engine, rows);
    let (model, model_id) = match engine.models.get(&name) {
        Ok(found) => found,
        Err(error) => {
            return Ok(Err(ModelFailure {
                code: "model_unknown",
                message: error.to_string(),
            }));
        }
    };
    let provider = model.provider().to_owned();
    let Some(context) = build_context(engine, rows, &provider).await? else {
        return Ok(Err(ModelFailure {
            code: "internal",
            message: "a tool call of this turn has no result; cancel and retry the turn".to_owned(),
        }));
    };
    let settings = engine
        .channel(&rows.channel)
        .map_err(|problem| anyhow::anyhow!(problem))?;
    let max_output_tokens = engine.models.max_output_tokens(&provider).unwrap_or(4096);
    let estimate = Usage {
        input_tokens: context.estimated_tokens,
        output_tokens: u64::from(max_output_tokens),
        ..Usage::default()
    };
    let price = |usage: &Usage| usage.cost_usd.or_else(|| engine.models.cost(&name, usage));
    let step = rows.steps.last().map_or(0, |step| step.n) + 1;
    let mut failed_tokens = 0_u64;
    for attempt in 1..=engine.settings.engine.max_model_attempts.max(1) {
        let reservation = engine
            .persist(ReserveModel {
                continuation_id: rows.id,
                epoch: engine.store.epoch(),
                step,
                attempt,
                model: name.clone(),
                estimated_tokens: estimate.input_tokens + estimate.output_tokens,
                estimated_cost_usd: price(&estimate),
            })
            .await?;
        let attempt_id = match reservation {
            Reservation::Granted(id) => id,
            Reservation::Exhausted(stop) => {
                return Ok(Err(ModelFailure {
                    code: "budget",
                    message: format!("the budget {} is used up", stop.budget.as_str()),
                }));
            }
        };
        crash_point!("llm.pre");
        publish(
            engine,
            rows,
            EventBody::ModelStarted {
                model: name.clone(),
                attempt,
            },
        );
        let started = Instant::now();
        let request = ModelRequest {
            model: model_id.clone(),
            system: context::system_text(
                &rows.channel,
                settings,
                engine.settings.engine.one_tool_per_step,
            ),
            messages: context.messages.clone(),
            tools: engine.tool_definitions.clone(),
            max_output_tokens,
            one_tool_per_step: engine.settings.engine.one_tool_per_step,
            profile: Profile::default(),
            prompt_cache_key: None,
        };
        let (outcome, shown) = listen(engine, rows, step, model.stream(request)).await;
        lock(&engine.streams).remove(&rows.id);
        crash_point!("llm.post");
        match outcome {
            Ok(mut answer) => {
                answer.usage.cost_usd = price(&answer.usage);
                let notes = std::mem::take(&mut answer.notes);
                let reply = ModelReply {
                    answer,
                    attempt_id,
                    model: name,
                    latency_ms: started.elapsed().as_millis() as u64,
                    attempts: attempt,
                    failed_tokens,
                    dropped: context.dropped,
                    notes,
                };
                return Ok(Ok(reply));
            }
            Err(error) => {
                let message = engine.redactor.redact(&error.message).into_owned();
                let mut usage = failed_usage(error.usage);
                usage.cost_usd = price(&usage);
                failed_tokens += usage.input_tokens + usage.output_tokens;
                engine
                    .persist(SettleModel {
                        attempt_id,
                        usage,
                        error: Some(message.clone()),
                        active_ms: 0,
                    })
                    .await?;
                match retry_delay(
                    &error,
                    attempt,
                    engine.settings.engine.max_model_attempts,
                    shown,
                    jitter(),
                ) {
                    Some(delay) => {
                        tracing::info!(continuation = %rows.id, attempt, ?delay, %message, "model call fails; trying again");
                        tokio::time::sleep(delay).await;
                    }
                    None => {
                        return Ok(Err(ModelFailure {
                            code: code(&error),
                            message,
                        }));
                    }
                }
            }
        }
    }
    Ok(Err(ModelFailure {
        code: "model_unavailable",
        message: format!("model `{name}` could not be reached"),
    }))
}

/// The model of a turn: its own, else its session's, its channel's, the default.
pub fn model_name(engine: &Engine, rows: &TurnRows) -> String {
    rows.model
        .clone()
        .or_else(|| {
            engine
                .settings
                .channels
                .get(&rows.channel)
                .and_then(|channel| channel.model.clone())
        })
        .unwrap_or_else(|| engine.settings.model.clone())
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

/// Follows one stream to its end. The flag says whether text was shown.
async fn listen(
    engine: &Engine,
    rows: &TurnRows,
    step: u32,
    mut stream: crate::model::request::ModelStream,
) -> (Result<ModelAnswer, ModelError>, bool) {
    let mut offset = 0_u64;
    let mut open = false;
    while let Some(event) = stream.next().await {
        match event {
            Ok(ModelEvent::TextDelta(text)) => {
                if text.is_empty() {
                    continue;
                }
                if !open {
                    open = true;
                    publish(engine, rows, EventBody::ContinuationStreaming { step });
                    lock(&engine.streams).insert(
                        rows.id,
                        OpenStream {
                            continuation_id: rows.id,
                            session_id: rows.session_id,
                            step,
                            text: String::new(),
                            offset: 0,
                        },
                    );
                }
                crash_point!("llm.mid_stream");
                let text = engine.redactor.redact(&text).into_owned();
                let length = text.len() as u64;
                if let Some(stream) = lock(&engine.streams).get_mut(&rows.id) {
                    stream.text.push_str(&text);
                    stream.offset += length;
                }
                publish(engine, rows, EventBody::MessageDelta { step, offset, text });
                offset += length;
            }
            Ok(ModelEvent::Heartbeat) => {}
            Ok(ModelEvent::Finished(answer)) => return (Ok(*answer), open),
            Err(error) => return (Err(error), open),
        }
    }
    let error = ModelError::new(
        crate::model::request::ModelErrorKind::Disconnected,
        "the model's stream ended without an answer",
    );
    (Err(error), open)
}

fn publish(engine: &Engine, rows: &TurnRows, body: EventBody) {
    engine.store.publish(Event {
        seq: None,
        at: engine.clock.now(),
        session_id: Some(rows.session_id),
        continuation_id: Some(rows.id),
        body,
    });
}

fn failed_usage(tokens: Option<TokenCount>) -> Usage {
    let tokens = tokens.unwrap_or_default();
    Usage {
        input_tokens: tokens.input,
        output_tokens: tokens.output,
        ..Usage::default()
    }
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
        Kind::Unusable => "model_unusable",
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
