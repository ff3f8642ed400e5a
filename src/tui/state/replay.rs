//! A past turn, or a whole session, played again from what is stored. Nothing is shown at a moment that the store
//! did not know then, and nothing can be decided or sent while it runs.

use std::collections::BTreeMap;

use crate::clock::Timestamp;
use crate::console::labels::problem_text;
use crate::console::model::Tone;
use crate::console::time::Millis;
use crate::protocol::ids::{ContinuationId, SessionId, ToolCallId};
use crate::protocol::problem::Problem;
use crate::protocol::request::{Answer, GetContinuation, GetTranscriptFrom, ListSteps, Query};
use crate::protocol::session::{
    Continuation, Step, StepBody, ToolCall, TranscriptBody, TranscriptEntry,
};
use crate::protocol::words::{ContinuationState, StepKind, ToolCallState};
use crate::tui::action::{Action, ActionClass};
use crate::tui::keymap::context::Context;
use crate::tui::message::{Effect, QuitKind};
use crate::tui::state::app::{Dirty, Screen, State};
use crate::tui::state::focused;
use crate::tui::state::perform;
use crate::tui::state::session_view::SessionView;

/// Entries of a session that are played at most.
pub const ENTRIES: usize = 5_000;
/// Entries asked for at once.
const PAGE: u32 = 500;
/// How fast it can play: as it was, and faster.
pub const SPEEDS: [i64; 3] = [1, 4, 16];
/// Least milliseconds between two frames that only move the time on.
const TICK_MS: u64 = 1_000;

/// What is played.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// One message and everything up to its answer.
    Continuation(ContinuationId),
    /// All that was said in a session.
    Session(SessionId),
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Continuation(id) => write!(f, "{id}"),
            Self::Session(id) => write!(f, "{id}"),
        }
    }
}

/// A replay.
#[derive(Debug, Clone, PartialEq)]
pub struct Replay {
    /// What is played.
    pub source: Source,
    /// Everything is there.
    pub loaded: bool,
    /// The session has more entries than are played.
    pub cut: bool,
    /// Whether it moves by itself.
    pub playing: bool,
    /// Whether the console was started for it alone.
    pub alone: bool,
    /// The transcript that is hidden meanwhile.
    pub behind: SessionView,
    entries: Vec<TranscriptEntry>,
    /// Times at which something happened, ascending.
    moments: Vec<Timestamp>,
    /// When calls got their results.
    settled: BTreeMap<ToolCallId, Timestamp>,
    /// Moments that are shown.
    shown: usize,
    /// Milliseconds since the first moment.
    position: i64,
    speed: usize,
    since: Millis,
    turn: Option<Box<Continuation>>,
    steps: Option<Vec<Step>>,
    came_from: Screen,
}

impl Replay {
    /// The time that is shown, from the first moment to the last, in milliseconds.
    pub fn time(&self) -> (i64, i64) {
        (self.position, self.length())
    }

    /// How many moments are shown, and how many there are.
    pub fn moment(&self) -> (usize, usize) {
        (self.shown, self.moments.len())
    }

    /// How many times faster than it was.
    pub fn speed(&self) -> i64 {
        SPEEDS.get(self.speed).copied().unwrap_or(1)
    }

    /// The wall clock at that time.
    pub fn clock(&self) -> Option<Timestamp> {
        let first = self.moments.first()?;
        Some(Timestamp(first.as_millis().saturating_add(self.position)))
    }

    /// When it next changes by itself; none = it does not.
    pub fn next_change(&self, now: Millis) -> Option<Millis> {
        if !self.playing || !self.loaded {
            return None;
        }
        let next = self.offset(self.shown)?;
        let wait = u64::try_from(next - self.position).unwrap_or(0);
        let wait = wait.div_ceil(u64::try_from(self.speed()).unwrap_or(1));
        Some(now.plus(wait.clamp(1, TICK_MS)))
    }

    fn length(&self) -> i64 {
        let last = self.moments.len().saturating_sub(1);
        self.offset(last).unwrap_or(0)
    }

    /// Milliseconds from the first moment to this one.
    fn offset(&self, index: usize) -> Option<i64> {
        let (first, at) = (self.moments.first()?, self.moments.get(index)?);
        Some(at.as_millis() - first.as_millis())
    }

