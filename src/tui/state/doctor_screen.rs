//! What Doctor asks, lists and does. What it knows is in `doctor`; nothing here is drawn.

use crate::console::labels::problem_text;
use crate::console::model::Tone;
use crate::protocol::enums::CostGrouping;
use crate::protocol::event::{Event, EventBody};
use crate::protocol::problem::Problem;
use crate::protocol::request::{
    Answer, Command, GetCosts, GetDoctor, ListHooks, ListMcpServers, ListModels, Query, ResetHook,
};
use crate::tui::action::Action;
use crate::tui::message::Effect;
use crate::tui::state::app::State;
use crate::tui::state::doctor::{FULL_CHECK, Key, Row};
use crate::tui::state::list::Cell;
use crate::tui::state::panel::{self, ListScreen, Opening, Panel};
use crate::tui::state::screen::Screen;
use crate::tui::state::{doctor_rows, submit};

/// Columns of the list.
pub const COLUMNS: &[&str] = &["state", "about", "detail"];

/// Makes the rows again from what is known, and lists them.
fn arrange(state: &mut State, afresh: bool) {
    let mut rows = doctor_rows::rows(state);
    rows.sort_unstable_by(|a, b| (a.word, &a.key).cmp(&(b.word, &b.key)));
    let panel = &mut state.screens.doctor;
    panel.rows = rows;
    let mut list = std::mem::take(&mut panel.list);
    let all = panel.rows.iter().map(|row| row.key.clone()).collect();
    let cells = |key: &Key| panel.row(key).map(cells).unwrap_or_default();
    list.take(all, afresh, cells);
    panel.list = list;
}

/// What the list shows of a check, in the order of its columns. Behind them stands its fix.
fn cells(row: &Row) -> Vec<Cell> {
    let fix = row.fix.as_deref().unwrap_or_default();
    vec![
        Cell::new(row.word.as_str()),
        Cell::new(&row.about),
        Cell::new(&row.detail),
        Cell::new(fix),
    ]
}

/// Its table.
pub const PANEL: Panel = Panel {
    ask,
    answered,
    concerns,
    open: |state| Opening::Here(open(state)),
    perform,
    copied,
    channel,
    hints,
    ..Panel::new(ListScreen {
        before_move: move_away,
        close,
        ..ListScreen::new(|state| &mut state.screens.doctor.list, |_| COLUMNS, arrange)
    })
};

fn ask(_state: &State) -> Vec<Query> {
    vec![
        Query::GetDoctor(GetDoctor { check: false }),
        Query::ListHooks(ListHooks {}),
        Query::ListMcpServers(ListMcpServers {}),
        Query::ListModels(ListModels {}),
        Query::GetCosts(GetCosts {
            by: CostGrouping::Model,
            since: None,
            until: None,
        }),
    ]
}

fn answered(state: &mut State, query: &Query, result: Result<&Answer, &Problem>) {
    let panel = &mut state.screens.doctor;
    let why = result.err().map(problem_text).unwrap_or_default();
    match (query, result.ok()) {
        (Query::GetDoctor(GetDoctor { check }), Some(Answer::GetDoctor(doctor))) => {
            if *check && let Some(report) = &doctor.check {
                panel.check = Some(Ok((doctor.at, report.clone())));
            }
            panel.doctor = Some(Ok(Box::new(doctor.clone())));
        }
        (Query::GetDoctor(GetDoctor { check: true }), None) => panel.check = Some(Err(why)),
        (Query::GetDoctor(GetDoctor { check: false }), None) => panel.doctor = Some(Err(why)),
        (Query::ListHooks(_), Some(Answer::ListHooks(page))) => {
            panel.hooks = Some(Ok(page.items.clone()));
        }
        (Query::ListHooks(ListHooks {}), None) => panel.hooks = Some(Err(why)),
        (Query::ListMcpServers(_), Some(Answer::ListMcpServers(page))) => {
            panel.servers = Some(Ok(page.items.clone()));
        }
        (Query::ListMcpServers(ListMcpServers {}), None) => panel.servers = Some(Err(why)),
        (Query::ListModels(_), Some(Answer::ListModels(page))) => {
            panel.models = Some(Ok(page.items.clone()));
        }
        (Query::ListModels(ListModels {}), None) => panel.models = Some(Err(why)),
        (Query::GetCosts(_), Some(Answer::GetCosts(costs))) => {
            panel.calls = Some(Ok(Box::new(costs.clone())));
        }
        (Query::GetCosts(_), None) => panel.calls = Some(Err(why)),
        _ => {}
    }
}

