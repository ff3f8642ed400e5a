//! Cache & cost, drawn: spending beside the cache, kept answers below. An amount that is not known is `$?`, never zero.

use std::collections::BTreeMap;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Sparkline, Widget};

use crate::clock::Day;
use crate::protocol::cache::{CacheCounts, CacheEntry, CacheStats};
use crate::protocol::costs::{BudgetStanding, CostItem, Costs};
use crate::protocol::words::{CacheMissReason, CostsBy};
use crate::tui::format;
use crate::tui::message::FrameReport;
use crate::tui::shown;
use crate::tui::state::app::{State, WIDE_COLUMNS};
use crate::tui::state::cache_cost::Known;
use crate::tui::theme::roles::{Role, Theme};
use crate::tui::view::cost_numbers;
use crate::tui::view::paint::{self, span};

/// Days of a chart.
const DAYS: i64 = 30;
/// Percent of a budget from which somebody should look.
const NEARLY: f64 = 80.0;

/// A line: what it means and what it says.
pub(crate) type Row = (Role, String);

/// Draws the screen.
pub fn draw(state: &State, theme: &Theme, area: Rect, buf: &mut Buffer, report: &mut FrameReport) {
    let panel = &state.cache_cost;
    if panel.numbers {
        let width = usize::from(area.width.saturating_sub(4));
        let rows = cost_numbers::rows(state, width);
        scrolled(
            theme,
            area,
            buf,
            "Cache & cost: numbers",
            &rows,
            panel.scroll,
            report,
        );
        return;
    }
    let wide = area.width >= WIDE_COLUMNS;
    if panel.opened.is_some() && !wide {
        detail(state, theme, area, buf, report);
        return;
    }
    let mut below = area;
    if state.one_pane() {
        let rows: Vec<Row> = head(state);
        let taken = u16::try_from(rows.len())
            .unwrap_or(u16::MAX)
            .min(area.height / 2);
        for (at, (role, text)) in rows.into_iter().take(usize::from(taken)).enumerate() {
            let text = shown::line(&text, usize::from(area.width).saturating_sub(2));
            let line = Line::from(vec![Span::raw(" "), span(theme, role, text)]);
            paint::line(buf, area, u16::try_from(at).unwrap_or(u16::MAX), &line);
        }
        below.y += taken;
        below.height -= taken;
    } else {
        let above = Rect {
            height: (area.height * 3 / 5).clamp(11, 22).min(area.height),
            ..area
        };
        below.y = above.bottom();
        below.height = area.height - above.height;
        let left = Rect {
            width: area.width / 2,
            ..above
        };
        let right = Rect {
            x: left.right(),
            width: area.width - left.width,
            ..above
        };
        spending(state, theme, left, buf);
        cache(state, theme, right, buf);
    }
    if wide && panel.selected.is_some() {
        let left = Rect {
            width: below.width / 2,
            ..below
        };
        let right = Rect {
            x: left.right(),
            width: below.width - left.width,
            ..below
        };
        list(state, theme, left, buf);
        detail(state, theme, right, buf, report);
    } else {
        list(state, theme, below, buf);
    }
}

/// Rows in a panel, from a place on; reports how far they can be scrolled.
pub(crate) fn scrolled(
    theme: &Theme,
    area: Rect,
    buf: &mut Buffer,
    title: &str,
    rows: &[Row],
    scroll: usize,
    report: &mut FrameReport,
) {
    let inner = paint::padded(paint::panel(buf, area, theme, title, true));
    let height = usize::from(inner.height);
    let most = rows.len().saturating_sub(height);
    let first = scroll.min(most);
    report.panel_max_scroll = Some(most);
    for (at, (role, text)) in rows.iter().skip(first).take(height).enumerate() {
        let text = shown::line(text, usize::from(inner.width));
        let at = u16::try_from(at).unwrap_or(u16::MAX);
        paint::line(buf, inner, at, &Line::from(span(theme, *role, text)));
    }
    if most > first {
        let note = format!("{} lines below", most - first);
        paint::panel_note(buf, area, theme, Role::TextMuted, &note);
    }
}

/// What stands in place of something that is not known.
pub(crate) fn unknown<T>(known: Known<&T>) -> Result<&T, Row> {
    match known {
        Some(Ok(value)) => Ok(value),
        Some(Err(why)) => Err((Role::NoticeError, format!("not known: {why}"))),
        None => Err((Role::TextMuted, "asking …".to_owned())),
    }
}

