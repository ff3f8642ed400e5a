//! A session, or one turn of it, as the event archive tells of it after its rows have gone.
//!
//! Events hold how texts begin, at most 200 characters. What is played from them says no more than that.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use async_trait::async_trait;
use futures_util::{StreamExt as _, stream};

use crate::client::console_client::{ConsoleClient, EventStream};
use crate::clock::Timestamp;
use crate::protocol::approval::{Approval, PlanFacts};
use crate::protocol::citation::Citations;
use crate::protocol::enums::{ContinuationState, StepKind, ToolCallState};
use crate::protocol::event::{Event, EventBody, EventFilter};
use crate::protocol::ids::{ContinuationId, SessionId, ToolCallId};
use crate::protocol::problem::{Problem, ProblemKind};
use crate::protocol::request::{Answer, Envelope, GetTranscriptFrom, Outcome, Query};
use crate::protocol::session::{
    BY_HAND, ErrorBody, Step, StepBody, ToolCall, TranscriptBody, TranscriptEntry,
};
use crate::protocol::snapshot::Page;
use crate::runtime::offline::{OfflineError, OfflineSessions, archived_events};

/// Entries given at once where nobody says how many.
const PAGE: u32 = 100;

/// What the archive tells, for a console to play.
pub struct ArchivedSession {
    /// The session; also where only one of its turns is told.
    pub session_id: SessionId,
    entries: Vec<TranscriptEntry>,
}

/// What a beginning of an id fits in the archive.
pub enum ArchiveMatch {
    /// Nothing that was said.
    Nothing,
    /// One session or turn.
    One(ArchivedSession),
    /// Several; their ids.
    Several(Vec<String>),
}

/// Looks for a session (`ses_…`) or a turn, by its id or a beginning of it.
pub fn find(data_dir: &Path, text: &str) -> Result<ArchiveMatch, OfflineError> {
    let wanted = text.to_ascii_lowercase();
    let fits = |id: &str| {
        let id = id.to_ascii_lowercase();
        let bare = id.split_once('_').map_or("", |(_, bare)| bare);
        !wanted.is_empty()
            && !wanted.ends_with('_')
            && (id.starts_with(&wanted) || bare.starts_with(&wanted))
    };
    let mut ids: BTreeSet<String> = BTreeSet::new();
    let mut told = Retelling::default();
    let mut session_id = None;
    for event in archived_events(data_dir, Timestamp(i64::MIN))? {
        let event = event?;
        let id = if wanted.starts_with("ses_") {
            event.session_id.map(|id| id.to_string())
        } else {
            event.continuation_id.map(|id| id.to_string())
        };
        let Some(id) = id.filter(|id| fits(id)) else {
            continue;
        };
        ids.insert(id);
        session_id = session_id.or(event.session_id);
        if ids.len() == 1 {
            told.add(event);
        }
    }
    if ids.len() > 1 {
        return Ok(ArchiveMatch::Several(ids.into_iter().collect()));
    }
    Ok(match session_id {
        Some(session_id) if !told.entries.is_empty() => ArchiveMatch::One(ArchivedSession {
            session_id,
            entries: told.entries,
        }),
        Some(_) | None => ArchiveMatch::Nothing,
    })
}

/// How far a turn has been told.
#[derive(Default)]
struct Turn {
    /// Steps so far.
    steps: u32,
    /// A model's answer that nothing was made of yet.
    answer: Option<(StepBody, Timestamp)>,
    /// The entry of the last model step.
    model: Option<usize>,
    /// Calls: the entry each is in, and its place there.
    calls: HashMap<ToolCallId, (usize, usize)>,
}

/// A transcript as far as events have told it.
#[derive(Default)]
struct Retelling {
    entries: Vec<TranscriptEntry>,
    turns: HashMap<ContinuationId, Turn>,
}

impl Retelling {
    fn push(&mut self, id: ContinuationId, at: Timestamp, body: TranscriptBody) -> usize {
        let position = self.entries.len();
        self.entries.push(TranscriptEntry {
            position: position as u64,
            continuation_id: id,
            at,
            body,
        });
        position
    }

    fn step(&mut self, id: ContinuationId, at: Timestamp, kind: StepKind, body: StepBody) -> usize {
        let turn = self.turns.entry(id).or_default();
        turn.steps += 1;
        let step = Step {
            continuation_id: id,
            n: turn.steps,
            kind,
            body,
            at,
        };
        let tool_calls = Vec::new();
        self.push(id, at, TranscriptBody::Step { step, tool_calls })
    }

