//! The Channels screen: health by exchanges, autonomy, lists.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::clock::Timestamp;
use crate::protocol::channel::{Channel, ChannelDrain};
use crate::protocol::words::{Autonomy, ChannelState};
use crate::tui::format;
use crate::tui::message::{FrameReport, Spot};
use crate::tui::shown;
use crate::tui::state::app::State;
use crate::tui::theme::roles::{Role, Theme};
use crate::tui::view::paint::{self, span};

/// The role of an autonomy level.
pub const fn autonomy_role(autonomy: Autonomy) -> Role {
    match autonomy {
        Autonomy::Supervised => Role::RiskLow,
        Autonomy::SemiAuto => Role::RiskMedium,
        Autonomy::Full => Role::RiskHigh,
    }
}

const fn state_role(state: ChannelState) -> Role {
    match state {
        ChannelState::Connected => Role::StateGood,
        ChannelState::Starting | ChannelState::Degraded | ChannelState::Paused => {
            Role::StateWaiting
        }
        ChannelState::Failed => Role::StateBad,
        ChannelState::Local => Role::StateIdle,
    }
}

/// Draws the screen.
pub fn draw(state: &State, theme: &Theme, area: Rect, buf: &mut Buffer, report: &mut FrameReport) {
    let selected = state
        .channels
        .selected
        .as_ref()
        .and_then(|name| state.world.channels.get(name));
    let detail_rows = match selected {
        Some(channel) if area.height >= 14 => {
            9 + u16::from(channel.draining.is_some()) + u16::from(channel.taken_over > 0)
        }
        Some(_) | None => 0,
    };
    let list_area = Rect {
        height: area.height - detail_rows,
        ..area
    };
    list(state, theme, list_area, buf, report);
    if let (Some(channel), true) = (selected, detail_rows > 0) {
        let detail_area = Rect {
            y: list_area.bottom(),
            height: detail_rows,
            ..area
        };
        detail(state, theme, channel, detail_area, buf);
    }
}

fn list(state: &State, theme: &Theme, area: Rect, buf: &mut Buffer, report: &mut FrameReport) {
    let count = state.channels.order.len();
    let inner = paint::padded(paint::panel(
        buf,
        area,
        theme,
        &format!("Channels  {count}"),
        true,
    ));
    let width = usize::from(inner.width);
    let account = if width >= 90 { 16 } else { 0 };
    let exchange = if width >= 66 { 9 } else { 0 };
    let lists = if width >= 110 { 22 } else { 0 };
    let gap = |n: usize| if n == 0 { 0 } else { n + 1 };
    let name = width
        .saturating_sub(2 + 1 + 10 + 1 + 14 + gap(account) + gap(exchange) + gap(lists) + 8 + 9)
        .clamp(8, 28);
    let compose = |cells: [&str; 8]| {
        let [channel, health, level, who, seen, rules, waiting, unsent] = cells;
        let mut parts = vec![
            shown::column(channel, name),
            shown::column(health, 10),
            shown::column(level, 14),
        ];
        for (text, width) in [(who, account), (seen, exchange), (rules, lists)] {
            if width > 0 {
                parts.push(shown::column(text, width));
            }
        }
        parts.push(format!("{:>7}", shown::line(waiting, 7)));
        parts.push(format!("{:>8}", shown::line(unsent, 8)));
        parts
    };
    paint::line(
        buf,
        inner,
        0,
        &Line::from(vec![
            Span::raw("  "),
            span(
                theme,
                Role::TableHead,
                compose([
                    "channel",
                    "state",
                    "autonomy",
                    "account",
                    "exchange",
                    "allow/block/ask",
                    "waiting",
                    "unsent",
                ])
                .join(" "),
            ),
        ]),
    );
    let height = usize::from(inner.height.saturating_sub(1));
    let chosen = state
        .channels
        .selected
        .as_ref()
        .and_then(|s| state.channels.order.iter().position(|k| k == s));
    let first = paint::first_row(chosen, count, height);
    for (offset, key) in state
        .channels
        .order
        .iter()
        .skip(first)
        .take(height)
        .enumerate()
    {
        let at = 1 + u16::try_from(offset).unwrap_or(u16::MAX);
        let Some(channel) = state.world.channels.get(key) else {
            continue;
        };
        let health = if channel.paused {
            ChannelState::Paused
        } else {
            channel.health.state
        };
        let policy = &channel.policy;
        let level = match policy.expires_at {
            Some(until) => format!(
                "{} {}",
                policy.autonomy,
                format::left(state.now.wall, until)
            ),
            None => policy.autonomy.as_str().to_owned(),
        };
        let word = match channel.draining {
            _ if channel.held && !channel.paused => "held",
            Some(_) if !channel.paused => "draining",
            Some(_) | None => health.as_str(),
        };
        let cells = compose([
            &channel.name,
            word,
            &level,
            channel.account.as_deref().unwrap_or("-"),
            &ago(state, channel.health.last_exchange_at),
            &format!(
                "{} / {} / {}",
                policy.auto_approve.len(),
                policy.block.len(),
                policy.always_ask.len()
            ),
            &channel.pending_approvals.to_string(),
            &channel.backlog.to_string(),
        ]);
        report.spot(paint::row(inner, at), || Spot::Channel(key.clone()));
        let is_selected = state.channels.selected.as_ref() == Some(key);
        let mut spans = vec![Span::raw(if is_selected { "> " } else { "  " })];
        for (index, cell) in cells.into_iter().enumerate() {
            if index > 0 {
                spans.push(Span::raw(" "));
            }
            let role = match index {
                0 => Role::TextStrong,
                1 if channel.held => state_role(ChannelState::Paused),
                1 => state_role(health),
                2 => autonomy_role(policy.autonomy),
                _ => Role::TextMuted,
            };
            spans.push(span(theme, role, cell));
        }
        paint::line(buf, inner, at, &Line::from(spans));
        if is_selected {
            paint::select(buf, paint::row(inner, at), theme, Role::Selection);
        }
    }
}