/// What is known of spending by what is chosen.
pub(crate) fn known_costs(state: &State) -> Result<&Costs, Row> {
    let costs = state.cache_cost.costs.get(&state.cache_cost.by);
    unknown(costs.map(|known| known.as_deref().map_err(Clone::clone)))
}

/// What is known of the cache.
pub(crate) fn known_cache(state: &State) -> Result<&CacheStats, Row> {
    let cache = state.cache_cost.cache.as_ref();
    unknown(cache.map(|known| known.as_deref().map_err(Clone::clone)))
}

/// Money of an item: `$?` where nothing had a price, `$1.20 + $?` where not everything had.
pub(crate) fn spent(item: &CostItem) -> String {
    match item.cost_usd {
        Some(_) if item.unpriced_tokens > 0 => format!("{} + $?", format::money(item.cost_usd)),
        known => format::money(known),
    }
}

/// Money that an estimate says was saved, in the same way.
pub(crate) fn saved(counts: &CacheCounts) -> String {
    let given = counts.hits + counts.coalesced;
    if counts.unpriced > 0 && counts.unpriced >= given {
        return "$?".to_owned();
    }
    let more = if counts.unpriced > 0 { " + $?" } else { "" };
    format!("~{}{more}", format::money(Some(counts.cost_usd_saved)))
}

/// Percent; none = there is nothing to take it of.
pub(crate) fn percent(part: u64, of: u64) -> Option<u64> {
    part.saturating_mul(100).checked_div(of)
}

/// Percent of what was looked up that needed no model call.
pub(crate) fn rate(counts: &CacheCounts) -> Option<u64> {
    percent(counts.hits + counts.coalesced, counts.lookups)
}

/// `42 % of 120 questions answered: 40 kept, 10 shared`.
pub(crate) fn rate_words(counts: &CacheCounts) -> String {
    match rate(counts) {
        None => "nothing was looked up".to_owned(),
        Some(rate) => format!(
            "{rate} % of {} answered: {} kept, {} shared",
            counts.lookups, counts.hits, counts.coalesced
        ),
    }
}

/// `74 % of input read from the providers' prompt caches, saved ~$0.40`.
pub(crate) fn prompt_cache(total: &CostItem) -> String {
    match percent(total.cached_input_tokens, total.input_tokens) {
        None => "no input yet".to_owned(),
        Some(part) => {
            let saved = match total.prompt_cache_saved_usd {
                None => "$?".to_owned(),
                Some(usd) if usd < 0.0 => format!("-{}", format::money(Some(-usd))),
                Some(usd) => format!("~{}", format::money(Some(usd))),
            };
            format!(
                "{part} % of {} input tokens, saved {saved}",
                format::count(total.input_tokens)
            )
        }
    }
}

/// Whose budget it is.
pub(crate) fn budget_name(budget: &BudgetStanding) -> String {
    match (&budget.session_id, &budget.channel) {
        (Some(id), _) => format!("session {id}"),
        (None, Some(name)) => format!("{name} today"),
        (None, None) => "all today".to_owned(),
    }
}

/// `$12.60 of $20.00, $0.40 of it reserved`.
pub(crate) fn budget_amounts(budget: &BudgetStanding) -> String {
    let money = budget.budget.ends_with("_cost");
    let amount = |value: f64| {
        if money {
            format::money(Some(value))
        } else {
            format!("{} tokens", format::count(value.max(0.0) as u64))
        }
    };
    let reserved = if budget.reserved > 0.0 {
        format!(", {} of it reserved", amount(budget.reserved))
    } else {
        String::new()
    };
    format!(
        "{} of {}{reserved}",
        amount(budget.used),
        amount(budget.limit)
    )
}

/// `anew in 11h`.
pub(crate) fn budget_reset(state: &State, budget: &BudgetStanding) -> String {
    budget.resets_at.map_or_else(
        || "for the whole session".to_owned(),
        |at| format!("anew in {}", format::left(state.now.wall, at)),
    )
}

/// The role of how far a budget is used up.
pub(crate) fn budget_role(budget: &BudgetStanding) -> Role {
    if budget.percent >= 100.0 {
        Role::NoticeError
    } else if budget.percent >= NEARLY {
        Role::NoticeWarning
    } else {
        Role::Text
    }
}

