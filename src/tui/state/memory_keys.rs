//! What keys do on the Memory screen. Everything that cannot be taken back is confirmed, with Cancel focused.

use crate::console::format;
use crate::console::model::Tone;
use crate::console::queue::Step;
use crate::protocol::enums::{HygieneState, MemoryScope, MemoryState};
use crate::protocol::hygiene::HygieneRun;
use crate::protocol::ids::MemoryId;
use crate::protocol::memory::{MAX_TEXT, Memory, MemoryTarget};
use crate::protocol::request::{
    AcceptMemory, AddMemory, ChangeRoutine, Command, DeleteMemory, EditMemory, GetSessionSummary,
    PinMemory, Query, RunHygiene, RunRoutine, SupersedeMemories, UndoHygiene,
};
use crate::protocol::routine::RoutinePatch;
use crate::tui::action::Action;
use crate::tui::message::Effect;
use crate::tui::state::app::State;
use crate::tui::state::memory::{MemoryText, Place, Reading, View, Why};
use crate::tui::state::modal::{Confirm, Modal, TextPurpose};
use crate::tui::state::panel::{self, Opening};
use crate::tui::state::screen::Screen;
use crate::tui::state::{list, opening, submit};

/// Characters of a text in a question.
const FEW: usize = 120;
/// Rows before the last loaded one at which more are asked for.
const NEAR: usize = 5;

/// Carries out an action; none = it means nothing special here.
pub fn perform(state: &mut State, action: Action) -> Option<Vec<Effect>> {
    let half = i64::from((state.size.1 / 2).max(2)) - 1;
    match action {
        Action::MoveDown => moved(state, Step::Down),
        Action::MoveUp => moved(state, Step::Up),
        Action::MoveTop => moved(state, Step::Top),
        Action::MoveBottom => moved(state, Step::Bottom),
        Action::PageDown => page(state, half),
        Action::PageUp => page(state, -half),
        Action::NextPane => {
            state.screens.memory.second =
                !state.screens.memory.second && state.screens.memory.view != View::Routines;
            state.screens.memory.close();
        }
        Action::Search => {
            show(state, View::Facts);
            return Some(open_text(state, MemoryText::Search));
        }
        Action::MemoryHygiene => toggle(state, View::Hygiene),
        Action::MemoryRoutines => toggle(state, View::Routines),
        Action::MemoryMark => mark(state),
        Action::MemoryAdd => return Some(add(state)),
        Action::MemoryEdit => {
            let text = selected(state, action)
                .map(|memory| MemoryText::Edit(memory.id, memory.updated_at));
            return Some(text.map_or_else(Vec::new, |text| open_text(state, text)));
        }
        Action::MemoryPin => return Some(pin(state)),
        Action::MemoryAccept => accept(state),
        Action::MemoryDelete => delete(state),
        Action::MemorySupersede => supersede(state),
        Action::MemorySummary => return Some(summary(state)),
        Action::MemoryRun => run(state),
        Action::MemoryUndo => undo(state),
        Action::MemoryToggle => return Some(switch(state)),
        _ => return None,
    }
    Some(wanted(state))
}

/// What must be asked because of where the selection is now.
fn wanted(state: &mut State) -> Vec<Effect> {
    let memory = &state.screens.memory;
    if !state.is_live() || state.screens.in_flight.is_open(Screen::Memory) {
        return Vec::new();
    }
    let queries = match memory.view {
        View::Facts => {
            let rows = memory.rows.as_deref().unwrap_or_default();
            let at = rows
                .iter()
                .position(|row| Some(row.memory.id) == memory.selected);
            let near = at.is_some_and(|at| at + NEAR >= rows.len());
            near.then(|| memory.more_query())
                .flatten()
                .into_iter()
                .collect()
        }
        View::Hygiene
            if memory
                .going
                .is_some_and(|id| !memory.texts.contains_key(&id)) =>
        {
            memory.text_queries()
        }
        View::Hygiene | View::Routines => Vec::new(),
    };
    queries
        .into_iter()
        .map(|query| panel::ask(state, Screen::Memory, query))
        .collect()
}

fn stepped<K: Clone + PartialEq>(order: Vec<K>, selected: Option<K>, step: Step) -> Option<K> {
    let at = selected.and_then(|key| order.iter().position(|listed| *listed == key));
    list::stepped(&order, at, step)
}

