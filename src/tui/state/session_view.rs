//! One session's transcript: a window of entries from the store, held by position.
//!
//! The whole transcript is never loaded: the window slides over it and drops what it leaves. The view is anchored to an
//! entry: nothing that arrives moves it.

use std::collections::{BTreeMap, BTreeSet};

use crate::console::time::Millis;
use crate::protocol::ids::{ContinuationId, SessionId};
use crate::protocol::request::{GetTranscript, GetTranscriptFrom, Query};
use crate::protocol::session::{TranscriptBody, TranscriptEntry};
use crate::tui::state::background_search::{
    BackgroundSearch, Found, SEARCH_PAGE, SearchTarget, search_text, visible_of,
};
use crate::tui::state::entries;
use crate::tui::state::jump_target::JumpTarget;

/// Entries asked for at once.
pub const PAGE: u32 = 100;
/// Entries kept while following; beyond it the oldest are let go.
const KEPT: usize = 600;
/// Entries kept at most; beyond it those at the far end are let go.
pub const WINDOW: usize = 1_200;
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
    /// Whether the newest loaded entry is near.
    pub near_end: bool,
    /// Whether the selected entry goes on above the window.
    pub selected_above: bool,
    /// Whether the selected entry goes on below the window.
    pub selected_below: bool,
}

/// An entry and how often it changed.
#[derive(Debug, Clone, PartialEq)]
pub struct EntryVersion {
    pub entry: TranscriptEntry,
    /// Rises when the entry at this position changes; part of the key of the view's cache.
    pub version: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Search {
    /// What is searched for, in small letters.
    pub query: String,
    /// Positions of loaded entries that match, ascending.
    pub matches: Vec<u64>,
    /// Entries that were looked at already: their version, and whether they match.
    known: BTreeMap<u64, (u64, bool)>,
}

/// State of the Session screen.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SessionView {
    pub session_id: Option<SessionId>,
    /// The window.
    pub entries: BTreeMap<u64, EntryVersion>,
    /// Whether the window begins with the session's first entry.
    pub at_start: bool,
    /// Newer entries lie between the window and the end: they were let go, or never loaded.
    pub cut_off: bool,
    /// Whether a query for the entries after the window is under way.
    pub loading_newer: bool,
    /// What is looked for beyond the window.
    pub background_search: Option<BackgroundSearch>,
    /// What was not found, for the notice.
    pub missed: Option<String>,
    /// Whether newer entries may exist than are loaded.
    pub stale: bool,
    /// Whether a query for the newest entries is under way.
    pub loading: bool,
    /// Whether a query for older entries is under way.
    pub loading_older: bool,
    /// Top line; none = follow the newest.
    pub anchor: Option<Anchor>,
    pub selected: Option<u64>,
    /// The view should bring the selected entry into the window.
    pub reveal_selected: bool,
    /// Entries folded or unfolded against the default.
    pub toggled: BTreeSet<u64>,
    /// The default of tool cards.
    pub unfold_all: bool,
    /// Texts of models are shown as they were written.
    pub raw: bool,
    pub search: Option<Search>,
    /// What the last frame showed.
    pub report: Option<SessionReport>,
    /// Where to go once the newest entries are there.
    pub wanted: Option<SearchTarget>,
    versions: u64,
    /// Positions that are drawn, ascending.
    order: Vec<u64>,
    /// Turns whose final answer is loaded.
    answered: BTreeSet<ContinuationId>,
}

impl SessionView {
    pub fn open(session_id: SessionId) -> Self {
        Self {
            session_id: Some(session_id),
            stale: true,
            ..Self::default()
        }
    }

    /// A view that is only shown what it shows. Its entries are never taken for those of another.
    pub fn played(session_id: Option<SessionId>, since: Millis) -> Self {
        Self {
            session_id,
            versions: since.0 << 24,
            ..Self::default()
        }
    }

    /// The query that brings the window up to date, when one is needed and none is under way.
    pub fn refresh(&mut self) -> Option<Query> {
        let session_id = self.session_id?;
        // What is newest does not join a window that lies further back; it is asked for when the reader is there.
        if !self.stale || self.loading || self.cut_off {
            return None;
        }
        self.stale = false;
        self.loading = true;
        Some(Query::GetTranscript(GetTranscript {
            session_id,
            before: None,
            limit: Some(PAGE),
        }))
    }

