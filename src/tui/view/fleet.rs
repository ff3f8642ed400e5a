//! The fleet board: every channel of every daemon, what needs a person first.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use crate::console::{decision, format, preview};
use crate::protocol::costs::BudgetUsage;
use crate::protocol::enums::ChannelState;
use crate::protocol::fleet::{FleetChannel, HOURS};
use crate::text::bars::bars;
use crate::tui::message::{FrameReport, HitRegion};
use crate::tui::sanitize;
use crate::tui::state::app::State;
use crate::tui::state::fleet::FleetKey;
use crate::tui::state::fleet_screen::{Waiting, cells, channel, columns, state_word, waiting};
use crate::tui::theme::roles::{Role, Theme};
use crate::tui::view::card_body::Body;
use crate::tui::view::channels::{autonomy_role, state_role};
use crate::tui::view::list_panel::ListPanel;
use crate::tui::view::table::{Column, Fit, column};
use crate::tui::view::{detail, paint};

/// Questions that the peek lists.
const QUESTIONS: usize = 5;

/// Columns of a console with several daemons.
const TABLE: [Column; 11] = [
    column(8, 1, Role::TextMuted, Fit::Left),
    column(12, 0, Role::TextStrong, Fit::Rest),
    column(10, 0, Role::Text, Fit::Left),
    column(7, 0, Role::Text, Fit::Right),
    column(6, 0, Role::TextMuted, Fit::Right),
    column(6, 2, Role::TextMuted, Fit::Right),
    column(7, 3, Role::TextMuted, Fit::Right),
    column(6, 4, Role::TextMuted, Fit::Right),
    column(5, 5, Role::TextMuted, Fit::Right),
    column(HOURS, 6, Role::StateRunning, Fit::Left),
    column(HOURS, 7, Role::StateBad, Fit::Left),
];

pub fn draw(state: &State, theme: &Theme, area: Rect, buf: &mut Buffer, report: &mut FrameReport) {
    let list = &state.fleet.list;
    let waiting = &waiting(state);
    let several = state.model.hosts.several();
    let table = match &TABLE[..] {
        [_, of_one @ ..] if !several => of_one,
        all => all,
    };
    let first = usize::from(several);
    let problems = state.fleet.figures.iter();
    let problems = problems.filter_map(|(host, figures)| {
        let why = figures.as_ref().err()?;
        let name = state.model.hosts.name(*host);
        Some((Role::NoticeError, format!("{name} does not count: {why}")))
    });
    let panel = ListPanel {
        title: format!("Fleet  {} channels", list.count()),
        above: problems.collect(),
        empty: vec![(
            Role::TextMuted,
            "no daemon has sent its channels yet".to_owned(),
        )],
        cells: &|key| cells(state, key, waiting),
        roles: &|key| {
            let mut roles = vec![(first + 1, role_of(state, key))];
            if waiting.contains_key(key) {
                roles.extend([first + 2, first + 3].map(|at| (at, Role::StateWaiting)));
            }
            if let Some(figures) = state.fleet.figures_of(key) {
                roles.extend((figures.failed() > 0).then_some((first + 4, Role::StateBad)));
                let percent = figures.budget.as_ref().map_or(0.0, |one| one.percent);
                roles.extend(budget_role(percent).map(|role| (first + 6, role)));
            }
            roles
        },
        region: Some(&HitRegion::FleetChannel),
        ..ListPanel::new(list, columns(state), table)
    };
    panel.draw_with_detail(state, theme, area, buf, report, |area| {
        let key = list.selected.as_ref()?;
        let lines = peek(state, theme, key, waiting, detail::columns(area));
        Some((sanitize::whole_line(&key.channel), lines))
    });
}

