//! The Channels screen: health by exchanges, autonomy, lists.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use crate::clock::Timestamp;
use crate::console::format;
use crate::protocol::channel::{Channel, ChannelDrain};
use crate::protocol::enums::{Autonomy, ChannelState};
use crate::protocol::session::RefusedCalls;
use crate::tui::message::{FrameReport, HitRegion};
use crate::tui::sanitize;
use crate::tui::state::app::State;
use crate::tui::state::channels_screen::{COLUMNS, cells};
use crate::tui::theme::roles::{Role, Theme};
use crate::tui::view::list_panel::ListPanel;
use crate::tui::view::paint::{self, span};
use crate::tui::view::table::{Column, Fit, column};

/// The role of an autonomy level.
pub const fn autonomy_role(autonomy: Autonomy) -> Role {
    match autonomy {
        Autonomy::Supervised => Role::RiskLow,
        Autonomy::SemiAuto => Role::RiskMedium,
        Autonomy::Full => Role::RiskHigh,
    }
}

pub const fn state_role(state: ChannelState) -> Role {
    match state {
        ChannelState::Connected => Role::StateGood,
        ChannelState::Starting | ChannelState::Degraded | ChannelState::Paused => {
            Role::StateWaiting
        }
        ChannelState::Failed => Role::StateBad,
        ChannelState::Local => Role::StateIdle,
    }
}

pub fn draw(state: &State, theme: &Theme, area: Rect, buf: &mut Buffer, report: &mut FrameReport) {
    let selected = state
        .screens
        .channels
        .selected
        .as_ref()
        .and_then(|name| state.model.world().channels.get(name));
    let detail_rows = match selected {
        Some(channel) if area.height >= 14 => {
            9 + u16::from(channel.draining.is_some()) + u16::from(channel.taken_over > 0)
        }
        Some(_) | None => 0,
    };
    let (list_area, detail_area) = paint::split_top(area, area.height - detail_rows);
    list(state, theme, list_area, buf, report);
    if let (Some(channel), true) = (selected, detail_rows > 0) {
        detail(state, theme, channel, detail_area, buf);
    }
}

fn list(state: &State, theme: &Theme, area: Rect, buf: &mut Buffer, report: &mut FrameReport) {
    let list = &state.screens.channels;
    let channels = &state.model.world().channels;
    let shown = ListPanel {
        title: format!("Channels  {}", list.count()),
        focused: true,
        cells: &|name: &String| cells(state, name),
        roles: &|name| {
            channels.get(name).map_or_else(Vec::new, |channel| {
                let health = if channel.paused || channel.held {
                    ChannelState::Paused
                } else {
                    channel.health.state
                };
                vec![
                    (1, state_role(health)),
                    (2, autonomy_role(channel.policy.autonomy)),
                ]
            })
        },
        region: Some(&HitRegion::Channel),
        ..ListPanel::new(list, COLUMNS, &TABLE)
    };
    shown.draw(theme, area, buf, report);
}

const TABLE: [Column; 8] = [
    column(12, 0, Role::TextStrong, Fit::Rest),
    column(10, 0, Role::Text, Fit::Left),
    column(14, 1, Role::Text, Fit::Left),
    column(16, 4, Role::TextMuted, Fit::Left),
    column(9, 3, Role::TextMuted, Fit::Left),
    column(22, 5, Role::TextMuted, Fit::Left),
    column(7, 0, Role::TextMuted, Fit::Right),
    column(8, 2, Role::TextMuted, Fit::Right),
];

fn ago(state: &State, at: Option<Timestamp>) -> String {
    at.map_or_else(
        || "-".to_owned(),
        |at| format::age(state.model.now.wall, at),
    )
}

