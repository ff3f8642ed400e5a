//! From stored rows to the machine's state and the model's messages. Pure.

use std::collections::HashMap;

use crate::engine::context::exchange::{Exchange, ReplayCall};
use crate::engine::context::{estimate, speaker};
use crate::engine::turn::input::{Call, CallStatus};
use crate::engine::turn::machine::Turn;
use crate::model::request::Picture;
use crate::protocol::enums::{Access, Effect, ToolCallState};
use crate::protocol::session::StepBody;
use crate::store::queries::history::Exchange as HistoryExchange;
use crate::store::queries::turn::{CallRow, TurnRows};

/// How the machine sees a stored state.
pub fn status(state: ToolCallState) -> CallStatus {
    match state {
        ToolCallState::Ready => CallStatus::Ready,
        ToolCallState::Awaiting | ToolCallState::Proposed => CallStatus::Awaiting,
        ToolCallState::Approved => CallStatus::Approved,
        ToolCallState::Started => CallStatus::Started,
        ToolCallState::Indeterminate => CallStatus::Indeterminate,
        ToolCallState::Blocked
        | ToolCallState::Denied
        | ToolCallState::Succeeded
        | ToolCallState::Failed
        | ToolCallState::SucceededByNote
        | ToolCallState::Abandoned
        | ToolCallState::Cancelled
        | ToolCallState::Expired => CallStatus::Settled,
    }
}

/// Whether a call may run beside others and before gates are decided.
pub fn runs_in_parallel(effect: Effect, access: Access) -> bool {
    effect == Effect::ReadOnly && matches!(access, Access::ReadLocal | Access::ReadOpen)
}

fn call(row: &CallRow) -> Call {
    Call {
        id: row.call.id,
        status: status(row.call.state),
        parallel: runs_in_parallel(row.call.effect, row.call.access),
    }
}

/// The calls of the newest step that proposed any.
pub fn open_calls(rows: &TurnRows) -> Vec<Call> {
    let Some(step) = rows.calls.iter().map(|row| row.call.step).max() else {
        return Vec::new();
    };
    rows.calls
        .iter()
        .filter(|row| row.call.step == step)
        .map(call)
        .collect()
}

/// The machine as the rows describe it.
pub fn turn(rows: &TurnRows) -> Turn {
    Turn::restore(rows.limits, rows.used, open_calls(rows))
}

fn replay_calls(calls: &[CallRow]) -> HashMap<crate::protocol::ids::ToolCallId, ReplayCall> {
    calls
        .iter()
        .map(|row| {
            let replay = ReplayCall {
                provider_call_id: row.provider_call_id.clone(),
                name: row.call.name.clone(),
                // Providers insist on an object; malformed arguments were stored as they came.
                args: if row.call.args.is_object() {
                    row.call.args.clone()
                } else {
                    serde_json::Value::Object(serde_json::Map::new())
                },
            };
            (row.call.id, replay)
        })
        .collect()
}

/// The current turn as the model sees it.
pub fn current(rows: &TurnRows) -> Exchange {
    Exchange {
        asked_by: rows.requester.display.clone(),
        speaker: rows.speaker.clone(),
        text: rows.sent_text.as_ref().unwrap_or(&rows.text).clone(),
        attachments: rows.attachments.clone(),
        steps: rows.steps.clone(),
        calls: replay_calls(&rows.calls),
    }
}

/// About how many tokens an earlier turn has. Less rather than more: calls and opaque blocks are not counted.
pub fn size(exchange: &HistoryExchange) -> u64 {
    let steps: u64 = exchange
        .steps
        .iter()
        .map(|step| match &step.body {
            StepBody::Model { text, .. } => estimate::text(text),
            StepBody::ToolResult { content, .. } => estimate::text(content),
            StepBody::OperatorNote { .. } | StepBody::Final { .. } | StepBody::Error { .. } => 0,
        })
        .sum();
    let header = speaker::header(&exchange.requester, exchange.speaker.as_ref());
    let pictures = exchange
        .attachments
        .iter()
        .filter(|attachment| Picture::of(&attachment.artifact).is_some())
        .count() as u64;
    pictures * estimate::PER_PICTURE
        + estimate::text(&header)
        + estimate::text(&exchange.text)
        + steps
        + estimate::PER_MESSAGE
}

/// An earlier turn as the model sees it.
pub fn earlier(exchange: HistoryExchange) -> Exchange {
    let calls = replay_calls(&exchange.calls);
    Exchange {
        asked_by: exchange.requester,
        speaker: exchange.speaker,
        text: exchange.text,
        attachments: exchange.attachments,
        steps: exchange.steps,
        calls,
    }
}
