//! A call that a model asks for, before anybody evaluates it.

use crate::engine::core::Engine;
use crate::model::request::ModelToolCall;
use crate::protocol::ids::ToolCallId;
use crate::store::queries::turn::TurnRows;

/// Longest tool name, in characters.
pub const MAX_TOOL_NAME: usize = 128;

/// A proposed call after its hooks.
#[derive(Debug, Clone)]
pub struct ProposedCall {
    pub id: ToolCallId,
    /// As it goes on.
    pub call: ModelToolCall,
    /// Set when a hook stops it: what the model reads, and the rule for people.
    pub stopped: Option<(String, String)>,
}

/// Why a call of an answer is not carried out whatever it is: (what the model reads, the rule).
pub fn skip_reason(
    engine: &Engine,
    rows: &TurnRows,
    index: usize,
) -> Option<(&'static str, &'static str)> {
    let left = rows
        .limits
        .max_tool_calls
        .saturating_sub(rows.used.tool_calls) as usize;
    if engine.settings.engine.one_tool_per_step && index > 0 {
        Some((
            "only the first call of an answer is executed here; call again if it is still needed",
            "one_tool_per_step",
        ))
    } else if index >= left {
        Some((
            "the turn's tool-call budget is used up; this call did not run",
            "max_tool_calls",
        ))
    } else {
        None
    }
}
