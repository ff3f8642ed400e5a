//! The keys and words of a console with several daemons. The focus follows the selection of the Queue and of the fleet
//! board, so an action on the selection goes to the daemon that showed it.

use crate::console::hosts::{HostAddress, Hosts};
use crate::console::ids::HostId;
use crate::console::model::Tone;
use crate::tui::assets;
use crate::tui::message::Effect;
use crate::tui::state::app::{Dirty, State};
use crate::tui::state::going;
use crate::tui::state::screen::Screen;

/// Opens the console on several daemons; the first has the focus. With fewer than two, nothing changes.
pub fn open(state: &mut State, hosts: Vec<HostAddress>) {
    if let Some(hosts) = Hosts::several_of(hosts) {
        state.model.hosts = hosts;
    }
}

/// Gives another host the focus: every screen shows it from now on.
fn focus(state: &mut State, to: HostId) -> Vec<(HostId, Effect)> {
    let from = state.model.hosts.focused();
    // A dialog is bound to what its host showed: it stays where it is.
    if from == to || !state.modals.is_empty() || state.model.hosts.get(to).is_none() {
        return Vec::new();
    }
    let mut effects = Vec::new();
    if state.screen == Screen::Session {
        effects.push((from, Effect::SetDeltas(Vec::new())));
    }
    // Answers to what was asked there are not awaited any more; it is asked again on return.
    state.screens.in_flight.lost();
    state.screens.session.lost();
    state.screens.session.stale = true;
    state.model.world_mut().opened.lost();
    let screens = state.left_screens.remove(&to).unwrap_or_default();
    let left = std::mem::replace(&mut state.screens, screens);
    state.left_screens.insert(from, left);
    state.model.hosts.focus(to);
    // A decision about several goes to one host.
    state.model.queue.marks.clear();
    state.arming.forget();
    state.high = None;
    let shown = going::shows(state);
    effects.extend(addressed(to, shown));
    state.touch(Dirty::Now);
    effects
}

/// Effects for this daemon.
pub fn addressed(to: HostId, effects: Vec<Effect>) -> impl Iterator<Item = (HostId, Effect)> {
    effects.into_iter().map(move |effect| (to, effect))
}

/// The focus goes where the operator wants it, and follows the selection of the Queue, or of the fleet board where that
/// is shown.
pub fn follow(state: &mut State) -> Vec<(HostId, Effect)> {
    let of_queue = state.model.queue.selected.as_ref().map(|key| key.host);
    let of_fleet = state.fleet.list.selected.as_ref().map(|key| key.host);
    let of_fleet = of_fleet.filter(|_| state.screen == Screen::Fleet);
    if of_fleet.is_some() && of_fleet != of_queue {
        state.model.queue.selected = None;
        state.model.queue.zoomed = false;
    }
    let selected = of_fleet.or(of_queue);
    let wanted = selected.or(state.wanted_host.take());
    wanted.map_or_else(Vec::new, |host| focus(state, host))
}

/// Gives the next host the focus. Nothing is selected after it.
pub fn next(state: &mut State) -> Vec<Effect> {
    if !state.model.hosts.several() {
        return state.warn("this console is attached to one daemon only");
    }
    let at = (usize::from(state.model.hosts.focused().0) + 1) % state.model.hosts.count();
    go(state, HostId(u8::try_from(at).unwrap_or(0)));
    Vec::new()
}

/// `:host NAME`.
pub fn named(state: &mut State, wanted: Option<&str>) -> Vec<Effect> {
    if !state.model.hosts.several() {
        return next(state);
    }
    let Some(wanted) = wanted else {
        let all: Vec<String> = known(state)
            .into_iter()
            .map(|(name, word)| format!("{name} ({word})"))
            .collect();
        return state.tell(format!("host NAME; known: {}", all.join(", ")));
    };
    let hosts = &state.model.hosts;
    if let Some(id) = hosts.ids().find(|id| hosts.name(*id) == wanted) {
        go(state, id);
        return Vec::new();
    }
    let all: Vec<&str> = hosts.ids().map(|id| hosts.name(id)).collect();
    let hint = match assets::nearest(wanted, all.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("known: {}", all.join(", ")),
    };
    let wanted: String = wanted.chars().take(40).collect();
    let text = format!("there is no host `{wanted}`; {hint}");
    state.warn(text)
}

fn go(state: &mut State, id: HostId) {
    // What is played is of the host that has the focus, and lies over its transcript.
    if going::stays_in_replay(state) {
        return;
    }
    state.model.queue.selected = None;
    state.model.queue.zoomed = false;
    state.wanted_host = Some(id);
    let text = format!(
        "host {}: {}",
        state.model.hosts.name(id),
        link_word(state, id)
    );
    state.toast(Tone::Info, text);
}

fn link_word(state: &State, id: HostId) -> String {
    let now = state.model.now.wall;
    let host = state.model.hosts.get(id);
    host.map_or_else(String::new, |host| host.link_word(now, true))
}

/// Every host with a word about its connection, for `:host`.
pub fn known(state: &State) -> Vec<(String, String)> {
    let hosts = &state.model.hosts;
    hosts
        .ids()
        .map(|id| (hosts.name(id).to_owned(), link_word(state, id)))
        .collect()
}

/// Says for every host what came of the emergency stop.
pub fn report_stop(state: &mut State, host: HostId, result: Result<(), String>) {
    state.stops.insert(host, Some(result));
    let mut tone = Tone::Info;
    let mut held = Vec::new();
    let mut failed = Vec::new();
    let mut waiting = Vec::new();
    for (id, stop) in &state.stops {
        let name = state.model.hosts.name(*id);
        match stop {
            Some(Ok(())) => held.push(name.to_owned()),
            Some(Err(why)) => failed.push(format!("{name} NOT STOPPED ({why})")),
            None => waiting.push(name.to_owned()),
        }
    }
    let mut words = Vec::new();
    if !waiting.is_empty() {
        tone = Tone::Warning;
    }
    if !failed.is_empty() {
        tone = Tone::Error;
        words.push(failed.join(", "));
    }
    if !held.is_empty() {
        words.push(format!("EMERGENCY STOP is in force on {}", held.join(", ")));
    }
    if !waiting.is_empty() {
        words.push(format!("no answer yet from {}", waiting.join(", ")));
    }
    state.toast(tone, words.join("; "));
}
