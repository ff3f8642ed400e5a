//! The lists of the screens: what the same keys do to each. A screen says which list it has, its columns, and which rows
//! there are.

use crate::console::model::Tone;
use crate::console::queue::Step;
use crate::tui::message::Effect;
use crate::tui::state::app::State;
use crate::tui::state::list::{List, Sort};
use crate::tui::state::panel::{ListFilter, ScreenKind};
use crate::tui::state::panels;
use crate::tui::state::screen::Screen;

/// The list of a screen; none = it has no list of this kind.
pub fn of(state: &mut State, screen: Screen) -> Option<&mut dyn List> {
    Some((panels::list_of(screen)?.list)(state))
}

/// Names of the columns of a screen's list.
pub fn columns(state: &State, screen: Screen) -> &'static [&'static str] {
    panels::list_of(screen).map_or(&[], |list| (list.columns)(state))
}

/// Brings the list of a screen in line with its rows. `afresh` = the operator changed what is listed: every row goes to
/// its place.
pub fn arrange(state: &mut State, screen: Screen, afresh: bool) {
    if let Some(list) = panels::list_of(screen) {
        (list.arrange)(state, afresh);
    }
}

/// Moves the selection of the screen that is shown, or scrolls its detail.
pub fn step(state: &mut State, step: Step) -> Vec<Effect> {
    change(state, |list| list.step(step))
}

/// The same by lines: down where positive.
pub fn page(state: &mut State, lines: i64) -> Vec<Effect> {
    change(state, |list| list.page(lines))
}

fn change(state: &mut State, change: impl FnOnce(&mut dyn List)) -> Vec<Effect> {
    let Some(around) = panels::list_of(state.screen) else {
        return Vec::new();
    };
    (around.before_move)(state);
    change((around.list)(state));
    (around.after_move)(state)
}

/// Gives the keys to the detail of what is selected.
pub fn open(state: &mut State) -> Vec<Effect> {
    let screen = state.screen;
    if of(state, screen).is_some_and(|list| !list.open()) {
        state.toast(Tone::Warning, "open: nothing is selected");
    }
    Vec::new()
}

/// Closes what was opened last: the detail, then the selection, then the filter. False when nothing was left to close.
pub fn back(state: &mut State) -> bool {
    let screen = state.screen;
    if panels::list_of(screen).is_some_and(|list| (list.close)(state)) {
        return true;
    }
    if of(state, screen).is_some_and(List::back) {
        arrange(state, screen, false);
        return true;
    }
    if !filter_of(state, screen).is_empty() {
        return filter(state, screen, "").is_ok();
    }
    panels::list_of(screen).is_some_and(|list| (list.leave)(state))
}

const QUEUE_FILTER: ListFilter = ListFilter {
    note: "words of tool, risk, person, arguments; channel:NAME, for:me; empty shows all",
    text: |state| &state.model.queue.filter,
    set: |state, text| {
        state.model.queue.set_filter(&state.model.hosts, text);
        Ok(())
    },
    when_whole: false,
};

/// Whether the rows of a screen can be filtered by words.
pub fn is_filtered(screen: Screen) -> bool {
    !matches!(screen, Screen::Session)
}

/// The filter of a screen that takes more than words that a row shows; none = it takes those.
pub fn own_filter(state: &State, screen: Screen) -> Option<&'static ListFilter> {
    match panels::of(screen) {
        ScreenKind::Queue => Some(&QUEUE_FILTER),
        ScreenKind::Session => None,
        ScreenKind::List(panel) => (panel.list.filter)(state),
    }
}

/// Whether a filter counts only once it is whole: the audit asks the engine.
pub fn filters_when_whole(state: &State, screen: Screen) -> bool {
    own_filter(state, screen).is_some_and(|filter| filter.when_whole)
}

/// Lists only what a text asks for; an error says what is wrong with it.
pub fn filter(state: &mut State, screen: Screen, text: &str) -> Result<(), String> {
    if let Some(filter) = own_filter(state, screen) {
        (filter.set)(state, text)?;
    } else if let Some(list) = of(state, screen) {
        text.trim().clone_into(list.filter());
    }
    arrange(state, screen, true);
    Ok(())
}

/// The words of a screen's filter.
pub fn filter_of(state: &mut State, screen: Screen) -> String {
    match own_filter(state, screen) {
        Some(filter) => (filter.text)(state).to_owned(),
        None => of(state, screen).map_or_else(String::new, |list| list.filter().clone()),
    }
}

/// Sorts the list that is shown by `COLUMN`, or `-COLUMN` for the largest first; without one it gets back its own order.
pub fn sort(state: &mut State, column: Option<&str>) -> Vec<Effect> {
    let screen = state.screen;
    let sort = match column {
        None => Ok(None),
        Some(text) => Sort::parse(text, columns(state, screen)).map(Some),
    };
    let Some(list) = of(state, screen) else {
        let text = format!("sort: {} has an order of its own", screen.title());
        return state.warn(text);
    };
    match sort {
        Ok(sort) => {
            *list.sort() = sort;
            arrange(state, screen, true);
        }
        Err(why) => state.toast(Tone::Warning, format!("sort: {why}")),
    }
    Vec::new()
}

/// A screen opens: nothing is selected, nothing of it is open, and every row is at its place.
pub fn opens(state: &mut State, screen: Screen) {
    let mut open = panels::list_of(screen).is_some_and(|list| (list.close)(state));
    while std::mem::take(&mut open) {
        open = panels::list_of(screen).is_some_and(|list| (list.close)(state));
    }
    if let Some(list) = of(state, screen) {
        while list.back() {}
    }
    arrange(state, screen, true);
}

/// Live, Channels and the fleet board that is shown follow what is known.
pub fn follow(state: &mut State) {
    arrange(state, Screen::Live, false);
    arrange(state, Screen::Channels, false);
    if state.screen == Screen::Fleet {
        arrange(state, Screen::Fleet, false);
    }
}
