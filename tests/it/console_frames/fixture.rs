//! A small world with fixed ids and times.

use leverframe::clock::{Day, Timestamp};
use leverframe::console::ids::HostId;
use leverframe::console::item::{ItemKey, QueueKey};
use leverframe::protocol::approval::{
    Approval, PlanFacts, Preview, PriorMessage, Requester, SimilarCall,
};
use leverframe::protocol::cache::CacheSummary;
use leverframe::protocol::channel::{Channel, ChannelHealth};
use leverframe::protocol::enums::*;
use leverframe::protocol::ids::{ApprovalId, ContinuationId, SessionId, ToolCallId};
use leverframe::protocol::policy::{Policy, Verdict};
use leverframe::protocol::session::*;
use leverframe::protocol::snapshot::{EngineStatus, OpenStream, Snapshot};

/// The wall clock of every fixture: 2026-11-21 12:00:30 UTC.
pub const NOW: Timestamp = Timestamp(1_795_262_430_000);

pub fn ago(seconds: i64) -> Timestamp {
    NOW.plus_seconds(-seconds)
}

fn bytes(n: u8) -> [u8; 16] {
    [1, 0x9a, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, n]
}

pub fn session_id(n: u8) -> SessionId {
    SessionId::from_bytes(bytes(n))
}

pub fn continuation_id(n: u8) -> ContinuationId {
    ContinuationId::from_bytes(bytes(n))
}

pub fn approval_id(n: u8) -> ApprovalId {
    ApprovalId::from_bytes(bytes(n))
}

pub fn requester() -> Requester {
    Requester {
        id: "telegram:481516".into(),
        display: "Ana Duarte".into(),
        person: Some("ana".into()),
    }
}

pub fn usage() -> Usage {
    Usage {
        input_tokens: 12_480,
        output_tokens: 912,
        cached_input_tokens: 9_216,
        cache_write_tokens: 0,
        cost_usd: Some(0.0431),
    }
}

pub fn verdict() -> Verdict {
    Verdict {
        decision: VerdictKind::Ask,
        rule: "autonomy semi_auto: only local reads run".into(),
        policy_version: 3,
    }
}

fn prior(sender: Option<&str>, text: &str) -> PriorMessage {
    PriorMessage {
        sender: sender.map(str::to_owned),
        text: text.to_owned(),
    }
}

pub fn approval(n: u8, risk: Risk) -> Approval {
    Approval {
        id: approval_id(n),
        short_code: format!("K7Q2M{n}"),
        kind: ApprovalKind::Execute,
        state: ApprovalState::Pending,
        digest: format!("{n:02x}").repeat(32),
        revision: 1,
        tool: "write_file".into(),
        args: serde_json::json!({"path": "notes/today.md", "content": "# Today\n- water the plants\n"}),
        access: Access::Write,
        effect: Effect::Idempotent,
        risk,
        risk_reasons: vec!["overwrites an existing file".into()],
        taint: vec![],
        preview: Preview::Diff {
            path: "notes/today.md".into(),
            unified: "@@ -1,2 +1,2 @@\n # Today\n-- call the bank\n+- water the plants\n".into(),
        },
        plan: PlanFacts::default(),
        model_reason: Some("You asked me to replace today's list.".into()),
        channel: "telegram".into(),
        conversation: "481516".into(),
        requester: requester(),
        session_id: Some(session_id(1)),
        continuation_id: Some(continuation_id(1)),
        tool_call_id: None,
        verdict: verdict(),
        offered: vec![
            DecisionKind::Approve,
            DecisionKind::Deny,
            DecisionKind::DenyAndStop,
            DecisionKind::Edit,
            DecisionKind::Answer,
            DecisionKind::Snooze,
        ],
        requested_at: ago(240 + i64::from(n)),
        expires_at: Some(NOW.plus_seconds(1500 + i64::from(n) * 600)),
        decision: None,
        messages: vec![
            prior(
                Some("Ana Duarte"),
                "The bank called back this morning, so that point is done.",
            ),
            prior(
                None,
                "Good. Your list for today still has it. Shall I write the list anew without the call, and put the watering of the plants on it instead, which you moved from yesterday when it rained?",
            ),
            prior(Some("Ana Duarte"), "Yes, replace it."),
        ],
        similar: vec![SimilarCall {
            preview: "notes/week.md".into(),
            verdict: VerdictKind::Ask,
            decision: Some(DecisionKind::Approve),
            by: Some("ana".into()),
            at: ago(7200),
        }],
        question: None,
        notified: true,

        reminders: 0,
        once_only: None,
        unknown: None,
        allowed_by: None,
        escalation: None,
        assignment: None,
        shortened: false,
    }
}

