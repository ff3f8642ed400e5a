//! Words and small pictures of the Memory screen: schedules, results, growth, and the lines of a detail.
//!
//! Every text of somebody else goes through `shown` here, before it becomes a line.

use ratatui::text::{Line, Span};

use crate::clock::Timestamp;
use crate::console::format;
use crate::protocol::enums::{MemoryState, RoutineRunState, SearchMethod};
use crate::protocol::hygiene::{HygieneGroup, HygieneRun};
use crate::protocol::memory::Memory;
use crate::protocol::routine::{Routine, RoutineRun};
use crate::tui::sanitize;
use crate::tui::state::app::State;
use crate::tui::state::memory::{Reading, Row, Why};
use crate::tui::state::memory_keys::{can_undo, place_words};
use crate::tui::theme::roles::{Role, Theme};
use crate::tui::view::paint::{self, span};

/// Lines with labels, wrapped.
pub struct Lines<'a> {
    theme: &'a Theme,
    width: usize,
    /// What was written so far.
    pub lines: Vec<Line<'static>>,
}

impl<'a> Lines<'a> {
    /// None yet, for this many columns.
    pub fn new(theme: &'a Theme, width: usize) -> Self {
        Self {
            theme,
            width,
            lines: Vec::new(),
        }
    }

    /// A text over the whole width.
    pub fn text(&mut self, role: Role, text: &str) {
        for line in sanitize::block(text, self.width) {
            self.lines.push(Line::from(span(self.theme, role, line)));
        }
    }

    /// A text behind a label.
    pub fn field(&mut self, label: &str, role: Role, text: &str) {
        let room = self.width.saturating_sub(paint::LABEL);
        for (at, line) in sanitize::block(text, room).into_iter().enumerate() {
            let label = if at == 0 { label } else { "" };
            self.lines.push(Line::from(vec![
                span(
                    self.theme,
                    Role::Label,
                    sanitize::column(label, paint::LABEL),
                ),
                span(self.theme, role, line),
            ]));
        }
    }

    /// An empty line.
    pub fn gap(&mut self) {
        self.lines.push(Line::from(Span::raw("")));
    }
}

/// When something ends, without seconds.
pub fn ends(now: Timestamp, at: Timestamp) -> String {
    if at > now && at.millis_since(now) < 60_000 {
        return "<1m".to_owned();
    }
    format::left(now, at)
}

/// How long ago, `-` = never.
pub fn ago(now: Timestamp, at: Option<Timestamp>) -> String {
    at.map_or_else(|| "-".to_owned(), |at| format::age(now, at))
}

/// One column for each of the newest values, from nothing to the most there was.
pub fn bars(values: &[u64], columns: usize) -> String {
    const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let values = values
        .get(values.len().saturating_sub(columns)..)
        .unwrap_or_default();
    let most = values.iter().copied().max().unwrap_or(0).max(1);
    values
        .iter()
        .map(|value| {
            let level = u128::from(*value) * 7 / u128::from(most);
            let level = usize::try_from(level).unwrap_or(7).min(7);
            LEVELS.get(level).copied().unwrap_or('█')
        })
        .collect()
}

/// The state of a row, or why it is among those to look through.
pub fn state_word(row: &Row) -> (Role, String) {
    match row.why {
        Why::Listed | Why::Proposed | Why::Found(_) => {}
        Why::Same(group) => return (Role::StateWaiting, format!("same {group}")),
        Why::Differs(group) => return (Role::StateWaiting, format!("differs {group}")),
        Why::NeverUsed => return (Role::StateIdle, "never used".to_owned()),
    }
    memory_state(&row.memory)
}

/// By what a search found it, where one did.
pub fn found_by(row: &Row) -> Option<SearchMethod> {
    match row.why {
        Why::Found(by) => Some(by),
        Why::Listed | Why::Proposed | Why::Same(_) | Why::Differs(_) | Why::NeverUsed => None,
    }
}