    /// The query for older entries, when there are any and none is under way.
    pub fn older(&mut self) -> Option<Query> {
        let session_id = self.session_id?;
        let before = *self.entries.keys().next()?;
        if self.at_start || self.loading_older {
            return None;
        }
        self.loading_older = true;
        Some(Query::GetTranscript(GetTranscript {
            session_id,
            before: Some(before),
            limit: Some(PAGE),
        }))
    }

    /// The query for the entries after the window, when there are any and none is under way.
    pub fn newer(&mut self) -> Option<Query> {
        let session_id = self.session_id?;
        let last = *self.entries.keys().next_back()?;
        if !self.cut_off || self.loading_newer {
            return None;
        }
        self.loading_newer = true;
        Some(Query::GetTranscriptFrom(GetTranscriptFrom {
            session_id,
            from: last + 1,
            limit: Some(PAGE),
        }))
    }

    /// What should be asked for now.
    pub fn asks(&mut self) -> Vec<Query> {
        let mut queries: Vec<Query> = self.refresh().into_iter().collect();
        let report = self.report.filter(|_| self.anchor.is_some());
        if report.is_some_and(|report| report.near_start) {
            queries.extend(self.older());
        }
        if report.is_some_and(|report| report.near_end) {
            queries.extend(self.newer());
        }
        if let (Some(session_id), Some(background_search)) =
            (self.session_id, &mut self.background_search)
        {
            queries.extend(background_search.ask(session_id));
        }
        queries
    }

    /// Takes a page that one of the queries brought.
    pub fn take(&mut self, query: &Query, entries: Vec<TranscriptEntry>) {
        if let (Some(id), Some(background_search)) = (self.session_id, &mut self.background_search)
            && background_search.has(id, query)
        {
            let found = background_search.look(&entries);
            return self.searched_for(&found, entries);
        }
        let (limit, around) = match query {
            Query::GetTranscript(GetTranscript { before, limit, .. }) => (*limit, (0, *before)),
            Query::GetTranscriptFrom(GetTranscriptFrom { from, limit, .. }) => {
                (*limit, (*from, None))
            }
            _ => return,
        };
        if limit != Some(PAGE) {
            return;
        }
        let full = entries.len() >= PAGE as usize;
        match around {
            (from @ 1.., None) => {
                let last = self.entries.keys().next_back().copied();
                // The window has moved on meanwhile.
                if !std::mem::take(&mut self.loading_newer) || last.is_none_or(|l| l + 1 != from) {
                    return;
                }
                self.cut_off = full;
                self.put(entries, from, None);
                self.let_go(WINDOW, true);
            }
            (_, Some(before)) => {
                let first = self.entries.keys().next().copied();
                if !std::mem::take(&mut self.loading_older) || first != Some(before) {
                    return;
                }
                self.at_start |= !full;
                let from = if full { first_of(&entries) } else { 0 };
                self.put(entries, from, Some(before));
                self.let_go(WINDOW, false);
            }
            (_, None) => self.take_newest(entries, full),
        }
    }

    fn take_newest(&mut self, entries: Vec<TranscriptEntry>, full: bool) {
        self.loading = false;
        if self.cut_off {
            self.stale = true;
            return;
        }
        let first_known = self.entries.keys().next().copied();
        let last_known = self.entries.keys().next_back().copied();
        let first_new = entries.first().map(|e| e.position);
        // More arrived than one page holds: what lies between is not known.
        if full && first_new > last_known {
            if self.anchor.is_some() && last_known.is_some() {
                // Whoever reads goes on reading, and comes there.
                self.cut_off = true;
                self.stale = true;
                return;
            }
            self.entries.clear();
            self.at_start = false;
        } else if !full && (first_known.is_none() || first_new <= first_known) {
            self.at_start = true;
        }
        let from = if full { first_of(&entries) } else { 0 };
        self.put(entries, from, None);
        if self.anchor.is_some() {
            // Not what is being read.
            self.let_go(WINDOW, false);
        } else if self.wanted.is_none() {
            self.let_go(KEPT, true);
        }
        if let Some(wanted) = self.wanted.take() {
            self.show_place(wanted);
        }
    }

    /// Goes to an entry, or looks for it further back.
    fn show_place(&mut self, wanted: SearchTarget) {
        let mut held = self.entries.values().map(|held| &held.entry);
        let found = held.find(|entry| wanted.is(entry));
        match found {
            // A turn begins with what was asked.
            Some(entry)
                if self.at_start
                    || !matches!(wanted, SearchTarget::Turn(_))
                    || matches!(entry.body, TranscriptBody::User { .. }) =>
            {
                let position = entry.position;
                self.stand_at(position);
            }
            Some(_) | None => {
                self.search_for(wanted, false);
            }
        }
    }

