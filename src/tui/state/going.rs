//! Going to a screen, and to a session on it. Nothing goes anywhere while a replay is shown.

use crate::console::model::Tone;
use crate::protocol::ids::SessionId;
use crate::tui::action::Action;
use crate::tui::keymap::context::Context;
use crate::tui::message::Effect;
use crate::tui::state::app::State;
use crate::tui::state::background_search::SearchTarget;
use crate::tui::state::screen::Screen;
use crate::tui::state::session_view::SessionView;
use crate::tui::state::{lists, panels};

/// Goes to a screen. Nothing is selected when a screen opens.
pub fn go(state: &mut State, screen: Screen) -> Vec<Effect> {
    if state.screen == screen || stays_in_replay(state) {
        return Vec::new();
    }
    let left = state.screen;
    state.last_screen = left;
    state.screen = screen;
    state.high = None;
    state.arming.drawn(None, state.model.now.steady);
    if screen == Screen::Queue {
        state
            .model
            .queue
            .open(&state.model.hosts, state.model.now.wall);
    }
    if screen == Screen::Fleet {
        lists::opens(state, screen);
        state.fleet.stale = true;
    }
    let effects = shows(state);
    if left == Screen::Session && screen != Screen::Session {
        return vec![Effect::SetDeltas(Vec::new())];
    }
    effects
}

/// The screen that is shown opens: nothing is selected on it, and it asks what it shows. The Queue and the fleet board
/// are the same for every host and stay as they are.
pub fn shows(state: &mut State) -> Vec<Effect> {
    let screen = state.screen;
    state.screens.memory.unselect();
    if panels::panel_of(screen).is_some() && screen != Screen::Fleet {
        lists::opens(state, screen);
        state.screens.in_flight.now();
    }
    if state.screen != Screen::Session {
        return Vec::new();
    }
    state.screens.session.stale = true;
    vec![Effect::SetDeltas(
        state.screens.session.session_id.into_iter().collect(),
    )]
}

/// Whether a replay is shown, which is left before anything else is; says so.
pub(super) fn stays_in_replay(state: &mut State) -> bool {
    if state.replay.is_some() {
        let back = state.keymap.key_of(Context::Replay, Action::Back);
        let text = format!("a replay is shown; {} ends it", back.unwrap_or_default());
        state.toast(Tone::Warning, text);
    }
    state.replay.is_some()
}

pub fn open_session(state: &mut State, id: SessionId) -> Vec<Effect> {
    if stays_in_replay(state) {
        return Vec::new();
    }
    if state.screens.session.session_id != Some(id) {
        state.screens.session = SessionView::open(id);
    }
    if state.screen == Screen::Session {
        return vec![Effect::SetDeltas(vec![id])];
    }
    go(state, Screen::Session)
}

/// Opens a session's transcript at a place.
pub fn open_session_at(state: &mut State, id: SessionId, place: SearchTarget) -> Vec<Effect> {
    if stays_in_replay(state) {
        return Vec::new();
    }
    state.screens.session = SessionView::open(id);
    state.screens.session.wanted = Some(place);
    open_session(state, id)
}
