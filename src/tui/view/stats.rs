//! Statistics, drawn: four charts with their numbers, and the groups below. What is not known is dotted, never empty.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::{Sparkline, Widget};

use crate::client::stats_lines::{span_label, wait_words};
use crate::console::format;
use crate::protocol::enums::{StatsGrouping, StatsStep};
use crate::protocol::stats::{Stats, StatsGroup, StatsNumbers};
use crate::tui::message::{FrameReport, HitRegion};
use crate::tui::sanitize;
use crate::tui::state::app::State;
use crate::tui::state::stats_screen::{COLUMNS, cells};
use crate::tui::theme::roles::{Role, Theme};
use crate::tui::view::list_panel::ListPanel;
use crate::tui::view::table::{Column, Fit, column};
use crate::tui::view::{detail, paint};

/// Widest bar, in cells.
const WIDEST: usize = 8;
/// What stands for a span of which nothing is known, and for the budget.
const UNKNOWN: &str = "·";
const BUDGET: char = '╌';

const TABLE: [Column; 9] = [
    column(12, 0, Role::TextStrong, Fit::Rest),
    column(8, 0, Role::Text, Fit::Right),
    column(6, 5, Role::TextMuted, Fit::Right),
    column(6, 1, Role::Text, Fit::Right),
    column(6, 2, Role::Text, Fit::Right),
    column(6, 3, Role::Text, Fit::Right),
    column(5, 6, Role::TextMuted, Fit::Right),
    column(6, 4, Role::Text, Fit::Right),
    column(6, 2, Role::Text, Fit::Right),
];

struct Chart {
    title: &'static str,
    /// The numbers of the whole time.
    numbers: String,
    role: Role,
    /// One value for each span; none = not known.
    values: Vec<Option<f64>>,
    /// A line across the chart, and what it is.
    limit: Option<(f64, String)>,
    /// The highest value that can be; none = the highest there is.
    most: Option<f64>,
    /// How a value is written.
    words: fn(f64) -> String,
}

pub fn draw(state: &State, theme: &Theme, area: Rect, buf: &mut Buffer, report: &mut FrameReport) {
    let panel = &state.screens.stats;
    let grouped = panel.by != StatsGrouping::All;
    let rows = paint::cells(panel.list.order.len());
    let below = if grouped {
        rows.saturating_add(3).clamp(5, (area.height / 3).max(5))
    } else {
        0
    };
    let (charts_in, list_in) = paint::split_top(area, area.height.saturating_sub(below));
    charts(state, theme, charts_in, buf);
    if !grouped {
        return;
    }
    let more = panel.stats().map_or(0, |stats| stats.more_groups);
    let above = (more > 0).then(|| {
        let text = format!("{more} more are one row, (others)");
        (Role::TextMuted, text)
    });
    let list = ListPanel {
        title: format!("By {}  {}", panel.by, panel.list.count()),
        focused: true,
        above: above.into_iter().collect(),
        empty: vec![(Role::TextMuted, "nothing happened in this time".to_owned())],
        cells: &|name: &String| cells(state, name),
        roles: &|name| {
            let failed = panel.group(name).is_some_and(|group| {
                let failed = group.total.turns.map_or(0, |turns| turns.failed);
                failed > 0
            });
            failed.then_some((4, Role::StateBad)).into_iter().collect()
        },
        region: Some(&HitRegion::StatsGroup),
        ..ListPanel::new(&panel.list, COLUMNS, &TABLE)
    };
    list.draw(theme, list_in, buf, report);
}

fn charts(state: &State, theme: &Theme, area: Rect, buf: &mut Buffer) {
    let panel = &state.screens.stats;
    let range = panel.range.name();
    let what = match panel.charted() {
        Some(group) if panel.by != StatsGrouping::All => {
            format!("{range} of {}", sanitize::whole_line(&group.name))
        }
        Some(_) | None => range.to_owned(),
    };
    let texts: Vec<(Role, String)> = match &panel.answer {
        None => vec![(Role::TextMuted, "asking …".to_owned())],
        Some(Err(why)) => vec![(Role::NoticeError, format!("not known: {why}"))],
        Some(Ok(stats)) => match panel.charted() {
            Some(group) if is_something(&group.total) => {
                return four(theme, &what, stats, group, area, buf);
            }
            Some(_) | None => no_data(stats, range),
        },
    };
    let title = format!("Statistics  {what}");
    let inner = paint::padded(paint::panel(buf, area, theme, &title, false));
    detail::texts(buf, inner, theme, &texts);
}

/// Whether anything happened.
fn is_something(total: &StatsNumbers) -> bool {
    let models = total.models.map_or(0, |one| one.calls);
    let turns = total
        .turns
        .map_or(0, |one| one.completed + one.failed + one.stopped);
    let asked = total.approvals.map_or(0, |one| one.asked);
    let tools = total.tools.map_or(0, |one| one.calls);
    let sent = total
        .deliveries
        .map_or(0, |one| one.sent + one.failed + one.unknown);
    models + turns + asked + tools + sent > 0
}

