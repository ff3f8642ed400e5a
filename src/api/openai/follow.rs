//! A turn as it happens, in pieces for a client.
//!
//! What was said comes from the steps as they are stored; deltas only bring it earlier. So a lost delta costs time and
//! never a word. Whoever stops following ends nothing.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Instant;

use futures_util::StreamExt as _;

use crate::api::auth::Caller;
use crate::api::error::Refusal;
use crate::api::openai::conversation::{steps, texts};
use crate::api::openai::history::{AGAIN, NOTE};
use crate::api::state::Api;
use crate::client::console_client::EventStream;
use crate::protocol::approval::Approval;
use crate::protocol::enums::{ApprovalKind, ApprovalState, ContinuationState};
use crate::protocol::event::{Event, EventBody, EventFilter, StreamItem};
use crate::protocol::ids::{ApprovalId, ContinuationId, SessionId};
use crate::protocol::problem::{Problem, ProblemKind};
use crate::protocol::request::{GetApproval, GetContinuation};
use crate::protocol::session::{Continuation, Step, StepBody};

/// A piece of what a client gets to see.
#[derive(Debug)]
pub enum Piece {
    /// Text of the answer.
    Text(String),
    /// Nothing happened for a while.
    Silence,
    /// The turn ended, or nobody can follow it any more.
    End(Box<Result<Ended, Refusal>>),
}

/// A turn that is ended.
#[derive(Debug)]
pub struct Ended {
    /// As it is.
    pub turn: Continuation,
    /// Whether the answer was cut at the output limit.
    pub is_cut: bool,
}

/// What is known of the turn that is followed.
struct Watch {
    id: ContinuationId,
    session_id: SessionId,
    events: EventStream,
    /// What was passed on of each step.
    said: BTreeMap<u32, String>,
    /// The approvals that were named.
    told: BTreeSet<ApprovalId>,
    /// The number of the start that was interrupted and named.
    interrupted: Option<u32>,
    /// Whether what was said last broke off with a start.
    has_broken_off: bool,
}

/// Follows turns one after the other.
pub struct Follower {
    api: Arc<Api>,
    caller: Option<Caller>,
    admitted: Instant,
    turns: VecDeque<(ContinuationId, SessionId)>,
    watch: Option<Watch>,
    ready: VecDeque<Piece>,
    /// The end of what was passed on.
    tail: String,
    is_ended: bool,
}

/// A note of the door within an answer.
pub fn note(text: &str) -> String {
    format!("{NOTE}{text}")
}

/// What a client is told of a question that waits.
pub fn waiting_note(approval: &Approval) -> String {
    let what = match approval.kind {
        ApprovalKind::Execute | ApprovalKind::ResolveUnknown => {
            format!("to decide about a call of {}", approval.tool)
        }
        ApprovalKind::Budget => "to allow more budget".to_owned(),
        ApprovalKind::Question
        | ApprovalKind::Resend
        | ApprovalKind::Pairing
        | ApprovalKind::Memory
        | ApprovalKind::ServerPin
        | ApprovalKind::PolicyRaise => "to answer a question".to_owned(),
    };
    note(&format!(
        "this waits for a person {what}, code {}.",
        approval.short_code
    ))
}

/// What a client is told of a turn that it does not get the end of now; none = it is ended.
pub fn standing_note(state: ContinuationState) -> Option<String> {
    let text = match state {
        ContinuationState::Pending => "the turn waits for its start.",
        ContinuationState::Running | ContinuationState::Streaming => "the turn is still at work.",
        ContinuationState::AwaitingApproval => "the turn waits for a person.",
        ContinuationState::Interrupted => "the turn was interrupted, and a person can resume it.",
        ContinuationState::Completed
        | ContinuationState::Failed
        | ContinuationState::Cancelled
        | ContinuationState::Expired => return None,
    };
    Some(note(text))
}

/// The questions of a turn that wait for a person.
pub async fn waiting(api: &Api, turn: &Continuation) -> Result<Vec<Approval>, Refusal> {
    let mut waiting = Vec::new();
    if turn.state != ContinuationState::AwaitingApproval {
        return Ok(waiting);
    }
    for id in &turn.approvals {
        let approval = api.client.call(GetApproval { id: *id }).await?;
        if approval.state == ApprovalState::Pending {
            waiting.push(approval);
        }
    }
    Ok(waiting)
}

/// Whether the model stopped because the answer was long enough.
pub fn is_cut(steps: &[Step]) -> bool {
    let last = steps.iter().rev().find_map(|step| match &step.body {
        StepBody::Final { stop, .. } => Some(stop.as_str()),
        StepBody::Model { .. }
        | StepBody::ToolResult { .. }
        | StepBody::OperatorNote { .. }
        | StepBody::Error { .. } => None,
    });
    last == Some("max_tokens")
}

