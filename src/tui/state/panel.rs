//! Screens that show what the engine answers: what they ask, when they ask again, and what their keys do.
//!
//! Nothing here knows a screen by name but the table; nothing asks for a screen that is not shown.

use crate::console::queue::Step;
use crate::console::time::Millis;
use crate::protocol::event::Event;
use crate::protocol::ids::{ContinuationId, SessionId};
use crate::protocol::problem::Problem;
use crate::protocol::request::{Answer, Query};
use crate::tui::action::Action;
use crate::tui::message::Effect;
use crate::tui::state::app::{Screen, State};
use crate::tui::state::list::List;
use crate::tui::state::{audit, cache_cost, continuations, doctor, memory, rules};

/// Least milliseconds between two rounds of questions that events caused.
const PAUSE_MS: u64 = 500;

/// What movements do on a screen.
pub enum Moves {
    /// It has a list with a detail.
    List(ListScreen),
    /// It has several lists, and says itself what a movement means.
    Own {
        /// Moves the selection, or scrolls what is open.
        step: fn(&mut State, Step),
        /// The same by lines.
        page: fn(&mut State, i64),
        /// Closes what was opened last; false when nothing was left to close.
        back: fn(&mut State) -> bool,
    },
}

/// The list of a screen.
pub struct ListScreen {
    /// The list.
    pub list: fn(&mut State) -> &mut dyn List,
    /// Names of its columns.
    pub columns: &'static [&'static str],
    /// Brings it in line with what is known. True = the operator changed what is listed.
    pub arrange: fn(&mut State, bool),
    /// What happens before a movement.
    pub before_move: fn(&mut State),
    /// What a movement asks for.
    pub after_move: fn(&mut State) -> Vec<Effect>,
    /// Closes what only this screen has, before the list goes back; false when nothing of that was open.
    pub close: fn(&mut State) -> bool,
}

/// A screen of this kind.
pub struct Panel {
    /// What is asked when it opens, after an event that concerns it, and on demand.
    pub ask: fn(&State) -> Vec<Query>,
    /// Takes an answer to one of its questions, or why there is none.
    pub answered: fn(&mut State, &Query, Result<&Answer, &Problem>),
    /// Whether what it shows may have changed by this.
    pub concerns: fn(&Event) -> bool,
    /// What movements do.
    pub moves: Moves,
    /// Opens what is selected.
    pub open: fn(&mut State) -> Vec<Effect>,
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
    /// Keys worth a place in the footer now.
    pub hints: fn(&State) -> Vec<Action>,
}

/// The table of a screen; none = it is drawn from the snapshot and the events.
pub const fn of(screen: Screen) -> Option<&'static Panel> {
    match screen {
        Screen::Queue | Screen::Live | Screen::Session | Screen::Channels => None,
        Screen::Continuations => Some(&continuations::PANEL),
        Screen::Rules => Some(&rules::PANEL),
        Screen::CacheCost => Some(&cache_cost::PANEL),
        Screen::Memory => Some(&memory::PANEL),
        Screen::Audit => Some(&audit::PANEL),
        Screen::Doctor => Some(&doctor::PANEL),
    }
}

/// The list of a screen; none = it has none of this kind.
pub const fn list_of(screen: Screen) -> Option<&'static ListScreen> {
    match of(screen) {
        Some(Panel {
            moves: Moves::List(list),
            ..
        }) => Some(list),
        Some(_) | None => None,
    }
}

/// Questions of the screen that is shown.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Asking {
    /// What it shows may be old.
    stale: bool,
    /// Asked and not answered.
    open: Vec<(Screen, Query)>,
    /// When it was asked last.
    asked: Option<Millis>,
}

impl Asking {
    /// Ask as soon as may be.
    pub fn now(&mut self) {
        self.stale = true;
        self.asked = None;
    }

    /// Something that concerns the screen happened.
    pub fn later(&mut self) {
        self.stale = true;
    }

    /// Whether answers are awaited for this screen.
    pub fn is_open(&self, screen: Screen) -> bool {
        self.open.iter().any(|(asker, _)| *asker == screen)
    }

    /// Whether an answer to this is awaited.
    pub fn awaits(&self, query: &Query) -> bool {
        self.open.iter().any(|(_, asked)| asked == query)
    }

    /// Whose question this was.
    fn answered(&mut self, query: &Query) -> Option<Screen> {
        let at = self.open.iter().position(|(_, asked)| asked == query)?;
        Some(self.open.remove(at).0)
    }

    /// Nothing that was asked is answered any more.
    pub fn lost(&mut self) {
        self.open.clear();
        self.now();
    }

    /// When the next round may be asked for this screen; none = nothing is to be asked.
    pub fn due(&self, screen: Screen) -> Option<Millis> {
        (self.stale && !self.is_open(screen))
            .then(|| self.asked.map_or(Millis(0), |at| at.plus(PAUSE_MS)))
    }
}

/// Notes a question that a key of this screen asks, so that its answer finds back.
pub fn ask(state: &mut State, screen: Screen, query: Query) -> Effect {
    state.screens.asking.open.push((screen, query.clone()));
    Effect::Query(query)
}

/// Asks what is to be asked for the screen that is shown.
pub fn refresh(state: &mut State) -> Vec<Effect> {
    let Some(panel) = of(state.screen) else {
        return Vec::new();
    };
    let due = state
        .screens
        .asking
        .due(state.screen)
        .is_some_and(|at| at <= state.model.now.steady);
    if !due || !state.is_live() {
        return Vec::new();
    }
    let screen = state.screen;
    state.screens.asking.stale = false;
    state.screens.asking.asked = Some(state.model.now.steady);
    let queries = (panel.ask)(state);
    queries
        .into_iter()
        .map(|query| ask(state, screen, query))
        .collect()
}

/// Gives an answer to the screen that asked; false when none did.
pub fn answered(state: &mut State, query: &Query, result: Result<&Answer, &Problem>) -> bool {
    let Some(panel) = state.screens.asking.answered(query).and_then(of) else {
        return false;
    };
    (panel.answered)(state, query, result);
    if let Moves::List(list) = &panel.moves {
        (list.arrange)(state, false);
    }
    true
}

/// Notes an event that concerns the screen that is shown.
pub fn happened(state: &mut State, event: &Event) {
    if of(state.screen).is_some_and(|panel| (panel.concerns)(event)) {
        state.screens.asking.later();
    }
}
