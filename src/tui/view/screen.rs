//! The whole frame: header, banner, body, notice, keys, overlays.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::console::format;
use crate::console::hosts::Link;
use crate::console::ids::HostId;
use crate::console::world::World;
use crate::text::ascii;
use crate::tui::action::Action;
use crate::tui::keymap::context::Context;
use crate::tui::message::{FrameReport, HitRegion};
use crate::tui::sanitize;
use crate::tui::state::app::State;
use crate::tui::state::modal::Modal;
use crate::tui::state::screen::Screen;
use crate::tui::theme::roles::{Role, Theme};
use crate::tui::view::cache::ViewCache;
use crate::tui::view::console::HOST_COLUMNS;
use crate::tui::view::paint::{self, span};
use crate::tui::view::{
    audit, autonomy_selector, cache_cost, channels, continuations, datasets, deciding, dialog,
    doctor, fleet, footer, header, help, live, memory, models, queue, release, resources, rules,
    servers, stats, summary, text_entry, tool_lists, transcript, which_key, why,
};

/// Rows of the terminal from which a line names the screens. With fewer, every row belongs to the screen.
const TABS_FROM_ROWS: u16 = 30;

/// Draws the line of the screens. Where not all titles fit, only the screen that is shown has its title.
fn tabs(state: &State, theme: &Theme, area: Rect, buf: &mut Buffer, report: &mut FrameReport) {
    let label = |screen: Screen, titled: bool| {
        let key = state.keymap.key_of(Context::Global, screen.action());
        let key = key.unwrap_or_else(|| "-".to_owned());
        if titled {
            format!(" {key} {} ", screen.title())
        } else {
            format!(" {key} ")
        }
    };
    let all = Screen::ALL.iter().copied();
    let whole: usize = all
        .clone()
        .map(|one| sanitize::width(&label(one, true)))
        .sum();
    let whole_fits = whole <= usize::from(area.width);
    let mut spans = Vec::new();
    let mut x = area.x;
    for screen in all {
        let shown = screen == state.screen;
        let text = label(screen, shown || whole_fits);
        let width = paint::cells(sanitize::width(&text));
        let tab = Rect { x, width, ..area }.intersection(area);
        report.region(tab, || HitRegion::Screen(screen));
        x = x.saturating_add(width);
        let role = if shown {
            Role::TitleFocus
        } else {
            Role::TextMuted
        };
        spans.push(span(theme, role, text));
    }
    paint::line(buf, area, 0, &Line::from(spans));
}