pub fn command_approval(n: u8, risk: Risk) -> Approval {
    Approval {
        tool: "execute_command".into(),
        args: serde_json::json!({"argv": ["git", "push", "origin", "main branch"]}),
        access: Access::Exec,
        effect: Effect::NonIdempotent,
        risk_reasons: vec![
            "runs a program that is not on the list".into(),
            "unsandboxed: bubblewrap is missing".into(),
        ],
        taint: vec!["result of fetch (https://example.org/page)".into()],
        preview: Preview::Exec {
            argv: ["git", "push", "origin", "main branch"]
                .map(str::to_owned)
                .to_vec(),
        },
        plan: PlanFacts {
            cwd: Some("/srv/agent/workspace".into()),
            executable: Some("/usr/bin/git".into()),
            env: vec![("GIT_PAGER".into(), "cat".into())],
            sandbox: Some("unsandboxed".into()),
            ..PlanFacts::default()
        },
        model_reason: None,
        ..approval(n, risk)
    }
}

pub fn session(n: u8, channel: &str, sender: &str, line: &str) -> Session {
    Session {
        id: session_id(n),
        channel: channel.into(),
        conversation: format!("{channel}-{n}"),
        title: None,
        state: SessionState::Active,
        paused: false,
        model: None,
        preferences: None,
        open_continuation: None,
        queued: 0,
        pending_approvals: 0,
        last_line: Some(line.into()),
        last_sender: Some(sender.into()),
        usage: usage(),
        turns: 3,
        memory: None,
        taken_over: None,
        external: None,
        flood: None,
        refused_calls: None,
        created_at: ago(9000),
        updated_at: ago(60 * i64::from(n)),
    }
}

pub fn open(n: u8, state: ContinuationState, tools: &[&str]) -> ContinuationSummary {
    ContinuationSummary {
        waiting_files: 0,
        id: continuation_id(n),
        state,
        tools_in_flight: tools.iter().map(|t| (*t).to_owned()).collect(),
        created_at: ago(120),
        updated_at: ago(60),
    }
}

pub fn channel(name: &str, kind: ChannelKind, autonomy: Autonomy) -> Channel {
    let telegram = kind == ChannelKind::Telegram;
    Channel {
        name: name.into(),
        kind,
        account: telegram.then(|| "@leverbot".into()),
        policy: Policy {
            version: 3,
            autonomy,
            expires_at: None,
            reverts_to: None,
            auto_approve: vec!["read_file".into()],
            block: vec!["execute_command".into()],
            always_ask: vec![],
        },
        taint_guard_in_full: true,
        health: ChannelHealth {
            state: if telegram {
                ChannelState::Connected
            } else {
                ChannelState::Local
            },
            detail: None,
            last_exchange_at: telegram.then(|| ago(20)),
            last_inbound_at: Some(ago(300)),
            last_outbound_at: Some(ago(290)),
            reconnects: 1,
            rate_limited_until: None,
        },
        workspace: None,
        paused: false,
        held: false,
        backlog: 0,
        pending_approvals: 0,
        active_sessions: 1,
        draining: None,
        taken_over: 0,
        approvers: Vec::new(),
        two_people: Vec::new(),
        asking: 0,
        paired: 0,
    }
}

pub fn engine() -> EngineStatus {
    EngineStatus {
        version: "0.1.0".into(),
        instance: "atlas".into(),
        epoch: 4,
        held_since: None,
        held_reason: None,
        quarantine: false,
        model: "scripted/demo".into(),
        scripted: true,
        demo: false,
        sandbox: "bubblewrap".into(),
        tools: vec![
            "write_file".to_owned(),
            "execute_command".to_owned(),
            "read_file".to_owned(),
        ],
        today: Day::local(NOW),
        usage_today: Usage {
            cost_usd: Some(1.27),
            ..usage()
        },
        budget_today_usd: Some(20.0),
        problems: vec![],
        writable: true,
        draining: None,
        started_at: ago(86_400),
    }
}

pub fn continuation(n: u8, state: ContinuationState) -> Continuation {
    Continuation {
        waiting_files: 0,
        id: continuation_id(n),
        session_id: session_id(n),
        channel: "telegram".into(),
        conversation: "481516".into(),
        state,
        requester: requester(),
        surface: Surface::Chat,
        attachments: Vec::new(),
        request: TextBody {
            text: "Summarise the log of last night, please.".into(),
        },
        response: None,
        citations: leverframe::protocol::citation::Citations::default(),
        options: None,
        files: Vec::new(),
        usage: usage(),
        steps: 2,
        tool_calls: vec![],
        approvals: vec![],
        error: Some(ErrorBody {
            code: "interrupted".into(),
            message: "the process was stopped while the turn ran".into(),
        }),
        retry_of: None,
        attempt: 1,
        model: None,
        created_at: ago(900),
        updated_at: ago(600),
    }
}

