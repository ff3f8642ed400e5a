//! What Continuations asks, lists and does. What it knows is in `continuations`; nothing here is drawn.

use crate::console::format;
use crate::console::labels::problem_text;
use crate::console::model::Tone;
use crate::protocol::approval::Approval;
use crate::protocol::enums::ContinuationState;
use crate::protocol::event::Event;
use crate::protocol::ids::{ApprovalId, ContinuationId, SessionId, ToolCallId};
use crate::protocol::problem::{Problem, ProblemKind};
use crate::protocol::request::{
    Answer, GetApproval, GetContinuation, ListContinuations, ListSteps, Query,
};
use crate::protocol::session::{Continuation, NO_MODEL, RefusedCalls, ToolCall};
use crate::protocol::snapshot::PageRequest;
use crate::tui::action::Action;
use crate::tui::message::Effect;
use crate::tui::state::app::State;
use crate::tui::state::background_search::SearchTarget;
use crate::tui::state::continuations::{Group, in_flight, uncertain, word};
use crate::tui::state::list::Cell;
use crate::tui::state::panel::{self, ListFilter, ListScreen, Opening, Panel};
use crate::tui::state::screen::Screen;

/// Open turns asked for, of each state.
pub const OPEN: u32 = 100;
/// Turns looked up by id in one round, because nothing else says what became of them.
const LOOKED_UP: usize = 20;
/// Rows from the end at which the next page is asked for.
const NEAR_END: usize = 8;

/// States of which every turn is listed, however old it is.
const OPEN_STATES: [ContinuationState; 4] = [
    ContinuationState::Running,
    ContinuationState::AwaitingApproval,
    ContinuationState::Pending,
    ContinuationState::Interrupted,
];

pub const PANEL: Panel = Panel {
    ask,
    answered,
    concerns,
    open,
    copied: |state, all| {
        let turn = state.screens.continuations.turn()?;
        panel::copied(turn.id, Some(turn), all)
    },
    session,
    continuation,
    channel,
    calls,
    hints,
    ..Panel::new(ListScreen {
        after_move,
        filter: |_| Some(&FILTER),
        ..ListScreen::new(
            |state| &mut state.screens.continuations.list,
            |_| COLUMNS,
            arrange,
        )
    })
};

/// Its filter takes a state too.
const FILTER: ListFilter = ListFilter {
    note: "words of state, channel, person, text; empty shows all",
    text: |state| &state.screens.continuations.list.filter,
    set: |state, text| {
        filter(state, text);
        Ok(())
    },
    when_whole: false,
};

fn ask(state: &State) -> Vec<Query> {
    let panel = &state.screens.continuations;
    let mut queries = vec![panel.recent(None)];
    queries.extend(OPEN_STATES.map(|open| {
        Query::ListContinuations(ListContinuations {
            state: Some(open),
            session_id: None,
            page: PageRequest {
                limit: Some(OPEN),
                cursor: None,
            },
        })
    }));
    let gone = panel.recheck.iter().take(LOOKED_UP);
    queries.extend(gone.map(|id| Query::GetContinuation(GetContinuation { id: *id })));
    queries.extend(about_selected(state));
    queries
}

/// What the detail of the selected turn needs beside its row.
fn about_selected(state: &State) -> Vec<Query> {
    let panel = &state.screens.continuations;
    let Some(id) = panel.list.selected else {
        return Vec::new();
    };
    let mut queries = vec![Query::ListSteps(ListSteps {
        continuation_id: id,
    })];
    let asked = panel.turn().into_iter().flat_map(|turn| &turn.approvals);
    queries.extend(
        asked
            .filter(|id| {
                !state.model.world().approvals.contains_key(id) && !panel.approvals.contains_key(id)
            })
            .take(LOOKED_UP)
            .map(|id| Query::GetApproval(GetApproval { id: *id })),
    );
    queries
}

