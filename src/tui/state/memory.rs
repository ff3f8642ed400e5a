//! Memory: what is remembered, and what goes; routines stand beside it.
//!
//! It has several lists; one of them has the keys. Nothing is drawn or asked by itself: `panels` asks, `view::memory`
//! draws, `memory_keys` does what keys mean.

use std::collections::{BTreeMap, BTreeSet};

use crate::clock::Timestamp;
use crate::console::world::World;
use crate::protocol::enums::{MemoryScope, MemoryState, SearchMethod};
use crate::protocol::hygiene::{HygieneReport, HygieneRun, HygieneStatus};
use crate::protocol::ids::{ContinuationId, HygieneRunId, MemoryId, RoutineId, SessionId};
use crate::protocol::memory::{
    Memory, MemoryFilter, MemoryReview, MemoryStats, MemoryTarget, Summary,
};
use crate::protocol::problem::{Problem, ProblemKind};
use crate::protocol::request::{
    Command, GetContinuation, GetMemory, ListMemories, Outcome, Query, SearchMemories,
};
use crate::protocol::routine::Routine;
use crate::protocol::snapshot::{Page, PageRequest};
use crate::tui::state::list::{List, ListDetail};

/// Rows of one page.
const PAGE: u32 = 100;
/// Most rows that are loaded again at once.
const MOST: usize = 500;
/// Texts of what would go that are asked for at once.
const TEXTS: usize = 40;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum View {
    /// Scopes and what they hold.
    #[default]
    Facts,
    /// What would go, and what went.
    Hygiene,
    /// What the bot tells itself on a schedule.
    Routines,
}

/// A line of the left pane.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// What a person should look through.
    Review,
    /// Everything but what was archived.
    #[default]
    All,
    /// All sessions.
    Session,
    Channel(String),
    /// Recalled everywhere.
    Global,
    /// Archived by hygiene.
    Archived,
}

/// Why a row is among those to look through. The number is that of its group.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Why {
    /// It is in a list of a scope.
    #[default]
    Listed,
    /// It waits for a person.
    Proposed,
    /// Others of the group say the same.
    Same(usize),
    /// Others of the group seem to say something else.
    Differs(usize),
    /// Nobody needed it.
    NeverUsed,
    Found(SearchMethod),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    pub memory: Memory,
    /// Why it is here.
    pub why: Why,
}

#[derive(Debug, Clone, PartialEq)]
pub enum MemoryText {
    Search,
    /// What is to be remembered there.
    Add(MemoryTarget),
    /// The new text of one, and its last change when the field opened.
    Edit(MemoryId, Timestamp),
}

/// The summary of a session that is read.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    pub session_id: SessionId,
    /// Its summary, that there is none, or why it is not known; none = asked.
    pub summary: Option<Result<Option<Summary>, String>>,
}

/// A row of one of the lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Key {
    Scope(Place),
    Fact(MemoryId),
    /// What hygiene would take.
    Going(MemoryId),
    Run(HygieneRunId),
    Routine(RoutineId),
}

