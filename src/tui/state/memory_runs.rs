//! What keys do to hygiene and routines on the Memory screen. What starts something is confirmed, with Cancel focused.

use crate::console::format;
use crate::protocol::request::{ChangeRoutine, RunHygiene, RunRoutine, UndoHygiene};
use crate::protocol::routine::RoutinePatch;
use crate::tui::action::Action;
use crate::tui::message::Effect;
use crate::tui::state::app::State;
use crate::tui::state::memory::View;
use crate::tui::state::memory_cells::{can_undo, few};
use crate::tui::state::opening::ask_first;
use crate::tui::state::submit;

/// Runs hygiene, or the selected routine.
pub fn run(state: &mut State) -> Vec<Effect> {
    match state.screens.memory.view {
        View::Facts => {
            state.warn("run: open hygiene (H) or routines (R), they show what would happen")
        }
        View::Hygiene => run_hygiene(state),
        View::Routines => {
            let Some(routine) = state.screens.memory.routine() else {
                return state.nothing(Action::MemoryRun);
            };
            let lines = vec![
                format!("{}: {}", routine.channel, few(&routine.prompt)),
                format!(
                    "A turn begins at once; without asking it does at most what {} allows.",
                    routine.autonomy_ceiling
                ),
            ];
            let title = format!("Run {} now?", routine.name);
            let routine = routine.id.to_string();
            ask_first(state, title, lines, "Run", RunRoutine { routine })
        }
    }
}

fn run_hygiene(state: &mut State) -> Vec<Effect> {
    let memory = &state.screens.memory;
    let Some(report) = &memory.preview else {
        return state.warn("run: the preview is not loaded yet");
    };
    if report.groups.is_empty() {
        return state.warn("run: nothing to archive or remove");
    }
    let mut lines = vec![format!(
        "{} memories are archived, {} removed for good.",
        report.archived, report.removed
    )];
    if let Some(status) = &memory.status {
        lines.push(format!(
            "An undo can restore archived memories for {} days.",
            status.undo_days
        ));
    }
    for excess in &report.too_much {
        lines.push(format!(
            "TOO MUCH: {} of {} of scope {} at once. Is the clock right?",
            excess.count, excess.of, excess.scope
        ));
    }
    let yes = memory.too_much;
    let (title, label) = if yes {
        ("Run it although it archives too much?", "Run anyway")
    } else {
        ("Run hygiene now?", "Run")
    };
    ask_first(state, title, lines, label, RunHygiene { yes })
}

/// Takes the selected run back, or the newest one that can be.
pub fn undo(state: &mut State) -> Vec<Effect> {
    let memory = &state.screens.memory;
    let newest = || {
        let mut runs = memory.runs.iter().flatten();
        runs.find(|run| can_undo(state, run))
    };
    let found = memory.hygiene_run().or_else(newest);
    let Some(run) = found.filter(|run| can_undo(state, run)) else {
        return state.warn("undo: no run can be undone (H shows the runs)");
    };
    let lines = vec![
        format!(
            "{} of {} ago",
            run.id,
            format::age(state.model.now.wall, run.at)
        ),
        format!(
            "{} memories are restored. The next run archives them again unless they are used, pinned or expire later.",
            run.report.archived
        ),
    ];
    let command = UndoHygiene { id: run.id };
    ask_first(state, "Undo this run?", lines, "Undo", command)
}

/// Lets the selected routine run by itself, or no longer. Only the first is asked about.
pub fn switch(state: &mut State) -> Vec<Effect> {
    let Some(routine) = state.screens.memory.routine() else {
        return state.nothing(Action::MemoryToggle);
    };
    let command = ChangeRoutine {
        routine: routine.id.to_string(),
        patch: RoutinePatch {
            enabled: Some(!routine.enabled),
            ..RoutinePatch::default()
        },
    };
    if routine.enabled {
        return submit::submit(state, command);
    }
    let lines = vec![
        format!("{}: {}", routine.schedule, few(&routine.prompt)),
        "It runs by itself from now on.".to_owned(),
    ];
    let title = format!("Let {} run by itself?", routine.name);
    ask_first(state, title, lines, "Enable", command)
}