fn answered(state: &mut State, query: &Query, result: Result<&Answer, &Problem>) {
    let panel = &mut state.screens.continuations;
    match (query, result) {
        (
            Query::ListContinuations(ListContinuations {
                state: of,
                page: asked,
                ..
            }),
            Ok(Answer::ListContinuations(page)),
        ) => match of {
            Some(of) if asked.limit == Some(OPEN) => panel.take_open(*of, page),
            // Asked under a filter that does not hold any more.
            _ if *of != panel.wanted_state() => {}
            _ => panel.take_recent(asked.cursor.as_deref(), page),
        },
        (Query::ListContinuations(_), Err(problem)) => panel.problem = Some(problem_text(problem)),
        (Query::GetContinuation(GetContinuation { id }), Ok(Answer::GetContinuation(turn))) => {
            panel.recheck.remove(id);
            let mut turn = turn.clone();
            turn.shorten();
            panel.known.insert(*id, turn);
        }
        (Query::GetContinuation(GetContinuation { id }), Err(problem))
            if problem.kind == ProblemKind::NotFound =>
        {
            panel.forget(*id);
        }
        (Query::ListSteps(ListSteps { continuation_id }), result)
            if panel.list.selected == Some(*continuation_id) =>
        {
            let Some(page) = panel::reply::<ListSteps>(result) else {
                return;
            };
            panel.steps = Some((*continuation_id, page.map(|page| page.items)));
        }
        (Query::GetApproval(GetApproval { id }), Ok(Answer::GetApproval(approval))) => {
            let mut approval = approval.clone();
            approval.shorten();
            panel.approvals.insert(*id, approval);
        }
        _ => return,
    }
    if !panel.recheck.is_empty() {
        state.screens.in_flight.later();
    }
}

fn concerns(event: &Event) -> bool {
    event.seq.is_some() && event.continuation_id.is_some()
}

pub const COLUMNS: &[&str] = &[
    "state",
    "channel",
    "who",
    "step",
    "tools and message",
    "model",
    "tokens",
    "cost",
    "age",
];

fn arrange(state: &mut State, afresh: bool) {
    let sorted = state.screens.continuations.sorted();
    let all = sorted.iter().map(|(_, id)| *id).collect();
    panel::arrange(
        state,
        afresh,
        |state| &mut state.screens.continuations.list,
        all,
        |state, id| cells(state, *id),
    );
    state.screens.continuations.regroup(sorted, afresh);
}

/// Who began a turn.
fn who(turn: &Continuation) -> &str {
    let requester = &turn.requester;
    requester.person.as_deref().unwrap_or(&requester.display)
}

/// Names of calls, for one line.
pub fn names<'c>(calls: impl Iterator<Item = &'c ToolCall>) -> String {
    let names: Vec<&str> = calls.map(|call| call.name.as_str()).collect();
    names.join(" ")
}

/// What nobody knows first, then what runs, then what nobody was asked about, then the message.
fn about(turn: &Continuation) -> String {
    let unknown = names(uncertain(turn));
    let running = names(in_flight(turn));
    let text = &turn.request.text;
    if let Some(waits) = turn.waits() {
        return format!("{waits}: {text}");
    }
    match (unknown.is_empty(), running.is_empty(), turn.refused_calls()) {
        (false, _, _) => format!("UNKNOWN {unknown}: {text}"),
        (true, false, _) => format!("{running}: {text}"),
        (true, true, 0) => text.clone(),
        (true, true, refused) => format!("{}: {text}", RefusedCalls::text(refused)),
    }
}

/// The model of a turn: its own, its session's, else the engine's. A direct call has none.
pub fn model<'s>(state: &'s State, turn: &'s Continuation) -> &'s str {
    if turn.is_direct_call() {
        return NO_MODEL;
    }
    let world = state.model.world();
    let session = world.sessions.get(&turn.session_id);
    let own = turn.model.as_deref();
    own.or_else(|| session.and_then(|session| session.model.as_deref()))
        .or_else(|| world.engine.as_ref().map(|engine| engine.model.as_str()))
        .unwrap_or("?")
}

/// What the list shows of a turn, in the order of its columns. Behind them stands what the filter finds too.
pub fn cells(state: &State, id: ContinuationId) -> Vec<Cell> {
    let Some(turn) = state.screens.continuations.known.get(&id) else {
        return Vec::new();
    };
    let tokens = turn.usage.input_tokens + turn.usage.output_tokens;
    let requester = &turn.requester;
    vec![
        Cell::new(word(turn.state)),
        Cell::new(&turn.channel),
        Cell::new(who(turn)),
        Cell::ranked(turn.steps.to_string(), f64::from(turn.steps)),
        Cell::new(about(turn)),
        Cell::new(model(state, turn)),
        Cell::ranked(format::count(tokens), tokens as f64),
        Cell::ranked(
            format::money(turn.usage.cost_usd),
            turn.usage.cost_usd.unwrap_or(-1.0),
        ),
        Cell::ranked(
            format::age(state.model.now.wall, turn.created_at),
            -(turn.created_at.as_millis() as f64),
        ),
        Cell::new(format!(
            "{} {} {} {} {id}",
            turn.state, turn.conversation, requester.display, requester.id
        )),
    ]
}