    /// Puts a page in. It is all there is between its ends: a state line goes away when its turn completes.
    fn put(&mut self, entries: Vec<TranscriptEntry>, from: u64, to: Option<u64>) {
        let to = to.unwrap_or(u64::MAX);
        let page: BTreeSet<u64> = entries.iter().map(|entry| entry.position).collect();
        self.entries
            .retain(|position, _| *position < from || *position >= to || page.contains(position));
        for entry in entries {
            self.hold(entry);
        }
        self.changed();
    }

    fn hold(&mut self, entry: TranscriptEntry) {
        match self.entries.get_mut(&entry.position) {
            Some(known) if known.entry == entry => {}
            found => {
                self.versions += 1;
                let version = self.versions;
                match found {
                    Some(known) => *known = EntryVersion { entry, version },
                    None => {
                        self.entries
                            .insert(entry.position, EntryVersion { entry, version });
                    }
                }
            }
        }
    }

    /// Lets entries beyond `most` go, at the beginning of the window or at its end.
    fn let_go(&mut self, most: usize, oldest: bool) {
        if self.entries.len() <= most {
            return;
        }
        while self.entries.len() > most {
            if oldest {
                self.entries.pop_first();
                self.at_start = false;
            } else {
                self.entries.pop_last();
                self.cut_off = true;
                self.stale = true;
            }
        }
        self.changed();
    }

    /// What is derived from the entries.
    fn changed(&mut self) {
        self.order = visible_of(self.entries.values().map(|held| &held.entry));
        let held = self.entries.values().map(|held| &held.entry);
        let answers = held.filter(|entry| entries::is_answer(entry));
        self.answered = answers.map(|entry| entry.continuation_id).collect();
        if self
            .selected
            .is_some_and(|s| s != STREAM_POSITION && !self.entries.contains_key(&s))
        {
            self.selected = None;
        }
        self.search_again();
    }

    /// Shows exactly these entries, as all there are.
    pub fn show(&mut self, entries: Vec<TranscriptEntry>) {
        self.at_start = true;
        self.stale = false;
        self.put(entries, 0, None);
    }

    /// Looks for something beyond the window; false where nothing lies there.
    pub fn search_for(&mut self, target: SearchTarget, forward: bool) -> bool {
        let edge = if forward {
            let last = self.entries.keys().next_back();
            last.filter(|_| self.cut_off).map(|last| last + 1)
        } else {
            let first = self.entries.keys().next().copied();
            first.filter(|_| !self.at_start)
        };
        self.background_search = edge.map(|edge| BackgroundSearch::new(target, forward, edge));
        self.background_search.is_some()
    }

    /// Goes to the first entry of all; false where it is loaded.
    pub fn search_for_start(&mut self) -> bool {
        self.background_search =
            (!self.at_start).then(|| BackgroundSearch::new(SearchTarget::Start, true, 0));
        self.background_search.is_some()
    }

    fn searched_for(&mut self, found: &Found, entries: Vec<TranscriptEntry>) {
        match found {
            Found::NotYet => {}
            Found::Nowhere => {
                if let Some(background_search) = self.background_search.take() {
                    let way = if background_search.forward {
                        "below"
                    } else {
                        "above"
                    };
                    self.missed = Some(format!(
                        "no further {} {way}; searched {} more entries",
                        background_search.target.words(),
                        background_search.searched
                    ));
                }
            }
            Found::At(position) => {
                let background_search = self.background_search.take();
                let full = entries.len() >= SEARCH_PAGE as usize;
                let forward = background_search
                    .as_ref()
                    .is_some_and(|background_search| background_search.forward);
                let start = background_search.is_some_and(|background_search| {
                    background_search.target == SearchTarget::Start
                });
                // The page takes the place of the window.
                self.entries.clear();
                self.at_start = start || (!forward && !full);
                self.cut_off = !forward || full;
                self.stale |= self.cut_off;
                self.loading_older = false;
                self.loading_newer = false;
                self.put(entries, 0, None);
                self.stand_at(*position);
            }
        }
    }

    /// The window begins at an entry, which is selected.
    fn stand_at(&mut self, position: u64) {
        self.anchor = Some(Anchor { position, line: 0 });
        self.selected = Some(position);
        self.reveal_selected = true;
    }

