//! Moving, opening and going back. Nothing here decides.

use crate::tui::action::Action;
use crate::tui::message::Effect;
use crate::tui::state::app::{Screen, State, Tone};
use crate::tui::state::focused::focused_session;
use crate::tui::state::hunt::Quarry;
use crate::tui::state::landmark::Landmark;
use crate::tui::state::perform::{nothing, open_session, perform};
use crate::tui::state::queue::Step;
use crate::tui::state::{dial, panel};

/// Moves the selection or scrolls the open card.
pub fn moved(state: &mut State, step: Step) -> Vec<Effect> {
    match state.screen {
        Screen::Queue => {
            if state.queue.zoomed {
                match step {
                    Step::Down => state.queue.scroll_card(1),
                    Step::Up => state.queue.scroll_card(-1),
                    Step::Top => state.queue.card_scroll = 0,
                    Step::Bottom => state.queue.card_scroll = usize::MAX / 2,
                }
            } else {
                let before = state.queue.selected.clone();
                state.queue.select(step, state.now.steady);
                if before != state.queue.selected {
                    state.high = None;
                }
            }
        }
        Screen::Live => state.live.select(step),
        Screen::Channels => state.channels.select(step),
        screen @ (Screen::Continuations
        | Screen::Rules
        | Screen::CacheCost
        | Screen::Memory
        | Screen::Audit
        | Screen::Doctor) => {
            if let Some(panel) = panel::of(screen) {
                (panel.moved)(state, step);
            }
        }
        Screen::Session => {
            let report = state.session.report;
            let inside = match step {
                Step::Down => report.is_some_and(|r| r.selected_below),
                Step::Up => report.is_some_and(|r| r.selected_above),
                Step::Top | Step::Bottom => false,
            };
            match step {
                Step::Bottom => state.session.follow(),
                // A long entry is read line by line before the next one is selected.
                Step::Down if inside && state.session.selected.is_some() => state.session.scroll(1),
                Step::Up if inside && state.session.selected.is_some() => state.session.scroll(-1),
                Step::Top if state.session.hunt_for_start() => {}
                Step::Down | Step::Up | Step::Top => state.session.select(step),
            }
        }
    }
    Vec::new()
}

/// Half a page down (1) or up (-1).
pub fn page(state: &mut State, direction: i64) -> Vec<Effect> {
    let half = i64::from((state.size.1 / 2).max(2)) - 1;
    match state.screen {
        Screen::Queue => {
            if state.queue.selected.is_some() {
                state.queue.scroll_card(direction * (half / 2).max(3));
            }
        }
        Screen::Session => state.session.scroll(direction * half),
        screen @ (Screen::Continuations
        | Screen::Rules
        | Screen::CacheCost
        | Screen::Memory
        | Screen::Audit
        | Screen::Doctor) => {
            if let Some(panel) = panel::of(screen) {
                (panel.page)(state, direction * half);
            }
        }
        Screen::Live | Screen::Channels => {
            for _ in 0..half {
                moved(state, if direction > 0 { Step::Down } else { Step::Up });
            }
        }
    }
    Vec::new()
}

/// Opens what is selected. Decides nothing.
pub fn open(state: &mut State) -> Vec<Effect> {
    match state.screen {
        Screen::Queue => match state.queue.selected.clone() {
            None => nothing(state, Action::Open),
            Some(_) if !state.queue.zoomed => {
                state.queue.zoomed = true;
                Vec::new()
            }
            Some(_) => match focused_session(state) {
                Some(id) => open_session(state, id),
                None => Vec::new(),
            },
        },
        Screen::Live => match state.live.selected {
            Some(id) => open_session(state, id),
            None => nothing(state, Action::Open),
        },
        Screen::Channels => match state.channels.selected.clone() {
            Some(channel) => dial::open(state, &channel),
            None => nothing(state, Action::Open),
        },
        Screen::Session => perform(state, Action::Fold),
        screen @ (Screen::Continuations
        | Screen::Rules
        | Screen::CacheCost
        | Screen::Memory
        | Screen::Audit
        | Screen::Doctor) => panel::of(screen).map_or_else(Vec::new, |panel| (panel.open)(state)),
    }
}

/// Closes what was opened last; false when nothing was left to close.
pub fn back(state: &mut State) -> bool {
    if state.high.take().is_some() {
        return true;
    }
    match state.screen {
        Screen::Queue if state.queue.zoomed => state.queue.zoomed = false,
        Screen::Queue if state.queue.selected.is_some() => state.queue.selected = None,
        Screen::Queue if !state.queue.marks.is_empty() => state.queue.marks.clear(),
        Screen::Queue if !state.queue.filter.is_empty() => state.queue.set_filter(&state.world, ""),
        Screen::Session if state.session.hunt.is_some() => state.session.hunt = None,
        Screen::Session if state.session.search.is_some() => state.session.search = None,
        Screen::Session if state.session.selected.is_some() => state.session.selected = None,
        Screen::Live if state.live.selected.is_some() => state.live.selected = None,
        Screen::Channels if state.channels.selected.is_some() => state.channels.selected = None,
        Screen::Queue | Screen::Session | Screen::Live | Screen::Channels => return false,
        screen @ (Screen::Continuations
        | Screen::Rules
        | Screen::CacheCost
        | Screen::Memory
        | Screen::Audit
        | Screen::Doctor) => return panel::of(screen).is_some_and(|panel| (panel.back)(state)),
    }
    true
}

/// Goes to the next match of the search.
pub fn search(state: &mut State, forward: bool) -> Vec<Effect> {
    if state.session.search.is_none() {
        state.flash(Tone::Warning, "no search: / starts one");
        return Vec::new();
    }
    let words = state.session.search.as_ref().map(|s| s.query.clone());
    let words = Quarry::Words(words.unwrap_or_default());
    if !state.session.next_match(forward) {
        look_further(state, words, forward);
    }
    Vec::new()
}

/// Looks beyond what is loaded, or says that there is nothing more.
fn look_further(state: &mut State, quarry: Quarry, forward: bool) {
    let way = if forward { "below" } else { "above" };
    let text = format!("no further {} {way}", quarry.words());
    if !state.session.hunt_for(quarry, forward) {
        state.flash(Tone::Info, text);
    }
}

/// Goes to the next call that asked, or the next thing that failed.
pub fn jump(state: &mut State, landmark: Landmark, forward: bool) -> Vec<Effect> {
    if state.screen != Screen::Session {
        state.flash(Tone::Warning, "only in the transcript of a session");
        return Vec::new();
    }
    if !state.session.next_landmark(landmark, forward) {
        look_further(state, Quarry::Landmark(landmark), forward);
    }
    Vec::new()
}