    /// Goes to a time, and shows all that had happened by then.
    fn seek(&mut self, position: i64) {
        self.position = position.clamp(0, self.length());
        let first = self.moments.first().map_or(0, |at| at.as_millis());
        let until = first.saturating_add(self.position);
        self.shown = self.moments.partition_point(|at| at.as_millis() <= until);
        if self.shown == self.moments.len() {
            self.playing = false;
        }
    }

    /// Shows one moment more or less.
    fn step(&mut self, forward: bool) {
        self.playing = false;
        let index = if forward {
            self.shown
        } else {
            self.shown.saturating_sub(2)
        };
        if let Some(offset) = self.offset(index) {
            self.seek(offset);
        }
    }

    /// What the transcript was at the time that is shown.
    fn transcript(&self) -> Vec<TranscriptEntry> {
        let Some(now) = self
            .shown
            .checked_sub(1)
            .and_then(|index| self.moments.get(index))
            .copied()
        else {
            return Vec::new();
        };
        let over = self.shown == self.moments.len();
        let mut out: Vec<TranscriptEntry> = Vec::new();
        for entry in self.entries.iter().filter(|entry| entry.at <= now) {
            let mut entry = entry.clone();
            if let TranscriptBody::Step { tool_calls, .. } = &mut entry.body
                && !over
            {
                for call in tool_calls {
                    if self.settled.get(&call.id).is_none_or(|at| *at > now) {
                        *call = as_it_stood(call, now);
                    }
                }
            }
            out.push(entry);
        }
        out
    }

    fn begin(&mut self, entries: Vec<TranscriptEntry>, now: Millis) {
        let mut moments: Vec<Timestamp> = entries.iter().map(|entry| entry.at).collect();
        for entry in &entries {
            if let TranscriptBody::Step { step, tool_calls } = &entry.body {
                moments.extend(tool_calls.iter().filter_map(|call| call.started_at));
                if let StepBody::ToolResult { call_id, .. } = &step.body {
                    self.settled.insert(*call_id, entry.at);
                }
            }
        }
        moments.sort_unstable();
        moments.dedup();
        self.entries = entries;
        self.moments = moments;
        self.loaded = true;
        self.since = now;
        self.playing = true;
        self.seek(0);
    }
}

/// A call before its result was there.
fn as_it_stood(call: &ToolCall, now: Timestamp) -> ToolCall {
    let started = call.started_at.is_some_and(|at| at <= now);
    let state = if started {
        ToolCallState::Started
    } else if call.approval_id.is_some() {
        ToolCallState::Awaiting
    } else {
        ToolCallState::Proposed
    };
    ToolCall {
        state,
        result: None,
        artifact: None,
        cached: None,
        duration_ms: None,
        attempts: u32::from(started),
        started_at: call.started_at.filter(|_| started),
        decision: call.decision.clone().filter(|one| one.at <= now),
        ..call.clone()
    }
}

/// The entries of one turn, as a transcript has them.
fn entries_of(turn: &Continuation, steps: Vec<Step>) -> Vec<TranscriptEntry> {
    let entry = |position: u64, at, body| TranscriptEntry {
        position,
        continuation_id: turn.id,
        at,
        body,
    };
    let user = TranscriptBody::User {
        sender: turn.requester.display.clone(),
        text: turn.request.text.clone(),
    };
    let mut out = vec![entry(0, turn.created_at, user)];
    for step in steps {
        let calls = turn.tool_calls.iter();
        let tool_calls = match step.kind {
            StepKind::Model => calls.filter(|c| c.step == step.n).cloned().collect(),
            StepKind::ToolResult | StepKind::OperatorNote | StepKind::Final | StepKind::Error => {
                Vec::new()
            }
        };
        let (position, at) = (u64::from(step.n), step.at);
        out.push(entry(
            position,
            at,
            TranscriptBody::Step { step, tool_calls },
        ));
    }
    if turn.state != ContinuationState::Completed {
        let position = out.last().map_or(0, |entry| entry.position) + 1;
        let body = TranscriptBody::State {
            state: turn.state,
            error: turn.error.clone(),
        };
        out.push(entry(position, turn.updated_at, body));
    }
    out
}

