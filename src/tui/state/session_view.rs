//! One session's transcript: a window of entries from the store, held by position.
//!
//! The whole transcript is never loaded. What is shown is anchored to an entry, so that nothing that
//! arrives moves what is being read.

use std::collections::{BTreeMap, BTreeSet};

use crate::protocol::ids::{ContinuationId, SessionId, ToolCallId};
use crate::protocol::session::{StepBody, TranscriptBody, TranscriptEntry};
use crate::protocol::snapshot::Query;

/// Entries asked for at once.
pub const PAGE: u32 = 100;
/// Entries kept; beyond it the oldest are dropped while following.
const KEPT: usize = 600;
/// Entries read back at most to find a turn.
const SEARCHED: usize = 5_000;
/// Position of what is being streamed, after every stored entry.
pub const STREAM_POSITION: u64 = u64::MAX;

/// The top line on screen: an entry and a line of it. The view brings a line outside the entry back
/// into range and reports what it showed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Anchor {
    /// Entry.
    pub position: u64,
    /// Line of it; negative = before it.
    pub line: i64,
}

/// What a drawn frame showed of the transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionReport {
    /// Top line, in range.
    pub anchor: Anchor,
    /// Rows of the window.
    pub height: u16,
    /// Whether the oldest loaded entry is near.
    pub near_start: bool,
    /// Whether the selected entry goes on above the window.
    pub selected_above: bool,
    /// Whether the selected entry goes on below the window.
    pub selected_below: bool,
}

/// An entry and how often it changed.
#[derive(Debug, Clone, PartialEq)]
pub struct Held {
    /// The entry.
    pub entry: TranscriptEntry,
    /// Rises when the entry at this position changes; part of the key of the view's cache.
    pub version: u64,
}

/// A search.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Search {
    /// What is searched for, in small letters.
    pub query: String,
    /// Positions of entries that match, ascending.
    pub matches: Vec<u64>,
}

/// State of the Session screen.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SessionView {
    /// Which session.
    pub session_id: Option<SessionId>,
    /// The window.
    pub entries: BTreeMap<u64, Held>,
    /// Whether the window begins with the session's first entry.
    pub at_start: bool,
    /// Whether newer entries may exist than are loaded.
    pub stale: bool,
    /// Whether a query for the newest entries is under way.
    pub loading: bool,
    /// Whether a query for older entries is under way.
    pub loading_older: bool,
    /// Top line; none = follow the newest.
    pub anchor: Option<Anchor>,
    /// Selected entry.
    pub selected: Option<u64>,
    /// The view should bring the selected entry into the window.
    pub reveal_selected: bool,
    /// Entries folded or unfolded against the default.
    pub toggled: BTreeSet<u64>,
    /// The default of tool cards.
    pub unfold_all: bool,
    /// The search.
    pub search: Option<Search>,
    /// What the last frame showed.
    pub report: Option<SessionReport>,
    /// The turn to go to once its entries are loaded; until then older ones are asked for.
    pub wanted: Option<ContinuationId>,
    versions: u64,
}

impl SessionView {
    /// Opens a session.
    pub fn open(session_id: SessionId) -> Self {
        Self {
            session_id: Some(session_id),
            stale: true,
            ..Self::default()
        }
    }

    /// The query that brings the window up to date, when one is needed and none is under way.
    pub fn refresh(&mut self) -> Option<Query> {
        let session_id = self.session_id?;
        if !self.stale || self.loading {
            return None;
        }
        self.stale = false;
        self.loading = true;
        Some(Query::Transcript {
            session_id,
            before: None,
            limit: Some(PAGE),
        })
    }

    /// The query for older entries, when there are any and none is under way.
    pub fn older(&mut self) -> Option<Query> {
        let session_id = self.session_id?;
        let before = *self.entries.keys().next()?;
        if self.at_start || self.loading_older {
            return None;
        }
        self.loading_older = true;
        Some(Query::Transcript {
            session_id,
            before: Some(before),
            limit: Some(PAGE),
        })
    }

