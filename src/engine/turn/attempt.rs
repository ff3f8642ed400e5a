//! One try of one model: reserve, ask, listen; a try that fails is settled here, one that answers with its step.
//!
//! The row of a try is durable before its first byte leaves.

use std::time::Instant;

use futures_util::StreamExt;

use crate::clock::Day;
use crate::crash_point;
use crate::engine::budget;
use crate::engine::core::Engine;
use crate::engine::open_calls::OpenCall;
use crate::engine::turn::error::TurnError;
use crate::engine::turn::memory::ReadNote;
use crate::engine::turn::open_call;
use crate::model::limits::LimitedProvider;
use crate::model::request::{
    ModelAnswer, ModelError, ModelErrorKind, ModelEvent, ModelRequest, ModelStream,
};
use crate::protocol::event::EventBody;
use crate::protocol::ids::ModelAttemptId;
use crate::protocol::session::Usage;
use crate::protocol::snapshot::OpenStream;
use crate::store::commands::reserve_model::{BudgetStop, Reservation, ReserveModel};
use crate::store::commands::settle_model::SettleModel;
use crate::store::queries::turn::TurnRows;

/// One model as it is about to be asked.
pub struct AttemptTarget<'a> {
    /// `<provider>/<model>`.
    pub name: &'a str,
    pub model: &'a LimitedProvider,
    /// What it is asked.
    pub request: ModelRequest,
    /// Estimated input tokens of the request, not calibrated: the session learns from them.
    pub raw_input_tokens: u64,
    /// The same, calibrated.
    pub estimated_input_tokens: u64,
    /// The step it would write.
    pub step: u32,
    /// Number of the try for this step, from 1.
    pub attempt: u32,
    /// What it reads of memory, written with the reservation; none = nothing worth a note.
    pub read: Option<ReadNote>,
}

/// What became of a try.
pub enum AttemptOutcome {
    /// An answer. Its reservation is settled with the step that it becomes.
    Answered(AttemptAnswer),
    /// A budget forbids it: nothing was sent.
    Refused(BudgetStop),
    /// No answer; the reservation is settled.
    Failed(AttemptFailure),
}

/// An answer with what it took.
pub struct AttemptAnswer {
    /// The answer, priced.
    pub answer: ModelAnswer,
    pub attempt_id: ModelAttemptId,
    /// Milliseconds from request to end.
    pub latency_ms: u64,
}

/// A try without an answer.
pub struct AttemptFailure {
    /// Why; the message is redacted.
    pub error: ModelError,
    /// Text that readers saw before it failed, redacted.
    pub shown: String,
    /// Tokens it used.
    pub tokens: u64,
}

/// Makes one try. The outer error is the store's.
pub async fn attempt(
    engine: &Engine,
    rows: &TurnRows,
    asked: AttemptTarget<'_>,
) -> Result<AttemptOutcome, TurnError> {
    let name = asked.name;
    let estimate = budget::most(
        asked.estimated_input_tokens,
        asked.request.max_output_tokens,
    );
    let day = Day::local(engine.clock.now()).0;
    // Before anything is reserved: who waits has spent nothing.
    let place = open_call::wait_for_place(engine, rows, asked.model).await;
    let reserve = ReserveModel {
        continuation_id: rows.id,
        epoch: engine.store.epoch(),
        step: asked.step,
        attempt: asked.attempt,
        model: name.to_owned(),
        estimated_tokens: estimate.input_tokens + estimate.output_tokens,
        estimated_cost_usd: engine.models.cost(name, &estimate),
        limits: budget::shared_limits(&engine.settings, &rows.channel, day),
        estimated_input_tokens: Some(asked.raw_input_tokens),
    };
    // What it reads taints its session before it reads it.
    let reservation = match asked.read {
        Some(read) => engine.persist((reserve, read)).await?.0,
        None => engine.persist(reserve).await?,
    };
    let attempt_id = match reservation {
        Reservation::Granted(id) => id,
        Reservation::Exhausted(stop) => return Ok(AttemptOutcome::Refused(stop)),
    };
    crash_point!("llm.pre");
    engine.publish_of(
        rows,
        EventBody::ModelStarted {
            model: name.to_owned(),
            attempt: asked.attempt,
            not_before: None,
        },
    );
    let started = Instant::now();
    engine.open_calls.begin(
        rows.id,
        OpenCall {
            attempt_id,
            model: name.to_owned(),
            attempt: asked.attempt,
            input_tokens: asked.estimated_input_tokens,
            signs: 0,
            started,
            usage: None,
        },
    );
    let stream = asked.model.stream_in(place, asked.request);
    let (outcome, shown) = listen(engine, rows, asked.step, stream).await;
    engine.open_calls.close_stream(rows.id);
    crash_point!("llm.post");
    match outcome {
        Ok(mut answer) => {
            answer.usage = engine.models.priced(name, answer.usage);
            engine
                .open_calls
                .update(rows.id, |call| call.usage = Some(answer.usage));
            Ok(AttemptOutcome::Answered(AttemptAnswer {
                answer,
                attempt_id,
                latency_ms: started.elapsed().as_millis() as u64,
            }))
        }
        Err(error) => {
            let usage = failed_usage(engine, rows, &error, &shown);
            let usage = engine.models.priced(name, usage);
            engine
                .persist(SettleModel {
                    attempt_id,
                    usage,
                    error: Some(error.message.clone()),
                    active_ms: 0,
                })
                .await?;
            engine.open_calls.take(rows.id);
            Ok(AttemptOutcome::Failed(AttemptFailure {
                error,
                shown,
                tokens: usage.input_tokens + usage.output_tokens,
            }))
        }
    }
}