pub fn snapshot() -> Snapshot {
    Snapshot {
        seq: 100,
        at: NOW,
        sessions: vec![],
        continuations: vec![],
        approvals: vec![],
        channels: vec![
            channel("desk", ChannelKind::Desk, Autonomy::Supervised),
            channel("telegram", ChannelKind::Telegram, Autonomy::SemiAuto),
        ],
        deliveries: vec![],
        cache: CacheSummary::default(),
        memory: leverframe::protocol::memory::MemoryStats::default(),
        on_call_status: leverframe::protocol::on_call::OnCallStatus::default(),
        leftovers: vec![],
        streams: vec![],
        engine: engine(),
    }
}

/// Two approvals and an interrupted turn; four sessions.
pub fn busy() -> Snapshot {
    let mut waiting = session(1, "telegram", "Ana Duarte", "Please replace today's list.");
    waiting.open_continuation = Some(open(1, ContinuationState::AwaitingApproval, &[]));
    waiting.pending_approvals = 2;
    let mut running = session(
        2,
        "desk",
        "operator",
        "Which of the services restarted last night?",
    );
    running.open_continuation = Some(open(2, ContinuationState::Running, &["search_files"]));
    let mut interrupted = session(
        3,
        "telegram",
        "Bo",
        "Summarise the log of last night, please.",
    );
    interrupted.open_continuation = Some(open(3, ContinuationState::Interrupted, &[]));
    Snapshot {
        sessions: vec![
            waiting,
            running,
            interrupted,
            session(4, "telegram", "Chiyo 千代", "ありがとう、また明日"),
        ],
        approvals: vec![approval(1, Risk::Medium), command_approval(2, Risk::High)],
        continuations: vec![continuation(3, ContinuationState::Interrupted)],
        streams: vec![OpenStream {
            continuation_id: continuation_id(2),
            session_id: session_id(2),
            step: 2,
            text: "Two of them restarted:\n- the mail relay, at 02".into(),
            offset: 46,
        }],
        ..snapshot()
    }
}

pub fn tool_call(n: u8, state: ToolCallState, result: Option<&str>) -> ToolCall {
    ToolCall {
        report: None,
        id: ToolCallId::from_bytes(bytes(n)),
        continuation_id: continuation_id(2),
        step: 1,
        index: 0,
        name: "search_files".into(),
        args: serde_json::json!({"pattern": "restarted", "glob": "logs/*.log"}),
        access: Access::ReadLocal,
        effect: Effect::ReadOnly,
        risk: Risk::Low,
        risk_reasons: vec![],
        plan: PlanFacts::default(),
        state,
        verdict: Verdict {
            decision: VerdictKind::Allow,
            rule: "autonomy semi_auto: local reads run".into(),
            policy_version: 3,
        },
        approval_id: None,
        decision: None,
        result: result.map(str::to_owned),
        artifact: None,
        cached: None,
        duration_ms: result.map(|_| 84),
        attempts: 1,
        created_at: ago(50),
        started_at: Some(ago(49)),
        shortened: false,
    }
}

pub fn entry(position: u64, body: TranscriptBody) -> TranscriptEntry {
    TranscriptEntry {
        position,
        continuation_id: continuation_id(2),
        at: ago(120 - i64::try_from(position).unwrap_or(0)),
        body,
    }
}

pub fn user(position: u64, text: &str) -> TranscriptEntry {
    entry(
        position,
        TranscriptBody::User {
            sender: "operator".into(),
            text: text.into(),
        },
    )
}

pub fn model(position: u64, text: &str, calls: Vec<ToolCall>) -> TranscriptEntry {
    let step = Step {
        continuation_id: continuation_id(2),
        n: 1,
        kind: StepKind::Model,
        body: StepBody::Model {
            model: "anthropic/claude".into(),
            text: text.into(),
            tool_calls: calls.iter().map(|c| c.id).collect(),
            stop: "tool_use".into(),
            usage: usage(),
            latency_ms: 1_340,
            attempts: 1,
            native: None,
            dropped: vec![],
            notes: Vec::new(),
            cached: None,
        },
        at: ago(60),
    };
    entry(
        position,
        TranscriptBody::Step {
            step,
            tool_calls: calls,
        },
    )
}

pub fn transcript() -> Vec<TranscriptEntry> {
    vec![
        user(1, "Which of the services restarted last night?"),
        model(
            2,
            "I will look at the logs.",
            vec![tool_call(
                9,
                ToolCallState::Succeeded,
                Some(
                    "logs/relay.log:17: restarted\nlogs/web.log:40: restarted\nlogs/web.log:41: ready\nlogs/db.log:3: restarted\nlogs/db.log:9: ready",
                ),
            )],
        ),
    ]
}

/// An item of the queue of the first daemon.
pub fn key(item: ItemKey) -> QueueKey {
    QueueKey::new(HostId(0), item)
}
