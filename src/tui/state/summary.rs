//! The shift summary: a pager over what the engine recorded since a time. It decides nothing.

use crate::client::summary_lines;
use crate::protocol::request::GetShiftSummary;
use crate::protocol::summary::ShiftSummary;
use crate::tui::message::Effect;
use crate::tui::state::app::State;
use crate::tui::state::modal::Modal;

/// Hours that a summary covers when nothing else is said.
const HOURS: u32 = 8;

/// Opens the summary of the last hours: eight, or as many as were said.
pub fn open(state: &mut State, hours: Option<&str>) -> Vec<Effect> {
    let hours = match hours.map(str::parse::<u32>) {
        None => HOURS,
        Some(Ok(hours)) if (1..=24 * 31).contains(&hours) => hours,
        Some(_) => {
            return state.warn("summary [HOURS]: a number of hours, 1 to 744");
        }
    };
    let since = Some(state.model.now.wall.plus_seconds(-3600 * i64::from(hours)));
    state.modals.push(Modal::Summary(Box::default()));
    vec![Effect::ask(GetShiftSummary { since })]
}

/// The summary came, or why there is none.
pub fn answered(state: &mut State, answer: Result<&ShiftSummary, String>) {
    // Border, header, tabs and footer take the others.
    let rows = usize::from(state.size.1).saturating_sub(6);
    let columns = usize::from(state.size.0).saturating_sub(4);
    if let Some(Modal::Summary(pager)) = state.modals.last_mut() {
        pager.lines = Some(answer.map(|summary| summary_lines::screenful(summary, rows, columns)));
    }
}
