//! What the lists of Memory show: their columns, the cells of each row, and the words in them.

use crate::clock::Timestamp;
use crate::console::format;
use crate::protocol::enums::{HygieneState, MemoryState, RoutineRunState, SearchMethod};
use crate::protocol::hygiene::{HygieneGroup, HygieneRun};
use crate::protocol::ids::{HygieneRunId, MemoryId, RoutineId};
use crate::protocol::memory::Memory;
use crate::protocol::routine::{Routine, RoutineRun};
use crate::tui::state::app::State;
use crate::tui::state::list::Cell;
use crate::tui::state::memory::{Place, Row, View, Why};

/// Characters of a text in a question.
const FEW: usize = 120;

pub const SCOPES: &[&str] = &["scope", "count", "bytes"];
/// Columns of what is remembered.
pub const FACTS: &[&str] = &["state", "what", "where", "uses", "used", "ends"];
/// The same of what a search found: by what counts more than how often it was needed.
pub const FOUND: &[&str] = &["state", "what", "where", "found by", "used", "ends"];
/// Columns of what hygiene would take.
pub const GOING: &[&str] = &["what", "memory"];
pub const RUNS: &[&str] = &["ago", "state", "by", "archived", "removed", "back", "undo"];
pub const ROUTINES: &[&str] = &["name", "on", "schedule", "next", "last run"];

/// Columns of the list that has the keys.
pub fn columns(state: &State) -> &'static [&'static str] {
    let memory = &state.screens.memory;
    match (memory.view, memory.second) {
        (View::Facts, true) => SCOPES,
        (View::Facts, false) if memory.search.is_some() => FOUND,
        (View::Facts, false) => FACTS,
        (View::Hygiene, false) => GOING,
        (View::Hygiene, true) => RUNS,
        (View::Routines, _) => ROUTINES,
    }
}

/// Brings the lists in line with what is known. `afresh` = the operator changed what the one with the keys lists.
pub fn arrange(state: &mut State, afresh: bool) {
    let mut lists = std::mem::take(&mut state.screens.memory.lists);
    let memory = &state.screens.memory;
    let afresh = |view: View, second: bool| {
        afresh && memory.view == view && memory.second == (second && view != View::Routines)
    };
    let scopes = memory.places(state.model.world());
    lists
        .scopes
        .take(scopes, afresh(View::Facts, true), |place| {
            scope(state, place)
        });
    let facts = memory.rows.iter().flatten().map(|row| row.memory.id);
    lists
        .facts
        .take(facts.collect(), afresh(View::Facts, false), |id| {
            fact(state, *id)
        });
    let going = memory.preview.as_ref().map(|report| &report.memories);
    lists.going.take(
        going.cloned().unwrap_or_default(),
        afresh(View::Hygiene, false),
        |id| would_go(state, *id),
    );
    let runs = memory.runs.iter().flatten().map(|run| run.id);
    lists
        .runs
        .take(runs.collect(), afresh(View::Hygiene, true), |id| {
            run(state, *id)
        });
    let routines = memory.routines.iter().flatten().map(|one| one.id);
    lists
        .routines
        .take(routines.collect(), afresh(View::Routines, false), |id| {
            routine(state, *id)
        });
    state.screens.memory.lists = lists;
}

/// The beginning of a text, for a question about it.
pub fn few(text: &str) -> String {
    let mut out: String = text.chars().take(FEW).collect();
    if out.len() < text.len() {
        out.push('…');
    }
    out.replace('\n', " ")
}

pub fn place_name(place: &Place) -> String {
    match place {
        Place::Review => "to review".to_owned(),
        Place::All => "all scopes".to_owned(),
        Place::Session => "sessions".to_owned(),
        Place::Channel(name) => format!("channel {name}"),
        Place::Global => "global".to_owned(),
        Place::Archived => "archived".to_owned(),
    }
}

pub fn scope(state: &State, place: &Place) -> Vec<Cell> {
    let memory = &state.screens.memory;
    let (count, bytes) = match place {
        Place::Review => (memory.to_review() as u64, 0),
        Place::All | Place::Session | Place::Channel(_) | Place::Global | Place::Archived => {
            memory.held(place)
        }
    };
    let held = match (place, &memory.stats) {
        (Place::Review, _) | (_, Some(_)) => format::count(count),
        (_, None) => "…".to_owned(),
    };
    let size = match bytes {
        0 => String::new(),
        bytes => format::bytes(bytes),
    };
    vec![
        Cell::new(place_name(place)),
        Cell::ranked(held, count as f64),
        Cell::ranked(size, bytes as f64),
    ]
}