fn role_of(state: &State, key: &FleetKey) -> Role {
    let is_live = |key: &FleetKey| {
        let host = state.model.hosts.get(key.host);
        host.is_some_and(crate::console::hosts::Host::is_live)
    };
    match channel(state, key) {
        Some(_) if !is_live(key) => Role::StateBad,
        Some(channel) if channel.paused || channel.held => state_role(ChannelState::Paused),
        Some(channel) => state_role(channel.health.state),
        None => Role::StateIdle,
    }
}

/// How a budget is marked that is nearly or wholly used up.
fn budget_role(percent: f64) -> Option<Role> {
    match percent {
        100.0.. => Some(Role::StateBad),
        80.0.. => Some(Role::StateWaiting),
        _ => None,
    }
}

/// What is known of a channel, and what waits there.
fn peek(
    state: &State,
    theme: &Theme,
    key: &FleetKey,
    waiting: &Waiting,
    width: usize,
) -> Vec<Line<'static>> {
    let now = state.model.now.wall;
    let mut body = Body::new(theme, width);
    if state.model.hosts.several() {
        body.field("host", Role::Text, state.model.hosts.name(key.host));
    }
    let Some(channel) = channel(state, key) else {
        return body.lines;
    };
    let mut word = state_word(state, key);
    if let Some(detail) = &channel.health.detail {
        word.push_str(&format!(" · {detail}"));
    }
    body.field("state", role_of(state, key), &word);
    let level = channel.policy.autonomy;
    body.field("autonomy", autonomy_role(level), &channel.level_text(level));
    let reply = channel.health.last_outbound_at;
    let reply = reply.map_or_else(
        || "none yet".to_owned(),
        |at| format!("{} ago", format::age(now, at)),
    );
    body.field("last reply", Role::Text, &reply);
    body.known(state.fleet.figures.get(&key.host), "asking the engine …");
    if let Some(figures) = state.fleet.figures_of(key) {
        counted(&mut body, figures);
    }
    let (count, _) = waiting.get(key).copied().unwrap_or_default();
    if count == 0 {
        body.field("waiting", Role::StateGood, "nothing needs a person");
        return body.lines;
    }
    body.heading(&format!("{count} of the Queue"));
    let world = state.model.hosts.world(key.host);
    let pending = world.into_iter().flat_map(|world| world.pending());
    let mut questions: Vec<_> = pending.filter(|one| one.channel == key.channel).collect();
    questions.sort_by_key(|one| one.requested_at);
    let mut listed = 0;
    for approval in questions.into_iter().take(QUESTIONS) {
        listed += 1;
        let since = format::age(now, approval.requested_at);
        let what = preview::one_line(approval);
        let text = format!("{} {what}, {since} ago", decision::title(approval));
        let role = paint::risk_role(approval.risk);
        body.excerpt(approval.risk.as_str(), role, &text, 1);
    }
    if count > listed {
        body.text(
            Role::TextMuted,
            &format!("{} more on the Queue", count - listed),
        );
    }
    body.lines
}

/// Spending, turns and errors.
fn counted(body: &mut Body<'_>, figures: &FleetChannel) {
    let spent = format::money(figures.spent_usd);
    let of = figures
        .budget
        .as_ref()
        .map_or_else(String::new, budget_text);
    body.field("spend today", Role::Text, &format!("{spent}{of}"));
    let turns: u64 = figures.turns.iter().sum();
    let chart = |values: &[u64], count: u64| format!("{}  {count} in 24h", bars(values, HOURS));
    body.field("turns", Role::StateRunning, &chart(&figures.turns, turns));
    let role = if figures.failed() > 0 {
        Role::StateBad
    } else {
        Role::StateGood
    };
    body.field("errors", role, &chart(&figures.errors, figures.failed()));
}

/// How far a budget is used up: `, 12 % of its $5.00`.
fn budget_text(budget: &BudgetUsage) -> String {
    let limit = if budget.budget.ends_with("_cost") {
        format::money(Some(budget.limit))
    } else {
        format!("{} tokens", format::count(budget.limit as u64))
    };
    format!(", {:.0} % of its {limit}", budget.percent)
}
