//! One of everything the protocol has.

use leverframe::clock::Timestamp;
use leverframe::protocol::approval::{
    Approval, Decision, PlanFacts, Preview, Requester, SimilarCall,
};
use leverframe::protocol::artifact::ArtifactHash;
use leverframe::protocol::channel::{Channel, ChannelDrain, ChannelHealth};
use leverframe::protocol::command::{
    Accepted, BudgetRequest, Command, DecisionRequest, DeliveryResolution, Outcome, Waiting,
};
use leverframe::protocol::event::{Event, EventBody};
use leverframe::protocol::ids::{
    ApprovalId, ContinuationId, OutboxId, SessionId, TakeOverId, ToolCallId,
};
use leverframe::protocol::policy::{Policy, PolicyPatch, Verdict, WhatIf, WhatIfCall};
use leverframe::protocol::session::{
    Continuation, ContinuationSummary, ErrorBody, OutboxItem, Session, Step, StepBody, TextBody,
    ToolCall, TranscriptBody, TranscriptEntry, Usage, Why,
};
use leverframe::protocol::snapshot::{
    Answer, AuditFilter, EngineStatus, OpenStream, Page, PageRequest, Query, Snapshot, SweepReport,
};
use leverframe::protocol::take_over::{TakeOver, TakeOverCommand};
use leverframe::protocol::uncertain::ConversationChoice;
use leverframe::protocol::words::{
    Access, ApprovalKind, ApprovalState, Autonomy, ChannelKind, ChannelState, ContinuationState,
    DecisionScope, DecisionWord, Effect, OutboxClass, OutboxState, Risk, SessionState, StepKind,
    Surface, ToolCallState, VerdictWord,
};
use serde_json::json;

use crate::api_http::cache_samples;
use crate::api_http::samples_duty::{self, duty, handed_over};
use crate::api_http::samples_leftovers;
use crate::api_http::samples_memory;
use crate::api_http::samples_models;
use crate::api_http::samples_pairing;
use crate::api_http::samples_rare::{
    anchor, artifact, audit_report, audit_row, doctor, transcript_from, uncertain,
};

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
        decision: VerdictWord::Ask,
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
        id: session_id(),
        channel: "team".to_owned(),
        conversation: "42".to_owned(),
        title: Some(NASTY.to_owned()),
        state: SessionState::Active,
        paused: false,
        model: None,
        open_continuation: Some(ContinuationSummary {
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
        result: None,
        artifact: None,
        cached: None,
        duration_ms: Some(7),
        attempts: 0,
        created_at: at(),
        started_at: None,
    }
}

