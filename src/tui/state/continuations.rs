//! Continuations: what runs, waits, was interrupted or has ended.
//!
//! Rows are held by id. While one is selected every row keeps its place, whatever becomes of it, and what is new
//! stands at the end; without a selection the list is in order.

use std::collections::{BTreeMap, BTreeSet};

use crate::protocol::approval::Approval;
use crate::protocol::enums::{ContinuationState, ToolCallState};
use crate::protocol::ids::{ApprovalId, ContinuationId};
use crate::protocol::request::{ListContinuations, Query};
use crate::protocol::session::{Continuation, Step as LogStep, ToolCall};
use crate::protocol::snapshot::{Page, PageRequest};
use crate::tui::state::list::ListDetail;

/// Turns of one page of the newest.
pub const PAGE: u32 = 50;

/// Where a row is listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// A worker is on it.
    Running,
    /// It waits for a person, or for its turn.
    Parked,
    /// It can be resumed.
    Interrupted,
    /// It has ended.
    Recent,
    /// It came while a row was selected.
    Arrived,
}

impl Group {
    /// All that rows are sorted into.
    const SORTED: [Group; 4] = [
        Group::Running,
        Group::Parked,
        Group::Interrupted,
        Group::Recent,
    ];

    pub const fn of(state: ContinuationState) -> Self {
        match state {
            ContinuationState::Running | ContinuationState::Streaming => Self::Running,
            ContinuationState::AwaitingApproval | ContinuationState::Pending => Self::Parked,
            ContinuationState::Interrupted => Self::Interrupted,
            ContinuationState::Completed
            | ContinuationState::Failed
            | ContinuationState::Cancelled
            | ContinuationState::Expired => Self::Recent,
        }
    }

    pub const fn title(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Parked => "parked: waits for you, or for its turn",
            Self::Interrupted => "interrupted: can be resumed",
            Self::Recent => "recent",
            Self::Arrived => "new since you selected",
        }
    }
}

/// The state of a turn in the word that is shown.
pub const fn word(state: ContinuationState) -> &'static str {
    match state {
        ContinuationState::Pending => "queued",
        ContinuationState::AwaitingApproval => "waiting on you",
        ContinuationState::Running
        | ContinuationState::Streaming
        | ContinuationState::Interrupted
        | ContinuationState::Completed
        | ContinuationState::Failed
        | ContinuationState::Cancelled
        | ContinuationState::Expired => state.as_str(),
    }
}

/// Calls of a turn whose effect may have happened, and nobody knows.
pub fn uncertain(turn: &Continuation) -> impl Iterator<Item = &ToolCall> {
    let runs = Group::of(turn.state) == Group::Running;
    turn.tool_calls.iter().filter(move |call| {
        call.state == ToolCallState::Indeterminate
            || (call.state == ToolCallState::Started && !runs)
    })
}

