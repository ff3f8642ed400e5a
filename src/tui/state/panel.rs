//! What each screen of engine data declares: its queries, and what its keys do.
//!
//! Nothing here knows a screen by name; `panels` has the table of them.

use serde::Serialize;

use crate::console::labels::problem_text;
use crate::protocol::event::Event;
use crate::protocol::ids::{ContinuationId, SessionId, ToolCallId};
use crate::protocol::problem::Problem;
use crate::protocol::request::{Answer, Query, Request};
use crate::protocol::snapshot::Page;
use crate::tui::action::Action;
use crate::tui::message::Effect;
use crate::tui::state::app::State;
use crate::tui::state::background_search::SearchTarget;
use crate::tui::state::cache_cost::Known;
use crate::tui::state::list::{Cell, List, ListDetail};
use crate::tui::state::screen::Screen;

/// A filter that takes more than words that a row shows.
pub struct ListFilter {
    /// What it takes, for who types it.
    pub note: &'static str,
    /// What it was given.
    pub text: fn(&State) -> &str,
    /// Takes another text; an error says what is wrong with it.
    pub set: fn(&mut State, &str) -> Result<(), String>,
    /// Whether it counts only once it is whole.
    pub when_whole: bool,
}

pub struct ListScreen {
    pub list: fn(&mut State) -> &mut dyn List,
    /// Names of its columns.
    pub columns: fn(&State) -> &'static [&'static str],
    /// Brings it in line with what is known. True = the operator changed what is listed.
    pub arrange: fn(&mut State, bool),
    /// What happens before a movement.
    pub before_move: fn(&mut State),
    /// What a movement asks for.
    pub after_move: fn(&mut State) -> Vec<Effect>,
    /// Closes what only this screen has, before the list goes back; false when nothing of that was open.
    pub close: fn(&mut State) -> bool,
    /// Goes back to what the list was reached from, when nothing of it is open; false when it is the first.
    pub leave: fn(&mut State) -> bool,
    /// Its own filter; none = words that a row shows.
    pub filter: fn(&State) -> Option<&'static ListFilter>,
}

impl ListScreen {
    /// A list of which nothing but the rows can be open.
    pub const fn new(
        list: fn(&mut State) -> &mut dyn List,
        columns: fn(&State) -> &'static [&'static str],
        arrange: fn(&mut State, bool),
    ) -> Self {
        Self {
            list,
            columns,
            arrange,
            before_move: |_| {},
            after_move: |_| Vec::new(),
            close: |_| false,
            leave: |_| false,
            filter: |_| None,
        }
    }
}

/// What comes of opening what is selected.
pub enum Opening {
    /// It is open, or it was said why not.
    Here(Vec<Effect>),
    /// The detail of the list gets the keys.
    Detail,
    /// This channel is to be shown, of the daemon that has the focus.
    Channel(String),
    /// The audit is to be shown, of this actor.
    Audit(String),
    /// The transcript of this session is to be shown, at a place where one is known.
    Session(SessionId, Option<SearchTarget>),
}

/// A screen of this kind.
pub struct Panel {
    /// What is asked when it opens, after an event that concerns it, and on demand.
    pub ask: fn(&State) -> Vec<Query>,
    /// Takes an answer to one of its questions, or why there is none.
    pub answered: fn(&mut State, &Query, Result<&Answer, &Problem>),
    /// Whether what it shows may have changed by this.
    pub concerns: fn(&Event) -> bool,
    /// Its list: that which has the keys, where it has several.
    pub list: ListScreen,
    /// Opens what is selected.
    pub open: fn(&mut State) -> Opening,
    /// Carries out an action; none = it means nothing special here.
    pub perform: fn(&mut State, Action) -> Option<Vec<Effect>>,
    /// What `copy` takes: the id, or all.
    pub copied: fn(&State, bool) -> Option<String>,
    /// The session of what is selected.
    pub session: fn(&State) -> Option<SessionId>,
    /// The continuation of what is selected.
    pub continuation: fn(&State) -> Option<ContinuationId>,
    /// The channel of what is selected.
    pub channel: fn(&State) -> Option<String>,
    /// The tool calls of what is selected, oldest first.
    pub calls: fn(&State) -> Vec<ToolCallId>,
    /// Keys worth a place in the footer now.
    pub hints: fn(&State) -> Vec<Action>,
}