/// The word for it.
pub(crate) fn budget_word(budget: &BudgetStanding) -> &'static str {
    if budget.percent >= 100.0 {
        "USED UP"
    } else if budget.percent >= NEARLY {
        "nearly"
    } else {
        "ok"
    }
}

/// Whether amounts are compared by money; by tokens where nothing had a price.
fn by_money(costs: &Costs) -> bool {
    costs.total.cost_usd.is_some_and(|usd| usd > 0.0)
}

fn tokens(item: &CostItem) -> u64 {
    item.input_tokens + item.output_tokens
}

/// What is compared; none = not known.
fn measure(item: &CostItem, money: bool) -> Option<f64> {
    if money {
        item.cost_usd
    } else {
        Some(tokens(item) as f64)
    }
}

/// The items, most first; days newest first.
pub(crate) fn ordered(costs: &Costs) -> Vec<&CostItem> {
    let money = by_money(costs);
    let mut items: Vec<&CostItem> = costs.items.iter().collect();
    match costs.by {
        CostsBy::Day => items.reverse(),
        CostsBy::Channel | CostsBy::Model => items.sort_by(|a, b| {
            let of = |item| measure(item, money).unwrap_or(f64::MAX);
            of(b).total_cmp(&of(a))
        }),
    }
    items
}

/// A few lines for a small screen.
fn head(state: &State) -> Vec<Row> {
    let mut rows = Vec::new();
    match known_costs(state) {
        Err(row) => rows.push(row),
        Ok(costs) => {
            rows.push((
                Role::TextStrong,
                format!("30 days: {}", spent(&costs.total)),
            ));
            let worst = costs
                .budgets
                .iter()
                .max_by(|a, b| a.percent.total_cmp(&b.percent));
            if let Some(budget) = worst {
                let text = format!("{}: {}", budget_name(budget), budget_amounts(budget));
                rows.push((budget_role(budget), text));
            }
        }
    }
    rows.push(match known_cache(state) {
        Err(row) => row,
        Ok(stats) => cache_word(stats),
    });
    rows
}

fn spending(state: &State, theme: &Theme, area: Rect, buf: &mut Buffer) {
    let by = state.cache_cost.by;
    let title = format!("Spending by {by}");
    let inner = paint::padded(paint::panel(buf, area, theme, &title, false));
    let (width, height) = (usize::from(inner.width), usize::from(inner.height));
    let put = |buf: &mut Buffer, at: usize, (role, text): Row| {
        let line = Line::from(span(theme, role, shown::line(&text, width)));
        paint::line(buf, inner, u16::try_from(at).unwrap_or(u16::MAX), &line);
    };
    let costs = match known_costs(state) {
        Ok(costs) => costs,
        Err(row) => return put(buf, 0, row),
    };
    let money = by_money(costs);
    let what = if money || tokens(&costs.total) == 0 {
        ""
    } else {
        ", bars are tokens"
    };
    let summary = format!(
        "{} since {} · {} tokens{what}",
        spent(&costs.total),
        costs.since,
        format::count(tokens(&costs.total))
    );
    put(buf, 0, (Role::TextStrong, summary));
    let budgets: Vec<Row> = if costs.budgets.is_empty() {
        vec![(Role::TextMuted, "no budget is set".to_owned())]
    } else {
        costs
            .budgets
            .iter()
            .map(|budget| {
                let text = format!(
                    "{:<8}{:>4.0} % {}: {} · {}",
                    budget_word(budget),
                    budget.percent,
                    budget_name(budget),
                    budget_amounts(budget),
                    budget_reset(state, budget)
                );
                (budget_role(budget), text)
            })
            .collect()
    };
    let kept = budgets.len().min((height / 3).max(1));
    let room = height.saturating_sub(kept + 1);
    let mut hidden = budgets.len() - kept;
    if costs.items.is_empty() {
        put(buf, 1, (Role::TextMuted, "no model was asked".to_owned()));
    } else if by == CostsBy::Day {
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
                Some((day, measure(item, money).map(|value| (value * 1e6) as u64)))
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
                let of = |item| measure(item, money).unwrap_or(0.0);
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
        let items = ordered(costs);
        let most = items
            .iter()
            .filter_map(|item| measure(item, money))
            .fold(0.0, f64::max);
        hidden += items.len().saturating_sub(room);
        let name = (width / 3).min(24);
        let value = 14.min(width / 3);
        let bar = width.saturating_sub(name + value + 9);
        for (at, item) in items.into_iter().take(room).enumerate() {
            let share =
                measure(item, money).map_or(0.0, |value| value / most.max(f64::MIN_POSITIVE));
            let line = Line::from(vec![
                span(theme, Role::Text, shown::column(&item.name, name)),
                Span::raw(" "),
                span(theme, Role::StateRunning, paint::bar(share, bar)),
                span(
                    theme,
                    Role::Text,
                    format!("{:>value$}", shown::line(&spent(item), value)),
                ),
                span(
                    theme,
                    Role::TextMuted,
                    format!("{:>8}", format::count(tokens(item))),
                ),
            ]);
            paint::line(buf, inner, u16::try_from(at + 1).unwrap_or(u16::MAX), &line);
        }
    }
    for (at, row) in budgets.into_iter().take(kept).enumerate() {
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
        let line = Line::from(span(theme, role, shown::line(&text, width)));
        paint::line(buf, inner, u16::try_from(*at).unwrap_or(u16::MAX), &line);
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
            span(theme, Role::Text, shown::column(miss_words(why), 18)),
            span(theme, Role::StateWaiting, paint::bar(share, bar)),
            span(theme, Role::Text, format!("{:>8}", format::count(times))),
        ]);
        paint::line(buf, inner, u16::try_from(at).unwrap_or(u16::MAX), &line);
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
        "{:<13}{} again, {ran} ran today · {} kept",
        "tool results", tools.hits, stats.results
    );
    (Role::Text, text)
}

