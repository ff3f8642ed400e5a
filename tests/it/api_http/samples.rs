//! One of everything the protocol has.

use leverframe::clock::{Day, Timestamp};
use leverframe::protocol::approval::{
    Approval, Decision, FirstApproval, PlanFacts, Preview, PriorMessage, Requester, SimilarCall,
};
use leverframe::protocol::channel::{Channel, ChannelDrain, ChannelHealth};
use leverframe::protocol::citation::{Citation, Citations};
use leverframe::protocol::command::Accepted;
use leverframe::protocol::enums::{
    Access, ApprovalKind, ApprovalState, Autonomy, ChannelKind, ChannelState, CitationKind,
    ContinuationState, DecisionKind, DecisionScope, Effect, OutboxClass, OutboxState, Risk,
    SessionState, StepKind, Surface, ToolCallState, VerdictKind,
};
use leverframe::protocol::ids::{
    ApprovalId, ContinuationId, OutboxId, SessionId, TakeOverId, ToolCallId,
};
use leverframe::protocol::options::TurnOptions;
use leverframe::protocol::policy::{Policy, Verdict, WhatIf, WhatIfCall};
use leverframe::protocol::session::{
    Continuation, ContinuationSummary, OutboxItem, RefusedCall, RefusedCalls, Session, Step,
    StepBody, TextBody, ToolCall, Usage, Why,
};
use leverframe::protocol::snapshot::{EngineStatus, Page};
use leverframe::protocol::take_over::TakeOver;
use serde_json::json;

use crate::api_http::samples_on_call::{assigned, escalation};

/// Text with everything that breaks framing and screens.
pub const NASTY: &str = "a\r\nb\n\ndata: x\u{2028}\u{feff}\u{202e}\u{1b}[31mü😀\u{e0041}";

pub fn at() -> Timestamp {
    Timestamp(1_790_000_000_123)
}

pub fn session_id() -> SessionId {
    SessionId::from_bytes([1; 16])
}

pub fn continuation_id() -> ContinuationId {
    ContinuationId::from_bytes([2; 16])
}

pub fn approval_id() -> ApprovalId {
    ApprovalId::from_bytes([3; 16])
}

pub fn call_id() -> ToolCallId {
    ToolCallId::from_bytes([4; 16])
}

pub fn outbox_id() -> OutboxId {
    OutboxId::from_bytes([5; 16])
}

pub fn usage() -> Usage {
    Usage {
        input_tokens: 10,
        output_tokens: 5,
        cached_input_tokens: 2,
        cache_write_tokens: 0,
        cost_usd: Some(0.25),
    }
}

pub fn verdict() -> Verdict {
    Verdict {
        decision: VerdictKind::Ask,
        rule: "autonomy supervised: everything not auto-approved asks".to_owned(),
        policy_version: 3,
    }
}

pub fn requester() -> Requester {
    Requester {
        id: "telegram:42".to_owned(),
        display: NASTY.to_owned(),
        person: Some("anna".to_owned()),
    }
}

pub fn session() -> Session {
    Session {
        external: None,
        id: session_id(),
        channel: "team".to_owned(),
        conversation: "42".to_owned(),
        title: Some(NASTY.to_owned()),
        state: SessionState::Active,
        paused: false,
        model: None,
        preferences: Some(NASTY.to_owned()),
        open_continuation: Some(ContinuationSummary {
            waiting_files: 0,
            id: continuation_id(),
            state: ContinuationState::Running,
            tools_in_flight: vec!["read_file".to_owned()],
            created_at: at(),
            updated_at: at(),
        }),
        queued: 1,
        pending_approvals: 1,
        last_line: Some("hello".to_owned()),
        last_sender: None,
        usage: usage(),
        turns: 2,
        memory: Some(leverframe::protocol::memory::SessionMemory {
            summary_version: 2,
            summary_bytes: 300,
            covered_turns: 1,
            ..Default::default()
        }),
        flood: Some(leverframe::protocol::session::Flood {
            of: leverframe::protocol::enums::FloodKind::Turns,
            count: 20,
            at: at(),
        }),
        refused_calls: Some(RefusedCalls {
            count: 3,
            last_at: at(),
            newest: vec![RefusedCall {
                continuation_id: continuation_id(),
                tool: "write_file".to_owned(),
                preview: NASTY.to_owned(),
                rule: "too many approvals wait in this session".to_owned(),
            }],
        }),
        taken_over: Some(TakeOver {
            id: TakeOverId::from_bytes([8; 16]),
            by: NASTY.to_owned(),
            by_id: "operator:1000".to_owned(),
            surface: Surface::Console,
            at: at(),
        }),
        created_at: at(),
        updated_at: at(),
    }
}