/// Moves the selection, or scrolls the opened detail.
pub fn moved(state: &mut State, step: Step) {
    if state.screens.memory.zoomed {
        let memory = &mut state.screens.memory;
        memory.scroll = list::scrolled(memory.scroll, step);
        return;
    }
    let here = state.screens.memory.places(state.model.world());
    let memory = &mut state.screens.memory;
    memory.scroll = 0;
    match (memory.view, memory.second) {
        (View::Facts, true) => {
            if let Some(place) = stepped(here, Some(memory.place.clone()), step)
                && place != memory.place
            {
                memory.place = place;
                again(state);
            }
        }
        (View::Facts, false) => {
            let rows = memory.rows.iter().flatten();
            let ids = rows.map(|row| row.memory.id).collect();
            memory.selected = stepped(ids, memory.selected, step);
        }
        (View::Hygiene, false) => {
            let ids = memory
                .preview
                .as_ref()
                .map(|report| report.memories.clone());
            memory.going = stepped(ids.unwrap_or_default(), memory.going, step);
        }
        (View::Hygiene, true) => {
            let ids = memory.runs.iter().flatten().map(|run| run.id).collect();
            memory.run = stepped(ids, memory.run, step);
        }
        (View::Routines, _) => {
            let ids = memory.routines.iter().flatten().map(|one| one.id).collect();
            memory.routine = stepped(ids, memory.routine, step);
        }
    }
}

/// The rows are others now.
fn again(state: &mut State) {
    let memory = &mut state.screens.memory;
    memory.rows = None;
    memory.cursor = None;
    memory.search = None;
    memory.selected = None;
    memory.marked.clear();
    memory.close();
    state.screens.in_flight.now();
}

/// Scrolls the opened detail, or moves the selection, by this many lines.
pub fn page(state: &mut State, lines: i64) {
    let step = if lines > 0 { Step::Down } else { Step::Up };
    if state.screens.memory.second && state.screens.memory.view == View::Facts {
        return;
    }
    for _ in 0..lines.unsigned_abs() {
        moved(state, step);
    }
}

/// Opens what is selected: its detail, then the session it belongs to.
pub fn open(state: &mut State) -> Opening {
    let world = state.model.world();
    let memory = &mut state.screens.memory;
    match memory.view {
        View::Facts if memory.second => {
            memory.second = false;
            Opening::Here(Vec::new())
        }
        View::Routines => match (memory.routine().is_some(), memory.session(world)) {
            (false, _) => Opening::Here(state.nothing(Action::Open)),
            (true, Some(session)) => Opening::Session(session, None),
            (true, None) => {
                state.toast(Tone::Warning, "it has no run whose session is known");
                Opening::Here(Vec::new())
            }
        },
        View::Facts | View::Hygiene => {
            if memory.memory().is_none() && memory.hygiene_run().is_none() {
                return Opening::Here(state.nothing(Action::Open));
            }
            if !memory.zoomed {
                memory.zoomed = true;
                return Opening::Here(Vec::new());
            }
            match memory.session(world) {
                Some(session) => Opening::Session(session, None),
                None => Opening::Here(Vec::new()),
            }
        }
    }
}

/// Closes what was opened last; false when nothing was left to close.
pub fn back(state: &mut State) -> bool {
    let memory = &mut state.screens.memory;
    if memory.reading.is_some() || memory.zoomed {
        memory.close();
        return true;
    }
    match memory.view {
        View::Facts if memory.second => memory.second = false,
        View::Facts if !memory.marked.is_empty() => memory.marked.clear(),
        View::Facts if memory.selected.is_some() => memory.selected = None,
        View::Facts if memory.search.is_some() => again(state),
        View::Facts => return false,
        View::Hygiene if memory.going.is_some() || memory.run.is_some() => {
            memory.going = None;
            memory.run = None;
        }
        View::Routines if memory.routine.is_some() => memory.routine = None,
        View::Hygiene | View::Routines => show(state, View::Facts),
    }
    true
}

