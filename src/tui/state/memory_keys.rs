//! What keys do on the Memory screen. Everything that cannot be taken back is confirmed, with Cancel focused.

use crate::console::queue::Step;
use crate::protocol::enums::{MemoryScope, MemoryState};
use crate::protocol::ids::MemoryId;
use crate::protocol::memory::{MAX_TEXT, Memory, MemoryTarget};
use crate::protocol::request::{
    AcceptMemory, AddMemory, Command, DeleteMemory, EditMemory, GetSessionSummary, PinMemory,
    Query, SupersedeMemories,
};
use crate::tui::action::Action;
use crate::tui::message::Effect;
use crate::tui::state::app::State;
use crate::tui::state::memory::{Key, MemoryText, Place, Reading, View, Why};
use crate::tui::state::memory_cells::few;
use crate::tui::state::modal::TextPurpose;
use crate::tui::state::opening::{self, ask_first};
use crate::tui::state::panel::{self, Opening};
use crate::tui::state::screen::Screen;
use crate::tui::state::{memory_runs, submit};

/// Rows before the last loaded one at which more are asked for.
const NEAR: usize = 5;

/// Carries out an action; none = it means nothing special here.
pub fn perform(state: &mut State, action: Action) -> Option<Vec<Effect>> {
    let of_selected = match action {
        Action::MemoryMark => mark,
        Action::MemoryEdit => edit,
        Action::MemoryPin => pin,
        Action::MemoryAccept => accept,
        Action::MemoryDelete => delete,
        Action::MemorySupersede => supersede,
        _ => return of_screen(state, action),
    };
    Some(match state.screens.memory.memory().cloned() {
        Some(one) => of_selected(state, one),
        None => state.nothing(action),
    })
}

/// Carries out an action that means no memory in particular.
fn of_screen(state: &mut State, action: Action) -> Option<Vec<Effect>> {
    Some(match action {
        Action::NextPane => {
            let second = !state.screens.memory.second;
            state.screens.memory.turn(second);
            Vec::new()
        }
        Action::Search => {
            show(state, View::Facts);
            open_text(state, MemoryText::Search)
        }
        Action::MemoryHygiene => toggle(state, View::Hygiene),
        Action::MemoryRoutines => toggle(state, View::Routines),
        Action::MemoryAdd => add(state),
        Action::MemorySummary => summary(state),
        Action::MemoryRun => memory_runs::run(state),
        Action::MemoryUndo => memory_runs::undo(state),
        Action::MemoryToggle => memory_runs::switch(state),
        _ => return None,
    })
}

/// The detail shows what is selected next, no longer a summary.
pub fn before_move(state: &mut State) {
    if !state.screens.memory.list().detail().0 {
        state.screens.memory.reading = None;
    }
}

/// What a movement asks for: the rows of another scope, older rows near the end of a list, texts of what would go.
pub fn after_move(state: &mut State) -> Vec<Effect> {
    let memory = &mut state.screens.memory;
    if let Some(place) = &memory.lists.scopes.selected
        && *place != memory.place
    {
        memory.place = place.clone();
        again(state);
        return Vec::new();
    }
    let memory = &state.screens.memory;
    if !state.is_live() {
        return Vec::new();
    }
    let queries: Vec<Query> = match memory.view {
        View::Facts => {
            let list = &memory.lists.facts;
            let near = |at: usize| at + NEAR >= list.order.len();
            let more = list.position().filter(|at| near(*at));
            more.and_then(|_| memory.more_query()).into_iter().collect()
        }
        View::Hygiene => {
            let going = memory.lists.going.selected;
            let unknown = |id| !memory.texts.contains_key(&id);
            going
                .filter(|id| unknown(*id))
                .map_or_else(Vec::new, |_| memory.text_queries())
        }
        View::Routines => Vec::new(),
    };
    panel::ask_more(state, Screen::Memory, queries)
}

/// The rows are others now.
fn again(state: &mut State) {
    let memory = &mut state.screens.memory;
    memory.rows = None;
    memory.cursor = None;
    memory.search = None;
    memory.unselect();
    state.screens.in_flight.now();
}

/// Opens what is selected: its detail, then the session it belongs to. A routine has one at once.
pub fn open(state: &mut State) -> Opening {
    let world = state.model.world();
    let memory = &mut state.screens.memory;
    if memory.view == View::Facts && memory.second {
        memory.turn(false);
        return Opening::Here(Vec::new());
    }
    let last = memory.list().detail().0 || memory.view == View::Routines;
    match memory.session(world).filter(|_| last) {
        Some(session) => Opening::Session(session, None),
        None => Opening::Detail,
    }
}

