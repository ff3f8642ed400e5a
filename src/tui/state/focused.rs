//! What has the focus: the session, channel or continuation that an action means. Changes nothing.

use crate::protocol::ids::{ContinuationId, SessionId};
use crate::protocol::words::ContinuationState;
use crate::tui::state::app::{Screen, State};
use crate::tui::state::queue::{self, ItemKey};
use crate::tui::state::{continuations, panel};

/// The session of what has the focus.
pub fn focused_session(state: &State) -> Option<SessionId> {
    match state.screen {
        Screen::Queue => match state.queue.selected.as_ref()? {
            ItemKey::Approval(id) => state.world.approvals.get(id)?.session_id,
            ItemKey::Continuation(id) => state.world.continuations.get(id).map(|c| c.session_id),
            ItemKey::Delivery(id) => {
                let continuation = state.world.deliveries.get(id)?.continuation_id?;
                state
                    .world
                    .continuations
                    .get(&continuation)
                    .map(|c| c.session_id)
            }
            ItemKey::Leftovers(id) => state.world.leftovers.get(id).map(|one| one.session_id),
            ItemKey::Channel(_) | ItemKey::Problem(_) | ItemKey::Elsewhere(..) => None,
        },
        Screen::Live => state.live.selected,
        Screen::Session => state.session.session_id,
        Screen::Channels => None,
        screen @ (Screen::Continuations
        | Screen::Rules
        | Screen::CacheCost
        | Screen::Memory
        | Screen::Audit
        | Screen::Doctor) => panel::of(screen).and_then(|panel| (panel.session)(state)),
    }
}

/// The channel of what has the focus.
pub fn focused_channel(state: &State) -> Option<String> {
    match state.screen {
        Screen::Channels => state.channels.selected.clone(),
        Screen::Queue => match state.queue.selected.as_ref()? {
            ItemKey::Approval(id) => state.world.approvals.get(id).map(|a| a.channel.clone()),
            ItemKey::Continuation(id) => {
                state.world.continuations.get(id).map(|c| c.channel.clone())
            }
            ItemKey::Delivery(id) => state.world.deliveries.get(id).map(|d| d.channel.clone()),
            ItemKey::Leftovers(id) => state.world.leftovers.get(id).map(|one| one.channel.clone()),
            ItemKey::Channel(name) => Some(name.clone()),
            ItemKey::Problem(_) | ItemKey::Elsewhere(..) => None,
        },
        Screen::Live | Screen::Session => focused_session(state)
            .and_then(|id| state.world.sessions.get(&id))
            .map(|s| s.channel.clone()),
        screen @ (Screen::Continuations
        | Screen::Rules
        | Screen::CacheCost
        | Screen::Memory
        | Screen::Audit
        | Screen::Doctor) => panel::of(screen).and_then(|panel| (panel.channel)(state)),
    }
}

/// The continuation of what has the focus, with its state.
pub fn focused_continuation(state: &State) -> Option<(ContinuationId, ContinuationState)> {
    if state.screen == Screen::Queue
        && let Some(key) = &state.queue.selected
    {
        let id = match key {
            ItemKey::Continuation(id) => Some(*id),
            ItemKey::Approval(id) => state.world.approvals.get(id)?.continuation_id,
            ItemKey::Delivery(id) => state.world.deliveries.get(id)?.continuation_id,
            ItemKey::Leftovers(_)
            | ItemKey::Channel(_)
            | ItemKey::Problem(_)
            | ItemKey::Elsewhere(..) => None,
        }?;
        let known = state.world.continuations.get(&id).map(|c| c.state);
        return Some((id, known.unwrap_or(ContinuationState::AwaitingApproval)));
    }
    if let Some(panel) = panel::of(state.screen) {
        let id = (panel.continuation)(state)?;
        let known = state.world.continuations.get(&id).map(|turn| turn.state);
        return Some((id, known.or_else(|| continuations::state_of(state, id))?));
    }
    let session = state.world.sessions.get(&focused_session(state)?)?;
    if let Some(open) = &session.open_continuation {
        return Some((open.id, open.state));
    }
    let newest = state
        .session
        .entries
        .values()
        .next_back()
        .filter(|_| state.screen == Screen::Session)?;
    Some((newest.entry.continuation_id, ContinuationState::Completed))
}

/// Queue items that need a person now, and since when the oldest waits.
pub fn needs(state: &State) -> (usize, Option<crate::clock::Timestamp>) {
    let mut count = 0;
    let mut oldest = None;
    for key in state.queue.waiting(&state.world) {
        count += 1;
        if let Some(since) = queue::since(&state.world, key) {
            oldest = Some(oldest.map_or(since, |o: crate::clock::Timestamp| o.min(since)));
        }
    }
    (count, oldest)
}
