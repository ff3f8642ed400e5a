//! What the fleet board asks and lists. State and waiting questions follow the events of each daemon; counts are asked
//! once a minute, one question a daemon. Nothing is asked while the board is hidden.

use std::collections::BTreeMap;

use crate::clock::Timestamp;
use crate::console::format;
use crate::console::ids::HostId;
use crate::console::item;
use crate::protocol::channel::Channel;
use crate::protocol::fleet::{FleetChannel, HOURS};
use crate::protocol::problem::Problem;
use crate::protocol::request::{Answer, ListFleet, Query};
use crate::text::bars::bars;
use crate::tui::action::Action;
use crate::tui::message::Effect;
use crate::tui::state::app::{Dirty, State};
use crate::tui::state::fleet::FleetKey;
use crate::tui::state::list::Cell;
use crate::tui::state::panel::{self, ListScreen, Opening, Panel};
use crate::tui::state::screen::Screen;

/// Its table. What it asks goes to every daemon, so it asks for itself.
pub const PANEL: Panel = Panel {
    open,
    copied,
    channel: |state| Some(state.fleet.list.selected.as_ref()?.channel.clone()),
    hints: |_| {
        vec![
            Action::Open,
            Action::QueueOfChannel,
            Action::NextPane,
            Action::Filter,
            Action::Autonomy,
            Action::PauseChannel,
            Action::NextWaiting,
        ]
    },
    ..Panel::new(ListScreen::new(
        |state| &mut state.fleet.list,
        columns,
        arrange,
    ))
};

/// Columns of a console with several daemons. With one, the first is left out.
pub const COLUMNS: &[&str] = &[
    "host",
    "channel",
    "state",
    "waiting",
    "oldest",
    "errors",
    "spend",
    "budget",
    "reply",
    "turns 24h",
    "errors 24h",
];

pub fn columns(state: &State) -> &'static [&'static str] {
    match COLUMNS {
        [_, of_one @ ..] if !state.model.hosts.several() => of_one,
        all => all,
    }
}

/// Asks every daemon that can be reached, once in each minute.
pub fn ask(state: &mut State) -> Vec<(HostId, Effect)> {
    if state.screen != Screen::Fleet {
        return Vec::new();
    }
    let stale = std::mem::take(&mut state.fleet.stale);
    let minute = state.model.now.wall.as_millis().div_euclid(60_000);
    let mut effects = Vec::new();
    for (id, host) in state.model.hosts.iter() {
        if host.is_live() && (stale || state.fleet.asked.get(&id) != Some(&minute)) {
            state.fleet.asked.insert(id, minute);
            effects.push((id, Effect::ask(ListFleet {})));
        }
    }
    effects
}

/// Takes what a daemon counted, or why it did not. False = this was asked by something else.
pub fn answered(
    state: &mut State,
    host: HostId,
    query: &Query,
    result: &Result<Box<Answer>, Box<Problem>>,
) -> bool {
    if !matches!(query, Query::ListFleet(_)) {
        return false;
    }
    let result = result.as_deref().map_err(|problem| &**problem);
    let Some(page) = panel::reply::<ListFleet>(result) else {
        return false;
    };
    let figures = page.map(|page| page.items);
    state.fleet.figures.insert(host, figures);
    arrange(state, false);
    state.touch(Dirty::Soon);
    true
}

/// What of the Queue is of each channel: how much, and since when the oldest waits.
pub type Waiting = BTreeMap<FleetKey, (usize, Option<Timestamp>)>;

/// Counts what waits, by channel.
pub fn waiting(state: &State) -> Waiting {
    let hosts = &state.model.hosts;
    let mut waiting = Waiting::new();
    for key in state.model.queue.waiting(hosts) {
        let Some(world) = hosts.world(key.host) else {
            continue;
        };
        let Some(channel) = item::channel(world, &key.item) else {
            continue;
        };
        let of = FleetKey {
            host: key.host,
            channel: channel.to_owned(),
        };
        let (count, oldest) = waiting.entry(of).or_default();
        *count += 1;
        let since = item::since(world, &key.item);
        *oldest = [*oldest, since].into_iter().flatten().min();
    }
    waiting
}