/// Calls of a turn that run now.
pub fn in_flight(turn: &Continuation) -> impl Iterator<Item = &ToolCall> {
    let runs = Group::of(turn.state) == Group::Running;
    turn.tool_calls
        .iter()
        .filter(move |call| runs && call.state == ToolCallState::Started)
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct ContinuationsPanel {
    /// Turns by id.
    pub known: BTreeMap<ContinuationId, Continuation>,
    pub list: ListDetail<ContinuationId>,
    /// Where each is listed.
    groups: BTreeMap<ContinuationId, Group>,
    /// The log of the turn that was selected last.
    pub steps: Option<(ContinuationId, Result<Vec<LogStep>, String>)>,
    /// Approvals that the snapshot did not hold.
    pub approvals: BTreeMap<ApprovalId, Approval>,
    /// Where the next page of older turns begins.
    pub next: Option<String>,
    /// Why the list could not be read.
    pub problem: Option<String>,
    /// Whether it was ever read.
    pub answered: bool,
    /// Listed as open, and not among the open ones any more.
    pub(super) recheck: BTreeSet<ContinuationId>,
}

impl ContinuationsPanel {
    /// The state that the filter names, when it names one: then older turns are asked for by it.
    pub(super) fn wanted_state(&self) -> Option<ContinuationState> {
        let mut words = self.list.filter.split_whitespace();
        words.find_map(|text| {
            let all = ContinuationState::ALL.iter();
            all.copied()
                .find(|state| state.as_str() == text || word(*state) == text)
        })
    }

    /// The whole list in order.
    pub(super) fn sorted(&self) -> Vec<(Group, ContinuationId)> {
        let mut turns: Vec<&Continuation> = self.known.values().collect();
        turns.sort_unstable_by_key(|turn| (turn.created_at, turn.id));
        let mut order = Vec::with_capacity(turns.len());
        for group in Group::SORTED {
            let rows = turns.iter().filter(|turn| Group::of(turn.state) == group);
            // The oldest that is open comes first, and the newest that ended.
            if group == Group::Recent {
                order.extend(rows.rev().map(|turn| (group, turn.id)));
            } else {
                order.extend(rows.map(|turn| (group, turn.id)));
            }
        }
        order
    }

    /// Notes where each turn is listed. While one is selected, a turn that came is listed at the end.
    pub(super) fn regroup(&mut self, sorted: Vec<(Group, ContinuationId)>, afresh: bool) {
        if afresh || self.turn().is_none() {
            self.groups = sorted.into_iter().map(|(group, id)| (id, group)).collect();
            return;
        }
        let known = &self.known;
        let recent = self.groups.iter().filter(|(_, at)| **at == Group::Recent);
        let recent = recent.filter_map(|(id, _)| known.get(id));
        let oldest = recent.map(|turn| turn.created_at).min();
        for (group, id) in sorted {
            let turn = known.get(&id);
            let older = turn.is_some_and(|turn| oldest.is_none_or(|at| turn.created_at <= at));
            let group = if group == Group::Recent && older {
                group
            } else {
                Group::Arrived
            };
            self.groups.entry(id).or_insert(group);
        }
    }

    /// Rows in display order, each where it is listed. A list that is sorted by a column has no groups.
    pub fn rows(&self) -> Vec<(Option<Group>, ContinuationId)> {
        let sorted = self.list.sort.is_some();
        let group = |id| self.groups.get(id).copied().filter(|_| !sorted);
        let rows = self.list.order.iter();
        rows.map(|id| (group(id), *id)).collect()
    }

    pub fn turn(&self) -> Option<&Continuation> {
        self.known.get(&self.list.selected?)
    }

    /// The query for the newest turns, or for those after a cursor.
    pub(super) fn recent(&self, cursor: Option<String>) -> Query {
        Query::ListContinuations(ListContinuations {
            state: self.wanted_state(),
            session_id: None,
            page: PageRequest {
                limit: Some(PAGE),
                cursor,
            },
        })
    }

    /// A page of the newest turns, or of older ones.
    pub(super) fn take_recent(&mut self, cursor: Option<&str>, page: &Page<Continuation>) {
        if cursor.is_none() {
            let meets = page.items.iter().any(|turn| {
                let known = self.known.get(&turn.id);
                known.is_some_and(|known| known.state.is_terminal())
            });
            if !meets {
                // What lies between is not known: the list of the ended begins again with this page.
                let selected = self.list.selected;
                self.known
                    .retain(|id, turn| !turn.state.is_terminal() || selected == Some(*id));
                self.next.clone_from(&page.next_cursor);
            }
            self.answered = true;
            self.problem = None;
        } else if self.next.as_deref() == cursor {
            self.next.clone_from(&page.next_cursor);
        }
        self.take(page);
    }

    fn take(&mut self, page: &Page<Continuation>) {
        for turn in &page.items {
            self.recheck.remove(&turn.id);
            self.known.insert(turn.id, turn.clone());
        }
    }

    /// All open turns of a state: who was listed with it and is not among them has gone on meanwhile.
    pub(super) fn take_open(&mut self, state: ContinuationState, page: &Page<Continuation>) {
        if page.next_cursor.is_none() {
            let here: BTreeSet<ContinuationId> = page.items.iter().map(|turn| turn.id).collect();
            let streaming = state == ContinuationState::Running;
            let left = self.known.values().filter(|turn| {
                let listed =
                    turn.state == state || streaming && turn.state == ContinuationState::Streaming;
                listed && !here.contains(&turn.id)
            });
            self.recheck.extend(left.map(|turn| turn.id));
        }
        self.take(page);
    }

    pub(super) fn forget(&mut self, id: ContinuationId) {
        self.known.remove(&id);
        self.recheck.remove(&id);
    }
}
