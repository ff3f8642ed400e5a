//! What Cache & cost asks, lists and does. What it knows is in `cache_cost`; nothing here is drawn.

use crate::console::format;
use crate::console::model::Tone;
use crate::protocol::cache::{CacheEntry, CachePurge};
use crate::protocol::enums::CostGrouping;
use crate::protocol::event::{Event, EventBody};
use crate::protocol::problem::Problem;
use crate::protocol::request::{
    Answer, GetCache, GetCacheEntry, GetCosts, ListCacheEntries, PinCacheEntry, PurgeCache, Query,
};
use crate::tui::action::Action;
use crate::tui::message::Effect;
use crate::tui::state::app::State;
use crate::tui::state::cache_cost::{Opened, entries_query};
use crate::tui::state::list::Cell;
use crate::tui::state::opening;
use crate::tui::state::panel::{self, ListScreen, Opening, Panel};
use crate::tui::state::screen::Screen;
use crate::tui::state::submit;

pub const PANEL: Panel = Panel {
    ask,
    answered,
    concerns,
    open: |state| Opening::Here(open(state)),
    perform,
    copied,
    channel,
    hints,
    ..Panel::new(ListScreen {
        after_move,
        close,
        ..ListScreen::new(
            |state| &mut state.screens.cache_cost.list,
            |_| COLUMNS,
            arrange,
        )
    })
};

fn costs_query(by: CostGrouping) -> Query {
    Query::GetCosts(GetCosts {
        by,
        since: None,
        until: None,
    })
}