/// A channel as the events of its daemon tell it.
pub fn channel<'s>(state: &'s State, key: &FleetKey) -> Option<&'s Channel> {
    state
        .model
        .hosts
        .world(key.host)?
        .channels
        .get(&key.channel)
}

/// Without an order of the operator: what waits the longest, then what does not work or did not, then the rest by name.
fn arrange(state: &mut State, afresh: bool) {
    let waiting = waiting(state);
    let mut all: Vec<FleetKey> = Vec::new();
    for (host, known) in state.model.hosts.iter() {
        let names = known.world.channels.keys();
        all.extend(names.map(|channel| FleetKey {
            host,
            channel: channel.clone(),
        }));
    }
    all.sort_by_cached_key(|key| {
        let (count, since) = waiting.get(key).copied().unwrap_or_default();
        let is_lost = state
            .model
            .hosts
            .get(key.host)
            .is_none_or(|host| !host.is_live());
        let has_failed = state
            .fleet
            .figures_of(key)
            .is_some_and(|one| one.failed() > 0);
        let rank = match (count, is_lost, has_failed) {
            (1.., _, _) => 0,
            (0, true, _) => 1,
            (0, false, true) => 2,
            (0, false, false) => 3,
        };
        (rank, since, key.clone())
    });
    panel::arrange(
        state,
        afresh,
        |state| &mut state.fleet.list,
        all,
        |state, key| cells(state, key, &waiting),
    );
}

/// How a channel stands in one word: its own, or that of a daemon that cannot be reached.
pub fn state_word(state: &State, key: &FleetKey) -> String {
    let lost = state
        .model
        .hosts
        .get(key.host)
        .filter(|host| !host.is_live());
    match lost {
        Some(host) => host.link_word(state.model.now.wall, false),
        None => channel(state, key).map_or_else(String::new, |one| one.state_word().to_owned()),
    }
}

/// What the list shows of a channel, in the order of its columns.
pub fn cells(state: &State, key: &FleetKey, waiting: &Waiting) -> Vec<Cell> {
    let now = state.model.now.wall;
    let age = |at: Option<Timestamp>| match at {
        Some(at) => Cell::ranked(format::age(now, at), -(at.as_millis() as f64)),
        None => Cell::new("-"),
    };
    let (count, oldest) = waiting.get(key).copied().unwrap_or_default();
    let reply = channel(state, key).and_then(|one| one.health.last_outbound_at);
    let figures = state.fleet.figures_of(key);
    let counted =
        |cell: &dyn Fn(&FleetChannel) -> Cell| figures.map_or_else(|| Cell::new("…"), cell);
    let chart =
        |values: &[u64]| Cell::ranked(bars(values, HOURS), values.iter().sum::<u64>() as f64);
    let mut cells = vec![
        Cell::new(&key.channel),
        Cell::new(state_word(state, key)),
        Cell::ranked(count.to_string(), count as f64),
        age(oldest),
        counted(&|one| Cell::ranked(one.failed().to_string(), one.failed() as f64)),
        counted(&|one| Cell::ranked(format::money(one.spent_usd), one.spent_usd.unwrap_or(-1.0))),
        counted(&|one| match &one.budget {
            Some(budget) => Cell::ranked(format!("{:.0}%", budget.percent), budget.percent),
            None => Cell::new("-"),
        }),
        age(reply),
        counted(&|one| chart(&one.turns)),
        counted(&|one| chart(&one.errors)),
    ];
    if state.model.hosts.several() {
        cells.insert(0, Cell::new(state.model.hosts.name(key.host)));
    }
    cells
}

fn open(state: &mut State) -> Opening {
    match &state.fleet.list.selected {
        Some(key) => Opening::Channel(key.channel.clone()),
        None => Opening::Here(state.nothing(Action::Open)),
    }
}

fn copied(state: &State, all: bool) -> Option<String> {
    let key = state.fleet.list.selected.as_ref()?;
    panel::copied(&key.channel, state.fleet.figures_of(key), all)
}
