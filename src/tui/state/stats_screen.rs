//! What Statistics asks, lists and does. What it knows is in `stats`; nothing here is drawn.

use crate::client::stats_lines::wait_words;
use crate::console::format;
use crate::console::model::Tone;
use crate::protocol::enums::StatsGrouping;
use crate::protocol::problem::Problem;
use crate::protocol::request::{Answer, GetStats, Query};
use crate::protocol::stats::StatsNumbers;
use crate::tui::action::Action;
use crate::tui::message::Effect;
use crate::tui::state::app::State;
use crate::tui::state::list::Cell;
use crate::tui::state::panel::{self, ListScreen, Opening, Panel};
use crate::tui::state::screen::Screen;
use crate::tui::state::stats::{POLL_MS, StatsRange};

pub const PANEL: Panel = Panel {
    // Asked by time, not by event: a busy daemon has something new in every second.
    ask: |state| {
        let query = state.screens.stats.query(state.model.now.wall);
        vec![Query::GetStats(query)]
    },
    answered,
    open,
    perform,
    copied,
    channel,
    hints: |_| {
        vec![
            Action::StatsShorter,
            Action::StatsLonger,
            Action::GroupStats,
            Action::Filter,
            Action::Refresh,
        ]
    },
    ..Panel::new(ListScreen::new(
        |state| &mut state.screens.stats.list,
        |_| COLUMNS,
        arrange,
    ))
};

pub const COLUMNS: &[&str] = &[
    "name", "spent", "cached", "turns", "failed", "asked", "wait", "tools", "errors",
];

/// While statistics are shown, they are asked for again and again.
pub fn poll(state: &mut State) {
    if state.screen == Screen::Stats {
        state
            .screens
            .in_flight
            .poll(state.model.now.steady, POLL_MS);
    }
}

fn answered(state: &mut State, query: &Query, result: Result<&Answer, &Problem>) {
    let panel = &mut state.screens.stats;
    let Query::GetStats(GetStats { step, by, .. }) = query else {
        return;
    };
    // What was asked before something else was chosen is of no use any more.
    if *by == panel.by && *step == panel.range.step() {
        panel::take::<GetStats, _>(&mut panel.answer, result, Box::new);
    }
}

fn arrange(state: &mut State, afresh: bool) {
    // While something else is asked, the list stays.
    let Some(stats) = state.screens.stats.stats() else {
        return;
    };
    let all = stats.groups.iter().map(|one| one.name.clone()).collect();
    panel::arrange(
        state,
        afresh,
        |state| &mut state.screens.stats.list,
        all,
        |state, name| cells(state, name),
    );
}

/// What the list shows of a group, in the order of its columns.
pub fn cells(state: &State, name: &str) -> Vec<Cell> {
    let Some(group) = state.screens.stats.group(name) else {
        return Vec::new();
    };
    let StatsNumbers {
        models,
        turns,
        approvals,
        tools,
        ..
    } = group.total;
    let count = |known: Option<u64>| match known {
        Some(count) => Cell::ranked(format::count(count), count as f64),
        None => Cell::new("?"),
    };
    let percent = models.and_then(|one| one.cache_hit_percent());
    let wait = approvals.and_then(|one| one.median_wait_ms);
    vec![
        Cell::new(name),
        match models {
            Some(one) => Cell::ranked(format::money(one.cost_usd), one.cost_usd.unwrap_or(-1.0)),
            None => Cell::new("?"),
        },
        percent.map_or_else(
            || Cell::new("-"),
            |one| Cell::ranked(format!("{one:.0}%"), one),
        ),
        count(turns.map(|one| one.completed)),
        count(turns.map(|one| one.failed)),
        count(approvals.map(|one| one.asked)),
        wait.map_or_else(
            || Cell::new("-"),
            |one| Cell::ranked(wait_words(one), one as f64),
        ),
        count(tools.map(|one| one.calls)),
        count(tools.map(|one| one.failed)),
    ]
}

fn open(state: &mut State) -> Opening {
    match channel(state) {
        Some(name) => Opening::Channel(name),
        None => Opening::Here(state.nothing(Action::Open)),
    }
}

/// The channel that is selected; none = something else is grouped by.
fn channel(state: &State) -> Option<String> {
    let panel = &state.screens.stats;
    let name = panel.list.selected.as_ref()?;
    let is_channel =
        panel.by == StatsGrouping::Channel && state.model.world().channels.contains_key(name);
    is_channel.then(|| name.clone())
}

fn perform(state: &mut State, action: Action) -> Option<Vec<Effect>> {
    let panel = &state.screens.stats;
    let (range, by) = match action {
        Action::StatsShorter => (panel.range.beside(false), panel.by),
        Action::StatsLonger => (panel.range.beside(true), panel.by),
        Action::GroupStats => {
            let all = StatsGrouping::ALL.iter().copied();
            let mut next = all.cycle().skip_while(|one| *one != panel.by).skip(1);
            (panel.range, next.next().unwrap_or(StatsGrouping::All))
        }
        _ => return None,
    };
    if (range, by) == (panel.range, panel.by) {
        let text = format!("{} is the only choice here", range.name());
        return Some(state.tell(text));
    }
    choose(state, range, by);
    Some(Vec::new())
}

fn choose(state: &mut State, range: StatsRange, by: StatsGrouping) {
    state.screens.stats.choose(range, by);
    state.screens.in_flight.now();
}

/// Shows what words name: a time, a grouping, or both. False = they name neither, which is said.
pub fn named(state: &mut State, words: &str) -> bool {
    let panel = &state.screens.stats;
    let (mut range, mut by) = (panel.range, panel.by);
    for word in words.split_whitespace() {
        let named = StatsRange::ALL.into_iter().find(|one| one.name() == word);
        match (named, word.parse()) {
            (Some(named), _) => range = named,
            (None, Ok(named)) => by = named,
            (None, Err(_)) => {
                let word: String = word.chars().take(40).collect();
                let text = format!(
                    "stats `{word}`: expected 24h, 7d, 30d, 90d, all, channel, model, tool or person"
                );
                state.toast(Tone::Warning, text);
                return false;
            }
        }
    }
    if (range, by) != (panel.range, panel.by) {
        choose(state, range, by);
    }
    true
}

fn copied(state: &State, all: bool) -> Option<String> {
    let panel = &state.screens.stats;
    if all {
        return serde_json::to_string_pretty(panel.charted()?).ok();
    }
    panel.list.selected.clone()
}