fn ago(now: Timestamp, at: Option<Timestamp>) -> Cell {
    match at {
        Some(at) => Cell::ranked(format::age(now, at), -(at.as_millis() as f64)),
        None => Cell::new("-"),
    }
}

/// When something ends, without seconds.
pub fn ends(now: Timestamp, at: Timestamp) -> String {
    if at > now && at.millis_since(now) < 60_000 {
        return "<1m".to_owned();
    }
    format::left(now, at)
}

/// Something remembered. Behind the columns stands what the filter finds too.
pub fn fact(state: &State, id: MemoryId) -> Vec<Cell> {
    let memory = &state.screens.memory;
    let Some(row) = memory.row(id) else {
        return Vec::new();
    };
    let one = &row.memory;
    let now = state.model.now.wall;
    let place = match (&one.channel, one.session_id) {
        (Some(channel), Some(_)) => format!("{channel} (one)"),
        (Some(channel), None) => channel.clone(),
        (None, _) => "everywhere".to_owned(),
    };
    let mark = if memory.marked.contains(&id) {
        "* "
    } else {
        ""
    };
    let uses = match (&memory.search, found_by(row)) {
        (None, _) => Cell::ranked(format::count(one.uses), one.uses as f64),
        (Some(_), by) => Cell::new(by.map_or_else(String::new, |by| by.to_string())),
    };
    let ends = match one.expires_at {
        Some(at) => Cell::ranked(ends(now, at), at.as_millis() as f64),
        None => Cell::new("-"),
    };
    vec![
        Cell::new(format!("{mark}{}", state_word(row))),
        Cell::new(&one.text),
        Cell::new(place),
        uses,
        ago(now, one.last_used_at),
        ends,
        Cell::new(format!(
            "{} {} {id}",
            one.author_id,
            one.person_id.as_deref().unwrap_or("")
        )),
    ]
}

/// Where something remembered stands, or why it is among those to look through.
pub fn state_word(row: &Row) -> String {
    match row.why {
        Why::Listed | Why::Proposed | Why::Found(_) => memory_state(&row.memory).to_owned(),
        Why::Same(group) => format!("same {group}"),
        Why::Differs(group) => format!("differs {group}"),
        Why::NeverUsed => "never used".to_owned(),
    }
}

/// Where one stands, in a word.
pub fn memory_state(memory: &Memory) -> &'static str {
    match memory.state {
        MemoryState::Active if memory.pinned => "pinned",
        MemoryState::Active
        | MemoryState::Proposed
        | MemoryState::Superseded
        | MemoryState::Archived => memory.state.as_str(),
    }
}

/// By what a search found it, where one did.
pub fn found_by(row: &Row) -> Option<SearchMethod> {
    match row.why {
        Why::Found(by) => Some(by),
        Why::Listed | Why::Proposed | Why::Same(_) | Why::Differs(_) | Why::NeverUsed => None,
    }
}

/// Something that hygiene would take.
pub fn would_go(state: &State, id: MemoryId) -> Vec<Cell> {
    let text = match state.screens.memory.texts.get(&id) {
        Some(Some(one)) => one.text.as_str(),
        Some(None) => "(removed meanwhile)",
        None => "…",
    };
    vec![Cell::new(text), Cell::new(id.to_string())]
}

/// What goes for one reason.
pub fn group(group: &HygieneGroup) -> String {
    let scope = group.scope.map_or("-", |scope| scope.as_str());
    let channel = group
        .channel
        .as_deref()
        .map_or_else(String::new, |name| format!(" {name}"));
    format!(
        "{} {} of {scope}{channel}: {} ({})",
        group.count,
        group.what,
        group.reason,
        format::bytes(group.bytes)
    )
}

pub fn run(state: &State, id: HygieneRunId) -> Vec<Cell> {
    let Some(run) = state.screens.memory.run(id) else {
        return Vec::new();
    };
    let undo = undo(state, run);
    let undo = match &run.report.note {
        Some(note) => format!("{undo} · {note}"),
        None => undo,
    };
    let count = |count: u64| Cell::ranked(format::count(count), count as f64);
    vec![
        ago(state.model.now.wall, Some(run.at)),
        Cell::new(run.state.as_str()),
        Cell::new(&run.by),
        count(run.report.archived),
        count(run.report.removed),
        count(run.restored),
        Cell::new(undo),
        Cell::new(id.to_string()),
    ]
}