/// Plays what has the focus: the turn of the selected entry, else the session.
pub fn open(state: &mut State) -> Vec<Effect> {
    let source = if state.screen == Screen::Session {
        let selected = state.screens.session.selected.and_then(|position| {
            let held = state.screens.session.entries.get(&position)?;
            Some(Source::Continuation(held.entry.continuation_id))
        });
        selected.or(state.screens.session.session_id.map(Source::Session))
    } else {
        focused::focused_continuation(state).map(|(id, _)| Source::Continuation(id))
    };
    match source {
        Some(source) if state.is_live() => begin(state, source, false),
        Some(_) => {
            state.flash(Tone::Warning, "replay: not connected");
            Vec::new()
        }
        None => perform::nothing(state, Action::Replay),
    }
}

/// Asks for what is to be played.
pub fn begin(state: &mut State, source: Source, alone: bool) -> Vec<Effect> {
    let came_from = state.screen;
    let mut effects = perform::go(state, Screen::Session);
    let session_id = match source {
        Source::Session(id) => Some(id),
        Source::Continuation(_) => None,
    };
    // Its pages would be taken for those of the replay.
    state.screens.session.hunt = None;
    let view = SessionView::played(session_id, state.model.now.steady);
    let behind = std::mem::replace(&mut state.screens.session, view);
    state.replay = Some(Box::new(Replay {
        source,
        loaded: false,
        cut: false,
        playing: false,
        alone,
        behind,
        entries: Vec::new(),
        moments: Vec::new(),
        settled: BTreeMap::new(),
        shown: 0,
        position: 0,
        speed: 0,
        since: state.model.now.steady,
        turn: None,
        steps: None,
        came_from,
    }));
    state.touch(Dirty::Now);
    match source {
        Source::Continuation(id) => effects.extend([
            Effect::Query(Query::GetContinuation(GetContinuation { id })),
            Effect::Query(Query::ListSteps(ListSteps {
                continuation_id: id,
            })),
        ]),
        Source::Session(id) => effects.push(page(id, 0)),
    }
    effects
}

fn page(session_id: SessionId, from: u64) -> Effect {
    Effect::Query(Query::GetTranscriptFrom(GetTranscriptFrom {
        session_id,
        from,
        limit: Some(PAGE),
    }))
}

/// Takes what was asked for; true = it was, and nobody else wants it.
pub fn answered(
    state: &mut State,
    query: &Query,
    result: Result<&Answer, &Problem>,
) -> (bool, Vec<Effect>) {
    let now = state.model.now.steady;
    let Some(replay) = state.replay.as_mut().filter(|replay| !replay.loaded) else {
        return (false, Vec::new());
    };
    let ours = match (query, replay.source) {
        (Query::GetContinuation(GetContinuation { id }), Source::Continuation(wanted)) => {
            *id == wanted
        }
        (Query::ListSteps(ListSteps { continuation_id }), Source::Continuation(wanted)) => {
            *continuation_id == wanted
        }
        (
            Query::GetTranscriptFrom(GetTranscriptFrom { session_id, .. }),
            Source::Session(wanted),
        ) => *session_id == wanted,
        _ => false,
    };
    if !ours {
        return (false, Vec::new());
    }
    let mut effects = Vec::new();
    match result {
        Err(problem) => {
            let text = format!("replay: {}", problem_text(problem));
            effects = end(state);
            state.flash(Tone::Error, text);
            return (true, effects);
        }
        Ok(Answer::GetContinuation(turn)) => replay.turn = Some(Box::new(turn.clone())),
        Ok(Answer::ListSteps(page)) => replay.steps = Some(page.items.clone()),
        Ok(Answer::GetTranscriptFrom(answer)) => {
            replay.entries.extend(answer.items.iter().cloned());
            let next = answer.next_cursor.as_ref().and_then(|at| at.parse().ok());
            let room = replay.entries.len() < ENTRIES;
            match (next, replay.source) {
                (Some(from), Source::Session(id)) if room => effects.push(page(id, from)),
                (next, _) => {
                    replay.cut = next.is_some();
                    let entries = std::mem::take(&mut replay.entries);
                    replay.begin(entries, now);
                }
            }
        }
        Ok(_) => {}
    }
    if let Some(turn) = &replay.turn
        && let Some(steps) = replay.steps.take()
    {
        let entries = entries_of(turn, steps);
        state.screens.session.session_id = Some(turn.session_id);
        replay.begin(entries, now);
    }
    show(state);
    (true, effects)
}

