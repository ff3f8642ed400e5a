//! From stored rows to the machine's state and the model's messages. Pure.

use std::collections::HashMap;

use crate::engine::context::{Exchange, ReplayCall};
use crate::engine::turn::input::{Call, CallStatus};
use crate::engine::turn::machine::{Limits, Turn, Used};
use crate::protocol::session::StepBody;
use crate::protocol::words::{Access, Effect, ToolCallState};
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
    let limits = Limits {
        max_steps: rows.limits.max_steps,
        max_tool_calls: rows.limits.max_tool_calls,
        max_active_ms: rows.limits.max_active_ms,
        max_tokens: rows.limits.max_tokens,
    };
    let used = Used {
        steps: rows.used.steps,
        tool_calls: rows.used.tool_calls,
        active_ms: rows.used.active_ms,
        tokens: rows.used.tokens,
    };
    Turn::restore(limits, used, open_calls(rows))
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
        text: rows.text.clone(),
        steps: rows.steps.clone(),
        calls: replay_calls(&rows.calls),
    }
}

/// An earlier turn as the model sees it.
pub fn earlier(exchange: HistoryExchange) -> Exchange {
    let calls = replay_calls(&exchange.calls);
    Exchange {
        text: exchange.text,
        steps: exchange.steps,
        calls,
    }
}

/// Takes out every native block that `model` (`<provider>/<model>`) may not get back: those of another model, and those
/// from before the newest answer of another model, which never saw that answer. Text, calls and results stay.
///
/// `exchanges` are oldest first.
pub fn forget_foreign_blocks(exchanges: &mut [Exchange], model: &str) {
    let mut foreign_since = false;
    let steps = exchanges
        .iter_mut()
        .rev()
        .flat_map(|exchange| exchange.steps.iter_mut().rev());
    for step in steps {
        if let StepBody::Model {
            model: by, native, ..
        } = &mut step.body
        {
            foreign_since |= by != model;
            if foreign_since {
                *native = None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Timestamp;
    use crate::protocol::ids::ContinuationId;
    use crate::protocol::session::{NativeBlocks, Step, Usage};
    use crate::protocol::words::StepKind;

    fn exchange(models: &[&str]) -> Exchange {
        let step = |n: usize, model: &str| Step {
            continuation_id: ContinuationId::generate(),
            kind: StepKind::Model,
            n: n as u32,
            at: Timestamp(0),
            body: StepBody::Model {
                model: model.to_owned(),
                text: "Yes.".to_owned(),
                tool_calls: Vec::new(),
                stop: "end_turn".to_owned(),
                usage: Usage::default(),
                latency_ms: 0,
                attempts: 1,
                native: Some(NativeBlocks {
                    family: "anthropic".to_owned(),
                    content: serde_json::json!([]),
                }),
                dropped: Vec::new(),
                notes: Vec::new(),
                cached: None,
            },
        };
        Exchange {
            text: "hi".to_owned(),
            steps: models.iter().enumerate().map(|(n, m)| step(n, m)).collect(),
            calls: HashMap::new(),
        }
    }

    /// Of each step, whether its blocks are still there.
    fn kept(exchanges: &[Exchange]) -> Vec<bool> {
        exchanges
            .iter()
            .flat_map(|exchange| &exchange.steps)
            .map(|step| matches!(&step.body, StepBody::Model { native, .. } if native.is_some()))
            .collect()
    }

    #[test]
    fn a_switch_of_the_model_takes_the_opaque_blocks_out() {
        let history = || {
            vec![
                exchange(&["a/x", "a/x"]),
                exchange(&["c/y"]),
                exchange(&["a/x"]),
            ]
        };
        let mut back = history();
        forget_foreign_blocks(&mut back, "a/x");
        assert_eq!(kept(&back), [false, false, false, true], "none from before");
        let mut away = history();
        forget_foreign_blocks(&mut away, "c/y");
        assert_eq!(kept(&away), [false; 4]);
        let mut same = vec![exchange(&["a/x", "a/x"]), exchange(&["a/x"])];
        forget_foreign_blocks(&mut same, "a/x");
        assert_eq!(kept(&same), [true; 3]);
        // Another model of the same provider is another one, too.
        let mut sibling = vec![exchange(&["a/x"])];
        forget_foreign_blocks(&mut sibling, "a/z");
        assert_eq!(kept(&sibling), [false]);
    }
}