/// What a movement asks for: the log of what is selected now, and older turns near the end of the list.
fn after_move(state: &mut State) -> Vec<Effect> {
    let mut queries = Vec::new();
    let panel = &state.screens.continuations;
    if panel.steps.as_ref().map(|(id, _)| *id) != panel.list.selected {
        queries.extend(about_selected(state));
    }
    let near_end = |at: usize| at + NEAR_END >= panel.list.order.len();
    if let Some(cursor) = &panel.next
        && panel.list.position().is_some_and(near_end)
    {
        queries.push(panel.recent(Some(cursor.clone())));
    }
    panel::ask_more(state, Screen::Continuations, queries)
}

fn open(state: &mut State) -> Opening {
    let Some((session_id, id)) = state
        .screens
        .continuations
        .turn()
        .map(|turn| (turn.session_id, turn.id))
    else {
        state.toast(Tone::Warning, "open: nothing is selected");
        return Opening::Here(Vec::new());
    };
    Opening::Session(session_id, Some(SearchTarget::Turn(id)))
}

/// Takes the words of the filter. A word that names a state is asked of the engine too.
fn filter(state: &mut State, text: &str) {
    let panel = &mut state.screens.continuations;
    let before = panel.wanted_state();
    text.trim().clone_into(&mut panel.list.filter);
    if panel.wanted_state() != before {
        // Pages of another question do not go on from here.
        panel.known.retain(|_, turn| !turn.state.is_terminal());
        panel.next = None;
        panel.answered = false;
        state.screens.in_flight.now();
    }
}

/// The calls of the selected turn, oldest first.
fn calls(state: &State) -> Vec<ToolCallId> {
    let turn = state.screens.continuations.turn();
    turn.map_or_else(Vec::new, |turn| {
        turn.tool_calls.iter().map(|call| call.id).collect()
    })
}

/// The state of a turn that only this screen knows.
pub fn state_of(state: &State, id: ContinuationId) -> Option<ContinuationState> {
    state
        .screens
        .continuations
        .known
        .get(&id)
        .map(|turn| turn.state)
}

/// An approval of the selected turn.
pub fn approval(state: &State, id: ApprovalId) -> Option<&Approval> {
    let world = state.model.world().approvals.get(&id);
    world.or_else(|| state.screens.continuations.approvals.get(&id))
}

fn session(state: &State) -> Option<SessionId> {
    state
        .screens
        .continuations
        .turn()
        .map(|turn| turn.session_id)
}

fn continuation(state: &State) -> Option<ContinuationId> {
    state.screens.continuations.list.selected
}

fn channel(state: &State) -> Option<String> {
    state
        .screens
        .continuations
        .turn()
        .map(|turn| turn.channel.clone())
}

fn hints(state: &State) -> Vec<Action> {
    let Some(turn) = state.screens.continuations.turn() else {
        return vec![Action::MoveDown, Action::Filter];
    };
    let mut hints = vec![Action::Open, Action::NextPane];
    match Group::of(turn.state) {
        Group::Interrupted => hints.push(Action::ResumeContinuation),
        Group::Recent if turn.tool_calls.iter().any(ToolCall::is_late) => {
            hints.push(Action::AllowLater);
        }
        Group::Recent => hints.push(Action::RetryContinuation),
        Group::Running | Group::Parked | Group::Arrived => {}
    }
    if !turn.state.is_terminal() {
        hints.push(Action::KillContinuation);
    }
    let asks = state
        .model
        .world()
        .pending()
        .any(|approval| approval.continuation_id == Some(turn.id));
    if asks {
        hints.push(Action::OpenQuestion);
    }
    if !turn.tool_calls.is_empty() {
        hints.push(Action::Why);
    }
    hints.push(Action::Filter);
    hints
}