/// Draws the transcript of the time that is shown.
fn show(state: &mut State) {
    if let Some(replay) = state.replay.as_ref().filter(|replay| replay.loaded) {
        state.screens.session.show(replay.transcript());
        state.touch(Dirty::Now);
    }
}

/// Time went on.
pub fn advance(state: &mut State) {
    let now = state.model.now.steady;
    let Some(replay) = state.replay.as_mut().filter(|replay| replay.loaded) else {
        return;
    };
    let passed = i64::try_from(now.since(replay.since)).unwrap_or(i64::MAX);
    replay.since = now;
    if !replay.playing || passed == 0 {
        return;
    }
    let before = (replay.shown, replay.position / 1_000);
    replay.seek(
        replay
            .position
            .saturating_add(passed.saturating_mul(replay.speed())),
    );
    let after = (replay.shown, replay.position / 1_000);
    if before.0 != after.0 {
        show(state);
    } else if before != after {
        state.touch(Dirty::Soon);
    }
}

/// What keys do while it runs; none = what they do otherwise.
pub fn perform(state: &mut State, action: Action) -> Option<Vec<Effect>> {
    let replay = state.replay.as_mut()?;
    match action {
        Action::ReplayPause => {
            if replay.shown == replay.moments.len() {
                replay.seek(0);
                replay.playing = true;
            } else {
                replay.playing = !replay.playing;
            }
        }
        Action::ReplayForward => replay.step(true),
        Action::ReplayBack => replay.step(false),
        Action::ReplayLater => replay.seek(replay.position + replay.length() / 10),
        Action::ReplayEarlier => replay.seek(replay.position - replay.length() / 10),
        Action::ReplayFaster => replay.speed = (replay.speed + 1).min(SPEEDS.len() - 1),
        Action::ReplaySlower => replay.speed = replay.speed.saturating_sub(1),
        Action::Back | Action::Quit
            if state.screens.session.search.is_none()
                && state.screens.session.selected.is_none() =>
        {
            return Some(end(state));
        }
        Action::ScreenSession => {}
        action if reads(action) => return None,
        action => {
            let end = state
                .keymap
                .key_of(Context::Replay, Action::Back)
                .unwrap_or_default();
            let text = format!("{}: a replay is shown; {end} ends it", action.short());
            state.flash(Tone::Warning, text);
            return Some(Vec::new());
        }
    }
    show(state);
    Some(Vec::new())
}

/// Whether an action only looks at what is shown. The emergency stop works as everywhere.
fn reads(action: Action) -> bool {
    action.class() != ActionClass::Decision
        && [
            Action::MoveDown,
            Action::MoveUp,
            Action::MoveTop,
            Action::MoveBottom,
            Action::PageDown,
            Action::PageUp,
            Action::Open,
            Action::Back,
            Action::Quit,
            Action::Fold,
            Action::FoldAll,
            Action::Follow,
            Action::Freeze,
            Action::Search,
            Action::SearchNext,
            Action::SearchPrevious,
            Action::NextApproval,
            Action::PreviousApproval,
            Action::NextError,
            Action::PreviousError,
            Action::Raw,
            Action::CopyId,
            Action::CopyAll,
            Action::Export,
            Action::Help,
            Action::Palette,
            Action::CommandLine,
            Action::Lock,
            Action::Refresh,
            Action::Redraw,
            Action::Suspend,
            Action::EmergencyStop,
        ]
        .contains(&action)
}

/// Back to what was there before; out of a console that was only started for it.
pub fn end(state: &mut State) -> Vec<Effect> {
    let Some(replay) = state.replay.take() else {
        return Vec::new();
    };
    if replay.alone {
        return vec![Effect::Quit(QuitKind::Stop)];
    }
    state.screens.session = replay.behind;
    state.screens.session.stale = true;
    state.touch(Dirty::Now);
    perform::go(state, replay.came_from)
}
