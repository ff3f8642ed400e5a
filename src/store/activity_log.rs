//! One line of the log for each turn, model call, tool call, decision and send, from the events as they are committed.
//!
//! At the level `info` no line holds text of people, models or tools. `debug` adds how such a text begins. The lines
//! have the target [`TARGET`]; `docs/src/operate/logs.md` lists their fields.

use std::collections::HashMap;

use tracing::field::{DisplayValue, display};
use tracing::{Level, enabled};

use crate::clock::Timestamp;
use crate::protocol::approval::Approval;
use crate::protocol::enums::ContinuationState;
use crate::protocol::event::{Event, EventBody};
use crate::protocol::ids::{ContinuationId, OutboxId};
use crate::protocol::session::Usage;

/// What the lines are filtered by, as in `LEVERFRAME_LOG=warn,leverframe::activity=info`.
pub const TARGET: &str = "leverframe::activity";

/// Writes the lines, and remembers of each open turn what its last line tells.
#[derive(Debug, Default)]
pub struct ActivityLog {
    /// Channel and time of the message; none of a turn that began before this process.
    turns: HashMap<ContinuationId, (String, Timestamp)>,
}

/// How a turn ended.
struct TurnEnd<'a> {
    state: ContinuationState,
    usage: Option<Usage>,
    /// Code of an error.
    code: Option<&'a str>,
    by: Option<&'a str>,
    text: Option<&'a str>,
}

impl<'a> TurnEnd<'a> {
    fn new(state: ContinuationState) -> Self {
        Self {
            state,
            usage: None,
            code: None,
            by: None,
            text: None,
        }
    }

    fn of(body: &'a EventBody) -> Option<Self> {
        Some(match body {
            EventBody::ContinuationCompleted { preview, usage } => Self {
                usage: Some(*usage),
                text: Some(preview),
                ..Self::new(ContinuationState::Completed)
            },
            EventBody::ContinuationFailed { error } => Self {
                code: Some(&error.code),
                text: Some(&error.message),
                ..Self::new(ContinuationState::Failed)
            },
            EventBody::ContinuationCancelled { by, reason } => Self {
                by: Some(by),
                text: reason.as_deref(),
                ..Self::new(ContinuationState::Cancelled)
            },
            EventBody::ContinuationExpired { reason } => Self {
                text: Some(reason),
                ..Self::new(ContinuationState::Expired)
            },
            EventBody::ContinuationInterrupted { reason } => Self {
                text: Some(reason),
                ..Self::new(ContinuationState::Interrupted)
            },
            _ => return None,
        })
    }
}

fn shown<T: std::fmt::Display>(value: Option<T>) -> Option<DisplayValue<T>> {
    value.map(display)
}

impl ActivityLog {
    /// Writes the line of an event, if it has one.
    pub fn note(&mut self, event: &Event) {
        if !enabled!(target: TARGET, Level::INFO) {
            return;
        }
        if let Some(end) = TurnEnd::of(&event.body) {
            return self.turn(event, &end);
        }
        match &event.body {
            EventBody::MessageReceived { channel, .. } => {
                if let Some(id) = event.continuation_id {
                    self.turns.insert(id, (channel.clone(), event.at));
                }
            }
            EventBody::ModelFinished {
                model,
                step,
                usage,
                latency_ms,
                error,
                notes: _,
            } => tracing::info!(
                target: TARGET,
                event = event.body.kind(),
                session = shown(event.session_id),
                continuation = shown(event.continuation_id),
                step,
                model,
                duration_ms = latency_ms,
                input_tokens = usage.input_tokens,
                cached_input_tokens = usage.cached_input_tokens,
                output_tokens = usage.output_tokens,
                cost_usd = usage.cost_usd,
                failed = error.is_some(),
                text = at_debug(error.as_deref()),
                "model call"
            ),
            EventBody::ToolFinished {
                call_id,
                name,
                state,
                preview,
                duration_ms,
                cached,
            } => tracing::info!(
                target: TARGET,
                event = event.body.kind(),
                session = shown(event.session_id),
                continuation = shown(event.continuation_id),
                call = %call_id,
                tool = name,
                state = state.as_str(),
                duration_ms,
                cached = cached.is_some(),
                text = at_debug(Some(preview)),
                "tool call"
            ),
            EventBody::ApprovalDecided { approval } | EventBody::ApprovalExpired { approval } => {
                decision(event, approval);
            }
            EventBody::ReplySent {
                outbox_id,
                class,
                channel,
                part,
            } => tracing::info!(
                target: TARGET,
                event = event.body.kind(),
                session = shown(event.session_id),
                continuation = shown(event.continuation_id),
                delivery = %outbox_id,
                channel,
                class = class.as_str(),
                part,
                "send"
            ),
            EventBody::ReplyFailed {
                outbox_id,
                channel,
                error,
                state: _,
            } => send_failure(event, *outbox_id, channel, error),
            EventBody::ReplyUnknown {
                outbox_id,
                channel,
                detail,
            } => send_failure(event, *outbox_id, channel, detail),
            _ => {}
        }
    }

    fn turn(&mut self, event: &Event, end: &TurnEnd<'_>) {
        // A turn that was interrupted can go on; its time counts from its message all the same.
        let id = event.continuation_id;
        let known = match end.state {
            ContinuationState::Interrupted => id.and_then(|id| self.turns.get(&id).cloned()),
            _ => id.and_then(|id| self.turns.remove(&id)),
        };
        let (channel, since) = known.unzip();
        tracing::info!(
            target: TARGET,
            event = event.body.kind(),
            session = shown(event.session_id),
            continuation = shown(id),
            channel,
            state = end.state.as_str(),
            duration_ms = since.map(|since| event.at.millis_since(since)),
            input_tokens = end.usage.map(|usage| usage.input_tokens),
            output_tokens = end.usage.map(|usage| usage.output_tokens),
            cost_usd = end.usage.and_then(|usage| usage.cost_usd),
            code = end.code,
            by = end.by,
            text = at_debug(end.text),
            "turn"
        );
    }
}

/// Text of people, models and tools, where the level allows it.
fn at_debug(text: Option<&str>) -> Option<&str> {
    text.filter(|_| enabled!(target: TARGET, Level::DEBUG))
}

fn decision(event: &Event, approval: &Approval) {
    let decision = approval.decision.as_ref();
    tracing::info!(
        target: TARGET,
        event = event.body.kind(),
        session = shown(approval.session_id),
        continuation = shown(approval.continuation_id),
        call = shown(approval.tool_call_id),
        approval = %approval.id,
        approval_kind = approval.kind.as_str(),
        channel = approval.channel,
        tool = approval.tool,
        risk = approval.risk.as_str(),
        state = approval.state.as_str(),
        decision = decision.map(|one| one.decision.as_str()),
        by = decision.map(|one| one.by.as_str()),
        surface = decision.map(|one| one.surface.as_str()),
        waited_ms = event.at.millis_since(approval.requested_at),
        text = at_debug(decision.and_then(|one| one.reason.as_deref())),
        "decision"
    );
}

fn send_failure(event: &Event, delivery: OutboxId, channel: &str, why: &str) {
    tracing::warn!(
        target: TARGET,
        event = event.body.kind(),
        session = shown(event.session_id),
        continuation = shown(event.continuation_id),
        delivery = %delivery,
        channel,
        text = at_debug(Some(why)),
        "send"
    );
}
