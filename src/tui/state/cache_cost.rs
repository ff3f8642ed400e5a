//! Cache & cost: cached responses, spending, budgets.
//!
//! Nothing here is drawn or asked by itself: `panel` asks, `view::cache_cost` draws. While an answer is selected the
//! list only grows at its end, so that nothing moves under the cursor.

use std::collections::BTreeMap;

use crate::protocol::cache::{CacheEntry, CachePurge, CacheStats};
use crate::protocol::costs::Costs;
use crate::protocol::event::{Event, EventBody};
use crate::protocol::ids::{ContinuationId, SessionId};
use crate::protocol::problem::Problem;
use crate::protocol::request::{
    Answer, Command, GetCache, GetCacheEntry, GetCosts, ListCacheEntries, PinCacheEntry,
    PurgeCache, Query,
};
use crate::protocol::snapshot::{Page, PageRequest};
use crate::protocol::words::CostsBy;
use crate::tui::action::Action;
use crate::tui::format;
use crate::tui::message::Effect;
use crate::tui::state::app::{Screen, State, Tone};
use crate::tui::state::modal::{Confirm, Modal};
use crate::tui::state::panel::{self, Panel};
use crate::tui::state::queue::Step;
use crate::tui::state::submit;
use crate::tui::state::update::problem_text;

/// Cached responses of a page.
pub const PAGE: u32 = 100;

/// What is known of something that was asked for: itself, or why not.
pub type Known<T> = Option<Result<T, String>>;

/// A cached response that is read.
#[derive(Debug, Clone, PartialEq)]
pub struct Opened {
    /// Which.
    pub id: String,
    /// All of it.
    pub entry: Known<Box<CacheEntry>>,
}

/// What the screen knows.
#[derive(Debug, Clone, PartialEq)]
pub struct CacheCostPanel {
    /// Counters and limits of the cache.
    pub cache: Known<Box<CacheStats>>,
    /// What spending is summed by.
    pub by: CostsBy,
    /// Spending, by what it is summed by.
    pub costs: BTreeMap<CostsBy, Result<Box<Costs>, String>>,
    /// Cached responses in the order they are shown in; their texts are cut.
    pub entries: Vec<CacheEntry>,
    /// Whether the list is known.
    pub listed: Known<()>,
    /// Where the next page begins.
    pub more: Option<String>,
    /// The end of the list was reached and the next page is wanted.
    wants_more: bool,
    /// Id of the selected answer.
    pub selected: Option<String>,
    /// What is read.
    pub opened: Option<Opened>,
    /// Whether all the numbers are shown in place of the overview.
    pub numbers: bool,
    /// Lines that what is read, or the numbers, are scrolled by.
    pub scroll: usize,
}

impl Default for CacheCostPanel {
    fn default() -> Self {
        Self {
            cache: None,
            by: CostsBy::Channel,
            costs: BTreeMap::new(),
            entries: Vec::new(),
            listed: None,
            more: None,
            wants_more: false,
            selected: None,
            opened: None,
            numbers: false,
            scroll: 0,
        }
    }
}

impl CacheCostPanel {
    /// As when the screen opens: nothing selected, nothing read.
    pub fn opens(&mut self) {
        self.selected = None;
        self.opened = None;
        self.numbers = false;
        self.scroll = 0;
        self.wants_more = false;
    }

    /// The selected answer as it is listed.
    pub fn chosen(&self) -> Option<&CacheEntry> {
        let id = self.selected.as_ref()?;
        self.entries.iter().find(|entry| entry.id == *id)
    }

    /// Takes the first page again, or a further one.
    fn take(&mut self, first: bool, page: &Page<CacheEntry>) {
        if first {
            // What this page would hold and does not is gone; what lies beyond it is not known to be.
            let oldest = page.items.last().map(|entry| entry.stored_at);
            let whole = page.next_cursor.is_none();
            self.entries.retain(|known| {
                !whole && oldest.is_some_and(|oldest| known.stored_at < oldest)
                    || page.items.iter().any(|entry| entry.id == known.id)
            });
            if self.entries.len() <= page.items.len() {
                self.more.clone_from(&page.next_cursor);
            }
        } else {
            self.wants_more = false;
            self.more.clone_from(&page.next_cursor);
        }
        for entry in &page.items {
            match self.entries.iter_mut().find(|known| known.id == entry.id) {
                Some(known) => known.clone_from(entry),
                None => self.entries.push(entry.clone()),
            }
        }
        if self.chosen().is_none() {
            self.selected = None;
        }
        if self.selected.is_none() {
            self.entries
                .sort_by_key(|entry| std::cmp::Reverse(entry.stored_at));
        }
    }
}

/// Its table.
pub const PANEL: Panel = Panel {
    ask,
    answered,
    concerns,
    moved,
    page,
    open,
    back,
    perform,
    copied,
    session,
    continuation,
    channel,
    hints,
};

fn costs_query(by: CostsBy) -> Query {
    Query::GetCosts(GetCosts {
        by,
        since: None,
        until: None,
    })
}