    /// A query failed; the next event tries again what shows the newest.
    pub fn failed(&mut self, query: &Query) {
        if let (Some(id), Some(background_search)) = (self.session_id, &self.background_search)
            && background_search.has(id, query)
        {
            self.background_search = None;
            return;
        }
        match query {
            Query::GetTranscript(GetTranscript { before: None, .. }) => {
                self.loading = false;
                self.wanted = None;
            }
            Query::GetTranscript(_) => self.loading_older = false,
            _ => self.loading_newer = false,
        }
    }

    /// Nothing that was asked is answered any more.
    pub fn lost(&mut self) {
        self.loading = false;
        self.loading_older = false;
        self.loading_newer = false;
        self.background_search = None;
    }

    /// Positions that are drawn, ascending. Results that a tool card shows are not drawn again.
    pub fn visible(&self) -> &[u64] {
        &self.order
    }

    /// Whether the final answer of a turn is loaded: its last model step would say it twice.
    pub fn is_answered(&self, turn: ContinuationId) -> bool {
        self.answered.contains(&turn)
    }

    /// Whether everything of the session is loaded.
    pub fn is_whole(&self) -> bool {
        self.at_start && !self.cut_off
    }

    /// Whether an entry is drawn folded.
    pub fn is_folded(&self, position: u64) -> bool {
        self.unfold_all == self.toggled.contains(&position)
    }

    /// Moves the selection by one entry.
    pub fn select(&mut self, step: crate::console::queue::Step) {
        use crate::console::queue::Step;
        let visible = self.visible();
        let at = self.selected.and_then(|s| visible.binary_search(&s).ok());
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
        self.background_search = None;
        if std::mem::take(&mut self.cut_off) {
            self.entries.clear();
            self.at_start = false;
            self.stale = true;
            self.changed();
        }
    }

    /// Searches as the text is typed: in the window, then further back.
    pub fn search(&mut self, query: &str) {
        self.background_search = None;
        self.search = (!query.is_empty()).then(|| Search {
            query: query.to_lowercase(),
            ..Search::default()
        });
        self.search_again();
        let from = self.selected.unwrap_or(STREAM_POSITION);
        let Some(search) = &self.search else {
            return;
        };
        let target = search
            .matches
            .iter()
            .rev()
            .find(|p| **p <= from)
            .or(search.matches.last())
            .copied();
        match target {
            Some(target) => self.go_to(target),
            None => {
                let words = SearchTarget::Words(search.query.clone());
                self.search_for(words, false);
            }
        }
    }

    fn search_again(&mut self) {
        let Some(search) = &mut self.search else {
            return;
        };
        let mut known = BTreeMap::new();
        search.matches.clear();
        for position in &self.order {
            let Some(held) = self.entries.get(position) else {
                continue;
            };
            let fits = match search.known.get(position) {
                Some((version, fits)) if *version == held.version => *fits,
                _ => search_text(&held.entry)
                    .to_lowercase()
                    .contains(&search.query),
            };
            known.insert(*position, (held.version, fits));
            if fits {
                search.matches.push(*position);
            }
        }
        search.known = known;
    }

    fn go_to(&mut self, position: u64) {
        self.stop_following();
        self.selected = Some(position);
        self.reveal_selected = true;
    }

    /// Goes to the next match; false when there is none in that direction.
    pub fn next_match(&mut self, forward: bool) -> bool {
        let matches = self.search.as_ref().map(|search| search.matches.clone());
        self.go_next(&matches.unwrap_or_default(), self.selected, forward)
    }

    /// Goes to the next jump target from where the reader is; false when there is none in that direction.
    pub fn next_landmark(&mut self, jump_target: JumpTarget, forward: bool) -> bool {
        let is = |known: &EntryVersion| jump_target.is(&known.entry);
        let marks: Vec<u64> = self
            .visible()
            .iter()
            .copied()
            .filter(|position| self.entries.get(position).is_some_and(is))
            .collect();
        // Whoever reads without a selection is at the top of the window, or at the end of what is followed.
        let reading = self.anchor.map(|anchor| anchor.position);
        let from = self.selected.or(reading).unwrap_or(STREAM_POSITION);
        self.go_next(&marks, Some(from), forward)
    }

    fn go_next(&mut self, positions: &[u64], from: Option<u64>, forward: bool) -> bool {
        let mut found = positions.iter().copied();
        let target = if forward {
            found.find(|p| from.is_none_or(|from| *p > from))
        } else {
            found.rfind(|p| from.is_none_or(|from| *p < from))
        };
        if let Some(target) = target {
            self.go_to(target);
        }
        target.is_some()
    }
}

fn first_of(entries: &[TranscriptEntry]) -> u64 {
    entries.first().map_or(0, |entry| entry.position)
}
