//! A verdict in the words of the agent that waits for it. Pure.
//!
//! Nothing but [`Verdict::Allow`] becomes an answer that lets a call run, and an answer never asks the agent's own
//! person. What a hook has no words for is a deny.

use serde_json::{Map, Value, json};

use crate::agents::event::{AgentCall, AskEvent, Verdict};
use crate::protocol::enums::ExternalAgent;
use crate::text::untrusted::reveal;
use crate::tools::output::first;

/// Longest reason, in bytes.
const MAX_REASON: usize = 4096;

/// Whether a hook takes other arguments than the agent asked about.
///
/// Codex has words for it since a late version, and an earlier one runs the call as it was when it finds them. Gemini
/// CLI lays the arguments over its own, so what an operator takes away would stay. So neither is given any.
pub fn accepts_edits(agent: ExternalAgent, event: AskEvent) -> bool {
    match (agent, event) {
        (ExternalAgent::Claude, AskEvent::PreToolUse | AskEvent::PermissionRequest) => true,
        (ExternalAgent::Claude | ExternalAgent::Codex | ExternalAgent::Gemini, _) => false,
    }
}

/// Whether a hook can be told that the decision comes later: the agent ends, and asks again when it goes on. Claude Code
/// does so only where it runs without a terminal.
pub fn knows_defer(agent: ExternalAgent, event: AskEvent) -> bool {
    (agent, event) == (ExternalAgent::Claude, AskEvent::PreToolUse)
}

/// What the agent is told.
pub fn answer(agent: ExternalAgent, call: &AgentCall, verdict: &Verdict) -> Value {
    match verdict {
        Verdict::Allow { input: None } => allow(agent, call.event, None),
        Verdict::Allow { input: Some(input) } if accepts_edits(agent, call.event) => {
            allow(agent, call.event, Some(input))
        }
        Verdict::Allow { input: Some(_) } => deny(
            call.event,
            "it was allowed with other arguments, and this hook takes none",
        ),
        Verdict::Deny { reason } => deny(call.event, reason),
        Verdict::Defer if knows_defer(agent, call.event) => specific(
            call.event,
            json!({"permissionDecision": "defer", "permissionDecisionReason": "a person decides later"}),
        ),
        Verdict::Defer => deny(
            call.event,
            "a person decides later, and this hook cannot wait for that",
        ),
    }
}

fn allow(agent: ExternalAgent, event: AskEvent, input: Option<&Map<String, Value>>) -> Value {
    let mut words = match (agent, event) {
        // Codex takes silence for an allow, and an allow without other arguments for a mistake.
        (ExternalAgent::Codex, AskEvent::PreToolUse) => return json!({}),
        (_, AskEvent::PreToolUse) => json!({"permissionDecision": "allow"}),
        (_, AskEvent::PermissionRequest) => json!({"decision": {"behavior": "allow"}}),
        (_, AskEvent::BeforeTool) => return json!({"decision": "allow"}),
    };
    if let Some(input) = input {
        let place = match event {
            AskEvent::PermissionRequest => &mut words["decision"],
            AskEvent::PreToolUse | AskEvent::BeforeTool => &mut words,
        };
        place["updatedInput"] = Value::Object(input.clone());
    }
    specific(event, words)
}

fn deny(event: AskEvent, reason: &str) -> Value {
    let reason = reason_text(reason);
    match event {
        AskEvent::PreToolUse => specific(
            event,
            json!({"permissionDecision": "deny", "permissionDecisionReason": reason}),
        ),
        AskEvent::PermissionRequest => specific(
            event,
            json!({"decision": {"behavior": "deny", "message": reason}}),
        ),
        AskEvent::BeforeTool => json!({"decision": "deny", "reason": reason}),
    }
}

/// A reason that is never empty: a deny without one is no deny to Codex.
fn reason_text(reason: &str) -> String {
    let shown = reveal(reason.trim());
    match first(&shown, MAX_REASON).trim() {
        "" => "denied by Leverframe".to_owned(),
        kept if kept.len() < shown.len() => format!("{kept} …"),
        kept => kept.to_owned(),
    }
}

/// The words of a hook, with its name.
fn specific(event: AskEvent, words: Value) -> Value {
    let mut all = json!({"hookEventName": event.as_str()});
    if let (Some(all), Value::Object(words)) = (all.as_object_mut(), words) {
        all.extend(words);
    }
    json!({"hookSpecificOutput": all})
}
