//! Samples of the gate.

use leverframe::protocol::agent_job::AgentJob;
use leverframe::protocol::enums::{AgentJobState, ExternalAgent, GateVerdict};
use leverframe::protocol::gate::GateAnswer;
use leverframe::protocol::gate_test::{GateTest, GateTestCase};
use leverframe::protocol::request::{
    AllowLater, Answer, AskGate, CancelAgentJob, Command, GetAgentJob, ListAgentJobs,
    ListGateTests, Outcome, Query, RunAgent,
};
use leverframe::protocol::snapshot::PageRequest;
use serde_json::json;

use crate::api_http::samples::{NASTY, approval_id, at, continuation_id, page, session_id};

pub fn commands() -> Vec<Command> {
    vec![
        Command::AskGate(AskGate {
            agent: ExternalAgent::Codex,
            hook: json!({ "hook_event_name": "PreToolUse", "tool_name": NASTY }),
            wait_seconds: 580,
            host: Some("build-3".to_owned()),
        }),
        Command::RunAgent(RunAgent {
            agent: ExternalAgent::Claude,
            directory: "/srv/shop".to_owned(),
            task: NASTY.to_owned(),
        }),
        Command::CancelAgentJob(CancelAgentJob { id: session_id() }),
        Command::AllowLater(AllowLater {
            approval_id: approval_id(),
        }),
    ]
}

pub fn job() -> AgentJob {
    AgentJob {
        id: session_id(),
        agent: ExternalAgent::Claude,
        session: "11111111-1111-4111-8111-111111111111".to_owned(),
        directory: "/srv/shop".to_owned(),
        task: NASTY.to_owned(),
        state: AgentJobState::Waiting,
        detail: Some(NASTY.to_owned()),
        approval_id: Some(approval_id()),
        answer: Some(NASTY.to_owned()),
        continuation_id: continuation_id(),
        runs: 2,
        created_at: at(),
        updated_at: at(),
    }
}

pub fn queries() -> Vec<(Query, Answer)> {
    let listed = ListAgentJobs {
        page: PageRequest {
            limit: Some(7),
            cursor: Some(NASTY.to_owned()),
        },
    };
    vec![
        (
            Query::ListAgentJobs(listed),
            Answer::ListAgentJobs(page(job())),
        ),
        (
            Query::GetAgentJob(GetAgentJob { id: session_id() }),
            Answer::GetAgentJob(job()),
        ),
    ]
}

pub fn outcome() -> Outcome {
    Outcome::AskGate(GateAnswer {
        verdict: GateVerdict::Deny,
        reason: Some(NASTY.to_owned()),
        body: json!({ "decision": "deny", "reason": NASTY }),
    })
}

pub fn tests() -> (Query, Answer) {
    let case = GateTestCase {
        case: "deny".to_owned(),
        expected: "a no of a person stops the call".to_owned(),
        passed: false,
        got: Some(NASTY.to_owned()),
        took_ms: 1_200,
    };
    let test = GateTest {
        agent: ExternalAgent::Codex,
        version: NASTY.to_owned(),
        leverframe: "0.1.0".to_owned(),
        at: at(),
        cases: vec![case],
        effective: NASTY.to_owned(),
    };
    (
        Query::ListGateTests(ListGateTests {}),
        Answer::ListGateTests(page(test)),
    )
}