/// Keys worth a place in the footer now.
pub fn hints(state: &State) -> Vec<Action> {
    let memory = &state.screens.memory;
    let mut hints = Vec::new();
    match memory.view {
        View::Facts => {
            if let Some(one) = memory.memory() {
                hints.push(Action::Open);
                if one.state == MemoryState::Proposed {
                    hints.push(Action::MemoryAccept);
                }
                if !memory.marked.is_empty() {
                    hints.push(Action::MemorySupersede);
                }
                hints.extend([
                    Action::MemoryEdit,
                    Action::MemoryPin,
                    Action::MemoryDelete,
                    Action::MemoryMark,
                ]);
                if one.session_id.is_some() {
                    hints.push(Action::MemorySummary);
                }
            } else {
                hints.push(Action::NextPane);
            }
            hints.extend([
                Action::MemoryAdd,
                Action::Search,
                Action::MemoryHygiene,
                Action::MemoryRoutines,
            ]);
        }
        View::Hygiene => hints.extend([
            Action::Open,
            Action::NextPane,
            Action::MemoryRun,
            Action::MemoryUndo,
            Action::Back,
        ]),
        View::Routines => hints.extend([
            Action::Open,
            Action::MemoryRun,
            Action::MemoryToggle,
            Action::Back,
        ]),
    }
    hints
}

/// The selected one, or a word that none is.
fn selected(state: &mut State, action: Action) -> Option<Memory> {
    let found = state.screens.memory.memory().cloned();
    if found.is_none() {
        state.nothing(action);
    }
    found
}

fn show(state: &mut State, view: View) {
    let memory = &mut state.screens.memory;
    if memory.view == view {
        return;
    }
    memory.view = view;
    memory.second = false;
    memory.ran = None;
    memory.too_much = false;
    memory.unselect();
    state.screens.in_flight.now();
}

fn toggle(state: &mut State, view: View) {
    let view = if state.screens.memory.view == view {
        View::Facts
    } else {
        view
    };
    show(state, view);
}

fn open_text(state: &mut State, text: MemoryText) -> Vec<Effect> {
    opening::open_text(state, TextPurpose::Memory(text))
}

fn ask_first(
    state: &mut State,
    title: &str,
    lines: Vec<String>,
    label: &'static str,
    command: Command,
) {
    state.modals.push(Modal::Confirm(Confirm {
        title: title.to_owned(),
        lines,
        label,
        command,
        bound: None,
        chosen: 0,
    }));
}

/// The beginning of a text, for a question about it.
fn few(text: &str) -> String {
    let mut out: String = text.chars().take(FEW).collect();
    if out.len() < text.len() {
        out.push('…');
    }
    out.replace('\n', " ")
}

fn mark(state: &mut State) {
    let Some(one) = selected(state, Action::MemoryMark) else {
        return;
    };
    if state.screens.memory.view == View::Facts && !state.screens.memory.marked.remove(&one.id) {
        state.screens.memory.marked.insert(one.id);
    }
}

/// Where something new is remembered: the scope that is shown.
fn add(state: &mut State) -> Vec<Effect> {
    show(state, View::Facts);
    let place = match &state.screens.memory.place {
        Place::Channel(channel) => MemoryTarget::Channel {
            channel: channel.clone(),
        },
        Place::Session => {
            let selected = state
                .screens
                .memory
                .memory()
                .and_then(|memory| memory.session_id);
            match selected.or(state.screens.session.session_id) {
                Some(session_id) => MemoryTarget::Session { session_id },
                None => {
                    state.toast(
                        Tone::Warning,
                        "remember: select something of the session, or open the session (2) first",
                    );
                    return Vec::new();
                }
            }
        }
        Place::Review | Place::All | Place::Global | Place::Archived => MemoryTarget::Global,
    };
    open_text(state, MemoryText::Add(place))
}

fn pin(state: &mut State) -> Vec<Effect> {
    let Some(one) = selected(state, Action::MemoryPin) else {
        return Vec::new();
    };
    submit::submit(
        state,
        Command::PinMemory(PinMemory {
            id: one.id,
            pinned: !one.pinned,
        }),
    )
}

fn accept(state: &mut State) {
    let Some(one) = selected(state, Action::MemoryAccept) else {
        return;
    };
    if one.state != MemoryState::Proposed {
        let text = format!(
            "accept: only a proposed one waits for that (this one is {})",
            one.state
        );
        state.toast(Tone::Warning, text);
        return;
    }
    let mut lines = vec![few(&one.text), place_words(&one)];
    if !one.taint.is_empty() {
        lines.push(format!(
            "written while in context: {}",
            few(&one.taint.join(", "))
        ));
    }
    let command = Command::AcceptMemory(AcceptMemory { id: one.id });
    ask_first(state, "Accept it?", lines, "Accept", command);
}

