//! Every command, outcome, query and event, made of the samples.

use leverframe::protocol::artifact::ArtifactHash;
use leverframe::protocol::artifact::NewAttachment;
use leverframe::protocol::command::{BudgetRequest, DecisionRequest, DeliveryResolution, Waiting};
use leverframe::protocol::enums::{
    ApprovalState, Autonomy, ContinuationState, DecisionKind, DecisionScope, OutboxState,
    SessionState,
};
use leverframe::protocol::event::{Event, EventBody};
use leverframe::protocol::ids::TakeOverId;
use leverframe::protocol::policy::PolicyPatch;
use leverframe::protocol::request::{
    Answer, Ask, CancelContinuation, CheckChannel, Command, CreateBackup, Decide, DiscoverModels,
    DismissRefusedCalls, DrainChannel, EmergencyStop, EndSession, ExplainCall, GetApproval,
    GetArtifact, GetChannel, GetContinuation, GetDelivery, GetDoctor, GetEngine, GetOnCall,
    GetSession, GetShiftSummary, GetSnapshot, GetTranscript, GetWhatIf, GiveBackSession,
    ListApprovals, ListAudit, ListChannels, ListContinuations, ListDeliveries, ListSessions,
    ListSteps, ListUncertain, Outcome, PauseChannel, Query, ReleaseEmergencyStop,
    ReloadConfiguration, ResolveDelivery, ResumeChannel, ResumeContinuation, RetryContinuation,
    SendAsBot, SendMessage, SetPolicy, StartSession, Sweep, TakeOverSession, TestChannel,
    UpdateSession, VerifyAudit,
};
use leverframe::protocol::session::{ErrorBody, TranscriptBody, TranscriptEntry};
use leverframe::protocol::snapshot::{AuditFilter, OpenStream, PageRequest, Snapshot, SweepReport};
use leverframe::protocol::uncertain::ConversationChoice;
use serde_json::json;

use crate::api_http::cache_samples;
use crate::api_http::samples_datasets;
use crate::api_http::samples_file_changes;
use crate::api_http::samples_gate;
use crate::api_http::samples_leftovers;
use crate::api_http::samples_memory;
use crate::api_http::samples_models;
use crate::api_http::samples_on_call::{self, on_call_status};
use crate::api_http::samples_pairing;
use crate::api_http::samples_rare::{
    anchor, artifact, audit_report, audit_row, doctor, transcript_from, uncertain,
};
use crate::api_http::samples_rehearsals;
use crate::api_http::samples_servers;
use crate::api_http::samples_skills;
use crate::api_http::samples_stats;
use crate::api_http::samples_tokens;

use crate::api_http::samples::*;

