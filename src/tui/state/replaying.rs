//! Playing a turn or a session again: what is asked for it, and what keys do meanwhile.

use std::collections::BTreeMap;

use crate::console::labels::problem_text;
use crate::console::model::Tone;
use crate::protocol::enums::{ContinuationState, StepKind};
use crate::protocol::ids::SessionId;
use crate::protocol::problem::Problem;
use crate::protocol::request::{
    Answer, GetCallDiff, GetContinuation, GetTranscriptFrom, ListSteps, Query,
};
use crate::protocol::session::{Continuation, Step, TranscriptBody, TranscriptEntry};
use crate::tui::action::{Action, ActionClass};
use crate::tui::keymap::context::Context;
use crate::tui::message::{Effect, QuitKind};
use crate::tui::state::app::{Dirty, State};
use crate::tui::state::replay::{ENTRIES, Replay, SPEEDS, Source};
use crate::tui::state::screen::Screen;
use crate::tui::state::session_view::SessionView;
use crate::tui::state::{going, panel, selection};

/// Entries asked for at once.
const PAGE: u32 = 500;

/// Lines that the files of a step move by.
const FILES_STEP: usize = 5;

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
        selection::focused_continuation(state).map(|(id, _)| Source::Continuation(id))
    };
    match source {
        Some(source) if state.is_live() => begin(state, source, false),
        Some(_) => state.warn("replay: not connected"),
        None => state.nothing(Action::Replay),
    }
}

/// Asks for what is to be played.
pub fn begin(state: &mut State, source: Source, alone: bool) -> Vec<Effect> {
    let came_from = state.screen;
    let mut effects = going::go(state, Screen::Session);
    let session_id = match source {
        Source::Session(id) => Some(id),
        Source::Continuation(_) => None,
    };
    // Its pages would be taken for those of the replay.
    state.screens.session.background_search = None;
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
        diffs: BTreeMap::new(),
        files_scroll: 0,
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
            Effect::ask(GetContinuation { id }),
            Effect::ask(ListSteps {
                continuation_id: id,
            }),
        ]),
        Source::Session(id) => effects.push(page(id, 0)),
    }
    effects
}

fn page(session_id: SessionId, from: u64) -> Effect {
    Effect::ask(GetTranscriptFrom {
        session_id,
        from,
        limit: Some(PAGE),
    })
}

/// Takes what was asked for; true = it was, and nobody else wants it.
pub fn answered(
    state: &mut State,
    query: &Query,
    result: Result<&Answer, &Problem>,
) -> (bool, Vec<Effect>) {
    let now = state.model.now.steady;
    let Some(replay) = state.replay.as_mut() else {
        return (false, Vec::new());
    };
    if let Query::GetCallDiff(GetCallDiff { tool_call_id }) = query
        && let Some(waits) = replay.diffs.get_mut(tool_call_id)
    {
        *waits = panel::reply::<GetCallDiff>(result);
        state.touch(Dirty::Soon);
        return (true, Vec::new());
    }
    if replay.loaded {
        return (false, Vec::new());
    }
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
            state.toast(Tone::Error, text);
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

/// Asks what the call of this step did to files.
pub fn ask(state: &mut State) -> Option<Effect> {
    let replay = state.replay.as_mut().filter(|replay| replay.loaded)?;
    let tool_call_id = replay.call_of_step()?.id;
    if replay.diffs.contains_key(&tool_call_id) {
        return None;
    }
    replay.diffs.insert(tool_call_id, None);
    Some(Effect::ask(GetCallDiff { tool_call_id }))
}

/// Draws the transcript of the time that is shown.
fn show(state: &mut State) {
    if let Some(replay) = state.replay.as_mut().filter(|replay| replay.loaded) {
        replay.files_scroll = 0;
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
        Action::ReplayFilesDown | Action::ReplayFilesUp => {
            replay.files_scroll = if action == Action::ReplayFilesDown {
                replay.files_scroll.saturating_add(FILES_STEP)
            } else {
                replay.files_scroll.saturating_sub(FILES_STEP)
            };
            state.touch(Dirty::Now);
            return Some(Vec::new());
        }
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
            return Some(state.warn(text));
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
    going::go(state, replay.came_from)
}