/// Where one goes into contexts.
pub fn place_words(memory: &Memory) -> String {
    let channel = memory.channel.as_deref().unwrap_or("?");
    match memory.scope {
        MemoryScope::Session => format!("It is recalled in its session on {channel}."),
        MemoryScope::Channel => format!("It is recalled in every session of {channel}."),
        MemoryScope::Global => "It is recalled in every session of every channel.".to_owned(),
    }
}

fn delete(state: &mut State) {
    let Some(one) = selected(state, Action::MemoryDelete) else {
        return;
    };
    let (title, label) = match one.state {
        MemoryState::Proposed => ("Refuse what is proposed?", "Refuse"),
        MemoryState::Active | MemoryState::Superseded | MemoryState::Archived => {
            ("Delete it for good?", "Delete")
        }
    };
    let lines = vec![
        few(&one.text),
        "It is removed; this cannot be taken back.".to_owned(),
    ];
    let command = Command::DeleteMemory(DeleteMemory { id: one.id });
    ask_first(state, title, lines, label, command);
}

/// The selected one replaces the marked ones, or the others of its group that say the same or something else.
fn supersede(state: &mut State) {
    let Some(one) = selected(state, Action::MemorySupersede) else {
        return;
    };
    let rows = state.screens.memory.rows.as_deref().unwrap_or_default();
    let why = rows
        .iter()
        .find(|row| row.memory.id == one.id)
        .map_or(Why::Listed, |row| row.why);
    let grouped = matches!(why, Why::Same(_) | Why::Differs(_));
    let others: Vec<&Memory> = rows
        .iter()
        .filter(|row| {
            row.memory.id != one.id
                && if state.screens.memory.marked.is_empty() {
                    grouped && row.why == why
                } else {
                    state.screens.memory.marked.contains(&row.memory.id)
                }
        })
        .map(|row| &row.memory)
        .collect();
    if others.is_empty() {
        state.toast(
            Tone::Warning,
            "supersede: mark the ones that it replaces (space), then select the better one",
        );
        return;
    }
    let mut lines = vec![format!("stays: {}", few(&one.text))];
    lines.extend(
        others
            .iter()
            .take(3)
            .map(|other| format!("no longer recalled: {}", few(&other.text))),
    );
    if others.len() > 3 {
        lines.push(format!("and {} more", others.len() - 3));
    }
    let ids: Vec<MemoryId> = others.iter().map(|other| other.id).collect();
    let title = format!("Replace {} by this one?", ids.len());
    let command = Command::SupersedeMemories(SupersedeMemories {
        id: one.id,
        others: ids,
    });
    ask_first(state, &title, lines, "Replace", command);
}

/// Reads the summary of the selected one's session.
fn summary(state: &mut State) -> Vec<Effect> {
    let Some(session_id) = state.screens.memory.memory().and_then(|one| one.session_id) else {
        state.toast(
            Tone::Warning,
            "summary: select something that is remembered in a session",
        );
        return Vec::new();
    };
    state.screens.memory.zoomed = true;
    state.screens.memory.scroll = 0;
    state.screens.memory.reading = Some(Reading {
        session_id,
        summary: None,
    });
    let query = Query::GetSessionSummary(GetSessionSummary { session_id });
    vec![panel::ask(state, Screen::Memory, query)]
}

/// Runs hygiene, or the selected routine.
fn run(state: &mut State) {
    match state.screens.memory.view {
        View::Facts => state.toast(
            Tone::Warning,
            "run: open hygiene (H) or routines (R), they show what would happen",
        ),
        View::Hygiene => run_hygiene(state),
        View::Routines => {
            let Some(routine) = state.screens.memory.routine().cloned() else {
                state.nothing(Action::MemoryRun);
                return;
            };
            let lines = vec![
                format!("{}: {}", routine.channel, few(&routine.prompt)),
                format!(
                    "A turn begins at once; by itself it may do at most what {} allows.",
                    routine.autonomy_ceiling
                ),
            ];
            let title = format!("Run {} now?", routine.name);
            let command = Command::RunRoutine(RunRoutine {
                routine: routine.id.to_string(),
            });
            ask_first(state, &title, lines, "Run", command);
        }
    }
}