/// Every command.
pub fn commands() -> Vec<Command> {
    vec![
        Command::StartSession(StartSession {
            channel: Some("api".to_owned()),
            conversation: None,
            title: Some(NASTY.to_owned()),
            model: None,
        }),
        Command::UpdateSession(UpdateSession {
            session_id: session_id(),
            title: None,
            model: Some("a/b".to_owned()),
            paused: Some(true),
            preferences: Some(NASTY.to_owned()),
        }),
        Command::EndSession(EndSession {
            session_id: session_id(),
        }),
        Command::SendMessage(SendMessage {
            session_id: session_id(),
            text: NASTY.to_owned(),
            model: None,
            budgets: BudgetRequest {
                max_steps: Some(3),
                ..BudgetRequest::default()
            },
            fresh: true,
            attachments: vec![NewAttachment {
                name: "note.txt".to_owned(),
                media_type: Some("text/plain".to_owned()),
                data: "aGVsbG8K".to_owned(),
            }],
            options: leverframe::protocol::options::TurnOptions::default(),
        }),
        Command::Ask(Ask {
            channel: "cli".to_owned(),
            conversation: Some("a question".to_owned()),
            text: "hi".to_owned(),
            model: None,
            budgets: BudgetRequest::default(),
            fresh: false,
            attachments: Vec::new(),
            options: leverframe::protocol::options::TurnOptions::default(),
        }),
        Command::Converse(leverframe::protocol::request::Converse {
            channel: "api".to_owned(),
            session_id: Some(session_id()),
            conversation: "h.1".to_owned(),
            text: NASTY.to_owned(),
            earlier: vec![leverframe::protocol::chat::EarlierMessage {
                role: leverframe::protocol::chat::EarlierRole::Assistant,
                text: NASTY.to_owned(),
            }],
            once: true,
            budgets: BudgetRequest::default(),
            attachments: Vec::new(),
            options: leverframe::protocol::options::TurnOptions::default(),
        }),
        Command::CallTool(leverframe::protocol::request::CallTool {
            session_id: session_id(),
            tool: "read_file".to_owned(),
            arguments: [("path".to_owned(), NASTY.into())].into_iter().collect(),
        }),
        Command::CancelContinuation(CancelContinuation {
            continuation_id: continuation_id(),
            reason: Some("enough".to_owned()),
        }),
        Command::ResumeContinuation(ResumeContinuation {
            continuation_id: continuation_id(),
        }),
        Command::RetryContinuation(RetryContinuation {
            continuation_id: continuation_id(),
        }),
        Command::Decide(Decide {
            approval_id: approval_id(),
            decision: decision_request(),
        }),
        Command::SetPolicy(SetPolicy {
            channel: "team".to_owned(),
            patch: PolicyPatch {
                autonomy: Some(Autonomy::Full),
                block: Some(vec![]),
                if_version: Some(3),
                ..PolicyPatch::default()
            },
        }),
        Command::PauseChannel(PauseChannel {
            channel: "team".to_owned(),
        }),
        Command::ResumeChannel(ResumeChannel {
            channel: "team".to_owned(),
        }),
        Command::ResolveDelivery(ResolveDelivery {
            outbox_id: outbox_id(),
            resolution: DeliveryResolution::SendAgain,
            reason: Some(NASTY.to_owned()),
        }),
        Command::EmergencyStop(EmergencyStop {
            reason: Some(NASTY.to_owned()),
        }),
        Command::ReleaseEmergencyStop(ReleaseEmergencyStop {
            waiting: Waiting::Newest,
            conversations: vec![ConversationChoice {
                session_id: session_id(),
                waiting: Waiting::Drop,
            }],
        }),
        Command::CreateBackup(CreateBackup {
            path: format!("/backups/{NASTY}"),
        }),
        Command::ReloadConfiguration(ReloadConfiguration { preview: true }),
        Command::Sweep(Sweep { preview: true }),
        samples_models::command(),
        Command::DiscoverModels(DiscoverModels {}),
        Command::TakeOverSession(TakeOverSession {
            session_id: session_id(),
            force: true,
        }),
        Command::SendAsBot(SendAsBot {
            session_id: session_id(),
            take_over_id: TakeOverId::from_bytes([8; 16]),
            text: NASTY.to_owned(),
        }),
        Command::GiveBackSession(GiveBackSession {
            session_id: session_id(),
            force: false,
        }),
        Command::DrainChannel(DrainChannel {
            channel: "team".to_owned(),
            drain: true,
        }),
        Command::CheckChannel(CheckChannel {
            channel: "team".to_owned(),
        }),
        Command::TestChannel(TestChannel {
            channel: "team".to_owned(),
            conversation: Some(NASTY.to_owned()),
        }),
    ]
    .into_iter()
    .chain(samples_memory::commands())
    .chain(samples_on_call::commands())
    .chain(samples_tokens::commands())
    .chain(samples_datasets::commands())
    .chain(samples_gate::commands())
    .chain([
        samples_pairing::command(),
        samples_leftovers::command(),
        samples_rehearsals::command(),
        Command::RunInShell(leverframe::protocol::request::RunInShell {
            session_id: session_id(),
            request: leverframe::protocol::tool::ShellRequest {
                command: NASTY.to_owned(),
                kind: leverframe::protocol::enums::InterpreterKind::Python,
                timeout_seconds: Some(9),
            },
        }),
        Command::EndInterpreter(leverframe::protocol::request::EndInterpreter {
            session_id: session_id(),
            kind: leverframe::protocol::enums::InterpreterKind::Bash,
        }),
        samples_file_changes::command(),
    ])
    .chain([Command::DismissRefusedCalls(DismissRefusedCalls {
        session_id: session_id(),
    })])
    .chain(samples_skills::commands())
    .chain(samples_servers::commands())
    .collect()
}