/// Where one stands, in a word.
pub fn memory_state(memory: &Memory) -> (Role, String) {
    let word = memory.state.as_str().to_owned();
    match memory.state {
        MemoryState::Proposed => (Role::StateWaiting, word),
        MemoryState::Active if memory.pinned => (Role::StateGood, "pinned".to_owned()),
        MemoryState::Active => (Role::StateGood, word),
        MemoryState::Superseded | MemoryState::Archived => (Role::StateIdle, word),
    }
}

/// Everything about one.
pub fn memory(state: &State, memory: &Memory, out: &mut Lines<'_>) {
    let now = state.model.now.wall;
    out.text(Role::Outside, &memory.text);
    out.gap();
    let (role, word) = memory_state(memory);
    let word = match (&memory.archived_by, memory.pinned) {
        (Some(run), _) => format!("{word} by {run}"),
        (None, true) => format!("{word}: in every context of its scope"),
        (None, false) => word,
    };
    out.field("state", role, &word);
    let mut rows = state.screens.memory.rows.iter().flatten();
    if let Some(by) = rows
        .find(|row| row.memory.id == memory.id)
        .and_then(found_by)
    {
        let by = match by {
            SearchMethod::Words => "its words",
            SearchMethod::Meaning => "its meaning",
            SearchMethod::Both => "its words and its meaning",
        };
        out.field("found by", Role::Text, by);
    }
    if let Some(better) = memory.superseded_by {
        out.field("replaced by", Role::Text, &better.to_string());
    }
    out.field("recalled", Role::Text, &place_words(memory));
    out.field(
        "written by",
        Role::Text,
        &format!("{} {}", memory.author, memory.author_id),
    );
    let person = memory.person_id.as_deref().unwrap_or("nobody named");
    let message = memory
        .message_ref
        .as_ref()
        .map_or_else(String::new, |id| format!(", message {id}"));
    out.field("person", Role::Outside, &format!("{person}{message}"));
    out.field(
        "confidence",
        Role::Text,
        &format!("{:.2} ({})", memory.confidence, memory.kind),
    );
    if memory.taint.is_empty() {
        out.field(
            "taint",
            Role::Text,
            "none: nothing untrusted was in context",
        );
    } else {
        let text = format!("untrusted was in context: {}", memory.taint.join(", "));
        out.field("taint", Role::StateWaiting, &text);
    }
    let used = match memory.last_used_at {
        Some(at) => format!("{} times, last {} ago", memory.uses, format::age(now, at)),
        None => "never".to_owned(),
    };
    out.field("used", Role::Text, &used);
    let end = memory.expires_at.map_or_else(
        || "by retention only".to_owned(),
        |at| format!("{} ({at})", ends(now, at)),
    );
    out.field("ends", Role::Text, &end);
    out.field(
        "written",
        Role::Text,
        &format!(
            "{} ago, changed {} ago",
            format::age(now, memory.created_at),
            format::age(now, memory.updated_at)
        ),
    );
    if let Some(turn) = memory.source {
        out.field("turn", Role::TextMuted, &turn.to_string());
    }
    if let Some(session) = memory.session_id {
        out.field("session", Role::TextMuted, &session.to_string());
    }
    out.field("id", Role::TextMuted, &memory.id.to_string());
}

