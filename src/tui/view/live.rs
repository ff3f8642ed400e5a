//! The Live screen: every session and what it is doing.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::protocol::words::SessionState;
use crate::tui::format;
use crate::tui::message::{FrameReport, Spot};
use crate::tui::shown;
use crate::tui::state::app::State;
use crate::tui::theme::roles::{Role, Theme};
use crate::tui::view::paint::{self, span};

/// Draws the screen.
pub fn draw(state: &State, theme: &Theme, area: Rect, buf: &mut Buffer, report: &mut FrameReport) {
    let count = state.live.order.len();
    let title = if count == 0 {
        "Live".to_owned()
    } else {
        format!("Live  {count} sessions")
    };
    let inner = paint::padded(paint::panel(buf, area, theme, &title, true));
    if count == 0 {
        for (at, text) in [
            (0, "No session yet."),
            (
                2,
                "A message on any channel opens one; n opens one here, at the desk.",
            ),
        ] {
            let role = if at == 0 {
                Role::TextStrong
            } else {
                Role::TextMuted
            };
            for (offset, line) in shown::block(text, usize::from(inner.width))
                .into_iter()
                .enumerate()
            {
                paint::line(
                    buf,
                    inner,
                    at + u16::try_from(offset).unwrap_or(0),
                    &Line::from(span(theme, role, line)),
                );
            }
        }
        return;
    }
    let width = usize::from(inner.width);
    let channel = if width >= 60 { 14 } else { 10 };
    let who = if width >= 76 { 12 } else { 0 };
    let tools = if width >= 100 { 16 } else { 0 };
    let tokens = if width >= 90 { 7 } else { 0 };
    let money = if width >= 70 { 7 } else { 0 };
    let age = 4;
    let gap = |n: usize| if n == 0 { 0 } else { n + 1 };
    let fixed = 2 + 15 + gap(channel) + gap(who) + gap(tools) + gap(tokens) + gap(money) + gap(age);
    let last = width.saturating_sub(fixed + 1);
    let compose = |cells: [&str; 8]| {
        let [word, on, by, line, running, count, cost, old] = cells;
        let mut parts = vec![shown::column(word, 15)];
        for (text, width) in [(on, channel), (by, who), (line, last), (running, tools)] {
            if width > 0 {
                parts.push(shown::column(text, width));
            }
        }
        for (text, width) in [(count, tokens), (cost, money), (old, age)] {
            if width > 0 {
                parts.push(format!("{:>width$}", shown::line(text, width)));
            }
        }
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
                    "state",
                    "channel",
                    "who",
                    "last line",
                    "tools",
                    "tokens",
                    "cost",
                    "age",
                ])
                .join(" "),
            ),
        ]),
    );
    let height = usize::from(inner.height.saturating_sub(1));
    let chosen = state
        .live
        .selected
        .and_then(|s| state.live.order.iter().position(|k| *k == s));
    let first = paint::first_row(chosen, count, height);
    for (offset, id) in state.live.order.iter().skip(first).take(height).enumerate() {
        let at = 1 + u16::try_from(offset).unwrap_or(u16::MAX);
        let Some(session) = state.world.sessions.get(id) else {
            continue;
        };
        let word = state.world.session_word(session);
        let (role, word) = if session.state == SessionState::Active {
            (paint::word_role(word), word.as_str())
        } else {
            (Role::StateIdle, session.state.as_str())
        };
        let in_flight = session
            .open_continuation
            .as_ref()
            .map_or_else(String::new, |open| {
                let retry = state.world.retries.get(&open.id);
                match (retry, state.world.waiting_for.get(&open.id)) {
                    (Some(at), _) => {
                        let left = at.millis_since(state.now.wall).div_ceil(1000);
                        format!("retry in {left} s")
                    }
                    (None, Some(provider)) => format!("waits: {provider}"),
                    (None, None) => open.tools_in_flight.join(" "),
                }
            });
        let line = match (&session.title, &session.last_line) {
            // Direct chats are titled by their only person, who has a column already.
            (Some(title), Some(last)) if session.last_sender.as_ref() == Some(title) => {
                last.clone()
            }
            (Some(title), Some(last)) => format!("{title}: {last}"),
            (Some(text), None) | (None, Some(text)) => text.clone(),
            (None, None) => String::new(),
        };
        let cells = compose([
            word,
            &session.channel,
            session.last_sender.as_deref().unwrap_or(""),
            &line,
            &in_flight,
            &format::count(session.usage.input_tokens + session.usage.output_tokens),
            &format::money(session.usage.cost_usd),
            &format::age(state.now.wall, session.updated_at),
        ]);
        report.spot(paint::row(inner, at), || Spot::Session(*id));
        let is_selected = state.live.selected == Some(*id);
        let mut spans = vec![Span::raw(if is_selected { "> " } else { "  " })];
        let who_at = if who > 0 { 2 } else { usize::MAX };
        let line_at = if who > 0 { 3 } else { 2 };
        for (index, cell) in cells.into_iter().enumerate() {
            if index > 0 {
                spans.push(Span::raw(" "));
            }
            let role = if index == 0 {
                role
            } else if index == line_at || index == who_at {
                Role::Outside
            } else {
                Role::TextMuted
            };
            spans.push(span(theme, role, cell));
        }
        paint::line(buf, inner, at, &Line::from(spans));
        if is_selected {
            paint::select(buf, paint::row(inner, at), theme, Role::Selection);
        }
    }
    let hidden = count.saturating_sub(first + height);
    if hidden > 0 {
        paint::panel_note(
            buf,
            area,
            theme,
            Role::TextMuted,
            &format!("{hidden} more below"),
        );
    }
}