/// The lists of the screen.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MemoryLists {
    /// The scopes. One is selected while this list has the keys.
    pub scopes: ListDetail<Place>,
    /// What is remembered in the chosen scope.
    pub facts: ListDetail<MemoryId>,
    /// What hygiene would take now.
    pub going: ListDetail<MemoryId>,
    /// Runs of hygiene, newest first.
    pub runs: ListDetail<HygieneRunId>,
    /// Routines by name.
    pub routines: ListDetail<RoutineId>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct MemoryPanel {
    pub view: View,
    /// Whether the second pane has the keys: the scopes, or the runs.
    pub second: bool,
    pub lists: MemoryLists,
    pub place: Place,
    pub stats: Option<MemoryStats>,
    /// What a person should look through.
    pub review: Option<MemoryReview>,
    /// Rows of the chosen scope; none = not answered.
    pub rows: Option<Vec<Row>>,
    /// Goes on behind the last row.
    pub cursor: Option<String>,
    pub search: Option<String>,
    /// Why only words were looked for although embeddings are configured.
    pub words_only: Option<String>,
    pub marked: BTreeSet<MemoryId>,
    pub reading: Option<Reading>,
    /// Settings, last and next run, growth.
    pub status: Option<Box<HygieneStatus>>,
    /// What would go now.
    pub preview: Option<HygieneReport>,
    /// Texts of what would go; none = not to be had.
    pub texts: BTreeMap<MemoryId, Option<Memory>>,
    /// Runs, newest first.
    pub runs: Option<Vec<HygieneRun>>,
    /// What the last order to run came to, or why it was refused.
    pub ran: Option<Result<Box<HygieneRun>, String>>,
    /// The engine refused to run because too much would go.
    pub too_much: bool,
    /// Routines by name.
    pub routines: Option<Vec<Routine>>,
    /// Sessions of last runs; none = not to be had.
    pub sessions: BTreeMap<ContinuationId, Option<SessionId>>,
    /// Why a question was not answered.
    pub problem: Option<String>,
}

impl MemoryPanel {
    /// The list that has the keys.
    pub fn list(&self) -> &dyn List {
        match (self.view, self.second) {
            (View::Facts, true) => &self.lists.scopes,
            (View::Facts, false) => &self.lists.facts,
            (View::Hygiene, false) => &self.lists.going,
            (View::Hygiene, true) => &self.lists.runs,
            (View::Routines, _) => &self.lists.routines,
        }
    }

    /// The same, to move in it.
    pub fn list_mut(&mut self) -> &mut dyn List {
        match (self.view, self.second) {
            (View::Facts, true) => &mut self.lists.scopes,
            (View::Facts, false) => &mut self.lists.facts,
            (View::Hygiene, false) => &mut self.lists.going,
            (View::Hygiene, true) => &mut self.lists.runs,
            (View::Routines, _) => &mut self.lists.routines,
        }
    }

    /// Gives the keys to the first or the second pane.
    pub fn turn(&mut self, second: bool) {
        self.reading = None;
        self.second = second && self.view != View::Routines;
        let scopes = self.second && self.view == View::Facts;
        self.lists.scopes.select(scopes.then(|| self.place.clone()));
    }

    /// Nothing is selected when the screen opens.
    pub fn unselect(&mut self) {
        self.marked.clear();
        self.reading = None;
        self.lists.facts.select(None);
        self.lists.going.select(None);
        self.lists.runs.select(None);
        self.lists.routines.select(None);
    }

    /// The row of something remembered.
    pub fn row(&self, id: MemoryId) -> Option<&Row> {
        let mut rows = self.rows.iter().flatten();
        rows.find(|row| row.memory.id == id)
    }

    /// How many wait to be looked through.
    pub fn to_review(&self) -> usize {
        self.review
            .as_ref()
            .map_or(0, |review| reviewed(review).len())
    }

    /// The remembered thing that is selected.
    pub fn memory(&self) -> Option<&Memory> {
        match self.view {
            View::Facts => Some(&self.row(self.lists.facts.selected?)?.memory),
            View::Hygiene if !self.second => self.texts.get(&self.lists.going.selected?)?.as_ref(),
            View::Hygiene | View::Routines => None,
        }
    }

    pub fn run(&self, id: HygieneRunId) -> Option<&HygieneRun> {
        self.runs.iter().flatten().find(|run| run.id == id)
    }

    pub fn hygiene_run(&self) -> Option<&HygieneRun> {
        let runs = self.view == View::Hygiene && self.second;
        self.run(self.lists.runs.selected.filter(|_| runs)?)
    }

    pub fn routine_of(&self, id: RoutineId) -> Option<&Routine> {
        self.routines.iter().flatten().find(|one| one.id == id)
    }

    pub fn routine(&self) -> Option<&Routine> {
        let shown = self.view == View::Routines;
        self.routine_of(self.lists.routines.selected.filter(|_| shown)?)
    }