pub fn decision_request() -> DecisionRequest {
    DecisionRequest {
        batch: true,
        decision: DecisionKind::Edit,
        scope: Some(DecisionScope::Session),
        expires_in_seconds: Some(3600),
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
        Outcome::SendMessage(accepted()),
        Outcome::Ask(accepted()),
        Outcome::Converse(accepted()),
        Outcome::StartSession(session()),
        Outcome::UpdateSession(session()),
        Outcome::EndSession(session()),
        Outcome::TakeOverSession(session()),
        Outcome::RetryContinuation(continuation(ContinuationState::Completed)),
        Outcome::Decide(approval(ApprovalState::Pending)),
        Outcome::SetPolicy(channel()),
        Outcome::ResolveDelivery(delivery()),
        Outcome::EmergencyStop(engine()),
        Outcome::Sweep(SweepReport {
            at: at(),
            events: u64::MAX,
            ..SweepReport::default()
        }),
        samples_models::outcome(),
        samples_models::discovery(),
        Outcome::SetOnCall(on_call_status()),
        Outcome::DrillEscalation(samples_on_call::drill()),
        Outcome::DismissLeftovers(samples_leftovers::left()),
        samples_gate::outcome(),
        Outcome::RunAgent(samples_gate::job()),
        Outcome::RehearseCall(samples_rehearsals::rehearsal()),
        Outcome::RunInShell(leverframe::protocol::tool::ShellRun {
            session_id: session_id(),
            by: "ana".to_owned(),
            at: at(),
            content: NASTY.to_owned(),
            is_error: true,
            duration_ms: 7,
        }),
        Outcome::EndInterpreter(interpreter()),
        Outcome::UndoFileChange(samples_file_changes::changed()),
        Outcome::DismissRefusedCalls(session()),
    ]
    .into_iter()
    .chain(samples_memory::outcomes())
    .chain(samples_skills::outcomes())
    .chain(samples_servers::outcomes())
    .chain(samples_datasets::outcomes())
    .chain(samples_tokens::outcomes())
    .collect()
}

/// The answer to the first query of a kind.
pub fn answer(is_wanted: impl Fn(&Query) -> bool) -> Answer {
    let mut all = queries().into_iter();
    let found = all.find(|(query, _)| is_wanted(query));
    found.expect("a sample of it").1
}