/// Why a turn has no answer. What is wrong with models and servers is for those who may read that elsewhere.
pub fn failure(turn: &Continuation, caller: Option<&Caller>) -> Refusal {
    let code = turn.error.as_ref().map(|error| error.code.as_str());
    let reads = caller.is_some_and(Caller::may_read);
    let by_person = matches!(
        turn.state,
        ContinuationState::Cancelled | ContinuationState::Expired
    );
    let message = match &turn.error {
        Some(error) if reads || by_person || code == Some("hook_cancelled") => {
            error.message.clone()
        }
        Some(_) | None if by_person => format!("the turn is {}", turn.state),
        Some(_) | None => "this failed; the operator can see why".to_owned(),
    };
    let kind = match code {
        _ if by_person => ProblemKind::NotOffered,
        Some("model_unavailable") => ProblemKind::Unavailable,
        Some("budget" | "budget_reached") => ProblemKind::TooMany,
        _ => ProblemKind::Internal,
    };
    let problem = Problem::new(kind, "no answer", message);
    // The engine has tried again itself: a client that repeats the request by itself would do the same work again.
    Refusal::from(problem).code("turn_failed").header(
        axum::http::HeaderName::from_static("x-should-retry"),
        axum::http::HeaderValue::from_static("false"),
    )
}

impl Follower {
    /// Follows these turns, the last of which is the one that was asked for.
    pub fn new(
        api: Arc<Api>,
        caller: Option<Caller>,
        turns: impl IntoIterator<Item = (ContinuationId, SessionId)>,
    ) -> Self {
        Self {
            api,
            caller,
            admitted: Instant::now(),
            turns: turns.into_iter().collect(),
            watch: None,
            ready: VecDeque::new(),
            tail: String::new(),
            is_ended: false,
        }
    }

    /// The next piece; none behind the end.
    pub async fn next(&mut self) -> Option<Piece> {
        loop {
            if let Some(piece) = self.ready.pop_front() {
                self.is_ended |= matches!(piece, Piece::End(_));
                return Some(piece);
            }
            if self.is_ended {
                return None;
            }
            if let Err(refusal) = self.advance().await {
                self.ready.push_back(Piece::End(Box::new(Err(refusal))));
            }
        }
    }

    /// Looks the credential up again, at most once per ping.
    fn is_admitted(&mut self) -> bool {
        if self.admitted.elapsed() < self.api.ping {
            return true;
        }
        self.admitted = Instant::now();
        let caller = self.caller.as_ref();
        caller.is_some_and(|caller| self.api.door.still_admits(caller))
    }

    async fn advance(&mut self) -> Result<(), Refusal> {
        let Some(watch) = &mut self.watch else {
            let Some((id, session_id)) = self.turns.pop_front() else {
                return Err(Problem::internal("there is no turn to follow").into());
            };
            self.watch = Some(Watch {
                id,
                session_id,
                events: subscribe(&self.api, id, session_id).await?,
                said: BTreeMap::new(),
                told: BTreeSet::new(),
                interrupted: None,
                has_broken_off: false,
            });
            return self.look().await;
        };
        let (id, session_id) = (watch.id, watch.session_id);
        let item = tokio::select! {
            biased;
            () = self.api.shutdown.cancelled() => return Err(stopping()),
            item = watch.events.next() => item,
            () = tokio::time::sleep(self.api.ping) => {
                self.ready.push_back(Piece::Silence);
                None
            }
        };
        if !self.is_admitted() {
            return Err(Refusal::unauthenticated("the token is not known any more"));
        }
        match item {
            Some(Ok(StreamItem::Event(event))) => self.take(&event).await,
            Some(Ok(StreamItem::Reset)) => self.look().await,
            // The subscription ended: the turn goes on without us, and we look again.
            Some(Err(_)) => {
                let events = subscribe(&self.api, id, session_id).await?;
                if let Some(watch) = &mut self.watch {
                    watch.events = events;
                }
                self.look().await
            }
            None => Ok(()),
        }
    }

    async fn take(&mut self, event: &Event) -> Result<(), Refusal> {
        let changes = event.body.continuation_state().is_some();
        match &event.body {
            EventBody::MessageDelta { step, offset, text } => {
                self.delta(*step, usize::try_from(*offset).unwrap_or(usize::MAX), text);
                Ok(())
            }
            EventBody::ContinuationStreaming { .. } | EventBody::ContinuationStarted { .. } => {
                Ok(())
            }
            EventBody::ApprovalRequested { .. } => self.look().await,
            _ if changes => self.look().await,
            _ => Ok(()),
        }
    }