fn no_data(stats: &Stats, range: &str) -> Vec<(Role, String)> {
    let since = stats.recorded_since.in_zone();
    let mut texts = vec![
        (Role::TextStrong, "no data yet".to_owned()),
        (Role::Text, format!("nothing happened in the last {range}")),
        (Role::TextMuted, format!("recorded since {since}")),
    ];
    let first = stats.spans.first().map(|span| span.from);
    if let Some(kept) = stats.kept_since
        && first.is_some_and(|first| kept > first)
    {
        let kept = kept.in_zone();
        texts.push((Role::TextMuted, format!("turns are stored since {kept}")));
    }
    texts
}

fn four(
    theme: &Theme,
    what: &str,
    stats: &Stats,
    group: &StatsGroup,
    area: Rect,
    buf: &mut Buffer,
) {
    let half = area.height - area.height / 2;
    let (above, below) = paint::split_top(area, half);
    let places = [above, below].into_iter().flat_map(|row| {
        let (left, right) = paint::split_left(row, row.width / 2);
        [left, right]
    });
    for (at, (chart, place)) in all(stats, group).iter().zip(places).enumerate() {
        let title = if at == 0 {
            format!("{}  {what}", chart.title)
        } else {
            chart.title.to_owned()
        };
        let inner = paint::padded(paint::panel(buf, place, theme, &title, false));
        one(theme, stats, chart, inner, buf);
    }
}

fn all(stats: &Stats, group: &StatsGroup) -> [Chart; 4] {
    let values = |of: &dyn Fn(&StatsNumbers) -> Option<f64>| group.points.iter().map(of).collect();
    let total = &group.total;
    let (days, unit) = match stats.step {
        StatsStep::Hour => (None, "hour"),
        StatsStep::Day => (Some(1.0), "day"),
        StatsStep::Week => (Some(7.0), "week"),
    };
    let budget = group.day_budget_usd.zip(days).map(|(usd, days)| usd * days);
    let dollars = |usd: f64| format::money(Some(usd));
    let spent = total.models.map_or_else(
        || "not known of a tool".to_owned(),
        |one| {
            let tokens = format::count(one.input_tokens + one.output_tokens);
            let more = if one.unpriced_tokens > 0 && one.cost_usd.is_some() {
                " + $?"
            } else {
                ""
            };
            let money = format::money(one.cost_usd);
            format!("{money}{more} · {tokens} tokens · {} calls", one.calls)
        },
    );
    let hits = total.models.and_then(|one| {
        let percent = one.cache_hit_percent()?;
        let (read, written) = (one.cached_input_tokens, one.cache_write_tokens);
        Some(format!(
            "{percent:.0} % · {} read, {} written",
            format::count(read),
            format::count(written)
        ))
    });
    let asked = total.approvals.map_or_else(
        || "not known".to_owned(),
        |one| {
            let wait = one
                .median_wait_ms
                .map_or_else(|| "-".to_owned(), wait_words);
            format!(
                "{} asked · {} yes {} no {} late · wait {wait}",
                one.asked, one.allowed, one.denied, one.expired
            )
        },
    );
    [
        Chart {
            title: match stats.step {
                StatsStep::Hour => "Spend by hour",
                StatsStep::Day => "Spend by day",
                StatsStep::Week => "Spend by week",
            },
            numbers: spent,
            role: Role::StateRunning,
            values: values(&|point| point.models?.cost_usd),
            limit: budget.map(|usd| (usd, format!("{}/{unit}", dollars(usd)))),
            most: None,
            words: |usd| format::money(Some(usd)),
        },
        Chart {
            title: "Prompt cache hits",
            numbers: hits.unwrap_or_else(|| "no input yet".to_owned()),
            role: Role::StateGood,
            values: values(&|point| point.models?.cache_hit_percent().or(Some(0.0))),
            limit: None,
            most: Some(100.0),
            words: |percent| format!("{percent:.0}%"),
        },
        Chart {
            title: "Questions to people",
            numbers: asked,
            role: Role::StateWaiting,
            values: values(&|point| Some(point.approvals?.asked as f64)),
            limit: None,
            most: None,
            words: |count| format::count(count as u64),
        },
        Chart {
            title: "Errors",
            numbers: error_words(total),
            role: Role::StateBad,
            values: values(&|point| errors(stats.by, point).map(|count| count as f64)),
            limit: None,
            most: None,
            words: |count| format::count(count as u64),
        },
    ]
}

