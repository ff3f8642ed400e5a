//! The table of the screens that show what the engine answers, and what they ask.
//!
//! Nothing here knows a screen by name but the table; nothing asks for a screen that is not shown.

use crate::protocol::event::Event;
use crate::protocol::problem::Problem;
use crate::protocol::request::{Answer, Query};
use crate::tui::message::Effect;
use crate::tui::state::app::State;
use crate::tui::state::panel::{ListScreen, Panel, ask};
use crate::tui::state::screen::Screen;
use crate::tui::state::{
    audit_screen, cache_cost_screen, continuations_screen, datasets_screen, doctor_screen,
    fleet_screen, live_screen, memory_screen, resources_screen, rules_screen, servers_screen,
    stats_screen,
};

/// The table of a screen; none = it is drawn from the snapshot and the events.
pub const fn of(screen: Screen) -> Option<&'static Panel> {
    match screen {
        Screen::Queue | Screen::Session | Screen::Channels => None,
        Screen::Live => Some(&live_screen::PANEL),
        Screen::Continuations => Some(&continuations_screen::PANEL),
        Screen::Rules => Some(&rules_screen::PANEL),
        Screen::CacheCost => Some(&cache_cost_screen::PANEL),
        Screen::Memory => Some(&memory_screen::PANEL),
        Screen::Audit => Some(&audit_screen::PANEL),
        Screen::Doctor => Some(&doctor_screen::PANEL),
        Screen::Resources => Some(&resources_screen::PANEL),
        Screen::Datasets => Some(&datasets_screen::PANEL),
        Screen::Servers => Some(&servers_screen::PANEL),
        Screen::Stats => Some(&stats_screen::PANEL),
        Screen::Fleet => Some(&fleet_screen::PANEL),
    }
}

/// The list of a screen; none = it is drawn from the snapshot and the events.
pub fn list_of(screen: Screen) -> Option<&'static ListScreen> {
    of(screen).map(|panel| &panel.list)
}

/// Asks what is to be asked for the screen that is shown.
pub fn refresh(state: &mut State) -> Vec<Effect> {
    let Some(panel) = of(state.screen) else {
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
    let Some(panel) = state.screens.in_flight.answered(query).and_then(of) else {
        return false;
    };
    (panel.answered)(state, query, result);
    (panel.list.arrange)(state, false);
    true
}

/// Notes an event that concerns the screen that is shown.
pub fn happened(state: &mut State, event: &Event) {
    if of(state.screen).is_some_and(|panel| (panel.concerns)(event)) {
        state.screens.in_flight.later();
    }
}
