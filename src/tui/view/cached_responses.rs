//! The cached responses of Cache & cost: the list, and one of them in full. All of their text is outside text.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::console::format;
use crate::protocol::cache::CacheEntry;
use crate::tui::message::FrameReport;
use crate::tui::sanitize;
use crate::tui::state::app::State;
use crate::tui::state::cache_cost_screen::{COLUMNS, cells};
use crate::tui::theme::roles::{Role, Theme};
use crate::tui::view::list_panel::ListPanel;
use crate::tui::view::paint::{self, scrolled};
use crate::tui::view::table::{Column, Fit, column};

pub fn list(state: &State, theme: &Theme, area: Rect, buf: &mut Buffer, report: &mut FrameReport) {
    let panel = &state.screens.cache_cost;
    let known = panel.cache.as_ref().and_then(|cache| cache.as_ref().ok());
    let title = match known {
        Some(stats) if stats.entries > 0 => format!(
            "Cached responses  {} of at most {}, {}",
            stats.entries,
            stats.max_entries,
            format::bytes(stats.bytes)
        ),
        Some(_) | None => "Cached responses".to_owned(),
    };
    let title = if panel.list.filter.is_empty() {
        title
    } else {
        format!("Cached responses  {}", panel.list.count())
    };
    let empty = match (&panel.listed, known) {
        (None, _) => (Role::TextMuted, "asking …".to_owned()),
        (Some(Err(why)), _) => (Role::NoticeError, format!("not known: {why}")),
        (Some(Ok(())), Some(stats)) if !stats.enabled => (
            Role::TextMuted,
            "No channel caches responses. response_cache = \"user\" or \"channel\" under [channels.NAME] turns it on."
                .to_owned(),
        ),
        (Some(Ok(())), _) => (Role::TextMuted, "No response is cached yet.".to_owned()),
    };
    let shown = ListPanel {
        title,
        focused: panel.opened.is_none(),
        empty: vec![empty],
        cells: &|id: &String| cells(state, id),
        ..ListPanel::new(&panel.list, COLUMNS, &TABLE)
    };
    shown.draw(theme, area, buf, report);
    let note = match (&panel.more, &panel.listed) {
        _ if panel.list.order.is_empty() => return,
        (_, Some(Err(why))) => format!("not up to date: {}", sanitize::line(why, 40)),
        (None, _) => return,
        (Some(_), _) => "older ones with G".to_owned(),
    };
    paint::panel_note(buf, area, theme, Role::TextMuted, &note);
}

const TABLE: [Column; 6] = [
    column(5, 0, Role::Text, Fit::Right),
    column(6, 0, Role::Text, Fit::Right),
    column(6, 0, Role::Text, Fit::Right),
    column(12, 1, Role::Text, Fit::Left),
    column(22, 2, Role::Text, Fit::Left),
    column(36, 0, Role::Text, Fit::Rest),
];

/// Draws the selected one, or the one that is read.
pub fn detail(
    state: &State,
    theme: &Theme,
    area: Rect,
    buf: &mut Buffer,
    report: &mut FrameReport,
) {
    let panel = &state.screens.cache_cost;
    let width = usize::from(area.width.saturating_sub(4)).max(1);
    let known = panel.chosen();
    let (entry, note) = match &panel.opened {
        Some(opened) => match &opened.entry {
            Some(Ok(entry)) => (Some(&**entry), None),
            Some(Err(why)) => (known, Some((Role::NoticeError, why.clone()))),
            None => (
                known,
                Some((Role::TextMuted, "asking for all of it …".to_owned())),
            ),
        },
        None => (
            known,
            Some((
                Role::TextMuted,
                "cut to 200 characters; enter reads all of it".to_owned(),
            )),
        ),
    };
    let mut rows = Vec::new();
    if let Some((role, text)) = note {
        rows.extend(
            sanitize::block(&text, width)
                .into_iter()
                .map(|line| (role, line)),
        );
    }
    if let Some(entry) = entry {
        rows.extend(entry_rows(state, entry, width));
    }
    let title = format!(
        "Cached response {}",
        panel.list.selected.as_deref().unwrap_or_default()
    );
    scrolled(theme, area, buf, &title, &rows, panel.list.scroll, report);
}

fn entry_rows(state: &State, entry: &CacheEntry, width: usize) -> Vec<paint::Row> {
    let now = state.model.now.wall;
    let kept = match entry.expires_at {
        _ if entry.pinned => "pinned: stays until somebody removes it".to_owned(),
        Some(until) => format!("{} left", format::left(now, until)),
        None => "without an end".to_owned(),
    };
    let used = entry.used_at.map_or_else(String::new, |at| {
        format!(", last {} ago", format::age(now, at))
    });
    let facts = [
        (
            "channel",
            format!("{}, for each {}", entry.channel, entry.scope),
        ),
        ("asked by", entry.requester.clone()),
        ("model", entry.model.clone()),
        (
            "cost",
            format!(
                "{}, {} input and {} output tokens",
                format::money(entry.usage.cost_usd),
                format::count(entry.usage.input_tokens),
                format::count(entry.usage.output_tokens)
            ),
        ),
        (
            "cached",
            format!("since {} ago, {kept}", format::age(now, entry.stored_at)),
        ),
        ("given", format!("{} times{used}", entry.hits)),
    ];
    let mut rows: Vec<paint::Row> = facts
        .into_iter()
        .map(|(label, text)| {
            (
                Role::Text,
                format!("{label:<10}{}", sanitize::whole_line(&text)),
            )
        })
        .collect();
    for (head, role, text) in [
        ("question", Role::OutsideUser, &entry.question),
        ("answer", Role::OutsideModel, &entry.answer),
    ] {
        rows.push((role, head.to_owned()));
        let lines = sanitize::block(text, width);
        rows.extend(lines.into_iter().map(|line| (Role::Outside, line)));
    }
    rows
}