pub fn tool_call() -> ToolCall {
    ToolCall {
        report: None,
        id: call_id(),
        continuation_id: continuation_id(),
        step: 1,
        index: 0,
        name: "execute_command".to_owned(),
        args: json!({"argv": ["rm", "-rf", "x"], "z": 1, "a": NASTY}),
        access: Access::Exec,
        effect: Effect::NonIdempotent,
        risk: Risk::High,
        risk_reasons: vec!["runs a program".to_owned()],
        plan: PlanFacts {
            cwd: Some("/w".to_owned()),
            executable: Some("/bin/rm".to_owned()),
            env: vec![("A".to_owned(), "b".to_owned())],
            sandbox: Some("unsandboxed".to_owned()),
            ..PlanFacts::default()
        },
        state: ToolCallState::Awaiting,
        verdict: verdict(),
        approval_id: Some(approval_id()),
        decision: None,
        result: None,
        artifact: None,
        cached: None,
        duration_ms: Some(7),
        attempts: 0,
        created_at: at(),
        started_at: None,
        shortened: true,
    }
}

pub fn continuation(state: ContinuationState) -> Continuation {
    Continuation {
        waiting_files: 0,
        id: continuation_id(),
        session_id: session_id(),
        channel: "api".to_owned(),
        conversation: "c".to_owned(),
        state,
        requester: requester(),
        surface: Surface::Http,
        attachments: Vec::new(),
        request: TextBody {
            text: NASTY.to_owned(),
        },
        files: Vec::new(),
        response: state.is_terminal().then(|| TextBody {
            text: "the answer".to_owned(),
        }),
        citations: Citations::of(vec![Citation {
            kind: CitationKind::File,
            source: NASTY.to_owned(),
        }]),
        options: Some(TurnOptions {
            hints: vec![NASTY.to_owned()],
            ..TurnOptions::default()
        }),
        usage: usage(),
        steps: 3,
        tool_calls: vec![tool_call()],
        approvals: vec![approval_id()],
        error: None,
        retry_of: None,
        attempt: 1,
        model: None,
        created_at: at(),
        updated_at: at(),
    }
}

pub fn decision() -> Decision {
    Decision {
        until: None,
        answer: None,
        starts_at: Some(at()),
        decision: DecisionKind::Approve,
        scope: Some(DecisionScope::Once),
        by: "anna".to_owned(),
        surface: Surface::Console,
        at: at(),
        reason: None,
    }
}

pub fn approval(state: ApprovalState) -> Approval {
    Approval {
        id: approval_id(),
        short_code: "K7Q2ZD".to_owned(),
        kind: ApprovalKind::Execute,
        state,
        digest: "ab".repeat(32),
        revision: 1,
        tool: "execute_command".to_owned(),
        args: json!({"argv": ["rm", NASTY]}),
        access: Access::Exec,
        effect: Effect::NonIdempotent,
        risk: Risk::High,
        risk_reasons: vec!["runs a program".to_owned()],
        taint: vec!["web page".to_owned()],
        preview: Preview::Exec {
            argv: vec!["rm".to_owned(), NASTY.to_owned()],
        },
        plan: PlanFacts::default(),
        model_reason: Some("because".to_owned()),
        channel: "team".to_owned(),
        conversation: "42".to_owned(),
        requester: requester(),
        session_id: Some(session_id()),
        continuation_id: Some(continuation_id()),
        tool_call_id: Some(call_id()),
        verdict: verdict(),
        offered: vec![DecisionKind::Approve, DecisionKind::Deny],
        requested_at: at(),
        expires_at: Some(at().plus_seconds(60)),
        decision: (state != ApprovalState::Pending).then(decision),
        messages: vec![PriorMessage {
            sender: Some("Ana".into()),
            text: "write today's list anew".into(),
        }],
        similar: vec![SimilarCall {
            preview: "rm y".to_owned(),
            verdict: VerdictKind::Ask,
            decision: Some(DecisionKind::Deny),
            by: Some("anna".to_owned()),
            at: at(),
        }],
        question: None,
        notified: true,

        reminders: 0,
        once_only: None,
        unknown: None,
        escalation: (state == ApprovalState::Pending).then(|| Box::new(escalation())),
        allowed_by: (state == ApprovalState::Pending).then(|| {
            Box::new(FirstApproval {
                person: "anna".to_owned(),
                surface: Surface::Chat,
                at: at(),
                revision: 1,
            })
        }),
        assignment: (state == ApprovalState::Pending).then(|| Box::new(assigned())),
        shortened: true,
    }
}