/// Whether a run can be taken back now.
pub fn can_undo(state: &State, run: &HygieneRun) -> bool {
    matches!(run.state, HygieneState::Done | HygieneState::Stopped)
        && run.report.archived > 0
        && run.undo_until > state.model.now.wall
}

/// Whether a run can be taken back, and for how long.
pub fn undo(state: &State, run: &HygieneRun) -> String {
    if can_undo(state, run) {
        return format!("{} left", ends(state.model.now.wall, run.undo_until));
    }
    if run.report.archived == 0 {
        "nothing to undo".to_owned()
    } else {
        "no more".to_owned()
    }
}

pub fn routine(state: &State, id: RoutineId) -> Vec<Cell> {
    let Some(one) = state.screens.memory.routine_of(id) else {
        return Vec::new();
    };
    let at = one.begin_at.or(one.due_at).filter(|_| one.enabled);
    let result = match &one.last_run {
        None => Cell::new("none yet"),
        Some(run) => Cell::ranked(result(state, run), -(run.at.as_millis() as f64)),
    };
    vec![
        Cell::new(&one.name),
        Cell::new(if one.enabled { "on" } else { "off" }),
        Cell::new(schedule(&one.schedule)),
        Cell::ranked(
            next(state, one),
            at.map_or(f64::MAX, |at| at.as_millis() as f64),
        ),
        result,
        Cell::new(format!("{} {} {id}", one.channel, one.prompt)),
    ]
}

/// A run of a routine in words.
pub fn result(state: &State, run: &RoutineRun) -> String {
    let age = format::age(state.model.now.wall, run.at);
    let detail = run
        .detail
        .as_deref()
        .map_or_else(String::new, |text| format!(": {text}"));
    match run.state {
        RoutineRunState::Skipped => format!("skipped {age} ago{detail}"),
        RoutineRunState::Failed => format!("failed {age} ago{detail}"),
        RoutineRunState::Started => {
            let known = run
                .continuation_id
                .and_then(|id| state.model.world().continuations.get(&id))
                .map(|continuation| continuation.state);
            match known.or(run.continuation_state) {
                Some(state) => format!("{state}, begun {age} ago{detail}"),
                None => format!("begun {age} ago, its turn was swept"),
            }
        }
    }
}

/// When a routine runs next.
pub fn next(state: &State, routine: &Routine) -> String {
    if !routine.enabled {
        return "off".to_owned();
    }
    match routine.begin_at.or(routine.due_at) {
        Some(at) if at <= state.model.now.wall => "due".to_owned(),
        Some(at) => ends(state.model.now.wall, at),
        None => "never".to_owned(),
    }
}

/// A schedule in words, where it is one of the usual ones; else as it is written.
pub fn schedule(text: &str) -> String {
    let fields: Vec<&str> = text.split_whitespace().collect();
    let number = |field: &str, most: u32| field.parse::<u32>().ok().filter(|n| *n <= most);
    let [minute, hour, day, month, weekday] = fields.as_slice() else {
        return text.to_owned();
    };
    let days = match (*day, *month, *weekday) {
        ("*", "*", "*") => "every day".to_owned(),
        ("*", "*", days)
            if days
                .chars()
                .all(|c| c.is_ascii_alphabetic() || c == '-' || c == ',') =>
        {
            days.to_ascii_uppercase()
        }
        (day, "*", "*") => match number(day, 31) {
            Some(day) => format!("day {day} of every month"),
            None => return text.to_owned(),
        },
        _ => return text.to_owned(),
    };
    let every = |field: &str| field.strip_prefix("*/").and_then(|n| number(n, 59));
    let times = match (number(minute, 59), every(minute), number(hour, 23), *hour) {
        (Some(minute), _, Some(hour), _) => format!("at {hour:02}:{minute:02}"),
        (Some(minute), _, None, "*") => format!("every hour at :{minute:02}"),
        (None, Some(step), None, "*") if 60 % step.max(1) == 0 => format!("every {step} minutes"),
        _ => return text.to_owned(),
    };
    if days == "every day" && !times.starts_with("at ") {
        return times;
    }
    format!("{days} {times}")
}
