//! What the log lists and asks while it stands in place of the audit. What it knows is in `log`; nothing here is drawn.

use crate::console::format;
use crate::console::labels::problem_text;
use crate::protocol::problem::Problem;
use crate::protocol::request::{Answer, GetLog};
use crate::tui::action::Action;
use crate::tui::state::app::State;
use crate::tui::state::list::Cell;
use crate::tui::state::log::POLL_MS;
use crate::tui::state::screen::Screen;

pub const COLUMNS: &[&str] = &["at", "level", "what", "where"];

/// While the log is shown, it is asked for again and again; nothing tells when a line comes.
pub fn poll(state: &mut State) {
    if state.screen == Screen::Audit && state.screens.audit.log.shown {
        state
            .screens
            .in_flight
            .poll(state.model.now.steady, POLL_MS);
    }
}

/// Takes an answer, or why there is none.
pub fn answered(state: &mut State, asked: &GetLog, result: Result<&Answer, &Problem>) {
    let panel = &mut state.screens.audit.log;
    match result {
        Ok(Answer::GetLog(log)) => {
            if !panel.take(asked, log) {
                state.screens.in_flight.now();
            }
        }
        Ok(_) => {}
        Err(problem) => panel.problem = Some(problem_text(problem)),
    }
}

/// Newest first. While a line is selected, newer ones wait above.
pub fn arrange(state: &mut State) {
    let panel = &mut state.screens.audit.log;
    if panel.line().is_none() {
        panel.newest = panel.lines.keys().next_back().copied().unwrap_or(0);
    }
    let mut list = std::mem::take(&mut panel.list);
    let all = panel.lines.range(..=panel.newest).rev();
    let all = all.map(|(number, _)| *number).collect();
    list.arrange_afresh(all, |number| cells(state, *number));
    state.screens.audit.log.list = list;
}

/// Lines that came meanwhile are above, and a movement may reach them.
pub fn reach_newest(state: &mut State) {
    let panel = &mut state.screens.audit.log;
    if !panel.list.zoomed {
        panel.newest = panel.lines.keys().next_back().copied().unwrap_or(0);
        arrange(state);
    }
}

/// What the list shows of a line, in the order of its columns.
pub fn cells(state: &State, number: u64) -> Vec<Cell> {
    let Some(line) = state.screens.audit.log.lines.get(&number) else {
        return Vec::new();
    };
    vec![
        Cell::ranked(format::time_of_day(line.at), number as f64),
        Cell::ranked(line.level.as_str(), f64::from(line.level as u8)),
        Cell::new(&line.text),
        Cell::new(&line.target),
    ]
}

/// Shows the log in place of the audit, or the audit again.
pub fn toggle(state: &mut State) {
    let shown = &mut state.screens.audit.log.shown;
    *shown = !*shown;
    state.screens.in_flight.lost();
}

/// Carries out an action of the log; false = it means nothing special here.
pub fn perform(state: &mut State, action: Action) -> bool {
    let panel = &mut state.screens.audit.log;
    match action {
        Action::LogLevel => {
            panel.next_level();
            state.screens.in_flight.lost();
        }
        Action::Follow => {
            panel.list.select(None);
            arrange(state);
        }
        _ => return false,
    }
    true
}

/// Keys worth a place in the footer.
pub fn hints(state: &State) -> Vec<Action> {
    let is_selected = state.screens.audit.log.list.selected.is_some();
    let first = if is_selected {
        [Action::Open, Action::Follow]
    } else {
        [Action::MoveDown, Action::MoveUp]
    };
    let others = [Action::LogLevel, Action::Filter, Action::ShowLog];
    first.into_iter().chain(others).collect()
}