fn run_hygiene(state: &mut State) {
    let memory = &state.screens.memory;
    let Some(report) = &memory.preview else {
        state.toast(Tone::Warning, "run: what would go is not known yet");
        return;
    };
    if report.groups.is_empty() {
        state.toast(Tone::Warning, "run: nothing would go now");
        return;
    }
    let mut lines = vec![format!(
        "{} memories are archived, {} removed for good.",
        report.archived, report.removed
    )];
    if let Some(status) = &memory.status {
        lines.push(format!(
            "What is archived can be taken back for {} days.",
            status.undo_days
        ));
    }
    for excess in &report.too_much {
        lines.push(format!(
            "TOO MUCH: {} of {} of scope {} go at once. Is the clock right?",
            excess.count, excess.of, excess.scope
        ));
    }
    let yes = memory.too_much;
    let (title, label) = if yes {
        ("Run it although too much goes?", "Run all the same")
    } else {
        ("Run hygiene now?", "Run")
    };
    let command = Command::RunHygiene(RunHygiene { yes });
    ask_first(state, title, lines, label, command);
}

/// Whether a run can be taken back now.
pub fn can_undo(state: &State, run: &HygieneRun) -> bool {
    matches!(run.state, HygieneState::Done | HygieneState::Stopped)
        && run.report.archived > 0
        && run.undo_until > state.model.now.wall
}

/// Takes the selected run back, or the newest one that can be.
fn undo(state: &mut State) {
    let memory = &state.screens.memory;
    let found = match memory.hygiene_run() {
        Some(run) => Some(run),
        None => memory
            .runs
            .iter()
            .flatten()
            .find(|run| can_undo(state, run)),
    };
    let Some(run) = found.filter(|run| can_undo(state, run)) else {
        state.toast(
            Tone::Warning,
            "undo: no run that can be taken back (H shows the runs)",
        );
        return;
    };
    let lines = vec![
        format!(
            "{} of {} ago",
            run.id,
            format::age(state.model.now.wall, run.at)
        ),
        format!(
            "{} memories come back. They go again with the next run unless they are used, pinned or kept longer.",
            run.report.archived
        ),
    ];
    let command = Command::UndoHygiene(UndoHygiene { id: run.id });
    ask_first(state, "Take this run back?", lines, "Take back", command);
}

/// Lets the selected routine run by itself, or no longer. Only the first is asked about.
fn switch(state: &mut State) -> Vec<Effect> {
    let Some(routine) = state.screens.memory.routine().cloned() else {
        return state.nothing(Action::MemoryToggle);
    };
    let command = Command::ChangeRoutine(ChangeRoutine {
        routine: routine.id.to_string(),
        patch: RoutinePatch {
            enabled: Some(!routine.enabled),
            ..RoutinePatch::default()
        },
    });
    if routine.enabled {
        return submit::submit(state, command);
    }
    let lines = vec![
        format!("{}: {}", routine.schedule, few(&routine.prompt)),
        "It runs by itself from now on.".to_owned(),
    ];
    let title = format!("Let {} run by itself?", routine.name);
    ask_first(state, &title, lines, "Enable", command);
    Vec::new()
}

/// A text is finished: what it asks for, or why it was not taken.
pub fn finished(
    state: &mut State,
    purpose: &MemoryText,
    text: String,
) -> Result<Vec<Effect>, String> {
    let words = text.trim();
    if *purpose == MemoryText::Search {
        again(state);
        state.screens.memory.search = (!words.is_empty()).then(|| words.to_owned());
        return Ok(Vec::new());
    }
    if words.is_empty() {
        return Err("nothing written".to_owned());
    }
    if text.len() > MAX_TEXT {
        return Err(format!("at most {MAX_TEXT} bytes; this has {}", text.len()));
    }
    let command = match purpose {
        MemoryText::Search => return Ok(Vec::new()),
        MemoryText::Add(place) => Command::AddMemory(AddMemory {
            place: place.clone(),
            text,
            kind: None,
            pinned: false,
            expires_at: None,
        }),
        MemoryText::Edit(id, seen) => {
            let now = state.screens.memory.memory().filter(|one| one.id == *id);
            if now.is_none_or(|one| one.updated_at != *seen) {
                return Err(
                    "it changed meanwhile: esc keeps this draft, then look again".to_owned(),
                );
            }
            Command::EditMemory(EditMemory {
                id: *id,
                text: Some(text),
                kind: None,
                expires_at: None,
            })
        }
    };
    Ok(submit::submit(state, command))
}