/// Turns, tools and messages that failed, and model calls without an answer; none = not all of them are known.
fn errors(by: StatsGrouping, of: &StatsNumbers) -> Option<u64> {
    let known = match by {
        StatsGrouping::All | StatsGrouping::Channel | StatsGrouping::Person => of.turns.is_some(),
        StatsGrouping::Model => of.models.is_some(),
        StatsGrouping::Tool => of.tools.is_some(),
    };
    let parts = [
        of.turns.map(|one| one.failed),
        of.tools.map(|one| one.failed),
        of.models.map(|one| one.failed),
        of.deliveries.map(|one| one.failed + one.unknown),
    ];
    known.then(|| parts.into_iter().flatten().sum())
}

fn error_words(of: &StatsNumbers) -> String {
    let count =
        |known: Option<u64>| known.map_or_else(|| "?".to_owned(), |count| count.to_string());
    format!(
        "{} turns {} tools {} models {} sends",
        count(of.turns.map(|one| one.failed)),
        count(of.tools.map(|one| one.failed)),
        count(of.models.map(|one| one.failed)),
        count(of.deliveries.map(|one| one.failed + one.unknown))
    )
}

/// Numbers, bars, and what is at both ends of the time.
fn one(theme: &Theme, stats: &Stats, chart: &Chart, area: Rect, buf: &mut Buffer) {
    paint::text(buf, area, 0, theme, Role::TextStrong, &chart.numbers);
    let Some(bottom) = area.height.checked_sub(1).filter(|row| *row > 0) else {
        return;
    };
    let bars = Rect {
        y: area.y + 1,
        height: bottom - 1,
        ..area
    };
    let known = chart.values.iter().flatten().copied();
    let highest = known.fold(0.0, f64::max);
    let limit = chart.limit.as_ref().map_or(0.0, |(limit, _)| *limit);
    let most = chart.most.unwrap_or_else(|| highest.max(limit));
    draw_bars(theme, chart, most, bars, buf);
    let first = stats
        .spans
        .first()
        .map(|span| span_label(stats.step, *span));
    let first = first.unwrap_or_default();
    // Without the year.
    let mut ends = format!("from {}", first.get(5..).unwrap_or_default());
    if chart.values.iter().any(Option::is_some) {
        ends.push_str(&format!(", most {}", (chart.words)(highest)));
    }
    match &chart.limit {
        Some((_, words)) => ends.push_str(&format!(", {BUDGET} {words}")),
        None if chart.values.iter().any(Option::is_none) => {
            ends.push_str(&format!(", {UNKNOWN} not known"));
        }
        None => {}
    }
    paint::text(buf, area, bottom, theme, Role::TextMuted, &ends);
}

fn draw_bars(theme: &Theme, chart: &Chart, most: f64, area: Rect, buf: &mut Buffer) {
    let (width, spans) = (usize::from(area.width), chart.values.len());
    if area.is_empty() || spans == 0 {
        return;
    }
    // The newest where there is not room for all.
    let shown = spans.min(width);
    let each = (width / shown).clamp(1, WIDEST);
    let gap = usize::from(each > 2);
    let eighths = f64::from(area.height) * 8.0;
    let height = |value: f64| {
        let share = if most > 0.0 { value / most } else { 0.0 };
        // Something is never drawn as nothing.
        let least = if value > 0.0 { 1.0 } else { 0.0 };
        (share * eighths).round().clamp(least, eighths) as u64
    };
    let newest = chart.values.get(spans - shown..).unwrap_or_default();
    let cells = newest.iter().flat_map(|value| {
        let bar = value.map(height);
        let bars = std::iter::repeat_n(bar, each - gap);
        bars.chain(std::iter::repeat_n(Some(0), gap))
    });
    let cells: Vec<Option<u64>> = cells.collect();
    Sparkline::default()
        .style(theme.style(chart.role))
        .max(eighths as u64)
        .data(cells.iter().map(|bar| bar.unwrap_or_default()))
        .render(area.intersection(buf.area), buf);
    let floor = paint::row(area, area.height - 1).intersection(buf.area);
    for (x, _) in (floor.left()..floor.right())
        .zip(&cells)
        .filter(|(_, bar)| bar.is_none())
    {
        if let Some(cell) = buf.cell_mut((x, floor.y)) {
            cell.set_symbol(UNKNOWN)
                .set_style(theme.style(Role::TextMuted));
        }
    }
    let Some((limit, _)) = &chart.limit else {
        return;
    };
    let rows = (limit / most.max(f64::MIN_POSITIVE) * f64::from(area.height)).ceil() as u16;
    let Some(line) = area.height.checked_sub(rows.clamp(1, area.height)) else {
        return;
    };
    let row = paint::row(area, line).intersection(buf.area);
    for x in row.left()..row.right() {
        if let Some(cell) = buf.cell_mut((x, row.y))
            && cell.symbol() == " "
        {
            cell.set_char(BUDGET)
                .set_style(theme.style(Role::NoticeWarning));
        }
    }
}