/// Draws everything. Returns what was shown of the selected card and of the transcript.
pub fn draw(
    state: &State,
    theme: &Theme,
    cache: &mut ViewCache,
    area: Rect,
    buf: &mut Buffer,
) -> FrameReport {
    buf.set_style(area, theme.style(Role::Text));
    cache.of(state.model.hosts.focused());
    drop(cache.take_shown());
    drop(cache.take_shown_pictures());
    let mut report = FrameReport {
        wants_hit_regions: state.mouse,
        ..FrameReport::default()
    };
    if area.is_empty() {
        return report;
    }
    let mut rest = area;
    let (top, below) = paint::split_top(rest, u16::from(area.height >= 2));
    header::draw(state, theme, top, buf);
    rest = below;
    if area.height >= TABS_FROM_ROWS {
        let (line, below) = paint::split_top(rest, 1);
        tabs(state, theme, line, buf, &mut report);
        rest = below;
    }
    let most = usize::from(area.height / 8).clamp(1, 3);
    let columns = usize::from(area.width).saturating_sub(2);
    let whole = usize::from(area.height / 2);
    for (role, text) in banner(state, most, whole, columns) {
        if rest.height <= 2 {
            break;
        }
        let (line, below) = paint::split_top(rest, 1);
        buf.set_style(line, theme.style(role));
        let text = Line::from(vec![Span::raw(" "), span(theme, role, text)]);
        paint::line(buf, line, 0, &text);
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
        Screen::Live => live::draw(state, theme, body, buf, &mut report),
        Screen::Session => transcript::draw(state, theme, cache, body, buf, &mut report),
        Screen::Channels => channels::draw(state, theme, body, buf, &mut report),
        Screen::Continuations => continuations::draw(state, theme, body, buf, &mut report),
        Screen::Rules => rules::draw(state, theme, body, buf, &mut report),
        Screen::CacheCost => cache_cost::draw(state, theme, body, buf, &mut report),
        Screen::Memory => memory::draw(state, theme, body, buf, &mut report),
        Screen::Audit => audit::draw(state, theme, body, buf, &mut report),
        Screen::Doctor => doctor::draw(state, theme, body, buf, &mut report),
        Screen::Resources => resources::draw(state, theme, body, buf, &mut report),
        Screen::Datasets => datasets::draw(state, theme, body, buf, &mut report),
        Screen::Servers => servers::draw(state, theme, body, buf, &mut report),
        Screen::Stats => stats::draw(state, theme, body, buf, &mut report),
        Screen::Fleet => fleet::draw(state, theme, body, buf, &mut report),
    }
    // The Queue and the fleet board are everybody's: there only what is of a lost host is marked, item by item.
    let is_shared = matches!(state.screen, Screen::Queue | Screen::Fleet);
    let item_by_item = state.model.hosts.several() && is_shared;
    if !state.is_live() && !item_by_item {
        buf.set_style(body, theme.style(Role::Dimmed));
    }
    if footer_rows == 2 {
        footer::notice(state, theme, bottom, buf);
        footer::keys(state, theme, paint::row(bottom, 1), buf);
    } else if footer_rows == 1 {
        if state.toast.is_some() {
            footer::notice(state, theme, bottom, buf);
        } else {
            footer::keys(state, theme, bottom, buf);
        }
    }
    if let Some(modal) = state.modals.last() {
        // A card under an overlay is not being looked at.
        report.card = None;
        report.panel_max_scroll = None;
        report.hit_regions.clear();
        report.dialog = None;
        match modal {
            Modal::Help(overlay) => help::draw(state, theme, overlay, body, buf),
            Modal::Text(entry) => {
                // The list that is filtered stands above the words.
                let below = state.modals.iter().rev().nth(1);
                if let Some(Modal::Models(dialog)) = below {
                    let words = text_entry::HEIGHT.min(body.height);
                    let above = paint::split_top(body, body.height - words).0;
                    models::draw(state, theme, dialog, above, buf, &mut report);
                }
                text_entry::draw(state, theme, entry, body, buf);
            }
            Modal::Summary(pager) => {
                report.panel_max_scroll = Some(summary::draw(theme, pager, body, buf));
            }
            Modal::Tools(lists) => tool_lists::draw(state, theme, lists, body, buf),
            Modal::AutonomySelector(overlay) => {
                autonomy_selector::draw(state, theme, overlay, body, buf);
            }
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
            Modal::Models(overlay) => {
                models::draw(state, theme, overlay, body, buf, &mut report);
            }
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

/// What is wrong, each in a line, the focused host first. More than fit are counted. A refusal of the only host has up to
/// `whole` lines: there is nothing else to do here than to read it.
fn banner(state: &State, most: usize, whole: usize, columns: usize) -> Vec<(Role, String)> {
    let cut = |(role, text): (Role, String)| (role, sanitize::line(&text, columns));
    if !state.model.hosts.several() {
        let link = &state.model.host().link;
        let line = trouble(state, link, state.model.world());
        if let (Link::Refused { .. }, Some((role, text))) = (link, &line) {
            let rows = sanitize::block(text, columns).into_iter().take(whole);
            return rows.map(|row| (*role, row)).collect();
        }
        return line.map(cut).into_iter().collect();
    }
    let focused = state.model.hosts.focused();
    let ids = [focused]
        .into_iter()
        .chain(state.model.hosts.ids().filter(|id| *id != focused));
    let mut lines: Vec<(Role, String)> = ids.filter_map(|id| trouble_on(state, id)).collect();
    if let [(role, text)] = lines.as_slice() {
        // With the room to itself, it is said in full.
        let rows = sanitize::block(text, columns).into_iter().take(most);
        return rows.map(|row| (*role, row)).collect();
    }
    let hidden = lines.len().saturating_sub(most);
    lines.truncate(most);
    if let Some((_, text)) = lines.last_mut()
        && hidden > 0
    {
        *text = format!("(+{hidden} more) {text}");
    }
    lines.into_iter().map(cut).collect()
}

/// What is wrong with one host of several, with its name.
fn trouble_on(state: &State, id: HostId) -> Option<(Role, String)> {
    let name = sanitize::line(state.model.hosts.name(id), HOST_COLUMNS);
    let host = state.model.hosts.get(id)?;
    match &host.link {
        Link::Lost { why, since } => Some((
            Role::NoticeError,
            format!(
                "{name} NOT CONNECTED since {} ({why}): last known state, nothing can be decided there; trying \
                 again",
                format::clock(*since)
            ),
        )),
        link @ (Link::Connecting | Link::Live { .. } | Link::Refused { .. }) => {
            let (role, text) = trouble(state, link, &host.world)?;
            Some((role, format!("{name}: {text}")))
        }
    }
}

fn trouble(state: &State, link: &Link, world: &World) -> Option<(Role, String)> {
    match link {
        Link::Lost { why, since } => Some((
            Role::NoticeError,
            format!(
                "NOT CONNECTED since {}: last known state, nothing can be decided; trying again ({why})",
                format::clock(*since)
            ),
        )),
        Link::Refused { why, since } => {
            let since = format::clock(*since);
            let key = state.keymap.key_of(Context::Global, Action::Refresh);
            let until = key.map_or(String::new(), |key| format!(" until you press {key}"));
            Some((
                Role::NoticeError,
                format!("NOT CONNECTED since {since}, and not tried again{until}: {why}"),
            ))
        }
        Link::Connecting => Some((Role::NoticeInfo, "connecting …".to_owned())),
        Link::Live { .. } => {
            let engine = world.engine.as_ref()?;
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
                    "EMERGENCY STOP since {}: tools, models, sends all stop; ctrl-x r releases ({why})",
                    format::clock(since)
                ),
            ))
        }
    }
}

/// Writes every cell in ASCII: borders and signs as what looks like them, what is left as `?`.
pub fn in_ascii(buf: &mut Buffer) {
    for cell in &mut buf.content {
        if !cell.symbol().is_ascii() {
            let first = cell.symbol().chars().next().unwrap_or(' ');
            cell.set_char(ascii::sign(first));
        }
    }
}
