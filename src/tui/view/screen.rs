//! The whole frame: header, banner, body, notice, keys, overlays.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::tui::format;
use crate::tui::message::FrameReport;
use crate::tui::shown;
use crate::tui::state::app::{Link, Screen, State};
use crate::tui::state::modal::Modal;
use crate::tui::theme::roles::{Role, Theme};
use crate::tui::view::cache::ViewCache;
use crate::tui::view::paint::{self, span};
use crate::tui::view::{
    audit, cache_cost, channels, continuations, deciding, dial, dialog, doctor, footer, header,
    help, live, memory, models, queue, release, rules, text_entry, transcript, which_key, why,
};

/// Draws everything. Returns what was shown of the selected card and of the transcript.
pub fn draw(
    state: &State,
    theme: &Theme,
    cache: &mut ViewCache,
    area: Rect,
    buf: &mut Buffer,
) -> FrameReport {
    buf.set_style(area, theme.style(Role::Text));
    let mut report = FrameReport::default();
    if area.is_empty() {
        return report;
    }
    let mut rest = area;
    let (top, below) = split_top(rest, u16::from(area.height >= 2));
    header::draw(state, theme, top, buf);
    rest = below;
    if let Some((role, text)) = banner(state)
        && rest.height > 2
    {
        let (line, below) = split_top(rest, 1);
        buf.set_style(line, theme.style(role));
        paint::line(
            buf,
            line,
            0,
            &Line::from(vec![
                Span::raw(" "),
                span(
                    theme,
                    role,
                    shown::line(&text, usize::from(area.width).saturating_sub(2)),
                ),
            ]),
        );
        rest = below;
    }
    let footer_rows = u16::from(rest.height >= 4) + u16::from(rest.height >= 8);
    let body = Rect {
        height: rest.height - footer_rows,
        ..rest
    };
    let bottom = Rect {
        y: body.bottom(),
        height: footer_rows,
        ..rest
    };
    match state.screen {
        Screen::Queue => queue::draw(state, theme, cache, body, buf, &mut report),
        Screen::Live => live::draw(state, theme, body, buf),
        Screen::Session => transcript::draw(state, theme, cache, body, buf, &mut report),
        Screen::Channels => channels::draw(state, theme, body, buf),
        Screen::Continuations => continuations::draw(state, theme, body, buf, &mut report),
        Screen::Rules => rules::draw(state, theme, body, buf, &mut report),
        Screen::CacheCost => cache_cost::draw(state, theme, body, buf, &mut report),
        Screen::Memory => memory::draw(state, theme, body, buf, &mut report),
        Screen::Audit => audit::draw(state, theme, body, buf, &mut report),
        Screen::Doctor => doctor::draw(state, theme, body, buf, &mut report),
    }
    if !state.is_live() {
        buf.set_style(body, theme.style(Role::Dimmed));
    }
    if footer_rows == 2 {
        footer::notice(state, theme, bottom, buf);
        footer::keys(state, theme, paint::row(bottom, 1), buf);
    } else if footer_rows == 1 {
        if state.flash.is_some() {
            footer::notice(state, theme, bottom, buf);
        } else {
            footer::keys(state, theme, bottom, buf);
        }
    }
    if let Some(modal) = state.modals.last() {
        // A card under an overlay is not being looked at.
        report.card = None;
        report.panel_max_scroll = None;
        report.dialog = None;
        match modal {
            Modal::Help(overlay) => help::draw(state, theme, overlay, body, buf),
            Modal::Text(entry) => text_entry::draw(state, theme, entry, body, buf),
            Modal::Dial(overlay) => dial::draw(state, theme, overlay, body, buf),
            Modal::Quit { choices, chosen } => {
                dialog::quit(state, theme, choices, *chosen, body, buf);
            }
            Modal::Release(open) => release::draw(state, theme, open, body, buf),
            Modal::Confirm(confirm) => dialog::confirm(theme, confirm, body, buf),
            Modal::Snooze {
                bound,
                choices,
                chosen,
            } => dialog::snooze(theme, bound, choices, *chosen, body, buf),
            Modal::Models(overlay) => models::draw(state, theme, overlay, body, buf),
            Modal::Why(pager) => {
                report.panel_max_scroll = Some(why::draw(state, theme, pager, body, buf));
            }
            Modal::Deciding(dialog) => {
                report.dialog = Some(deciding::draw(state, theme, dialog, body, buf));
            }
        }
    }
    if which_key::draw(state, theme, body, buf) {
        report.card = None;
        report.dialog = None;
    }
    report
}

/// The first `rows` rows and the rest.
pub fn split_top(area: Rect, rows: u16) -> (Rect, Rect) {
    let rows = rows.min(area.height);
    (
        Rect {
            height: rows,
            ..area
        },
        Rect {
            y: area.y + rows,
            height: area.height - rows,
            ..area
        },
    )
}

fn banner(state: &State) -> Option<(Role, String)> {
    match &state.link {
        Link::Lost { why, since } => Some((
            Role::NoticeError,
            format!(
                "NOT CONNECTED since {}: last known state, nothing can be decided; trying again ({why})",
                format::clock(*since)
            ),
        )),
        Link::Connecting => Some((Role::NoticeInfo, "connecting …".to_owned())),
        Link::Live { .. } => {
            let engine = state.world.engine.as_ref()?;
            let since = engine.held_since?;
            if engine.quarantine {
                return Some((
                    Role::HeaderDanger,
                    "QUARANTINE: restored copy; nothing connects, sends or runs; ctrl-x r releases"
                        .to_owned(),
                ));
            }
            let why = engine.held_reason.as_deref().unwrap_or("no reason given");
            Some((
                Role::HeaderDanger,
                format!(
                    "EMERGENCY STOP since {}: tools, models, sends are held; ctrl-x r releases ({why})",
                    format::clock(since)
                ),
            ))
        }
    }
}
