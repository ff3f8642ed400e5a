//! Cache & cost, drawn: spending beside the cache, cached responses below. An amount that is not known is `$?`, never zero.

use std::collections::BTreeMap;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Sparkline, Widget};

use crate::clock::Day;
use crate::console::format;
use crate::protocol::cache::{CacheCounts, CacheStats};
use crate::protocol::costs::CostItem;
use crate::protocol::enums::{CacheMissReason, CostGrouping};
use crate::tui::message::FrameReport;
use crate::tui::sanitize;
use crate::tui::state::app::{State, WIDE_COLUMNS};
use crate::tui::theme::roles::{Role, Theme};
use crate::tui::view::cost_words::{
    budget_line, budgets, known_cache, known_costs, miss_words, prompt_cache, rate, rate_words,
    saved, spent,
};
use crate::tui::view::paint::{self, Row, scrolled, span};
use crate::tui::view::{cached_responses, cost_numbers, cost_words};

/// Days of a chart.
const DAYS: i64 = 30;
pub fn draw(state: &State, theme: &Theme, area: Rect, buf: &mut Buffer, report: &mut FrameReport) {
    let panel = &state.screens.cache_cost;
    if panel.numbers {
        let width = usize::from(area.width.saturating_sub(4));
        let rows = cost_numbers::rows(state, width);
        let (title, scroll) = ("Cache & cost: numbers", panel.list.scroll);
        scrolled(theme, area, buf, title, &rows, scroll, report);
        return;
    }
    let wide = area.width >= WIDE_COLUMNS;
    if panel.opened.is_some() && !wide {
        cached_responses::detail(state, theme, area, buf, report);
        return;
    }
    let below = if state.one_pane() {
        let rows: Vec<Row> = head(state);
        let taken = paint::cells(rows.len()).min(area.height / 2);
        for (at, (role, text)) in (0..taken).zip(rows) {
            let text = sanitize::line(&text, usize::from(area.width).saturating_sub(2));
            let line = Line::from(vec![Span::raw(" "), span(theme, role, text)]);
            paint::line(buf, area, at, &line);
        }
        paint::split_top(area, taken).1
    } else {
        let (above, below) = paint::split_top(area, (area.height * 3 / 5).clamp(11, 22));
        let (left, right) = paint::split_left(above, area.width / 2);
        spending(state, theme, left, buf);
        cache(state, theme, right, buf);
        below
    };
    if wide && panel.list.selected.is_some() {
        let (left, right) = paint::split_left(below, below.width / 2);
        cached_responses::list(state, theme, left, buf, report);
        cached_responses::detail(state, theme, right, buf, report);
    } else {
        cached_responses::list(state, theme, below, buf, report);
    }
}

fn tokens(item: &CostItem) -> u64 {
    item.input_tokens + item.output_tokens
}

/// A few lines for a small screen.
fn head(state: &State) -> Vec<Row> {
    let mut rows = Vec::new();
    match known_costs(state) {
        Err(row) => rows.push(row),
        Ok(costs) => {
            let text = if costs.items.is_empty() {
                "30 days: no model was asked".to_owned()
            } else {
                format!("30 days: {}", spent(&costs.total))
            };
            rows.push((Role::TextStrong, text));
            let worst = budgets(costs).into_iter().next();
            rows.extend(worst.map(|budget| budget_line(state, budget)));
        }
    }
    rows.push(match known_cache(state) {
        Err(row) => row,
        Ok(stats) => cache_word(stats),
    });
    rows
}