    /// Takes the answer to one of the two queries.
    pub fn take(&mut self, before: Option<u64>, entries: Vec<TranscriptEntry>) {
        let full = entries.len() >= PAGE as usize;
        if before.is_some() {
            self.loading_older = false;
            self.at_start |= !full;
        } else {
            self.loading = false;
            let first_known = self.entries.keys().next().copied();
            let last_known = self.entries.keys().next_back().copied();
            let first_new = entries.first().map(|e| e.position);
            // More arrived than one page holds: what lies between is not known, so start again there.
            if full && last_known.is_some() && first_new > last_known {
                self.entries.clear();
                self.anchor = None;
                self.at_start = false;
            } else if !full && (first_known.is_none() || first_new <= first_known) {
                self.at_start = true;
            }
        }
        // A page is all there is between its ends: a state line goes away when its turn completes.
        let from = entries
            .first()
            .filter(|_| full)
            .map_or(0, |entry| entry.position);
        let page: BTreeSet<u64> = entries.iter().map(|entry| entry.position).collect();
        self.entries.retain(|position, _| {
            *position < from || before.is_some_and(|b| *position >= b) || page.contains(position)
        });
        for entry in entries {
            self.versions += 1;
            let version = self.versions;
            match self.entries.get_mut(&entry.position) {
                Some(held) if held.entry == entry => {}
                Some(held) => *held = Held { entry, version },
                None => {
                    self.entries.insert(entry.position, Held { entry, version });
                }
            }
        }
        if before.is_none() && self.anchor.is_none() && self.wanted.is_none() {
            while self.entries.len() > KEPT {
                self.entries.pop_first();
                self.at_start = false;
            }
        }
        if self
            .selected
            .is_some_and(|s| s != STREAM_POSITION && !self.entries.contains_key(&s))
        {
            self.selected = None;
        }
        self.search_again();
        self.find_wanted();
    }

    /// Goes to the wanted turn where it is loaded; gives up at the start of the session.
    fn find_wanted(&mut self) {
        let Some(wanted) = self.wanted else {
            return;
        };
        let first = self.visible().into_iter().find(|position| {
            let held = self.entries.get(position);
            held.is_some_and(|held| held.entry.continuation_id == wanted)
        });
        if let Some(position) = first {
            self.anchor = Some(Anchor { position, line: 0 });
            self.selected = Some(position);
            self.reveal_selected = true;
        }
        if first.is_some() || self.at_start || self.entries.len() >= SEARCHED {
            self.wanted = None;
        }
    }

    /// A query failed: let the next event try again.
    pub fn failed(&mut self, before: Option<u64>) {
        if before.is_some() {
            self.loading_older = false;
            self.wanted = None;
        } else {
            self.loading = false;
            self.stale = true;
        }
    }

    /// Positions that are drawn, ascending. Results that a tool card shows are not drawn again.
    pub fn visible(&self) -> Vec<u64> {
        let mut shown_calls: BTreeSet<ToolCallId> = BTreeSet::new();
        for held in self.entries.values() {
            if let TranscriptBody::Step { tool_calls, .. } = &held.entry.body {
                shown_calls.extend(tool_calls.iter().map(|call| call.id));
            }
        }
        self.entries
            .iter()
            .filter(|(_, held)| match &held.entry.body {
                TranscriptBody::Step { step, .. } => match &step.body {
                    StepBody::ToolResult { call_id, .. } => !shown_calls.contains(call_id),
                    StepBody::Model { .. }
                    | StepBody::OperatorNote { .. }
                    | StepBody::Final { .. }
                    | StepBody::Error { .. } => true,
                },
                TranscriptBody::User { .. }
                | TranscriptBody::State { .. }
                | TranscriptBody::Compacted { .. } => true,
            })
            .map(|(position, _)| *position)
            .collect()
    }

    /// Whether an entry is drawn folded.
    pub fn is_folded(&self, position: u64) -> bool {
        self.unfold_all == self.toggled.contains(&position)
    }