    /// How many a scope holds, and the bytes of their texts.
    pub fn held(&self, place: &Place) -> (u64, u64) {
        let groups = self.stats.iter().flat_map(|stats| &stats.groups);
        groups
            .filter(|group| {
                (group.state == MemoryState::Archived) == (*place == Place::Archived)
                    && match place {
                        Place::Review => false,
                        Place::All | Place::Archived => true,
                        Place::Session => group.scope == MemoryScope::Session,
                        Place::Global => group.scope == MemoryScope::Global,
                        Place::Channel(name) => {
                            group.scope == MemoryScope::Channel
                                && group.channel.as_ref() == Some(name)
                        }
                    }
            })
            .fold((0, 0), |(count, bytes), group| {
                (count + group.count, bytes + group.bytes)
            })
    }

    /// What the list of a scope is asked with.
    pub fn filter(&self) -> MemoryFilter {
        let mut filter = MemoryFilter::default();
        match &self.place {
            Place::Review | Place::All => {}
            Place::Session => filter.scope = Some(MemoryScope::Session),
            Place::Channel(name) => {
                filter.scope = Some(MemoryScope::Channel);
                filter.channel = Some(name.clone());
            }
            Place::Global => filter.scope = Some(MemoryScope::Global),
            Place::Archived => filter.state = Some(MemoryState::Archived),
        }
        filter
    }

    /// The scopes, in the order of the left pane.
    pub fn places(&self, world: &World) -> Vec<Place> {
        let mut channels: BTreeSet<&String> = world.channels.keys().collect();
        let groups = self.stats.iter().flat_map(|stats| &stats.groups);
        channels.extend(
            groups
                .filter(|group| group.scope == MemoryScope::Channel)
                .filter_map(|group| group.channel.as_ref()),
        );
        let mut places = Vec::new();
        if self.to_review() > 0 || self.place == Place::Review {
            places.push(Place::Review);
        }
        places.extend([Place::All, Place::Session]);
        places.extend(
            channels
                .into_iter()
                .map(|name| Place::Channel(name.clone())),
        );
        places.extend([Place::Global, Place::Archived]);
        places
    }

    /// The session of what is selected.
    pub(super) fn session(&self, world: &World) -> Option<SessionId> {
        if let Some(run) = self.continuation().filter(|_| self.view == View::Routines) {
            let known = world.continuations.get(&run).map(|c| c.session_id);
            return known.or_else(|| self.sessions.get(&run).copied().flatten());
        }
        self.memory()?.session_id
    }

    /// The continuation of what is selected.
    pub(super) fn continuation(&self) -> Option<ContinuationId> {
        match self.routine() {
            Some(routine) => routine.last_run.as_ref()?.continuation_id,
            None => self.memory()?.source,
        }
    }

    /// The question for the rows; none = they come with what is to be looked through.
    pub(super) fn rows_query(&self) -> Option<Query> {
        let loaded = self.rows.as_ref().map_or(0, Vec::len).min(MOST);
        let limit = Some(u32::try_from(loaded).unwrap_or(PAGE).max(PAGE));
        match (&self.search, &self.place) {
            (Some(text), _) => Some(Query::SearchMemories(SearchMemories {
                text: text.clone(),
                filter: self.filter(),
                limit: Some(PAGE),
            })),
            (None, Place::Review) => None,
            (None, _) => Some(Query::ListMemories(ListMemories {
                filter: self.filter(),
                page: PageRequest {
                    limit,
                    cursor: None,
                },
            })),
        }
    }

    /// The question for the rows behind the last one; none = there are no more.
    pub fn more_query(&self) -> Option<Query> {
        Some(Query::ListMemories(ListMemories {
            filter: self.filter(),
            page: PageRequest {
                limit: Some(PAGE),
                cursor: Some(self.cursor.clone()?),
            },
        }))
    }