fn spending(state: &State, theme: &Theme, area: Rect, buf: &mut Buffer) {
    let by = state.screens.cache_cost.by;
    let title = format!("Spending by {by}");
    let inner = paint::padded(paint::panel(buf, area, theme, &title, false));
    let (width, height) = (usize::from(inner.width), usize::from(inner.height));
    let put = |buf: &mut Buffer, at: usize, (role, text): Row| {
        paint::text(buf, inner, paint::cells(at), theme, role, &text);
    };
    let costs = match known_costs(state) {
        Ok(costs) => costs,
        Err(row) => return put(buf, 0, row),
    };
    let money = cost_words::by_money(costs);
    let what = if money || tokens(&costs.total) == 0 {
        ""
    } else {
        ", bars are tokens"
    };
    let summary = if costs.items.is_empty() {
        format!("nothing since {}", costs.since)
    } else {
        format!(
            "{} since {} · {} tokens{what}",
            spent(&costs.total),
            costs.since,
            format::count(tokens(&costs.total))
        )
    };
    put(buf, 0, (Role::TextStrong, summary));
    let limits: Vec<Row> = if costs.budgets.is_empty() {
        vec![(Role::TextMuted, "no budget is set".to_owned())]
    } else {
        budgets(costs)
            .into_iter()
            .map(|budget| budget_line(state, budget))
            .collect()
    };
    let kept = limits.len().min((height / 3).max(1));
    let room = height.saturating_sub(kept + 1);
    let mut hidden = limits.len() - kept;
    if costs.items.is_empty() {
        put(buf, 1, (Role::TextMuted, "no model was asked".to_owned()));
    } else if by == CostGrouping::Day {
        let chart = Rect {
            y: inner.y + 1,
            height: u16::try_from(room.saturating_sub(1)).unwrap_or(0),
            ..inner
        };
        let per_day: BTreeMap<Day, Option<u64>> = costs
            .items
            .iter()
            .filter_map(|item| {
                let day = item.name.parse().ok()?;
                Some((
                    day,
                    cost_words::measure(item, money).map(|value| (value * 1e6) as u64),
                ))
            })
            .collect();
        sparkline(
            theme,
            chart,
            buf,
            &per_day,
            costs.until,
            ("?", Some(0)),
            None,
        );
        let most = costs
            .items
            .iter()
            .max_by(|a, b| {
                let of = |item| cost_words::measure(item, money).unwrap_or(0.0);
                of(a).total_cmp(&of(b))
            })
            .map_or_else(String::new, |item| {
                format!(
                    "to {} · most: {} on {}",
                    costs.until,
                    spent(item),
                    item.name
                )
            });
        put(buf, room, (Role::TextMuted, most));
    } else {
        let items = cost_words::ordered(costs);
        let most = items
            .iter()
            .filter_map(|item| cost_words::measure(item, money))
            .fold(0.0, f64::max);
        hidden += items.len().saturating_sub(room);
        let name = (width / 3).min(24);
        let value = 14.min(width / 3);
        let bar = width.saturating_sub(name + value + 9);
        for (at, item) in items.into_iter().take(room).enumerate() {
            let share = cost_words::measure(item, money)
                .map_or(0.0, |value| value / most.max(f64::MIN_POSITIVE));
            let money = format!("{:>value$}", sanitize::line(&spent(item), value));
            let tokens = format!("{:>8}", format::count(tokens(item)));
            let line = Line::from(vec![
                span(theme, Role::Text, sanitize::column(&item.name, name)),
                Span::raw(" "),
                span(theme, Role::StateRunning, paint::bar(share, bar)),
                span(theme, Role::Text, money),
                span(theme, Role::TextMuted, tokens),
            ]);
            paint::line(buf, inner, paint::cells(at + 1), &line);
        }
    }
    for (at, row) in limits.into_iter().take(kept).enumerate() {
        put(buf, height.saturating_sub(kept) + at, row);
    }
    if hidden > 0 {
        let note = format!("{hidden} more in the numbers");
        paint::panel_note(buf, area, theme, Role::TextMuted, &note);
    }
}

/// Days up to `last`, one bar each, as wide as there is room; `absent` is what stands for a day that is named without
/// a number, and the number of a day that is not named.
fn sparkline(
    theme: &Theme,
    area: Rect,
    buf: &mut Buffer,
    days: &BTreeMap<Day, Option<u64>>,
    last: Day,
    absent: (&str, Option<u64>),
    max: Option<u64>,
) {
    if area.is_empty() {
        return;
    }
    let columns = (i64::from(area.width) / DAYS).max(1);
    let shown = DAYS.min(i64::from(area.width));
    let bars = (0..shown * columns).map(|column| {
        let day = Day(last.0 - shown + 1 + column / columns);
        days.get(&day).copied().unwrap_or(absent.1)
    });
    let line = Sparkline::default()
        .style(theme.style(Role::StateRunning))
        .absent_value_style(theme.style(Role::TextMuted))
        .absent_value_symbol(absent.0)
        .data(bars);
    match max {
        Some(max) => line.max(max),
        None => line,
    }
    .render(area.intersection(buf.area), buf);
}