/// The summary of a session.
pub fn summary(state: &State, reading: &Reading, out: &mut Lines<'_>) {
    match &reading.summary {
        None => out.text(Role::TextMuted, "asking …"),
        Some(Err(why)) => out.text(Role::NoticeError, why),
        Some(Ok(None)) => out.text(
            Role::Text,
            "This session has no summary: it was never compacted.",
        ),
        Some(Ok(Some(summary))) => {
            out.text(
                Role::TextMuted,
                &format!(
                    "version {}, stands for {} turns, written {} ago by {}",
                    summary.version,
                    summary.turns,
                    format::age(state.model.now.wall, summary.at),
                    summary.model
                ),
            );
            if !summary.taint.is_empty() {
                let text = format!("made from untrusted: {}", summary.taint.join(", "));
                out.text(Role::StateWaiting, &text);
            }
            out.gap();
            out.text(Role::OutsideModel, &summary.text);
        }
    }
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

/// Everything about a run.
pub fn run(state: &State, run: &HygieneRun, out: &mut Lines<'_>) {
    let now = state.model.now.wall;
    let took = run
        .duration_ms
        .map_or_else(String::new, |ms| format!(", took {}", format::duration(ms)));
    let age = format::age(now, run.at);
    let said = format!("{}, by {}, {age} ago{took}", run.state, run.by);
    out.field("state", Role::TextStrong, &said);
    out.field(
        "did",
        Role::Text,
        &format!(
            "{} archived, {} removed for good, {} came back, {} given back",
            run.report.archived,
            run.report.removed,
            run.restored,
            format::bytes(run.freed_bytes)
        ),
    );
    out.field("undo", Role::Text, &undo(state, run));
    if let Some(note) = &run.report.note {
        out.field("note", Role::NoticeWarning, note);
    }
    for one in &run.report.groups {
        out.field("", Role::Text, &group(one));
    }
    out.field("began", Role::TextMuted, &run.at.to_string());
    out.field("id", Role::TextMuted, &run.id.to_string());
}

/// Whether a run can be taken back, and for how long.
pub fn undo(state: &State, run: &HygieneRun) -> String {
    if can_undo(state, run) {
        return format!("{} left", ends(state.model.now.wall, run.undo_until));
    }
    if run.report.archived == 0 {
        "nothing to take back".to_owned()
    } else {
        "no more".to_owned()
    }
}

/// A run of a routine in words.
pub fn routine_result(state: &State, run: &RoutineRun) -> (Role, String) {
    let age = format::age(state.model.now.wall, run.at);
    let detail = run
        .detail
        .as_deref()
        .map_or_else(String::new, |text| format!(": {text}"));
    match run.state {
        RoutineRunState::Skipped => (Role::StateIdle, format!("skipped {age} ago{detail}")),
        RoutineRunState::Failed => (Role::StateBad, format!("failed {age} ago{detail}")),
        RoutineRunState::Started => {
            let known = run
                .continuation_id
                .and_then(|id| state.model.world().continuations.get(&id))
                .map(|continuation| continuation.state);
            match known.or(run.continuation_state) {
                Some(state) => (Role::Text, format!("{state}, begun {age} ago{detail}")),
                None => (
                    Role::TextMuted,
                    format!("begun {age} ago, its turn was swept"),
                ),
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

/// Everything about a routine.
pub fn routine(state: &State, routine: &Routine, out: &mut Lines<'_>) {
    out.text(Role::Outside, &routine.prompt);
    out.gap();
    let zone = routine
        .time_zone
        .as_deref()
        .unwrap_or("zone of the machine");
    out.field(
        "schedule",
        Role::Text,
        &format!(
            "{} (`{}`, {zone})",
            schedule(&routine.schedule),
            routine.schedule
        ),
    );
    let when = match (routine.enabled, routine.begin_at.or(routine.due_at)) {
        (true, Some(at)) => format!("{} ({at})", next(state, routine)),
        (true, None) => "never by its schedule".to_owned(),
        (false, _) => "it is off: it runs only when somebody says so".to_owned(),
    };
    out.field("next", Role::Text, &when);
    match &routine.last_run {
        None => out.field("last run", Role::Text, "none yet"),
        Some(run) => {
            let (role, text) = routine_result(state, run);
            out.field("last run", role, &text);
        }
    }
    out.field(
        "goes to",
        Role::Outside,
        &format!("{} / {}", routine.channel, routine.conversation),
    );
    let gated = if routine.park {
        "wait for a person"
    } else {
        "are denied"
    };
    out.field(
        "may do",
        Role::Text,
        &format!(
            "at most what {} allows; gated calls {gated}",
            routine.autonomy_ceiling
        ),
    );
    out.field(
        "missed runs",
        Role::Text,
        &format!(
            "{}; up to {} s later at random",
            routine.missed, routine.jitter_seconds
        ),
    );
    let model = routine.model.as_deref().unwrap_or("that of the session");
    out.field("model", Role::Text, model);
    out.field(
        "changed",
        Role::TextMuted,
        &format!(
            "{} ago by {}",
            format::age(state.model.now.wall, routine.updated_at),
            routine.by
        ),
    );
    out.field("id", Role::TextMuted, &routine.id.to_string());
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