fn entries_query(cursor: Option<String>) -> Query {
    Query::ListCacheEntries(ListCacheEntries {
        channel: None,
        page: PageRequest {
            limit: Some(PAGE),
            cursor,
        },
    })
}

fn ask(state: &State) -> Vec<Query> {
    let panel = &state.cache_cost;
    if panel.wants_more && panel.more.is_some() {
        return vec![entries_query(panel.more.clone())];
    }
    vec![
        Query::GetCache(GetCache {}),
        costs_query(panel.by),
        entries_query(None),
    ]
}

fn answered(state: &mut State, query: &Query, result: Result<&Answer, &Problem>) {
    let panel = &mut state.cache_cost;
    match (query, result) {
        (Query::GetCache(_), Ok(Answer::GetCache(stats))) => {
            panel.cache = Some(Ok(Box::new(stats.clone())));
        }
        (Query::GetCache(_), Err(problem)) => panel.cache = Some(Err(problem_text(problem))),
        (Query::GetCosts(GetCosts { by, .. }), Ok(Answer::GetCosts(costs))) => {
            panel.costs.insert(*by, Ok(Box::new(costs.clone())));
        }
        (Query::GetCosts(GetCosts { by, .. }), Err(problem)) => {
            panel.costs.insert(*by, Err(problem_text(problem)));
        }
        (
            Query::ListCacheEntries(ListCacheEntries { page: asked, .. }),
            Ok(Answer::ListCacheEntries(page)),
        ) => {
            panel.take(asked.cursor.is_none(), page);
            panel.listed = Some(Ok(()));
        }
        (Query::ListCacheEntries(_), Err(problem)) => {
            panel.wants_more = false;
            panel.listed = Some(Err(problem_text(problem)));
        }
        (Query::GetCacheEntry(GetCacheEntry { id }), result) => {
            let Some(opened) = panel.opened.as_mut().filter(|opened| opened.id == *id) else {
                return;
            };
            match result {
                Ok(Answer::GetCacheEntry(entry)) => {
                    opened.entry = Some(Ok(Box::new(entry.clone())));
                }
                Ok(_) => {}
                Err(problem) => opened.entry = Some(Err(problem_text(problem))),
            }
        }
        _ => {}
    }
}

fn concerns(event: &Event) -> bool {
    match &event.body {
        EventBody::ModelFinished { .. }
        | EventBody::CacheHit { .. }
        | EventBody::CacheMiss { .. }
        | EventBody::BudgetReached { .. } => true,
        EventBody::ToolFinished { cached, .. } => cached.is_some(),
        _ => false,
    }
}

fn moved(state: &mut State, step: Step) {
    let panel = &mut state.cache_cost;
    if panel.numbers || panel.opened.is_some() {
        panel.scroll = match step {
            Step::Down => panel.scroll.saturating_add(1),
            Step::Up => panel.scroll.saturating_sub(1),
            Step::Top => 0,
            Step::Bottom => usize::MAX / 2,
        };
        return;
    }
    let last = panel.entries.len().saturating_sub(1);
    let at = panel
        .selected
        .as_ref()
        .and_then(|id| panel.entries.iter().position(|entry| entry.id == *id));
    let index = match (step, at) {
        (Step::Down, Some(index)) => (index + 1).min(last),
        (Step::Up, Some(index)) => index.saturating_sub(1),
        (Step::Down | Step::Top, _) => 0,
        (Step::Up | Step::Bottom, _) => last,
    };
    panel.selected = panel.entries.get(index).map(|entry| entry.id.clone());
    if index == last && panel.more.is_some() && !panel.wants_more {
        panel.wants_more = true;
        state.asking.now();
    }
}

fn page(state: &mut State, lines: i64) {
    let panel = &mut state.cache_cost;
    let by = usize::try_from(lines.unsigned_abs()).unwrap_or(usize::MAX);
    if panel.numbers || panel.opened.is_some() {
        panel.scroll = if lines > 0 {
            panel.scroll.saturating_add(by)
        } else {
            panel.scroll.saturating_sub(by)
        };
        return;
    }
    for _ in 0..by {
        moved(state, if lines > 0 { Step::Down } else { Step::Up });
    }
}

fn open(state: &mut State) -> Vec<Effect> {
    if state.cache_cost.numbers || state.cache_cost.opened.is_some() {
        return Vec::new();
    }
    let Some(id) = state.cache_cost.selected.clone() else {
        state.flash(Tone::Warning, "open: no cached response is selected");
        return Vec::new();
    };
    state.cache_cost.opened = Some(Opened {
        id: id.clone(),
        entry: None,
    });
    state.cache_cost.scroll = 0;
    if !state.is_live() {
        return Vec::new();
    }
    vec![panel::ask(
        state,
        Screen::CacheCost,
        Query::GetCacheEntry(GetCacheEntry { id }),
    )]
}

fn back(state: &mut State) -> bool {
    let panel = &mut state.cache_cost;
    panel.scroll = 0;
    panel.opened.take().is_some()
        || std::mem::take(&mut panel.numbers)
        || panel.selected.take().is_some()
}

