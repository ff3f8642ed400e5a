//! What Channels lists and does. Nothing here is drawn.

use crate::console::format;
use crate::tui::action::Action;
use crate::tui::message::Effect;
use crate::tui::state::app::State;
use crate::tui::state::list::Cell;
use crate::tui::state::opening;
use crate::tui::state::panel::{self, ListScreen, Opening, Panel};

pub const PANEL: Panel = Panel {
    open: |state| Opening::Here(open(state)),
    copied: |state, all| {
        let name = state.screens.channels.selected.as_ref()?;
        panel::copied(name, state.model.world().channels.get(name), all)
    },
    channel: |state| state.screens.channels.selected.clone(),
    hints: |_| {
        vec![
            Action::Autonomy,
            Action::ToolLists,
            Action::PauseChannel,
            Action::DrainChannel,
            Action::TestChannel,
        ]
    },
    ..Panel::new(ListScreen::new(
        |state| &mut state.screens.channels,
        |_| COLUMNS,
        arrange,
    ))
};

pub const COLUMNS: &[&str] = &[
    "channel",
    "state",
    "autonomy",
    "account",
    "exchange",
    "allow/block/ask",
    "waiting",
    "unsent",
];

fn arrange(state: &mut State, afresh: bool) {
    let all = state.model.world().channels.keys().cloned().collect();
    panel::arrange(
        state,
        afresh,
        |state| &mut state.screens.channels,
        all,
        |state, name| cells(state, name),
    );
}

/// What the list shows of a channel, in the order of its columns.
pub fn cells(state: &State, name: &str) -> Vec<Cell> {
    let Some(channel) = state.model.world().channels.get(name) else {
        return Vec::new();
    };
    let now = state.model.now.wall;
    let policy = &channel.policy;
    let level = match policy.expires_at {
        Some(until) => format!("{} {}", policy.autonomy, format::left(now, until)),
        None => policy.autonomy.as_str().to_owned(),
    };
    let rules = [&policy.auto_approve, &policy.block, &policy.always_ask].map(Vec::len);
    let exchange = match channel.health.last_exchange_at {
        Some(at) => Cell::ranked(format::age(now, at), -(at.as_millis() as f64)),
        None => Cell::new("-"),
    };
    vec![
        Cell::new(&channel.name),
        Cell::new(channel.state_word()),
        Cell::new(level),
        Cell::new(channel.account.as_deref().unwrap_or("-")),
        exchange,
        Cell::new(format!("{} / {} / {}", rules[0], rules[1], rules[2])),
        Cell::ranked(
            channel.pending_approvals.to_string(),
            f64::from(channel.pending_approvals),
        ),
        Cell::ranked(channel.backlog.to_string(), f64::from(channel.backlog)),
    ]
}

fn open(state: &mut State) -> Vec<Effect> {
    match state.screens.channels.selected.clone() {
        Some(channel) => opening::open_dial(state, &channel),
        None => state.nothing(Action::Open),
    }
}
