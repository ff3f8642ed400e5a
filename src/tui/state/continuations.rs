//! Continuations: what runs, waits, was interrupted or has ended.
//!
//! Rows are held by id. While one is selected every row keeps its place, whatever becomes of it, and what is new
//! stands at the end; without a selection the list is in order.

use std::collections::{BTreeMap, BTreeSet};

use crate::console::format;
use crate::console::item::ItemKey;
use crate::console::labels::problem_text;
use crate::console::model::Tone;
use crate::protocol::approval::Approval;
use crate::protocol::event::Event;
use crate::protocol::ids::{ApprovalId, ContinuationId, SessionId, ToolCallId};
use crate::protocol::problem::{Problem, ProblemKind};
use crate::protocol::request::{
    Answer, GetApproval, GetContinuation, ListContinuations, ListSteps, Query,
};
use crate::protocol::session::{Continuation, RefusedCalls, Step as LogStep, ToolCall};
use crate::protocol::snapshot::{Page, PageRequest};
use crate::protocol::words::{ContinuationState, ToolCallState};
use crate::tui::action::Action;
use crate::tui::message::Effect;
use crate::tui::state::app::{Screen, State};
use crate::tui::state::hunt::Quarry;
use crate::tui::state::list::{Cell, List, ListDetail};
use crate::tui::state::panel::{self, ListScreen, Moves, Panel};
use crate::tui::state::perform;

/// Turns of one page of the newest.
pub const PAGE: u32 = 50;
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

/// Where a row is listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// A worker is on it.
    Running,
    /// It waits for a person, or for its turn.
    Parked,
    /// It can be resumed.
    Interrupted,
    /// It has ended.
    Recent,
    /// It came while a row was selected.
    Arrived,
}

impl Group {
    /// All that rows are sorted into.
    const SORTED: [Group; 4] = [
        Group::Running,
        Group::Parked,
        Group::Interrupted,
        Group::Recent,
    ];

    /// The group of a state.
    pub const fn of(state: ContinuationState) -> Self {
        match state {
            ContinuationState::Running | ContinuationState::Streaming => Self::Running,
            ContinuationState::AwaitingApproval | ContinuationState::Pending => Self::Parked,
            ContinuationState::Interrupted => Self::Interrupted,
            ContinuationState::Completed
            | ContinuationState::Failed
            | ContinuationState::Cancelled
            | ContinuationState::Expired => Self::Recent,
        }
    }

    /// Its heading.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Parked => "parked: waits for you, or for its turn",
            Self::Interrupted => "interrupted: can be resumed",
            Self::Recent => "recent",
            Self::Arrived => "new since you selected",
        }
    }
}

/// The state of a turn in the word that is shown.
pub const fn word(state: ContinuationState) -> &'static str {
    match state {
        ContinuationState::Pending => "queued",
        ContinuationState::AwaitingApproval => "waiting on you",
        ContinuationState::Running
        | ContinuationState::Streaming
        | ContinuationState::Interrupted
        | ContinuationState::Completed
        | ContinuationState::Failed
        | ContinuationState::Cancelled
        | ContinuationState::Expired => state.as_str(),
    }
}

/// Calls of a turn whose effect may have happened, and nobody knows.
pub fn uncertain(turn: &Continuation) -> impl Iterator<Item = &ToolCall> {
    let runs = Group::of(turn.state) == Group::Running;
    turn.tool_calls.iter().filter(move |call| {
        call.state == ToolCallState::Indeterminate
            || (call.state == ToolCallState::Started && !runs)
    })
}

/// Calls of a turn that run now.
pub fn in_flight(turn: &Continuation) -> impl Iterator<Item = &ToolCall> {
    let runs = Group::of(turn.state) == Group::Running;
    turn.tool_calls
        .iter()
        .filter(move |call| runs && call.state == ToolCallState::Started)
}

/// What the screen knows.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ContinuationsPanel {
    /// Turns by id.
    pub known: BTreeMap<ContinuationId, Continuation>,
    /// Their list.
    pub list: ListDetail<ContinuationId>,
    /// Where each is listed.
    groups: BTreeMap<ContinuationId, Group>,
    /// The log of the turn that was selected last.
    pub steps: Option<(ContinuationId, Result<Vec<LogStep>, String>)>,
    /// Approvals that the snapshot did not hold.
    pub approvals: BTreeMap<ApprovalId, Approval>,
    /// Where the next page of older turns begins.
    pub next: Option<String>,
    /// Why the list could not be read.
    pub problem: Option<String>,
    /// Whether it was ever read.
    pub answered: bool,
    /// Listed as open, and not among the open ones any more.
    recheck: BTreeSet<ContinuationId>,
}