/// What the response cache did for a channel today: `12 hits, 3 misses (tools used 2, expired 1)`.
fn cache_line(state: &State, channel: &str) -> String {
    let cache = &state.model.world().cache;
    let Some(group) = cache.channels.iter().find(|group| group.name == channel) else {
        return "none asked for today".to_owned();
    };
    let counts = &group.counts;
    let missed: u64 = counts.misses.values().sum();
    let reasons: Vec<String> = counts
        .misses
        .iter()
        .map(|(reason, times)| format!("{} {times}", reason.as_str().replace('_', " ")))
        .collect();
    let mut text = format!(
        "{} hits, {} shared, {missed} misses",
        counts.hits, counts.coalesced
    );
    if !reasons.is_empty() {
        text.push_str(&format!(" ({})", reasons.join(", ")));
    }
    if counts.tools.hits > 0 {
        text.push_str(&format!(" · {} tool results", counts.tools.hits));
    }
    if let Some(problem) = &cache.problem {
        text.push_str(&format!(" · not usable: {problem}"));
    }
    text
}

/// How far a drain is: `since 4m: 1 runs, 0 wait for a person, 2 unsent; 3 messages are queued`.
fn drain_line(state: &State, channel: &Channel, drain: &ChannelDrain) -> String {
    let since = format::age(state.model.now.wall, drain.since);
    if drain.running == 0 && drain.waiting == 0 && channel.backlog == 0 {
        return format!(
            "done, since {since}: nothing runs; {} messages are queued",
            drain.held_back
        );
    }
    format!(
        "since {since}: {} run, {} wait for a person, {} unsent; {} messages are queued",
        drain.running, drain.waiting, channel.backlog, drain.held_back
    )
}

fn detail(state: &State, theme: &Theme, channel: &Channel, area: Rect, buf: &mut Buffer) {
    let inner = paint::padded(paint::panel(buf, area, theme, &channel.name, false));
    let health = &channel.health;
    let limited = health
        .rate_limited_until
        .filter(|at| *at > state.model.now.wall)
        .map_or_else(String::new, |at| {
            format!(
                " · asked to wait {}",
                format::left(state.model.now.wall, at)
            )
        });
    let after = match (channel.policy.expires_at, channel.policy.reverts_to) {
        (Some(at), Some(level)) => {
            format!(
                " · {} left, then {level}",
                format::left(state.model.now.wall, at)
            )
        }
        _ => String::new(),
    };
    let refused = match state.model.world().refused_calls(Some(&channel.name)) {
        0 => String::new(),
        refused => format!(", {}", RefusedCalls::text(refused)),
    };
    let mut rows = vec![
        (
            "health",
            format!(
                "{} · in {} · out {} · reconnected {} times{limited}",
                health.detail.as_deref().unwrap_or(health.state.as_str()),
                ago(state, health.last_inbound_at),
                ago(state, health.last_outbound_at),
                health.reconnects
            ),
        ),
        (
            "autonomy",
            format!(
                "{} (policy version {}){after}",
                channel.level_text(channel.policy.autonomy),
                channel.policy.version
            ),
        ),
        ("runs alone", format::names(&channel.policy.auto_approve)),
        ("never runs", format::names(&channel.policy.block)),
        ("always asks", format::names(&channel.policy.always_ask)),
        (
            "now",
            format!(
                "{} sessions active, {} approvals wait, {} parts unsent{refused}",
                channel.active_sessions, channel.pending_approvals, channel.backlog
            ),
        ),
        ("cache", cache_line(state, &channel.name)),
    ];
    if channel.asking > 0 || channel.paired > 0 {
        let unknown = format!(
            "{} ask for access, {} have it",
            channel.asking, channel.paired
        );
        // Before the last row, which a small terminal has no place for.
        rows.insert(rows.len() - 1, ("unknown senders", unknown));
    }
    if let Some(drain) = &channel.draining {
        rows.push(("draining", drain_line(state, channel, drain)));
    }
    if channel.taken_over > 0 {
        let held = match channel.taken_over {
            1 => "1 conversation".to_owned(),
            count => format!("{count} conversations"),
        };
        rows.push(("taken over", held));
    }
    let value_width = usize::from(inner.width).saturating_sub(paint::LABEL);
    for (at, (label, value)) in (0..).zip(rows) {
        let line = Line::from(vec![
            span(theme, Role::Label, sanitize::column(label, paint::LABEL)),
            span(theme, Role::Text, sanitize::line(&value, value_width)),
        ]);
        paint::line(buf, inner, at, &line);
    }
}
