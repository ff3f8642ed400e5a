//! What Memory asks, and what it takes from the answers.
//!
//! What it knows is in `memory`, what keys do is in `memory_keys`.

use crate::console::labels::problem_text;
use crate::protocol::event::{Event, EventBody};
use crate::protocol::ids::SessionId;
use crate::protocol::memory::Summary;
use crate::protocol::problem::Problem;
use crate::protocol::request::{
    Answer, GetContinuation, GetHygiene, GetMemory, GetMemoryStats, GetSessionSummary,
    ListHygieneRuns, ListMemories, ListRoutines, PreviewHygiene, Query, ReviewMemories,
    SearchMemories,
};
use crate::protocol::snapshot::PageRequest;
use crate::tui::state::app::State;
use crate::tui::state::memory::{MemoryPanel, Place, Reading, Row, View, Why, listed, reviewed};
use crate::tui::state::panel::{self, ListScreen, Panel};
use crate::tui::state::{memory_cells, memory_keys};

/// Of each kind that a person should look through.
pub const REVIEWED: u32 = 50;
/// Runs that are listed.
const RUNS: u32 = 50;

pub const PANEL: Panel = Panel {
    ask,
    answered,
    concerns,
    open: memory_keys::open,
    perform: memory_keys::perform,
    copied,
    session: |state| state.screens.memory.session(state.model.world()),
    continuation: |state| state.screens.memory.continuation(),
    channel,
    hints: memory_keys::hints,
    ..Panel::new(ListScreen {
        before_move: memory_keys::before_move,
        after_move: memory_keys::after_move,
        close: memory_keys::close,
        leave: memory_keys::leave,
        ..ListScreen::new(
            |state| state.screens.memory.list_mut(),
            memory_cells::columns,
            memory_cells::arrange,
        )
    })
};

fn ask(state: &State) -> Vec<Query> {
    let memory = &state.screens.memory;
    match memory.view {
        View::Facts => [
            Query::GetMemoryStats(GetMemoryStats {}),
            Query::ReviewMemories(ReviewMemories {
                limit: Some(REVIEWED),
            }),
            Query::GetHygiene(GetHygiene {}),
        ]
        .into_iter()
        .chain(memory.rows_query())
        .collect(),
        View::Hygiene => [
            Query::GetHygiene(GetHygiene {}),
            Query::PreviewHygiene(PreviewHygiene {}),
            Query::ListHygieneRuns(ListHygieneRuns {
                page: PageRequest {
                    limit: Some(RUNS),
                    cursor: None,
                },
            }),
        ]
        .into_iter()
        .chain(memory.text_queries())
        .collect(),
        View::Routines => std::iter::once(Query::ListRoutines(ListRoutines {}))
            .chain(memory.session_queries(state.model.world()))
            .collect(),
    }
}

fn answered(state: &mut State, query: &Query, result: Result<&Answer, &Problem>) {
    let memory = &mut state.screens.memory;
    let answer = match result {
        Ok(answer) => answer,
        Err(problem) => {
            match query {
                Query::GetMemory(GetMemory { id }) => {
                    memory.texts.insert(*id, None);
                }
                Query::GetContinuation(GetContinuation { id }) => {
                    memory.sessions.insert(*id, None);
                }
                Query::GetSessionSummary(GetSessionSummary { session_id }) => {
                    read(memory, *session_id, Err(problem_text(problem)));
                }
                _ => memory.problem = Some(problem_text(problem)),
            }
            return;
        }
    };
    match (query, answer) {
        (_, Answer::GetHygiene(status)) => {
            memory.problem = None;
            memory.status = Some(Box::new(status.clone()));
        }
        (_, Answer::PreviewHygiene(report)) => {
            if report.too_much.is_empty() {
                memory.too_much = false;
            }
            memory.texts.retain(|id, _| report.memories.contains(id));
            memory.preview = Some(report.clone());
            if !memory.text_queries().is_empty() {
                state.screens.in_flight.now();
            }
        }
        (_, Answer::ListHygieneRuns(page)) => memory.runs = Some(page.items.clone()),
        (_, Answer::ListRoutines(page)) => {
            memory.problem = None;
            memory.routines = Some(page.items.clone());
            if !state
                .screens
                .memory
                .session_queries(state.model.world())
                .is_empty()
            {
                state.screens.in_flight.now();
            }
        }
        (Query::GetContinuation(GetContinuation { id }), Answer::GetContinuation(continuation)) => {
            memory.sessions.insert(*id, Some(continuation.session_id));
        }
        (_, Answer::GetMemoryStats(stats)) => memory.stats = Some(stats.clone()),
        (_, Answer::ReviewMemories(review)) => {
            if memory.place == Place::Review && memory.search.is_none() {
                memory.replace(reviewed(review), None);
            }
            memory.review = Some(review.clone());
        }
        // Another scope or search may have been chosen since it was asked.
        (
            Query::ListMemories(ListMemories {
                filter,
                page: asked,
            }),
            Answer::ListMemories(page),
        ) => {
            if *filter != memory.filter()
                || memory.search.is_some()
                || memory.place == Place::Review
            {
                return;
            }
            if asked.cursor.is_some() {
                memory.append(page.clone());
            } else {
                let rows = page.items.iter().cloned().map(listed).collect();
                memory.replace(rows, page.next_cursor.clone());
            }
        }
        (
            Query::SearchMemories(SearchMemories { text, filter, .. }),
            Answer::SearchMemories(found),
        ) if *filter == memory.filter() && memory.search.as_ref() == Some(text) => {
            memory.words_only.clone_from(&found.words_only);
            let hits = found.items.iter().map(|hit| Row {
                memory: hit.memory.clone(),
                why: Why::Found(hit.found_by),
            });
            memory.replace(hits.collect(), None);
        }
        (Query::GetMemory(GetMemory { id }), Answer::GetMemory(one)) => {
            memory.texts.insert(*id, Some(one.clone()));
        }
        (
            Query::GetSessionSummary(GetSessionSummary { session_id }),
            Answer::GetSessionSummary(summary),
        ) => {
            read(memory, *session_id, Ok(summary.clone()));
        }
        _ => {}
    }
}

fn read(memory: &mut MemoryPanel, session: SessionId, summary: Result<Option<Summary>, String>) {
    if let Some(reading) = &mut memory.reading
        && reading.session_id == session
    {
        reading.summary = Some(summary);
    }
}

fn concerns(event: &Event) -> bool {
    matches!(
        event.body,
        EventBody::MemoryChanged { .. }
            | EventBody::HygieneFinished { .. }
            | EventBody::RoutineChanged { .. }
    )
}

fn copied(state: &State, all: bool) -> Option<String> {
    let memory = &state.screens.memory;
    if let Some(Reading {
        summary: Some(Ok(Some(summary))),
        ..
    }) = &memory.reading
    {
        return Some(if all {
            summary.text.clone()
        } else {
            summary.session_id.to_string()
        });
    }
    if let Some(one) = memory.memory() {
        return panel::copied(one.id, Some(one), all);
    }
    if let Some(run) = memory.hygiene_run() {
        return panel::copied(run.id, Some(run), all);
    }
    let routine = memory.routine()?;
    panel::copied(routine.id, Some(routine), all)
}

fn channel(state: &State) -> Option<String> {
    match state.screens.memory.routine() {
        Some(routine) => Some(routine.channel.clone()),
        None => state.screens.memory.memory()?.channel.clone(),
    }
}