    /// Makes a step of the model's answer that waits, with what it said.
    fn answered(&mut self, id: ContinuationId, said: &str) -> Option<usize> {
        let turn = self.turns.entry(id).or_default();
        let (mut body, at) = turn.answer.take()?;
        if let StepBody::Model { text, .. } = &mut body {
            said.clone_into(text);
        }
        let entry = self.step(id, at, StepKind::Model, body);
        self.turns.entry(id).or_default().model = Some(entry);
        Some(entry)
    }

    fn proposed(&mut self, id: ContinuationId, mut call: ToolCall) {
        let last = self.turns.get(&id).and_then(|turn| turn.model);
        let Some(entry) = self.answered(id, "").or(last) else {
            return;
        };
        let Some(TranscriptBody::Step { step, tool_calls }) =
            self.entries.get_mut(entry).map(|entry| &mut entry.body)
        else {
            return;
        };
        if let StepBody::Model { tool_calls, .. } = &mut step.body {
            tool_calls.push(call.id);
        }
        call.step = step.n;
        call.index = tool_calls.len() as u32;
        let place = (entry, tool_calls.len());
        self.turns
            .entry(id)
            .or_default()
            .calls
            .insert(call.id, place);
        tool_calls.push(call);
    }

    fn call(&mut self, id: ContinuationId, call: ToolCallId) -> Option<&mut ToolCall> {
        let (entry, index) = *self.turns.get(&id)?.calls.get(&call)?;
        match &mut self.entries.get_mut(entry)?.body {
            TranscriptBody::Step { tool_calls, .. } => tool_calls.get_mut(index),
            TranscriptBody::User { .. }
            | TranscriptBody::State { .. }
            | TranscriptBody::Compacted { .. } => None,
        }
    }

    /// What was asked and decided about a call; the arguments, which its own event has only the beginning of.
    fn asked(&mut self, id: ContinuationId, approval: Approval) {
        let Some(call) = approval.tool_call_id.and_then(|call| self.call(id, call)) else {
            return;
        };
        call.approval_id = Some(approval.id);
        call.args = approval.args;
        call.risk_reasons = approval.risk_reasons;
        call.plan = approval.plan;
        call.decision = approval.decision;
    }

    fn ended(
        &mut self,
        id: ContinuationId,
        at: Timestamp,
        state: ContinuationState,
        error: Option<ErrorBody>,
    ) {
        self.answered(id, "");
        self.push(id, at, TranscriptBody::State { state, error });
    }