impl ContinuationsPanel {
    /// The state that the filter names, when it names one: then older turns are asked for by it.
    fn wanted_state(&self) -> Option<ContinuationState> {
        let mut words = self.list.filter.split_whitespace();
        words.find_map(|text| {
            let all = ContinuationState::ALL.iter();
            all.copied()
                .find(|state| state.as_str() == text || word(*state) == text)
        })
    }

    /// The whole list in order.
    fn sorted(&self) -> Vec<(Group, ContinuationId)> {
        let mut turns: Vec<&Continuation> = self.known.values().collect();
        turns.sort_unstable_by_key(|turn| (turn.created_at, turn.id));
        let mut order = Vec::with_capacity(turns.len());
        for group in Group::SORTED {
            let rows = turns.iter().filter(|turn| Group::of(turn.state) == group);
            // The oldest that is open comes first, and the newest that ended.
            if group == Group::Recent {
                order.extend(rows.rev().map(|turn| (group, turn.id)));
            } else {
                order.extend(rows.map(|turn| (group, turn.id)));
            }
        }
        order
    }

    /// Notes where each turn is listed. While one is selected, a turn that came is listed at the end.
    fn regroup(&mut self, sorted: Vec<(Group, ContinuationId)>, afresh: bool) {
        if afresh || self.turn().is_none() {
            self.groups = sorted.into_iter().map(|(group, id)| (id, group)).collect();
            return;
        }
        let known = &self.known;
        let recent = self.groups.iter().filter(|(_, at)| **at == Group::Recent);
        let recent = recent.filter_map(|(id, _)| known.get(id));
        let oldest = recent.map(|turn| turn.created_at).min();
        for (group, id) in sorted {
            let turn = known.get(&id);
            let older = turn.is_some_and(|turn| oldest.is_none_or(|at| turn.created_at <= at));
            let group = if group == Group::Recent && older {
                group
            } else {
                Group::Arrived
            };
            self.groups.entry(id).or_insert(group);
        }
    }

    /// Rows in display order, each where it is listed. A list that is sorted by a column has no groups.
    pub fn rows(&self) -> Vec<(Option<Group>, ContinuationId)> {
        let sorted = self.list.sort.is_some();
        let group = |id| self.groups.get(id).copied().filter(|_| !sorted);
        let rows = self.list.order.iter();
        rows.map(|id| (group(id), *id)).collect()
    }

    /// The selected turn.
    pub fn turn(&self) -> Option<&Continuation> {
        self.known.get(&self.list.selected?)
    }

    /// The query for the newest turns, or for those after a cursor.
    fn recent(&self, cursor: Option<String>) -> Query {
        Query::ListContinuations(ListContinuations {
            state: self.wanted_state(),
            session_id: None,
            page: PageRequest {
                limit: Some(PAGE),
                cursor,
            },
        })
    }

    /// A page of the newest turns, or of older ones.
    fn take_recent(&mut self, cursor: Option<&str>, page: &Page<Continuation>) {
        if cursor.is_none() {
            let meets = page.items.iter().any(|turn| {
                let known = self.known.get(&turn.id);
                known.is_some_and(|known| known.state.is_terminal())
            });
            if !meets {
                // What lies between is not known: the list of the ended begins again with this page.
                let selected = self.list.selected;
                self.known
                    .retain(|id, turn| !turn.state.is_terminal() || selected == Some(*id));
                self.next.clone_from(&page.next_cursor);
            }
            self.answered = true;
            self.problem = None;
        } else if self.next.as_deref() == cursor {
            self.next.clone_from(&page.next_cursor);
        }
        self.take(page);
    }

    fn take(&mut self, page: &Page<Continuation>) {
        for turn in &page.items {
            self.recheck.remove(&turn.id);
            self.known.insert(turn.id, turn.clone());
        }
    }

    /// All open turns of a state: who was listed with it and is not among them has gone on meanwhile.
    fn take_open(&mut self, state: ContinuationState, page: &Page<Continuation>) {
        if page.next_cursor.is_none() {
            let here: BTreeSet<ContinuationId> = page.items.iter().map(|turn| turn.id).collect();
            let streaming = state == ContinuationState::Running;
            let left = self.known.values().filter(|turn| {
                let listed =
                    turn.state == state || streaming && turn.state == ContinuationState::Streaming;
                listed && !here.contains(&turn.id)
            });
            self.recheck.extend(left.map(|turn| turn.id));
        }
        self.take(page);
    }

    fn forget(&mut self, id: ContinuationId) {
        self.known.remove(&id);
        self.recheck.remove(&id);
    }
}

