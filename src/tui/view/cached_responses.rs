//! The cached responses of Cache & cost: the list, and one of them in full. All of their text is outside text.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use crate::protocol::cache::CacheEntry;
use crate::tui::format;
use crate::tui::message::FrameReport;
use crate::tui::shown;
use crate::tui::state::app::State;
use crate::tui::theme::roles::{Role, Theme};
use crate::tui::view::paint::{self, Row, scrolled, span};

/// Draws the list.
pub fn list(state: &State, theme: &Theme, area: Rect, buf: &mut Buffer) {
    let panel = &state.cache_cost;
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
    let inner = paint::padded(paint::panel(
        buf,
        area,
        theme,
        &title,
        panel.opened.is_none(),
    ));
    let width = usize::from(inner.width);
    let say = |buf: &mut Buffer, role: Role, text: &str| {
        for (at, piece) in shown::block(text, width).into_iter().enumerate() {
            let at = u16::try_from(at).unwrap_or(u16::MAX);
            paint::line(buf, inner, at, &Line::from(span(theme, role, piece)));
        }
    };
    if panel.entries.is_empty() {
        match (&panel.listed, known) {
            (None, _) => say(buf, Role::TextMuted, "asking …"),
            (Some(Err(why)), _) => say(buf, Role::NoticeError, &format!("not known: {why}")),
            (Some(Ok(())), Some(stats)) if !stats.enabled => say(
                buf,
                Role::TextMuted,
                "No channel caches responses. response_cache = \"user\" or \"channel\" under [channels.NAME] turns it on.",
            ),
            (Some(Ok(())), _) => say(buf, Role::TextMuted, "No response is cached yet."),
        }
        return;
    }
    let model = if width >= 96 { 22 } else { 0 };
    let channel = if width >= 52 { 12 } else { 0 };
    let fixed = 2 + 5 + 7 + 7;
    let gap = |n: usize| if n == 0 { 0 } else { n + 1 };
    let question = width.saturating_sub(fixed + gap(model) + gap(channel) + 1);
    let compose = |cells: [&str; 6]| {
        let [hits, cost, left, on, by, text] = cells;
        let mut line = format!("{hits:>5}{cost:>7}{left:>7}");
        for (text, width) in [(on, channel), (by, model), (text, question)] {
            if width > 0 {
                line.push(' ');
                line.push_str(&shown::column(text, width));
            }
        }
        line
    };
    let heads = compose(["given", "cost", "left", "channel", "model", "question"]);
    let line = Line::from(span(theme, Role::TableHead, format!("  {heads}")));
    paint::line(buf, inner, 0, &line);
    let height = usize::from(inner.height.saturating_sub(1));
    let at = |entry: &CacheEntry| panel.selected.as_ref() == Some(&entry.id);
    let first = paint::first_row(
        panel.entries.iter().position(at),
        panel.entries.len(),
        height,
    );
    for (offset, entry) in panel.entries.iter().skip(first).take(height).enumerate() {
        let left = match (entry.pinned, entry.expires_at) {
            (true, _) => "pinned".to_owned(),
            (false, Some(until)) => format::left(state.now.wall, until),
            (false, None) => "-".to_owned(),
        };
        let cells = compose([
            &format::count(entry.hits),
            &format::money(entry.usage.cost_usd),
            &left,
            &entry.channel,
            &entry.model,
            &entry.question,
        ]);
        let mark = if at(entry) { "> " } else { "  " };
        let row = 1 + u16::try_from(offset).unwrap_or(u16::MAX);
        let line = Line::from(span(theme, Role::Text, format!("{mark}{cells}")));
        paint::line(buf, inner, row, &line);
        if at(entry) {
            paint::select(buf, paint::row(inner, row), theme, Role::Selection);
        }
    }
    let below = panel.entries.len().saturating_sub(first + height);
    let note = match (below, &panel.more, &panel.listed) {
        (_, _, Some(Err(why))) => format!("not up to date: {}", shown::line(why, 40)),
        (0, None, _) => return,
        (0, Some(_), _) => "older ones with j".to_owned(),
        (below, None, _) => format!("{below} more below"),
        (below, Some(_), _) => format!("{below} and older ones below"),
    };
    paint::panel_note(buf, area, theme, Role::TextMuted, &note);
}

/// Draws the selected one, or the one that is read.
pub fn detail(
    state: &State,
    theme: &Theme,
    area: Rect,
    buf: &mut Buffer,
    report: &mut FrameReport,
) {
    let panel = &state.cache_cost;
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
            shown::block(&text, width)
                .into_iter()
                .map(|line| (role, line)),
        );
    }
    if let Some(entry) = entry {
        rows.extend(entry_rows(state, entry, width));
    }
    let title = format!(
        "Cached response {}",
        panel.selected.as_deref().unwrap_or_default()
    );
    scrolled(theme, area, buf, &title, &rows, panel.scroll, report);
}

fn entry_rows(state: &State, entry: &CacheEntry, width: usize) -> Vec<Row> {
    let now = state.now.wall;
    let kept = match entry.expires_at {
        _ if entry.pinned => "pinned: stays until it is forgotten".to_owned(),
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
    let mut rows: Vec<Row> = facts
        .into_iter()
        .map(|(label, text)| {
            (
                Role::Text,
                format!("{label:<10}{}", shown::whole_line(&text)),
            )
        })
        .collect();
    for (head, role, text) in [
        ("question", Role::OutsideUser, &entry.question),
        ("answer", Role::OutsideModel, &entry.answer),
    ] {
        rows.push((role, head.to_owned()));
        let lines = shown::block(text, width);
        rows.extend(lines.into_iter().map(|line| (Role::Outside, line)));
    }
    rows
}