    fn delta(&mut self, step: u32, offset: usize, text: &str) {
        let Some(watch) = &mut self.watch else { return };
        let sent = watch.said.get(&step).map_or(0, String::len);
        if offset == 0 && sent > 0 {
            watch.said.insert(step, String::new());
            self.begin(&note(&format!("{AGAIN}.")));
            self.pass(step, text);
        } else if offset == sent {
            self.pass(step, text);
        }
        // A piece is missing: the stored step has it.
    }

    /// Passes text of a step on.
    fn pass(&mut self, step: u32, text: &str) {
        let Some(watch) = &mut self.watch else { return };
        if text.is_empty() {
            return;
        }
        let said = watch.said.entry(step).or_default();
        let is_first = said.is_empty();
        said.push_str(text);
        if !is_first {
            self.push(text);
            return;
        }
        if std::mem::take(&mut watch.has_broken_off) {
            self.begin(&note(&format!("{AGAIN}.")));
        }
        self.begin(text);
    }

    /// Passes on what stands in a paragraph of its own.
    fn begin(&mut self, text: &str) {
        if !self.tail.is_empty() {
            let breaks = self.tail.chars().rev().take_while(|c| *c == '\n').count();
            self.push(if breaks >= 2 { "" } else { "\n\n" });
        }
        self.push(text);
    }

    fn push(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        self.tail = text
            .chars()
            .rev()
            .take(2)
            .collect::<Vec<_>>()
            .into_iter()
            .rev()
            .collect();
        self.ready.push_back(Piece::Text(text.to_owned()));
    }

    /// Passes on the rest of what the steps say.
    fn catch_up(&mut self, steps: &[Step]) {
        for (n, text) in texts(steps) {
            let said = self.watch.as_ref().and_then(|watch| watch.said.get(&n));
            let said = said.cloned().unwrap_or_default();
            match text.strip_prefix(said.as_str()) {
                Some(rest) => self.pass(n, rest),
                None => {
                    // A hook has changed it, or another attempt was kept.
                    if let Some(watch) = &mut self.watch {
                        watch.said.insert(n, String::new());
                    }
                    self.begin(&note(&format!("{AGAIN}.")));
                    self.pass(n, text);
                }
            }
        }
    }

    async fn look(&mut self) -> Result<(), Refusal> {
        let Some(id) = self.watch.as_ref().map(|watch| watch.id) else {
            return Ok(());
        };
        let turn = self.api.client.call(GetContinuation { id }).await?;
        let steps = if turn.steps > 0 {
            steps(&self.api, id).await?
        } else {
            Vec::new()
        };
        self.catch_up(&steps);
        for approval in waiting(&self.api, &turn).await? {
            let is_new = self
                .watch
                .as_mut()
                .is_some_and(|watch| watch.told.insert(approval.id));
            if is_new {
                self.begin(&waiting_note(&approval));
            }
        }
        if turn.state == ContinuationState::Interrupted
            && let Some(watch) = &mut self.watch
            && watch.interrupted.replace(turn.attempt) != Some(turn.attempt)
            && let Some(text) = standing_note(turn.state)
        {
            watch.has_broken_off = watch.said.values().any(|said| !said.is_empty());
            self.begin(&text);
        }
        if !turn.state.is_terminal() {
            return Ok(());
        }
        self.watch = None;
        // An earlier turn that ended badly says so; the one that was asked for follows.
        if turn.state != ContinuationState::Completed {
            if self.turns.is_empty() {
                return Err(failure(&turn, self.caller.as_ref()));
            }
            self.begin(&note("the last turn ended without an answer."));
        }
        if self.turns.is_empty() {
            let is_cut = is_cut(&steps);
            self.ready
                .push_back(Piece::End(Box::new(Ok(Ended { turn, is_cut }))));
        }
        Ok(())
    }
}

async fn subscribe(
    api: &Api,
    id: ContinuationId,
    session_id: SessionId,
) -> Result<EventStream, Refusal> {
    let filter = EventFilter {
        continuation_id: Some(id),
        deltas: vec![session_id],
        ..EventFilter::default()
    };
    Ok(api.client.events(filter).await?)
}

fn stopping() -> Refusal {
    Problem::new(
        ProblemKind::Unavailable,
        "the daemon stops",
        "the daemon stops; the turn goes on when it runs again",
    )
    .hint("send the same request again: it gets the answer of this turn")
    .into()
}
