//! The first line: where, whether it is reached, what needs a person, badges, money, time.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::console::access::{Access, Hosting};
use crate::console::format;
use crate::console::hosts::Link;
use crate::console::ids::HostId;
use crate::protocol::enums::Autonomy;
use crate::protocol::session::RefusedCalls;
use crate::tui::sanitize;
use crate::tui::state::app::State;
use crate::tui::theme::roles::{Role, Theme};
use crate::tui::view::console::HOST_COLUMNS;
use crate::tui::view::paint::{self, span};

/// After this long a conversation that nobody gave back stands out.
const REMIND_MS: u64 = 30 * 60 * 1000;

/// Draws the header. What matters most is kept when the line is short.
pub fn draw(state: &State, theme: &Theme, area: Rect, buf: &mut Buffer) {
    buf.set_style(area, theme.style(Role::Header));
    let engine = state.model.world().engine.as_ref();
    let width = usize::from(area.width);
    let mut left: Vec<(Role, String)> = Vec::new();
    let several = state.model.hosts.several();
    if state.replay.is_some() {
        left.push((Role::HeaderDanger, " REPLAY ".to_owned()));
    }
    if !several {
        let instance = engine.map_or("leverframe", |e| e.instance.as_str());
        left.push((Role::Header, sanitize::line(instance, 24)));
    }
    let (needs, oldest) = state.model.needs();
    if needs > 0 {
        let age = oldest.map_or_else(String::new, |at| {
            format!(" (oldest {})", format::age(state.model.now.wall, at))
        });
        left.push((Role::HeaderAttention, format!("{needs} need you{age}")));
    } else if state.is_live() && state.replay.is_none() {
        left.push((Role::HeaderMuted, "nothing needs you".to_owned()));
    }
    let refused = state.model.world().refused_calls(None);
    if refused > 0 {
        left.push((Role::HeaderAttention, RefusedCalls::text(refused)));
    }
    let badges = left.len();
    let (full, unguarded): (Vec<_>, Vec<_>) = state
        .model
        .world()
        .channels
        .values()
        .filter(|c| c.policy.autonomy == Autonomy::Full)
        .partition(|c| c.taint_guard_in_full);
    // With several, each says it of itself.
    if engine.is_some_and(|e| e.held_since.is_some() && !e.quarantine) && !several {
        left.push((Role::HeaderDanger, " EMERGENCY STOP ".to_owned()));
    }
    if engine.is_some_and(|e| e.quarantine) {
        left.push((Role::HeaderDanger, " QUARANTINE ".to_owned()));
    }
    if let Some((role, text)) = taken_over(state) {
        left.push((role, text));
    }
    if let Some(draining) = engine.and_then(|e| e.draining) {
        left.push((
            Role::HeaderDanger,
            format!(
                " DRAINING {} running, {} to send ",
                draining.turns, draining.deliveries
            ),
        ));
    }
    if engine.is_some_and(|e| !e.writable) {
        left.push((Role::HeaderDanger, " CANNOT SAVE ".to_owned()));
    }
    for (badge, channels) in [("FULL, NO TAINT GUARD", unguarded), ("FULL", full)] {
        let names: Vec<&str> = channels.iter().map(|c| c.name.as_str()).collect();
        if !names.is_empty() {
            left.push((
                Role::HeaderDanger,
                format!(" {badge} {} ", sanitize::line(&names.join(" "), 24)),
            ));
        }
    }
    if state.model.access == Access::ReadOnly {
        left.push((Role::HeaderAttention, "READ-ONLY".to_owned()));
    } else if state.locked {
        left.push((Role::HeaderAttention, "LOCKED".to_owned()));
    }
    if engine.is_some_and(|e| e.scripted) && (!several || width >= 100) {
        let text = if width >= 64 && !several {
            "demo: scripted, no model"
        } else {
            "scripted"
        };
        left.push((Role::HeaderMuted, text.to_owned()));
    }
    let place = match &state.model.hosting {
        Hosting::Embedded { .. } => "local",
        Hosting::Attached => "attached",
    };
    let (link, short_link) = match &state.model.host().link {
        Link::Connecting => ("connecting".to_owned(), "connecting".to_owned()),
        Link::Live { since } => {
            let age = format::age(state.model.now.wall, *since);
            (
                format!("{} {age}", sanitize::line(&state.model.host().place, 48)),
                format!("{place} {age}"),
            )
        }
        Link::Lost { since, .. } => {
            let lost = format!("lost {}", format::age(state.model.now.wall, *since));
            (lost.clone(), lost)
        }
        Link::Refused { .. } => ("refused".to_owned(), "refused".to_owned()),
    };
    // Where nothing was spent there is nothing to say.
    let spent = engine.filter(|e| e.usage_today.input_tokens + e.usage_today.output_tokens > 0);
    let spend = spent.map_or_else(String::new, |e| {
        let budget = e
            .budget_today_usd
            .map_or_else(String::new, |b| format!(" of {}", format::money(Some(b))));
        format!("{}{budget} today", format::money(e.usage_today.cost_usd))
    });
    let clock = format::clock(state.model.now.wall);
    if several {
        let taken: usize = left.iter().map(|(_, t)| sanitize::width(t) + 2).sum();
        let room = width.saturating_sub(taken + sanitize::width(&clock) + 3);
        let at = badges.min(left.len());
        left.splice(at..at, hosts_line(state, room));
    }
    let left_width: usize = left
        .iter()
        .map(|(_, t)| sanitize::width(t) + 2)
        .sum::<usize>()
        + 1;
    // Where the engine is outlasts money and time: a console that is not what it seems is the worse surprise.
    let nothing = String::new();
    let on_call = on_call(state);
    // Each host says for itself how it is reached.
    let (link, short_link) = if several {
        (&nothing, &nothing)
    } else {
        (&link, &short_link)
    };
    let right = [
        vec![link, &on_call, &spend, &clock],
        vec![short_link, &on_call, &spend, &clock],
        vec![short_link, &on_call, &clock],
        vec![link, &spend, &clock],
        vec![short_link, &spend, &clock],
        vec![short_link, &clock],
        vec![short_link],
    ]
    .into_iter()
    .map(|parts| {
        parts
            .into_iter()
            .filter(|s| !s.is_empty())
            .collect::<Vec<_>>()
    })
    .find(|parts| left_width + parts.iter().map(|t| sanitize::width(t) + 2).sum::<usize>() <= width)
    .unwrap_or_default();
    let mut spans = vec![Span::raw(" ")];
    for (role, text) in left {
        spans.push(span(theme, role, text));
        spans.push(Span::raw("  "));
    }
    paint::line(buf, area, 0, &Line::from(spans));
    let text = right
        .iter()
        .map(|part| part.as_str())
        .collect::<Vec<_>>()
        .join("  ");
    let taken = paint::cells(sanitize::width(&text) + 1);
    if !text.is_empty() && taken <= area.width {
        let target = paint::split_left(area, area.width - taken).1;
        paint::put(buf, target, 0, theme, Role::HeaderMuted, &text);
    }
}