/// Why a kept answer was not given, for people.
pub(crate) const fn miss_words(why: CacheMissReason) -> &'static str {
    match why {
        CacheMissReason::Off => "none is kept there",
        CacheMissReason::Bypass => "new one wanted",
        CacheMissReason::NotFresh => "earlier turns",
        CacheMissReason::DifferentHistory => "other history",
        CacheMissReason::Tainted => "untrusted content",
        CacheMissReason::NoEntry => "not asked before",
        CacheMissReason::Expired => "too old",
        CacheMissReason::Changed => "setup changed",
        CacheMissReason::ToolsUsed => "used tools",
        CacheMissReason::Ineligible => "could not be kept",
        CacheMissReason::Disabled => "file not usable",
    }
}

fn list(state: &State, theme: &Theme, area: Rect, buf: &mut Buffer) {
    let panel = &state.cache_cost;
    let known = panel.cache.as_ref().and_then(|cache| cache.as_ref().ok());
    let title = match known {
        Some(stats) if stats.entries > 0 => format!(
            "Kept answers  {} of at most {}, {}",
            stats.entries,
            stats.max_entries,
            format::bytes(stats.bytes)
        ),
        Some(_) | None => "Kept answers".to_owned(),
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
                "No channel keeps answers. response_cache = \"user\" or \"channel\" under [channels.NAME] keeps them.",
            ),
            (Some(Ok(())), _) => say(buf, Role::TextMuted, "No answer is kept yet."),
        }
        return;
    }
    let model = if width >= 96 { 22 } else { 0 };
    let channel = if width >= 52 { 12 } else { 0 };
    let fixed = 2 + 5 + 7 + 6;
    let gap = |n: usize| if n == 0 { 0 } else { n + 1 };
    let question = width.saturating_sub(fixed + gap(model) + gap(channel) + 1);
    let compose = |cells: [&str; 6]| {
        let [hits, cost, left, on, by, text] = cells;
        let mut line = format!("{hits:>5}{cost:>7}{left:>6}");
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

fn detail(state: &State, theme: &Theme, area: Rect, buf: &mut Buffer, report: &mut FrameReport) {
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
        "Kept answer {}",
        panel.selected.as_deref().unwrap_or_default()
    );
    scrolled(theme, area, buf, &title, &rows, panel.scroll, report);
}

fn entry_rows(state: &State, entry: &CacheEntry, width: usize) -> Vec<Row> {
    let now = state.now.wall;
    let kept = match entry.expires_at {
        _ if entry.pinned => "pinned: kept until it is forgotten".to_owned(),
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
            "kept",
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
