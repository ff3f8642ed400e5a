//! What an answer is good for. Pure.
//!
//! An answer that cannot be taken is asked for again at most once for each reason; then it is taken as it is, or the
//! turn fails and says why.

use crate::model::request::{ModelAnswer, StopReason};
use crate::protocol::ids::ToolCallId;
use crate::protocol::session::StepBody;
use crate::store::queries::turn::TurnRows;

/// Rule of a call whose arguments were no JSON object.
pub const MALFORMED_RULE: &str = "schema: malformed arguments";
/// Answers in a row whose arguments were malformed, before the turn fails.
const MALFORMED_ROUNDS: usize = 2;

/// What follows from an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum After {
    /// It is the step.
    Take,
    /// It said nothing: ask once more, with a word about it.
    Nudge,
    /// The window was full: ask once more with less.
    Compact,
    /// The turn cannot go on.
    Fail { code: &'static str, message: String },
}

/// What was tried for this step already.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tries {
    pub nudged: bool,
    /// The context was compacted.
    pub compacted: bool,
}

/// What the turn did before this answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Before {
    /// The last thing was a tool's result.
    pub results: bool,
    /// Answers in a row, up to this one, that held malformed arguments.
    pub malformed_rounds: usize,
}

impl Before {
    /// As the rows say.
    pub fn of(rows: &TurnRows) -> Self {
        let malformed = |calls: &[ToolCallId]| {
            rows.calls
                .iter()
                .any(|row| calls.contains(&row.call.id) && row.call.verdict.rule == MALFORMED_RULE)
        };
        let answers = rows.steps.iter().rev().filter_map(|step| match &step.body {
            StepBody::Model { tool_calls, .. } => Some(tool_calls),
            StepBody::ToolResult { .. }
            | StepBody::OperatorNote { .. }
            | StepBody::Final { .. }
            | StepBody::Error { .. } => None,
        });
        Self {
            results: !rows.calls.is_empty(),
            malformed_rounds: answers.take_while(|calls| malformed(calls)).count(),
        }
    }
}

/// Whether the provider wants to go on with this answer as it is.
pub fn is_paused(answer: &ModelAnswer) -> bool {
    answer.tool_calls.is_empty() && answer.stop == StopReason::Paused
}

/// Whether the window was full before the answer was whole: it was cut, and not by the limit of its output.
fn window_was_full(answer: &ModelAnswer, max_output: u32) -> bool {
    answer.stop == StopReason::MaxTokens
        && answer.usage.output_tokens.saturating_mul(2) < u64::from(max_output)
}

/// What follows from an answer of at most `max_output` tokens.
pub fn after(answer: &ModelAnswer, max_output: u32, tries: Tries, before: Before) -> After {
    let silent = answer.text.trim().is_empty() && answer.tool_calls.is_empty();
    if silent && window_was_full(answer, max_output) {
        return if tries.compacted {
            After::Fail {
                code: "context_too_long",
                message: TOO_LONG.to_owned(),
            }
        } else {
            After::Compact
        };
    }
    let malformed = answer.tool_calls.iter().any(|call| call.args.is_err());
    if malformed && before.malformed_rounds >= MALFORMED_ROUNDS {
        return After::Fail {
            code: "model_malformed_call",
            message: format!(
                "the model sent malformed tool arguments {} times in a row; nothing of them ran. \
                 Try another model, or say it in other words",
                before.malformed_rounds + 1
            ),
        };
    }
    if silent && answer.stop == StopReason::EndTurn && before.results && !tries.nudged {
        return After::Nudge;
    }
    After::Take
}

/// What to do about a conversation that does not fit.
pub const TOO_LONG: &str = "the conversation does not fit the model's window even when shortened; \
                            start a new session (/new), switch to a model with a larger window, or send less at once";