fn perform(state: &mut State, action: Action) -> Option<Vec<Effect>> {
    match action {
        Action::GroupCosts => Some(next_grouping(state)),
        Action::Numbers => {
            let panel = &mut state.cache_cost;
            panel.opened = None;
            panel.numbers = !panel.numbers;
            panel.scroll = 0;
            Some(Vec::new())
        }
        Action::PinAnswer => Some(pin(state)),
        Action::PurgeAnswer => Some(purge_one(state)),
        Action::PurgeAnswers => Some(purge_channel(state)),
        _ => None,
    }
}

fn next_grouping(state: &mut State) -> Vec<Effect> {
    let panel = &mut state.cache_cost;
    panel.by = match panel.by {
        CostsBy::Channel => CostsBy::Model,
        CostsBy::Model => CostsBy::Day,
        CostsBy::Day => CostsBy::Channel,
    };
    let query = costs_query(panel.by);
    if state.is_live() {
        vec![panel::ask(state, Screen::CacheCost, query)]
    } else {
        Vec::new()
    }
}

fn selected(state: &mut State, action: Action) -> Option<CacheEntry> {
    let entry = state.cache_cost.chosen().cloned();
    if entry.is_none() {
        state.flash(
            Tone::Warning,
            format!("{}: no cached response is selected", action.short()),
        );
    }
    entry
}

fn pin(state: &mut State) -> Vec<Effect> {
    let Some(entry) = selected(state, Action::PinAnswer) else {
        return Vec::new();
    };
    let command = Command::PinCacheEntry(PinCacheEntry {
        id: entry.id,
        pinned: !entry.pinned,
    });
    submit::submit(state, command)
}

fn confirm(state: &mut State, title: String, lines: Vec<String>, what: CachePurge) -> Vec<Effect> {
    if let Some(why) = submit::blocked(state) {
        state.flash(Tone::Warning, format!("not sent: {why}"));
        return Vec::new();
    }
    state.modals.push(Modal::Confirm(Confirm {
        title,
        lines,
        label: "Forget",
        command: Command::PurgeCache(PurgeCache { what }),
        bound: None,
        chosen: 0,
    }));
    Vec::new()
}

fn purge_one(state: &mut State) -> Vec<Effect> {
    let Some(entry) = selected(state, Action::PurgeAnswer) else {
        return Vec::new();
    };
    let pinned = if entry.pinned { ", pinned" } else { "" };
    let lines = vec![
        format!("{} on {}: {}", entry.id, entry.channel, entry.question),
        format!(
            "Given {} times, {}{pinned}. Whoever asks this next makes a model call again: {} tokens, {} the last time.",
            entry.hits,
            format::bytes(entry.bytes),
            format::count(entry.usage.input_tokens + entry.usage.output_tokens),
            format::money(entry.usage.cost_usd),
        ),
    ];
    confirm(
        state,
        "Forget this cached response?".to_owned(),
        lines,
        CachePurge::Entry(entry.id),
    )
}

fn purge_channel(state: &mut State) -> Vec<Effect> {
    let Some(channel) = selected(state, Action::PurgeAnswers).map(|entry| entry.channel) else {
        return Vec::new();
    };
    let panel = &state.cache_cost;
    let of = panel
        .entries
        .iter()
        .filter(|entry| entry.channel == channel);
    let (count, pinned, hits, bytes) = of.fold((0, 0, 0, 0), |sum, entry| {
        (
            sum.0 + 1,
            sum.1 + u64::from(entry.pinned),
            sum.2 + entry.hits,
            sum.3 + entry.bytes,
        )
    });
    let least = if panel.more.is_some() {
        "At least "
    } else {
        ""
    };
    let lines = vec![
        format!(
            "{least}{count} responses ({pinned} pinned, given {hits} times, {}), and every cached result of a tool of this channel.",
            format::bytes(bytes)
        ),
        "The model is asked, and the tools run, again.".to_owned(),
    ];
    confirm(
        state,
        format!("Purge the cached responses of {channel}?"),
        lines,
        CachePurge::Channel(channel),
    )
}

fn copied(state: &State, all: bool) -> Option<String> {
    let panel = &state.cache_cost;
    if !all {
        return panel.selected.clone();
    }
    let read = panel
        .opened
        .as_ref()
        .and_then(|opened| opened.entry.as_ref());
    match read {
        Some(Ok(entry)) => serde_json::to_string_pretty(entry).ok(),
        Some(Err(_)) | None => serde_json::to_string_pretty(panel.chosen()?).ok(),
    }
}

fn session(_state: &State) -> Option<SessionId> {
    None
}

fn continuation(_state: &State) -> Option<ContinuationId> {
    None
}

fn channel(state: &State) -> Option<String> {
    state.cache_cost.chosen().map(|entry| entry.channel.clone())
}

fn hints(state: &State) -> Vec<Action> {
    let panel = &state.cache_cost;
    let mut hints = Vec::new();
    if panel.selected.is_some() && !panel.numbers {
        if panel.opened.is_none() {
            hints.push(Action::Open);
        }
        hints.extend([Action::PinAnswer, Action::PurgeAnswer, Action::PurgeAnswers]);
    }
    hints.extend([Action::GroupCosts, Action::Numbers]);
    hints
}
