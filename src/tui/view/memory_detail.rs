//! The detail beside the lists of Memory: everything about what is selected there.

use ratatui::text::Line;

use crate::console::format;
use crate::protocol::enums::{MemoryState, RoutineRunState, SearchMethod};
use crate::protocol::hygiene::{HygieneRun, HygieneStatus};
use crate::protocol::memory::Memory;
use crate::protocol::routine::{Routine, RoutineRun};
use crate::text::bars::bars;
use crate::tui::sanitize;
use crate::tui::state::app::State;
use crate::tui::state::memory::{Reading, Row, Why};
use crate::tui::state::memory_cells::{
    ends, found_by, group, memory_state, next, result, schedule, undo,
};
use crate::tui::state::memory_keys::place_words;
use crate::tui::theme::roles::{Role, Theme};
use crate::tui::view::card_body::Body;

/// The heading of the detail; none = nothing is selected.
pub fn title(state: &State) -> Option<String> {
    let memory = &state.screens.memory;
    if let Some(reading) = &memory.reading {
        return Some(format!("Summary of {}", reading.session_id));
    }
    if memory.memory().is_some() {
        return Some("Remembered".to_owned());
    }
    if memory.hygiene_run().is_some() {
        return Some("Hygiene run".to_owned());
    }
    memory.routine().map(|routine| routine.name.clone())
}

pub fn lines(state: &State, theme: &Theme, columns: usize) -> Vec<Line<'static>> {
    let memory = &state.screens.memory;
    let mut out = Body::new(theme, columns);
    if let Some(reading) = &memory.reading {
        summary(state, reading, &mut out);
    } else if let Some(one) = memory.memory() {
        remembered(state, one, &mut out);
    } else if let Some(one) = memory.hygiene_run() {
        run(state, one, &mut out);
    } else if let Some(one) = memory.routine() {
        routine(state, one, &mut out);
    }
    out.lines
}

/// The role of a row's state.
pub const fn state_role(row: &Row) -> Role {
    match row.why {
        Why::Same(_) | Why::Differs(_) => Role::StateWaiting,
        Why::NeverUsed => Role::StateIdle,
        Why::Listed | Why::Proposed | Why::Found(_) => memory_role(row.memory.state),
    }
}

const fn memory_role(state: MemoryState) -> Role {
    match state {
        MemoryState::Proposed => Role::StateWaiting,
        MemoryState::Active => Role::StateGood,
        MemoryState::Superseded | MemoryState::Archived => Role::StateIdle,
    }
}

/// The role of what a run of a routine came to.
pub const fn result_role(run: Option<&RoutineRun>) -> Role {
    match run {
        None => Role::TextMuted,
        Some(run) => match run.state {
            RoutineRunState::Skipped => Role::StateIdle,
            RoutineRunState::Failed => Role::StateBad,
            RoutineRunState::Started => Role::Text,
        },
    }
}

/// Everything about one.
fn remembered(state: &State, memory: &Memory, out: &mut Body<'_>) {
    let now = state.model.now.wall;
    out.text(Role::Outside, &memory.text);
    out.blank();
    let row = state.screens.memory.row(memory.id);
    let word = memory_state(memory);
    let word = match (&memory.archived_by, memory.pinned) {
        (Some(run), _) => format!("{word} by {run}"),
        (None, true) => format!("{word}: in every context of its scope"),
        (None, false) => word.to_owned(),
    };
    out.field("state", memory_role(memory.state), &word);
    if let Some(by) = row.and_then(found_by) {
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

fn summary(state: &State, reading: &Reading, out: &mut Body<'_>) {
    let Some(summary) = out.known(reading.summary.as_ref(), "asking …") else {
        return;
    };
    let Some(summary) = summary else {
        let text = "This session has no summary: it was never compacted.";
        return out.text(Role::Text, text);
    };
    let text = format!(
        "version {}, stands for {} turns, written {} ago by {}",
        summary.version,
        summary.turns,
        format::age(state.model.now.wall, summary.at),
        summary.model
    );
    out.text(Role::TextMuted, &text);
    if !summary.taint.is_empty() {
        let text = format!("made from untrusted: {}", summary.taint.join(", "));
        out.text(Role::StateWaiting, &text);
    }
    out.blank();
    out.text(Role::OutsideModel, &summary.text);
}

fn run(state: &State, run: &HygieneRun, out: &mut Body<'_>) {
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
            "{} archived, {} removed for good, {} restored, {} freed",
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

fn routine(state: &State, routine: &Routine, out: &mut Body<'_>) {
    out.text(Role::Outside, &routine.prompt);
    out.blank();
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
        (false, _) => "off: it runs only when a person starts it".to_owned(),
    };
    out.field("next", Role::Text, &when);
    match &routine.last_run {
        None => out.field("last run", Role::Text, "none yet"),
        Some(run) => {
            let role = result_role(Some(run));
            out.field("last run", role, &result(state, run));
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

/// Growth, retention, runs: what stands below the scopes.
pub fn about(state: &State, width: usize) -> Vec<(Role, String)> {
    let mut out = Vec::new();
    let mut say = |role: Role, text: &str| out.push((role, sanitize::line(text, width)));
    let Some(status) = &state.screens.memory.status else {
        return out;
    };
    if let Some(problem) = &status.problem {
        say(Role::NoticeError, problem);
    }
    let days: Vec<u64> = status.growth.iter().map(|day| day.memories).collect();
    if days.len() > 1 {
        let seen = days.len().min(width);
        let most = days.iter().rev().take(seen).max().copied().unwrap_or(0);
        say(Role::StateRunning, &bars(&days, width));
        say(
            Role::TextMuted,
            &format!("{seen} days, at most {}", format::count(most)),
        );
    } else {
        say(Role::TextMuted, "growth: from the second day on");
    }
    let (last, next) = runs(state, status);
    say(Role::Text, &last);
    say(Role::Text, &next);
    for (scope, days) in &status.retention_days {
        let lifetime = match days {
            0 => format!("{scope} never archived"),
            days => format!("{scope} archived at {days}d"),
        };
        say(Role::TextMuted, &lifetime);
    }
    say(
        Role::TextMuted,
        &format!("at most {} a scope", format::count(status.max_memories)),
    );
    if let Some(stats) = &state.screens.memory.stats {
        let meaning = match &stats.embeddings {
            Some(model) => format!("by meaning: {model}"),
            None => "search by words only".to_owned(),
        };
        say(Role::TextMuted, &meaning);
        let text = format!("{} summaries, {} turns", stats.summaries, stats.covered);
        say(Role::TextMuted, &text);
    }
    out
}

fn runs(state: &State, status: &HygieneStatus) -> (String, String) {
    let now = state.model.now.wall;
    let last = match &status.last {
        None => "last run: none yet".to_owned(),
        Some(run) => format!("last run: {} {} ago", run.state, format::age(now, run.at)),
    };
    let next = match (status.running, status.next_at) {
        (true, _) => "next run: one is under way".to_owned(),
        (false, Some(at)) if at <= now => "next run: due".to_owned(),
        (false, Some(at)) => format!("next run: in {}", ends(now, at)),
        (false, None) => "next run: none due".to_owned(),
    };
    (last, next)
}