impl Panel {
    /// A list that asks nothing and opens its detail.
    pub const fn new(list: ListScreen) -> Self {
        Self {
            ask: |_| Vec::new(),
            answered: |_, _, _| {},
            concerns: |_| false,
            list,
            open: |_| Opening::Detail,
            perform: |_, _| None,
            copied: |_, _| None,
            session: |_| None,
            continuation: |_| None,
            channel: |_| None,
            calls: |_| Vec::new(),
            hints: |_| Vec::new(),
        }
    }
}

#[derive(Clone, Copy)]
pub enum ScreenKind {
    /// The Queue, with the card of what is selected.
    Queue,
    /// The transcript of a session.
    Session,
    /// A list with its detail.
    List(&'static Panel),
}

/// What `copy` takes of an object: its id, or all that is known of it.
pub fn copied(id: impl ToString, object: Option<&impl Serialize>, all: bool) -> Option<String> {
    if all {
        serde_json::to_string_pretty(object?).ok()
    } else {
        Some(id.to_string())
    }
}

/// Notes a question that a key of this screen asks, so that its answer finds back.
pub fn ask(state: &mut State, screen: Screen, query: impl Into<Query>) -> Effect {
    let query = query.into();
    state.screens.in_flight.open.push((screen, query.clone()));
    Effect::Query(query)
}

/// Asks those of these questions that wait for no answer yet.
pub fn ask_more(
    state: &mut State,
    screen: Screen,
    queries: impl IntoIterator<Item = Query>,
) -> Vec<Effect> {
    let mut queries: Vec<Query> = queries.into_iter().collect();
    queries.retain(|query| !state.screens.in_flight.has(query));
    queries
        .into_iter()
        .map(|query| ask(state, screen, query))
        .collect()
}

/// The reply to a request, or why there is none; none = this answers another request.
pub fn reply<R: Request<Answer = Answer>>(result: Result<&Answer, &Problem>) -> Known<R::Reply> {
    match result {
        Ok(answer) => R::reply(answer.clone()).ok().map(Ok),
        Err(problem) => Some(Err(problem_text(problem))),
    }
}

/// Takes what is of use in the reply to a request, or why there is none.
pub fn take<R: Request<Answer = Answer>, T>(
    known: &mut Known<T>,
    result: Result<&Answer, &Problem>,
    of_use: impl FnOnce(R::Reply) -> T,
) {
    if let Some(reply) = reply::<R>(result) {
        *known = Some(reply.map(of_use));
    }
}

/// Takes a list that came. Where it did not, the list that is known stays, and why is noted.
pub fn take_list<T>(
    reply: Known<Page<T>>,
    list: &mut Option<Vec<T>>,
    problem: &mut Option<String>,
) {
    match reply {
        Some(Ok(page)) => {
            *list = Some(page.items);
            *problem = None;
        }
        Some(Err(why)) => *problem = Some(why),
        None => {}
    }
}

/// Brings a list in line with these rows. `afresh` = the operator changed what is listed.
pub fn arrange<K: Clone + Ord>(
    state: &mut State,
    afresh: bool,
    list: impl Fn(&mut State) -> &mut ListDetail<K>,
    all: Vec<K>,
    cells: impl Fn(&State, &K) -> Vec<Cell>,
) {
    let mut taken = std::mem::take(list(state));
    taken.take(all, afresh, |key| cells(state, key));
    *list(state) = taken;
}