    /// Moves the selection by one entry.
    pub fn select(&mut self, step: crate::tui::state::queue::Step) {
        use crate::tui::state::queue::Step;
        let visible = self.visible();
        let at = self
            .selected
            .and_then(|s| visible.iter().position(|p| *p == s));
        let last = visible.len().saturating_sub(1);
        let index = match (step, at) {
            (Step::Down, Some(i)) => (i + 1).min(last),
            (Step::Up, Some(i)) => i.saturating_sub(1),
            (Step::Top, _) => 0,
            (Step::Down | Step::Up | Step::Bottom, _) => last,
        };
        self.selected = visible.get(index).copied();
        self.reveal_selected = self.selected.is_some();
        self.stop_following();
    }

    /// Holds what is on screen where it is.
    pub fn stop_following(&mut self) {
        if self.anchor.is_none() {
            self.anchor = self.report.map(|report| report.anchor);
        }
    }

    /// Scrolls by lines.
    pub fn scroll(&mut self, lines: i64) {
        self.stop_following();
        if let Some(anchor) = &mut self.anchor {
            anchor.line = anchor.line.saturating_add(lines);
        }
        self.reveal_selected = false;
    }

    /// Goes to the newest line and stays there.
    pub fn follow(&mut self) {
        self.anchor = None;
        self.selected = None;
        self.reveal_selected = false;
    }

    /// Searches as the text is typed.
    pub fn search(&mut self, query: &str) {
        self.search = (!query.is_empty()).then(|| Search {
            query: query.to_lowercase(),
            matches: Vec::new(),
        });
        self.search_again();
        let from = self.selected.unwrap_or(STREAM_POSITION);
        if let Some(search) = &self.search {
            let target = search
                .matches
                .iter()
                .rev()
                .find(|p| **p <= from)
                .or(search.matches.last())
                .copied();
            if let Some(target) = target {
                self.go_to(target);
            }
        }
    }

    fn search_again(&mut self) {
        let visible = self.visible();
        if let Some(search) = &mut self.search {
            search.matches = visible
                .into_iter()
                .filter(|p| {
                    self.entries.get(p).is_some_and(|held| {
                        search_text(&held.entry)
                            .to_lowercase()
                            .contains(&search.query)
                    })
                })
                .collect();
        }
    }

    fn go_to(&mut self, position: u64) {
        self.stop_following();
        self.selected = Some(position);
        self.reveal_selected = true;
    }

    /// Goes to the next match; false when there is none in that direction.
    pub fn next_match(&mut self, forward: bool) -> bool {
        let Some(search) = &self.search else {
            return false;
        };
        let from = self.selected;
        let target = if forward {
            search
                .matches
                .iter()
                .copied()
                .find(|p| from.is_none_or(|from| *p > from))
        } else {
            search
                .matches
                .iter()
                .rev()
                .copied()
                .find(|p| from.is_none_or(|from| *p < from))
        };
        match target {
            Some(target) => {
                self.go_to(target);
                true
            }
            None => false,
        }
    }
}

/// Everything of an entry that search looks at.
pub fn search_text(entry: &TranscriptEntry) -> String {
    match &entry.body {
        TranscriptBody::User { sender, text } => format!("{sender}\n{text}"),
        TranscriptBody::Step { step, tool_calls } => {
            let mut out = match &step.body {
                StepBody::Model { text, .. }
                | StepBody::Final { text, .. }
                | StepBody::OperatorNote { text, .. } => text.clone(),
                StepBody::ToolResult { name, content, .. } => format!("{name}\n{content}"),
                StepBody::Error { error } => format!("{}\n{}", error.code, error.message),
            };
            for call in tool_calls {
                out.push('\n');
                out.push_str(&call.name);
                out.push('\n');
                out.push_str(&call.args.to_string());
                if let Some(result) = &call.result {
                    out.push('\n');
                    out.push_str(result);
                }
            }
            out
        }
        TranscriptBody::State { state, error } => {
            format!(
                "{state} {}",
                error.as_ref().map_or("", |e| e.message.as_str())
            )
        }
        TranscriptBody::Compacted { .. } => "compacted".to_owned(),
    }
}
