//! What the hooks of agents of other makers are called, which of them ask, and how a refusal looks to each program.
//!
//! A name that is not in the table asks: no event passes because nobody knew it.

use serde_json::{Value, json};

use crate::protocol::enums::ExternalAgent;

/// A moment at which a program calls its hooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HookEvent {
    /// What the program calls it.
    pub name: &'static str,
    /// Whether the program waits for a verdict. The others only report.
    pub asks: bool,
}

const fn asks(name: &'static str) -> HookEvent {
    HookEvent { name, asks: true }
}

const fn reports(name: &'static str) -> HookEvent {
    HookEvent { name, asks: false }
}

const CLAUDE: &[HookEvent] = &[
    asks("PreToolUse"),
    reports("PostToolUse"),
    reports("PostToolUseFailure"),
    reports("UserPromptSubmit"),
    reports("Stop"),
    reports("SubagentStop"),
    reports("SessionStart"),
    reports("SessionEnd"),
];

const CODEX: &[HookEvent] = &[
    asks("PreToolUse"),
    reports("PostToolUse"),
    reports("UserPromptSubmit"),
    reports("Stop"),
    reports("SubagentStop"),
    reports("SessionStart"),
    reports("SessionEnd"),
];

const GEMINI: &[HookEvent] = &[
    asks("BeforeTool"),
    reports("AfterTool"),
    reports("BeforeAgent"),
    reports("AfterAgent"),
    reports("SessionStart"),
    reports("SessionEnd"),
];

/// Reports whose hooks are not installed: they say nothing that is kept. A person may have installed them.
const OTHER_REPORTS: &[&str] = &[
    "Notification",
    "PostCompact",
    "PreCompact",
    "PreCompress",
    "StopFailure",
    "SubagentStart",
];

/// The events whose hooks are installed, the one that asks first.
pub fn hook_events(agent: ExternalAgent) -> &'static [HookEvent] {
    match agent {
        ExternalAgent::Claude => CLAUDE,
        ExternalAgent::Codex => CODEX,
        ExternalAgent::Gemini => GEMINI,
    }
}

/// Whether the program waits for a verdict at this event.
pub fn is_question(agent: ExternalAgent, event: &str) -> bool {
    let mut known = hook_events(agent).iter();
    !OTHER_REPORTS.contains(&event) && !known.any(|known| known.name == event && !known.asks)
}

/// A refusal in the program's own words. `event` is what the program called the moment, where it could be read.
pub fn refusal(agent: ExternalAgent, event: Option<&str>, reason: &str) -> Value {
    match agent {
        ExternalAgent::Gemini => json!({ "decision": "deny", "reason": reason }),
        ExternalAgent::Claude | ExternalAgent::Codex => match event {
            Some("PermissionRequest") => json!({ "hookSpecificOutput": {
                "hookEventName": "PermissionRequest",
                "decision": { "behavior": "deny", "message": reason },
            } }),
            Some(_) | None => json!({ "hookSpecificOutput": {
                "hookEventName": "PreToolUse",
                "permissionDecision": "deny",
                "permissionDecisionReason": reason,
            } }),
        },
    }
}