/// Every query with its answer.
pub fn queries() -> Vec<(Query, Answer)> {
    let page_request = PageRequest {
        limit: Some(7),
        cursor: Some(NASTY.to_owned()),
    };
    vec![
        (
            Query::GetSnapshot(GetSnapshot {}),
            Answer::GetSnapshot(Snapshot {
                seq: 1 << 33,
                at: at(),
                sessions: vec![session()],
                continuations: vec![continuation(ContinuationState::AwaitingApproval)],
                approvals: vec![approval(ApprovalState::Pending)],
                channels: vec![channel()],
                deliveries: vec![delivery()],
                cache: cache_samples::summary(),
                memory: samples_memory::stats(),
                on_call_status: on_call_status(),
                leftovers: vec![samples_leftovers::left()],
                streams: vec![OpenStream {
                    continuation_id: continuation_id(),
                    session_id: session_id(),
                    step: 2,
                    text: NASTY.to_owned(),
                    offset: NASTY.len() as u64,
                }],
                engine: engine(),
            }),
        ),
        (Query::GetEngine(GetEngine {}), Answer::GetEngine(engine())),
        (
            Query::ListSessions(ListSessions {
                state: Some(SessionState::Ended),
                channel: Some("team".to_owned()),
                prefix: Some("token:ci#".to_owned()),
                page: page_request.clone(),
            }),
            Answer::ListSessions(page(session())),
        ),
        (
            Query::GetSession(GetSession { id: session_id() }),
            Answer::GetSession(session()),
        ),
        (
            Query::GetTranscript(GetTranscript {
                session_id: session_id(),
                before: Some(9),
                limit: Some(10),
            }),
            Answer::GetTranscript(page(TranscriptEntry {
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
            Query::ListContinuations(ListContinuations {
                state: Some(ContinuationState::Running),
                session_id: Some(session_id()),
                page: page_request.clone(),
            }),
            Answer::ListContinuations(page(continuation(ContinuationState::Running))),
        ),
        (
            Query::GetContinuation(GetContinuation {
                id: continuation_id(),
            }),
            Answer::GetContinuation(continuation(ContinuationState::Failed)),
        ),
        (
            Query::ListSteps(ListSteps {
                continuation_id: continuation_id(),
            }),
            Answer::ListSteps(page(step())),
        ),
        (
            Query::ListApprovals(ListApprovals {
                state: Some(ApprovalState::Pending),
                page: PageRequest::default(),
            }),
            Answer::ListApprovals(page(approval(ApprovalState::Pending))),
        ),
        (
            Query::GetApproval(GetApproval { id: approval_id() }),
            Answer::GetApproval(approval(ApprovalState::Consumed)),
        ),
        (
            Query::ListChannels(ListChannels {}),
            Answer::ListChannels(page(channel())),
        ),
        (
            Query::GetChannel(GetChannel {
                name: "team".to_owned(),
            }),
            Answer::GetChannel(channel()),
        ),
        (
            Query::GetWhatIf(GetWhatIf {
                channel: "team".to_owned(),
                patch: leverframe::protocol::policy::PolicyPatch::level(Autonomy::Full),
                limit: Some(20),
            }),
            Answer::GetWhatIf(what_if()),
        ),
        (
            Query::ListDeliveries(ListDeliveries {
                state: Some(OutboxState::Unknown),
                page: page_request,
            }),
            Answer::ListDeliveries(page(delivery())),
        ),
        (
            Query::GetDelivery(GetDelivery { id: outbox_id() }),
            Answer::GetDelivery(delivery()),
        ),
        (
            Query::ExplainCall(ExplainCall {
                tool_call_id: call_id(),
            }),
            Answer::ExplainCall(why()),
        ),
        (
            Query::GetShiftSummary(GetShiftSummary { since: Some(at()) }),
            Answer::GetShiftSummary(samples_on_call::summary()),
        ),
        samples_pairing::query(),
        samples_leftovers::query(),
        samples_stats::query(),
        samples_file_changes::query(),
        samples_file_changes::diff(),
        (
            Query::GetDoctor(GetDoctor { check: true }),
            Answer::GetDoctor(doctor()),
        ),
        (
            Query::ListAudit(ListAudit {
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
            }),
            Answer::ListAudit(page(audit_row())),
        ),
        (
            Query::VerifyAudit(VerifyAudit {
                anchor: Some(anchor()),
            }),
            Answer::VerifyAudit(audit_report()),
        ),
        (
            Query::ListUncertain(ListUncertain {}),
            Answer::ListUncertain(uncertain()),
        ),
        (
            Query::GetArtifact(GetArtifact {
                hash: ArtifactHash::from_bytes([0xab; 32]),
            }),
            Answer::GetArtifact(artifact()),
        ),
        samples_models::query(),
        (
            // A remote daemon puts in who really asks.
            Query::GetOnCall(GetOnCall { actor: None }),
            Answer::GetOnCall(on_call_status()),
        ),
        (
            Query::ListPeople(leverframe::protocol::request::ListPeople {}),
            Answer::ListPeople(page(leverframe::protocol::on_call::Person {
                name: "anna".to_owned(),
                role: leverframe::protocol::enums::Role::Owner,
                scopes: vec![leverframe::protocol::enums::Scope::Read],
                ids: vec!["telegram:1".to_owned()],
                tokens: vec!["laptop".to_owned()],
                channels: vec!["team".to_owned()],
                on_call: true,
                quiet_until: Some(at()),
                last_action: Some(leverframe::protocol::on_call::LastAction {
                    at: at(),
                    action: "approval.decided".to_owned(),
                    surface: leverframe::protocol::enums::Surface::Chat,
                }),
            })),
        ),
        samples_gate::tests(),
        (
            Query::ListEscalations(leverframe::protocol::request::ListEscalations {}),
            Answer::ListEscalations(page(samples_on_call::escalation_status())),
        ),
        (
            Query::ListTokens(leverframe::protocol::request::ListTokens { all: false }),
            Answer::ListTokens(page(samples_tokens::token())),
        ),
        (
            Query::ListTools(leverframe::protocol::request::ListTools {}),
            Answer::ListTools(page(tool())),
        ),
        (
            Query::ListChannelTools(leverframe::protocol::request::ListChannelTools {
                channel: "team".to_owned(),
            }),
            Answer::ListChannelTools(page(tool_definition())),
        ),
        (
            Query::ListInterpreters(leverframe::protocol::request::ListInterpreters {}),
            Answer::ListInterpreters(page(interpreter())),
        ),
        (
            Query::ListFleet(leverframe::protocol::request::ListFleet {}),
            Answer::ListFleet(page(leverframe::protocol::fleet::FleetChannel {
                name: "team".to_owned(),
                state: "connected".to_owned(),
                waiting: 2,
                oldest_waiting_at: Some(at()),
                spent_usd: Some(0.5),
                budget: None,
                last_reply_at: Some(at()),
                turns: vec![1; 24],
                errors: vec![0; 24],
            })),
        ),
        samples_datasets::queries()[0].clone(),
        samples_datasets::queries()[1].clone(),
        (
            Query::GetMetrics(leverframe::protocol::request::GetMetrics {}),
            Answer::GetMetrics(leverframe::protocol::metrics::Metrics {
                text: "# TYPE leverframe_turns_total counter\n".to_owned(),
            }),
        ),
        (
            Query::GetLog(leverframe::protocol::request::GetLog {
                level: Some(leverframe::protocol::enums::LogLevel::Warn),
                after: Some(7),
                limit: Some(9),
            }),
            Answer::GetLog(leverframe::protocol::log::Log {
                lines: vec![leverframe::protocol::log::LogLine {
                    number: 8,
                    at: at(),
                    level: leverframe::protocol::enums::LogLevel::Warn,
                    target: "leverframe::engine".to_owned(),
                    text: "something".to_owned(),
                }],
                last: 8,
                filter: "info".to_owned(),
            }),
        ),
    ]
    .into_iter()
    .chain(samples_memory::queries())
    .chain([transcript_from()])
    .chain(samples_skills::queries())
    .chain(samples_servers::queries())
    .chain(samples_gate::queries())
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
    .chain(samples_on_call::events())
    .chain([samples_leftovers::event()])
    .collect()
}

/// A tool with calls.
pub fn tool() -> leverframe::protocol::tool::Tool {
    leverframe::protocol::tool::Tool {
        name: "read_file".to_owned(),
        source: "built-in".to_owned(),
        description: "Reads a file.".to_owned(),
        access: leverframe::protocol::enums::Access::ReadLocal,
        effect: leverframe::protocol::enums::Effect::ReadOnly,
        max_seconds: 30,
        cache_seconds: Some(60),
        calls: 12,
        errors: 1,
        denied: 2,
        p50_ms: Some(3),
        last_call_at: Some(at()),
    }
}

/// A shell that runs a command.
pub fn interpreter() -> leverframe::protocol::tool::Interpreter {
    leverframe::protocol::tool::Interpreter {
        session_id: session_id(),
        kind: leverframe::protocol::enums::InterpreterKind::Bash,
        state: leverframe::protocol::enums::InterpreterState::Running,
        started_at: at(),
        last_used_at: at(),
        commands: 2,
        running_since: Some(at()),
        command: Some(NASTY.to_owned()),
        pid: Some(77),
        background: 1,
        recent: vec![leverframe::protocol::tool::InterpreterCommand {
            at: at(),
            by_person: true,
            command: NASTY.to_owned(),
            outcome: Some("exit status 0".to_owned()),
        }],
    }
}

/// A tool as agents get it.
fn tool_definition() -> leverframe::protocol::tool::ToolDefinition {
    leverframe::protocol::tool::ToolDefinition {
        name: "read_file".to_owned(),
        source: "built-in".to_owned(),
        description: "Reads a file.".to_owned(),
        input_schema: serde_json::json!({ "type": "object" }),
        access: leverframe::protocol::enums::Access::ReadLocal,
        effect: leverframe::protocol::enums::Effect::ReadOnly,
    }
}
