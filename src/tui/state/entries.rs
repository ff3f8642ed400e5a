//! What the entries of a transcript hold, and what the peek of Live knows of one.

use crate::protocol::ids::{ContinuationId, SessionId};
use crate::protocol::session::{Step, StepBody, ToolCall, TranscriptBody, TranscriptEntry};

/// The end of the transcript of a session, oldest entry first, or why it is not known.
pub type TranscriptEnd = (SessionId, Result<Vec<TranscriptEntry>, String>);

/// The step that an entry is, with its calls; none = it is no step.
pub fn step(entry: &TranscriptEntry) -> Option<(&Step, &[ToolCall])> {
    match &entry.body {
        TranscriptBody::Step { step, tool_calls } => Some((step, tool_calls)),
        TranscriptBody::User { .. }
        | TranscriptBody::State { .. }
        | TranscriptBody::Compacted { .. } => None,
    }
}

pub fn calls(entry: &TranscriptEntry) -> &[ToolCall] {
    step(entry).map_or(&[], |(_, calls)| calls)
}

/// Whether an entry is the answer of its turn.
pub fn is_answer(entry: &TranscriptEntry) -> bool {
    step(entry).is_some_and(|(step, _)| step.body.is_answer())
}

/// Whether an entry only repeats what the answer of its turn says. `answered` = the answer of a turn is there.
pub fn is_repeated(entry: &TranscriptEntry, answered: impl FnOnce(ContinuationId) -> bool) -> bool {
    step(entry).is_some_and(|(step, calls)| {
        calls.is_empty()
            && matches!(step.body, StepBody::Model { .. })
            && answered(entry.continuation_id)
    })
}