fn ask(state: &State) -> Vec<Query> {
    let panel = &state.screens.cache_cost;
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
    let panel = &mut state.screens.cache_cost;
    match query {
        Query::GetCache(_) => panel::take::<GetCache, _>(&mut panel.cache, result, Box::new),
        Query::GetCosts(GetCosts { by, .. }) => {
            let costs = panel::reply::<GetCosts>(result);
            let costs = costs.map(|costs| (*by, costs.map(Box::new)));
            panel.costs.extend(costs);
        }
        Query::ListCacheEntries(asked) => match panel::reply::<ListCacheEntries>(result) {
            Some(Ok(page)) => {
                panel.take(asked.page.cursor.is_none(), &page);
                panel.listed = Some(Ok(()));
            }
            Some(Err(why)) => {
                panel.wants_more = false;
                panel.listed = Some(Err(why));
            }
            None => {}
        },
        Query::GetCacheEntry(GetCacheEntry { id }) => {
            if let Some(opened) = panel.opened.as_mut().filter(|opened| opened.id == *id) {
                panel::take::<GetCacheEntry, _>(&mut opened.entry, result, Box::new);
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

pub const COLUMNS: &[&str] = &["given", "cost", "left", "channel", "model", "question"];

fn arrange(state: &mut State, afresh: bool) {
    let panel = &state.screens.cache_cost;
    let zoomed = panel.list.zoomed;
    let all = panel.entries.iter().map(|entry| entry.id.clone()).collect();
    panel::arrange(
        state,
        afresh,
        |state| &mut state.screens.cache_cost.list,
        all,
        |state, id| cells(state, id),
    );
    // What is read, and the numbers, stay whatever becomes of the row.
    state.screens.cache_cost.list.zoomed = zoomed;
}

/// What the list shows of a cached response, in the order of its columns.
pub fn cells(state: &State, id: &str) -> Vec<Cell> {
    let Some(entry) = state.screens.cache_cost.entry(id) else {
        return Vec::new();
    };
    let left = match (entry.pinned, entry.expires_at) {
        (true, _) => Cell::new("pinned"),
        (false, Some(until)) => Cell::ranked(
            format::left(state.model.now.wall, until),
            until.as_millis() as f64,
        ),
        (false, None) => Cell::new("-"),
    };
    vec![
        Cell::ranked(format::count(entry.hits), entry.hits as f64),
        Cell::ranked(
            format::money(entry.usage.cost_usd),
            entry.usage.cost_usd.unwrap_or(-1.0),
        ),
        left,
        Cell::new(&entry.channel),
        Cell::new(&entry.model),
        Cell::new(&entry.question),
    ]
}

/// At the end of the list the next page is asked for.
fn after_move(state: &mut State) -> Vec<Effect> {
    let panel = &mut state.screens.cache_cost;
    let last = panel.list.position().map(|at| at + 1) == Some(panel.list.order.len());
    if last && !panel.list.zoomed && panel.more.is_some() && !panel.wants_more {
        panel.wants_more = true;
        state.screens.in_flight.now();
    }
    Vec::new()
}

/// What is read is closed, or the numbers.
fn close(state: &mut State) -> bool {
    let panel = &mut state.screens.cache_cost;
    let open = panel.opened.take().is_some() | std::mem::take(&mut panel.numbers);
    panel.list.zoomed = false;
    panel.list.scroll = 0;
    open
}

fn open(state: &mut State) -> Vec<Effect> {
    let panel = &mut state.screens.cache_cost;
    if panel.list.zoomed {
        return Vec::new();
    }
    let Some(id) = panel.list.selected.clone() else {
        return state.warn("open: nothing is selected");
    };
    panel.opened = Some(Opened {
        id: id.clone(),
        entry: None,
    });
    panel.list.zoomed = true;
    panel.list.scroll = 0;
    if !state.is_live() {
        return Vec::new();
    }
    vec![panel::ask(state, Screen::CacheCost, GetCacheEntry { id })]
}

fn perform(state: &mut State, action: Action) -> Option<Vec<Effect>> {
    match action {
        Action::GroupCosts => Some(next_grouping(state)),
        Action::Numbers => {
            let panel = &mut state.screens.cache_cost;
            panel.opened = None;
            panel.numbers = !panel.numbers;
            panel.list.zoomed = panel.numbers;
            panel.list.scroll = 0;
            Some(Vec::new())
        }
        Action::PinAnswer => Some(pin(state)),
        Action::PurgeAnswer => Some(purge_one(state)),
        Action::PurgeAnswers => Some(purge_channel(state)),
        _ => None,
    }
}

fn next_grouping(state: &mut State) -> Vec<Effect> {
    let panel = &mut state.screens.cache_cost;
    panel.by = match panel.by {
        CostGrouping::Channel => CostGrouping::Model,
        CostGrouping::Model => CostGrouping::Day,
        CostGrouping::Day => CostGrouping::Channel,
    };
    let query = costs_query(panel.by);
    if state.is_live() {
        vec![panel::ask(state, Screen::CacheCost, query)]
    } else {
        Vec::new()
    }
}

fn selected(state: &mut State, action: Action) -> Option<CacheEntry> {
    let entry = state.screens.cache_cost.chosen().cloned();
    if entry.is_none() {
        state.toast(
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
    let command = PinCacheEntry {
        id: entry.id,
        pinned: !entry.pinned,
    };
    submit::submit(state, command)
}

fn confirm(state: &mut State, title: String, lines: Vec<String>, what: CachePurge) -> Vec<Effect> {
    if submit::refuses(state) {
        return Vec::new();
    }
    opening::ask_first(state, title, lines, "Remove", PurgeCache { what })
}

fn purge_one(state: &mut State) -> Vec<Effect> {
    let Some(entry) = selected(state, Action::PurgeAnswer) else {
        return Vec::new();
    };
    let pinned = if entry.pinned { ", pinned" } else { "" };
    let lines = vec![
        format!("{} on {}: {}", entry.id, entry.channel, entry.question),
        format!(
            "Given {} times, {}{pinned}. The next request like it calls the model again: {} tokens, {} the last time.",
            entry.hits,
            format::bytes(entry.bytes),
            format::count(entry.usage.input_tokens + entry.usage.output_tokens),
            format::money(entry.usage.cost_usd),
        ),
    ];
    confirm(
        state,
        "Remove this cached response?".to_owned(),
        lines,
        CachePurge::Entry(entry.id),
    )
}

fn purge_channel(state: &mut State) -> Vec<Effect> {
    let Some(channel) = selected(state, Action::PurgeAnswers).map(|entry| entry.channel) else {
        return Vec::new();
    };
    let panel = &state.screens.cache_cost;
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
        "Models are called and tools run again.".to_owned(),
    ];
    confirm(
        state,
        format!("Purge the cached responses of {channel}?"),
        lines,
        CachePurge::Channel(channel),
    )
}

fn copied(state: &State, all: bool) -> Option<String> {
    let panel = &state.screens.cache_cost;
    if !all {
        return panel.list.selected.clone();
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

fn channel(state: &State) -> Option<String> {
    state
        .screens
        .cache_cost
        .chosen()
        .map(|entry| entry.channel.clone())
}

fn hints(state: &State) -> Vec<Action> {
    let panel = &state.screens.cache_cost;
    let mut hints = Vec::new();
    if panel.list.selected.is_some() && !panel.numbers {
        if panel.opened.is_none() {
            hints.push(Action::Open);
        }
        hints.extend([Action::PinAnswer, Action::PurgeAnswer, Action::PurgeAnswers]);
    }
    hints.extend([Action::GroupCosts, Action::Numbers]);
    hints
}
