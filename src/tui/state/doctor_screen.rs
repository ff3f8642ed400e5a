//! What Doctor asks, lists and does. What it knows is in `doctor`; nothing here is drawn.

use crate::protocol::enums::CostGrouping;
use crate::protocol::event::{Event, EventBody};
use crate::protocol::problem::Problem;
use crate::protocol::request::{
    Answer, GetCosts, GetDoctor, ListHooks, ListMcpServers, ListModels, Query, ResetHook,
};
use crate::tui::action::Action;
use crate::tui::message::Effect;
use crate::tui::state::app::State;
use crate::tui::state::doctor::{FULL_CHECK, Key, Row};
use crate::tui::state::list::Cell;
use crate::tui::state::panel::{self, ListScreen, Opening, Panel};
use crate::tui::state::screen::Screen;
use crate::tui::state::{doctor_rows, submit};

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
    match query {
        Query::GetDoctor(GetDoctor { check }) => match panel::reply::<GetDoctor>(result) {
            Some(Ok(doctor)) => {
                if *check && let Some(report) = &doctor.check {
                    panel.check = Some(Ok((doctor.at, report.clone())));
                }
                panel.doctor = Some(Ok(Box::new(doctor)));
            }
            Some(Err(why)) if *check => panel.check = Some(Err(why)),
            Some(Err(why)) => panel.doctor = Some(Err(why)),
            None => {}
        },
        Query::ListHooks(_) => {
            panel::take::<ListHooks, _>(&mut panel.hooks, result, |page| page.items);
        }
        Query::ListMcpServers(_) => {
            panel::take::<ListMcpServers, _>(&mut panel.servers, result, |page| page.items);
        }
        Query::ListModels(_) => {
            panel::take::<ListModels, _>(&mut panel.models, result, |page| page.items);
        }
        Query::GetCosts(_) => panel::take::<GetCosts, _>(&mut panel.calls, result, Box::new),
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
        return state.warn("open: nothing is selected");
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
        return state.warn("not asked: not connected");
    }
    if state.screens.in_flight.has(&FULL_CHECK) {
        return state.tell("the full check is under way");
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
        return state.warn("reset hook: no hook is selected");
    };
    let broken = matches!(&state.screens.doctor.hooks, Some(Ok(hooks)) if hooks.iter().any(|hook| {
        hook.name == name && hook.point.as_str() == point && hook.broken_until.is_some()
    }));
    if !broken {
        return state.warn(format!("{name} is called already: nothing to reset"));
    }
    submit::submit(state, ResetHook { name })
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
