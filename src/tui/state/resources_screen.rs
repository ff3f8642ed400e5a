//! What Resources asks, lists and opens. What it knows is in `resources`; nothing here knows a resource by name.

use crate::clock::Timestamp;
use crate::console::format;
use crate::console::labels::problem_text;
use crate::protocol::enums::InterpreterKind;
use crate::protocol::event::{Event, EventBody};
use crate::protocol::on_call::Person;
use crate::protocol::problem::Problem;
use crate::protocol::request::{Answer, EndInterpreter, Query};
use crate::protocol::tool::Interpreter;
use crate::tui::action::Action;
use crate::tui::message::Effect;
use crate::tui::state::app::State;
use crate::tui::state::list::Cell;
use crate::tui::state::opening;
use crate::tui::state::panel::{self, ListScreen, Opening, Panel};
use crate::tui::state::resources::ResourcesPanel;
use crate::tui::state::screen::Screen;

pub const PANEL: Panel = Panel {
    ask,
    answered,
    concerns,
    open: |state| {
        let row = state.screens.resources.selected();
        // What somebody did is in the audit; the rest of them is on the screen already.
        let person = row.and_then(|row| serde_json::from_value::<Person>(row.object.clone()).ok());
        person.map_or(Opening::Detail, |person| Opening::Audit(person.name))
    },
    perform: |state, action| (action == Action::EndInterpreter).then(|| end(state)),
    copied,
    session: |state| selected(state).map(|row| row.session_id),
    hints: |state| {
        let mut hints = vec![Action::Open, Action::Filter, Action::CopyAll];
        if selected(state).is_some() {
            hints.extend([Action::Shell, Action::EndInterpreter]);
        }
        hints
    },
    ..Panel::new(ListScreen::new(
        |state| &mut state.screens.resources.list,
        |state| state.screens.resources.heads(),
        arrange,
    ))
};

fn ask(state: &State) -> Vec<Query> {
    let resource = state.screens.resources.resource();
    resource.map(|one| (one.query)()).into_iter().collect()
}

fn answered(state: &mut State, _query: &Query, result: Result<&Answer, &Problem>) {
    let panel = &mut state.screens.resources;
    match result {
        // The answer of a resource that is no longer shown has no rows here.
        Ok(answer) => {
            let rows = panel.resource().and_then(|one| (one.rows)(answer));
            if let Some(rows) = rows {
                panel.rows = Some(rows);
                panel.problem = None;
            }
        }
        Err(problem) => panel.problem = Some(problem_text(problem)),
    }
}

/// Events that change a row of some resource. A change of the configuration shows after a refresh.
fn concerns(event: &Event) -> bool {
    matches!(
        event.body,
        EventBody::ApprovalRequested { .. }
            | EventBody::ApprovalDecided { .. }
            | EventBody::OnCallChanged { .. }
            | EventBody::RoutineChanged { .. }
            | EventBody::ToolProposed { .. }
            | EventBody::ToolFinished { .. }
    )
}

/// A time is shown by its age, the newest first. A cell that is a number is sorted as one.
fn cell(text: &str, now: Timestamp) -> Cell {
    if let Ok(at) = serde_json::from_value::<Timestamp>(text.into()) {
        let rank = -(at.as_millis() as f64);
        return Cell::ranked(format!("{} ago", format::age(now, at)), rank);
    }
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => Cell::ranked(text, number),
        Ok(_) | Err(_) => Cell::new(text),
    }
}

/// What the list shows of a row.
pub fn cells(panel: &ResourcesPanel, key: &str, now: Timestamp) -> Vec<Cell> {
    let row = panel.row(key);
    row.map_or_else(Vec::new, |row| {
        row.cells.iter().map(|text| cell(text, now)).collect()
    })
}

fn arrange(state: &mut State, afresh: bool) {
    let rows = state.screens.resources.rows.iter().flatten();
    let all = rows.filter_map(|row| row.cells.first().cloned()).collect();
    panel::arrange(
        state,
        afresh,
        |state| &mut state.screens.resources.list,
        all,
        |state, key| cells(&state.screens.resources, key, state.model.now.wall),
    );
}

fn copied(state: &State, all: bool) -> Option<String> {
    let panel = &state.screens.resources;
    if all {
        return serde_json::to_string_pretty(&panel.selected()?.object).ok();
    }
    panel.list.selected.clone()
}

/// The interpreter that is selected on Resources; none = something else is listed there.
fn selected(state: &State) -> Option<Interpreter> {
    let row = state.screens.resources.selected()?;
    serde_json::from_value(row.object.clone()).ok()
}

/// Which interpreter is selected, where Resources is shown; none = something else.
pub fn selected_kind(state: &State) -> Option<InterpreterKind> {
    match state.screen {
        Screen::Resources => selected(state).map(|row| row.kind),
        _ => None,
    }
}

/// Ends the selected interpreter after a yes.
fn end(state: &mut State) -> Vec<Effect> {
    let Some(row) = selected(state) else {
        return state.nothing(Action::EndInterpreter);
    };
    let command = row
        .command
        .as_deref()
        .and_then(|command| command.lines().next());
    let lines = vec![
        format!(
            "It has run {} commands; {} is the newest.",
            row.commands,
            command.unwrap_or("none")
        ),
        format!("Lost: {}.", row.kind.state()),
    ];
    let title = format!("End {} of this session?", row.kind.noun());
    let command = EndInterpreter {
        session_id: row.session_id,
        kind: row.kind,
    };
    opening::ask_first(state, title, lines, "End it", command)
}