/// Whether the cache is on, and how it did today.
fn cache_word(stats: &CacheStats) -> Row {
    match (&stats.problem, stats.enabled) {
        (Some(problem), _) => (Role::NoticeWarning, format!("not usable: {problem}")),
        (None, false) => (
            Role::TextMuted,
            "answers: off (response_cache under [channels.NAME])".to_owned(),
        ),
        (None, true) => (
            Role::TextStrong,
            format!("today {}", rate_words(&stats.today)),
        ),
    }
}

fn cache(state: &State, theme: &Theme, area: Rect, buf: &mut Buffer) {
    let inner = paint::padded(paint::panel(buf, area, theme, "Cache", false));
    let (width, height) = (usize::from(inner.width), usize::from(inner.height));
    let mut at = 0;
    let put = |buf: &mut Buffer, at: &mut usize, (role, text): Row| {
        paint::text(buf, inner, paint::cells(*at), theme, role, &text);
        *at += 1;
    };
    let stats = match known_cache(state) {
        Ok(stats) => stats,
        Err(row) => return put(buf, &mut at, row),
    };
    put(buf, &mut at, cache_word(stats));
    let days: BTreeMap<Day, Option<u64>> = stats
        .days
        .iter()
        .filter_map(|day| Some((day.name.parse().ok()?, rate(&day.counts))))
        .collect();
    if let Some(newest) = days.keys().next_back().copied() {
        let last = state
            .screens
            .cache_cost
            .costs
            .values()
            .find_map(|costs| costs.as_ref().ok().map(|costs| costs.until))
            .map_or(newest, |today| today.max(newest));
        let rows: u16 = if height >= 14 { 3 } else { 1 };
        let chart = Rect {
            y: inner.y + 1,
            height: rows.min(inner.height.saturating_sub(1)),
            ..inner
        };
        sparkline(theme, chart, buf, &days, last, ("·", None), Some(100));
        at += usize::from(rows);
        let text = format!("hit rate, 30 days to {last} · {}", rate_words(&stats.total));
        put(buf, &mut at, (Role::TextMuted, text));
    }
    let label = |label: &str, text: String| (Role::Text, format!("{label:<13}{text}"));
    let saved_tokens = |counts: &CacheCounts| {
        format::count(counts.input_tokens_saved + counts.output_tokens_saved)
    };
    let text = format!(
        "{} today, {} in all · {} tokens",
        saved(&stats.today),
        saved(&stats.total),
        saved_tokens(&stats.total)
    );
    put(buf, &mut at, label("saved", text));
    match known_costs(state) {
        Ok(costs) => put(
            buf,
            &mut at,
            label("prompt cache", prompt_cache(&costs.total)),
        ),
        Err((role, why)) => put(buf, &mut at, (role, format!("{:<13}{why}", "prompt cache"))),
    }
    put(buf, &mut at, tool_cache(stats));
    let (when, counts) = if stats.today.misses.is_empty() {
        ("in all", &stats.total)
    } else {
        ("today", &stats.today)
    };
    let mut misses: Vec<(CacheMissReason, u64)> =
        counts.misses.iter().map(|(why, n)| (*why, *n)).collect();
    misses.sort_by_key(|(_, times)| std::cmp::Reverse(*times));
    if misses.is_empty() {
        return;
    }
    let most = misses.first().map_or(1, |(_, times)| *times).max(1);
    put(
        buf,
        &mut at,
        (Role::TableHead, format!("missed {when}, by reason")),
    );
    let bar = width.saturating_sub(18 + 8);
    for (why, times) in misses {
        if at >= height {
            break;
        }
        let share = times as f64 / most as f64;
        let line = Line::from(vec![
            span(theme, Role::Text, sanitize::column(miss_words(why), 18)),
            span(theme, Role::StateWaiting, paint::bar(share, bar)),
            span(theme, Role::Text, format!("{:>8}", format::count(times))),
        ]);
        paint::line(buf, inner, paint::cells(at), &line);
        at += 1;
    }
}

fn tool_cache(stats: &CacheStats) -> Row {
    if stats.tool_channels.is_empty() {
        let text = format!(
            "{:<13}off (tool_cache under [channels.NAME])",
            "tool results"
        );
        return (Role::TextMuted, text);
    }
    let tools = &stats.today.tools;
    let ran: u64 = tools.misses.values().sum();
    let text = format!(
        "{:<13}{} cached, {ran} ran today · {} stored",
        "tool results", tools.hits, stats.results
    );
    (Role::Text, text)
}