/// Settles an answer that does not become a step: what it used counts.
pub async fn settle(engine: &Engine, answered: AttemptAnswer, why: &str) -> Result<(), TurnError> {
    engine
        .persist(SettleModel {
            attempt_id: answered.attempt_id,
            usage: answered.answer.usage,
            error: Some(why.to_owned()),
            active_ms: 0,
        })
        .await?;
    Ok(())
}

/// Follows one stream to its end. The text is what was shown of it.
async fn listen(
    engine: &Engine,
    rows: &TurnRows,
    step: u32,
    mut stream: ModelStream,
) -> (Result<ModelAnswer, ModelError>, String) {
    let mut shown = String::new();
    while let Some(event) = stream.next().await {
        match event {
            Ok(ModelEvent::TextDelta(text)) => {
                if text.is_empty() {
                    continue;
                }
                if shown.is_empty() {
                    engine.publish_of(rows, EventBody::ContinuationStreaming { step });
                    engine.open_calls.open_stream(OpenStream {
                        continuation_id: rows.id,
                        session_id: rows.session_id,
                        step,
                        text: String::new(),
                        offset: 0,
                    });
                }
                crash_point!("llm.mid_stream");
                engine.open_calls.show(rows.id, &text);
                let offset = shown.len() as u64;
                shown.push_str(&text);
                engine.publish_of(rows, EventBody::MessageDelta { step, offset, text });
            }
            Ok(ModelEvent::Heartbeat) => {
                engine.open_calls.update(rows.id, |call| call.signs += 1);
            }
            Ok(ModelEvent::Finished(answer)) => return (Ok(*answer), shown),
            Err(error) => return (Err(error), shown),
        }
    }
    (Err(ModelError::unanswered()), shown)
}

/// What a try without an answer used: what the provider reported, else, where the provider may have worked on it, an
/// estimate. One that was refused or never reached anybody used nothing.
fn failed_usage(engine: &Engine, rows: &TurnRows, error: &ModelError, shown: &str) -> Usage {
    error
        .usage
        .map(Usage::from)
        .or_else(|| open_call::begun(engine, rows.id, shown, may_have_run(error.kind)))
        .unwrap_or_default()
}

/// Whether the provider may have worked on a call that failed so, though nothing of an answer came.
fn may_have_run(kind: ModelErrorKind) -> bool {
    match kind {
        ModelErrorKind::Timeout | ModelErrorKind::Disconnected => true,
        ModelErrorKind::Authentication
        | ModelErrorKind::NotFound
        | ModelErrorKind::InvalidRequest
        | ModelErrorKind::ContextTooLong
        | ModelErrorKind::QuotaExceeded
        | ModelErrorKind::RateLimited
        | ModelErrorKind::Overloaded
        | ModelErrorKind::Unreachable
        | ModelErrorKind::Protocol
        | ModelErrorKind::Cancelled
        | ModelErrorKind::Unusable => false,
    }
}
