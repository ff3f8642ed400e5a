//! Continuations: what runs, waits, was interrupted or has ended.
//!
//! Rows are held by id. While one is selected every row keeps its place, whatever becomes of it, and what is new
//! stands at the end; without a selection the list is in order.

use std::collections::{BTreeMap, BTreeSet};

use crate::protocol::approval::Approval;
use crate::protocol::event::Event;
use crate::protocol::ids::{ApprovalId, ContinuationId, SessionId, ToolCallId};
use crate::protocol::problem::{Problem, ProblemKind};
use crate::protocol::request::{
    Answer, GetApproval, GetContinuation, ListContinuations, ListSteps, Query,
};
use crate::protocol::session::{Continuation, Step as LogStep, ToolCall};
use crate::protocol::snapshot::{Page, PageRequest};
use crate::protocol::words::{ContinuationState, ToolCallState};
use crate::tui::action::Action;
use crate::tui::message::Effect;
use crate::tui::state::app::{Screen, State, Tone};
use crate::tui::state::modal::TextPurpose;
use crate::tui::state::panel::{self, Panel};
use crate::tui::state::queue::{ItemKey, Step};
use crate::tui::state::session_view::SessionView;
use crate::tui::state::update::problem_text;
use crate::tui::state::{dialogs, perform};

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
    /// Rows in display order, each where it is listed.
    pub order: Vec<(Group, ContinuationId)>,
    /// What is selected.
    pub selected: Option<ContinuationId>,
    /// Whether the detail fills the screen.
    pub zoomed: bool,
    /// Lines the detail is scrolled down.
    pub scroll: usize,
    /// Words that every row must contain.
    pub filter: String,
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
    /// The screen was opened: nothing is selected.
    pub fn opens(&mut self) {
        self.select(None);
        self.regroup();
    }

    /// Selects a row, or none.
    pub fn select(&mut self, id: Option<ContinuationId>) {
        if self.selected != id {
            self.scroll = 0;
        }
        if id.is_none() {
            self.zoomed = false;
        }
        self.selected = id;
    }

    /// Whether a row has every word of the filter: of its state, channel, people, text, id.
    fn matches(&self, turn: &Continuation) -> bool {
        if self.filter.trim().is_empty() {
            return true;
        }
        let row = format!(
            "{} {} {} {} {} {} {} {} {}",
            word(turn.state),
            turn.state,
            turn.channel,
            turn.conversation,
            turn.requester.display,
            turn.requester.id,
            turn.requester.person.as_deref().unwrap_or_default(),
            turn.id,
            turn.request.text
        )
        .to_lowercase();
        let wanted = self.filter.to_lowercase();
        wanted.split_whitespace().all(|word| row.contains(word))
    }

    /// The state that the filter names, when it names one: then older turns are asked for by it.
    fn wanted_state(&self) -> Option<ContinuationState> {
        let mut words = self.filter.split_whitespace();
        words.find_map(|text| {
            let all = ContinuationState::ALL.iter();
            all.copied()
                .find(|state| state.as_str() == text || word(*state) == text)
        })
    }

    /// The whole list in order.
    fn sorted(&self) -> Vec<(Group, ContinuationId)> {
        let mut turns: Vec<&Continuation> = self
            .known
            .values()
            .filter(|turn| self.matches(turn))
            .collect();
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

    /// Brings the rows in line with what is known.
    fn regroup(&mut self) {
        let sorted = self.sorted();
        if self.selected.is_none() {
            self.order = sorted;
            return;
        }
        // A row that is gone from the engine goes; the others stay where they are.
        let known = &self.known;
        self.order.retain(|(_, id)| known.contains_key(id));
        let listed: BTreeSet<ContinuationId> = self.order.iter().map(|(_, id)| *id).collect();
        let oldest = self
            .order
            .iter()
            .filter(|(group, _)| *group == Group::Recent)
            .filter_map(|(_, id)| known.get(id))
            .map(|turn| turn.created_at)
            .min();
        for (group, id) in sorted {
            if listed.contains(&id) {
                continue;
            }
            let older = group == Group::Recent
                && known
                    .get(&id)
                    .is_some_and(|turn| oldest.is_none_or(|oldest| turn.created_at <= oldest));
            let group = if older { group } else { Group::Arrived };
            self.order.push((group, id));
        }
        if self
            .selected
            .is_some_and(|id| !self.order.iter().any(|(_, known)| *known == id))
        {
            self.select(None);
            self.order = self.sorted();
        }
    }

    /// The selected turn.
    pub fn turn(&self) -> Option<&Continuation> {
        self.known.get(&self.selected?)
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
                let selected = self.selected;
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
    moved,
    page,
    open,
    back,
    perform,
    copied,
    session,
    continuation,
    channel,
    hints,
};

fn ask(state: &State) -> Vec<Query> {
    let panel = &state.continuations;
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
    let panel = &state.continuations;
    let Some(id) = panel.selected else {
        return Vec::new();
    };
    let mut queries = vec![Query::ListSteps(ListSteps {
        continuation_id: id,
    })];
    let asked = panel.turn().into_iter().flat_map(|turn| &turn.approvals);
    queries.extend(
        asked
            .filter(|id| {
                !state.world.approvals.contains_key(id) && !panel.approvals.contains_key(id)
            })
            .take(LOOKED_UP)
            .map(|id| Query::GetApproval(GetApproval { id: *id })),
    );
    queries
}

fn answered(state: &mut State, query: &Query, result: Result<&Answer, &Problem>) {
    let panel = &mut state.continuations;
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
            if panel.selected == Some(*continuation_id) =>
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
    panel.regroup();
    if !panel.recheck.is_empty() {
        state.asking.later();
    }
}

fn concerns(event: &Event) -> bool {
    event.seq.is_some() && event.continuation_id.is_some()
}

fn moved(state: &mut State, step: Step) {
    let panel = &mut state.continuations;
    if panel.zoomed {
        panel.scroll = match step {
            Step::Down => panel.scroll.saturating_add(1),
            Step::Up => panel.scroll.saturating_sub(1),
            Step::Top => 0,
            Step::Bottom => usize::MAX / 2,
        };
        return;
    }
    let last = panel.order.len().saturating_sub(1);
    let at = panel
        .selected
        .and_then(|id| panel.order.iter().position(|(_, known)| *known == id));
    let index = match (step, at) {
        (Step::Down, Some(at)) => (at + 1).min(last),
        (Step::Up, Some(at)) => at.saturating_sub(1),
        (Step::Down | Step::Top, _) => 0,
        (Step::Up | Step::Bottom, _) => last,
    };
    let target = panel.order.get(index).map(|(_, id)| *id);
    panel.select(target);
}

fn page(state: &mut State, lines: i64) {
    if state.continuations.zoomed {
        let by = usize::try_from(lines.unsigned_abs()).unwrap_or(usize::MAX);
        let scroll = &mut state.continuations.scroll;
        *scroll = if lines > 0 {
            scroll.saturating_add(by)
        } else {
            scroll.saturating_sub(by)
        };
        return;
    }
    for _ in 0..lines.unsigned_abs() {
        moved(state, if lines > 0 { Step::Down } else { Step::Up });
    }
}

/// What a movement asks for: the log of what is selected now, and older turns near the end of the list.
fn after_move(state: &mut State, before: Option<ContinuationId>) -> Vec<Effect> {
    let mut queries = Vec::new();
    let panel = &state.continuations;
    if panel.selected != before {
        queries.extend(about_selected(state));
    }
    let at = panel
        .selected
        .and_then(|id| panel.order.iter().position(|(_, known)| *known == id));
    if let Some(cursor) = &panel.next
        && at.is_some_and(|at| at + NEAR_END >= panel.order.len())
    {
        queries.push(panel.recent(Some(cursor.clone())));
    }
    queries.retain(|query| !state.asking.awaits(query));
    queries
        .into_iter()
        .map(|query| panel::ask(state, Screen::Continuations, query))
        .collect()
}

fn open(state: &mut State) -> Vec<Effect> {
    let Some((session_id, id)) = state
        .continuations
        .turn()
        .map(|turn| (turn.session_id, turn.id))
    else {
        state.flash(Tone::Warning, "open: nothing is selected");
        return Vec::new();
    };
    state.session = SessionView::open(session_id);
    state.session.wanted = Some(id);
    perform::open_session(state, session_id)
}

fn back(state: &mut State) -> bool {
    let panel = &mut state.continuations;
    if panel.zoomed {
        panel.zoomed = false;
    } else if panel.selected.is_some() {
        panel.select(None);
        panel.regroup();
    } else if !panel.filter.is_empty() {
        filter(state, "");
    } else {
        return false;
    }
    true
}

/// Shows only rows that have all these words.
pub fn filter(state: &mut State, text: &str) {
    let panel = &mut state.continuations;
    let before = panel.wanted_state();
    text.trim().clone_into(&mut panel.filter);
    panel.select(None);
    if panel.wanted_state() != before {
        // Pages of another question do not go on from here.
        panel.known.retain(|_, turn| !turn.state.is_terminal());
        panel.next = None;
        panel.answered = false;
        state.asking.now();
    }
    state.continuations.regroup();
}

/// Goes to the question that the selected turn waits for; it is answered on its card.
fn open_question(state: &mut State) -> Vec<Effect> {
    let Some(id) = state.continuations.selected else {
        state.flash(Tone::Warning, "its question: nothing is selected");
        return Vec::new();
    };
    let question = state
        .world
        .pending()
        .find(|approval| approval.continuation_id == Some(id))
        .map(|approval| ItemKey::Approval(approval.id));
    let Some(key) = question else {
        state.flash(Tone::Warning, "this turn asks nothing");
        return Vec::new();
    };
    let effects = perform::go(state, Screen::Queue);
    if state.queue.order.contains(&key) {
        state.queue.selected = Some(key);
        state.queue.zoomed = true;
    } else {
        state.flash(Tone::Warning, "its question is snoozed");
    }
    effects
}

fn perform(state: &mut State, action: Action) -> Option<Vec<Effect>> {
    let before = state.continuations.selected;
    let half = i64::from((state.size.1 / 2).max(2)) - 1;
    match action {
        Action::MoveDown => moved(state, Step::Down),
        Action::MoveUp => moved(state, Step::Up),
        Action::MoveTop => moved(state, Step::Top),
        Action::MoveBottom => moved(state, Step::Bottom),
        Action::PageDown => page(state, half),
        Action::PageUp => page(state, -half),
        Action::NextPane => {
            let panel = &mut state.continuations;
            panel.zoomed = panel.selected.is_some() && !panel.zoomed;
            return Some(Vec::new());
        }
        Action::Filter => {
            let purpose = TextPurpose::Filter(Screen::Continuations);
            return Some(dialogs::open_text(state, purpose));
        }
        Action::OpenQuestion => return Some(open_question(state)),
        _ => return None,
    }
    Some(after_move(state, before))
}

/// The calls of the selected turn, oldest first.
pub fn calls(state: &State) -> Vec<ToolCallId> {
    let turn = state.continuations.turn();
    turn.map_or_else(Vec::new, |turn| {
        turn.tool_calls.iter().map(|call| call.id).collect()
    })
}

/// The state of a turn that only this screen knows.
pub fn state_of(state: &State, id: ContinuationId) -> Option<ContinuationState> {
    state.continuations.known.get(&id).map(|turn| turn.state)
}

/// An approval of the selected turn.
pub fn approval(state: &State, id: ApprovalId) -> Option<&Approval> {
    let world = state.world.approvals.get(&id);
    world.or_else(|| state.continuations.approvals.get(&id))
}

fn copied(state: &State, all: bool) -> Option<String> {
    let turn = state.continuations.turn()?;
    if all {
        serde_json::to_string_pretty(turn).ok()
    } else {
        Some(turn.id.to_string())
    }
}

fn session(state: &State) -> Option<SessionId> {
    state.continuations.turn().map(|turn| turn.session_id)
}

fn continuation(state: &State) -> Option<ContinuationId> {
    state.continuations.selected
}

fn channel(state: &State) -> Option<String> {
    state.continuations.turn().map(|turn| turn.channel.clone())
}

fn hints(state: &State) -> Vec<Action> {
    let Some(turn) = state.continuations.turn() else {
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
        .world
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
