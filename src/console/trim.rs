//! What the console forgets: ended work beyond the newest of each list, as a snapshot holds them.
//!
//! Nothing that waits for a person or runs is ever forgotten, and nothing that is on screen.

use std::collections::BTreeSet;

use crate::console::ids::HostId;
use crate::console::item::ItemKey;
use crate::console::model::Model;
use crate::console::world::World;
use crate::protocol::enums::{ApprovalState, OutboxState, SessionState};
use crate::protocol::ids::{ApprovalId, ContinuationId, SessionId};
use crate::protocol::session::Session;

/// Ended items of each list that the console holds, as in a snapshot.
pub const NEWEST: usize = 200;
/// How far a list grows beyond [`NEWEST`] before it is cut, so that not every event cuts.
const SLACK: usize = 50;
/// Rows of the Queue before and behind the selection that may be on screen.
const ROWS: usize = 100;

/// Items that are on screen or marked.
#[derive(Debug, Default)]
struct OnScreen {
    approvals: BTreeSet<ApprovalId>,
    continuations: BTreeSet<ContinuationId>,
    sessions: BTreeSet<SessionId>,
}

impl OnScreen {
    fn of(model: &Model, host: HostId) -> Self {
        let mut shown = Self::default();
        let queue = &model.queue;
        let selected = queue
            .selected
            .as_ref()
            .and_then(|selected| queue.order.iter().position(|key| key == selected))
            .unwrap_or_default();
        let first = selected.saturating_sub(ROWS);
        let rows = queue.order.iter().skip(first).take(2 * ROWS);
        for key in rows.filter(|key| key.host == host) {
            match &key.item {
                ItemKey::Approval(id) => {
                    shown.approvals.insert(*id);
                }
                ItemKey::Continuation(id) => {
                    shown.continuations.insert(*id);
                }
                ItemKey::RefusedCalls(id) | ItemKey::Flood(id) => {
                    shown.sessions.insert(*id);
                }
                ItemKey::Delivery(_)
                | ItemKey::Leftovers(_)
                | ItemKey::Channel(_)
                | ItemKey::Problem(_) => {}
            }
        }
        shown
    }
}

/// Cuts the lists of a host where they have grown too long. `sessions` are on screen too.
pub fn trim(model: &mut Model, host: HostId, sessions: &[SessionId]) {
    if model.hosts.world(host).is_some_and(is_long) {
        let mut shown = OnScreen::of(model, host);
        shown.sessions.extend(sessions);
        if let Some(host) = model.hosts.get_mut(host) {
            cut(&mut host.world, &shown);
        }
    }
}

fn is_long(world: &World) -> bool {
    let most = NEWEST + SLACK;
    world.tool_output.len() > most
        || world.sessions.len() > most && ended_sessions(world).count() > most
        || world.approvals.len() > most && decided(world).count() > most
        || world.continuations.len() > most && ended_turns(world).count() > most
        || world.deliveries.len() > most && moving_deliveries(world) > most
}

fn decided(world: &World) -> impl Iterator<Item = ApprovalId> {
    world
        .approvals
        .values()
        .filter(|approval| approval.state != ApprovalState::Pending)
        .map(|approval| approval.id)
}

fn ended_turns(world: &World) -> impl Iterator<Item = ContinuationId> {
    world
        .continuations
        .values()
        .filter(|turn| turn.state.is_terminal())
        .map(|turn| turn.id)
}

/// Sessions in which nothing is open.
fn ended_sessions(world: &World) -> impl Iterator<Item = &Session> {
    world.sessions.values().filter(|session| {
        session.open_continuation.is_none()
            && session.queued == 0
            && session.pending_approvals == 0
            && session.taken_over.is_none()
            && session.refused_calls.is_none()
            && !session.paused
    })
}

/// A delivery that failed or is unknown waits for a person; the others end by themselves.
fn waits_for_person(state: OutboxState) -> bool {
    match state {
        OutboxState::Failed | OutboxState::Unknown => true,
        OutboxState::Pending
        | OutboxState::Sending
        | OutboxState::Sent
        | OutboxState::Superseded
        | OutboxState::Abandoned => false,
    }
}

fn moving_deliveries(world: &World) -> usize {
    let moving = |state| !waits_for_person(state);
    world
        .deliveries
        .values()
        .filter(|delivery| moving(delivery.state))
        .count()
}

/// All but the newest of these, which come in the order of their creation.
fn oldest<T>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut items: Vec<T> = items.collect();
    items.truncate(items.len().saturating_sub(NEWEST));
    items
}

fn cut(world: &mut World, shown: &OnScreen) {
    for id in oldest(decided(world)) {
        if !shown.approvals.contains(&id) {
            world.approvals.remove(&id);
        }
    }
    let asked: BTreeSet<_> = world
        .approvals
        .values()
        .map(|one| one.tool_call_id)
        .collect();
    world.results.retain(|id, _| asked.contains(&Some(*id)));
    for id in oldest(ended_turns(world)) {
        if !shown.continuations.contains(&id) {
            world.continuations.remove(&id);
        }
    }
    let moving = world
        .deliveries
        .values()
        .filter(|delivery| !waits_for_person(delivery.state))
        .map(|delivery| delivery.id);
    for id in oldest(moving) {
        world.deliveries.remove(&id);
    }
    let mut sessions: Vec<_> = ended_sessions(world)
        .map(|session| {
            let is_active = session.state == SessionState::Active;
            (is_active, session.updated_at, session.id)
        })
        .collect();
    sessions.sort_unstable();
    for (_, _, id) in oldest(sessions.into_iter()) {
        if !shown.sessions.contains(&id) {
            world.sessions.remove(&id);
            world.failed.remove(&id);
        }
    }
    // A tool whose end was not told leaves its output behind.
    for id in oldest(world.tool_output.keys().copied()) {
        world.tool_output.remove(&id);
    }
}