    /// Questions for texts of what would go, from the selected one on.
    pub fn text_queries(&self) -> Vec<Query> {
        let ids = self
            .preview
            .as_ref()
            .map_or(&[][..], |report| &report.memories);
        let going = self.lists.going.selected;
        let from = going
            .and_then(|going| ids.iter().position(|id| *id == going))
            .unwrap_or(0);
        ids.iter()
            .skip(from)
            .take(TEXTS)
            .filter(|id| !self.texts.contains_key(id))
            .map(|id| Query::GetMemory(GetMemory { id: *id }))
            .collect()
    }

    /// Questions for the sessions of last runs.
    pub(super) fn session_queries(&self, world: &World) -> Vec<Query> {
        let runs = self.routines.iter().flatten();
        runs.filter_map(|routine| routine.last_run.as_ref())
            .filter(|run| run.continuation_state.is_some())
            .filter_map(|run| run.continuation_id)
            .filter(|id| !self.sessions.contains_key(id) && !world.continuations.contains_key(id))
            .take(TEXTS)
            .map(|id| Query::GetContinuation(GetContinuation { id }))
            .collect()
    }

    /// Takes rows that were loaded again. What can only be on a later page stays.
    pub(super) fn replace(&mut self, mut rows: Vec<Row>, cursor: Option<String>) {
        let old = self.rows.take().unwrap_or_default();
        let mut ids: BTreeSet<MemoryId> = rows.iter().map(|row| row.memory.id).collect();
        let last = rows.last().filter(|_| cursor.is_some());
        let last = last.map(|row| row.memory.updated_at);
        let later = old.into_iter().filter(|row| {
            last.is_some_and(|last| row.memory.updated_at <= last) && ids.insert(row.memory.id)
        });
        let loaded = rows.len();
        rows.extend(later.collect::<Vec<_>>());
        if rows.len() == loaded {
            self.cursor = cursor;
        }
        self.rows = Some(rows);
        self.marked.retain(|id| ids.contains(id));
    }

    pub(super) fn append(&mut self, page: Page<Memory>) {
        let rows = self.rows.get_or_insert_default();
        let known: BTreeSet<MemoryId> = rows.iter().map(|row| row.memory.id).collect();
        let new = page.items.into_iter().filter(|m| !known.contains(&m.id));
        rows.extend(new.map(listed));
        self.cursor = page.next_cursor;
    }
}

pub(super) fn listed(memory: Memory) -> Row {
    Row {
        memory,
        why: Why::Listed,
    }
}

/// What a person should look through, each once: what waits, what differs, what is said twice, what nobody needed.
pub(super) fn reviewed(review: &MemoryReview) -> Vec<Row> {
    let mut seen = BTreeSet::new();
    let mut rows = Vec::new();
    let mut take = |memory: &Memory, why: Why| {
        if seen.insert(memory.id) {
            rows.push(Row {
                memory: memory.clone(),
                why,
            });
        }
    };
    for memory in &review.proposed {
        take(memory, Why::Proposed);
    }
    for (at, group) in review.contradictions.iter().enumerate() {
        for memory in group {
            take(memory, Why::Differs(at + 1));
        }
    }
    for (at, group) in review.duplicates.iter().enumerate() {
        for memory in group {
            take(memory, Why::Same(at + 1));
        }
    }
    for memory in &review.never_used {
        take(memory, Why::NeverUsed);
    }
    rows
}

/// A command ended: what it says to this screen.
pub fn submitted(
    memory: &mut MemoryPanel,
    command: &Command,
    result: &Result<Box<Outcome>, Box<Problem>>,
) {
    if let Command::RunHygiene(_) = command {
        memory.too_much = result.as_ref().is_err_and(|problem| {
            problem.kind == ProblemKind::Conflict && problem.title == "too much would go"
        });
        memory.ran = match result {
            Ok(outcome) => match outcome.as_ref() {
                Outcome::RunHygiene(run) => Some(Ok(Box::new(run.clone()))),
                _ => None,
            },
            Err(problem) => Some(Err(format!("{}: {}", problem.title, problem.detail))),
        };
    }
}