    fn add(&mut self, event: Event) {
        let (Some(id), at) = (event.continuation_id, event.at) else {
            return;
        };
        match event.body {
            EventBody::MessageReceived {
                sender, preview, ..
            } => {
                let text = preview;
                self.push(id, at, TranscriptBody::User { sender, text });
            }
            EventBody::ModelFinished {
                model,
                usage,
                latency_ms,
                error: None,
                notes,
                ..
            } => {
                self.answered(id, "");
                let body = StepBody::Model {
                    model,
                    text: String::new(),
                    tool_calls: Vec::new(),
                    stop: String::new(),
                    usage,
                    latency_ms,
                    attempts: 1,
                    native: None,
                    dropped: Vec::new(),
                    notes,
                    cached: None,
                };
                self.turns.entry(id).or_default().answer = Some((body, at));
            }
            EventBody::ToolProposed {
                call_id,
                name,
                preview,
                access,
                effect,
                risk,
                state,
                verdict,
            } => self.proposed(
                id,
                ToolCall {
                    id: call_id,
                    continuation_id: id,
                    step: 0,
                    index: 0,
                    name,
                    args: preview.into(),
                    access,
                    effect,
                    risk,
                    risk_reasons: Vec::new(),
                    plan: PlanFacts::default(),
                    state,
                    verdict,
                    approval_id: None,
                    decision: None,
                    result: None,
                    artifact: None,
                    cached: None,
                    duration_ms: None,
                    attempts: 0,
                    report: None,
                    created_at: at,
                    started_at: None,
                    shortened: true,
                },
            ),
            EventBody::ToolStarted {
                call_id, attempt, ..
            } => {
                if let Some(call) = self.call(id, call_id) {
                    call.state = ToolCallState::Started;
                    call.attempts = attempt;
                    call.started_at = Some(at);
                }
            }
            EventBody::ToolFinished {
                call_id,
                name,
                state,
                preview,
                duration_ms,
                cached,
            } => {
                if let Some(call) = self.call(id, call_id) {
                    call.state = state;
                    call.result = Some(preview.clone());
                    call.duration_ms = duration_ms;
                    call.cached = cached;
                }
                let body = StepBody::ToolResult {
                    call_id,
                    provider_call_id: String::new(),
                    name,
                    state,
                    content: preview,
                    is_error: state != ToolCallState::Succeeded,
                    duration_ms,
                    artifact: None,
                    cached,
                };
                self.step(id, at, StepKind::ToolResult, body);
            }
            EventBody::ApprovalRequested { approval }
            | EventBody::ApprovalDecided { approval }
            | EventBody::ApprovalExpired { approval }
            | EventBody::ApprovalAssigned { approval }
            | EventBody::ApprovalReminded { approval }
            | EventBody::ApprovalFirstAllowed { approval }
            | EventBody::ApprovalEscalation { approval } => self.asked(id, *approval),
            EventBody::ContinuationCompleted { preview, .. } => {
                // What no model said, a person wrote.
                let stop = match self.answered(id, &preview) {
                    Some(_) => "end",
                    None => BY_HAND,
                };
                let body = StepBody::Final {
                    text: preview,
                    stop: stop.to_owned(),
                    // Events do not tell what was read.
                    citations: Citations::default(),
                };
                self.step(id, at, StepKind::Final, body);
            }
            EventBody::ContinuationInterrupted { .. } => {
                self.ended(id, at, ContinuationState::Interrupted, None);
            }
            EventBody::ContinuationFailed { error } => {
                self.ended(id, at, ContinuationState::Failed, Some(error));
            }
            EventBody::ContinuationCancelled { .. } => {
                self.ended(id, at, ContinuationState::Cancelled, None);
            }
            EventBody::ContinuationExpired { .. } => {
                self.ended(id, at, ContinuationState::Expired, None);
            }
            EventBody::SessionStarted { .. }
            | EventBody::SessionUpdated { .. }
            | EventBody::SessionEnded { .. }
            | EventBody::CallReported { .. }
            | EventBody::ContinuationQueued { .. }
            | EventBody::ContinuationWaitingForFiles { .. }
            | EventBody::ContinuationStarted { .. }
            | EventBody::ContinuationStreaming { .. }
            | EventBody::ContinuationAwaitingApproval { .. }
            | EventBody::ContinuationResumed { .. }
            | EventBody::ModelStarted { .. }
            | EventBody::ModelWaiting { .. }
            | EventBody::ModelFinished { error: Some(_), .. }
            | EventBody::MessageDelta { .. }
            | EventBody::ToolOutput { .. }
            | EventBody::ShellOutput { .. }
            | EventBody::DatasetsChanged { .. }
            | EventBody::ReplyQueued { .. }
            | EventBody::ReplySent { .. }
            | EventBody::ReplyFailed { .. }
            | EventBody::ReplyUnknown { .. }
            | EventBody::ChannelState { .. }
            | EventBody::PolicyChanged { .. }
            | EventBody::BudgetReached { .. }
            | EventBody::CacheHit { .. }
            | EventBody::CacheMiss { .. }
            | EventBody::EngineState { .. }
            | EventBody::MemoryChanged { .. }
            | EventBody::HygieneFinished { .. }
            | EventBody::HookRan { .. }
            | EventBody::McpChanged { .. }
            | EventBody::RoutineChanged { .. }
            | EventBody::RuleChanged { .. }
            | EventBody::GrantRemoved { .. }
            | EventBody::OnCallChanged { .. }
            | EventBody::LeftoversChanged { .. }
            | EventBody::Unknown => {}
        }
    }
}

fn refused() -> Problem {
    Problem::new(
        ProblemKind::Unavailable,
        "from the event archive",
        "the event archive has only the conversation",
    )
}

#[async_trait]
impl ConsoleClient for ArchivedSession {
    async fn submit(&self, _: Envelope) -> Result<Outcome, Problem> {
        Err(refused())
    }

    async fn query(&self, query: Query) -> Result<Answer, Problem> {
        match query {
            Query::GetSnapshot(_) => Ok(Answer::GetSnapshot(OfflineSessions::snapshot(
                0,
                "event archive",
            ))),
            Query::GetTranscriptFrom(GetTranscriptFrom {
                session_id,
                from,
                limit,
            }) if session_id == self.session_id => {
                let from = usize::try_from(from).unwrap_or(usize::MAX);
                let limit = limit.unwrap_or(PAGE) as usize;
                let rest = self.entries.get(from..).unwrap_or_default();
                Ok(Answer::GetTranscriptFrom(Page {
                    items: rest.iter().take(limit).cloned().collect(),
                    next_cursor: (rest.len() > limit).then(|| (from + limit).to_string()),
                }))
            }
            _ => Err(refused()),
        }
    }

    async fn events(&self, _: EventFilter) -> Result<EventStream, Problem> {
        Ok(stream::pending().boxed())
    }

    fn description(&self) -> String {
        "the event archive".to_owned()
    }
}
