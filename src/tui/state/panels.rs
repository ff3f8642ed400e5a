//! The table of the screens: what kind each is, and what the lists ask.
//!
//! Nothing here knows a screen by name but the table; nothing asks for a screen that is not shown.

use crate::protocol::event::Event;
use crate::protocol::problem::Problem;
use crate::protocol::request::{Answer, Query};
use crate::tui::message::Effect;
use crate::tui::state::app::State;
use crate::tui::state::panel::{ListScreen, Panel, ScreenKind, ask};
use crate::tui::state::screen::Screen;
use crate::tui::state::{
    audit_screen, cache_cost_screen, channels_screen, continuations_screen, datasets_screen,
    doctor_screen, fleet_screen, live_screen, memory_screen, resources_screen, rules_screen,
    servers_screen, stats_screen,
};

/// What kind of screen one is. Everything that differs from screen to screen follows from this.
pub const fn of(screen: Screen) -> ScreenKind {
    ScreenKind::List(match screen {
        Screen::Queue => return ScreenKind::Queue,
        Screen::Session => return ScreenKind::Session,
        Screen::Live => &live_screen::PANEL,
        Screen::Channels => &channels_screen::PANEL,
        Screen::Continuations => &continuations_screen::PANEL,
        Screen::Rules => &rules_screen::PANEL,
        Screen::CacheCost => &cache_cost_screen::PANEL,
        Screen::Memory => &memory_screen::PANEL,
        Screen::Audit => &audit_screen::PANEL,
        Screen::Doctor => &doctor_screen::PANEL,
        Screen::Resources => &resources_screen::PANEL,
        Screen::Datasets => &datasets_screen::PANEL,
        Screen::Servers => &servers_screen::PANEL,
        Screen::Stats => &stats_screen::PANEL,
        Screen::Fleet => &fleet_screen::PANEL,
    })
}

/// The table of a screen; none = it has no list of this kind.
pub const fn panel_of(screen: Screen) -> Option<&'static Panel> {
    match of(screen) {
        ScreenKind::List(panel) => Some(panel),
        ScreenKind::Queue | ScreenKind::Session => None,
    }
}

/// The list of a screen; none = it has no list of this kind.
pub fn list_of(screen: Screen) -> Option<&'static ListScreen> {
    panel_of(screen).map(|panel| &panel.list)
}

/// Asks what is to be asked for the screen that is shown.
pub fn refresh(state: &mut State) -> Vec<Effect> {
    let Some(panel) = panel_of(state.screen) else {
        return Vec::new();
    };
    let due = state
        .screens
        .in_flight
        .due(state.screen)
        .is_some_and(|at| at <= state.model.now.steady);
    if !due || !state.is_live() {
        return Vec::new();
    }
    let screen = state.screen;
    state.screens.in_flight.stale = false;
    state.screens.in_flight.asked = Some(state.model.now.steady);
    let queries = (panel.ask)(state);
    queries
        .into_iter()
        .map(|query| ask(state, screen, query))
        .collect()
}

/// Gives an answer to the screen that asked; false when none did.
pub fn answered(state: &mut State, query: &Query, result: Result<&Answer, &Problem>) -> bool {
    let Some(panel) = state.screens.in_flight.answered(query).and_then(panel_of) else {
        return false;
    };
    (panel.answered)(state, query, result);
    (panel.list.arrange)(state, false);
    true
}

/// Notes an event that concerns the screen that is shown.
pub fn happened(state: &mut State, event: &Event) {
    if panel_of(state.screen).is_some_and(|panel| (panel.concerns)(event)) {
        state.screens.in_flight.later();
    }
}