/// Its table.
pub const PANEL: Panel = Panel {
    ask,
    answered,
    concerns,
    moves: Moves::List(ListScreen {
        list,
        columns: COLUMNS,
        arrange,
        before_move: |_| {},
        after_move,
        close: |_| false,
    }),
    open,
    perform,
    copied,
    session,
    continuation,
    channel,
    hints,
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
            let steps = match result {
                Ok(Answer::ListSteps(page)) => Ok(page.items.clone()),
                Ok(_) => return,
                Err(problem) => Err(problem_text(problem)),
            };
            panel.steps = Some((*continuation_id, steps));
        }
        (Query::GetApproval(GetApproval { id }), Ok(Answer::GetApproval(approval))) => {
            let mut approval = approval.clone();
            approval.shorten();
            panel.approvals.insert(*id, approval);
        }
        _ => return,
    }
    if !panel.recheck.is_empty() {
        state.screens.asking.later();
    }
}

fn concerns(event: &Event) -> bool {
    event.seq.is_some() && event.continuation_id.is_some()
}

/// Columns of the list.
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

fn list(state: &mut State) -> &mut dyn List {
    &mut state.screens.continuations.list
}

fn arrange(state: &mut State, afresh: bool) {
    let panel = &mut state.screens.continuations;
    let sorted = panel.sorted();
    let all = sorted.iter().map(|(_, id)| *id).collect();
    let mut list = std::mem::take(&mut panel.list);
    if afresh {
        list.arrange_afresh(all, |id| cells(state, *id));
    } else {
        list.arrange(all, |id| cells(state, *id));
    }
    let panel = &mut state.screens.continuations;
    panel.list = list;
    panel.regroup(sorted, afresh);
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
    match (unknown.is_empty(), running.is_empty(), turn.refused_calls()) {
        (false, _, _) => format!("UNKNOWN {unknown}: {text}"),
        (true, false, _) => format!("{running}: {text}"),
        (true, true, 0) => text.clone(),
        (true, true, refused) => format!("{}: {text}", RefusedCalls::text(refused)),
    }
}

/// The model of a turn: its own, its session's, else the engine's.
pub fn model<'s>(state: &'s State, turn: &'s Continuation) -> &'s str {
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
    queries.retain(|query| !state.screens.asking.awaits(query));
    queries
        .into_iter()
        .map(|query| panel::ask(state, Screen::Continuations, query))
        .collect()
}

fn open(state: &mut State) -> Vec<Effect> {
    let Some((session_id, id)) = state
        .screens
        .continuations
        .turn()
        .map(|turn| (turn.session_id, turn.id))
    else {
        state.flash(Tone::Warning, "open: nothing is selected");
        return Vec::new();
    };
    perform::open_session_at(state, session_id, Quarry::Turn(id))
}

/// Takes the words of the filter. A word that names a state is asked of the engine too.
pub fn filter(state: &mut State, text: &str) {
    let panel = &mut state.screens.continuations;
    let before = panel.wanted_state();
    text.trim().clone_into(&mut panel.list.filter);
    if panel.wanted_state() != before {
        // Pages of another question do not go on from here.
        panel.known.retain(|_, turn| !turn.state.is_terminal());
        panel.next = None;
        panel.answered = false;
        state.screens.asking.now();
    }
}

/// Goes to the question that the selected turn waits for; it is answered on its card.
fn open_question(state: &mut State) -> Vec<Effect> {
    let Some(id) = state.screens.continuations.list.selected else {
        state.flash(Tone::Warning, "its question: nothing is selected");
        return Vec::new();
    };
    let question = state
        .model
        .world()
        .pending()
        .find(|approval| approval.continuation_id == Some(id))
        .map(|approval| state.model.key(ItemKey::Approval(approval.id)));
    let Some(key) = question else {
        state.flash(Tone::Warning, "this turn asks nothing");
        return Vec::new();
    };
    let effects = perform::go(state, Screen::Queue);
    if state.model.queue.order.contains(&key) {
        state.model.queue.selected = Some(key);
        state.model.queue.zoomed = true;
    } else {
        state.flash(Tone::Warning, "its question is snoozed");
    }
    effects
}

fn perform(state: &mut State, action: Action) -> Option<Vec<Effect>> {
    match action {
        Action::OpenQuestion => Some(open_question(state)),
        _ => None,
    }
}

/// The calls of the selected turn, oldest first.
pub fn calls(state: &State) -> Vec<ToolCallId> {
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

fn copied(state: &State, all: bool) -> Option<String> {
    let turn = state.screens.continuations.turn()?;
    if all {
        serde_json::to_string_pretty(turn).ok()
    } else {
        Some(turn.id.to_string())
    }
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
