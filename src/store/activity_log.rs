//! One line of the log for each turn, model call, tool call, decision and send, from the events as they are committed.
//!
//! At the level `info` no line holds text of people, models or tools. `debug` adds how such a text begins. The lines
//! have the target [`TARGET`]; `docs/src/operate/logs.md` lists their fields.

use tracing::field::{DisplayValue, display};
use tracing::{Level, enabled};

use crate::protocol::approval::Approval;
use crate::protocol::enums::ContinuationState;
use crate::protocol::event::{Event, EventBody};
use crate::protocol::ids::OutboxId;
use crate::protocol::session::Usage;
use crate::store::open_turns::OpenTurn;

/// What the lines are filtered by, as in `LEVERFRAME_LOG=warn,leverframe::activity=info`.
pub const TARGET: &str = "leverframe::activity";

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

/// A line with what every line has.
macro_rules! activity {
    ($level:ident, $event:ident, $($fields:tt)+) => {
        tracing::$level!(
            target: TARGET,
            event = $event.body.kind(),
            session = shown($event.session_id),
            continuation = shown($event.continuation_id),
            $($fields)+
        )
    };
}

/// Writes the line of an event, if it has one; `ended` is the turn that it ends or interrupts.
pub fn note(event: &Event, ended: Option<&OpenTurn>) {
    if !enabled!(target: TARGET, Level::INFO) {
        return;
    }
    if let Some(end) = TurnEnd::of(&event.body) {
        return turn(event, &end, ended);
    }
    match &event.body {
        EventBody::ModelFinished {
            model,
            step,
            usage,
            latency_ms,
            error,
            stop: _,
            answered_by: _,
            notes: _,
        } => activity!(
            info,
            event,
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
        } => activity!(info, event,
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
        } => activity!(info, event,
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

fn turn(event: &Event, end: &TurnEnd<'_>, known: Option<&OpenTurn>) {
    activity!(
        info,
        event,
        channel = known.map(|turn| turn.channel.as_str()),
        state = end.state.as_str(),
        duration_ms = known.map(|turn| event.at.millis_since(turn.since)),
        input_tokens = end.usage.map(|usage| usage.input_tokens),
        output_tokens = end.usage.map(|usage| usage.output_tokens),
        cost_usd = end.usage.and_then(|usage| usage.cost_usd),
        code = end.code,
        by = end.by,
        text = at_debug(end.text),
        "turn"
    );
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
    activity!(warn, event,
        delivery = %delivery,
        channel,
        text = at_debug(Some(why)),
        "send"
    );
}