fn ago(state: &State, at: Option<Timestamp>) -> String {
    at.map_or_else(|| "-".to_owned(), |at| format::age(state.now.wall, at))
}

/// What the response cache did for a channel today: `12 hits, 3 misses (tools used 2, expired 1)`.
fn cache_line(state: &State, channel: &str) -> String {
    let cache = &state.world.cache;
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

/// How far a drain is: `since 4m: 1 runs, 0 wait for a person, 2 unsent; 3 messages are held back`.
fn drain_line(state: &State, channel: &Channel, drain: &ChannelDrain) -> String {
    let since = format::age(state.now.wall, drain.since);
    if drain.running == 0 && drain.waiting == 0 && channel.backlog == 0 {
        return format!(
            "done, since {since}: nothing runs; {} messages are held back",
            drain.held_back
        );
    }
    format!(
        "since {since}: {} run, {} wait for a person, {} unsent; {} messages are held back",
        drain.running, drain.waiting, channel.backlog, drain.held_back
    )
}

fn detail(state: &State, theme: &Theme, channel: &Channel, area: Rect, buf: &mut Buffer) {
    let inner = paint::padded(paint::panel(buf, area, theme, &channel.name, false));
    let health = &channel.health;
    let names = |list: &[String]| {
        if list.is_empty() {
            "none".to_owned()
        } else {
            list.join(", ")
        }
    };
    let limited = health
        .rate_limited_until
        .filter(|at| *at > state.now.wall)
        .map_or_else(String::new, |at| {
            format!(" · asked to wait {}", format::left(state.now.wall, at))
        });
    let after = match (channel.policy.expires_at, channel.policy.reverts_to) {
        (Some(at), Some(level)) => {
            format!(" · {} left, then {level}", format::left(state.now.wall, at))
        }
        _ => String::new(),
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
                channel.policy.autonomy, channel.policy.version
            ),
        ),
        ("runs alone", names(&channel.policy.auto_approve)),
        ("never runs", names(&channel.policy.block)),
        ("always asks", names(&channel.policy.always_ask)),
        (
            "now",
            format!(
                "{} sessions active, {} approvals wait, {} parts unsent",
                channel.active_sessions, channel.pending_approvals, channel.backlog
            ),
        ),
        ("cache", cache_line(state, &channel.name)),
    ];
    if channel.asking > 0 || channel.paired > 0 {
        let strangers = format!(
            "{} ask to be let in, {} were let in",
            channel.asking, channel.paired
        );
        // Before the last row, which a small terminal has no place for.
        rows.insert(rows.len() - 1, ("strangers", strangers));
    }
    if let Some(drain) = &channel.draining {
        rows.push(("draining", drain_line(state, channel, drain)));
    }
    if channel.taken_over > 0 {
        let held = match channel.taken_over {
            1 => "1 conversation is".to_owned(),
            count => format!("{count} conversations are"),
        };
        rows.push(("taken over", format!("{held} held by a person")));
    }
    let value_width = usize::from(inner.width).saturating_sub(paint::LABEL);
    for (at, (label, value)) in rows.into_iter().enumerate() {
        let line = Line::from(vec![
            span(theme, Role::Label, shown::column(label, paint::LABEL)),
            span(theme, Role::Text, shown::line(&value, value_width)),
        ]);
        paint::line(buf, inner, u16::try_from(at).unwrap_or(u16::MAX), &line);
    }
}