pub fn continuation(state: ContinuationState) -> Continuation {
    Continuation {
        id: continuation_id(),
        session_id: session_id(),
        channel: "api".to_owned(),
        conversation: "c".to_owned(),
        state,
        requester: requester(),
        surface: Surface::Http,
        request: TextBody {
            text: NASTY.to_owned(),
        },
        response: state.is_terminal().then(|| TextBody {
            text: "the answer".to_owned(),
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
        decision: DecisionWord::Approve,
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
        offered: vec![DecisionWord::Approve, DecisionWord::Deny],
        requested_at: at(),
        expires_at: Some(at().plus_seconds(60)),
        decision: (state != ApprovalState::Pending).then(decision),
        similar: vec![SimilarCall {
            preview: "rm y".to_owned(),
            verdict: VerdictWord::Ask,
            decision: Some(DecisionWord::Deny),
            by: Some("anna".to_owned()),
            at: at(),
        }],
        question: None,
        notified: true,
        once_only: None,
        unknown: None,
        waiting_for: (state == ApprovalState::Pending).then(|| Box::new(handed_over())),
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
        health: ChannelHealth {
            state: ChannelState::Degraded,
            detail: Some(NASTY.to_owned()),
            last_exchange_at: Some(at()),
            last_inbound_at: None,
            last_outbound_at: None,
            reconnects: 2,
            rate_limited_until: None,
        },
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
        usage_today: usage(),
        budget_today_usd: Some(1.5),
        undo_seconds: 3,
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

fn step() -> Step {
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
            was: VerdictWord::Ask,
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

/// Every command.
pub fn commands() -> Vec<Command> {
    vec![
        Command::StartSession {
            channel: Some("api".to_owned()),
            conversation: None,
            title: Some(NASTY.to_owned()),
            model: None,
        },
        Command::UpdateSession {
            session_id: session_id(),
            title: None,
            model: Some("a/b".to_owned()),
            paused: Some(true),
        },
        Command::EndSession {
            session_id: session_id(),
        },
        Command::SendMessage {
            session_id: session_id(),
            text: NASTY.to_owned(),
            model: None,
            budgets: BudgetRequest {
                max_steps: Some(3),
                ..BudgetRequest::default()
            },
            fresh: true,
        },
        Command::Ask {
            channel: "cli".to_owned(),
            text: "hi".to_owned(),
            model: None,
            budgets: BudgetRequest::default(),
            fresh: false,
        },
        Command::CancelContinuation {
            continuation_id: continuation_id(),
            reason: Some("enough".to_owned()),
        },
        Command::ResumeContinuation {
            continuation_id: continuation_id(),
        },
        Command::RetryContinuation {
            continuation_id: continuation_id(),
        },
        Command::Decide {
            approval_id: approval_id(),
            decision: decision_request(),
        },
        Command::SetPolicy {
            channel: "team".to_owned(),
            patch: PolicyPatch {
                autonomy: Some(Autonomy::Full),
                block: Some(vec![]),
                if_version: Some(3),
                ..PolicyPatch::default()
            },
        },
        Command::PauseChannel {
            channel: "team".to_owned(),
        },
        Command::ResumeChannel {
            channel: "team".to_owned(),
        },
        Command::ResolveDelivery {
            outbox_id: outbox_id(),
            resolution: DeliveryResolution::SendAgain,
            reason: Some(NASTY.to_owned()),
        },
        Command::EmergencyStop {
            reason: Some(NASTY.to_owned()),
        },
        Command::ReleaseEmergencyStop {
            waiting: Waiting::Newest,
            conversations: vec![ConversationChoice {
                session_id: session_id(),
                waiting: Waiting::Drop,
            }],
        },
        Command::Backup {
            path: format!("/backups/{NASTY}"),
        },
        Command::Sweep { preview: true },
        samples_models::command(),
        Command::DiscoverModels,
        Command::TakeOver(TakeOverCommand::Take {
            session_id: session_id(),
            force: true,
        }),
        Command::TakeOver(TakeOverCommand::Say {
            session_id: session_id(),
            take_over_id: TakeOverId::from_bytes([8; 16]),
            text: NASTY.to_owned(),
        }),
        Command::TakeOver(TakeOverCommand::GiveBack {
            session_id: session_id(),
            force: false,
        }),
        Command::DrainChannel {
            channel: "team".to_owned(),
            drain: true,
        },
        Command::TestChannel {
            channel: "team".to_owned(),
            conversation: Some(NASTY.to_owned()),
        },
    ]
    .into_iter()
    .chain(samples_memory::commands())
    .chain(samples_duty::commands())
    .chain([samples_pairing::command(), samples_leftovers::command()])
    .collect()
}

pub fn decision_request() -> DecisionRequest {
    DecisionRequest {
        decision: DecisionWord::Edit,
        scope: Some(DecisionScope::Session),
        digest: "ab".repeat(32),
        revision: Some(1),
        confirm_code: Some("K7Q2ZD".to_owned()),
        reason: Some(NASTY.to_owned()),
        args: Some(json!({"b": 1, "a": [null, 1.5]})),
        answer: Some("yes".to_owned()),
        minutes: Some(5),
        extra: Some(2.5),
        seen_ms: Some(900),
        rule: None,
    }
}

/// Every outcome.
pub fn outcomes() -> Vec<Outcome> {
    vec![
        Outcome::Accepted(accepted()),
        Outcome::Session(session()),
        Outcome::Continuation(continuation(ContinuationState::Completed)),
        Outcome::Approval(approval(ApprovalState::Pending)),
        Outcome::Channel(channel()),
        Outcome::Delivery(delivery()),
        Outcome::Engine(engine()),
        Outcome::Swept(SweepReport {
            at: at(),
            events: u64::MAX,
            ..SweepReport::default()
        }),
        samples_models::outcome(),
        samples_models::discovery(),
        Outcome::Duty(Box::new(duty())),
        Outcome::Leftovers(Box::new(samples_leftovers::left())),
    ]
    .into_iter()
    .chain(samples_memory::outcomes())
    .collect()
}

/// Every query with its answer.
pub fn queries() -> Vec<(Query, Answer)> {
    let page_request = PageRequest {
        limit: Some(7),
        cursor: Some(NASTY.to_owned()),
    };
    vec![
        (
            Query::Snapshot,
            Answer::Snapshot(Box::new(Snapshot {
                seq: 1 << 33,
                at: at(),
                sessions: vec![session()],
                continuations: vec![continuation(ContinuationState::AwaitingApproval)],
                approvals: vec![approval(ApprovalState::Pending)],
                channels: vec![channel()],
                deliveries: vec![delivery()],
                cache: cache_samples::summary(),
                memory: samples_memory::stats(),
                duty: duty(),
                leftovers: vec![samples_leftovers::left()],
                streams: vec![OpenStream {
                    continuation_id: continuation_id(),
                    session_id: session_id(),
                    step: 2,
                    text: NASTY.to_owned(),
                    offset: NASTY.len() as u64,
                }],
                engine: engine(),
            })),
        ),
        (Query::Engine, Answer::Engine(engine())),
        (
            Query::Sessions {
                state: Some(SessionState::Ended),
                channel: Some("team".to_owned()),
                page: page_request.clone(),
            },
            Answer::Sessions(page(session())),
        ),
        (
            Query::Session { id: session_id() },
            Answer::Session(Box::new(session())),
        ),
        (
            Query::Transcript {
                session_id: session_id(),
                before: Some(9),
                limit: Some(10),
            },
            Answer::Transcript(page(TranscriptEntry {
                position: 8,
                continuation_id: continuation_id(),
                at: at(),
                body: TranscriptBody::Step {
                    step: step(),
                    tool_calls: vec![tool_call()],
                },
            })),
        ),
        (
            Query::Continuations {
                state: Some(ContinuationState::Running),
                session_id: Some(session_id()),
                page: page_request.clone(),
            },
            Answer::Continuations(page(continuation(ContinuationState::Running))),
        ),
        (
            Query::Continuation {
                id: continuation_id(),
            },
            Answer::Continuation(Box::new(continuation(ContinuationState::Failed))),
        ),
        (
            Query::Steps {
                continuation_id: continuation_id(),
            },
            Answer::Steps(page(step())),
        ),
        (
            Query::Approvals {
                state: Some(ApprovalState::Pending),
                page: PageRequest::default(),
            },
            Answer::Approvals(page(approval(ApprovalState::Pending))),
        ),
        (
            Query::Approval { id: approval_id() },
            Answer::Approval(Box::new(approval(ApprovalState::Consumed))),
        ),
        (Query::Channels, Answer::Channels(page(channel()))),
        (
            Query::Channel {
                name: "team".to_owned(),
            },
            Answer::Channel(Box::new(channel())),
        ),
        (
            Query::WhatIf {
                channel: "team".to_owned(),
                autonomy: Autonomy::Full,
                limit: Some(20),
            },
            Answer::WhatIf(what_if()),
        ),
        (
            Query::Outbox {
                state: Some(OutboxState::Unknown),
                page: page_request,
            },
            Answer::Outbox(page(delivery())),
        ),
        (
            Query::Delivery { id: outbox_id() },
            Answer::Delivery(Box::new(delivery())),
        ),
        (
            Query::Why {
                tool_call_id: call_id(),
            },
            Answer::Why(Box::new(why())),
        ),
        (
            Query::Summary { since: Some(at()) },
            Answer::Summary(Box::new(samples_duty::summary())),
        ),
        samples_pairing::query(),
        samples_leftovers::query(),
        (
            Query::Doctor { check: true },
            Answer::Doctor(Box::new(doctor())),
        ),
        (
            Query::Audit {
                filter: AuditFilter {
                    since: Some(at()),
                    action: Some("approval.decided".to_owned()),
                    oldest_first: true,
                    ..AuditFilter::default()
                },
                page: PageRequest {
                    limit: Some(7),
                    cursor: None,
                },
            },
            Answer::Audit(page(audit_row())),
        ),
        (
            Query::AuditVerify {
                anchor: Some(anchor()),
            },
            Answer::AuditVerify(Box::new(audit_report())),
        ),
        (Query::Uncertain, Answer::Uncertain(Box::new(uncertain()))),
        (
            Query::Artifact {
                hash: ArtifactHash::from_bytes([0xab; 32]),
            },
            Answer::Artifact(Box::new(artifact())),
        ),
        samples_models::query(),
        (
            // A remote daemon puts in who really asks.
            Query::Duty { actor: None },
            Answer::Duty(Box::new(duty())),
        ),
    ]
    .into_iter()
    .chain(samples_memory::queries())
    .chain([transcript_from()])
    .collect()
}

/// A durable event with this number.
pub fn numbered(seq: u64) -> Event {
    Event {
        seq: Some(seq),
        at: at(),
        session_id: Some(session_id()),
        continuation_id: Some(continuation_id()),
        body: EventBody::ContinuationCancelled {
            by: NASTY.to_owned(),
            reason: Some(format!("number {seq}")),
        },
    }
}

/// An event of a continuation.
pub fn event(seq: Option<u64>, body: EventBody) -> Event {
    Event {
        seq,
        body,
        ..numbered(0)
    }
}

/// Events with and without numbers, with all kinds of content.
pub fn events() -> Vec<Event> {
    vec![
        event(
            Some(1),
            EventBody::SessionStarted {
                session: Box::new(session()),
            },
        ),
        event(
            None,
            EventBody::MessageDelta {
                step: 1,
                offset: 0,
                text: NASTY.to_owned(),
            },
        ),
        event(
            Some(2),
            EventBody::ApprovalRequested {
                approval: Box::new(approval(ApprovalState::Pending)),
            },
        ),
        event(
            Some(3),
            EventBody::ContinuationFailed {
                error: ErrorBody {
                    code: "internal".to_owned(),
                    message: NASTY.to_owned(),
                },
            },
        ),
        event(
            Some(4),
            EventBody::EngineState {
                engine: Box::new(engine()),
            },
        ),
    ]
    .into_iter()
    .chain(samples_duty::events())
    .chain([samples_leftovers::event()])
    .collect()
}