/// Who is on call and for how long, or that their time is over; nothing where nobody was said to be.
fn on_call(state: &State) -> String {
    let now = state.model.now.wall;
    let on_call_status = &state.model.world().on_call_status;
    match (&on_call_status.on_call, &on_call_status.ended) {
        (Some(one), _) => {
            // Drawn once a minute: no seconds, which would be wrong by then.
            let left = one.until.map_or_else(String::new, |at| {
                if at.millis_since(now) < 60_000 {
                    " <1m".to_owned()
                } else {
                    format!(" {}", format::left(now, at))
                }
            });
            format!("on call: {}{left}", sanitize::line(&one.name, 16))
        }
        (None, Some(one)) => format!("on call: {} ended", sanitize::line(&one.name, 16)),
        (None, None) => String::new(),
    }
}

/// Conversations that people hold, and since when the oldest: a word at first, a reminder after half an hour.
fn taken_over(state: &State) -> Option<(Role, String)> {
    let sessions = state.model.world().sessions.values();
    let held: Vec<_> = sessions.filter_map(|s| s.taken_over.as_ref()).collect();
    let oldest = held.iter().map(|held| held.at).min()?;
    let age = format::age(state.model.now.wall, oldest);
    let text = match held.as_slice() {
        [one] => format!("TAKEN OVER by {} {age}", sanitize::line(&one.by, 16)),
        _ => format!("{} TAKEN OVER {age}", held.len()),
    };
    Some(if state.model.now.wall.millis_since(oldest) < REMIND_MS {
        (Role::HeaderAttention, text)
    } else {
        (Role::HeaderDanger, format!(" {text} "))
    })
}

/// Every host: how it is reached, and what of it needs a person. As much as fits, in words that get shorter;
/// what is wrong stays longest.
fn hosts_line(state: &State, room: usize) -> Vec<(Role, String)> {
    let describe = |id: HostId, whole: bool| {
        let name = sanitize::line(state.model.hosts.name(id), HOST_COLUMNS);
        let host = state.model.hosts.get(id);
        let link = host.map_or_else(String::new, |host| {
            host.link_word(state.model.now.wall, whole)
        });
        let needs = match (state.model.needs_of(id), whole) {
            (0, _) => String::new(),
            (needs, true) => format!("{needs} need you"),
            (needs, false) => needs.to_string(),
        };
        let engine = host.and_then(|host| host.world.engine.as_ref());
        let held = engine.is_some_and(|engine| engine.held_since.is_some());
        let held = if held { "STOPPED" } else { "" };
        let words: Vec<&str> = [held, link.as_str(), needs.as_str()]
            .into_iter()
            .filter(|word| !word.is_empty())
            .collect();
        let focused = id == state.model.hosts.focused();
        let role = if !held.is_empty()
            || host
                .is_some_and(|host| matches!(host.link, Link::Lost { .. } | Link::Refused { .. }))
        {
            Role::HeaderDanger
        } else if focused {
            Role::Header
        } else {
            Role::HeaderMuted
        };
        let mark = if focused { ">" } else { "" };
        let separator = if whole { ": " } else { " " };
        let text = format!("{mark}{name}{separator}{}", words.join(", "));
        (role, text.trim_end().trim_end_matches(':').to_owned())
    };
    let mut parts: Vec<(Role, String)> = state
        .model
        .hosts
        .ids()
        .map(|id| describe(id, true))
        .collect();
    let width = |parts: &[(Role, String)]| -> usize {
        parts.iter().map(|(_, t)| sanitize::width(t) + 2).sum()
    };
    if width(&parts) > room {
        parts = state
            .model
            .hosts
            .ids()
            .map(|id| describe(id, false))
            .collect();
    }
    // What does not fit is counted; what is wrong gives way last.
    let mut hidden = 0;
    while width(&parts) > room && !parts.is_empty() {
        let last = parts
            .iter()
            .rposition(|(role, _)| *role == Role::HeaderMuted)
            .unwrap_or(parts.len() - 1);
        parts.remove(last);
        hidden += 1;
    }
    if hidden > 0 {
        parts.push((Role::HeaderMuted, format!("+{hidden}")));
    }
    parts
}
