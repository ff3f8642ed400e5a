//! Samples of the gate.

use leverframe::protocol::enums::{ExternalAgent, GateVerdict};
use leverframe::protocol::gate::GateAnswer;
use leverframe::protocol::request::{AllowLater, AskGate, Command, Outcome};
use serde_json::json;

use crate::api_http::samples::{NASTY, approval_id};

pub fn commands() -> Vec<Command> {
    vec![
        Command::AskGate(AskGate {
            agent: ExternalAgent::Codex,
            hook: json!({ "hook_event_name": "PreToolUse", "tool_name": NASTY }),
            wait_seconds: 580,
            host: Some("build-3".to_owned()),
        }),
        Command::AllowLater(AllowLater {
            approval_id: approval_id(),
        }),
    ]
}

pub fn outcome() -> Outcome {
    Outcome::AskGate(GateAnswer {
        verdict: GateVerdict::Deny,
        reason: Some(NASTY.to_owned()),
        body: json!({ "decision": "deny", "reason": NASTY }),
    })
}
