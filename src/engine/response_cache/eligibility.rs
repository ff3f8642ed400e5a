//! Which turns may be given a cached response, and which answers may be kept. Pure.

use crate::model::request::{ModelAnswer, ModelMessage, ModelRequest, StopReason};
use crate::protocol::enums::{CacheScope, CacheSkipReason};

/// Largest answer that is kept, in bytes.
pub const MAX_ANSWER: usize = 256 * 1024;

/// Whom an answer of this turn may be given to: what is said in a direct message stays with that person.
pub fn scope(channel: CacheScope, private: bool) -> CacheScope {
    match (channel, private) {
        (CacheScope::Channel, true) => CacheScope::User,
        (scope, _) => scope,
    }
}

/// Whether nothing but the question is sent: no earlier turn, and none that was left out for lack of room.
pub fn is_fresh(request: &ModelRequest, dropped: &[String]) -> bool {
    dropped.is_empty() && matches!(request.messages.as_slice(), [ModelMessage::User { .. }])
}

/// Whether an answer names who asked: by a word of their display name, or by the id that models know them by.
pub fn names(answer: &str, display: &str, id: &str) -> bool {
    let answer = answer.to_lowercase();
    let display = display.to_lowercase();
    let words = display
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| word.chars().nth(1).is_some());
    words.chain([id.to_lowercase().as_str()]).any(|word| {
        if word.is_ascii() {
            let part = |c: char| c.is_ascii_alphanumeric();
            answer.match_indices(word).any(|(at, _)| {
                let (before, rest) = answer.split_at(at);
                !before.ends_with(part) && !rest.split_at(word.len()).1.starts_with(part)
            })
        } else {
            // Not every language puts spaces between words.
            answer.contains(word)
        }
    })
}

/// Whether an answer may be kept. `own_model` says that the model that was asked for gave it, `noted` that it did not
/// come as it should (the server cut the context, it had to be asked again).
pub fn may_keep(answer: &ModelAnswer, own_model: bool, noted: bool) -> Result<(), CacheSkipReason> {
    if !answer.tool_calls.is_empty() {
        return Err(CacheSkipReason::ToolsUsed);
    }
    match &answer.stop {
        StopReason::EndTurn => {}
        StopReason::ToolUse => return Err(CacheSkipReason::ToolsUsed),
        StopReason::MaxTokens => return Err(CacheSkipReason::Cut),
        StopReason::Refusal | StopReason::RefusedFor(_) => return Err(CacheSkipReason::Refused),
        StopReason::Paused | StopReason::Other(_) => return Err(CacheSkipReason::Unnatural),
    }
    if !own_model {
        return Err(CacheSkipReason::StandIn);
    }
    if noted {
        return Err(CacheSkipReason::Unnatural);
    }
    if answer.text.trim().is_empty() {
        return Err(CacheSkipReason::Empty);
    }
    if answer.text.len() > MAX_ANSWER {
        return Err(CacheSkipReason::TooLarge);
    }
    Ok(())
}
