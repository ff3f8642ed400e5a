//! The mouse: a click selects what was drawn under it, by its id; the wheel scrolls. Neither decides
//! anything, and the click that brought the focus back does nothing at all.

use ratatui::layout::Position;

use crate::console::item::QueueKey;
use crate::console::model::Tone;
use crate::console::queue::Step;
use crate::tui::message::{Effect, HitRegion, Mouse, MouseKind};
use crate::tui::state::app::{Dirty, State};
use crate::tui::state::modal::Modal;
use crate::tui::state::panel::ScreenKind;
use crate::tui::state::{going, lists, memory_keys, navigation, panels, why};

/// Lines of one step of the wheel.
const WHEEL: usize = 3;

/// Takes the mouse, or gives it back to the terminal.
pub fn toggle(state: &mut State) -> Vec<Effect> {
    state.mouse = !state.mouse;
    state.hit_regions.clear();
    let text = if state.mouse {
        "mouse: a click selects, the wheel scrolls, neither decides; with shift the terminal selects text"
    } else {
        "the terminal has the mouse again"
    };
    state.toast(Tone::Info, text);
    vec![Effect::Mouse(state.mouse)]
}

/// Something was done with the mouse.
pub fn happened(state: &mut State, mouse: Mouse) -> Vec<Effect> {
    let steady = state.model.now.steady;
    let refocused = !state.focused || state.arming.just_focused(steady);
    if !state.mouse || refocused {
        return Vec::new();
    }
    // As a key: what it brings on screen is looked at before anything counts.
    state.arming.key(steady);
    state.touch(Dirty::Now);
    let under = Position::new(mouse.column, mouse.row);
    let region = state
        .hit_regions
        .iter()
        .rev()
        .find(|(area, _)| area.contains(under))
        .map(|(_, region)| region.clone());
    match (mouse.kind, state.modals.last_mut()) {
        (MouseKind::Click, None) => {
            match region {
                Some(HitRegion::Screen(screen)) => return going::go(state, screen),
                Some(region) => select(state, region),
                None => {}
            }
            Vec::new()
        }
        (MouseKind::Click, Some(_)) => Vec::new(),
        (MouseKind::WheelDown | MouseKind::WheelUp, Some(modal)) => {
            let lines = i64::try_from(WHEEL).unwrap_or(1);
            let down = mouse.kind == MouseKind::WheelDown;
            let lines = if down { lines } else { -lines };
            match modal {
                Modal::Why(pager) => why::scroll(&mut pager.scroll, lines),
                Modal::Summary(pager) => why::scroll(&mut pager.scroll, lines),
                _ => {}
            }
            Vec::new()
        }
        (MouseKind::WheelDown, None) => wheel(state, region.as_ref(), Step::Down),
        (MouseKind::WheelUp, None) => wheel(state, region.as_ref(), Step::Up),
    }
}

fn select(state: &mut State, region: HitRegion) {
    match region {
        HitRegion::Item(key) => pick(state, key),
        HitRegion::Session(id) => state.screens.live.select(Some(id)),
        HitRegion::Channel(name) => state.screens.channels.select(Some(name)),
        HitRegion::Turn(id) => state.screens.continuations.list.select(Some(id)),
        HitRegion::Rule(key) => state.screens.rules.list.select(Some(key)),
        HitRegion::Memory(key) => memory_keys::pick(state, key),
        HitRegion::AuditRow(seq) => state.screens.audit.list.select(Some(seq)),
        HitRegion::LogLine(number) => state.screens.audit.log.list.select(Some(number)),
        HitRegion::Resource(key) => state.screens.resources.list.select(Some(key)),
        HitRegion::Dataset(id) => state.screens.datasets.list.select(Some(id)),
        HitRegion::Server(name) => state.screens.servers.list.select(Some(name)),
        HitRegion::StatsGroup(name) => state.screens.stats.list.select(Some(name)),
        HitRegion::FleetChannel(key) => state.fleet.list.select(Some(key)),
        HitRegion::DoctorRow(key) => state.screens.doctor.list.select(Some(key)),
        HitRegion::Card | HitRegion::Screen(_) => {}
    }
}

fn pick(state: &mut State, key: QueueKey) {
    if state.model.queue.selected.as_ref() != Some(&key) {
        state.high = None;
        state.model.queue.pick(key);
    }
}

fn wheel(state: &mut State, region: Option<&HitRegion>, step: Step) -> Vec<Effect> {
    let by = i64::try_from(WHEEL).unwrap_or(1) * if step == Step::Down { 1 } else { -1 };
    match panels::of(state.screen) {
        ScreenKind::Queue => {
            if matches!(region, Some(HitRegion::Card)) || state.model.queue.zoomed {
                state.model.queue.scroll_card(by);
                return Vec::new();
            }
            navigation::moved(state, step)
        }
        ScreenKind::Session => {
            state.screens.session.scroll(by);
            Vec::new()
        }
        ScreenKind::List(_) => lists::page(state, by),
    }
}