fn concerns(event: &Event) -> bool {
    match &event.body {
        EventBody::EngineState { .. }
        | EventBody::ChannelState { .. }
        | EventBody::HookRan { .. }
        | EventBody::McpChanged { .. }
        | EventBody::HygieneFinished { .. } => true,
        EventBody::ModelFinished { error, .. } => error.is_some(),
        _ => false,
    }
}

/// A movement takes back the question before a full check.
fn move_away(state: &mut State) {
    state.screens.doctor.confirming = false;
}

fn open(state: &mut State) -> Vec<Effect> {
    let panel = &mut state.screens.doctor;
    let Some(key) = panel.list.selected.clone() else {
        state.toast(Tone::Warning, "open: nothing is selected");
        return Vec::new();
    };
    panel.list.scroll = 0;
    if !panel.unfolded.remove(&key) {
        panel.unfolded.insert(key);
    }
    Vec::new()
}

/// The question before a full check is closed first, then the fix of what is selected.
fn close(state: &mut State) -> bool {
    let panel = &mut state.screens.doctor;
    if std::mem::take(&mut panel.confirming) {
        return true;
    }
    let key = panel.list.selected.as_ref();
    let closed = key.is_some_and(|key| panel.unfolded.remove(key));
    if closed {
        panel.list.scroll = 0;
    }
    closed
}

fn perform(state: &mut State, action: Action) -> Option<Vec<Effect>> {
    match action {
        Action::FullCheck => Some(full_check(state)),
        Action::ResetHook => Some(reset_hook(state)),
        _ => None,
    }
}

fn full_check(state: &mut State) -> Vec<Effect> {
    if !state.is_live() {
        state.toast(Tone::Warning, "not asked: not connected");
        return Vec::new();
    }
    if state.screens.in_flight.has(&FULL_CHECK) {
        state.toast(Tone::Info, "the full check is under way");
        return Vec::new();
    }
    if !std::mem::take(&mut state.screens.doctor.confirming) {
        state.screens.doctor.confirming = true;
        return Vec::new();
    }
    vec![panel::ask(state, Screen::Doctor, FULL_CHECK)]
}

fn reset_hook(state: &mut State) -> Vec<Effect> {
    let hook = state
        .screens
        .doctor
        .chosen()
        .and_then(|row| match &row.key {
            Key::Hook(name, point) => Some((name.clone(), *point)),
            _ => None,
        });
    let Some((name, point)) = hook else {
        state.toast(Tone::Warning, "reset hook: no hook is selected");
        return Vec::new();
    };
    let broken = matches!(&state.screens.doctor.hooks, Some(Ok(hooks)) if hooks.iter().any(|hook| {
        hook.name == name && hook.point.as_str() == point && hook.broken_until.is_some()
    }));
    if !broken {
        state.toast(
            Tone::Warning,
            format!("{name} is called already: nothing to reset"),
        );
        return Vec::new();
    }
    submit::submit(state, Command::ResetHook(ResetHook { name }))
}

fn copied(state: &State, all: bool) -> Option<String> {
    let row = state.screens.doctor.chosen()?;
    if !all {
        return Some(row.about.clone());
    }
    let mut lines = vec![format!(
        "{}  {}: {}",
        row.word.as_str(),
        row.about,
        row.detail
    )];
    lines.extend(row.fix.as_ref().map(|fix| format!("fix: {fix}")));
    lines.extend(row.more.iter().cloned());
    Some(lines.join("\n"))
}

fn channel(state: &State) -> Option<String> {
    match state.screens.doctor.list.selected.as_ref()? {
        Key::Finding(about, _) => about.strip_prefix("channel ").map(str::to_owned),
        _ => None,
    }
}

fn hints(state: &State) -> Vec<Action> {
    let mut hints = Vec::new();
    if let Some(key) = &state.screens.doctor.list.selected {
        hints.push(Action::Open);
        if matches!(key, Key::Hook(..)) {
            hints.push(Action::ResetHook);
        }
    }
    hints.extend([Action::FullCheck, Action::Refresh]);
    hints
}
