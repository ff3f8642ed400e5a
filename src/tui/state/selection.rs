//! What has the focus: the session, channel or continuation that an action means. Changes nothing.

use crate::console::item::{self, ItemKey};
use crate::console::world::World;
use crate::protocol::enums::ContinuationState;
use crate::protocol::ids::{ContinuationId, SessionId};
use crate::tui::state::app::State;
use crate::tui::state::panel::ScreenKind;
use crate::tui::state::screen::Screen;
use crate::tui::state::{continuations_screen, panels};

pub fn focused_session(state: &State) -> Option<SessionId> {
    match panels::of(state.screen) {
        ScreenKind::Queue => session_of(state.model.world(), state.model.selected()?),
        ScreenKind::Session => state.screens.session.session_id,
        ScreenKind::List(panel) => (panel.session)(state),
    }
}

/// The session that an item of the Queue is about.
pub fn session_of(world: &World, item: &ItemKey) -> Option<SessionId> {
    let of_turn = |id: &ContinuationId| world.continuations.get(id).map(|turn| turn.session_id);
    match item {
        ItemKey::Approval(id) => world.approvals.get(id)?.session_id,
        ItemKey::Continuation(id) => of_turn(id),
        ItemKey::Delivery(id) => of_turn(&world.deliveries.get(id)?.continuation_id?),
        ItemKey::Leftovers(id) => world.leftovers.get(id).map(|one| one.session_id),
        ItemKey::RefusedCalls(id) | ItemKey::Flood(id) => Some(*id),
        ItemKey::Channel(_) | ItemKey::Problem(_) => None,
    }
}

/// The session that the engine paused, where its row of the Queue is selected.
pub fn focused_flood(state: &State) -> Option<SessionId> {
    match state.model.selected()? {
        ItemKey::Flood(id) if state.screen == Screen::Queue => {
            item::flood(state.model.world(), *id).map(|_| *id)
        }
        _ => None,
    }
}

pub fn focused_channel(state: &State) -> Option<String> {
    match panels::of(state.screen) {
        ScreenKind::Queue => {
            item::channel(state.model.world(), state.model.selected()?).map(str::to_owned)
        }
        ScreenKind::Session => focused_session(state)
            .and_then(|id| state.model.world().sessions.get(&id))
            .map(|s| s.channel.clone()),
        ScreenKind::List(panel) => (panel.channel)(state),
    }
}

/// The continuation of what has the focus, with its state.
pub fn focused_continuation(state: &State) -> Option<(ContinuationId, ContinuationState)> {
    if state.screen == Screen::Queue
        && let Some(key) = state.model.selected()
    {
        let id = match key {
            ItemKey::Continuation(id) => Some(*id),
            ItemKey::Approval(id) => state.model.world().approvals.get(id)?.continuation_id,
            ItemKey::Delivery(id) => state.model.world().deliveries.get(id)?.continuation_id,
            ItemKey::Leftovers(_)
            | ItemKey::RefusedCalls(_)
            | ItemKey::Flood(_)
            | ItemKey::Channel(_)
            | ItemKey::Problem(_) => None,
        }?;
        let known = state.model.world().continuations.get(&id).map(|c| c.state);
        return Some((id, known.unwrap_or(ContinuationState::AwaitingApproval)));
    }
    if let Some(panel) = panels::panel_of(state.screen) {
        let id = (panel.continuation)(state)?;
        let known = state
            .model
            .world()
            .continuations
            .get(&id)
            .map(|turn| turn.state);
        let open = || {
            let session = focused_session(state)?;
            let open = &state
                .model
                .world()
                .sessions
                .get(&session)?
                .open_continuation;
            open.as_ref().filter(|open| open.id == id).map(|o| o.state)
        };
        let known = known.or_else(|| continuations_screen::state_of(state, id));
        return Some((id, known.or_else(open)?));
    }
    let session = state.model.world().sessions.get(&focused_session(state)?)?;
    if let Some(open) = &session.open_continuation {
        return Some((open.id, open.state));
    }
    let newest = state
        .screens
        .session
        .entries
        .values()
        .next_back()
        .filter(|_| state.screen == Screen::Session)?;
    Some((newest.entry.continuation_id, ContinuationState::Completed))
}