/// Closes the summary that is read, the scopes, or the marks; false when nothing of that was open.
pub fn close(state: &mut State) -> bool {
    let memory = &mut state.screens.memory;
    if memory.reading.take().is_some() {
        memory.lists.facts.zoomed = false;
        memory.lists.going.zoomed = false;
    } else if memory.view == View::Facts && memory.second {
        memory.turn(false);
    } else if !memory.marked.is_empty() && !memory.list().detail().0 {
        memory.marked.clear();
    } else {
        return false;
    }
    true
}

/// From a search to the scope, from hygiene and routines to what is remembered.
pub fn leave(state: &mut State) -> bool {
    let memory = &state.screens.memory;
    if memory.view != View::Facts {
        show(state, View::Facts);
    } else if memory.search.is_some() {
        again(state);
    } else {
        return false;
    }
    true
}

/// Selects a row that was clicked.
pub fn pick(state: &mut State, key: Key) {
    let lists = &mut state.screens.memory.lists;
    let second = match key {
        Key::Scope(place) => {
            state.screens.memory.turn(true);
            state.screens.memory.lists.scopes.select(Some(place));
            drop(after_move(state));
            return;
        }
        Key::Fact(id) => {
            lists.facts.select(Some(id));
            false
        }
        Key::Going(id) => {
            lists.going.select(Some(id));
            false
        }
        Key::Run(id) => {
            lists.runs.select(Some(id));
            true
        }
        Key::Routine(id) => {
            lists.routines.select(Some(id));
            false
        }
    };
    state.screens.memory.turn(second);
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
                Action::Filter,
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

fn show(state: &mut State, view: View) {
    let memory = &mut state.screens.memory;
    if memory.view == view {
        return;
    }
    memory.view = view;
    memory.turn(false);
    memory.ran = None;
    memory.too_much = false;
    memory.unselect();
    state.screens.in_flight.now();
}

fn toggle(state: &mut State, view: View) -> Vec<Effect> {
    let view = if state.screens.memory.view == view {
        View::Facts
    } else {
        view
    };
    show(state, view);
    Vec::new()
}

fn open_text(state: &mut State, text: MemoryText) -> Vec<Effect> {
    opening::open_text(state, TextPurpose::Memory(text))
}

fn mark(state: &mut State, one: Memory) -> Vec<Effect> {
    if state.screens.memory.view == View::Facts && !state.screens.memory.marked.remove(&one.id) {
        state.screens.memory.marked.insert(one.id);
    }
    Vec::new()
}

fn edit(state: &mut State, one: Memory) -> Vec<Effect> {
    open_text(state, MemoryText::Edit(one.id, one.updated_at))
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
                    return state.warn(
                        "remember: select a memory of the session, or open the session (2) first",
                    );
                }
            }
        }
        Place::Review | Place::All | Place::Global | Place::Archived => MemoryTarget::Global,
    };
    open_text(state, MemoryText::Add(place))
}

fn pin(state: &mut State, one: Memory) -> Vec<Effect> {
    let (id, pinned) = (one.id, !one.pinned);
    submit::submit(state, PinMemory { id, pinned })
}

fn accept(state: &mut State, one: Memory) -> Vec<Effect> {
    if one.state != MemoryState::Proposed {
        return state.warn(format!(
            "accept: only a proposed memory can be accepted (this one is {})",
            one.state
        ));
    }
    let mut lines = vec![few(&one.text), place_words(&one)];
    if !one.taint.is_empty() {
        lines.push(format!(
            "written while in context: {}",
            few(&one.taint.join(", "))
        ));
    }
    let command = AcceptMemory { id: one.id };
    ask_first(state, "Accept it?", lines, "Accept", command)
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

fn delete(state: &mut State, one: Memory) -> Vec<Effect> {
    let (title, label) = match one.state {
        MemoryState::Proposed => ("Refuse what is proposed?", "Refuse"),
        MemoryState::Active | MemoryState::Superseded | MemoryState::Archived => {
            ("Delete it for good?", "Delete")
        }
    };
    let lines = vec![
        few(&one.text),
        "It is removed for good; you cannot undo this.".to_owned(),
    ];
    ask_first(state, title, lines, label, DeleteMemory { id: one.id })
}

/// The selected one replaces the marked ones, or the others of its group that say the same or something else.
fn supersede(state: &mut State, one: Memory) -> Vec<Effect> {
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
        return state
            .warn("supersede: mark the memories to replace (space), then select the better one");
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
    let command = SupersedeMemories {
        id: one.id,
        others: ids,
    };
    ask_first(state, title, lines, "Replace", command)
}

/// Reads the summary of the selected one's session.
fn summary(state: &mut State) -> Vec<Effect> {
    let Some(session_id) = state.screens.memory.memory().and_then(|one| one.session_id) else {
        return state.warn("summary: select a memory of a session");
    };
    state.screens.memory.list_mut().open();
    state.screens.memory.list_mut().step(Step::Top);
    state.screens.memory.reading = Some(Reading {
        session_id,
        summary: None,
    });
    let query = GetSessionSummary { session_id };
    vec![panel::ask(state, Screen::Memory, query)]
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