pub fn policy() -> Policy {
    Policy {
        version: 3,
        autonomy: Autonomy::SemiAuto,
        expires_at: Some(at()),
        reverts_to: Some(Autonomy::Supervised),
        auto_approve: vec!["read_*".to_owned()],
        block: vec![],
        always_ask: vec!["bash".to_owned()],
    }
}

pub fn channel() -> Channel {
    Channel {
        name: "team".to_owned(),
        kind: ChannelKind::Telegram,
        account: Some("@bot".to_owned()),
        policy: policy(),
        taint_guard_in_full: true,
        health: ChannelHealth {
            state: ChannelState::Degraded,
            detail: Some(NASTY.to_owned()),
            last_exchange_at: Some(at()),
            last_inbound_at: None,
            last_outbound_at: None,
            reconnects: 2,
            rate_limited_until: None,
        },
        workspace: Some("/srv/team".to_owned()),
        paused: false,
        held: false,
        backlog: 1,
        pending_approvals: 2,
        active_sessions: 3,
        draining: Some(ChannelDrain {
            since: at(),
            running: 1,
            waiting: 2,
            held_back: 3,
        }),
        taken_over: 1,
        approvers: vec!["anna".to_owned()],
        two_people: vec!["risk:high".to_owned()],
        asking: 2,
        paired: 3,
    }
}

pub fn delivery() -> OutboxItem {
    OutboxItem {
        id: outbox_id(),
        channel: "team".to_owned(),
        conversation: "42".to_owned(),
        continuation_id: Some(continuation_id()),
        class: OutboxClass::Final,
        state: OutboxState::Unknown,
        part: 1,
        parts: 2,
        preview: NASTY.to_owned(),
        attempts: 1,
        not_before: None,
        last_error: Some("reset".to_owned()),
        created_at: at(),
        updated_at: at(),
        question: Some(approval_id()),
    }
}

pub fn engine() -> EngineStatus {
    EngineStatus {
        version: "0.1.0".to_owned(),
        instance: "host".to_owned(),
        epoch: 4,
        held_since: Some(at()),
        held_reason: Some("anna: test".to_owned()),
        quarantine: false,
        model: "scripted/demo".to_owned(),
        scripted: true,
        demo: false,
        sandbox: "bubblewrap".to_owned(),
        tools: vec![
            "write_file".to_owned(),
            "execute_command".to_owned(),
            "read_file".to_owned(),
        ],
        today: Day(20_785),
        usage_today: usage(),
        budget_today_usd: Some(1.5),
        problems: vec!["disk full".to_owned()],
        writable: true,
        draining: None,
        started_at: at(),
    }
}

pub fn accepted() -> Accepted {
    Accepted {
        session_id: session_id(),
        continuation_id: continuation_id(),
        state: ContinuationState::Pending,
        at: at(),
        repeated: false,
    }
}

pub fn step() -> Step {
    Step {
        continuation_id: continuation_id(),
        n: 1,
        kind: StepKind::Model,
        body: StepBody::Model {
            model: "scripted/demo".to_owned(),
            text: NASTY.to_owned(),
            tool_calls: vec![call_id()],
            stop: "tool_calls".to_owned(),
            usage: usage(),
            latency_ms: 12,
            attempts: 1,
            native: None,
            dropped: vec!["old".to_owned()],
            notes: Vec::new(),
            cached: None,
        },
        at: at(),
    }
}

pub fn page<T>(item: T) -> Page<T> {
    Page {
        items: vec![item],
        next_cursor: Some("next".to_owned()),
    }
}

pub fn what_if() -> WhatIf {
    WhatIf {
        channel: "team".to_owned(),
        autonomy: Autonomy::Full,
        considered: 20,
        would_run: 17,
        newly_unattended: 5,
        calls: vec![WhatIfCall {
            tool: "bash".to_owned(),
            preview: NASTY.to_owned(),
            access: Access::Exec,
            risk: Risk::Critical,
            was: VerdictKind::Ask,
            would_be: verdict(),
            at: at(),
        }],
    }
}

pub fn why() -> Why {
    Why {
        call: tool_call(),
        requester: requester(),
        request: NASTY.to_owned(),
        model_reason: Some("because".to_owned()),
        channel: "team".to_owned(),
        taint: vec!["web page".to_owned()],
        policy_author: Some("anna".to_owned()),
        approval: Some(approval(ApprovalState::Denied)),
        hooks: Vec::new(),
        story: vec!["the policy asked".to_owned()],
    }
}
