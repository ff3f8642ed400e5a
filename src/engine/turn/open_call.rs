//! The model call of a turn while it is under way, and what it counts as when it is dropped.
//!
//! A dropped call has cost money that no provider reports: it is settled at an estimate at once, so that nothing
//! stays reserved for it, and what was shown of its answer is kept where a person ended the turn.

use std::time::{Duration, Instant};

use crate::engine::context::estimate;
use crate::engine::core::Engine;
use crate::engine::open_calls::OpenCall;
use crate::engine::turn::error::TurnError;
use crate::model::limits::{CallPermit, Lane, LimitedProvider};
use crate::model::request::Model as _;
use crate::protocol::event::EventBody;
use crate::protocol::ids::ContinuationId;
use crate::protocol::session::Usage;
use crate::store::commands::settle_abandoned_calls::SettleAbandonedCalls;
use crate::store::commands::settle_model::SettleModel;
use crate::store::error::StoreError;
use crate::store::input::{AnswerSource, ModelStep};
use crate::store::queries::turn::TurnRows;

/// A wait for other calls of the provider that is worth a note on the step.
const WORTH_A_NOTE: Duration = Duration::from_secs(1);

/// How a step stopped whose call was dropped because a person ended the turn.
pub const CANCELLED: &str = "cancelled";

/// What a call has used, as far as it can be known.
fn usage(engine: &Engine, call: &OpenCall, shown: &str) -> Usage {
    let usage = call.usage.unwrap_or(Usage {
        input_tokens: call.input_tokens,
        output_tokens: estimate::text(shown) + call.signs,
        ..Usage::default()
    });
    engine.models.priced(&call.model, usage)
}

/// What a call has used that broke off; none = nothing of an answer came, and nobody worked on it. `may_have_run`:
/// somebody may have worked on it though nothing came.
pub fn begun(
    engine: &Engine,
    id: ContinuationId,
    shown: &str,
    may_have_run: bool,
) -> Option<Usage> {
    let call = engine.open_calls.call(id)?;
    (may_have_run || !shown.is_empty() || call.signs > 0).then(|| usage(engine, &call, shown))
}

/// The step that a turn's open call leaves when a person ends the turn now.
pub fn cut_short(engine: &Engine, id: ContinuationId) -> Option<ModelStep> {
    let call = engine.open_calls.call(id)?;
    let text = engine.open_calls.shown(id);
    let mut notes = Vec::new();
    if call.usage.is_none() {
        notes.push("cancelled before its end; tokens are estimated".to_owned());
    }
    Some(ModelStep {
        source: AnswerSource::Attempt(call.attempt_id),
        usage: usage(engine, &call, &text),
        text,
        stop: CANCELLED.to_owned(),
        answered_by: None,
        latency_ms: call.started.elapsed().as_millis() as u64,
        attempts: call.attempt,
        native: None,
        dropped: Vec::new(),
        notes,
        active_ms: 0,
        model: call.model,
    })
}

/// Settles the open call of a turn that its driver has dropped; does nothing where it is settled already.
pub async fn settle(engine: &Engine, id: ContinuationId, why: &str) {
    let Some(call) = engine.open_calls.take(id) else {
        return;
    };
    let shown = engine.open_calls.shown(id);
    let settled = engine
        .store
        .write(SettleModel {
            attempt_id: call.attempt_id,
            usage: usage(engine, &call, &shown),
            error: Some(format!("dropped ({why}); tokens are estimated")),
            active_ms: 0,
        })
        .await;
    match settled {
        // The cancel settled it, or it was settled with its answer.
        Ok(()) | Err(StoreError::Conflict { .. }) => {}
        // The next start settles it at its reservation.
        Err(error) => {
            tracing::warn!(continuation = %id, %error, "cannot settle a dropped model call; its reservation stays");
        }
    }
}

/// Waits for a place among the calls of a provider; tells whoever looks when it has to.
pub async fn wait_for_place(
    engine: &Engine,
    rows: &TurnRows,
    model: &LimitedProvider,
) -> CallPermit {
    let lane = Lane::of(&rows.channel, rows.session_id.to_string());
    if let Some(place) = model.limiter().try_enter(&lane) {
        return place;
    }
    let waiting = EventBody::ModelWaiting {
        provider: model.provider().to_owned(),
        ahead: u32::try_from(model.limiter().waiting()).unwrap_or(u32::MAX),
    };
    engine.publish_of(rows, waiting);
    let asked = Instant::now();
    let place = model.limiter().enter(lane).await;
    engine.open_calls.add_wait(rows.id, asked.elapsed());
    place
}

/// What a step says about the wait before it, where it was worth a word.
pub fn wait_note(model: &str, wait: Duration) -> Option<String> {
    let provider = model.split('/').next().unwrap_or(model);
    (wait >= WORTH_A_NOTE).then(|| {
        format!(
            "waited {:.1} s for other calls of provider {provider} (max_concurrent)",
            wait.as_secs_f64()
        )
    })
}

/// Counts model calls that nobody listens to any more at what they may have cost.
pub async fn settle_abandoned_calls(
    engine: &Engine,
    continuation_id: ContinuationId,
) -> Result<(), TurnError> {
    engine
        .persist(SettleAbandonedCalls {
            continuation_id,
            reason: "the call was given up".to_owned(),
        })
        .await?;
    Ok(())
}
